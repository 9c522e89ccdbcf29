//! Divergent branches: how often a branch sent lanes of a warp both ways.
//!
//! Counted for each execution by a warp, or by what is left of it after earlier
//! divergence (CUDA C++ Best Practices Guide, "Branching and Divergence").
//!
//! A branch that only ever parts one lane from the others, such as `if (threadIdx.x == 0)`, is no finding: one thread has to do what one
//! thread has to do.

use crate::finding::{Action, Detail, End, Finding};
use crate::rules::Rule;
use simt::ids::*;
use simt::observer::*;
use std::collections::HashMap;

/// Executions by branch.
#[derive(Clone, Debug, Default)]
pub struct Branches {
    sites: HashMap<Site, Count>,
}

#[derive(Clone, Debug, Default)]
struct Count {
    uniform: u64,
    divergent: u64,
    /// The first that split its warp, with more than one lane on each side.
    example: Option<End>,
}

impl Branches {
    /// A branch kept its lanes together.
    pub fn uniform(&mut self, site: Site) {
        self.sites.entry(site).or_default().uniform += 1;
    }

    /// A branch split its lanes.
    pub fn diverges(&mut self, d: &Divergence, launch: u32) {
        let count = self.sites.entry(d.site).or_default();
        count.divergent += 1;
        if d.taken.count_ones().min(d.fallen.count_ones()) < 2 {
            return;
        }
        let end = || End::of_lanes(d.site, d.who, d.taken, Action::Branch, launch);
        count.example.get_or_insert_with(end);
    }

    /// Adds what another core counted.
    pub fn merge(&mut self, other: Branches) {
        for (site, theirs) in other.sites {
            let ours = self.sites.entry(site).or_default();
            ours.uniform += theirs.uniform;
            ours.divergent += theirs.divergent;
            // That of the first block, whichever core ran it.
            let both = [ours.example.take(), theirs.example];
            let both = both.into_iter().flatten();
            ours.example = both.min_by_key(|end| (end.launch, end.block));
        }
    }

    /// One finding for each branch that ever split a warp into more than one lane and the others.
    pub fn take_findings(&mut self) -> impl Iterator<Item = Finding> {
        let sites = std::mem::take(&mut self.sites).into_values();
        sites.filter_map(|c| {
            Some(Finding {
                rule: Rule::DivergentBranch,
                ends: vec![c.example?],
                place: None,
                detail: Detail::Branches {
                    executed: c.uniform + c.divergent,
                    divergent: c.divergent,
                },
                count: c.divergent,
                stale_loads: Vec::new(),
            })
        })
    }
}
