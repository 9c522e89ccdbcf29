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
        copy_begins(copy: &AsyncCopy<'_>);
        copy_ends(who: WarpRef, number: u64, mask: Mask);
        stale_value(site: Site);
        fence(site: Site, who: WarpRef, mask: Mask, order: FenceOrder, scope: Scope);
        block_arrives(block: BlockId, id: u32, who: Party);
        block_barrier(barrier: &BlockBarrier<'_>);
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

/// Hooks for the time of a launch, with notes for the schedule.
pub(crate) struct Lent<'o, H> {
    pub observer: &'o mut H,
    /// Where the schedule wants to know what has been done.
    pub performed: Option<Vec<Performed>>,
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
}

impl<H: Hooks> Events for Lent<'_, H> {
    #[inline(always)]
    fn access(&mut self, access: &Access<'_>) {
        let shared = matches!(access.space, Space::Global | Space::Shared);
        if self.performed.is_some() && shared && !access.asynchronous {
            self.note(access.who, access.mask, false);
        }
        self.observer.access(access);
    }
    #[inline(always)]
    fn row_access(&mut self, access: &RowAccess<'_>) {
        if self.performed.is_some() {
            self.note(access.who, Mask::MAX, false);
        }
        self.observer.row_access(access);
    }
    fn exits(&mut self, who: WarpRef, mask: Mask, site: Site) {
        self.note(who, mask, true);
        self.observer.exits(who, mask, site);
    }
    pass_on! {
        block_begins(block: BlockId);
        block_ends(block: BlockId);
        copy_begins(copy: &AsyncCopy<'_>);
        copy_ends(who: WarpRef, number: u64, mask: Mask);
        stale_value(site: Site);
        fence(site: Site, who: WarpRef, mask: Mask, order: FenceOrder, scope: Scope);
        block_arrives(block: BlockId, id: u32, who: Party);
        block_barrier(barrier: &BlockBarrier<'_>);
        warp_sync(sync: &WarpSync);
        misuse(block: BlockId, misuse: Misuse);
        fault(fault: &MemoryFault<'_>);
        undefined(used: &UndefinedUse<'_>);
        uniform_branch(site: Site, who: WarpRef, taken: bool);
        diverges(divergence: &Divergence);
        driver_call(site: Site, who: WarpRef, mask: Mask, what: DriverCall);
    }
}
