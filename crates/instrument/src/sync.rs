//! What an instruction orders, as the runtime is told before and after it. A fence of one kind counts as both, which is never a false alarm.

use ptx::ast::Instruction;
use ptx::semantics::{
    Effect, FenceKind, MbarrierOperation, MemoryEffect, Order, Participation, Scope,
    Synchronisation, TypedInstruction,
};

/// Block or device; what lies between counts as the device, which is never a false alarm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// `.cta`
    Block = 1,
    /// Anything wider.
    Device = 2,
}

/// What to tell the runtime.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SyncEvent {
    /// In front: what the thread and those before it did may be released.
    Release(Reach),
    /// Behind: others' may have been acquired.
    Acquire(Reach),
    /// Behind: a fence.
    Fence(Reach),
    /// In front: a strong access, whether it reads, and whether it writes.
    Strong(Reach, bool, bool),
    /// Behind: a barrier of the whole block was passed.
    Barrier,
    /// Behind: a barrier for as many threads as this operand says was passed.
    Counted(usize),
    /// Behind: something that may order threads of the block.
    Loose,
    /// Behind: a barrier of the lanes that this operand names was passed.
    Warp(usize),
}

fn reach(scope: Option<Scope>) -> Reach {
    match scope {
        Some(Scope::Cta) => Reach::Block,
        _ => Reach::Device,
    }
}

fn of_order(order: Order, reach: Reach) -> Vec<SyncEvent> {
    match order {
        Order::Release => vec![SyncEvent::Release(reach)],
        Order::Acquire => vec![SyncEvent::Acquire(reach)],
        Order::AcqRel | Order::Sc => vec![SyncEvent::Release(reach), SyncEvent::Acquire(reach)],
        Order::Weak | Order::Volatile | Order::Relaxed => Vec::new(),
    }
}

/// What an instruction orders. `splits`: the module has split barriers.
pub fn of(instruction: &Instruction, typed: &TypedInstruction, splits: bool) -> Vec<SyncEvent> {
    match &typed.synchronisation {
        Some(Synchronisation::BlockBarrier { participation, .. }) => {
            let first = usize::from(matches!(
                participation,
                Participation::Reduce(_) | Participation::Count
            ));
            // `bar.sync a` and `bar.red d, a, p` have no count; `bar.sync a, b` and `bar.red d, a, b, p` have one.
            let counted = instruction.operands.len() > 1 + 2 * first;
            match (participation, counted) {
                (Participation::Arrive, _) => Vec::new(),
                (_, true) if splits => vec![SyncEvent::Loose],
                (_, true) => vec![SyncEvent::Counted(first + 1)],
                (_, false) => vec![SyncEvent::Barrier],
            }
        }
        Some(Synchronisation::WarpBarrier) => vec![SyncEvent::Warp(0)],
        Some(Synchronisation::ClusterBarrier { participation, .. }) => match participation {
            Participation::Arrive => vec![SyncEvent::Release(Reach::Device)],
            _ => vec![SyncEvent::Acquire(Reach::Device)],
        },
        Some(Synchronisation::Fence {
            kind: FenceKind::Thread | FenceKind::Restricted | FenceKind::MbarrierInit,
            scope,
            ..
        }) => vec![SyncEvent::Fence(reach(*scope))],
        Some(Synchronisation::Mbarrier(operation)) => match operation {
            MbarrierOperation::Arrive
            | MbarrierOperation::ArriveDrop
            | MbarrierOperation::ArriveLater
            | MbarrierOperation::CompleteTransactions => vec![SyncEvent::Release(Reach::Device)],
            MbarrierOperation::TestWait | MbarrierOperation::TryWait => {
                vec![SyncEvent::Acquire(Reach::Device)]
            }
            _ => Vec::new(),
        },
        _ => match &typed.memory {
            Some(memory) if is_access(memory) && memory.order != Order::Weak => {
                let reach = reach(memory.scope);
                let (reads, writes) = (memory.effect.reads(), memory.effect.writes());
                let mut told = vec![SyncEvent::Strong(reach, reads, writes)];
                told.extend(of_order(memory.order, reach));
                told
            }
            _ => Vec::new(),
        },
    }
}

fn is_access(memory: &MemoryEffect) -> bool {
    !matches!(memory.effect, Effect::Prefetch | Effect::CacheControl)
}
