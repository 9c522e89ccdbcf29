//! Data races that have been found so often that they are not judged again.
//!
//! In a kernel with a race most accesses race, and to say who, where and why of each takes a hundred times as long as the access. A pair
//! of instructions whose race was counted [`COUNTED`](crate::finding::COUNTED) times is known: an access whose only unordered partners are known ones is
//! remembered as if it were ordered. Accesses to adjacent memory ask about two partners of their instruction, without a branch
//! ([`Partners`]); all others about any of them. Which accesses are judged depends on the interleaving alone, and so does what is found.
//!
//! A launch forgets them with its findings. Other rules are never known: one that is milder could hide a data race.

use super::contention::Map;
use simt::ids::Site;

/// Two instructions that another one is known to race with; [`NONE`] where there are fewer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Partners([u32; 2]);

/// No instruction.
const NONE: u32 = u32::MAX;

impl Default for Partners {
    fn default() -> Partners {
        Partners([NONE; 2])
    }
}

impl Partners {
    /// Whether an instruction is one of them, as 0 or 1.
    #[inline(always)]
    pub fn has(self, site: u32) -> u32 {
        u32::from(site == self.0[0]) | u32::from(site == self.0[1])
    }
}

/// The pairs that are known.
#[derive(Clone, Debug, Default)]
pub struct Known {
    pairs: Map<()>,
    partners: Map<Partners>,
}

impl Known {
    /// A pair has been counted so often.
    #[cold]
    pub fn add(&mut self, a: Site, b: Site) {
        for (site, other) in [(a.0, b.0), (b.0, a.0)] {
            if self.pairs.insert(pair(site, other), ()).is_none() {
                let partners = self.partners.entry(u64::from(site)).or_default();
                if let Some(free) = partners.0.iter_mut().find(|p| **p == NONE) {
                    *free = other;
                }
            }
        }
    }

    /// Whether there are none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.pairs.is_empty()
    }

    /// Whether two instructions are one.
    #[inline]
    pub fn has(&self, site: u32, other: u32) -> bool {
        self.pairs.contains_key(&pair(site, other))
    }

    /// What an instruction is known to race with.
    #[inline]
    pub fn partners(&self, site: Site) -> Partners {
        match self.partners.is_empty() {
            true => Partners::default(),
            false => self
                .partners
                .get(&u64::from(site.0))
                .copied()
                .unwrap_or_default(),
        }
    }
}

fn pair(site: u32, other: u32) -> u64 {
    u64::from(site) << 32 | u64::from(other)
}
