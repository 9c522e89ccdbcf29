//! Uncoalesced accesses: how many 32-byte sectors of global memory each request moves.
//!
//! A warp's request is served in sectors of 32 bytes (CUDA C++ Best Practices Guide,
//! "Coalesced Access to Global Memory"). *Ideal* is the number of sectors that the bytes
//! asked for would fill if they lay together; bytes that several lanes ask for count once.
//! Atomics are not counted.

use super::lanes;
use crate::finding::{Action, Detail, End, Finding};
use crate::rules::Rule;
use simt::ids::*;
use simt::observer::*;
use std::collections::HashMap;

const SECTOR: u64 = 32;

/// Sectors by instruction.
#[derive(Clone, Debug, Default)]
pub struct Sectors {
    sites: HashMap<Site, Count>,
}

#[derive(Clone, Debug)]
struct Count {
    requests: u64,
    sectors: u64,
    ideal: u64,
    /// The first request that moved more than it needed, or the first of all.
    example: (bool, End),
}

/// Sectors that a request moves, and how many its bytes would fill.
pub fn sectors(address: &[u64; LANES], mask: Mask, bytes: u32) -> (u64, u64) {
    let bytes = u64::from(bytes);
    let mut starts: Vec<u64> = lanes(mask).map(|l| address[l as usize]).collect();
    starts.sort_unstable();
    let (mut sectors, mut distinct) = (0, 0);
    let (mut next_sector, mut next_byte) = (0, 0);
    for start in starts {
        let end = start + bytes;
        distinct += end.saturating_sub(start.max(next_byte));
        next_byte = next_byte.max(end);
        let (first, last) = (start / SECTOR, (end - 1) / SECTOR);
        sectors += (last + 1).saturating_sub(first.max(next_sector));
        next_sector = next_sector.max(last + 1);
    }
    (sectors, distinct.div_ceil(SECTOR))
}

impl Sectors {
    /// Counts an access to global memory.
    pub fn access(&mut self, access: &Access<'_>, launch: u32) {
        let action = match access.kind {
            AccessKind::Read => Action::Read,
            AccessKind::Write => Action::Write,
            AccessKind::Atomic | AccessKind::Reduction => return,
        };
        let (moved, ideal) = sectors(access.address, access.performed(), access.bytes());
        let end = || End::of_lanes(access.site, access.who, access.performed(), action, launch);
        let count = self.sites.entry(access.site).or_insert_with(|| Count {
            requests: 0,
            sectors: 0,
            ideal: 0,
            example: (false, end()),
        });
        count.requests += 1;
        count.sectors += moved;
        count.ideal += ideal;
        if moved > ideal && !count.example.0 {
            count.example = (true, end());
        }
    }

    /// Adds what another core counted.
    pub fn merge(&mut self, other: Sectors) {
        for (site, theirs) in other.sites {
            match self.sites.get_mut(&site) {
                None => _ = self.sites.insert(site, theirs),
                Some(ours) => {
                    ours.requests += theirs.requests;
                    ours.sectors += theirs.sectors;
                    ours.ideal += theirs.ideal;
                    // That of the first block, whichever core ran it.
                    let first = |(needless, end): &(bool, End)| (!needless, end.launch, end.block);
                    if first(&theirs.example) < first(&ours.example) {
                        ours.example = theirs.example;
                    }
                }
            }
        }
    }

    /// One finding for each instruction that moved more sectors than it needed.
    pub fn take_findings(&mut self) -> impl Iterator<Item = Finding> {
        let sites = std::mem::take(&mut self.sites).into_values();
        sites.filter(|c| c.sectors > c.ideal).map(|c| Finding {
            rule: Rule::UncoalescedAccess,
            ends: vec![c.example.1],
            place: None,
            detail: Detail::Sectors {
                requests: c.requests,
                sectors: c.sectors,
                ideal: c.ideal,
            },
            count: c.sectors - c.ideal,
            stale_loads: Vec::new(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case::adjacent(0, 4, 4, (4, 4))]
    #[case::shifted_by_a_word(4, 4, 4, (5, 4))]
    #[case::every_other_word(0, 8, 4, (8, 4))]
    #[case::a_sector_each(0, 32, 4, (32, 4))]
    #[case::the_same_word(64, 0, 4, (1, 1))]
    #[case::bytes(0, 1, 1, (1, 1))]
    #[case::four_words_each(0, 16, 16, (16, 16))]
    fn a_warp_moves_the_sectors_it_touches(
        #[case] base: u64,
        #[case] stride: u64,
        #[case] bytes: u32,
        #[case] expected: (u64, u64),
    ) {
        let row = std::array::from_fn(|l| base + l as u64 * stride);
        assert_eq!(sectors(&row, u32::MAX, bytes), expected);
    }
}
