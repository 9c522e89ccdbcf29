//! What a running host program has ordered so far: streams, events, and the host's own waiting.
//!
//! The order is that of [`session::host_order`]. Operations that the host has waited for are forgotten: whatever comes later is after them.

use detect::footprint::{Conflict, Footprint};
pub use session::host_order::{Agent, HOST};
use session::host_order::{HostOrder, Stamp, StreamKind};
use std::collections::HashMap;

/// The legacy default stream.
pub const LEGACY: Agent = Agent(1);

/// The place of an operation in the order, from when it was issued.
pub type Ticket = Stamp;

/// Operations that the host has not waited for, of which this many are remembered; then the oldest are forgotten.
const REMEMBERED: usize = 4096;

/// The order so far. `T` is what is known of an operation besides.
#[derive(Debug)]
pub struct Timeline<T> {
    order: HostOrder,
    /// Places of streams that are gone.
    free: Vec<Agent>,
    past: Vec<Operation<T>>,
    /// Operations that have begun, or could have, and have not ended.
    open: Vec<Ticket>,
    /// Operations that were held, and the operations beside which they ran: these may have been waited for.
    beside: Vec<(Ticket, Agent, u32)>,
    /// Whether operations were forgotten that the host had not waited for.
    forgot_unfinished: bool,
}

#[derive(Debug)]
struct Operation<T> {
    agent: Agent,
    number: u32,
    footprint: Footprint,
    what: T,
    /// Whether an access of the host itself would still tell something new.
    watched: bool,
    /// Whether it is a part of an operation that has not ended.
    part: bool,
}

/// An earlier operation that conflicts with a new one.
#[derive(Debug)]
pub struct Unordered<T> {
    /// What is known of it.
    pub what: T,
    /// Whether the new one has what could order it with others that run at the same time.
    pub synchronises: bool,
    /// Where they conflict.
    pub conflicts: Vec<Conflict>,
    /// Whether strong accesses of both meet.
    pub meet: bool,
    /// Whether the new one comes after an operation that may have waited for the other one.
    pub after_waiting: bool,
    /// Whether both have what could order them while they run.
    pub may_synchronise: bool,
}

/// What came of an access of the host.
#[derive(Debug)]
pub struct Touched<T> {
    /// Operations that conflict with it, and where.
    pub found: Vec<(T, Vec<Conflict>)>,
    /// Operations that conflict with it, unless the host has waited for one that has waited for them.
    pub maybe: Vec<T>,
    /// Whether the host is taken to have waited for one.
    pub waited: bool,
}

impl<T> Default for Timeline<T> {
    /// The host and the legacy stream.
    fn default() -> Timeline<T> {
        let mut order = HostOrder::default();
        order.stream(StreamKind::Legacy);
        Timeline {
            order,
            free: Vec::new(),
            past: Vec::new(),
            open: Vec::new(),
            beside: Vec::new(),
            forgot_unfinished: false,
        }
    }
}

impl<T> Timeline<T> {
    /// A new stream; a blocking one is ordered with the legacy stream.
    pub fn stream(&mut self, blocking: bool) -> Agent {
        let kind = match blocking {
            true => StreamKind::Blocking,
            false => StreamKind::NonBlocking,
        };
        match self.free.pop() {
            Some(agent) => {
                self.order.renew(agent, kind);
                agent
            }
            None => self.order.stream(kind),
        }
    }

    /// A stream is destroyed. Its work goes on; its place is used again once the host has seen the end of it.
    pub fn end_stream(&mut self, agent: Agent) {
        if self.order.is_done(agent) {
            self.free.push(agent);
        }
    }

    /// Whether more than one agent has work that the host has not waited for.
    pub fn has_streams(&self) -> bool {
        self.order.agents() > 2
    }

    /// Whether the host has waited for all that a stream was given.
    pub fn is_done(&self, agent: Agent) -> bool {
        self.order.is_done(agent)
    }

    /// An operation of an agent: returns what is known of the earlier ones that nothing orders with it and that conflict with it, with
    /// their conflicts; the new operation is the first of each.
    pub fn operation(
        &mut self,
        agent: Agent,
        footprint: Footprint,
        what: T,
    ) -> Vec<(T, Vec<Conflict>)>
    where
        T: Clone,
    {
        let ticket = self.begin(agent);
        let found = self.end(&ticket, footprint, what);
        found.into_iter().map(|u| (u.what, u.conflicts)).collect()
    }

    /// An operation of an agent is issued, and ends [later](Timeline::end).
    pub fn begin(&mut self, agent: Agent) -> Ticket {
        self.order.operation(agent)
    }

    /// Others may run before an operation that has begun ends: what nothing orders with it is kept, even if the host has waited for it.
    pub fn hold(&mut self, ticket: &Ticket) {
        if !self.open.contains(ticket) {
            self.open.push(ticket.clone());
        }
    }

    /// What an operation that is [held](Timeline::hold) did to memory until now, or since the last call.
    pub fn part(&mut self, ticket: &Ticket, footprint: Footprint, what: T) {
        self.remember(ticket, footprint, what, true);
    }

    /// Whether a host that has waited for an agent, or for everything, has waited for this operation.
    pub fn awaits(&mut self, agent: Option<Agent>, ticket: &Ticket) -> bool {
        match agent {
            None => true,
            Some(agent) => {
                self.order.issue(agent);
                self.order.knows(agent, ticket.agent) >= ticket.number
            }
        }
    }

    /// Whether a host that has waited for an event has waited for this operation.
    pub fn event_awaits(&self, event: u64, ticket: &Ticket) -> bool {
        self.order.event_covers(event, ticket)
    }

    /// An operation that was [held](Timeline::hold) is about to end: it may have waited for any that ran beside it, and what comes after it may
    /// come after those.
    pub fn waited(&mut self, ticket: &Ticket) {
        let past = self.past.iter().map(|p| (p.agent, p.number));
        let open = self.open.iter().filter(|t| !t.is_after(ticket));
        let all: Vec<(Agent, u32)> = past.chain(open.map(|t| (t.agent, t.number))).collect();
        for (agent, number) in all {
            let new = (ticket.clone(), agent, number);
            if ticket.knows(agent) < number && !self.beside.contains(&new) {
                self.beside.push(new);
            }
        }
        let excess = self.beside.len().saturating_sub(REMEMBERED);
        self.beside.drain(..excess);
    }

    fn may_follow(&self, now: &Ticket, agent: Agent, number: u32) -> bool {
        let mut pairs = self.beside.iter();
        pairs.any(|(waited, a, n)| {
            (*a, *n) == (agent, number) && now != waited && now.is_after(waited)
        })
    }

    /// Whether an operation comes after one that may have waited for an earlier one.
    pub fn comes_after_waiting(&self, now: &Ticket, earlier: &Ticket) -> bool {
        self.may_follow(now, earlier.agent, earlier.number)
    }

    /// An operation that was [held](Timeline::hold) has ended, or never begins.
    pub fn release(&mut self, ticket: &Ticket) {
        self.open.retain(|open| open != ticket);
        for p in &mut self.past {
            p.part &= (p.agent, p.number) != (ticket.agent, ticket.number);
        }
    }

    /// All of them.
    pub fn release_all(&mut self) {
        self.open.clear();
    }

    fn remember(&mut self, ticket: &Ticket, footprint: Footprint, what: T, part: bool) {
        if ticket.agent == HOST || footprint.is_empty() {
            return;
        }
        if self.past.len() == REMEMBERED {
            self.forget();
        }
        if self.past.len() == REMEMBERED {
            self.past.drain(..REMEMBERED / 4);
            self.forgot_unfinished = true;
        }
        self.past.push(Operation {
            agent: ticket.agent,
            number: ticket.number,
            footprint,
            what,
            watched: true,
            part,
        });
    }

    /// Whether operations were forgotten that later ones should have been compared with.
    pub fn forgot_unfinished(&self) -> bool {
        self.forgot_unfinished
    }

    /// Forgets what all that is still to come is after.
    fn forget(&mut self) {
        let (order, open) = (&self.order, &self.open);
        self.past.retain(|p| {
            let beside = |t: &Ticket| t.knows(p.agent) < p.number;
            order.host_knows(p.agent) < p.number || open.iter().any(beside)
        });
    }

    /// An operation ends, with what it did to memory (since the last [part](Timeline::part)): what of those that have ended nothing orders
    /// with it and conflicts with it. The operation is the first of each conflict.
    pub fn end(&mut self, ticket: &Ticket, footprint: Footprint, what: T) -> Vec<Unordered<T>>
    where
        T: Clone,
    {
        self.forget();
        self.open.retain(|open| open != ticket);
        let own = |p: &&Operation<T>| (p.agent, p.number) == (ticket.agent, ticket.number);
        let beside = |p: &&Operation<T>| !p.part && ticket.knows(p.agent) < p.number;
        let parts: Vec<&Footprint> = self.past.iter().filter(own).map(|p| &p.footprint).collect();
        let mut found = Vec::new();
        let synchronises = footprint.may_synchronise();
        for p in self.past.iter().filter(beside) {
            let mut one = Unordered {
                what: p.what.clone(),
                synchronises,
                conflicts: Vec::new(),
                meet: false,
                after_waiting: self.may_follow(ticket, p.agent, p.number),
                may_synchronise: synchronises && p.footprint.may_synchronise(),
            };
            for part in parts.iter().copied().chain([&footprint]) {
                let (conflicts, meet) = part.conflicts(&p.footprint);
                one.conflicts.extend(conflicts);
                one.meet |= meet;
            }
            if !one.conflicts.is_empty() {
                found.push(one);
            }
        }
        for p in &mut self.past {
            p.part &= (p.agent, p.number) != (ticket.agent, ticket.number);
        }
        self.remember(ticket, footprint, what, false);
        found
    }

    /// The host itself touches memory: what is known of the operations that it has not waited for and that conflict with it. They are
    /// [watched](Timeline::unfinished) no more.
    ///
    /// An access of the device that is strong and whose scope is the system's is taken to meet one of the host that is atomic, since
    /// nothing in a machine instruction tells the two apart: that is no conflict. Where the host reads what such an access wrote, it
    /// may have waited for it, so it is taken to have waited for the operation.
    pub fn host_touches(&mut self, footprint: &Footprint) -> Touched<T>
    where
        T: Clone,
    {
        let (mut found, mut maybe, mut waited) = (Vec::new(), Vec::new(), false);
        self.forget();
        // What the host had waited for before this access.
        let host: Vec<u32> = (0..self.order.agents())
            .map(|agent| self.order.host_knows(Agent(agent)))
            .collect();
        // Of an operation that has not ended, what it did before the host heard of it; the last such part, by agent and number.
        let mut heard_of: HashMap<(Agent, u32), usize> = HashMap::new();
        for (at, p) in self.past.iter_mut().enumerate() {
            let known = host[p.agent.0] >= p.number;
            if known || p.part && !p.watched || !footprint.may_meet(&p.footprint) {
                continue;
            }
            let (mut conflicts, _) = footprint.conflicts(&p.footprint);
            // The host has waited for an operation that may have waited for this one.
            let met = self.beside.iter().any(|(waited, agent, number)| {
                (p.agent, p.number) == (*agent, *number) && host[waited.agent.0] >= waited.number
            });
            if met && !conflicts.is_empty() {
                (conflicts, p.watched) = (Vec::new(), false);
                maybe.push(p.what.clone());
            }
            let heard = |c: &Conflict| !c.first.writes() && c.second.writes();
            if conflicts
                .iter()
                .any(|c| c.second.reaches_host() && heard(c))
            {
                waited = true;
                if p.part {
                    heard_of.insert((p.agent, p.number), at);
                } else {
                    self.order.host_heard(p.agent, p.number);
                }
            }
            conflicts.retain(|c| !c.second.reaches_host());
            if !conflicts.is_empty() {
                p.watched = false;
                found.push((p.what.clone(), conflicts));
            }
        }
        for (at, p) in self.past.iter_mut().enumerate() {
            let last = heard_of.get(&(p.agent, p.number));
            p.watched &= last.is_none_or(|last| at > *last);
        }
        Touched {
            found,
            maybe,
            waited,
        }
    }

    /// What the operations did to memory that the host has not waited for.
    pub fn unfinished(&self) -> impl Iterator<Item = &Footprint> {
        let order = &self.order;
        let unfinished = |p: &&Operation<T>| p.watched && order.host_knows(p.agent) < p.number;
        self.past.iter().filter(unfinished).map(|p| &p.footprint)
    }

    /// `cudaEventRecord`: the event stands for what the stream was given so far.
    pub fn record(&mut self, event: u64, agent: Agent) {
        self.order.record(event, agent);
    }

    /// `cudaStreamWaitEvent`; an event that was never recorded is no reason to wait.
    pub fn wait(&mut self, event: u64, agent: Agent) {
        self.order.wait(event, agent);
    }

    /// The host waits for an event (`cudaEventSynchronize`, or `cudaEventQuery` that says it is done).
    pub fn await_event(&mut self, event: u64) {
        self.order.wait(event, HOST);
    }

    /// An event is destroyed.
    pub fn forget_event(&mut self, event: u64) {
        self.order.forget_event(event);
    }

    /// `cudaStreamSynchronize`: the host waits for a stream, and for what the legacy stream's rules put before its next operation.
    pub fn synchronize(&mut self, agent: Agent) {
        self.order.issue(agent);
        self.order.synchronize(agent);
    }

    /// `cudaDeviceSynchronize`: the host waits for everything.
    pub fn synchronize_all(&mut self) {
        for agent in 1..self.order.agents() {
            self.order.synchronize(Agent(agent));
        }
        self.forget();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn touches(address: u64) -> Footprint {
        Footprint::of_host(None, Some((address, 4)), 4)
    }

    /// Names of what conflicts with a write of the same word.
    fn conflicts(
        timeline: &mut Timeline<&'static str>,
        agent: Agent,
        name: &'static str,
    ) -> Vec<&'static str> {
        let found = timeline.operation(agent, touches(0), name);
        found.into_iter().map(|(name, _)| name).collect()
    }

    #[test]
    fn streams_are_unordered_until_an_event_or_the_host_orders_them() {
        let mut t = Timeline::default();
        let (a, b) = (t.stream(false), t.stream(false));
        assert!(conflicts(&mut t, a, "first").is_empty());
        assert_eq!(conflicts(&mut t, b, "second"), ["first"]);
        t.record(7, b);
        t.wait(7, a);
        assert!(conflicts(&mut t, a, "third").is_empty(), "after both");
        t.synchronize(a);
        assert!(conflicts(&mut t, b, "fourth").is_empty(), "after the host");
        assert_eq!(conflicts(&mut t, HOST, "the host"), ["fourth"]);
    }

    #[test]
    fn to_forget_what_is_unfinished_is_noted() {
        let mut t = Timeline::default();
        let a = t.stream(false);
        let fill = |t: &mut Timeline<&'static str>, count: usize| {
            for _ in 0..count {
                assert!(conflicts(t, a, "again").is_empty(), "one stream");
            }
        };
        fill(&mut t, REMEMBERED);
        t.synchronize(a);
        fill(&mut t, REMEMBERED);
        assert!(!t.forgot_unfinished(), "the host has waited for the rest");
        fill(&mut t, 1);
        assert!(t.forgot_unfinished());
    }

    #[test]
    fn what_runs_beside_is_remembered_until_it_ends() {
        let mut t = Timeline::default();
        let (a, b) = (t.stream(false), t.stream(false));
        let waits = t.begin(a);
        t.hold(&waits);
        t.part(&waits, touches(8), "waits");
        assert!(conflicts(&mut t, b, "beside").is_empty());
        assert!(conflicts(&mut t, LEGACY, "another").contains(&"beside"));
        t.synchronize(b);
        assert!(t.awaits(None, &waits) && !t.awaits(Some(b), &waits));
        let behind = t.begin(a);
        assert!(behind.is_after(&waits) && !waits.is_after(&behind));
        // The host has waited for what ran beside, and the launch has not.
        let found = t.end(&waits, touches(0), "waits");
        let found: Vec<_> = found.into_iter().map(|u| u.what).collect();
        assert_eq!(found, ["beside", "another"]);
    }

    #[test]
    fn the_host_hears_of_what_was_done_before() {
        let strong = |address| Footprint::of_host(None, Some((address, 4)), 4);
        let mut t = Timeline::default();
        let a = t.stream(false);
        let waits = t.begin(a);
        t.hold(&waits);
        t.part(&waits, strong(0), "first");
        let read = |address| Footprint::of_host(Some((address, 4)), None, 4);
        assert_eq!(t.host_touches(&read(0)).found.len(), 1, "nothing orders it");
        assert_eq!(t.unfinished().count(), 0, "it was told");
        t.part(&waits, strong(4), "second");
        assert_eq!(t.unfinished().count(), 1);
        t.synchronize(a);
        t.end(&waits, Footprint::default(), "last");
        assert_eq!(t.unfinished().count(), 0);
    }

    #[test]
    fn the_legacy_stream_orders_blocking_streams_alone() {
        let mut t = Timeline::default();
        let (blocking, other) = (t.stream(true), t.stream(false));
        assert!(conflicts(&mut t, blocking, "a").is_empty());
        assert!(conflicts(&mut t, LEGACY, "b").is_empty());
        assert!(conflicts(&mut t, blocking, "c").is_empty());
        assert_eq!(conflicts(&mut t, other, "d"), ["a", "b", "c"]);
        t.synchronize_all();
        assert!(conflicts(&mut t, other, "e").is_empty());
    }
}
