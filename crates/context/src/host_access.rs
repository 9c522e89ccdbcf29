//! The host's own accesses to memory that work of the device uses meanwhile: a result that is read before anything has waited for it, a source that
//! is overwritten while it is copied.
//!
//! Work is done when it is issued, but the host may rely on it only once it has waited ([`crate::timeline`]). Until then the pages of shared memory
//! (pinned, mapped, managed, registered) that it touched are closed in the program's view: to writes where it only reads, to everything where it
//! writes. The simulator has a view of its own ([`crate::arena`]). An access of the host then raises SIGSEGV (`sigaction(2)`), and the handler asks the timeline
//! whether work that nothing has waited for did something to this very byte that conflicts. If so, it is a finding, and that work is watched no
//! more. If the two only share a page, the page is opened for one instruction (the trap flag: Intel 64 and IA-32 Architectures Software
//! Developer's Manual, volume 3, "Single-Stepping"; SIGTRAP) and closed again.
//!
//! The signal is raised by an instruction of the program that accesses this memory, on which the C library's allocator keeps no books
//! ([`crate::alias`]), so it interrupts neither that nor this crate: the handler may do what other code may. Where this crate itself follows the
//! program's pointer, the page is opened.
//!
//! # Blind spots
//!
//! * Of an access of several bytes, the first byte on the page counts.
//! * Of registered memory, pages that other data may lie on are not closed ([`crate::alias`]).
//! * A system call that is given a closed page fails with `EFAULT` instead of raising a signal. The usual functions that hand memory to the system
//!   are told of beforehand ([`before_system_call`]), where the program finds the library's before the C library's.
//! * On other processors than x86-64, a page that is only shared stays open until the next wait.
#![allow(unsafe_code)] // Signals, and what they hand over.

mod signals;

use crate::alias;
use crate::call::Call;
use crate::calls;
use crate::context::{self, Context};
use crate::operation::Work;
use crate::page_replacement;
use crate::pages::PAGE;
use crate::timeline::Touched;
use detect::footprint::{Footprint, Ranges};
use signals::{fault, hand_on, is_sent, step, take};
use simt::memory::GLOBAL_BASE;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::ops::Range;
use std::os::raw::{c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

/// Pages that are closed at most; each run of them is a mapping of its own, of which the system allows some 65,000.
const RUNS: usize = 4096;

/// How often a page is opened for one instruction, which takes some microseconds; then it stays open until the host waits.
const STEPS: u32 = 4096;

/// Where the program's view of the arena ends; 0 as long as no page was ever closed.
static END: AtomicU64 = AtomicU64::new(0);

/// What the program wants to be done at signals: the newest; those of before stay, since a handler may be reading them.
static SEGV: AtomicPtr<libc::sigaction> = AtomicPtr::new(std::ptr::null_mut());
static TRAP: AtomicPtr<libc::sigaction> = AtomicPtr::new(std::ptr::null_mut());

thread_local! {
    /// Whether the thread runs a function of the host on behalf of a stream: it is the stream then.
    static ON_BEHALF: Cell<bool> = const { Cell::new(false) };
    /// Pages that are open for one instruction.
    static STEPPING: RefCell<Vec<u64>> = const { RefCell::new(Vec::new()) };
}

/// Runs a function of the host that a stream has come to. What it does to memory is the stream's doing, and whoever it tells of it
/// may rely on all that the stream did before: so the host has waited for the stream.
pub fn on_behalf(stream: u64, function: impl FnOnce() + Send + 'static) {
    // A mistake of ours is no reason not to run it.
    let held_up =
        apart(|| context::existing().is_some_and(|mut context| context.is_held_up(stream)));
    if held_up.unwrap_or(false)
        && let Some(mut context) = context::existing()
    {
        context.defer_host(stream, Box::new(function));
        return;
    }
    run_on_behalf(stream, function);
}

/// What is done beside the program's own work, and never ends it; `None` where it went wrong.
fn apart<T>(body: impl FnOnce() -> T) -> Option<T> {
    catch_unwind(AssertUnwindSafe(body)).ok()
}

/// The same, now.
pub(crate) fn run_on_behalf(stream: u64, function: impl FnOnce()) {
    apart(|| {
        if let Some(mut context) = context::existing() {
            context.host_waits(stream);
        }
    });
    let before = ON_BEHALF.replace(true);
    function();
    ON_BEHALF.set(before);
    apart(|| {
        if let Some(mut context) = context::existing() {
            context.rewatch(true);
        }
    });
}

fn protection(writes: bool) -> c_int {
    match writes {
        true => libc::PROT_NONE,
        false => libc::PROT_READ,
    }
}

impl Context {
    /// Memory that host and device share has come or gone.
    pub(crate) fn shares(&mut self) {
        let blocks = self.memory.blocks.values();
        let open = blocks.filter(|b| b.kind.is_open() && b.freed.is_none());
        let ranges = open.filter_map(|b| {
            let start = b.address.checked_sub(GLOBAL_BASE)?;
            (b.bytes > 0).then_some(start..start + b.bytes)
        });
        self.launches.watch.shared = ranges.collect();
    }

    /// Whether there is memory that host and device share, and somebody wants to know what the host does to it.
    fn watches_host(&self) -> bool {
        self.options.host
            && self.findings.recorder.is_heard()
            && !self.launches.watch.shared.is_empty()
    }

    /// What work may do that concerns others than its own stream: everything, where there are several (`Some(None)`); what it does to memory
    /// that it shares with the host; nothing (`None`).
    pub(crate) fn concerns(&self) -> Option<Option<Ranges>> {
        if self.launches.timeline.has_streams() {
            return Some(None);
        }
        self.watches_host()
            .then(|| Some(self.launches.watch.shared.clone()))
    }

    /// Whether a range is memory that host and device share.
    pub(crate) fn is_shared(&self, range: Option<(u64, u64)>) -> bool {
        range.is_some_and(|(address, _)| {
            self.memory.block(address).is_some_and(|b| b.kind.is_open())
        })
    }

    /// A function of the host runs for a stream: the host has waited for what the stream was given before.
    fn host_waits(&mut self, stream: u64) {
        if self.is_idle() {
            let _ = self.synchronize(stream);
        } else {
            let agent = self.agent(stream);
            self.launches.timeline.synchronize(agent);
            self.rewatch(false);
        }
    }

    /// Closes pages that launches poll which were put aside: these go on when the host has written there.
    pub(crate) fn watch_polled(&mut self) {
        let mut new = self.polled_in_shared();
        new.retain(|page, _| !self.launches.watch.pages.contains_key(page));
        if new.is_empty() {
            return;
        }
        install(self.memory.arena.bytes());
        self.close(&new);
        self.launches.watch.pages.extend(new);
    }

    /// Whether a launch polls memory that host and device share.
    pub(crate) fn polls_shared(&self, waiting: &simt::Waiting) -> bool {
        let shared = &self.launches.watch.shared;
        waiting.polled().any(|at| {
            let after = shared.partition_point(|range| range.end <= at);
            shared.get(after).is_some_and(|range| range.start <= at)
        })
    }

    fn polled_in_shared(&self) -> BTreeMap<u64, bool> {
        let shared = &self.launches.watch.shared;
        let is_shared = |page: &u64| {
            let after = shared.partition_point(|range| range.end <= page * PAGE);
            shared
                .get(after)
                .is_some_and(|range| range.start < (page + 1) * PAGE)
        };
        let pages = self.polled_pages().into_iter().filter(is_shared);
        pages.map(|page| (page, false)).collect()
    }

    /// Closes the pages that an operation touched, which has just been issued.
    pub(crate) fn watch(&mut self, footprint: &Footprint) {
        if !self.watches_host() {
            return;
        }
        let mut new = BTreeMap::new();
        touched(&self.launches.watch.shared, footprint, &mut new);
        new.retain(|page, writes| {
            let known = self.launches.watch.pages.get(page);
            known.is_none_or(|known| *writes && !known)
        });
        if new.is_empty() {
            return;
        }
        install(self.memory.arena.bytes());
        self.close(&new);
        self.launches.watch.pages.extend(new);
    }

    fn close(&mut self, pages: &BTreeMap<u64, bool>) {
        for (run, writes) in runs(pages).take(RUNS) {
            let bytes = (run.end - run.start) * PAGE;
            let address = GLOBAL_BASE + run.start * PAGE;
            let _ = self
                .memory
                .arena
                .protect(address, bytes, protection(writes));
        }
    }

    /// Opens the pages of what the host has waited for; closes the others again, where a page that is to be closed may be open.
    pub(crate) fn rewatch(&mut self, again: bool) {
        self.launches.watch.steps.clear();
        if self.launches.watch.pages.is_empty() {
            return;
        }
        let mut wanted = BTreeMap::new();
        if self.watches_host() {
            for footprint in self.launches.timeline.unfinished() {
                touched(&self.launches.watch.shared, footprint, &mut wanted);
            }
        }
        for (page, writes) in self.polled_in_shared() {
            wanted.entry(page).or_insert(writes);
        }
        let old = std::mem::take(&mut self.launches.watch.pages);
        let opened = old.iter().filter(|(page, _)| !wanted.contains_key(page));
        let opened: BTreeMap<u64, bool> = opened.map(|(page, _)| (*page, false)).collect();
        for (run, _) in runs(&opened) {
            self.reopen(GLOBAL_BASE + run.start * PAGE, (run.end - run.start) * PAGE);
        }
        let changed = wanted
            .iter()
            .filter(|(p, w)| again || old.get(p) != Some(w));
        let changed: BTreeMap<u64, bool> = changed.map(|(page, writes)| (*page, *writes)).collect();
        self.close(&changed);
        self.launches.watch.pages = wanted;
    }

    /// Opens pages, but those of memory that was freed meanwhile.
    fn reopen(&self, address: u64, bytes: u64) {
        let (start, end) = (address - GLOBAL_BASE, address - GLOBAL_BASE + bytes);
        for shared in self.launches.watch.shared.iter() {
            let from = start.max(shared.start / PAGE * PAGE);
            let to = end.min(shared.end.next_multiple_of(PAGE));
            if from < to {
                let _ = self.memory.arena.open(GLOBAL_BASE + from, to - from, true);
            }
        }
    }

    /// The host has touched a byte on a closed page. Whether the page is to be closed again after this instruction.
    fn touched(&mut self, address: u64, writes: bool, instruction: u64) -> bool {
        self.host_touches(address, 1, writes, || {
            calls::interrupted("the host program", instruction)
        });
        let page = (address - GLOBAL_BASE) / PAGE;
        let again = self.launches.watch.pages.contains_key(&page);
        let steps = self.launches.watch.steps.entry(page).or_insert(0);
        *steps += u32::from(again);
        if *steps > STEPS {
            self.launches.watch.pages.remove(&page);
        }
        again && *steps <= STEPS
    }

    /// The host touches bytes of shared memory: tells what conflicts with that.
    fn host_touches(
        &mut self,
        address: u64,
        bytes: u64,
        writes: bool,
        call: impl FnOnce() -> Call,
    ) {
        let range = Some((address - GLOBAL_BASE, bytes));
        let footprint = match writes {
            true => Footprint::of_host(None, range, 1),
            false => Footprint::of_host(range, None, 1),
        };
        let Touched {
            found,
            maybe,
            waited,
        } = self.launches.timeline.host_touches(&footprint);
        self.launches.suspended.by_host |= waited && !self.is_idle();
        if found.is_empty() && maybe.is_empty() && !waited {
            return;
        }
        if !found.is_empty() || !maybe.is_empty() {
            let work = Work::host(call(), "the host".to_owned());
            for (earlier, conflicts) in found {
                self.unordered(&work, &earlier, &conflicts);
            }
            for earlier in maybe {
                self.undecided(&work, &earlier);
            }
        }
        self.rewatch(false);
    }
}

/// A function of the C library is about to hand bytes of the program to the system, which reads or `writes` them: what they conflict with is told,
/// and their pages are opened.
pub fn before_system_call(function: &str, address: u64, bytes: u64, writes: bool) {
    let end = END.load(Ordering::Relaxed);
    if end == 0 {
        return;
    }
    let (address, bytes) = match address {
        GLOBAL_BASE.. if address < end => (address, bytes),
        _ => match alias::in_arena(address, bytes) {
            Some(range) => range,
            None => return,
        },
    };
    if bytes == 0 || context::is_held() {
        return;
    }
    let Some(mut context) = context::existing() else {
        return;
    };
    let bytes = bytes.min(end - address);
    let first = (address - GLOBAL_BASE) / PAGE;
    let pages = first..(address - GLOBAL_BASE + bytes).div_ceil(PAGE);
    if context
        .launches
        .watch
        .pages
        .range(pages.clone())
        .next()
        .is_none()
    {
        return;
    }
    if !ON_BEHALF.get() {
        context.host_touches(address, bytes, writes, || calls::call(function));
    }
    let closed: Vec<u64> = context
        .launches
        .watch
        .pages
        .range(pages)
        .map(|(p, _)| *p)
        .collect();
    for page in closed {
        context.launches.watch.pages.remove(&page);
        context.reopen(GLOBAL_BASE + page * PAGE, PAGE);
    }
}

/// Adds the pages of shared memory that an operation touched, and whether it writes there.
fn touched(shared: &Ranges, footprint: &Footprint, pages: &mut BTreeMap<u64, bool>) {
    for (bytes, writes) in footprint.ranges() {
        let after = shared.partition_point(|range| range.end <= bytes.start);
        let meets = |range: &&Range<u64>| range.start < bytes.end;
        for range in shared[after..].iter().take_while(meets) {
            let (from, to) = (bytes.start.max(range.start), bytes.end.min(range.end));
            for page in from / PAGE..to.div_ceil(PAGE) {
                *pages.entry(page).or_insert(false) |= writes;
            }
        }
    }
}

/// Adjacent pages that are alike.
fn runs(pages: &BTreeMap<u64, bool>) -> impl Iterator<Item = (Range<u64>, bool)> + '_ {
    let mut left = pages.iter().peekable();
    std::iter::from_fn(move || {
        let (first, writes) = left.next()?;
        let mut end = first + 1;
        while left
            .next_if(|(page, w)| **page == end && *w == writes)
            .is_some()
        {
            end += 1;
        }
        Some((*first..end, *writes))
    })
}

/// Makes sure that the signals come here. A program that installs handlers of its own later gets back what is not ours.
pub(crate) fn install(arena: u64) {
    END.store(GLOBAL_BASE + arena, Ordering::Relaxed);
    take(libc::SIGSEGV, on_fault, &SEGV);
    if cfg!(target_arch = "x86_64") {
        take(libc::SIGTRAP, on_step, &TRAP);
    }
}

extern "C" fn on_fault(signal: c_int, info: *mut libc::siginfo_t, raw: *mut c_void) {
    /// A page that is mapped, but not open (`sigaction(2)`): of the arena, all are mapped.
    const SEGV_ACCERR: c_int = 2;
    let depth = (&raw const signal).addr();
    // SAFETY: the system hands over a fault's information.
    let (code, touched) = unsafe { ((*info).si_code, (*info).si_addr().addr() as u64) };
    if code != SEGV_ACCERR {
        return hand_on(signal, info, raw, &SEGV, depth);
    }
    let mut waited = false;
    while page_replacement::is_replaced(touched) {
        waited = true;
        std::thread::yield_now();
    }
    if waited {
        return;
    }
    let own = (GLOBAL_BASE..END.load(Ordering::Relaxed)).contains(&touched);
    let alias = || alias::in_arena(touched, 1).map(|(address, _)| address);
    let Some(address) = own.then_some(touched).or_else(alias) else {
        return hand_on(signal, info, raw, &SEGV, depth);
    };
    let page = address / PAGE * PAGE;
    let ours = || match context::is_held() {
        // This crate follows a pointer of the program, on behalf of a call that does what it must.
        true => open_page(touched / PAGE * PAGE),
        false => on_access(address, page, raw),
    };
    // A mistake of ours is no fault of the program's; the page is opened then.
    let ours = keeping_errno(|| apart(ours)).unwrap_or_else(|| open_page(touched / PAGE * PAGE));
    if !ours {
        hand_on(signal, info, raw, &SEGV, depth);
    }
}

/// What is done in a signal's handler leaves the interrupted code's `errno` as it is.
fn keeping_errno<T>(body: impl FnOnce() -> T) -> T {
    // SAFETY: the calling thread's own `errno`.
    let errno = unsafe { *libc::__errno_location() };
    let done = body();
    // SAFETY: as before.
    unsafe { *libc::__errno_location() = errno };
    done
}

/// Opens a page without the context, which the thread holds.
fn open_page(page: u64) -> bool {
    let open = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: a page of the program's view of the arena, or an alias of one, which nothing of ours refers to.
    unsafe { libc::mprotect(page as *mut c_void, PAGE as usize, open) == 0 }
}

/// Whether the access was one to memory that the host may touch.
fn on_access(address: u64, page: u64, raw: *mut c_void) -> bool {
    let Some(mut context) = context::existing() else {
        return false;
    };
    if !context.is_shared(Some((address, 1))) {
        return false;
    }
    let number = (address - GLOBAL_BASE) / PAGE;
    let closed = context.launches.watch.pages.get(&number).copied();
    let (writes, instruction) = fault(raw);
    // A page that is closed to writes alone has met one.
    let writes = writes.unwrap_or(closed == Some(false));
    let again = match closed {
        Some(_) if !ON_BEHALF.get() => context.touched(address, writes, instruction),
        // Somebody has opened it meanwhile; or the stream itself is at work.
        _ => false,
    };
    let opened = context.memory.arena.open(page, PAGE, true).is_ok();
    if again && opened && cfg!(target_arch = "x86_64") {
        // A thread that ends may have lost it: then the page stays open.
        let pushed = STEPPING.try_with(|pages| pages.borrow_mut().push(number));
        if pushed.is_ok() {
            step(raw, true);
        }
    }
    opened
}

extern "C" fn on_step(signal: c_int, info: *mut libc::siginfo_t, raw: *mut c_void) {
    let depth = (&raw const signal).addr();
    // SAFETY: the system hands over a signal's information.
    let pages = match unsafe { is_sent(info) } {
        true => Vec::new(),
        false => STEPPING.try_with(RefCell::take).unwrap_or_default(),
    };
    if pages.is_empty() {
        return hand_on(signal, info, raw, &TRAP, depth);
    }
    step(raw, false);
    keeping_errno(|| apart(|| close_again(pages)));
}

/// The instruction is executed that pages were opened for.
fn close_again(pages: Vec<u64>) {
    let Some(mut context) = context::existing() else {
        return;
    };
    for number in pages {
        if let Some(writes) = context.launches.watch.pages.get(&number) {
            let address = GLOBAL_BASE + number * PAGE;
            let _ = context
                .memory
                .arena
                .protect(address, PAGE, protection(*writes));
        }
    }
    // The host may have written what a launch waits for.
    context.advance();
}
