//! What threads did to memory that they share, in the order in which they did it: what exploration by reversal works on.
//!
//! Nothing is judged here. A [`Recorder`] writes down the accesses of a launch one by one, with the barriers between them, for as
//! long as that is little. Each access has its number among those of its thread, as
//! [`simt::schedule::reverse::Operation`] counts them. Of launches that do much, strong accesses alone are kept; then [`Log::whole`] is
//! false, as it is where something else than memory and barriers may pass something on.

use crate::clusters::Clusters;
use simt::ids::{BlockId, Mask, Site};
use simt::observer::*;
use simt::schedule::reverse::Operation;

/// Accesses that are kept.
const ACCESSES: usize = 1 << 16;
/// Accesses after which weak ones are left out.
const ALL_ACCESSES: usize = 1 << 12;

/// Threads that meet, all meetings together, after which the log is not whole.
const MET: usize = 1 << 20;

/// A thread: its block's number, and its own in it.
pub type Thread = (u32, u32);

/// An access of one thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Accessed {
    /// Who, and which of its accesses.
    pub operation: Operation,
    /// The instruction.
    pub site: Site,
    /// The block whose shared memory it is, or `None` for global memory.
    pub shared: Option<u32>,
    /// First byte.
    pub address: u64,
    /// Bytes.
    pub bytes: u32,
    /// Whether it read.
    pub reads: bool,
    /// Whether it wrote.
    pub writes: bool,
    /// Whether it is strong.
    pub strong: bool,
    /// How many barriers its block, and its warp, had completed.
    pub barriers: (u32, u32),
}

impl Accessed {
    /// The thread.
    pub fn thread(&self) -> Thread {
        (self.operation.block, self.operation.thread)
    }

    /// Whether two accesses of different threads conflict (PTX ISA, "Conflict and Data-races").
    pub fn conflicts(&self, other: &Accessed) -> bool {
        self.thread() != other.thread()
            && (self.writes || other.writes)
            && self.shared == other.shared
            && self.address < other.address + u64::from(other.bytes)
            && other.address < self.address + u64::from(self.bytes)
    }
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A thread accessed memory.
    Accessed(Accessed),
    /// These threads met: what each did before comes before what all do afterwards.
    Met(Vec<Thread>),
}

/// What happened in a launch, in order.
#[derive(Clone, Debug, Default)]
pub struct Log {
    /// The events.
    pub events: Vec<Event>,
    /// Whether these are all, and nothing else passed anything on between threads.
    pub whole: bool,
}

/// Writes a log.
#[derive(Clone, Debug, Default)]
pub struct Recorder {
    log: Log,
    /// Of each thread, its accesses so far, by block.
    counts: Vec<Vec<u32>>,
    /// By block: barriers of the block, and of each warp.
    barriers: Vec<(u32, Vec<u32>)>,
    threads: u32,
    accesses: usize,
    /// Threads that met, all meetings together.
    met: usize,
    /// Where blocks come in clusters of several.
    clusters: Option<Clusters>,
}

impl Recorder {
    /// For a launch.
    pub fn new(shape: &LaunchShape) -> Recorder {
        Recorder {
            log: Log {
                events: Vec::new(),
                whole: true,
            },
            threads: shape.block.count() as u32,
            clusters: Clusters::of(shape),
            ..Recorder::default()
        }
    }

    /// What was written.
    pub fn finish(self) -> Log {
        self.log
    }

    fn block(&mut self, block: BlockId) -> usize {
        let at = block.0 as usize;
        if self.counts.len() <= at {
            self.counts.resize_with(at + 1, Vec::new);
            self.barriers.resize_with(at + 1, Default::default);
        }
        if self.counts[at].is_empty() {
            self.counts[at] = vec![0; self.threads as usize];
            self.barriers[at].1 = vec![0; self.threads.div_ceil(32) as usize];
        }
        at
    }

    /// See [`Events::access`].
    pub fn access(&mut self, access: &Access<'_>) {
        if !matches!(access.space, Space::Global | Space::Shared) {
            return;
        }
        if access.asynchronous {
            // It has no place in the order of its thread's accesses.
            self.log.whole = false;
            return;
        }
        let block = self.block(access.who.block);
        let weak = access.is_weak();
        let warp = access.who.warp.0;
        let (of_block, of_warps) = &self.barriers[block];
        let barriers = (*of_block, of_warps[warp as usize]);
        for lane in crate::race::block::lanes(access.mask | access.dropped) {
            let thread = warp * 32 + lane;
            let count = &mut self.counts[block][thread as usize];
            let number = *count;
            *count += 1;
            let room = if weak { ALL_ACCESSES } else { ACCESSES };
            if self.accesses >= room {
                self.log.whole = false;
                continue;
            }
            self.accesses += 1;
            let at = access.address[lane as usize];
            let (owner, address) = match (&self.clusters, access.space) {
                (Some(clusters), Space::Shared) => clusters.owner(access.who.block, at),
                _ => (access.who.block, at),
            };
            self.log.events.push(Event::Accessed(Accessed {
                operation: Operation {
                    block: access.who.block.0,
                    thread,
                    number,
                },
                site: access.site,
                shared: (access.space == Space::Shared).then_some(owner.0),
                address,
                bytes: access.bytes(),
                reads: access.kind != AccessKind::Write,
                writes: match access.kind {
                    AccessKind::Read => false,
                    AccessKind::Write => true,
                    _ => access.wrote >> lane & 1 == 1,
                },
                strong: !weak,
                barriers,
            }));
        }
    }

    fn met(&mut self, block: BlockId, parties: impl Iterator<Item = (u32, Mask)>) {
        if self.met >= MET {
            self.log.whole = false;
        }
        if !self.log.whole {
            return;
        }
        let threads = parties.flat_map(|(warp, mask)| {
            crate::race::block::lanes(mask).map(move |lane| (block.0, warp * 32 + lane))
        });
        let threads: Vec<Thread> = threads.collect();
        self.met += threads.len();
        self.log.events.push(Event::Met(threads));
    }

    /// See [`Events::block_barrier`].
    pub fn block_barrier(&mut self, barrier: &BlockBarrier<'_>) {
        let at = self.block(barrier.block);
        if barrier.full {
            self.barriers[at].0 += 1;
        }
        // Who meets whom at the barrier of a part of the block is a question of who comes first.
        self.log.whole &= barrier.whole_block && barrier.arrived.len() == barrier.waited.len();
        // It waited for those who have exited, too.
        let parties = barrier.waited.iter().chain(barrier.exited);
        self.met(barrier.block, parties.map(|p| (p.warp.0, p.mask)));
    }

    /// See [`Events::block_arrives`].
    pub fn block_arrives(&mut self) {
        self.log.whole = false;
    }

    /// See [`Events::warp_sync`].
    pub fn warp_sync(&mut self, sync: &WarpSync) {
        if sync.kind != WarpSyncKind::Barrier {
            // It passes values on, and nobody goes on before all have come.
            return self.met(
                sync.who.block,
                std::iter::once((sync.who.warp.0, sync.lanes)),
            );
        }
        let at = self.block(sync.who.block);
        self.barriers[at].1[sync.who.warp.0 as usize] += 1;
        self.met(
            sync.who.block,
            std::iter::once((sync.who.warp.0, sync.lanes)),
        );
    }

    /// See [`Events::driver_call`].
    pub fn driver_call(&mut self) {
        self.log.whole = false;
    }
}
