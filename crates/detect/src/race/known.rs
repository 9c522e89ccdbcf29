//! Pairs of accesses that have been found so often that they are not judged again.
//!
//! In a kernel with a race most accesses race, and to say who, where and why of each takes a hundred times as long as the access. A pair
//! of instructions that was counted [`COUNTED`](crate::finding::COUNTED) times under one rule is known under it: an access whose only unordered
//! partners are known ones is remembered as if it were ordered. Which accesses are judged depends on the interleaving alone, and so does what
//! is found. A launch forgets what is known with its findings.
//!
//! A rule that is milder than others must not hide them, so what is known says under which conditions:
//!
//! | rule | known of | where what is known is used |
//! |---|---|---|
//! | `data-race` | any two accesses | everywhere: nothing is worse |
//! | `same-value-write` | two weak writes | where each lane finds its value in memory already, and scopes can't matter |
//! | `lockstep-assumption` | strong accesses of a warp | in rows that are set aside ([`super::racing_rows`]) |
//!
//! Others are counted, but always judged. Accesses to adjacent memory ask about a few partners of their instruction, without a branch
//! ([`Partners`]); all others about any of them.

use super::contention::Map;
use crate::rules::Rule;
use simt::ids::Site;

/// Instructions that another one is known to meet; [`NONE`] where there are fewer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Partners([u32; 4]);

/// No instruction.
const NONE: u32 = u32::MAX;

impl Default for Partners {
    fn default() -> Partners {
        Partners([NONE; 4])
    }
}

impl Partners {
    /// Whether an instruction is one of them, as 0 or 1.
    #[inline(always)]
    pub fn has(self, site: u32) -> u32 {
        let [a, b, c, d] = self.0;
        u32::from(site == a) | u32::from(site == b) | u32::from(site == c) | u32::from(site == d)
    }

    fn add(&mut self, site: u32) {
        if let Some(free) = self.0.iter_mut().find(|p| **p == NONE) {
            *free = site;
        }
    }

    /// These, and as many of others as there is room for.
    pub fn and(mut self, others: Partners) -> Partners {
        let others = others.0.into_iter().filter(|other| *other != NONE);
        others.for_each(|other| self.add(other));
        self
    }
}

/// Pairs that are known under one rule.
#[derive(Clone, Debug, Default)]
pub struct Pairs {
    pairs: Map<()>,
    partners: Map<Partners>,
}

impl Pairs {
    fn add(&mut self, a: Site, b: Site) {
        for (site, other) in [(a.0, b.0), (b.0, a.0)] {
            if self.pairs.insert(pair(site, other), ()).is_none() {
                let partners = self.partners.entry(u64::from(site)).or_default();
                partners.add(other);
            }
        }
    }

    /// Whether two instructions are one.
    #[inline]
    pub fn has(&self, site: u32, other: u32) -> bool {
        self.pairs.contains_key(&pair(site, other))
    }

    /// What an instruction is known to meet.
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

/// What is known.
#[derive(Clone, Debug, Default)]
pub struct Known {
    /// Data races.
    pub races: Pairs,
    /// Writes of one value.
    pub same_values: Pairs,
    /// What lanes of a warp exchange as if they ran in lockstep.
    pub lockstep: Pairs,
    any: bool,
}

impl Known {
    /// A pair has been counted so often under a rule.
    #[cold]
    pub fn add(&mut self, rule: Rule, a: Site, b: Site) {
        let pairs = match rule {
            Rule::DataRace => &mut self.races,
            Rule::SameValueWrite => &mut self.same_values,
            Rule::LockstepAssumption => &mut self.lockstep,
            _ => return,
        };
        pairs.add(a, b);
        self.any = true;
    }

    /// Whether there is nothing.
    #[inline]
    pub fn is_empty(&self) -> bool {
        !self.any
    }
}

fn pair(site: u32, other: u32) -> u64 {
    u64::from(site) << 32 | u64::from(other)
}
