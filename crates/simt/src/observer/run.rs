//! Loads from shared memory that are told together.

use super::{Layout, SharedRead, WarpRef};
use crate::ids::Site;
use std::sync::Arc;

/// A load of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunRead {
    /// The instruction.
    pub site: Site,
    /// Its base: which of [`SharedRun::bases`].
    pub base: u8,
    /// Bytes that are added to it, modulo 2³².
    pub offset: u32,
}

/// Where the words of a run's loads from one base lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RunWords {
    /// The base in the first lane of each half of the warp.
    pub first: [u32; 2],
    /// How the words of each half lie.
    pub layout: [Layout; 2],
    /// The first and the last byte of all words that each half loads from this base.
    pub ends: [(u32, u32); 2],
}

impl Default for RunWords {
    fn default() -> RunWords {
        RunWords {
            first: [0; 2],
            layout: [Layout::Same; 2],
            ends: [(0, 0); 2],
        }
    }
}

/// Weak loads of words from shared memory by all lanes of a warp, with nothing else in between.
#[derive(Clone, Copy, Debug)]
pub struct SharedRun<'a> {
    /// The warp.
    pub who: WarpRef,
    /// The loads, in their order: [`RunRead::MOST`] at most.
    pub reads: &'a Arc<[RunRead]>,
    /// What they start from; the first [`SharedRun::used`] of them.
    pub bases: [RunWords; RunWords::MOST],
    /// How many there are.
    pub used: usize,
}

impl RunRead {
    /// Loads of a run, at most.
    pub const MOST: usize = 64;
}

impl RunWords {
    /// Bases of a run, at most.
    pub const MOST: usize = 4;
}

impl SharedRun<'_> {
    /// The loads one by one.
    pub fn each(&self) -> impl Iterator<Item = SharedRead> {
        self.reads.iter().map(|read| {
            let base = &self.bases[usize::from(read.base)];
            SharedRead {
                site: read.site,
                first: base.first.map(|at| at.wrapping_add(read.offset)),
                layout: base.layout,
            }
        })
    }

    /// The bases that it has.
    #[inline(always)]
    pub fn words(&self) -> &[RunWords] {
        &self.bases[..self.used]
    }
}
