//! Bank conflicts: how many passes through the banks of shared memory each request takes.
//!
//! Shared memory has 32 banks of 4 bytes; lanes that address different words of one bank
//! are served one after the other, lanes that address the same word at once (CUDA C++
//! Programming Guide, "Shared Memory" of the compute capabilities). A request of 8 bytes a
//! lane is served a half-warp at a time, one of 16 bytes a quarter-warp at a time.
//!
//! The figures are those of the hardware counters for shared loads and stores: *wavefronts*
//! are passes; *requests* are the passes that were needed without conflicts, which is one
//! for each warp-instruction of up to 4 bytes a lane. Atomics are not counted.

use super::lanes;
use crate::finding::{Action, Detail, End, Finding};
use crate::rules::Rule;
use simt::ids::*;
use simt::observer::*;
use std::collections::HashMap;

const BANKS: u64 = 32;
const WORD: u64 = 4;

/// Passes through the banks by instruction.
#[derive(Clone, Debug, Default)]
pub struct Banks {
    sites: HashMap<Site, Count>,
}

#[derive(Clone, Debug)]
struct Count {
    requests: u64,
    wavefronts: u64,
    degree: u32,
    /// The request with the most passes.
    worst: End,
}

/// Passes that one request needs without conflicts, passes it takes, and the most that a
/// part of the warp takes.
pub fn passes(address: &[u64; LANES], mask: Mask, bytes: u32) -> (u32, u32, u32) {
    // Lanes served together, so that they fill the banks at most once.
    let group = match bytes {
        0..=4 => 32,
        5..=8 => 16,
        _ => 8,
    };
    let (mut ideal, mut taken, mut degree) = (0, 0, 0);
    for first in (0..LANES as u32).step_by(group) {
        let here = mask & ((u64::from(u32::MAX) >> (32 - group)) as u32) << first;
        if here == 0 {
            continue;
        }
        let mut words: Vec<u64> = lanes(here)
            .flat_map(|l| {
                let start = address[l as usize];
                start / WORD..=(start + u64::from(bytes) - 1) / WORD
            })
            .collect();
        words.sort_unstable();
        words.dedup();
        let mut load = [0; BANKS as usize];
        words.iter().for_each(|w| load[(w % BANKS) as usize] += 1);
        let most = load.into_iter().max().unwrap_or(0);
        let least = (words.len() as u32).div_ceil(BANKS as u32);
        ideal += least;
        taken += most;
        degree = degree.max(most);
    }
    (ideal, taken, degree)
}

impl Banks {
    /// Counts an access to shared memory.
    pub fn access(&mut self, access: &Access<'_>, launch: u32) {
        let action = match access.kind {
            AccessKind::Read => Action::Read,
            AccessKind::Write => Action::Write,
            AccessKind::Atomic | AccessKind::Reduction => return,
        };
        let (ideal, taken, degree) = passes(access.address, access.performed(), access.bytes());
        let count = self.sites.entry(access.site).or_insert_with(|| Count {
            requests: 0,
            wavefronts: 0,
            degree: 0,
            worst: End::of_lanes(access.site, access.who, access.performed(), action, launch),
        });
        count.requests += u64::from(ideal);
        count.wavefronts += u64::from(taken);
        if degree > count.degree {
            count.degree = degree;
            count.worst =
                End::of_lanes(access.site, access.who, access.performed(), action, launch);
        }
    }

    /// Adds what another core counted.
    pub fn merge(&mut self, other: Banks) {
        for (site, theirs) in other.sites {
            match self.sites.get_mut(&site) {
                None => _ = self.sites.insert(site, theirs),
                Some(ours) => {
                    ours.requests += theirs.requests;
                    ours.wavefronts += theirs.wavefronts;
                    // The worst, and of equals that of the first block, whichever core ran it.
                    let first =
                        |c: &Count| (std::cmp::Reverse(c.degree), c.worst.launch, c.worst.block);
                    if first(&theirs) < first(ours) {
                        ours.degree = theirs.degree;
                        ours.worst = theirs.worst;
                    }
                }
            }
        }
    }

    /// One finding for each instruction that had conflicts.
    pub fn take_findings(&mut self) -> impl Iterator<Item = Finding> {
        let sites = std::mem::take(&mut self.sites).into_values();
        sites
            .filter(|c| c.wavefronts > c.requests)
            .map(|c| Finding {
                rule: Rule::BankConflict,
                ends: vec![c.worst],
                place: None,
                detail: Detail::Banks {
                    requests: c.requests,
                    wavefronts: c.wavefronts,
                    degree: c.degree,
                },
                count: c.wavefronts - c.requests,
                stale_loads: Vec::new(),
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    fn strided(stride: u64) -> [u64; LANES] {
        std::array::from_fn(|l| l as u64 * stride)
    }

    /// The degree of a stride is its greatest common divisor with the number of banks.
    #[rstest]
    #[case(1, 1)]
    #[case(2, 2)]
    #[case(3, 1)]
    #[case(4, 4)]
    #[case(8, 8)]
    #[case(16, 16)]
    #[case(32, 32)]
    #[case(33, 1)]
    fn a_stride_in_words_conflicts_by_its_powers_of_two(#[case] stride: u64, #[case] degree: u32) {
        let (ideal, taken, worst) = passes(&strided(stride * 4), u32::MAX, 4);
        assert_eq!((ideal, taken, worst), (1, degree, degree));
    }

    #[test]
    fn one_word_read_by_all_is_one_pass() {
        assert_eq!(passes(&[64; LANES], u32::MAX, 4), (1, 1, 1));
    }

    #[test]
    fn bytes_of_one_word_do_not_conflict() {
        assert_eq!(passes(&strided(1), u32::MAX, 1), (1, 1, 1));
    }

    #[rstest]
    #[case(8, 2)]
    #[case(16, 4)]
    fn adjacent_wide_elements_take_a_pass_for_each_part_of_the_warp(
        #[case] bytes: u32,
        #[case] parts: u32,
    ) {
        let row = strided(bytes.into());
        assert_eq!(passes(&row, u32::MAX, bytes), (parts, parts, 1));
    }

    #[test]
    fn every_other_double_conflicts_twice() {
        assert_eq!(passes(&strided(16), u32::MAX, 8), (2, 4, 2));
    }

    #[test]
    fn inactive_lanes_do_not_count() {
        assert_eq!(passes(&strided(128), 0b11, 4), (1, 2, 2));
    }
}
