//! Launches that run side by side: one that waits for memory which somebody else writes is put aside ([`simt::Waiting`]), and the program goes on.
//!
//! Launches are run when they are issued, and most come to their end. One that does nothing but read the same words again goes on when
//! they have other values: because the host wrote them, whose accesses are seen ([`crate::host_access`]), or work that was issued later. What
//! is issued meanwhile runs at once unless it comes after a launch that was put aside, by its stream or by events ([`crate::timeline`]): then it
//! is queued. One party runs at a time, and who that is depends on nothing but the program, so that a run can be repeated.
//!
//! Where the host waits for a launch that was put aside, it goes on until it is known that it never will: its state is there for the second time, and so is
//! that of every other launch. That is a hang, and a finding.
//!
//! # What is known of two launches that ran side by side
//!
//! Those that could order each other while they run (strong accesses, and fences or release and acquire in both) are watched by one detector ([`crate::concurrent_races`]),
//! which follows what one hands to the other. All others are compared by what they did to memory, as any two that nothing orders. Where an order may
//! come from elsewhere (the host, that hears of one launch and feeds another; a copy that a launch waits for; a launch that could not be watched together with the others), a conflict is
//! no finding, and the result is inconclusive. The host is known to come after what a launch did before the host read what the launch wrote with system scope.
//!
//! # Blind spots
//!
//! * A launch goes on when the host has written what it polls: not while the host only computes. A host that waits in a loop for memory that a
//!   launch is about to write, without ever calling the library, finds it written already, or waits for ever.
//! * Several cores: a launch that waits by weak loads, and could be dealt out to several cores, is not put aside.

use crate::call::Call;
use crate::calls;
use crate::context::{Context, Deferral};
pub use crate::launches::Awaited;
use crate::launches::{Deferred, Queued, Running};
use crate::timeline::{Agent, Ticket};
use simt::memory::GLOBAL_BASE;
use simt::observer::NullObserver;
use simt::{Limits, Others, Pause, Stats, Stop};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Whether functions of the host may be queued.
static HOST_FUNCTIONS: AtomicBool = AtomicBool::new(false);

impl Context {
    /// Whether no launch was put aside, and nothing is queued.
    pub fn is_idle(&self) -> bool {
        self.launches.suspended.running.is_empty() && self.launches.suspended.queue.is_empty()
    }

    /// Who may write to the memory of a launch that can't be put aside.
    pub(crate) fn others(&self) -> Others {
        match self.is_own() {
            true => Others::AnyTime,
            false => Others::Nobody,
        }
    }

    /// Budgets of a launch; whether it may be put aside.
    pub(crate) fn limits(&self) -> Limits {
        Limits {
            steps: self.options.steps,
            wall: Some(Duration::from_secs_f64(self.options.launch_seconds)),
            // Launches that are run again are alone; a kernel's own launches run when it has ended.
            others: match self.is_own() && !self.options.tape && self.launches.depth == 0 {
                true => Others::InTurn,
                false => self.others(),
            },
            pause: Pause::Nowhere,
            engine: self.options.engine(),
            memory: self.memory_left(),
            live: Some(self.launches.live.part()),
        }
    }

    /// The place in the order of the operation that is performed, if it was queued.
    pub(crate) fn take_ticket(&mut self) -> Option<Ticket> {
        self.launches.suspended.current.take()
    }

    /// A launch is put aside.
    pub(crate) fn put_aside(&mut self, mut running: Running) {
        self.launches.suspended.numbers += 1;
        running.id = self.launches.suspended.numbers;
        self.launches.timeline.hold(&running.ticket);
        self.keep(running);
    }

    fn keep(&mut self, mut running: Running) {
        let part = running.detectors.as_mut().and_then(|d| d.cut_footprint());
        if let Some(part) = part {
            self.watch(&part);
            self.launches
                .timeline
                .part(&running.ticket, part, running.work());
        }
        self.launches.suspended.running.push(running);
        self.launches.suspended.running.sort_by_key(|r| r.id);
        self.launches.watch.be_patient();
        self.watch_polled();
    }

    /// Pages of the arena, by their number, in which a launch that was put aside polls.
    pub(crate) fn polled_pages(&self) -> BTreeSet<u64> {
        let waiting = self
            .launches
            .suspended
            .running
            .iter()
            .flat_map(|r| &r.waiting);
        let polled = waiting.flat_map(|w| w.polled());
        polled.map(|at| at / crate::pages::PAGE).collect()
    }

    /// Whether an operation that is issued to a stream now comes after a launch that was put aside and can't go on yet.
    pub fn is_held_up(&mut self, stream: u64) -> bool {
        if self.is_idle() || self.launches.suspended.current.is_some() {
            return false;
        }
        self.advance();
        self.awaits(Awaited::Stream(stream))
    }

    /// Whether something that the host waits for has not ended.
    fn awaits(&mut self, awaited: Awaited) -> bool {
        let agent = match awaited {
            Awaited::Stream(stream) => Some(self.agent(stream)),
            _ => None,
        };
        let (timeline, beside) = (&mut self.launches.timeline, &self.launches.suspended);
        let running = beside.running.iter().map(|r| &r.ticket);
        let mut all = running.chain(beside.queue.iter().map(|q| &q.ticket));
        all.any(|ticket| match awaited {
            Awaited::Event(event) => timeline.event_awaits(event, ticket),
            Awaited::All | Awaited::Stream(_) => timeline.awaits(agent, ticket),
        })
    }

    fn queue(&mut self, stream: u64, call: Call, what: Deferred<Deferral>) {
        let agent: Agent = self.agent(stream);
        let ticket = self.launches.timeline.begin(agent);
        self.launches.timeline.hold(&ticket);
        self.launches.suspended.numbers += 1;
        self.launches.suspended.queue.push(Queued {
            id: self.launches.suspended.numbers,
            ticket,
            call,
            stream,
            what,
        });
    }

    /// Performs an operation of a stream that is [held up](Context::is_held_up) when it can begin.
    pub fn defer(
        &mut self,
        stream: u64,
        call: Call,
        what: impl FnOnce(&mut Context) + Send + 'static,
    ) {
        self.queue(stream, call, Deferred::Device(Box::new(what)));
    }

    /// The same of a function of the host.
    pub(crate) fn defer_host(&mut self, stream: u64, function: Box<dyn FnOnce() + Send>) {
        HOST_FUNCTIONS.store(true, Ordering::Relaxed);
        let call = Call::default();
        self.queue(stream, call, Deferred::Host(Some(function)));
    }

    /// Goes on with launches that were put aside and may go on, and with what is queued, until nothing moves.
    pub fn advance(&mut self) {
        if self.launches.suspended.busy || self.is_idle() || self.launches.depth > 0 {
            return;
        }
        self.launches.suspended.busy = true;
        while self.findings.sticky.is_none() && (self.go_on() || self.dequeue()) {}
        self.launches.suspended.busy = false;
        if self.findings.sticky.is_some() {
            self.abandon();
        }
    }

    /// Forgets everything: the context is lost.
    pub(crate) fn abandon(&mut self) {
        self.launches.suspended.running.clear();
        self.launches.suspended.queue.clear();
        self.launches.suspended.joint = None;
        self.launches.timeline.release_all();
    }

    /// Goes on with a launch of which something that it polls has changed.
    fn go_on(&mut self) -> bool {
        let device = &self.memory.device;
        let may = |r: &Running| r.waiting.as_ref().is_some_and(|w| w.may_go_on(device));
        match self.launches.suspended.running.iter().position(may) {
            Some(at) => {
                self.resume(at, false);
                true
            }
            None => false,
        }
    }

    /// The first operation of the queue that may begin and is such a one.
    fn ready(&self, wanted: impl Fn(&Deferred<Deferral>) -> bool) -> Option<usize> {
        let (running, queue) = (
            &self.launches.suspended.running,
            &self.launches.suspended.queue,
        );
        (0..queue.len()).find(|at| {
            let ticket = &queue[*at].ticket;
            let before = queue[..*at].iter().map(|q| &q.ticket);
            let mut before = before.chain(running.iter().map(|r| &r.ticket));
            wanted(&queue[*at].what) && !before.any(|earlier| ticket.is_after(earlier))
        })
    }

    /// Performs an operation that was queued.
    fn dequeue(&mut self) -> bool {
        let Some(at) = self.ready(|what| matches!(what, Deferred::Device(_))) else {
            return false;
        };
        let queued = self.launches.suspended.queue.remove(at);
        let ticket = queued.ticket.clone();
        self.launches.suspended.current = Some(queued.ticket);
        if let Deferred::Device(perform) = queued.what {
            calls::as_of(Some(queued.call));
            perform(self);
            calls::as_of(None);
        }
        self.launches.suspended.current = None;
        let aside = self
            .launches
            .suspended
            .running
            .iter()
            .any(|r| r.ticket == ticket);
        if !aside {
            self.launches.timeline.release(&ticket);
        }
        true
    }

    /// A function of the host whose turn has come, and its number and stream.
    fn host_function(&mut self) -> Option<(u64, u64, Box<dyn FnOnce() + Send>)> {
        let at = self.ready(|what| matches!(what, Deferred::Host(Some(_))))?;
        let queued = &mut self.launches.suspended.queue[at];
        let Deferred::Host(function) = &mut queued.what else {
            return None;
        };
        Some((queued.id, queued.stream, function.take()?))
    }

    /// It has run.
    fn host_function_ended(&mut self, id: u64) {
        if let Some(at) = self
            .launches
            .suspended
            .queue
            .iter()
            .position(|q| q.id == id)
        {
            let queued = self.launches.suspended.queue.remove(at);
            self.launches.timeline.release(&queued.ticket);
        }
        self.advance();
    }

    /// Goes on with a launch that was put aside.
    fn resume(&mut self, at: usize, prove: bool) {
        let mut running = self.launches.suspended.running.remove(at);
        let Some(waiting) = running.waiting.take() else {
            return;
        };
        // Pages of shared memory change by the host's doing, too.
        let shared = self.polls_shared(&waiting);
        self.launches.suspended.by_host |= shared && waiting.may_go_on(&self.memory.device);
        self.enter_joint(&mut running);
        let limits = self.limits();
        self.begins();
        let began = Instant::now();
        let kernel = running.request.kernel.clone();
        let (program, how, device) = (&kernel.program, &running.how, &mut self.memory.device);
        let ended = match &mut running.detectors {
            Some(detectors) => detectors.resume(waiting, device, program, how, &limits, prove),
            None => {
                let nobody = &mut NullObserver;
                waiting.resume(device, program, how, &limits, prove, nobody)
            }
        };
        let took = began.elapsed();
        if running.member.is_some()
            && let Some(detectors) = &mut running.detectors
        {
            self.leave_joint(detectors);
            self.judge_joint();
        }
        self.launches.spent.running += took;
        self.findings.totals_of(&kernel).seconds += took.as_secs_f64();
        match ended {
            Err((stop, Some(waiting))) => {
                running.stop = stop;
                running.waiting = Some(waiting);
                self.keep(running);
            }
            Ok(stats) => self.ended(running, Ok(stats), None),
            Err((stop, None)) => self.ended(running, Err(stop), None),
        }
        self.ends();
    }

    /// A launch that was put aside has ended.
    fn ended(&mut self, mut running: Running, ended: Result<Stats, Stop>, waits: Option<String>) {
        let own = running.detectors.take();
        let watched = own.is_some();
        let before = own.map(|own| std::mem::replace(&mut self.launches.detectors, own));
        self.launches.timeline.waited(&running.ticket);
        let steps = self.after(&running, watched, ended, waits);
        if let Some(before) = before {
            self.launches.detectors = before;
        }
        self.findings.totals_of(&running.request.kernel).steps += steps;
        self.launches.timeline.release(&running.ticket);
        if self.launches.suspended.running.is_empty() {
            (
                self.launches.suspended.joint,
                self.launches.suspended.by_host,
            ) = (None, false);
        }
        self.rewatch(false);
    }

    /// Lets everything go on, until what the host waits for has ended; false if it never does, unless somebody else does something.
    pub fn settles(&mut self, awaited: Awaited) -> bool {
        loop {
            if let Some(settled) = self.settles_in_a_turn(awaited) {
                return settled;
            }
        }
    }

    /// The same for one turn of a launch that was put aside, after which it may not be known.
    fn settles_in_a_turn(&mut self, awaited: Awaited) -> Option<bool> {
        self.advance();
        if self.findings.sticky.is_some() || self.is_idle() || !self.awaits(awaited) {
            return Some(true);
        }
        let device = &self.memory.device;
        let may = |r: &Running| {
            let waiting = r.waiting.as_ref();
            waiting.is_some_and(|w| !w.is_for_ever() || w.may_go_on(device))
        };
        // In turns.
        let (all, last) = (
            &self.launches.suspended.running,
            self.launches.suspended.last,
        );
        let next = all.iter().position(|r| r.id > last && may(r));
        let Some(at) = next.or_else(|| all.iter().position(may)) else {
            return Some(false);
        };
        self.launches.suspended.last = all[at].id;
        self.launches.suspended.busy = true;
        self.resume(at, true);
        self.launches.suspended.busy = false;
        None
    }

    /// The host waits. What never ends is a finding.
    pub(crate) fn settle(&mut self, awaited: Awaited) {
        if self.launches.suspended.busy || self.is_idle() || self.settles(awaited) {
            return;
        }
        let mut hung = Vec::new();
        for at in (0..self.launches.suspended.running.len()).rev() {
            let running = self.launches.suspended.running.remove(at);
            let own = match awaited {
                Awaited::All => true,
                _ => self.is_awaited(awaited, &running.ticket),
            };
            match own {
                true => hung.push(running),
                false => self.launches.suspended.running.insert(at, running),
            }
        }
        let behind = self.behind();
        for running in hung.into_iter().rev() {
            let note = self.waits_for(&running, behind.as_deref());
            let stop = running.stop.clone();
            self.ended(running, Err(stop), Some(note));
        }
        if self.findings.sticky.is_some() {
            self.abandon();
        } else {
            self.findings
                .doubt("a function of the host that a stream comes to could not run in time");
        }
    }

    fn is_awaited(&mut self, awaited: Awaited, ticket: &Ticket) -> bool {
        match awaited {
            Awaited::All => true,
            Awaited::Event(event) => self.launches.timeline.event_awaits(event, ticket),
            Awaited::Stream(stream) => {
                let agent = self.agent(stream);
                self.launches.timeline.awaits(Some(agent), ticket)
            }
        }
    }

    /// What a launch waits for, for the reader.
    fn waits_for(&self, running: &Running, behind: Option<&str>) -> String {
        let polled = running.waiting.iter().flat_map(|w| w.polled());
        let mut names: Vec<String> = polled
            .filter_map(|at| self.memory.block(GLOBAL_BASE + at))
            .map(|block| block.label())
            .collect();
        names.sort();
        names.dedup();
        names.truncate(3);
        let what = match names.is_empty() {
            true => "memory".to_owned(),
            false => names.join(" or "),
        };
        let mut note = format!(
            "it waits for another value in {what}, and nothing that may run before it has ended writes one"
        );
        if let Some(behind) = behind {
            note.push_str(&format!("; {behind} can't begin before it has ended"));
        }
        note
    }

    /// The first operation that is queued, for the reader.
    fn behind(&self) -> Option<String> {
        let first = self.launches.suspended.queue.first()?;
        let stream = self.stream_name(first.stream);
        let what = match (&first.call.kernel, first.call.function.as_str()) {
            (Some(kernel), _) => format!("`{kernel}`"),
            (None, "") => "a function of the host".to_owned(),
            (None, function) => format!("`{function}`"),
        };
        Some(format!("{what} on {stream}"))
    }

    /// Whether the host has to be told that a stream or an event is not ready.
    pub fn is_unready(&mut self, awaited: Awaited) -> bool {
        !self.is_idle() && !self.settles(awaited)
    }
}

/// Runs the functions of the host whose turn has come. The context must not be held.
pub fn run_host_functions() {
    while HOST_FUNCTIONS.load(Ordering::Relaxed) {
        let next = crate::context::existing().and_then(|mut context| {
            context.advance();
            context.host_function()
        });
        let Some((id, stream, function)) = next else {
            return;
        };
        crate::host_access::run_on_behalf(stream, function);
        if let Some(mut context) = crate::context::existing() {
            context.host_function_ended(id);
        }
    }
}

/// The host is about to wait: while a launch waits for memory that another thread of the host may write, that one gets its turn.
/// The context must not be held.
pub fn patience(awaited: Awaited) {
    /// Between two looks.
    const PAUSE: Duration = Duration::from_millis(1);
    let began = Instant::now();
    loop {
        run_host_functions();
        let Some(mut context) = crate::context::existing() else {
            return;
        };
        if context.is_idle() {
            return;
        }
        let settled = context.settles_in_a_turn(awaited);
        let host = context.ready(|what| matches!(what, Deferred::Host(Some(_))));
        let longest = Duration::from_secs_f64(context.options.launch_seconds);
        drop(context);
        match settled {
            Some(true) => return,
            Some(false) if host.is_some() => {}
            Some(false) if began.elapsed() > longest || !others_may_run() => return,
            _ => std::thread::sleep(PAUSE),
        }
    }
}

/// Whether the process has other threads.
fn others_may_run() -> bool {
    std::fs::read_dir("/proc/self/task").map_or(true, |all| all.count() > 1)
}
