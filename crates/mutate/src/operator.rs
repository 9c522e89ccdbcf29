//! The mutation operators: the kinds of mutations, and the weaker forms of an instruction.
//!
//! "Weaker" is defined by the PTX ISA, "Memory Consistency Model" (strong operations, scope) and
//! "Parallel Synchronization and Communication Instructions". Some weakenings are omitted on purpose:
//!
//! - `fence.sc` to `fence.acq_rel`: nearly every `__threadfence()` is part of a release or acquire pattern, for which the
//!   weaker fence is enough. Fences that are needed for more are found when they are removed.
//! - Proxy fences and the mbarrier fence: they order asynchronous and texture accesses, which the simulator does not
//!   implement.
//! - Operations on shared memory to `.cta` scope: without clusters no other block can reach this memory, so nothing changes.
//!
//! Narrowing skips the scope `.cluster`: without clusters a cluster is one block.

use super::plain;
pub use catalog::equivalent::Kind;
use ptx::ast::{Instruction, Operand, Stmt};
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
            Kind::UnblockStream => "with a non-blocking stream instead of this one".to_owned(),
            Kind::DropVolatile => format!("without `volatile` in this {what}"),
            Kind::WeakenOrder => format!("with a {to} {what} instead of this {from} one"),
            Kind::NarrowScope => format!("with {to} scope instead of {from} for this {what}"),
            Kind::PlainAtomic => "with a plain read and write instead of this atomic".to_owned(),
        }
    }

    /// What a `redundant` verdict leaves open.
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
    let mut out = Vec::new();
    let change = |kind, what, from, to| Change {
        kind,
        what,
        from,
        to,
    };
    let mut add = |change: Change, replacement: Vec<Stmt>| {
        out.push(Mutation {
            change,
            replacement,
        });
    };
    match i.opcode.as_str() {
        "bar" | "barrier" if !i.has("cluster") => {
            let what = match () {
                () if i.has("warp") => "warp barrier",
                () if i.has("arrive") => "barrier arrival",
                () if i.has("red") => "barrier reduction",
                () => "barrier",
            };
            if !i.has("red") {
                add(change(Kind::RemoveBarrier, what, None, None), Vec::new());
            } else if let Some(own) = own_predicate(i) {
                let to = Some("own predicate");
                add(change(Kind::RemoveBarrier, what, None, to), vec![own]);
            }
        }
        "fence" | "membar" if !is_proxy(i) => {
            add(change(Kind::RemoveFence, "fence", None, None), Vec::new());
            if let Some((from, to, narrow)) = narrowed(i) {
                let change = change(Kind::NarrowScope, "fence", Some(from), Some(to));
                add(change, vec![narrow]);
            }
        }
        "ld" | "st" | "atom" | "red" if is_between_threads(i) => {
            let atomic = matches!(i.opcode.as_str(), "atom" | "red");
            let what = match i.opcode.as_str() {
                "ld" => "load",
                "st" => "store",
                _ => "atomic",
            };
            if i.has("volatile") {
                let change = change(Kind::DropVolatile, what, None, None);
                add(change, vec![without(i, &["volatile"])]);
            }
            for (from, to) in weaker(i) {
                let weak = match *to {
                    "weak" => without(i, &["relaxed", "cta", "cluster", "gpu", "sys"]),
                    to => replaced(i, from, to),
                };
                add(
                    change(Kind::WeakenOrder, what, Some(from), Some(to)),
                    vec![weak],
                );
            }
            if let Some((from, to, narrow)) = narrowed(i) {
                let change = change(Kind::NarrowScope, what, Some(from), Some(to));
                add(change, vec![narrow]);
            }
            if let Some(plain) = atomic.then(|| plain::of(i)).flatten() {
                add(change(Kind::PlainAtomic, what, None, None), vec![plain]);
            }
        }
        _ => {}
    }
    out
}

fn is_proxy(i: &Instruction) -> bool {
    let proxy = |m: &String| m.starts_with("proxy") || m == "mbarrier_init";
    i.modifiers.iter().any(proxy)
}

/// Whether other threads can observe the access, in a way that the simulator implements.
fn is_between_threads(i: &Instruction) -> bool {
    let not = |m: &String| {
        let space = ["local", "const", "param", "shared::cluster", "async"];
        space.contains(&m.as_str()) || m.starts_with("param::") || m == "mmio"
    };
    !i.modifiers.iter().any(not)
}

/// The orders one step weaker than that of an instruction.
fn weaker(i: &Instruction) -> &'static [(&'static str, &'static str)] {
    let atomic = matches!(i.opcode.as_str(), "atom" | "red");
    match () {
        () if i.has("acq_rel") => &[("acq_rel", "acquire"), ("acq_rel", "release")],
        () if i.has("acquire") => &[("acquire", "relaxed")],
        () if i.has("release") => &[("release", "relaxed")],
        () if i.has("relaxed") && !atomic => &[("relaxed", "weak")],
        () => &[],
    }
}

/// The instruction with the next narrower scope, its own scope and the narrower one.
fn narrowed(i: &Instruction) -> Option<(&'static str, &'static str, Stmt)> {
    let atomic = matches!(i.opcode.as_str(), "atom" | "red");
    let within_block = i.has("shared") || i.has("shared::cta");
    let steps: &[(&str, &str, &str, &str)] = match i.opcode.as_str() {
        "membar" => &[("sys", "gl", "sys", "gpu"), ("gl", "cta", "gpu", "cta")],
        _ => &[
            ("sys", "gpu", "sys", "gpu"),
            ("gpu", "cta", "gpu", "cta"),
            ("cluster", "cta", "cluster", "cta"),
        ],
    };
    for (modifier, narrower, from, to) in steps {
        if i.has(modifier) && !(within_block && *to == "cta") {
            return Some((from, to, replaced(i, modifier, narrower)));
        }
    }
    // "If no scope is specified, the atomic operation is performed with .gpu scope" (PTX ISA, "atom").
    let scopes = ["sys", "gpu", "cluster", "cta"];
    let unscoped = atomic && !within_block && !scopes.iter().any(|s| i.has(s));
    unscoped.then(|| {
        let order = ["relaxed", "acquire", "release", "acq_rel"];
        let at = i
            .modifiers
            .iter()
            .rposition(|m| order.contains(&m.as_str()));
        let mut narrow = i.clone();
        narrow
            .modifiers
            .insert(at.map_or(0, |at| at + 1), "cta".to_owned());
        ("gpu", "cta", Stmt::Instruction(narrow))
    })
}

fn without(i: &Instruction, modifiers: &[&str]) -> Stmt {
    let mut weak = i.clone();
    weak.modifiers.retain(|m| !modifiers.contains(&m.as_str()));
    Stmt::Instruction(weak)
}

fn replaced(i: &Instruction, from: &str, to: &str) -> Stmt {
    let mut other = i.clone();
    for modifier in other.modifiers.iter_mut().filter(|m| *m == from) {
        *modifier = to.to_owned();
    }
    Stmt::Instruction(other)
}

/// A reducing barrier as if the thread were alone: `bar.red.popc.u32 d, a, p` becomes `selp.u32 d, 1, 0, p`.
fn own_predicate(i: &Instruction) -> Option<Stmt> {
    let (d, p) = (i.operands.first()?, i.operands.last()?);
    let (negated, p) = match p {
        Operand::Not(inner) => (true, (**inner).clone()),
        p => (false, p.clone()),
    };
    let int = |value| Operand::Int(value, false);
    let (opcode, modifiers, operands): (&str, &[&str], Vec<Operand>) = match i.has("popc") {
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
