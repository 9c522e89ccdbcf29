//! What a mutation changes, in data and in words.

use catalog::equivalent::Kind;
use ptx::ast::Stmt;
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

impl Change {
    /// The condition in words, of what orders asynchronous operations: `with the other parity in this wait for an mbarrier`.
    fn asynchronous_condition(&self) -> String {
        let what = self.what;
        match self.kind {
            Kind::RaiseCount => format!("with one more group left unfinished by this {what}"),
            Kind::FlipParity => format!("with the other parity in this {what}"),
            _ => format!("without this {what}"),
        }
    }

    /// The change in words: `wait for copies removed`.
    fn asynchronous_change(&self) -> String {
        let what = self.what;
        match self.kind {
            Kind::RaiseCount => format!("{what} leaves one more group unfinished"),
            Kind::FlipParity => format!("{what} asks for the other parity"),
            _ => format!("{what} removed"),
        }
    }
}
