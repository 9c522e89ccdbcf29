//! A block that runs: what its threads know, the shadow of its shared memory, and what that shadow has not been told yet.

use super::Shape;
use super::atomics::AtomicLog;
use super::block::Block;
use super::cells::Cells;
use super::report::Reporter;
use super::rows::{self, ReadLog};
use super::strong_access::Strong;
use super::weak_access::WeakAccesses as _;
use simt::ids::{BlockId, WarpId};
use simt::observer::*;

/// A block that runs.
#[derive(Debug, Default)]
pub(super) struct Resident {
    /// What its threads know.
    pub block: Block,
    /// The shadow of its shared memory.
    pub shared: Cells,
    /// Reads of shared memory that its shadow does not know of yet.
    pub log: ReadLog,
    /// Atomics on shared memory that its shadow does not know of yet; none while there are such reads.
    pub atomics: AtomicLog,
}

impl Resident {
    /// Tells the shadow of the accesses that were set aside.
    #[inline]
    pub fn tell(&mut self, launch: &Shape, reporter: &mut Reporter) {
        if !self.log.is_empty() {
            self.tell_reads(launch, reporter);
        }
        if !self.atomics.is_empty() {
            self.tell_atomics(launch, reporter);
        }
    }

    /// A barrier of the whole block has settled all that was set aside.
    pub fn settle(&mut self) {
        self.log.clear();
        self.atomics.settle();
    }

    /// Sets an atomic on shared memory aside, of a block among so many that run at the same time. False if it is none of those that can be.
    #[inline]
    pub fn set_aside(
        &mut self,
        access: &Access<'_>,
        blocks: usize,
        launch: &Shape,
        reporter: &mut Reporter,
    ) -> bool {
        if !self.atomics.has_room(blocks) {
            self.tell(launch, reporter);
        }
        let v = launch.view(&self.block, access.who.warp.0, false);
        !access.asynchronous && self.atomics.add(access, &v, launch.shared_shift)
    }

    #[inline(never)]
    pub fn tell_atomics(&mut self, launch: &Shape, reporter: &mut Reporter) {
        let who = WarpRef {
            block: BlockId(self.block.id),
            warp: WarpId(0),
        };
        for (aside, address) in self.atomics.each() {
            let access = &aside.access(who, &address);
            // As it was then.
            let warp = aside.warp as usize;
            let now = self.block.warps[warp];
            self.block.warps[warp].now = aside.stamp;
            self.block.warps[warp].floor = aside.warp_floor;
            Strong { launch, access }.run(&mut self.shared, &mut self.block, reporter);
            self.block.warps[warp] = now;
        }
        self.atomics.clear();
    }

    #[inline(never)]
    pub fn tell_reads(&mut self, launch: &Shape, reporter: &mut Reporter) {
        let view = launch.view(&self.block, 0, false);
        let who = WarpRef {
            block: BlockId(self.block.id),
            warp: WarpId(0),
        };
        let (log, shared) = (&mut self.log, &mut self.shared);
        log.tell(&view, who, |access, v| {
            if rows::packed(shared, access, v, 2) {
                return;
            }
            let address = access.addresses();
            shared.weak(&access.expanded(&address), v, launch.shared_shift, reporter);
        });
    }
}
