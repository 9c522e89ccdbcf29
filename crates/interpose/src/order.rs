//! Which launches nothing orders: the order of [`session::host_order`], call by call.
//!
//! As long as a program launches on one stream, its launches are ordered, and their checks take the short way. From the second stream on, each
//! launch is told which earlier ones nothing orders before it, and they of it. A program that orders its streams by means that are not
//! followed (values in memory, callbacks, semaphores) is said to, and its launches count as ordered.

use crate::real_driver::real;
use session::host_order::{Agent, HOST, HostOrder, Stamp, StreamKind};
use std::collections::{HashMap, HashSet};

/// A stream as the program names it: by its handle, or by its number where the handle stands for another one in each thread or context.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StreamName {
    /// The legacy default stream.
    Legacy,
    /// The default stream of a thread.
    OfThread(std::thread::ThreadId),
    /// Any other.
    Handle(usize),
}

impl StreamName {
    /// What a handle stands for. `per_thread`: in functions of per-thread default streams, 0 is that of the thread.
    pub fn of(handle: usize, per_thread: bool) -> StreamName {
        /// `CU_STREAM_LEGACY`, `CU_STREAM_PER_THREAD`
        const LEGACY: usize = 1;
        const PER_THREAD: usize = 2;
        match (handle, per_thread) {
            (0, true) | (PER_THREAD, _) => StreamName::OfThread(std::thread::current().id()),
            (0 | LEGACY, _) => StreamName::Legacy,
            _ => StreamName::Handle(handle),
        }
    }

    fn kind(self) -> StreamKind {
        const NON_BLOCKING: u32 = 1;
        match self {
            StreamName::Legacy => StreamKind::Legacy,
            StreamName::OfThread(_) => StreamKind::Blocking,
            StreamName::Handle(handle) => {
                let mut flags = 0u32;
                let asked = real!(cuStreamGetFlags(handle => usize, &mut flags => *mut u32));
                match asked == 0 && flags & NON_BLOCKING == 0 {
                    true => StreamKind::Blocking,
                    false => StreamKind::NonBlocking,
                }
            }
        }
    }
}

/// A set of launches by number.
pub type Set = [u32; 8];

/// The order so far.
pub struct LaunchOrder {
    host: HostOrder,
    agents: HashMap<StreamName, Agent>,
    /// Places of streams that are gone.
    free: Vec<Agent>,
    /// Streams with watched launches.
    used: HashSet<Agent>,
    /// When launches are, by number.
    stamps: Vec<Option<Stamp>>,
    /// For each, those that nothing orders with it.
    pub concurrent: Vec<Set>,
    /// What may have ordered launches in a way that is not followed.
    given_up: Option<&'static str>,
    /// Whether the program has made streams.
    created: bool,
}

impl Default for LaunchOrder {
    fn default() -> LaunchOrder {
        LaunchOrder {
            host: HostOrder::default(),
            agents: HashMap::new(),
            free: Vec::new(),
            used: HashSet::new(),
            stamps: vec![None; 256],
            concurrent: vec![Set::default(); 256],
            given_up: None,
            created: false,
        }
    }
}

impl LaunchOrder {
    fn agent(&mut self, stream: StreamName) -> Agent {
        if let Some(agent) = self.agents.get(&stream) {
            return *agent;
        }
        let agent = match self.free.pop() {
            Some(agent) => {
                self.host.renew(agent, stream.kind());
                agent
            }
            None => self.host.stream(stream.kind()),
        };
        self.agents.insert(stream, agent);
        agent
    }

    /// An operation without a number.
    pub fn operation(&mut self, stream: StreamName) -> Stamp {
        let agent = self.agent(stream);
        self.host.operation(agent)
    }

    /// Whether no other stream than this one has launches.
    pub fn is_alone(&mut self, stream: StreamName) -> bool {
        let agent = self.agent(stream);
        self.used.iter().all(|used| *used == agent)
    }

    /// The program makes a stream.
    pub fn create_stream(&mut self) {
        self.created = true;
    }

    /// Whether all of the program's work so far is on one stream, and it has no other.
    pub fn is_one_stream(&self) -> bool {
        !self.created && self.agents.len() <= 1
    }

    /// Whether the host has waited for an operation.
    pub fn is_done(&self, stamp: &Stamp) -> bool {
        self.host.host_knows(stamp.agent) >= stamp.number
    }

    /// Whether what a stream is given next comes after an operation.
    pub fn follows(&mut self, stream: StreamName, stamp: &Stamp) -> bool {
        let agent = self.agent(stream);
        self.host.issue(agent);
        self.host.knows(agent, stamp.agent) >= stamp.number
    }

    /// A launch gets a number: the launches whose sets have changed, if there may be concurrent ones at all.
    pub fn launch(&mut self, number: u32, stream: StreamName) -> Option<Vec<u32>> {
        let stamp = self.operation(stream);
        self.launch_at(number, stamp)
    }

    /// The same of an operation that has been issued.
    pub fn launch_at(&mut self, number: u32, stamp: Stamp) -> Option<Vec<u32>> {
        self.used.insert(stamp.agent);
        let mut changed = vec![number];
        self.concurrent[number as usize] = Set::default();
        let earlier = self.stamps.iter().enumerate();
        let unordered = earlier.filter(|(_, other)| {
            let ordered = |o: &Stamp| stamp.is_after(o) || o.is_after(&stamp);
            other.as_ref().is_some_and(|other| !ordered(other))
        });
        changed.extend(unordered.map(|(other, _)| other as u32));
        if self.given_up.is_some() {
            changed.truncate(1);
        }
        for other in changed.clone().into_iter().skip(1) {
            let mut add = |to: u32, one: u32| {
                self.concurrent[to as usize][one as usize >> 5] |= 1 << (one & 31);
            };
            add(number, other);
            add(other, number);
        }
        self.stamps[number as usize] = Some(stamp);
        (self.used.len() > 1).then_some(changed)
    }

    /// The first launch that may not be over when this one runs; itself, if there is none.
    pub fn floor(&self, number: u32) -> u32 {
        let set = &self.concurrent[number as usize];
        let first = (1..number).find(|n| set[(n >> 5) as usize] >> (n & 31) & 1 != 0);
        first.unwrap_or(number)
    }

    /// The host has waited for everything, and numbers begin again.
    pub fn renew(&mut self) {
        self.synchronize_all();
        self.stamps.fill(None);
        self.concurrent.fill(Set::default());
    }

    /// The program calls something that may order launches in a way that is not followed.
    pub fn give_up(&mut self, by: &'static str) {
        self.given_up.get_or_insert(by);
    }

    /// Why launches on several streams are not compared.
    pub fn is_unknown(&self) -> Option<&'static str> {
        self.given_up.filter(|_| self.used.len() > 1)
    }

    /// An event is recorded on a stream.
    pub fn record(&mut self, event: usize, stream: StreamName) {
        let agent = self.agent(stream);
        self.host.record(event as u64, agent);
    }

    /// A stream is to wait for an event.
    pub fn wait(&mut self, event: usize, stream: StreamName) {
        let agent = self.agent(stream);
        self.host.wait(event as u64, agent);
    }

    /// The host has waited for an event.
    pub fn await_event(&mut self, event: usize) {
        self.host.wait(event as u64, HOST);
    }

    /// An event is destroyed: its handle may come back as another one's.
    pub fn forget_event(&mut self, event: usize) {
        self.host.forget_event(event as u64);
    }

    /// The host waits for a stream.
    pub fn synchronize(&mut self, stream: StreamName) {
        let agent = self.agent(stream);
        self.host.issue(agent);
        self.host.synchronize(agent);
    }

    /// The host has waited for all streams.
    pub fn synchronize_all(&mut self) {
        for agent in 1..self.host.agents() {
            self.host.synchronize(Agent(agent));
        }
    }

    /// A stream is destroyed: its handle may come back as another one's. Its place does once the host has seen the end of its work.
    pub fn end_stream(&mut self, stream: StreamName) {
        let gone = self.agents.remove(&stream);
        self.free
            .extend(gone.filter(|agent| self.host.is_done(*agent)));
    }
}
