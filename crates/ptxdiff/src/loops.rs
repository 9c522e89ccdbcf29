//! Which loop of one side became what on the other.
//!
//! Loops are compared by their [`mod@work`], weighted by what it tells; source lines only break ties ([`mod@pairs`]). Loops that have most of
//! their work in common are partners, at best of the same depth, and so are the loops around partners; what is left over on one side belongs
//! to the loop of the other side that has its work: the remainder of an unrolled loop, the second part of a split one. A loop whose work stands
//! outside of all loops of the other side was dissolved ([`mod@groups`]). What became of partners, their work tells, and how they count
//! ([`mod@change`], [`mod@trips`]). What stands for copies of a body is in [`mod@copies`].
//! How often loops run is compared in [`crate::proof`].

mod change;
mod copies;
mod groups;
mod pairs;
pub mod signature;
pub mod trips;

use crate::Side;
use crate::code::Code;
use groups::Grouping;
use pairs::Comparing;
use ptx::ast::Module;
use signature::{Bag, Key};
use std::collections::HashSet;

pub(crate) use trips::is_in_each_iteration;

/// What became of a group of loops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// The same body as often.
    Same,
    /// One side repeats the body as many times, if that is known and always the same.
    Unrolled(Side, Option<u32>),
    /// One side has several loops, one after the other.
    Split(Side),
    /// One side has several loops, of which one is executed.
    Unswitched(Side),
    /// Neither of these.
    Unclear,
}

/// Loops of both sides that do the same work.
#[derive(Clone, Debug)]
pub struct Group {
    /// A's and B's loops.
    pub loops: [Vec<usize>; 2],
    /// What became of them.
    pub change: Change,
    /// What both do, if anything: whether they run equally often, or surround partners, may be all that says that they belong together.
    pub common: Common,
}

/// What the work of a group's loops says, whatever else does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Common {
    /// They have no work in common.
    #[default]
    None,
    /// They have some.
    Shared,
    /// Most of what both do stands as often in both.
    Level,
}

impl Group {
    /// Whether the text of both sides can be counted in them.
    pub fn is_level(&self) -> bool {
        self.change == Change::Same && self.common == Common::Level
    }
}

/// The loops of two functions.
#[derive(Debug, Default)]
pub struct Loops {
    /// Loops that belong together.
    pub groups: Vec<Group>,
    /// The group of each of A's and B's loops.
    pub of: [Vec<Option<usize>>; 2],
    /// What A and B do, and where.
    pub bags: [Bag; 2],
    /// Work that stands in a loop that is another one on the other side.
    unclear: HashSet<Key>,
}

impl Loops {
    /// Compares the loops of two functions.
    pub fn of((a, of_a): (&Code, &Module), (b, of_b): (&Code, &Module)) -> Loops {
        let comparing = Comparing::of((a, of_a), (b, of_b));
        let Grouping { groups, of, .. } = Grouping::of(&comparing);
        let mut unclear = HashSet::new();
        for group in groups.iter().filter(|g| !g.is_level()) {
            for side in [0, 1] {
                for own in &group.loops[side] {
                    unclear.extend(comparing.bags[side].within(Some(*own)).map(|(key, _)| *key));
                }
            }
        }
        Loops {
            groups,
            of,
            bags: comparing.bags,
            unclear,
        }
    }

    /// The loop of the other side that a loop is, where it is one and the same.
    pub fn partner(&self, side: usize, own: usize) -> Option<usize> {
        let group = &self.groups[self.of[side][own]?];
        match (&group.loops[side][..], &group.loops[1 - side][..]) {
            ([_], [other]) => Some(*other),
            _ => None,
        }
    }

    /// Whether a side's loop is no loop on the other side, which has copies of its body.
    pub fn is_dissolved(&self, side: usize, own: usize) -> bool {
        let group = self.of[side][own].map(|group| &self.groups[group]);
        group.is_some_and(|g| {
            g.loops[1 - side].is_empty() && matches!(g.change, Change::Unrolled(..))
        })
    }
}

/// The instructions of some loops that do work, by side.
pub fn workers(bags: &[Bag; 2], group: &Group) -> [Vec<usize>; 2] {
    [0, 1].map(|side: usize| {
        let loops = group.loops[side].iter();
        let all = loops.flat_map(|own| bags[side].within(Some(*own)));
        let mut found: Vec<usize> = all
            .flat_map(|(_, a)| a.instructions.iter().copied())
            .collect();
        found.sort_unstable();
        found.dedup();
        found
    })
}
