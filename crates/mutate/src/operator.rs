//! The mutation operators: the kinds of mutations, and the weaker forms of an instruction.
//!
//! "Weaker" is defined by the PTX ISA, "Memory Consistency Model" (strong operations, scope) and
//! "Parallel Synchronization and Communication Instructions". Some weakenings are omitted on purpose:
//!
//! - `fence.sc` to `fence.acq_rel`: nearly every `__threadfence()` is part of a release or acquire pattern, for which the
//!   weaker fence is enough. Fences that are needed for more are found when they are removed.
//! - Operations on shared memory to `.cta` scope: without clusters no other block can reach this memory, so nothing changes.
//!
//! What orders asynchronous operations is mutated in [`asynchronous`](super::asynchronous).
//!
//! Narrowing skips the scope `.cluster`: without clusters a cluster is one block.

use super::{asynchronous, weak_update};
pub use catalog::equivalent::Kind;
use ptx::ast::{Instruction, Operand, Stmt};
use ptx::semantics::{
    Effect, FenceKind, MemoryEffect, Modifier, Opcode, Order, Participation, Scope, Space,
    Synchronisation, TypedInstruction,
};
use std::fmt;

/// What a mutation does to an instruction, without its location.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Change {
    /// Its kind.
    pub kind: Kind,
    /// What is changed: `barrier`, `warp barrier`, `fence`, `load`, `store`, `atomic`, `wait for an event`.
    pub what: &'static str,
    /// The original order or scope: `acquire`, `gpu`.
    pub from: Option<&'static str>,
    /// The new order or scope: `relaxed`, `cta`.
    pub to: Option<&'static str>,
}

impl Change {
    /// The condition in words: `without this barrier`.
    pub fn condition(&self) -> String {
        let Change { what, .. } = self;
        let (from, to) = (self.from.unwrap_or("?"), self.to.unwrap_or("?"));
        match self.kind {
            Kind::RemoveBarrier if self.to.is_some() => {
                format!("with each thread's own predicate instead of this {what}")
            }
            Kind::RemoveBarrier
            | Kind::RemoveFence
            | Kind::RemoveRecord
            | Kind::RemoveWait
            | Kind::RemoveSynchronize => format!("without this {what}"),
            Kind::DropWait | Kind::RaiseCount | Kind::DropArrival | Kind::FlipParity => {
                self.asynchronous_condition()
            }
            Kind::UnblockStream => "with a non-blocking stream instead of this one".to_owned(),
            Kind::DropVolatile => format!("without `volatile` in this {what}"),
            Kind::WeakenOrder => format!("with a {to} {what} instead of this {from} one"),
            Kind::NarrowScope => format!("with {to} scope instead of {from} for this {what}"),
            Kind::PlainAtomic => "with a plain read and write instead of this atomic".to_owned(),
        }
    }

    /// Why a run shows nothing in which threads came to it.
    pub fn nothing_to_order(&self) -> &'static str {
        match self.kind {
            Kind::RemoveBarrier => {
                "threads reached it, but in no run did two of them access one location just before and just behind it, one of them to write"
            }
            Kind::RemoveFence => {
                "threads reached it, but in no run did one of them access locations on both its sides that other threads access, too"
            }
            Kind::NarrowScope if self.what == "fence" => {
                "threads reached it, but in no run did one of them access locations on both its sides that other threads access, too"
            }
            Kind::NarrowScope => {
                "threads reached it, but in no run did a thread of another block access its location, one of the two to write"
            }
            _ => {
                "threads reached it, but in no run did another thread access its location, one of the two to write"
            }
        }
    }

    /// What a verdict leaves open that found no failure.
    pub fn caveat(&self) -> Option<&'static str> {
        let ordering = match self.kind {
            Kind::RemoveFence | Kind::WeakenOrder => true,
            Kind::NarrowScope => self.what == "fence",
            _ => false,
        };
        ordering.then_some(
            "atomic and volatile accesses do not race, but other threads may see them in another order; racetrap tried some, not all, \
             of the orders that the memory model allows",
        )
    }
}

impl fmt::Display for Change {
    /// The change in words: `barrier removed`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Change { what, .. } = self;
        let (from, to) = (self.from.unwrap_or("?"), self.to.unwrap_or("?"));
        match self.kind {
            Kind::RemoveBarrier if self.to.is_some() => {
                write!(f, "{what} removed, each thread uses its own predicate")
            }
            Kind::RemoveBarrier
            | Kind::RemoveFence
            | Kind::RemoveRecord
            | Kind::RemoveWait
            | Kind::RemoveSynchronize => write!(f, "{what} removed"),
            Kind::DropWait | Kind::RaiseCount | Kind::DropArrival | Kind::FlipParity => {
                f.write_str(&self.asynchronous_change())
            }
            Kind::UnblockStream => write!(f, "{what} made non-blocking"),
            Kind::DropVolatile => write!(f, "{what} no longer volatile"),
            Kind::WeakenOrder => write!(f, "{what} changed from {from} to {to}"),
            Kind::NarrowScope => write!(f, "{what} narrowed from {from} to {to} scope"),
            Kind::PlainAtomic => write!(f, "{what} replaced by a plain read and write"),
        }
    }
}

/// A change and the statements that replace the instruction.
#[derive(Clone, Debug, PartialEq)]
pub struct Mutation {
    /// What is changed.
    pub change: Change,
    /// The replacement: nothing, one instruction, or several in a scope of their own.
    pub replacement: Vec<Stmt>,
}

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

pub(super) fn removed(kind: Kind, what: &'static str) -> Mutation {
    Mutation {
        change: Change {
            kind,
            what,
            from: None,
            to: None,
        },
        replacement: Vec::new(),
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
