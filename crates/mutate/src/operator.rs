//! The mutation operators: the kinds of mutations, and the weaker forms of an instruction.
//!
//! "Weaker" is defined by the PTX ISA, "Memory Consistency Model" (strong operations, scope) and
//! "Parallel Synchronization and Communication Instructions". Some weakenings are omitted on purpose:
//!
//! - `fence.sc` to `fence.acq_rel`: nearly every `__threadfence()` is part of a release or acquire pattern, for which the
//!   weaker fence is enough. Fences that are needed for more are found when they are removed.
//! - Operations on shared memory to `.cta` scope: without clusters no other block can reach this memory, so nothing changes.
//!
//! What orders asynchronous operations is mutated in `asynchronous`.
//!
//! Narrowing skips the scope `.cluster`: without clusters a cluster is one block.

use super::change::removed;
pub use super::change::{Change, Mutation};
use super::{asynchronous, weak_update};
pub use catalog::equivalent::Kind;
use ptx::ast::{Instruction, Operand, Stmt};
use ptx::semantics::{
    Effect, FenceKind, MemoryEffect, Modifier, Opcode, Order, Participation, Scope, Space,
    Synchronisation, TypedInstruction,
};

/// The mutations of an instruction; most instructions have none.
pub fn mutations(i: &Instruction) -> Vec<Mutation> {
    let typed = TypedInstruction::of(i);
    match typed.synchronisation {
        Some(Synchronisation::WarpBarrier) => vec![removed(Kind::RemoveBarrier, "warp barrier")],
        Some(Synchronisation::BlockBarrier { participation, .. }) => barrier(i, participation),
        Some(Synchronisation::Fence {
            kind: FenceKind::Thread,
            ..
        }) => fence(i, &typed),
        Some(
            Synchronisation::Fence { .. }
            | Synchronisation::ClusterBarrier { .. }
            | Synchronisation::WaitDependency
            | Synchronisation::WaitGroup(_)
            | Synchronisation::Mbarrier(_),
        ) => asynchronous::mutations(i, &typed),
        _ => match &typed.memory {
            Some(memory) if is_between_threads(&typed, memory) => access(i, &typed, memory),
            _ => Vec::new(),
        },
    }
}

fn barrier(i: &Instruction, participation: Participation) -> Vec<Mutation> {
    match participation {
        Participation::Arrive => vec![removed(Kind::RemoveBarrier, "barrier arrival")],
        Participation::Reduce(_) | Participation::Count => {
            let own = own_predicate(i, participation);
            let alone = |own| Mutation {
                change: Change {
                    kind: Kind::RemoveBarrier,
                    what: "barrier reduction",
                    from: None,
                    to: Some("own predicate"),
                },
                replacement: vec![own],
            };
            own.map(alone).into_iter().collect()
        }
        Participation::Sync | Participation::Wait => vec![removed(Kind::RemoveBarrier, "barrier")],
    }
}

fn fence(i: &Instruction, typed: &TypedInstruction) -> Vec<Mutation> {
    let mut out = vec![removed(Kind::RemoveFence, "fence")];
    out.extend(narrowed(i, typed, "fence"));
    out
}

fn access(i: &Instruction, typed: &TypedInstruction, memory: &MemoryEffect) -> Vec<Mutation> {
    let what = match memory.effect {
        Effect::Load => "load",
        Effect::Store => "store",
        _ => "atomic",
    };
    let change = |kind, from, to| Change {
        kind,
        what,
        from,
        to,
    };
    let mut out = Vec::new();
    if memory.order == Order::Volatile {
        out.push(Mutation {
            change: change(Kind::DropVolatile, None, None),
            replacement: vec![without(i, &[Modifier::Volatile])],
        });
    }
    for &(from, to) in weaker(typed) {
        let scopes = [
            Modifier::Cta,
            Modifier::Cluster,
            Modifier::Gpu,
            Modifier::Sys,
        ];
        let weak = match to {
            Modifier::Weak => without(i, &[&scopes[..], &[from]].concat()),
            to => replaced(i, from, to),
        };
        out.push(Mutation {
            change: change(Kind::WeakenOrder, Some(name(from)), Some(name(to))),
            replacement: vec![weak],
        });
    }
    out.extend(narrowed(i, typed, what));
    if let Some(plain) = weak_update::of(i, typed, memory) {
        out.push(Mutation {
            change: change(Kind::PlainAtomic, None, None),
            replacement: vec![plain],
        });
    }
    out
}

/// Whether other threads can observe the access, in a way that the simulator implements.
fn is_between_threads(typed: &TypedInstruction, memory: &MemoryEffect) -> bool {
    let known = matches!(
        typed.opcode,
        Opcode::Ld | Opcode::St | Opcode::Atom | Opcode::Red
    );
    known && !memory.mmio && matches!(memory.space, Space::Generic | Space::Global | Space::Shared)
}

fn is_atomic(typed: &TypedInstruction) -> bool {
    matches!(typed.opcode, Opcode::Atom | Opcode::Red)
}

/// The orders one step weaker than that of an instruction.
fn weaker(typed: &TypedInstruction) -> &'static [(Modifier, Modifier)] {
    use Modifier::{AcqRel, Acquire, Relaxed, Release, Weak};
    match typed.modifiers.order() {
        Some(Order::AcqRel) => &[(AcqRel, Acquire), (AcqRel, Release)],
        Some(Order::Acquire) => &[(Acquire, Relaxed)],
        Some(Order::Release) => &[(Release, Relaxed)],
        Some(Order::Relaxed) if !is_atomic(typed) => &[(Relaxed, Weak)],
        _ => &[],
    }
}

/// The name of an order or a scope.
fn name(modifier: Modifier) -> &'static str {
    match modifier {
        Modifier::AcqRel => "acq_rel",
        Modifier::Acquire => "acquire",
        Modifier::Release => "release",
        Modifier::Relaxed => "relaxed",
        Modifier::Weak => "weak",
        Modifier::Sys => "sys",
        Modifier::Gpu | Modifier::Gl => "gpu",
        Modifier::Cluster => "cluster",
        _ => "cta",
    }
}

/// The instruction with the next narrower scope.
fn narrowed(i: &Instruction, typed: &TypedInstruction, what: &'static str) -> Option<Mutation> {
    let memory = typed.memory.as_ref();
    let within_block = memory.is_some_and(|m| m.space == Space::Shared);
    // `membar` names the device scope `.gl`.
    let gpu = match typed.opcode {
        Opcode::Membar => Modifier::Gl,
        _ => Modifier::Gpu,
    };
    let (from, to, narrow) = match typed.modifiers.scope() {
        Some(Scope::Sys) => (Modifier::Sys, gpu, replaced(i, Modifier::Sys, gpu)),
        Some(Scope::Gpu) => (gpu, Modifier::Cta, replaced(i, gpu, Modifier::Cta)),
        Some(Scope::Cluster) => (
            Modifier::Cluster,
            Modifier::Cta,
            replaced(i, Modifier::Cluster, Modifier::Cta),
        ),
        // "If no scope is specified, the atomic operation is performed with .gpu scope" (PTX ISA, "atom").
        None if is_atomic(typed) => (gpu, Modifier::Cta, with_block_scope(i)),
        Some(Scope::Cta) | None => return None,
    };
    let seen = !(within_block && to == Modifier::Cta);
    seen.then(|| Mutation {
        change: Change {
            kind: Kind::NarrowScope,
            what,
            from: Some(name(from)),
            to: Some(name(to)),
        },
        replacement: vec![narrow],
    })
}

/// The same with `.cta` behind its order.
fn with_block_scope(i: &Instruction) -> Stmt {
    use Modifier::{AcqRel, Acquire, Relaxed, Release};
    let order = |word: &String| matches!(Modifier::of(word), Relaxed | Acquire | Release | AcqRel);
    let at = i.modifiers.iter().rposition(order);
    let mut narrow = i.clone();
    narrow
        .modifiers
        .insert(at.map_or(0, |at| at + 1), "cta".to_owned());
    Stmt::Instruction(narrow)
}

fn without(i: &Instruction, modifiers: &[Modifier]) -> Stmt {
    let mut weak = i.clone();
    weak.modifiers
        .retain(|word| !modifiers.contains(&Modifier::of(word)));
    Stmt::Instruction(weak)
}

fn replaced(i: &Instruction, from: Modifier, to: Modifier) -> Stmt {
    let mut other = i.clone();
    let to = to.spelling().unwrap_or_default();
    for word in other
        .modifiers
        .iter_mut()
        .filter(|word| Modifier::of(word) == from)
    {
        *word = to.to_string();
    }
    Stmt::Instruction(other)
}

/// A reducing barrier as if the thread were alone: `bar.red.popc.u32 d, a, p` becomes `selp.u32 d, 1, 0, p`.
fn own_predicate(i: &Instruction, participation: Participation) -> Option<Stmt> {
    let (d, p) = (i.operands.first()?, i.operands.last()?);
    let (negated, p) = match p {
        Operand::Not(inner) => (true, (**inner).clone()),
        p => (false, p.clone()),
    };
    let int = |value| Operand::Int(value, false);
    let (opcode, modifiers, operands): (&str, &[&str], Vec<Operand>) =
        match participation == Participation::Count {
            true => {
                let (yes, no) = if negated { (0, 1) } else { (1, 0) };
                ("selp", &["u32"], vec![d.clone(), int(yes), int(no), p])
            }
            false if negated => ("not", &["pred"], vec![d.clone(), p]),
            false => ("mov", &["pred"], vec![d.clone(), p]),
        };
    Some(Stmt::Instruction(Instruction {
        opcode: opcode.to_owned(),
        modifiers: modifiers.iter().map(|m| (*m).to_owned()).collect(),
        operands,
        ..i.clone()
    }))
}
