//! Divergent branches: how often a branch sent lanes of a warp both ways.
//!
//! Counted for each execution by a warp, or by what is left of it after earlier
//! divergence (CUDA C++ Best Practices Guide, "Branching and Divergence").

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
    /// The first that split its warp.
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

    /// One finding for each branch that ever split a warp.
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
