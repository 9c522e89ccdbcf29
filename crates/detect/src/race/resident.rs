//! A block that runs: what its threads know, the shadow of its shared memory, and what that shadow has not been told yet.

use super::Shape;
use super::access_shape::AccessShape;
use super::aside::Aside;
use super::atomics::AtomicLog;
use super::block::{Block, View};
use super::cells::Cells;
use super::contention::{Contention, Locations};
use super::folded::last_of_each;
use super::message::is_wide;
use super::racing_rows::RacingRows;
use super::report::Reporter;
use super::rows::{self, ReadLog};
use super::span::LINE;
use super::strong_access::Strong;
use super::weak_access::WeakAccesses as _;
use simt::ids::{BlockId, LANES, WarpId};
use simt::observer::*;

/// A block that runs.
#[derive(Clone, Debug, Default)]
pub(super) struct Resident {
    /// What its threads know.
    pub block: Block,
    /// The shadow of its shared memory.
    pub shared: Cells,
    /// Reads of shared memory that its shadow does not know of yet.
    pub log: ReadLog,
    /// Atomics on shared memory that its shadow does not know of yet; none while there are such reads.
    pub atomics: AtomicLog,
    /// Rows whose races are known, which its shadow does not know of yet; made after those reads. None while there are such atomics.
    pub racing: RacingRows,
    /// Whether its shadow has been told of reads since the last barrier.
    pub told: bool,
    /// Where strong accesses were made to its shared memory since the last barrier.
    pub strong: Locations,
}

impl Resident {
    /// Tells the shadow of the accesses that were set aside.
    #[inline]
    pub fn tell(&mut self, launch: &Shape, reporter: &mut Reporter) {
        if !self.log.is_empty() {
            self.tell_reads(launch, reporter);
        }
        if !self.racing.is_empty() {
            self.tell_racing_rows(launch, reporter);
        }
        if self.atomics.concerns_shadow() {
            self.tell_atomics(launch, reporter);
        }
    }

    /// A barrier of the whole block has settled all that was done to its shared memory.
    pub fn settle(&mut self) {
        self.log.clear();
        self.racing.clear();
        self.told = false;
        self.atomics.settle();
        self.strong.clear();
    }

    /// Sets a row aside if all that it may race with is known. False, and nothing has happened, if it does not.
    #[inline(never)]
    pub fn set_row_aside(
        &mut self,
        access: &Access<'_>,
        launch: &Shape,
        reporter: &Reporter,
    ) -> bool {
        let v = launch.view(&self.block, access.who.warp.0, false);
        if launch.shared_shift != 2 || v.fine_sync || self.atomics.concerns_shadow() {
            return false;
        }
        let fits = (self.racing).fits(access, &self.log, &reporter.known, &v);
        let Some(row) = fits else {
            return false;
        };
        let touched = |granule: usize| !self.shared.is_untouched(granule / LINE, self.told, &v);
        if row
            .granules()
            .iter()
            .any(|(from, to)| touched(*from) || touched(*to))
        {
            return false;
        }
        self.racing.add(row, access.stores);
        self.atomics.mix();
        true
    }

    #[inline(never)]
    fn tell_racing_rows(&mut self, launch: &Shape, reporter: &mut Reporter) {
        let id = BlockId(self.block.id);
        self.told = true;
        for row in self.racing.take() {
            // As it was then.
            let warp = row.warp as usize;
            let now = self.block.warps[warp];
            self.block.warps[warp].now = row.stamp;
            self.block.warps[warp].floor = row.warp_floor;
            row.tell(id, |access| match access.is_weak() {
                true => {
                    let v = launch.view(&self.block, row.warp, false);
                    (self.shared).weak(access, &v, launch.shared_shift, reporter);
                }
                false => Strong { launch, access }.run(&mut self.shared, &mut self.block, reporter),
            });
            self.block.warps[warp] = now;
        }
    }

    /// Sets a strong access to shared memory aside, where the shadow can do without it, and where `contention` can: whether each does.
    /// `own` is the access as `contention` numbers it, and `blocks` how many run at the same time.
    #[inline]
    pub fn set_aside(
        &mut self,
        (own, access): (&Access<'_>, &Access<'_>),
        blocks: usize,
        launch: &Shape,
        contention: &mut Contention,
        reporter: &mut Reporter,
    ) -> (bool, bool) {
        let shift = launch.shared_shift;
        if !AtomicLog::fits(access, launch.shared_cells, shift) {
            return (false, false);
        }
        if !self.atomics.has_room(blocks) && !self.fold(blocks, launch, reporter) {
            let v = launch.view(&self.block, access.who.warp.0, false);
            contention.tell(&mut self.strong, &mut self.atomics, &v);
            self.tell(launch, reporter);
            self.atomics.clear();
        }
        let v = launch.view(&self.block, access.who.warp.0, false);
        let shadow = !access.asynchronous && self.atomics.spares_shadow(&v);
        let role = contention.calm_role((own.site, own.kind), &self.strong, &self.atomics);
        match (shadow, role) {
            (false, None) => return (false, false),
            (true, None) => contention.tell(&mut self.strong, &mut self.atomics, &v),
            (false, Some(_)) => {
                self.tell(launch, reporter);
                self.atomics.mix();
            }
            (true, Some(_)) => (),
        }
        let v = launch.view(&self.block, access.who.warp.0, false);
        // A loop, which the compiler makes vector instructions of.
        let mut granules = [0; LANES];
        for lane in 0..LANES {
            granules[lane] = (access.address[lane] >> shift) as u16;
        }
        let updates = WordUpdates {
            site: access.site,
            who: access.who,
            mask: access.mask,
            words: &granules,
            kind: access.kind,
            order: access.order,
            scope: access.scope,
        };
        self.atomics.add(&updates, &v, shadow, role);
        (shadow, role.is_some())
    }

    /// Makes room in the log of atomics by folding them ([`super::folded`]). False if they have to be told.
    #[inline(never)]
    fn fold(&mut self, blocks: usize, launch: &Shape, reporter: &mut Reporter) -> bool {
        let done = self.atomics.fold_order(launch.shared_cells, blocks)
            && self.tell_last_atomics(launch, reporter);
        if done {
            self.atomics.make_room();
        }
        done
    }

    /// Tells the shadow the last of the atomics on each granule, where it would keep no more if it were told of all. False if that is not
    /// so; then it has to be told of all.
    fn tell_last_atomics(&mut self, launch: &Shape, reporter: &mut Reporter) -> bool {
        let (all, cells) = self.atomics.of_shadow();
        let wide = |aside: &Aside| is_wide(aside.scope);
        if all.windows(2).any(|two| wide(&two[0]) != wide(&two[1])) {
            return false;
        }
        let who = WarpRef {
            block: BlockId(self.block.id),
            warp: WarpId(0),
        };
        let (block, shared, shift) = (&self.block, &mut self.shared, launch.shared_shift);
        last_of_each(all, cells, launch.shared_cells, |at, number, lane| {
            let aside = &all[number];
            let access = aside.access(who, &[0; LANES], shift);
            reporter.learn(&access);
            let class = AccessShape::new(access.element, 0, wide(aside), true);
            // As it was then.
            let v = View {
                now: aside.stamp,
                ..launch.view(block, aside.warp, false)
            };
            shared.open(at, true, &v);
            shared.chain(at, lane, class, access.site, &v).is_ok()
        })
    }

    #[inline(never)]
    pub fn tell_atomics(&mut self, launch: &Shape, reporter: &mut Reporter) {
        let who = WarpRef {
            block: BlockId(self.block.id),
            warp: WarpId(0),
        };
        let shift = launch.shared_shift;
        for (aside, cells) in self.atomics.tell_shadow() {
            let address = cells.map(|cell| u64::from(cell) << shift);
            let access = &aside.access(who, &address, shift);
            // As it was then.
            let warp = aside.warp as usize;
            let now = self.block.warps[warp];
            self.block.warps[warp].now = aside.stamp;
            self.block.warps[warp].floor = aside.warp_floor;
            Strong { launch, access }.run(&mut self.shared, &mut self.block, reporter);
            self.block.warps[warp] = now;
        }
    }

    #[inline(never)]
    pub fn tell_reads(&mut self, launch: &Shape, reporter: &mut Reporter) {
        self.told = true;
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
