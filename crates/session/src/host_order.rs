//! What orders the operations of a host program, one command after another: vector clocks over the host and its streams (Mattern 1989).
//!
//! A host program issues commands one after another. Operations on one stream follow each other. A stream that waits for an event follows the
//! work that the event covers. The host follows what it waits for, and everything that it issues follows what it did before (CUDA C++
//! Programming Guide, "Streams", "Events", "Explicit Synchronization").
//!
//! The legacy default stream orders more: work issued to it follows all earlier work on blocking streams, and later work on
//! blocking streams follows it (CUDA Driver API, "Stream synchronization behavior"; CUDA C++ Programming Guide, "Default
//! Stream", "Implicit Synchronization"). Non-blocking streams take no part in this.
//!
//! [`Order`](super::Order) asks this of a program that is known beforehand; a program that runs asks it call by call.

use std::collections::HashMap;

/// How the legacy default stream and another one are ordered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StreamKind {
    /// Not at all (`cudaStreamNonBlocking`).
    #[default]
    NonBlocking,
    /// Each waits for what the other one was given before (`cudaStreamCreate`).
    Blocking,
    /// It is the legacy default stream itself.
    Legacy,
}

/// The host, or a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Agent(pub usize);

/// The host itself.
pub const HOST: Agent = Agent(0);

type Clock = Vec<u32>;

/// When an operation is: the `number`th (from 1) of an agent, after what its clock knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// Who does it.
    pub agent: Agent,
    /// Which of the agent's operations it is.
    pub number: u32,
    clock: Clock,
}

impl Stamp {
    /// The last operation of an agent that this one comes after, or is; those of agents that came later have longer clocks.
    pub fn knows(&self, agent: Agent) -> u32 {
        knows(&self.clock, agent)
    }

    /// Whether this operation comes after another one, or is it.
    pub fn is_after(&self, earlier: &Stamp) -> bool {
        self.knows(earlier.agent) >= earlier.number
    }
}

fn knows(clock: &Clock, agent: Agent) -> u32 {
    clock.get(agent.0).copied().unwrap_or(0)
}

fn join(into: &mut Clock, from: &Clock) {
    for (a, b) in into.iter_mut().zip(from) {
        *a = (*a).max(*b);
    }
}

/// The order so far.
#[derive(Debug)]
pub struct HostOrder {
    /// By agent.
    clocks: Vec<Clock>,
    kinds: Vec<StreamKind>,
    events: HashMap<u64, Clock>,
}

impl Default for HostOrder {
    /// The host alone.
    fn default() -> HostOrder {
        HostOrder {
            clocks: vec![vec![0]],
            kinds: vec![StreamKind::NonBlocking],
            events: HashMap::new(),
        }
    }
}

impl HostOrder {
    /// A new stream.
    pub fn stream(&mut self, kind: StreamKind) -> Agent {
        let agent = Agent(self.clocks.len());
        self.kinds.push(kind);
        for clock in &mut self.clocks {
            clock.push(0);
        }
        self.clocks.push(vec![0; agent.0 + 1]);
        agent
    }

    /// The place of a stream that is gone is used for another one.
    pub fn renew(&mut self, agent: Agent, kind: StreamKind) {
        self.kinds[agent.0] = kind;
    }

    /// The host and the streams.
    pub fn agents(&self) -> usize {
        self.clocks.len()
    }

    /// The last operation of an agent that the host comes after.
    pub fn host_knows(&self, agent: Agent) -> u32 {
        knows(&self.clocks[HOST.0], agent)
    }

    /// The last operation of an agent that what another one does next comes after.
    pub fn knows(&self, agent: Agent, other: Agent) -> u32 {
        knows(&self.clocks[agent.0], other)
    }

    /// Whether the host has waited for all that a stream was given.
    pub fn is_done(&self, agent: Agent) -> bool {
        self.host_knows(agent) == self.knows(agent, agent)
    }

    /// What is issued to an agent comes after what the host knows, and after what the legacy stream's rules imply.
    pub fn issue(&mut self, agent: Agent) {
        let other = match self.kinds[agent.0] {
            StreamKind::NonBlocking => None,
            StreamKind::Blocking => Some(StreamKind::Legacy),
            StreamKind::Legacy => Some(StreamKind::Blocking),
        };
        let implied = (0..self.clocks.len()).filter(|a| Some(self.kinds[*a]) == other);
        for before in implied.chain([HOST.0]).collect::<Vec<_>>() {
            let before = self.clocks[before].clone();
            join(&mut self.clocks[agent.0], &before);
        }
    }

    /// An operation of an agent.
    pub fn operation(&mut self, agent: Agent) -> Stamp {
        self.issue(agent);
        self.clocks[agent.0][agent.0] += 1;
        Stamp {
            agent,
            number: self.clocks[agent.0][agent.0],
            clock: self.clocks[agent.0].clone(),
        }
    }

    /// `cudaEventRecord`: the event stands for what the stream was given so far.
    pub fn record(&mut self, event: u64, agent: Agent) {
        self.issue(agent);
        self.events.insert(event, self.clocks[agent.0].clone());
    }

    /// `cudaStreamWaitEvent`, or the host waits for an event; one that was never recorded is no reason to wait.
    pub fn wait(&mut self, event: u64, agent: Agent) {
        self.issue(agent);
        if let Some(clock) = self.events.get(&event) {
            join(&mut self.clocks[agent.0], clock);
        }
    }

    /// Whether an event stands for this operation.
    pub fn event_covers(&self, event: u64, stamp: &Stamp) -> bool {
        let clock = self.events.get(&event);
        clock.is_some_and(|clock| knows(clock, stamp.agent) >= stamp.number)
    }

    /// An event is destroyed.
    pub fn forget_event(&mut self, event: u64) {
        self.events.remove(&event);
    }

    /// The host waits for a stream: for the work issued there and for what that work waited for.
    pub fn synchronize(&mut self, agent: Agent) {
        let clock = self.clocks[agent.0].clone();
        join(&mut self.clocks[HOST.0], &clock);
    }

    /// The host has waited for this operation of an agent, and is not known to have waited for what that one came after.
    pub fn host_heard(&mut self, agent: Agent, number: u32) {
        let known = &mut self.clocks[HOST.0][agent.0];
        *known = (*known).max(number);
    }
}
