//! Reads through the non-coherent cache: `non-coherent-read`.
//!
//! The PTX memory consistency model leaves `ld.global.nc` out ("Scope and applicability of the model"): no
//! barrier or fence brings it what the same launch has written. What decides is therefore not happens-before
//! but whether the launch has written the bytes when they are read. Each granule remembers its last write, by an
//! ordinary store or an atomic operation; a non-coherent read that meets one is a finding. Constant time per granule;
//! the detector exists only for programs that have such reads ([`simt::observer::LaunchShape::non_coherent`]).
//!
//! Blind spot: a write that comes after the read. If nothing orders the two it is a data race, and
//! found as that ([`super::race`]); if something does, the read has its value.

use crate::finding::{Action, End, Finding, Findings, Place};
use crate::rules::Rule;
use simt::ids::*;
use simt::observer::{Access, AccessKind, LaunchShape, Order, Scope, Space};

/// Granules of a page.
const PAGE: usize = 1 << 10;

/// Who wrote a granule last, and how.
#[derive(Clone, Copy, Debug)]
struct Writer {
    site: Site,
    block: BlockId,
    thread: ThreadId,
    action: Action,
    order: (Order, Scope),
}

type Page = Box<[Option<Writer>]>;

/// Who has written which global memory in this launch.
#[derive(Clone, Debug, Default)]
pub struct Detector {
    findings: Findings,
    launch: u32,
    shift: u32,
    pages: Vec<Option<Page>>,
}

impl Detector {
    /// For a launch of a program with non-coherent reads.
    pub fn new(shape: &LaunchShape) -> Detector {
        Detector {
            launch: shape.launch,
            shift: shape.global_granule.max(1).trailing_zeros(),
            ..Detector::default()
        }
    }

    /// See [`simt::observer::Observer::fork`]. A read in one fork of what another one has written is a race
    /// between blocks, after which the launch is judged again on one core.
    pub fn fork(&self) -> Detector {
        Detector {
            launch: self.launch,
            shift: self.shift,
            ..Detector::default()
        }
    }

    /// See [`simt::observer::Events::access`].
    pub fn access(&mut self, access: &Access<'_>) {
        if access.space != Space::Global {
            return;
        }
        let writes = access.wrote & access.mask;
        for lane in (0..LANES).filter(|l| writes >> l & 1 == 1) {
            let writer = Writer {
                site: access.site,
                block: access.who.block,
                thread: access.who.thread(LaneId(lane as u8)),
                action: match access.kind {
                    AccessKind::Write => Action::Write,
                    _ => Action::Atomic,
                },
                order: (access.order, access.scope),
            };
            for granule in self.granules(access.address[lane], access.bytes()) {
                *self.cell(granule) = Some(writer);
            }
        }
        if access.non_coherent {
            for lane in (0..LANES).filter(|l| access.mask >> l & 1 == 1) {
                self.read(access, lane);
            }
        }
    }

    fn granules(&self, address: u64, bytes: u32) -> std::ops::Range<u64> {
        address >> self.shift..(address + u64::from(bytes)).div_ceil(1 << self.shift)
    }

    fn cell(&mut self, granule: u64) -> &mut Option<Writer> {
        let page = granule as usize / PAGE;
        if page >= self.pages.len() {
            self.pages.resize_with(page + 1, || None);
        }
        let page = self.pages[page].get_or_insert_with(|| vec![None; PAGE].into_boxed_slice());
        &mut page[granule as usize % PAGE]
    }

    fn written(&self, granule: u64) -> Option<&Writer> {
        let page = self.pages.get(granule as usize / PAGE)?.as_ref()?;
        page[granule as usize % PAGE].as_ref()
    }

    fn read(&mut self, access: &Access<'_>, lane: usize) {
        let first = access.address[lane];
        let mut last = None;
        for granule in self.granules(first, access.bytes()) {
            let Some(writer) = self.written(granule).copied() else {
                continue;
            };
            // Once for an element that several granules make up.
            if last.replace(writer.site) != Some(writer.site) {
                self.report(access, lane, &writer, (granule << self.shift).max(first));
            }
        }
    }

    #[cold]
    fn report(&mut self, access: &Access<'_>, lane: usize, writer: &Writer, byte: u64) {
        let rule = Rule::NonCoherentRead;
        if self
            .findings
            .count_again(rule, access.site, writer.site)
            .is_some()
        {
            return;
        }
        let element = u64::from(access.element);
        let first = access.address[lane];
        let here = End {
            site: access.site,
            launch: self.launch,
            block: access.who.block,
            thread: access.who.thread(LaneId(lane as u8)),
            threads: 1,
            action: Action::Read,
            order: Some((access.order, access.scope)),
        };
        let there = End {
            site: writer.site,
            launch: self.launch,
            block: writer.block,
            thread: writer.thread,
            threads: 1,
            action: writer.action,
            order: Some(writer.order),
        };
        self.findings
            .add(Finding::new(rule, vec![here, there]).at(Place::new(
                access.space,
                first + (byte - first) / element * element,
                access.element,
            )));
    }

    /// What was found, leaving nothing.
    pub fn take_findings(&mut self) -> Findings {
        std::mem::take(&mut self.findings)
    }

    /// Whether nothing was found.
    pub fn is_clean(&self) -> bool {
        self.findings.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::super::Detectors;
    use super::super::scene::*;
    use super::*;
    use simt::observer::Events;

    /// The reads and writes that are to blame, the reads first.
    fn stale(act: impl FnOnce(&mut Scene<Detectors>)) -> Vec<(u32, u32)> {
        let mut scene = Scene::new(Detectors::new(false), 2, 64);
        act(&mut scene);
        let found = scene.observer.take_findings();
        let of_rule = found
            .iter()
            .filter(|f| f.rule == Rule::NonCoherentRead)
            .map(|f| (f.ends[0].site.0, f.ends[1].site.0));
        of_rule.collect()
    }

    fn nc(base: u64) -> Does {
        read(base).global().non_coherent()
    }

    #[test]
    fn a_barrier_does_not_help() {
        let found = stale(|s| {
            s.go(warp(0, 0), ALL, write(0).global().by_lane());
            s.barrier(0);
            s.go(warp(0, 1), ALL, nc(0).by_lane());
        });
        assert_eq!(found, [(2, 0)]);
    }

    #[test]
    fn the_thread_that_wrote_may_read_the_old_value_too() {
        let found = stale(|s| {
            s.go(warp(0, 0), 1, write(0).global());
            s.go(warp(0, 0), 1, nc(0));
        });
        assert_eq!(found, [(1, 0)]);
    }

    #[test]
    fn across_blocks_and_after_an_atomic() {
        let found = stale(|s| {
            s.go(warp(0, 0), 1, atom(64).global());
            s.go(warp(1, 0), 1, nc(64));
        });
        assert_eq!(found, [(1, 0)]);
    }

    #[test]
    fn an_exchange_that_failed_wrote_nothing() {
        let found = stale(|s| {
            s.go(warp(0, 0), 1, atom(64).global().wrote(0));
            s.go(warp(0, 0), 1, nc(64));
        });
        assert_eq!(found, []);
    }

    #[test]
    fn other_bytes_other_reads_and_later_writes_are_fine() {
        let found = stale(|s| {
            s.go(warp(0, 0), ALL, nc(0).by_lane());
            s.barrier(0);
            s.go(warp(0, 0), ALL, write(0).global().by_lane());
            s.barrier(0);
            s.go(warp(0, 1), ALL, nc(128).by_lane());
            s.go(warp(0, 1), ALL, read(0).global().by_lane());
            s.go(warp(0, 1), ALL, write(0).by_lane());
        });
        assert_eq!(found, []);
    }

    #[test]
    fn a_vector_read_names_each_writer_once() {
        let found = stale(|s| {
            s.go(warp(0, 0), 1, write(4).global());
            s.go(warp(0, 0), 1, write(8).global());
            s.go(warp(0, 0), 1, nc(0).vector(4));
        });
        assert_eq!(found, [(2, 0), (2, 1)]);
    }

    #[test]
    fn the_next_launch_starts_anew() {
        let found = stale(|s| {
            s.go(warp(0, 0), ALL, write(0).global().by_lane());
            s.observer.launch_ends();
            let shape = LaunchShape {
                launch: 1,
                ..s.shape.clone()
            };
            s.observer.launch_begins(&shape);
            s.observer.block_begins(BlockId(0));
            s.go(warp(0, 0), ALL, nc(0).by_lane());
        });
        assert_eq!(found, []);
    }
}
