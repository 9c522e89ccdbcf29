//! The vocabulary of the detectors' tests: a few warps, what they do, who is to blame.

#![allow(dead_code, reason = "a vocabulary; not every test needs every word")]

use crate::finding::{Finding, Findings};
use crate::rules::Rule;
use simt::ids::*;
use simt::observer::*;
use std::sync::Arc;

/// All lanes.
pub const ALL: Mask = u32::MAX;

/// A launch being acted out for an observer. Every action has an instruction of its own,
/// numbered from 0.
pub struct Scene<O> {
    pub observer: O,
    pub shape: LaunchShape,
    begun: bool,
    next: u32,
    /// Runs of loads that were made, each once: a run that is made again is the same one.
    runs: Vec<Arc<[RunRead]>>,
}

/// A memory access in the making.
#[derive(Clone, Copy, Debug)]
pub struct Does {
    pub space: Space,
    pub kind: AccessKind,
    pub order: Order,
    pub scope: Scope,
    pub element: u32,
    pub elements: u32,
    pub base: u64,
    /// Distance between the lanes' addresses.
    pub stride: u64,
    pub wrote: Mask,
    pub non_coherent: bool,
    /// Where the words of both halves of the warp begin and how they lie, in place of base and stride.
    pub halves: Option<[(u64, Layout); 2]>,
}

fn does(kind: AccessKind, base: u64) -> Does {
    Does {
        space: Space::Shared,
        kind,
        order: Order::Weak,
        scope: Scope::Sys,
        element: 4,
        elements: 1,
        base,
        stride: 0,
        wrote: ALL,
        non_coherent: false,
        halves: None,
    }
}

/// A weak read of a word of shared memory.
pub fn read(base: u64) -> Does {
    does(AccessKind::Read, base)
}
/// A weak write of a word of shared memory.
pub fn write(base: u64) -> Does {
    does(AccessKind::Write, base)
}
/// A relaxed read-modify-write of a word of shared memory at device scope.
pub fn atom(base: u64) -> Does {
    does(AccessKind::Atomic, base).order(Order::Relaxed, Scope::Gpu)
}
/// The same whose result nobody uses.
pub fn red(base: u64) -> Does {
    does(AccessKind::Reduction, base).order(Order::Relaxed, Scope::Gpu)
}

impl Does {
    pub fn global(self) -> Does {
        Does {
            space: Space::Global,
            ..self
        }
    }
    /// Each half of the warp at words of its own.
    pub fn halves(self, halves: [(u64, Layout); 2]) -> Does {
        Does {
            halves: Some(halves),
            ..self
        }
    }
    /// Through the non-coherent cache.
    pub fn non_coherent(self) -> Does {
        Does {
            non_coherent: true,
            ..self
        }
    }
    /// Each lane at its own element.
    pub fn by_lane(self) -> Does {
        let stride = u64::from(self.element * self.elements);
        Does { stride, ..self }
    }
    pub fn stride(self, stride: u64) -> Does {
        Does { stride, ..self }
    }
    pub fn bytes(self, element: u32) -> Does {
        Does { element, ..self }
    }
    pub fn vector(self, elements: u32) -> Does {
        Does { elements, ..self }
    }
    pub fn order(self, order: Order, scope: Scope) -> Does {
        Does {
            order,
            scope,
            ..self
        }
    }
    pub fn volatile(self) -> Does {
        self.order(Order::Volatile, Scope::Sys)
    }
    pub fn relaxed(self, scope: Scope) -> Does {
        self.order(Order::Relaxed, scope)
    }
    pub fn acquire(self, scope: Scope) -> Does {
        self.order(Order::Acquire, scope)
    }
    pub fn release(self, scope: Scope) -> Does {
        self.order(Order::Release, scope)
    }
    pub fn acq_rel(self, scope: Scope) -> Does {
        self.order(Order::AcqRel, scope)
    }
    /// A compare-and-swap that fails in all but these lanes.
    pub fn wrote(self, wrote: Mask) -> Does {
        Does { wrote, ..self }
    }
}

/// A warp.
pub fn warp(block: u32, warp: u32) -> WarpRef {
    WarpRef {
        block: BlockId(block),
        warp: WarpId(warp),
    }
}

impl<O: Events> Scene<O> {
    /// `blocks` blocks of `threads` threads, 4-byte granules, everything possible.
    pub fn new(observer: O, blocks: u32, threads: u32) -> Scene<O> {
        Scene {
            observer,
            shape: LaunchShape {
                cluster: Dim3::ONE,
                grid: Dim3::linear(blocks),
                block: Dim3::linear(threads),
                shared_bytes: 4096,
                reserved_shared: 0..0,
                global_bytes: 1 << 20,
                shared_granule: 4,
                global_granule: 4,
                strong_shared: true,
                strong_global: true,
                unwritten: Default::default(),
                non_coherent: true,
                async_copies: true,
                async_proxy: true,
                fine_sync: true,
                control_only: Arc::new([]),
                hands_on: Arc::new([]),
                effects: Default::default(),
                stale_values: false,
                polls: false,
                launch: 0,
            },
            begun: false,
            next: 0,
            runs: Vec::new(),
        }
    }

    /// Starts the launch and all its blocks; happens by itself before the first action.
    pub fn begin(&mut self) {
        if !std::mem::replace(&mut self.begun, true) {
            self.observer.launch_begins(&self.shape);
            for block in 0..self.shape.grid.count() as u32 {
                self.observer.block_begins(BlockId(block));
            }
        }
    }

    /// The instruction of the next action.
    pub fn next_site(&self) -> Site {
        Site(self.next)
    }

    pub(super) fn site(&mut self) -> Site {
        self.begin();
        self.next += 1;
        Site(self.next - 1)
    }

    fn warps(&self) -> u32 {
        (self.shape.block.count() as u32).div_ceil(32)
    }

    /// The lanes of a warp that exist.
    pub fn exists(&self, warp: u32) -> Mask {
        let threads = self.shape.block.count() as u32 - warp * 32;
        if threads >= 32 {
            ALL
        } else {
            (1 << threads) - 1
        }
    }

    /// The next action is of this instruction, the following ones of those after it.
    pub fn at(&mut self, site: u32) {
        self.next = site;
    }

    /// All lanes of a warp load words from shared memory: so many bytes behind one or two bases, each load by which base and offset.
    pub fn run(&mut self, who: WarpRef, bases: [[(u64, Layout); 2]; 2], loads: &[(u8, u32)]) {
        let mut words = [RunWords::default(); RunWords::MOST];
        for (base, (to, halves)) in words.iter_mut().zip(bases).enumerate() {
            to.first = halves.map(|(first, _)| first as u32);
            to.layout = halves.map(|(_, layout)| layout);
            let own = loads.iter().filter(|(of, _)| usize::from(*of) == base);
            let offsets: Vec<u32> = own.map(|(_, offset)| *offset).collect();
            let least = offsets.iter().min().copied().unwrap_or(0);
            let most = offsets.iter().max().copied().unwrap_or(0);
            for (half, ends) in to.ends.iter_mut().enumerate() {
                let more = match to.layout[half] {
                    Layout::Adjacent => 4 * HALF as u32,
                    Layout::Same => 4,
                };
                *ends = (to.first[half] + least, to.first[half] + most + more - 1);
            }
        }
        let reads: Arc<[RunRead]> = loads
            .iter()
            .map(|(base, offset)| RunRead {
                site: self.site(),
                base: *base,
                offset: *offset,
            })
            .collect();
        let known = self.runs.iter().find(|known| **known == reads);
        let reads = known.cloned().unwrap_or_else(|| {
            self.runs.push(Arc::clone(&reads));
            reads
        });
        self.observer.shared_run(&SharedRun {
            who,
            reads: &reads,
            bases: words,
            used: bases.len(),
        });
    }

    /// All lanes of a warp load words from shared memory, so many times, before anybody is told.
    pub fn reads(&mut self, who: WarpRef, all: &[[(u64, Layout); 2]]) {
        let reads: Vec<SharedRead> = all
            .iter()
            .map(|halves| SharedRead {
                site: self.site(),
                first: halves.map(|(first, _)| first as u32),
                layout: halves.map(|(_, layout)| layout),
            })
            .collect();
        self.observer.shared_reads(who, &reads);
    }

    /// Lanes of a warp access memory.
    pub fn go(&mut self, who: WarpRef, mask: Mask, does: Does) -> Site {
        let site = self.site();
        let mut address = std::array::from_fn(|lane| does.base + lane as u64 * does.stride);
        if let Some(halves) = does.halves {
            let row = RowAccess {
                site,
                who,
                space: does.space,
                first: halves.map(|(first, _)| first),
                layout: halves.map(|(_, layout)| layout),
                write: does.kind == AccessKind::Write,
                non_coherent: does.non_coherent,
                order: does.order,
                scope: does.scope,
                stores: None,
            };
            if mask == ALL {
                // As the execution loop tells of it.
                match (row.space, row.write, row.order) {
                    (Space::Shared, false, Order::Weak) => {
                        let first = row.first.map(|at| at as u32);
                        let layout = row.layout;
                        let read = SharedRead {
                            site,
                            first,
                            layout,
                        };
                        self.observer.shared_reads(who, &[read]);
                    }
                    _ => self.observer.row_access(&row),
                }
                return site;
            }
            address = row.addresses();
        }
        let updates = matches!(does.kind, AccessKind::Atomic | AccessKind::Reduction)
            && does.space == Space::Shared
            && (does.element, does.elements) == (4, 1)
            && mask & !does.wrote == 0;
        if updates {
            self.observer.word_updates(&WordUpdates {
                site,
                who,
                mask,
                words: &address.map(|at| (at / 4) as u16),
                kind: does.kind,
                order: does.order,
                scope: does.scope,
            });
            return site;
        }
        self.observer.access(&Access {
            site,
            who,
            mask,
            space: does.space,
            address: &address,
            neighbours: None,
            element: does.element,
            elements: does.elements,
            kind: does.kind,
            non_coherent: does.non_coherent,
            fragment: false,
            asynchronous: false,
            order: does.order,
            scope: does.scope,
            wrote: match does.kind {
                AccessKind::Read => 0,
                AccessKind::Write => mask,
                _ => does.wrote & mask,
            },
            dropped: 0,
            initial: 0,
            stores: None,
        });
        site
    }

    /// Lanes of a warp begin to copy a word each, from global to shared memory.
    pub fn copy_begins(&mut self, who: WarpRef, mask: Mask, number: u64, words: [u64; 2]) -> Site {
        let site = self.site();
        self.copy(site, who, mask, words, |observer, read, write| {
            observer.copy_begins(&AsyncCopy {
                number,
                reads: &[read],
                writes: &[write],
                proxy: false,
                product: false,
            });
        });
        site
    }

    /// A thread begins to store bytes from the beginning of shared memory to global memory, in a group.
    pub fn bulk_store_begins(&mut self, who: WarpRef, number: u64, bytes: u32) -> Site {
        let site = self.site();
        let zero = [0; LANES];
        let read = Access {
            site,
            who,
            mask: 1,
            space: Space::Shared,
            address: &zero,
            neighbours: None,
            element: 4,
            elements: bytes / 4,
            kind: AccessKind::Read,
            non_coherent: false,
            fragment: false,
            asynchronous: true,
            order: Order::Weak,
            scope: Scope::Sys,
            wrote: 0,
            dropped: 0,
            initial: 0,
            stores: None,
        };
        let write = Access {
            space: Space::Global,
            kind: AccessKind::Write,
            wrote: 1,
            ..read
        };
        self.observer.copy_begins(&AsyncCopy {
            number,
            reads: &[read],
            writes: &[write],
            proxy: true,
            product: false,
        });
        site
    }

    /// They have waited for it.
    pub fn copy_ends(
        &mut self,
        site: Site,
        who: WarpRef,
        mask: Mask,
        number: u64,
        words: [u64; 2],
    ) {
        self.copy(site, who, mask, words, |observer, read, write| {
            observer.copy_ends(who, number, mask);
            observer.access(&read);
            observer.access(&write);
        });
    }

    /// They arrive at an mbarrier with it.
    pub fn copy_arrives(
        &mut self,
        site: Site,
        who: WarpRef,
        mask: Mask,
        number: u64,
        words: [u64; 2],
    ) {
        self.copy(site, who, mask, words, |observer, read, write| {
            observer.copy_arrives(who, number, mask);
            observer.access(&read);
            observer.access(&write);
        });
    }

    fn copy(
        &mut self,
        site: Site,
        who: WarpRef,
        mask: Mask,
        words: [u64; 2],
        tell: impl FnOnce(&mut O, Access<'_>, Access<'_>),
    ) {
        let [from, to] = words.map(|w| std::array::from_fn(|lane| 4 * (w + lane as u64)));
        let read = Access::of_copy(site, who, Space::Global, mask, &from);
        let write = Access {
            space: Space::Shared,
            address: &to,
            kind: AccessKind::Write,
            wrote: mask,
            ..read
        };
        tell(&mut self.observer, read, write);
    }

    pub fn fence(&mut self, who: WarpRef, mask: Mask, order: FenceOrder, scope: Scope) {
        let site = self.site();
        self.observer.fence(site, who, mask, order, scope);
    }

    /// `bar.warp.sync` by these lanes.
    pub fn warp_sync(&mut self, who: WarpRef, lanes: Mask) {
        let site = self.site();
        self.observer.warp_sync(&WarpSync {
            site,
            who,
            lanes,
            members: lanes,
            kind: WarpSyncKind::Barrier,
        });
    }

    /// `bar.sync 0` by the whole block.
    pub fn barrier(&mut self, block: u32) {
        let all: Vec<_> = (0..self.warps()).map(|w| (w, self.exists(w))).collect();
        self.barrier_of(block, 0, &all, &[], true);
    }

    /// A barrier that these lanes of warps waited for and others arrived at earlier.
    pub fn barrier_of(
        &mut self,
        block: u32,
        id: u32,
        waited: &[(u32, Mask)],
        arrived: &[(u32, Mask)],
        full: bool,
    ) {
        let site = self.site();
        let party = |&(warp, mask): &(u32, Mask)| Party {
            warp: WarpId(warp),
            mask,
            site,
        };
        let waited: Vec<_> = waited.iter().map(party).collect();
        let arrived: Vec<_> = waited
            .iter()
            .copied()
            .chain(arrived.iter().map(party))
            .collect();
        self.observer.block_barrier(&BlockBarrier {
            block: BlockId(block),
            id,
            arrived: &arrived,
            waited: &waited,
            whole_block: full,
            full,
            aligned: true,
            exited: &[],
        });
    }

    /// `bar.arrive` by these lanes.
    pub fn arrive(&mut self, who: WarpRef, id: u32, mask: Mask) {
        let site = self.site();
        let party = Party {
            warp: who.warp,
            mask,
            site,
        };
        self.observer.block_arrives(who.block, id, party);
    }

    pub fn exit(&mut self, who: WarpRef, mask: Mask) {
        let site = self.site();
        self.observer.exits(who, mask, site);
    }
}

/// Rule and instructions, the later first.
pub type Blame = (Rule, Site, Site);

/// The findings as rule and instructions.
pub fn blames(findings: Findings) -> Vec<Blame> {
    let blame = |f: Finding| (f.rule, f.ends[0].site, f.ends[1].site);
    findings.into_sorted().into_iter().map(blame).collect()
}
