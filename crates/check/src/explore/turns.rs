//! How often the loops of a kernel go round.
//!
//! A stage that is used again while others still read it shows in the third turn of a loop, and not before. So one more run, of one warp
//! after the other, counts the turns. A loop is what an unconditional or conditional branch back closes; a turn is one after which a warp
//! does not leave it: where the branch back is conditional, that it jumps, and otherwise that no branch of the loop leads behind it.
//!
//! Blind spot: loops whose ways out are indexed branches, or returns.

use super::Exploration;
use crate::error::Error;
use crate::plan::Plan;
use simt::Program;
use simt::ids::Site;
use simt::observer::{Divergence, Events, WarpRef};
use simt::op::{Op, Slot};
use std::collections::HashMap;

/// Turns in which the reuse of a stage shows.
const ENOUGH: u32 = 3;

/// The most turns that a warp took of each loop, one after the other, by the branch that decides.
#[derive(Clone, Debug, Default)]
pub struct Turns(HashMap<Site, u32>);

impl Turns {
    /// Adds what another run of the same program took.
    pub fn merge(&mut self, other: &Turns) {
        for (site, turns) in &other.0 {
            let most = self.0.entry(*site).or_default();
            *most = turns.max(most).to_owned();
        }
    }

    /// The loops that went round at all, and fewer than three times, by the branch that decides; each with its most turns.
    pub fn short(&self) -> impl Iterator<Item = (Site, u32)> + '_ {
        let all = self.0.iter().map(|(site, turns)| (*site, *turns));
        all.filter(|(_, turns)| (1..ENOUGH).contains(turns))
    }

    /// The least of all loops that went round at all, and fewer than three times.
    pub fn too_few(&self) -> Option<u32> {
        self.short().map(|(_, turns)| turns).min()
    }
}

/// For each branch that decides whether a loop goes on: whether that is where it jumps.
fn deciding(program: &Program) -> HashMap<Site, bool> {
    let code = &program.code;
    let branches = || {
        code.iter().enumerate().filter_map(|(at, i)| match i.op {
            Op::Branch { target } => Some((at, target as usize, i)),
            _ => None,
        })
    };
    let loops: Vec<(usize, usize)> = branches()
        .filter(|(at, target, _)| target <= at)
        .map(|(at, target, _)| (target, at))
        .collect();
    let mut all = HashMap::new();
    for (at, target, i) in branches().filter(|(_, _, i)| i.guard != Slot::TRUE) {
        if target <= at {
            all.insert(i.site, true);
        } else if (loops.iter()).any(|(from, to)| (*from..=*to).contains(&at) && target > *to) {
            all.entry(i.site).or_insert(false);
        }
    }
    all
}

/// Counts turns.
struct Counter {
    deciding: HashMap<Site, bool>,
    now: HashMap<(Site, WarpRef), u32>,
    most: HashMap<Site, u32>,
}

impl Counter {
    fn decided(&mut self, site: Site, who: WarpRef, jumps: bool, falls: bool) {
        let Some(by_jump) = self.deciding.get(&site).copied() else {
            return;
        };
        let stays = if by_jump { jumps } else { falls };
        let now = self.now.entry((site, who)).or_default();
        // A loop that is closed by a conditional branch has gone round once before that is asked.
        let turns = now.saturating_add(1);
        *now = if stays { turns } else { 0 };
        let counted = if stays || by_jump { turns } else { turns - 1 };
        let most = self.most.entry(site).or_default();
        *most = counted.max(*most);
    }
}

impl Events for Counter {
    fn uniform_branch(&mut self, site: Site, who: WarpRef, taken: bool) {
        self.decided(site, who, taken, !taken);
    }

    fn diverges(&mut self, divergence: &Divergence) {
        self.decided(divergence.site, divergence.who, true, true);
    }
}

impl Exploration<'_> {
    /// How often the loops of a program go round in a run of one warp after the other.
    ///
    /// # Errors
    ///
    /// As [`Exploration::explore`].
    pub fn turns(&self, program: &Program, plan: &Plan) -> Result<Turns, Error> {
        let deciding = deciding(program);
        if deciding.is_empty() {
            return Ok(Turns::default());
        }
        let mut counter = Counter {
            deciding,
            now: HashMap::new(),
            most: HashMap::new(),
        };
        self.watched(program, plan, &mut counter)?;
        Ok(Turns(counter.most))
    }
}
