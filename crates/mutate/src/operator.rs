//! The mutation operators: the kinds of mutations, and what one instruction can be made weaker to.
//!
//! What counts as weaker follows the PTX ISA, "Memory Consistency Model" (strong operations, scope) and
//! "Parallel Synchronization and Communication Instructions". Some weakenings are left out on purpose:
//!
//! - `fence.sc` to `fence.acq_rel`: nearly every `__threadfence()` is part of a release or acquire pattern, for which the weaker
//!   fence does as well; those that are there for more are found when they are removed.
//! - proxy fences, and the fence of mbarriers: they order asynchronous and texture accesses, which the simulator does not have.
//!
//! - operations on shared memory to `.cta` scope: without clusters no thread of another block can reach them, so both are the same.
//!
//! The scope `.cluster` is skipped in narrowing: launches here have no clusters, and where there is none
//! a cluster is one block.

use super::plain;
pub use catalog::equivalent::Kind;
use ptx::ast::{Instruction, Operand, Stmt};
use std::fmt;

/// What a mutation does to an instruction, apart from where that stands.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Change {
    /// Its kind.
    pub kind: Kind,
    /// What is changed: `barrier`, `warp barrier`, `fence`, `load`, `store`, `atomic`, `wait for an event`.
    pub what: &'static str,
    /// What it was, of orders and scopes: `acquire`, `gpu`.
    pub from: Option<&'static str>,
    /// What it becomes, of orders and scopes: `relaxed`, `cta`.
    pub to: Option<&'static str>,
}

impl Change {
    /// The condition, as a reader would say it: `without this barrier`.
    pub fn condition(&self) -> String {
        let Change { what, .. } = self;
        let (from, to) = (self.from.unwrap_or("?"), self.to.unwrap_or("?"));
        match self.kind {
            Kind::RemoveBarrier if self.to.is_some() => {
                format!("with each thread's own predicate in place of this {what}")
            }
            Kind::RemoveBarrier
            | Kind::RemoveFence
            | Kind::RemoveRecord
            | Kind::RemoveWait
            | Kind::RemoveSynchronize => format!("without this {what}"),
            Kind::UnblockStream => "with a non-blocking stream in place of this one".to_owned(),
            Kind::DropVolatile => format!("without `volatile` in this {what}"),
            Kind::WeakenOrder => format!("with a {to} {what} in place of this {from} one"),
            Kind::NarrowScope => format!("with {to} scope in place of {from} for this {what}"),
            Kind::PlainAtomic => "with a plain read and write in place of this atomic".to_owned(),
        }
    }

    /// What its being redundant leaves open.
    pub fn caveat(&self) -> Option<&'static str> {
        let ordering = match self.kind {
            Kind::RemoveFence | Kind::WeakenOrder => true,
            Kind::NarrowScope => self.what == "fence",
            _ => false,
        };
        ordering.then_some(
            "atomics and volatile accesses are no race, but others may see them in another order: some of the orders that the memory \
             model allows were tried, not all",
        )
    }
}

impl fmt::Display for Change {
    /// In words, as of something done: `barrier removed`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Change { what, .. } = self;
        let (from, to) = (self.from.unwrap_or("?"), self.to.unwrap_or("?"));
        match self.kind {
            Kind::RemoveBarrier if self.to.is_some() => {
                write!(f, "{what} removed, each thread taking its own predicate")
            }
            Kind::RemoveBarrier
            | Kind::RemoveFence
            | Kind::RemoveRecord
            | Kind::RemoveWait
            | Kind::RemoveSynchronize => write!(f, "{what} removed"),
            Kind::UnblockStream => write!(f, "{what} made non-blocking"),
            Kind::DropVolatile => write!(f, "{what} no longer volatile"),
            Kind::WeakenOrder => write!(f, "{what} made {to} instead of {from}"),
            Kind::NarrowScope => write!(f, "{what} narrowed from {from} to {to} scope"),
            Kind::PlainAtomic => write!(f, "{what} made a plain read and write"),
        }
    }
}

/// A change, and the statements that take the instruction's place.
#[derive(Clone, Debug, PartialEq)]
pub struct Mutation {
    /// What is changed.
    pub change: Change,
    /// What stands there instead: nothing, an instruction, or a few in a scope of their own.
    pub replacement: Vec<Stmt>,
}

/// The mutations of an instruction; of most there is none.
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

/// Whether other threads can see what it does, in a way that the simulator implements.
fn is_between_threads(i: &Instruction) -> bool {
    let not = |m: &String| {
        let space = ["local", "const", "param", "shared::cluster", "async"];
        space.contains(&m.as_str()) || m.starts_with("param::") || m == "mmio"
    };
    !i.modifiers.iter().any(not)
}

/// The orders one step below an instruction's own.
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

/// The same with the next narrower scope, its own scope and that one.
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

/// A barrier that reduces, as if the thread were alone: `bar.red.popc.u32 d, a, p` is `selp.u32 d, 1, 0, p`.
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
