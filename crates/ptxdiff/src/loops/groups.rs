//! Puts the loops of both sides into groups that do the same work.

use super::pairs::{Comparing, Home};
use super::{Change, Common, Group};
use crate::Side;

/// Groups as they come about.
pub(super) struct Grouping<'g, 'c> {
    comparing: &'g Comparing<'c>,
    /// Loops that are partners, A's and B's.
    partners: Vec<(usize, usize)>,
    pub groups: Vec<Group>,
    /// The group of each of A's and B's loops.
    pub of: [Vec<Option<usize>>; 2],
}

/// A loop whose work is in no loop beside it.
struct Dissolved {
    side: usize,
    own: usize,
    /// The other side's loop that its work is in, if any.
    context: Option<usize>,
}

impl<'g, 'c> Grouping<'g, 'c> {
    /// The groups of two functions.
    pub fn of(comparing: &'g Comparing<'c>) -> Grouping<'g, 'c> {
        let loops = |side: usize| vec![None; comparing.code[side].flow.loops.len()];
        let mut grouping = Grouping {
            partners: comparing.partners(),
            comparing,
            groups: Vec::new(),
            of: [loops(0), loops(1)],
        };
        for (x, y) in grouping.partners.clone() {
            grouping.add([vec![x], vec![y]], Change::Unclear);
        }
        let (mut dissolved, mut alone) = (Vec::new(), Vec::new());
        for side in [0, 1] {
            grouping.place(side, &mut dissolved, &mut alone);
        }
        for number in 0..grouping.groups.len() {
            let group = &grouping.groups[number];
            let (change, common) = (comparing.change(group), comparing.common(group));
            grouping.groups[number].change = change;
            grouping.groups[number].common = common;
        }
        for (side, own) in alone {
            grouping.add(of_one(side, own), Change::Unclear);
        }
        // Loops before those inside of them.
        dissolved.sort_by_key(|one| comparing.depth(one.side, one.own));
        for one in dissolved {
            grouping.dissolve(&one);
        }
        grouping
    }

    fn add(&mut self, loops: [Vec<usize>; 2], change: Change) {
        for side in [0, 1] {
            for own in &loops[side] {
                self.of[side][*own] = Some(self.groups.len());
            }
        }
        let common = Common::None;
        self.groups.push(Group {
            loops,
            change,
            common,
        });
    }

    /// Adds a side's loops that have no partner to the groups that do their work.
    fn place(
        &mut self,
        side: usize,
        dissolved: &mut Vec<Dissolved>,
        alone: &mut Vec<(usize, usize)>,
    ) {
        for own in 0..self.of[side].len() {
            if self.of[side][own].is_some() || self.comparing.weight(side, Some(own)) == 0 {
                continue;
            }
            match self.comparing.home(side, own, &self.partners) {
                Home::Beside(other) => match self.of[1 - side][other] {
                    Some(group) => {
                        self.groups[group].loops[side].push(own);
                        self.of[side][own] = Some(group);
                    }
                    None => alone.push((side, own)),
                },
                Home::Within(context) => dissolved.push(Dissolved { side, own, context }),
            }
        }
    }

    /// Adds a loop that the other side does not have.
    fn dissolve(&mut self, one: &Dissolved) {
        let Dissolved { side, own, context } = *one;
        let outer = self.repeated_around(side, own);
        let copies = self.comparing.copies(side, own, context, &self.partners);
        let other = [Side::B, Side::A][side];
        let counted = self.comparing.counts[side][own].trips.is_some();
        let change = match copies {
            Some(factor) if counted => Change::Unrolled(other, factor),
            // What is called may have the loop.
            Some(copies) if !self.comparing.calls[1 - side] => {
                let divided = |copies: u32, outer: u32| {
                    copies
                        .is_multiple_of(outer)
                        .then_some(copies / outer.max(1))
                };
                let factor = copies
                    .zip(outer)
                    .and_then(|(copies, outer)| divided(copies, outer));
                Change::Unrolled(other, factor)
            }
            _ => Change::Unclear,
        };
        self.add(of_one(side, own), change);
    }

    /// How often a loop stands in the text of the other side because the loop around it was dissolved as well, if that is known.
    fn repeated_around(&self, side: usize, own: usize) -> Option<u32> {
        let Some(outer) = self.comparing.parent(side, own) else {
            return Some(1);
        };
        match self.of[side][outer].map(|group| &self.groups[group]) {
            Some(group) if !group.loops[1 - side].is_empty() => Some(1),
            Some(group) => match group.change {
                Change::Unrolled(_, factor) => factor,
                _ => None,
            },
            // A loop that does nothing but repeat this one.
            None => self.comparing.counts[side][outer].trips,
        }
    }
}

fn of_one(side: usize, own: usize) -> [Vec<usize>; 2] {
    let mut loops = [Vec::new(), Vec::new()];
    loops[side].push(own);
    loops
}
