//! Which detector is told of what a launch does.
//!
//! Most events go to each detector that is there. Accesses and copies are routed: where blocks come in clusters of several, the detectors of races
//! and copies see shared memory as a part of global memory ([`super::clusters`]), and what a copy does asynchronously is its own detector's.

use super::*;

impl Detectors {
    /// Tells the race detector of an access, and of asynchronous copies what nothing has touched in between.
    #[inline]
    fn race(&mut self, access: &Access<'_>) {
        if self.clusters.is_some() {
            return self.race_in_cluster(access);
        }
        self.race_of(access, access);
    }

    /// The same where blocks come in clusters of several: shared memory is a part of global memory.
    #[cold]
    fn race_in_cluster(&mut self, access: &Access<'_>) {
        let Some(clusters) = &mut self.clusters else {
            return;
        };
        clusters.access(access, &mut self.races);
        let layout = clusters.layout();
        layout.flat(access, |flat| self.race_of(access, flat));
    }

    /// The same, of an access `as` the detectors of races and copies see it.
    #[inline]
    fn race_of(&mut self, own: &Access<'_>, access: &Access<'_>) {
        let Some(copies) = &mut self.copies else {
            return self.races.access(access);
        };
        if access.asynchronous {
            let mask = copies.untouched(access.mask);
            let wrote = access.wrote & mask;
            self.races.access(&Access {
                mask,
                wrote,
                ..*access
            });
        } else {
            copies.access(access, &mut self.races);
            if let Some(proxies) = &mut self.proxies {
                proxies.access(own, &mut self.races);
            }
            self.races.access(access);
        }
    }

    /// A copy begins, as it is and as the detectors of races and copies see it.
    fn begins(&mut self, own: &AsyncCopy<'_>, copy: &AsyncCopy<'_>) {
        let lanes = |of: &Access<'_>| u64::from(of.mask.count_ones());
        self.accesses += own.reads.iter().chain(own.writes).map(lanes).sum::<u64>();
        let copies = self.copies.as_mut();
        let repeats = copies.is_some_and(|copies| copies.begins(copy, &mut self.races));
        if let Some(proxies) = &mut self.proxies {
            proxies.begins(own, &mut self.races);
        }
        // What comes before it has to be ordered with its beginning.
        if repeats {
            return;
        }
        let accesses = copy.reads.iter().chain(copy.writes);
        accesses.for_each(|access| access.split(|piece| self.races.announced(piece)));
    }

    /// Whether accesses to shared memory concern the race detector alone, and perhaps the footprint.
    #[inline(always)]
    fn races_alone(&self) -> bool {
        self.copies.is_none()
            && self.clusters.is_none()
            && self.perf.is_none()
            && self.counter.is_none()
            && self.communication.is_none()
    }
}

impl Events for Detectors {
    fn launch_begins(&mut self, shape: &LaunchShape) {
        self.unwritten = shape.unwritten.clone();
        self.launch = shape.launch;
        self.stale_loads.clear();
        self.coverage = coverage::Coverage::default();
        self.accesses = 0;
        self.races.launch_begins(shape);
        self.non_coherent = shape
            .non_coherent
            .then(|| Box::new(non_coherent::Detector::new(shape)));
        self.copies = shape
            .async_copies
            .then(|| Box::new(async_copy::Detector::new(shape)));
        self.proxies = shape
            .async_proxy
            .then(|| Box::new(proxy::Detector::new(shape)));
        self.clusters = clusters::Clusters::of(shape)
            .map(|clusters| Box::new(cluster_memory::Detector::new(shape.launch, clusters)));
        if let Some(perf) = &mut self.perf {
            perf.launch_begins(shape);
        }
        if let Some(footprint) = &mut self.footprint {
            **footprint = footprint.begin(shape);
        }
        if let Some(communication) = &mut self.communication {
            **communication = communication::Recorder::new(shape);
        }
        if let Some(dependency) = &mut self.dependency {
            **dependency = dependency::Watch::begin(shape);
        }
    }
    fn launch_ends(&mut self) {
        self.races.launch_ends();
        if let Some(mut non_coherent) = self.non_coherent.take() {
            self.stale.merge(non_coherent.take_findings());
        }
        if let Some(mut copies) = self.copies.take() {
            self.stale.merge(copies.take_findings());
        }
        if let Some(mut proxies) = self.proxies.take() {
            self.stale.merge(proxies.take_findings());
        }
        if let Some(mut clusters) = self.clusters.take() {
            self.stale.merge(clusters.take_findings());
        }
    }
    fn block_begins(&mut self, block: BlockId) {
        self.races.block_begins(block);
    }
    fn block_ends(&mut self, block: BlockId) {
        if let Some(clusters) = &mut self.clusters {
            clusters.block_ends(block);
        }
        self.races.block_ends(block);
        if let Some(copies) = &mut self.copies {
            copies.block_ends(block);
        }
        if let Some(proxies) = &mut self.proxies {
            proxies.block_ends(block);
        }
    }
    #[inline]
    fn access(&mut self, access: &Access<'_>) {
        self.accesses += u64::from(access.performed().count_ones());
        // What nobody writes is read without a race, and is never stale.
        if !self.is_unwritten(access) {
            self.race(access);
            if let Some(non_coherent) = &mut self.non_coherent {
                non_coherent.access(access);
            }
        }
        if let Some(perf) = &mut self.perf {
            perf.access(access);
        }
        if let Some(footprint) = &mut self.footprint {
            footprint.access(access);
        }
        if let Some(communication) = &mut self.communication {
            communication.access(access);
        }
        if let Some(dependency) = &mut self.dependency {
            dependency.access(access);
        }
        if let Some(counter) = &mut self.counter {
            counter.access(access);
        }
    }
    #[inline]
    fn row_access(&mut self, access: &RowAccess<'_>) {
        let copied = |c: &async_copy::Detector| {
            let (from, to) = (access.start(), access.end());
            c.concerns(access.who.block, access.space, from, to, access.write)
        };
        let alone = self.non_coherent.is_none()
            && !self.copies.as_ref().is_some_and(|c| copied(c))
            && !(self.proxies.is_some() && access.write)
            && self.clusters.is_none()
            && self.perf.is_none()
            && self.counter.is_none()
            && self.dependency.is_none()
            && self.communication.is_none();
        if !(alone && self.races.row_access(access)) {
            let address = access.addresses();
            return self.access(&access.expanded(&address));
        }
        self.accesses += LANES as u64;
        if let Some(footprint) = &mut self.footprint {
            footprint.row_access(access);
        }
    }
    fn shared_reads(&mut self, who: WarpRef, mut reads: &[SharedRead]) {
        let alone = self.races_alone();
        while !reads.is_empty() {
            let aside = match alone {
                true => self.races.shared_reads(who, reads),
                false => 0,
            };
            let (told, rest) = reads.split_at(aside);
            self.accesses += (told.len() * LANES) as u64;
            if let Some(footprint) = &mut self.footprint {
                let rows = told.iter().map(|read| read.row(who));
                rows.for_each(|row| footprint.row_access(&row));
            }
            let Some((next, rest)) = rest.split_first() else {
                break;
            };
            self.row_access(&next.row(who));
            reads = rest;
        }
    }
    #[inline]
    fn shared_run(&mut self, run: &SharedRun<'_>) {
        let alone = self.races_alone();
        if !(alone && self.races.shared_run(run)) {
            let reads: Vec<SharedRead> = run.each().collect();
            return self.shared_reads(run.who, &reads);
        }
        self.accesses += (run.reads.len() * LANES) as u64;
        if let Some(footprint) = &mut self.footprint {
            let rows = run.each().map(|read| read.row(run.who));
            rows.for_each(|row| footprint.row_access(&row));
        }
    }
    #[inline]
    fn word_updates(&mut self, updates: &WordUpdates<'_>) {
        let alone = self.races_alone() && self.footprint.is_none();
        if !(alone && self.races.word_updates(updates)) {
            let address = updates.addresses();
            return self.access(&updates.expanded(&address));
        }
        self.accesses += u64::from(updates.mask.count_ones());
    }
    fn copy_begins(&mut self, copy: &AsyncCopy<'_>) {
        if let Some(clusters) = &self.clusters {
            let layout = clusters.layout();
            return layout.flat_copy(copy, |flat| self.begins(copy, flat));
        }
        self.begins(copy, copy);
    }
    fn copy_reads_end(&mut self, who: WarpRef, number: u64, mask: Mask) {
        if let Some(copies) = &mut self.copies {
            copies.reads_end(who, number, mask);
        }
    }
    fn copy_ends(&mut self, who: WarpRef, number: u64, mask: Mask) {
        if let Some(copies) = &mut self.copies {
            copies.ends(who, number, mask, &mut self.races);
        }
    }
    fn products_begun(&mut self, who: WarpRef, mask: Mask, group: u32) {
        self.races.products_begun(who, mask, group);
    }
    fn products_awaited(&mut self, who: WarpRef, mask: Mask, groups: u32) {
        self.races.products_awaited(who, mask, groups);
    }
    fn product_ends(&mut self, owner: WarpRef, number: u64, mask: Mask, who: WarpRef) {
        if let Some(copies) = &mut self.copies {
            copies.product_ends(owner, number, mask, (who, &mut self.races));
        }
    }
    fn products_end(&mut self, who: WarpRef, mask: Mask, groups: u32) {
        self.races.products_end(who, mask, groups);
    }
    fn proxy_fence(&mut self, _: Site, who: WarpRef, mask: Mask) {
        if let Some(proxies) = &mut self.proxies {
            proxies.fence(who, mask, &mut self.races);
        }
    }
    fn copy_arrives(&mut self, who: WarpRef, number: u64, mask: Mask) {
        if let Some(copies) = &mut self.copies {
            copies.arrives(who, number, mask, &mut self.races);
        }
    }
    fn copies_arrive_at(&mut self, who: WarpRef, mask: Mask, block: BlockId, object: u64) {
        if let Some(copies) = &mut self.copies {
            copies.arrive_at(who, mask, (block, object));
        }
    }
    fn phase_completes(&mut self, block: BlockId, object: u64) {
        if let Some(copies) = &mut self.copies {
            copies.phase_completes(block, object);
        }
        if let Some(dependency) = &mut self.dependency {
            dependency.hands_on(block);
        }
    }
    fn phase_awaited(&mut self, who: WarpRef, mask: Mask, objects: &[u64; LANES]) {
        if let Some(copies) = &mut self.copies {
            copies.awaited(who, mask, objects, &mut self.races);
        }
    }
    fn dependency_wait(&mut self, who: WarpRef, mask: Mask) {
        if let Some(dependency) = &mut self.dependency {
            dependency.waits(who, mask);
        }
    }
    fn stale_value(&mut self, site: Site) {
        self.stale_loads.insert(site);
        self.races.stale_value(site);
    }
    fn fence(&mut self, _: Site, who: WarpRef, mask: Mask, order: FenceOrder, scope: Scope) {
        self.races.fence(who, mask, order, scope);
        if let Some(dependency) = &mut self.dependency {
            dependency.hands_on(who.block);
        }
    }
    fn block_arrives(&mut self, block: BlockId, id: u32, who: Party) {
        self.races.block_arrives(block, id, who);
        if let Some(communication) = &mut self.communication {
            communication.block_arrives();
        }
    }
    fn block_barrier(&mut self, barrier: &BlockBarrier<'_>) {
        self.races.block_barrier(barrier);
        if let Some(copies) = &mut self.copies {
            copies.block_barrier(barrier);
        }
        if let Some(proxies) = &mut self.proxies {
            proxies.block_barrier(barrier);
        }
        if let Some(dependency) = &mut self.dependency {
            dependency.block_barrier(barrier);
        }
        if let Some(counter) = &mut self.counter {
            counter.block_barrier(barrier);
        }
        if let Some(communication) = &mut self.communication {
            communication.block_barrier(barrier);
        }
    }
    fn cluster_arrives(&mut self, party: &ClusterParty) {
        self.races.cluster_arrives(party);
        if let Some(communication) = &mut self.communication {
            communication.block_arrives();
        }
    }
    fn cluster_completes(&mut self, cluster: u32) {
        self.races.cluster_completes(cluster);
    }
    fn cluster_waits(&mut self, party: &ClusterParty) {
        self.races.cluster_waits(party);
        if let Some(clusters) = &mut self.clusters {
            clusters.cluster_waits(party);
        }
        if let Some(dependency) = &mut self.dependency {
            dependency.hands_on(party.who.block);
        }
    }
    fn warp_sync(&mut self, sync: &WarpSync) {
        self.races.warp_sync(sync);
        if let (Some(dependency), WarpSyncKind::Barrier) = (&mut self.dependency, sync.kind) {
            dependency.warp_barrier(sync.who, sync.lanes);
        }
        if let Some(communication) = &mut self.communication {
            communication.warp_sync(sync);
        }
    }
    fn misuse(&mut self, block: BlockId, misuse: Misuse) {
        self.barriers.misuse(self.launch, block, &misuse);
        self.warps.misuse(self.launch, block, &misuse);
    }
    fn fault(&mut self, fault: &MemoryFault<'_>) {
        // Where the copy that is to write them is not complete, that is the mistake, and the access that follows tells it.
        if let (Some(copies), FaultKind::Uninitialized) = (&self.copies, fault.kind)
            && let Some(space) = fault.space
        {
            let bytes = u64::from(fault.bytes);
            let copied = |lane: u32| {
                let from = fault.address[lane as usize];
                match &self.clusters {
                    Some(clusters) => {
                        let from = clusters.layout().place(fault.who.block, from);
                        copies.concerns(fault.who.block, Space::Global, from, from + bytes, false)
                    }
                    None => copies.concerns(fault.who.block, space, from, from + bytes, false),
                }
            };
            if space == Space::Shared && lanes(fault.mask).all(copied) {
                return;
            }
        }
        self.memory.fault(self.launch, fault);
    }
    fn undefined(&mut self, used: &UndefinedUse<'_>) {
        self.shuffles.undefined(self.launch, used);
    }
    #[inline]
    fn uniform_branch(&mut self, site: Site, who: WarpRef, taken: bool) {
        self.coverage.uniform_branch(site, who, taken);
        if let Some(perf) = &mut self.perf {
            perf.uniform_branch(site);
        }
    }
    fn diverges(&mut self, divergence: &Divergence) {
        self.coverage.diverges(divergence);
        if let Some(counter) = &mut self.counter {
            counter.diverges(divergence);
        }
        if let Some(perf) = &mut self.perf {
            perf.diverges(divergence);
        }
    }
    fn driver_call(&mut self, site: Site, who: WarpRef, mask: Mask, what: DriverCall) {
        self.races.driver_call(site, who, mask, what);
        if let Some(communication) = &mut self.communication {
            communication.driver_call();
        }
    }
    fn exits(&mut self, who: WarpRef, mask: Mask, site: Site) {
        if let Some(clusters) = &mut self.clusters {
            clusters.exits(who, mask, site, &mut self.races);
        }
        self.races.exits(who, mask);
        if let Some(copies) = &mut self.copies {
            copies.exits(who, mask, site);
        }
    }
}
