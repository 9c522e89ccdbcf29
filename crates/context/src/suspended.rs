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

use crate::calls;
use crate::concurrent_races::Joint;
use crate::context::Context;
use crate::launch::{Request, Work};
use crate::record::{Call, LaunchName};
use crate::timeline::{Agent, Ticket};
use detect::Detectors;
use simt::memory::GLOBAL_BASE;
use simt::observer::NullObserver;
use simt::{Launch, Limits, Others, Stats, Stop, Waiting};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// What the host waits for.
#[derive(Clone, Copy, Debug)]
pub enum Awaited {
    /// Everything.
    All,
    /// What a stream was given.
    Stream(u64),
    /// What an event stands for.
    Event(u64),
}

/// All launches that were put aside, and what comes after them.
#[derive(Default)]
pub(crate) struct Beside {
    pub running: Vec<Running>,
    queue: Vec<Queued>,
    /// Those that one detector watches.
    pub joint: Option<Joint>,
    /// Whether the host has fed one of them, or heard of it: it may have carried an order from one to another.
    pub by_host: bool,
    /// Whether somebody is at work here.
    busy: bool,
    /// The place of the queued operation that is performed.
    current: Option<Ticket>,
    numbers: u64,
    /// Which launch went on last, while the host waited.
    last: u64,
}

impl std::fmt::Debug for Beside {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{} aside, {} queued",
            self.running.len(),
            self.queue.len()
        )
    }
}

/// A launch that has begun and was put aside.
pub(crate) struct Running {
    id: u64,
    pub request: Request,
    pub name: LaunchName,
    pub call: Call,
    pub how: Launch,
    pub ticket: Ticket,
    /// Its state; `None` while it runs.
    pub waiting: Option<Box<Waiting>>,
    /// Why it stopped, should it never go on.
    pub stop: Stop,
    /// Who watches it.
    pub detectors: Option<Detectors>,
    /// Its number among those that one detector watches for races.
    pub member: Option<usize>,
}

/// An operation that comes after a launch that was put aside.
struct Queued {
    id: u64,
    ticket: Ticket,
    call: Call,
    stream: u64,
    what: Deferred,
}

enum Deferred {
    Device(Box<dyn FnOnce(&mut Context) + Send>),
    /// A function of the host, which runs without the context; `None` while it runs.
    Host(Option<Box<dyn FnOnce() + Send>>),
}

/// Whether functions of the host may be queued.
static HOST_FUNCTIONS: AtomicBool = AtomicBool::new(false);

impl Running {
    /// A new one.
    #[allow(clippy::too_many_arguments)]
    pub fn new(
        request: &Request,
        name: &LaunchName,
        call: Call,
        how: &Launch,
        ticket: Ticket,
        (stop, waiting): (Stop, Box<Waiting>),
        (detectors, member): (Option<Detectors>, Option<usize>),
    ) -> Running {
        Running {
            id: 0,
            request: request.clone(),
            name: name.clone(),
            call,
            how: how.clone(),
            ticket,
            waiting: Some(waiting),
            stop,
            detectors,
            member,
        }
    }

    /// As others are compared with it.
    pub fn work(&self) -> Work {
        Work {
            kernel: Some((self.request.kernel.clone(), self.name.clone())),
            call: self.call.clone(),
            stream: self.name.stream.clone(),
            lifetime: None,
        }
    }
}

impl Context {
    /// Whether no launch was put aside, and nothing is queued.
    pub fn is_idle(&self) -> bool {
        self.beside.running.is_empty() && self.beside.queue.is_empty()
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
            others: match self.is_own() && !self.options.tape && self.depth == 0 {
                true => Others::InTurn,
                false => self.others(),
            },
            engine: self.options.engine(),
            memory: self.memory_left(),
            live: Some(self.live.part()),
        }
    }

    /// The place in the order of the operation that is performed, if it was queued.
    pub(crate) fn take_ticket(&mut self) -> Option<Ticket> {
        self.beside.current.take()
    }

    /// A launch is put aside.
    pub(crate) fn put_aside(&mut self, mut running: Running) {
        self.beside.numbers += 1;
        running.id = self.beside.numbers;
        self.timeline.hold(&running.ticket);
        self.keep(running);
    }

    fn keep(&mut self, mut running: Running) {
        let part = running.detectors.as_mut().and_then(|d| d.cut_footprint());
        if let Some(part) = part {
            self.watch(&part);
            self.timeline.part(&running.ticket, part, running.work());
        }
        self.beside.running.push(running);
        self.beside.running.sort_by_key(|r| r.id);
        self.watch.be_patient();
        self.watch_polled();
    }

    /// Pages of the arena, by their number, in which a launch that was put aside polls.
    pub(crate) fn polled_pages(&self) -> BTreeSet<u64> {
        let waiting = self.beside.running.iter().flat_map(|r| &r.waiting);
        let polled = waiting.flat_map(|w| w.polled());
        polled.map(|at| at / crate::arena::PAGE).collect()
    }

    /// Whether an operation that is issued to a stream now comes after a launch that was put aside and can't go on yet.
    pub fn is_held_up(&mut self, stream: u64) -> bool {
        if self.is_idle() || self.beside.current.is_some() {
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
        let (timeline, beside) = (&mut self.timeline, &self.beside);
        let running = beside.running.iter().map(|r| &r.ticket);
        let mut all = running.chain(beside.queue.iter().map(|q| &q.ticket));
        all.any(|ticket| match awaited {
            Awaited::Event(event) => timeline.event_awaits(event, ticket),
            Awaited::All | Awaited::Stream(_) => timeline.awaits(agent, ticket),
        })
    }

    fn queue(&mut self, stream: u64, call: Call, what: Deferred) {
        let agent: Agent = self.agent(stream);
        let ticket = self.timeline.begin(agent);
        self.timeline.hold(&ticket);
        self.beside.numbers += 1;
        self.beside.queue.push(Queued {
            id: self.beside.numbers,
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
        if self.beside.busy || self.is_idle() || self.depth > 0 {
            return;
        }
        self.beside.busy = true;
        while self.sticky.is_none() && (self.go_on() || self.dequeue()) {}
        self.beside.busy = false;
        if self.sticky.is_some() {
            self.abandon();
        }
    }

    /// Forgets everything: the context is lost.
    pub(crate) fn abandon(&mut self) {
        self.beside.running.clear();
        self.beside.queue.clear();
        self.beside.joint = None;
        self.timeline.release_all();
    }

    /// Goes on with a launch of which something that it polls has changed.
    fn go_on(&mut self) -> bool {
        let device = &self.device;
        let may = |r: &Running| r.waiting.as_ref().is_some_and(|w| w.may_go_on(device));
        match self.beside.running.iter().position(may) {
            Some(at) => {
                self.resume(at, false);
                true
            }
            None => false,
        }
    }

    /// The first operation of the queue that may begin and is such a one.
    fn ready(&self, wanted: impl Fn(&Deferred) -> bool) -> Option<usize> {
        let (running, queue) = (&self.beside.running, &self.beside.queue);
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
        let queued = self.beside.queue.remove(at);
        let ticket = queued.ticket.clone();
        self.beside.current = Some(queued.ticket);
        if let Deferred::Device(perform) = queued.what {
            calls::as_of(Some(queued.call));
            perform(self);
            calls::as_of(None);
        }
        self.beside.current = None;
        let aside = self.beside.running.iter().any(|r| r.ticket == ticket);
        if !aside {
            self.timeline.release(&ticket);
        }
        true
    }

    /// A function of the host whose turn has come, and its number and stream.
    fn host_function(&mut self) -> Option<(u64, u64, Box<dyn FnOnce() + Send>)> {
        let at = self.ready(|what| matches!(what, Deferred::Host(Some(_))))?;
        let queued = &mut self.beside.queue[at];
        let Deferred::Host(function) = &mut queued.what else {
            return None;
        };
        Some((queued.id, queued.stream, function.take()?))
    }

    /// It has run.
    fn host_function_ended(&mut self, id: u64) {
        if let Some(at) = self.beside.queue.iter().position(|q| q.id == id) {
            let queued = self.beside.queue.remove(at);
            self.timeline.release(&queued.ticket);
        }
        self.advance();
    }

    /// Goes on with a launch that was put aside.
    fn resume(&mut self, at: usize, prove: bool) {
        let mut running = self.beside.running.remove(at);
        let Some(waiting) = running.waiting.take() else {
            return;
        };
        // Pages of shared memory change by the host's doing, too.
        let shared = self.polls_shared(&waiting);
        self.beside.by_host |= shared && waiting.may_go_on(&self.device);
        self.enter_joint(&mut running);
        let limits = self.limits();
        self.begins();
        let began = Instant::now();
        let kernel = running.request.kernel.clone();
        let (program, how, device) = (&kernel.program, &running.how, &mut self.device);
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
        self.spent.running += took;
        self.totals_of(&kernel).seconds += took.as_secs_f64();
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
        let before = own.map(|own| std::mem::replace(&mut self.detectors, own));
        self.timeline.waited(&running.ticket);
        let steps = self.after(&running, watched, ended, waits);
        if let Some(before) = before {
            self.detectors = before;
        }
        self.totals_of(&running.request.kernel).steps += steps;
        self.timeline.release(&running.ticket);
        if self.beside.running.is_empty() {
            (self.beside.joint, self.beside.by_host) = (None, false);
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
        if self.sticky.is_some() || self.is_idle() || !self.awaits(awaited) {
            return Some(true);
        }
        let device = &self.device;
        let may = |r: &Running| {
            let waiting = r.waiting.as_ref();
            waiting.is_some_and(|w| !w.is_for_ever() || w.may_go_on(device))
        };
        // In turns.
        let (all, last) = (&self.beside.running, self.beside.last);
        let next = all.iter().position(|r| r.id > last && may(r));
        let Some(at) = next.or_else(|| all.iter().position(may)) else {
            return Some(false);
        };
        self.beside.last = all[at].id;
        self.beside.busy = true;
        self.resume(at, true);
        self.beside.busy = false;
        None
    }

    /// The host waits. What never ends is a finding.
    pub(crate) fn settle(&mut self, awaited: Awaited) {
        if self.beside.busy || self.is_idle() || self.settles(awaited) {
            return;
        }
        let mut hung = Vec::new();
        for at in (0..self.beside.running.len()).rev() {
            let running = self.beside.running.remove(at);
            let own = match awaited {
                Awaited::All => true,
                _ => self.is_awaited(awaited, &running.ticket),
            };
            match own {
                true => hung.push(running),
                false => self.beside.running.insert(at, running),
            }
        }
        let behind = self.behind();
        for running in hung.into_iter().rev() {
            let note = self.waits_for(&running, behind.as_deref());
            let stop = running.stop.clone();
            self.ended(running, Err(stop), Some(note));
        }
        if self.sticky.is_some() {
            self.abandon();
        } else {
            self.doubt("a function of the host that a stream comes to could not run in time");
        }
    }

    fn is_awaited(&mut self, awaited: Awaited, ticket: &Ticket) -> bool {
        match awaited {
            Awaited::All => true,
            Awaited::Event(event) => self.timeline.event_awaits(event, ticket),
            Awaited::Stream(stream) => {
                let agent = self.agent(stream);
                self.timeline.awaits(Some(agent), ticket)
            }
        }
    }

    /// What a launch waits for, for the reader.
    fn waits_for(&self, running: &Running, behind: Option<&str>) -> String {
        let polled = running.waiting.iter().flat_map(|w| w.polled());
        let mut names: Vec<String> = polled
            .filter_map(|at| self.block(GLOBAL_BASE + at))
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
        let first = self.beside.queue.first()?;
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
