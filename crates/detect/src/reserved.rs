//! Races in the shared memory that the system reserves (PTX ISA, "Special Registers: %reserved_smem_offset_begin, …").
//!
//! "Reserved for NVIDIA's system software": the toolkit's headers use it, programs don't. Cooperative groups keeps there what tiles of several warps
//! exchange, and lets lanes of a warp read a place before, and write it behind, a `redux.sync` or `shfl.sync` of theirs. Nothing in the memory model orders
//! the two, since such an exchange is no barrier for memory; the hardware that the header was written for executes them in this order. So in this memory an
//! exchange counts as a barrier of the warp, and several lanes of a warp may write one value. All else is judged as anywhere: a tile that is used by warps
//! which nothing orders is a race, and so is every such access to memory of the program.
//!
//! It has a race detector of its own, which is told of each event that orders threads, and of strong accesses, because threads meet in this memory, too.

use crate::finding::Findings;
use crate::race;
use crate::rules::Rule;
use simt::ids::*;
use simt::observer::*;
use std::ops::Range;

/// Who accesses reserved memory in this launch.
#[derive(Clone, Debug, Default)]
pub struct Detector {
    range: Range<u64>,
    /// Its detector.
    pub races: race::Detector,
}

impl Detector {
    /// For a launch of a program that uses reserved memory.
    pub fn of(shape: &LaunchShape) -> Option<Detector> {
        let range = shape.reserved_shared.clone();
        if range.is_empty() {
            return None;
        }
        let mut races = race::Detector::new();
        // A block has reserved memory of its own.
        races.launch_begins(&LaunchShape {
            cluster: Dim3::ONE,
            strong_shared: true,
            fine_sync: true,
            ..shape.clone()
        });
        Some(Detector { range, races })
    }

    /// See [`simt::observer::Observer::fork`].
    pub fn fork(&self) -> Detector {
        Detector {
            range: self.range.clone(),
            races: self.races.fork(),
        }
    }

    /// The lanes that access reserved memory.
    pub fn lanes(&self, space: Option<Space>, mask: Mask, address: &[u64; LANES]) -> Mask {
        if space != Some(Space::Shared) {
            return 0;
        }
        let inside = |lane: &u32| self.range.contains(&address[*lane as usize]);
        let all = race::block::lanes(mask).filter(inside);
        all.fold(0, |m, lane| m | 1 << lane)
    }

    /// Memory was accessed. The lanes whose access is none of other detectors' business.
    pub fn access(&mut self, access: &Access<'_>) -> Mask {
        let own = self.lanes(Some(access.space), access.mask, access.address);
        if !access.is_weak() {
            self.races.access(access);
        } else if own != 0 {
            self.races.access(&Access {
                mask: own,
                wrote: access.wrote & own,
                ..*access
            });
        }
        own
    }

    /// See [`Events::warp_sync`].
    pub fn warp_sync(&mut self, sync: &WarpSync) {
        self.races.warp_sync(&WarpSync {
            kind: WarpSyncKind::Barrier,
            ..*sync
        });
    }

    /// What was found, leaving nothing.
    pub fn take_findings(&mut self) -> Findings {
        let mut findings = self.races.take_findings();
        findings.retain(|finding| {
            let inside = |place: &crate::finding::Place| {
                place.space == Space::Shared && self.range.contains(&place.address)
            };
            finding.rule != Rule::SameValueWrite && finding.place.as_ref().is_some_and(inside)
        });
        findings
    }
}

#[cfg(test)]
mod tests {
    use super::super::Detectors;
    use super::super::scene::*;
    use super::*;

    /// What is wrong in a block of two warps whose second kilobyte of shared memory is the system's.
    fn found(act: impl FnOnce(&mut Scene<Detectors>)) -> Vec<Rule> {
        let mut scene = Scene::new(Detectors::new(false), 1, 64);
        scene.shape.reserved_shared = 1024..2048;
        act(&mut scene);
        let found = scene.observer.take_findings();
        found.iter().map(|f| f.rule).collect()
    }

    fn exchange(s: &mut Scene<Detectors>, who: WarpRef) {
        s.observer.warp_sync(&WarpSync {
            site: Site(99),
            who,
            lanes: ALL,
            members: ALL,
            kind: WarpSyncKind::Exchange,
        });
    }

    /// A lane reads what another one writes behind an exchange of their warp.
    fn read_then_written(at: u64, writer: WarpRef) -> Vec<Rule> {
        found(|s| {
            s.go(warp(0, 0), 2, read(at));
            exchange(s, warp(0, 0));
            exchange(s, warp(0, 1));
            s.go(writer, 1, write(at));
        })
    }

    #[test]
    fn an_exchange_orders_lanes_of_a_warp_in_reserved_memory_alone() {
        assert_eq!(read_then_written(1024, warp(0, 0)), []);
        assert_eq!(read_then_written(2044, warp(0, 0)), []);
        assert_eq!(read_then_written(1020, warp(0, 0)), [Rule::DataRace]);
        assert_eq!(read_then_written(2048, warp(0, 0)), [Rule::DataRace]);
        assert_eq!(read_then_written(1024, warp(0, 1)), [Rule::DataRace]);
    }

    #[test]
    fn lanes_that_nothing_orders_race_in_reserved_memory_too() {
        let rules = found(|s| {
            s.go(warp(0, 0), 2, read(1024));
            s.go(warp(0, 0), 1, write(1024));
        });
        assert_eq!(rules, [Rule::DataRace]);
    }

    #[test]
    fn threads_meet_in_reserved_memory() {
        for (order, expected) in [
            (Order::Release, vec![]),
            (Order::Relaxed, vec![Rule::DataRace]),
        ] {
            let rules = found(|s| {
                s.go(warp(0, 0), 1, write(64));
                s.go(warp(0, 0), 1, write(1200));
                s.go(warp(0, 0), 1, red(1024).order(order, Scope::Cta));
                s.go(warp(0, 1), 1, read(1024).acquire(Scope::Cta));
                s.go(warp(0, 1), 1, read(64));
                s.go(warp(0, 1), 1, read(1200));
            });
            assert_eq!(rules.first(), expected.first());
            assert_eq!(rules.len(), 2 * expected.len());
        }
    }
}
