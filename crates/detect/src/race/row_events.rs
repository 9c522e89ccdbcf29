//! The detector's events for what is commonest: rows, which are accesses of whole warps to adjacent words, or to one word
//! ([`super::rows`]), and atomics on words of shared memory ([`super::atomics`]).

use super::Detector;
use super::concurrent_launches::First;
use super::rows;
use simt::ids::{BlockId, Mask};
use simt::observer::*;

impl Detector {
    /// See [`Events::row_access`]. False if it has to be told as an [`Access`].
    #[inline]
    pub fn row_access(&mut self, access: &RowAccess<'_>) -> bool {
        // A line of global memory that something strong has touched is not packed, and of others nothing is noted of what depends on order.
        if self.clusters.is_some() && access.space == Space::Shared {
            return false;
        }
        let plain = access.space == Space::Global || self.takes_shared_rows(access.who.block);
        if !plain || access.order != Order::Weak {
            return false;
        }
        if self.first != First::default() {
            return self.numbered_row_access(&RowAccess {
                site: self.first.site(access.site),
                who: self.first.who(access.who),
                ..*access
            });
        }
        self.weak_row_access(access)
    }

    /// Whether rows of a block's shared memory may be told as such: no exact clocks are needed for them, and nobody waits for what strong
    /// accesses would meet.
    #[inline(always)]
    fn takes_shared_rows(&mut self, block: BlockId) -> bool {
        if self.launch.fine_sync || self.launch.shared_shift != 2 || self.clusters.is_some() {
            return false;
        }
        if !self.launch.strong_shared {
            return true;
        }
        let at = self.find(self.first.block(block));
        let resident = &self.residents[at];
        resident.racing.is_empty()
            && (self.contention).is_quiet(&resident.strong, &resident.atomics)
    }

    /// Sets reads of shared memory aside, in their order: how many. The next one has to be told as an [`Access`].
    #[inline]
    pub fn shared_reads(&mut self, who: WarpRef, reads: &[SharedRead]) -> usize {
        if !self.takes_shared_rows(who.block) || self.first != First::default() {
            return 0;
        }
        let at = self.find(who.block);
        let (launch, resident) = (&self.launch, &mut self.residents[at]);
        if resident.atomics.concerns_shadow() {
            return 0;
        }
        resident.atomics.mix();
        let warp = who.warp.0;
        resident.block.warps[warp as usize].touched = Mask::MAX;
        let v = launch.view(&resident.block, warp, false);
        if v.fine_sync {
            return 0;
        }
        let (shared, log) = (&mut resident.shared, &mut resident.log);
        let mut just = rows::JustRead::default();
        let more = |read| !rows::set_aside(shared, log, read, &v, &mut just);
        reads.iter().position(more).unwrap_or(reads.len())
    }

    /// Sets a run of reads aside. False if that can't be, and each has to be told.
    #[inline]
    pub fn shared_run(&mut self, run: &SharedRun<'_>) -> bool {
        let who = run.who;
        if !self.takes_shared_rows(who.block) || self.first != First::default() {
            return false;
        }
        let at = self.find(who.block);
        let (launch, resident) = (&self.launch, &mut self.residents[at]);
        let v = launch.view(&resident.block, who.warp.0, false);
        if v.fine_sync || resident.atomics.concerns_shadow() {
            return false;
        }
        let aside = rows::set_run_aside(&mut resident.shared, &mut resident.log, run, &v);
        if aside {
            resident.block.warps[who.warp.0 as usize].touched = Mask::MAX;
            resident.atomics.mix();
        }
        aside
    }

    /// Sets updates of shared memory aside. False if that can't be, and they have to be told as an [`Access`].
    #[inline]
    pub fn word_updates(&mut self, updates: &WordUpdates<'_>) -> bool {
        #[cfg(test)]
        if self.tells_at_once {
            return false;
        }
        let plain = self.launch.shared_shift == 2 && self.clusters.is_none();
        if !plain || self.first != First::default() {
            return false;
        }
        let at = self.find(updates.who.block);
        let blocks = self.residents.len();
        let (launch, resident) = (&self.launch, &mut self.residents[at]);
        let warp = updates.who.warp.0;
        let v = launch.view(&resident.block, warp, false);
        let (log, strong) = (&mut resident.atomics, &resident.strong);
        if !log.has_room(blocks) || !log.spares_shadow(&v) {
            return false;
        }
        let what = (updates.site, updates.kind);
        let Some(role) = self.contention.calm_role(what, strong, log) else {
            return false;
        };
        log.add(updates, &v, true, Some(role));
        resident.block.warps[warp as usize].touched |= updates.mask;
        true
    }

    /// [`Detector::row_access`] where launches run side by side.
    #[inline(never)]
    fn numbered_row_access(&mut self, access: &RowAccess<'_>) -> bool {
        self.weak_row_access(access)
    }

    #[inline(always)]
    fn weak_row_access(&mut self, access: &RowAccess<'_>) -> bool {
        let global = access.space == Space::Global;
        let at = self.find(access.who.block);
        let (launch, resident) = (&self.launch, &mut self.residents[at]);
        let warp = access.who.warp.0;
        resident.block.warps[warp as usize].touched = Mask::MAX;
        let v = launch.view(&resident.block, warp, global);
        if global {
            return rows::packed(&mut self.global, access, &v, launch.global_shift);
        }
        if v.fine_sync {
            return false;
        }
        // [`Detector::shared_reads`] has it set aside.
        if !access.write {
            return false;
        }
        if resident.atomics.concerns_shadow() {
            return false;
        }
        resident.atomics.mix();
        if !resident.log.is_empty() && rows::meets_reads(&resident.shared, access, &v) {
            return self.write_after_reads(at, access);
        }
        rows::packed(&mut resident.shared, access, &v, 2)
    }

    /// A write to shared memory that the reads which were set aside have to be told before.
    #[inline(never)]
    fn write_after_reads(&mut self, at: usize, access: &RowAccess<'_>) -> bool {
        let (launch, resident) = (&self.launch, &mut self.residents[at]);
        resident.tell_reads(launch, &mut self.reporter);
        let v = launch.view(&resident.block, access.who.warp.0, false);
        rows::packed(&mut resident.shared, access, &v, 2)
    }
}
