//! Observers as the execution loop has them: lent for a launch.
//!
//! The loop is compiled for each kind of [`Hooks`] alone, which are few: it is large, and is compiled for several processors each time.

use super::ids::*;
use super::observer::*;
use super::schedule::Performed;

/// Who is told of events, and whether the loop has to tell at all.
pub(crate) trait Hooks: Events {
    /// As [`Observer::WATCHES`].
    const WATCHES: bool;
    /// As [`Observer::in_vain`].
    fn in_vain(&self) -> bool {
        false
    }
    /// Another split may run next, and whoever watches may be asked what it has seen.
    fn turn_ends(&mut self) {}
}

impl<O: Observer> Hooks for O {
    const WATCHES: bool = O::WATCHES;
    #[inline]
    fn in_vain(&self) -> bool {
        Observer::in_vain(self)
    }
}

/// Passes events on to `self.observer`.
macro_rules! pass_on {
    ($($name:ident($($argument:ident: $type:ty),*);)*) => {$(
        #[inline(always)]
        fn $name(&mut self, $($argument: $type),*) {
            self.observer.$name($($argument),*);
        }
    )*};
}

/// An observer of any kind, on one core.
pub(crate) struct Any<'o> {
    pub observer: &'o mut dyn Events,
}

impl Hooks for Any<'_> {
    const WATCHES: bool = true;
}

impl Events for Any<'_> {
    pass_on! {
        launch_begins(shape: &LaunchShape);
        launch_ends();
        block_begins(block: BlockId);
        block_ends(block: BlockId);
        access(access: &Access<'_>);
        row_access(access: &RowAccess<'_>);
        shared_reads(who: WarpRef, reads: &[SharedRead]);
        shared_run(run: &SharedRun<'_>);
        word_updates(updates: &WordUpdates<'_>);
        copy_begins(copy: &AsyncCopy<'_>);
        copy_ends(who: WarpRef, number: u64, mask: Mask);
        copy_reads_end(who: WarpRef, number: u64, mask: Mask);
        products_begun(who: WarpRef, mask: Mask, group: u32);
        products_awaited(who: WarpRef, mask: Mask, groups: u32);
        product_ends(owner: WarpRef, number: u64, mask: Mask, who: WarpRef);
        products_end(who: WarpRef, mask: Mask, groups: u32);
        proxy_fence(site: Site, who: WarpRef, mask: Mask);
        copy_arrives(who: WarpRef, number: u64, mask: Mask);
        copies_arrive_at(who: WarpRef, mask: Mask, block: BlockId, object: u64);
        phase_completes(block: BlockId, object: u64);
        phase_awaited(who: WarpRef, mask: Mask, objects: &[u64; LANES]);
        dependency_wait(who: WarpRef, mask: Mask);
        stale_value(site: Site);
        fence(site: Site, who: WarpRef, mask: Mask, order: FenceOrder, scope: Scope);
        block_arrives(block: BlockId, id: u32, who: Party);
        block_barrier(barrier: &BlockBarrier<'_>);
        cluster_arrives(party: &ClusterParty);
        cluster_completes(cluster: u32);
        cluster_waits(party: &ClusterParty);
        warp_sync(sync: &WarpSync);
        misuse(block: BlockId, misuse: Misuse);
        fault(fault: &MemoryFault<'_>);
        undefined(used: &UndefinedUse<'_>);
        uniform_branch(site: Site, who: WarpRef, taken: bool);
        diverges(divergence: &Divergence);
        driver_call(site: Site, who: WarpRef, mask: Mask, what: DriverCall);
        exits(who: WarpRef, mask: Mask, site: Site);
    }
}

/// Reads that are told together, at most.
const TOGETHER: usize = 64;

/// Hooks for the time of a launch, with notes for the schedule.
///
/// Weak loads of whole warps from shared memory, of which there may be many in a row, are collected and told together before anything
/// else is told, or the turn ends.
pub(crate) struct Lent<'o, H> {
    observer: &'o mut H,
    /// Where the schedule wants to know what has been done.
    pub performed: Option<Vec<Performed>>,
    /// Reads of this warp that have not been told yet; what is behind `collected` is of no interest.
    reads: [SharedRead; TOGETHER],
    collected: usize,
    reader: WarpRef,
}

impl<'o, H: Hooks> Lent<'o, H> {
    /// Hooks that pass on to `observer`.
    pub fn new(observer: &'o mut H, performed: Option<Vec<Performed>>) -> Lent<'o, H> {
        let none = SharedRead {
            site: Site(0),
            first: [0; 2],
            layout: [Layout::Same; 2],
        };
        Lent {
            observer,
            performed,
            reads: [none; TOGETHER],
            collected: 0,
            reader: WarpRef {
                block: BlockId(0),
                warp: WarpId(0),
            },
        }
    }

    /// Tells what was collected.
    #[inline(always)]
    fn tell(&mut self) {
        if self.collected != 0 {
            self.tell_reads();
        }
    }

    #[inline(never)]
    fn tell_reads(&mut self) {
        let reads = &self.reads[..std::mem::take(&mut self.collected)];
        self.observer.shared_reads(self.reader, reads);
    }
}

impl<H> Lent<'_, H> {
    #[cold]
    fn note(&mut self, who: WarpRef, lanes: Mask, ends: bool) {
        if let Some(performed) = &mut self.performed {
            performed.push(Performed { who, lanes, ends });
        }
    }
}

impl<H: Hooks> Hooks for Lent<'_, H> {
    const WATCHES: bool = H::WATCHES;
    fn in_vain(&self) -> bool {
        self.observer.in_vain()
    }
    #[inline(always)]
    fn turn_ends(&mut self) {
        self.tell();
    }
}

/// Tells what was collected, then passes the event on.
macro_rules! tell_and_pass_on {
    ($($name:ident($($argument:ident: $type:ty),*);)*) => {$(
        #[inline(always)]
        fn $name(&mut self, $($argument: $type),*) {
            self.tell();
            self.observer.$name($($argument),*);
        }
    )*};
}

impl<H: Hooks> Events for Lent<'_, H> {
    #[inline(always)]
    fn access(&mut self, access: &Access<'_>) {
        let shared = matches!(access.space, Space::Global | Space::Shared);
        if self.performed.is_some() && shared && !access.asynchronous {
            self.note(access.who, access.mask, false);
        }
        self.tell();
        self.observer.access(access);
    }
    #[inline(always)]
    fn row_access(&mut self, access: &RowAccess<'_>) {
        if self.performed.is_some() {
            self.note(access.who, Mask::MAX, false);
        }
        if access.space == Space::Shared && !access.write && access.order == Order::Weak {
            if self.collected == TOGETHER {
                self.tell_reads();
            }
            self.reader = access.who;
            self.reads[self.collected % TOGETHER] = SharedRead {
                site: access.site,
                first: access.first.map(|at| at as u32),
                layout: access.layout,
            };
            self.collected += 1;
        } else {
            self.tell();
            self.observer.row_access(access);
        }
    }
    #[inline(always)]
    fn shared_run(&mut self, run: &SharedRun<'_>) {
        if self.performed.is_some() {
            for _ in run.reads.iter() {
                self.note(run.who, Mask::MAX, false);
            }
        }
        self.tell();
        self.observer.shared_run(run);
    }
    #[inline(always)]
    fn word_updates(&mut self, updates: &WordUpdates<'_>) {
        if self.performed.is_some() {
            self.note(updates.who, updates.mask, false);
        }
        self.tell();
        self.observer.word_updates(updates);
    }
    fn exits(&mut self, who: WarpRef, mask: Mask, site: Site) {
        self.note(who, mask, true);
        self.tell();
        self.observer.exits(who, mask, site);
    }
    tell_and_pass_on! {
        block_begins(block: BlockId);
        block_ends(block: BlockId);
        copy_begins(copy: &AsyncCopy<'_>);
        copy_ends(who: WarpRef, number: u64, mask: Mask);
        copy_reads_end(who: WarpRef, number: u64, mask: Mask);
        products_begun(who: WarpRef, mask: Mask, group: u32);
        products_awaited(who: WarpRef, mask: Mask, groups: u32);
        product_ends(owner: WarpRef, number: u64, mask: Mask, who: WarpRef);
        products_end(who: WarpRef, mask: Mask, groups: u32);
        proxy_fence(site: Site, who: WarpRef, mask: Mask);
        copy_arrives(who: WarpRef, number: u64, mask: Mask);
        copies_arrive_at(who: WarpRef, mask: Mask, block: BlockId, object: u64);
        phase_completes(block: BlockId, object: u64);
        phase_awaited(who: WarpRef, mask: Mask, objects: &[u64; LANES]);
        dependency_wait(who: WarpRef, mask: Mask);
        stale_value(site: Site);
        fence(site: Site, who: WarpRef, mask: Mask, order: FenceOrder, scope: Scope);
        block_arrives(block: BlockId, id: u32, who: Party);
        block_barrier(barrier: &BlockBarrier<'_>);
        cluster_arrives(party: &ClusterParty);
        cluster_completes(cluster: u32);
        cluster_waits(party: &ClusterParty);
        warp_sync(sync: &WarpSync);
        misuse(block: BlockId, misuse: Misuse);
        fault(fault: &MemoryFault<'_>);
        undefined(used: &UndefinedUse<'_>);
        uniform_branch(site: Site, who: WarpRef, taken: bool);
        diverges(divergence: &Divergence);
        driver_call(site: Site, who: WarpRef, mask: Mask, what: DriverCall);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What it was told: the instructions of accesses, and 1,000 more for anything else.
    #[derive(Default)]
    struct Recorder(Vec<u32>);

    impl Events for Recorder {
        fn row_access(&mut self, access: &RowAccess<'_>) {
            self.0.push(access.site.0);
        }
        fn stale_value(&mut self, site: Site) {
            self.0.push(1_000 + site.0);
        }
    }
    impl Hooks for Recorder {
        const WATCHES: bool = true;
    }

    #[test]
    fn all_is_told_in_its_order() {
        let mut told = Recorder::default();
        let mut lent = Lent::new(&mut told, None);
        let who = WarpRef {
            block: BlockId(2),
            warp: WarpId(1),
        };
        let read = |site: u32| SharedRead {
            site: Site(site),
            first: [0, 64],
            layout: [Layout::Adjacent; 2],
        };
        let write = |site: u32| RowAccess {
            write: true,
            ..read(site).row(who)
        };
        let mut expected = Vec::new();
        for site in 0..200 {
            match site % 90 {
                70 => lent.row_access(&write(site)),
                80 => lent.stale_value(Site(site)),
                _ => lent.row_access(&read(site).row(who)),
            }
            expected.push(if site % 90 == 80 { 1_000 + site } else { site });
        }
        lent.turn_ends();
        assert_eq!(told.0, expected);
    }
}
