//! Which way branches went, and in which warps: from it follows what code ran at all, and which code one warp of a block has to
//! itself.

use simt::ids::{Mask, Site};
use simt::observer::{Divergence, WarpRef};

/// The ways that conditional branches went, by instruction. A warp is a bit: its number in its block; those of all blocks are taken
/// together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Coverage {
    /// The warps in which lanes jumped, and those in which lanes went on.
    branches: Vec<[Mask; 2]>,
}

impl Coverage {
    /// A branch kept its lanes together.
    #[inline]
    pub fn uniform_branch(&mut self, site: Site, who: WarpRef, taken: bool) {
        self.of(site)[usize::from(!taken)] |= 1 << (who.warp.0 & 31);
    }

    /// A branch split its lanes.
    pub fn diverges(&mut self, d: &Divergence) {
        let warp = 1 << (d.who.warp.0 & 31);
        self.of(d.site).iter_mut().for_each(|way| *way |= warp);
    }

    #[inline]
    fn of(&mut self, site: Site) -> &mut [Mask; 2] {
        let at = site.0 as usize;
        if at >= self.branches.len() {
            self.grow(at);
        }
        &mut self.branches[at]
    }

    #[cold]
    fn grow(&mut self, at: usize) {
        self.branches.resize((at + 1).next_power_of_two(), [0; 2]);
    }

    /// The warps in which lanes jumped at a branch, and those in which lanes went on.
    pub fn ways(&self, site: Site) -> [Mask; 2] {
        let known = self.branches.get(site.0 as usize);
        known.copied().unwrap_or_default()
    }

    /// Adds what another run of the same program showed.
    pub fn merge(&mut self, other: &Coverage) {
        if self.branches.len() < other.branches.len() {
            self.branches.resize(other.branches.len(), [0; 2]);
        }
        for (ours, theirs) in self.branches.iter_mut().zip(&other.branches) {
            ours.iter_mut().zip(theirs).for_each(|(a, b)| *a |= b);
        }
    }
}
