//! The launches of a process: how many there were, which wait for others, and what is kept of them for those to come.
//!
//! Here is what is known; [`launch`](crate::launch), [`suspended`](crate::suspended), [`concurrent_races`](crate::concurrent_races),
//! [`dependent`](crate::dependent), [`explore`](crate::explore) and [`host_access`](crate::host_access) say what is done with it. `D` is
//! what is done with an operation that had to wait: it takes the whole context, which is made of this.

use crate::call::{Call, LaunchName};
use crate::operation::{Request, Work};
use crate::taped::Tape;
use crate::timeline::{Ticket, Timeline};
use detect::Detectors;
use detect::footprint::{Footprint, Ranges};
use detect::race;
use simt::{Launch, Live, Stop, Waiting};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::Duration;

/// All launches.
pub(crate) struct Launches<D> {
    /// How many there were.
    pub count: u64,
    /// How deep launches by kernels are nested.
    pub depth: u32,
    /// How often a kernel was launched with a geometry.
    pub geometries: HashMap<(usize, [u32; 6]), u64>,
    /// Kernels whose blocks were independent when they were last watched on several cores.
    pub independent: HashSet<usize>,
    pub detectors: Detectors,
    /// What the host program has ordered.
    pub timeline: Timeline<Work>,
    /// Launches that the next ones may overlap.
    pub primaries: Primaries,
    /// Launches that wait for others.
    pub suspended: Suspended<D>,
    pub watch: Watch,
    pub spent: Spent,
    pub tape: Tape,
    /// What ends them.
    pub live: Live,
}

impl<D> std::fmt::Debug for Launches<D> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} launches, {:?}", self.count, self.suspended)
    }
}

impl<D> Launches<D> {
    /// None yet; with the detectors for performance if `perf`.
    pub fn new(perf: bool) -> Launches<D> {
        Launches {
            count: 0,
            depth: 0,
            geometries: HashMap::new(),
            independent: HashSet::new(),
            detectors: Detectors::new(perf),
            timeline: Timeline::default(),
            primaries: Primaries::default(),
            suspended: Suspended::default(),
            watch: Watch::default(),
            spent: Spent::default(),
            tape: Tape::default(),
            live: Live::new(),
        }
    }
}

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
pub(crate) struct Suspended<D> {
    pub running: Vec<Running>,
    pub queue: Vec<Queued<D>>,
    /// Those that one detector watches.
    pub joint: Option<Joint>,
    /// Whether the host has fed one of them, or heard of it: it may have carried an order from one to another.
    pub by_host: bool,
    /// Whether somebody is at work here.
    pub busy: bool,
    /// The place of the queued operation that is performed.
    pub current: Option<Ticket>,
    pub numbers: u64,
    /// Which launch went on last, while the host waited.
    pub last: u64,
}

impl<D> Default for Suspended<D> {
    fn default() -> Suspended<D> {
        Suspended {
            running: Vec::new(),
            queue: Vec::new(),
            joint: None,
            by_host: false,
            busy: false,
            current: None,
            numbers: 0,
            last: 0,
        }
    }
}

impl<D> std::fmt::Debug for Suspended<D> {
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
    /// In the order in which they were put aside; given by whoever does that.
    pub id: u64,
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
pub(crate) struct Queued<D> {
    pub id: u64,
    pub ticket: Ticket,
    pub call: Call,
    pub stream: u64,
    pub what: Deferred<D>,
}

/// What is queued.
pub(crate) enum Deferred<D> {
    Device(D),
    /// A function of the host, which runs without the context; `None` while it runs.
    Host(Option<Box<dyn FnOnce() + Send>>),
}

impl Running {
    /// As others are compared with it.
    pub fn work(&self) -> Work {
        Work::launch(&self.request, &self.name, self.call.clone())
    }
}

/// The launches that one detector watches.
#[derive(Debug)]
pub(crate) struct Joint {
    pub races: race::Detector,
    pub members: Vec<Member>,
}

/// One of them.
#[derive(Debug)]
pub(crate) struct Member {
    pub ticket: Ticket,
    pub request: Request,
    pub work: Work,
}

/// The last launches of streams that dependent launches may overlap, by the streams' handles.
#[derive(Debug, Default)]
pub(crate) struct Primaries(pub HashMap<u64, (Footprint, Work)>);

impl Primaries {
    /// The stream gets something else to do, or the host has waited for it; for all of them without one.
    pub fn forget(&mut self, stream: Option<u64>) {
        match stream {
            Some(stream) => drop(self.0.remove(&stream)),
            None => self.0.clear(),
        }
    }

    /// Whether a launch is to be watched for what it does early, and for what it does at all.
    pub fn concern(&self, request: &Request) -> bool {
        let dependent = request.programmatic && self.0.contains_key(&request.stream);
        dependent || request.kernel.program.facts.launches_dependents
    }
}

/// Pages that are closed to the host, since its accesses there are to be seen.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    /// Numbers of pages, and whether work writes there; else it reads.
    pub pages: BTreeMap<u64, bool>,
    /// How often a page was opened for one instruction since the host last waited.
    pub steps: HashMap<u64, u32>,
    /// Memory that host and device share, as offsets into the arena.
    pub shared: Ranges,
}

impl Watch {
    /// Something has changed: pages may be opened for single instructions as often as before.
    pub(crate) fn be_patient(&mut self) {
        self.steps.clear();
    }
}

/// What exploration has cost.
#[derive(Debug, Default)]
pub(crate) struct Spent {
    /// Launches as the program wants them.
    pub running: Duration,
    /// Launches under other schedules.
    pub exploring: Duration,
}
