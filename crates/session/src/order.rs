//! The order of a host program's operations that are known beforehand: streams, events, and waits of the host.
//!
//! Launches, copies and memory accesses of the host are *operations*. [`HostOrder`] says what is before what. A copy of page-locked memory
//! returns before it has completed. A host that waits for a stream waits for the work issued there and for what that work waited for, but not
//! for later work on the default stream or on blocking streams, because the manual does not guarantee more.
//!
//! [`Order::sequence`] returns one sequence that a machine could execute, chosen by a schedule: any linear extension of the order is valid.

pub use super::host_order::StreamKind;
use super::host_order::{Agent, HOST, HostOrder, Stamp};
use rand::{RngExt as _, SeedableRng as _};
use rand_pcg::Pcg64Mcg;
use simt::ScheduleSpec;

/// Something that a host program issues. Streams and events are numbers; an event that was never recorded is no
/// reason to wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// A launch or a copy on a stream.
    Operation {
        /// The stream.
        stream: usize,
    },
    /// The host does something to memory, at once.
    Host,
    /// `cudaEventRecord`
    Record {
        /// The event.
        event: usize,
        /// The stream whose work so far it stands for.
        stream: usize,
    },
    /// `cudaStreamWaitEvent`
    Wait {
        /// The event.
        event: usize,
        /// The stream that waits.
        stream: usize,
    },
    /// `cudaStreamSynchronize`: the host waits.
    Synchronize {
        /// The stream.
        stream: usize,
    },
}

/// The happens-before order of a host program's operations.
#[derive(Clone, Debug)]
pub struct Order {
    /// By the command's index; `None` for those that are no operations.
    stamps: Vec<Option<Stamp>>,
    agents: usize,
}

impl Order {
    /// Of commands in the order in which the host issues them. Streams are of these kinds, by their number; those beyond the list are
    /// non-blocking.
    pub fn new(commands: &[Command], kinds: &[StreamKind]) -> Order {
        let streams = commands.iter().filter_map(|c| match c {
            Command::Host => None,
            Command::Operation { stream }
            | Command::Record { stream, .. }
            | Command::Wait { stream, .. }
            | Command::Synchronize { stream } => Some(*stream),
        });
        let count = streams.max().map_or(0, |s| s + 1);
        let mut order = HostOrder::default();
        for stream in 0..count {
            order.stream(kinds.get(stream).copied().unwrap_or_default());
        }
        let agent = |stream: usize| Agent(stream + 1);
        let mut stamps = Vec::new();
        for command in commands {
            stamps.push(match *command {
                Command::Host => Some(order.operation(HOST)),
                Command::Operation { stream } => Some(order.operation(agent(stream))),
                Command::Record { event, stream } => {
                    order.record(event as u64, agent(stream));
                    None
                }
                Command::Wait { event, stream } => {
                    order.wait(event as u64, agent(stream));
                    None
                }
                Command::Synchronize { stream } => {
                    order.synchronize(agent(stream));
                    None
                }
            });
        }
        Order {
            stamps,
            agents: order.agents(),
        }
    }

    /// Whether operation `a` happens before operation `b`.
    pub fn is_before(&self, a: usize, b: usize) -> bool {
        match (&self.stamps[a], &self.stamps[b]) {
            (Some(first), Some(second)) => a != b && second.is_after(first),
            _ => false,
        }
    }

    /// Whether two different operations are not ordered at all.
    pub fn is_concurrent(&self, a: usize, b: usize) -> bool {
        a != b && !self.is_before(a, b) && !self.is_before(b, a)
    }

    /// Whether any two operations are not ordered.
    pub fn has_concurrency(&self) -> bool {
        let mut issued = vec![0u32; self.agents];
        self.stamps.iter().flatten().any(|stamp| {
            let mut others = (0..self.agents).filter(|a| *a != stamp.agent.0);
            let unordered = others.any(|a| issued[a] > stamp.knows(Agent(a)));
            issued[stamp.agent.0] = stamp.number;
            unordered
        })
    }

    /// A sequence of all operations that keeps the order. `lockstep`: as issued. `lane-by-lane`: the host runs
    /// ahead, and what was issued last is done first wherever it may. Those that are random: any.
    pub fn sequence(&self, schedule: &ScheduleSpec) -> Vec<usize> {
        let mut queues = vec![Vec::new(); self.agents];
        for (index, stamp) in self.stamps.iter().enumerate() {
            if let Some(stamp) = stamp {
                queues[stamp.agent.0].push((index, stamp));
            }
        }
        let mut rng = match schedule {
            ScheduleSpec::Random { seed } | ScheduleSpec::Pct { seed, .. } => {
                Some(Pcg64Mcg::seed_from_u64(*seed))
            }
            _ => None,
        };
        let mut done = vec![0usize; self.agents];
        let mut sequence = Vec::new();
        loop {
            let mut ready: Vec<_> = (0..self.agents)
                .filter_map(|agent| {
                    let (index, stamp) = queues[agent].get(done[agent])?;
                    let others = (0..self.agents).filter(|a| *a != agent);
                    let free = others
                        .into_iter()
                        .all(|a| done[a] >= stamp.knows(Agent(a)) as usize);
                    free.then_some((*index, agent))
                })
                .collect();
            ready.sort_unstable();
            let chosen = match (&mut rng, schedule) {
                (_, _) if ready.is_empty() => return sequence,
                (Some(rng), _) => ready[rng.random_range(0..ready.len())],
                (None, ScheduleSpec::LaneByLane) => ready[ready.len() - 1],
                (None, _) => ready[0],
            };
            done[chosen.1] += 1;
            sequence.push(chosen.0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Command::*;
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    const A: Command = Operation { stream: 0 };
    const B: Command = Operation { stream: 1 };
    const RECORD: Command = Record {
        event: 0,
        stream: 0,
    };
    const WAIT: Command = Wait {
        event: 0,
        stream: 1,
    };

    fn sequence(commands: &[Command], schedule: ScheduleSpec) -> Vec<usize> {
        Order::new(commands, &[]).sequence(&schedule)
    }

    #[test]
    fn a_stream_is_a_queue() {
        let order = Order::new(&[A, A], &[]);
        assert!(order.is_before(0, 1) && !order.is_before(1, 0) && !order.has_concurrency());
    }

    #[test]
    fn streams_are_unordered() {
        let order = Order::new(&[A, B], &[]);
        assert!(order.is_concurrent(0, 1) && order.has_concurrency());
        assert_eq!(sequence(&[A, B], ScheduleSpec::Lockstep), [0, 1]);
        assert_eq!(sequence(&[A, B], ScheduleSpec::LaneByLane), [1, 0]);
    }

    #[test]
    fn an_event_orders_what_came_before_it() {
        let order = Order::new(&[A, RECORD, A, WAIT, B], &[]);
        assert!(order.is_before(0, 4));
        assert!(order.is_concurrent(2, 4));
        // Recorded too late, or never.
        assert!(Order::new(&[A, WAIT, RECORD, B], &[]).is_concurrent(0, 3));
        assert!(Order::new(&[A, WAIT, B], &[]).is_concurrent(0, 2));
    }

    #[test]
    fn the_host_runs_ahead_until_it_waits() {
        let order = Order::new(&[A, Host, Synchronize { stream: 0 }, Host, B], &[]);
        assert!(order.is_concurrent(0, 1));
        assert!(order.is_before(0, 3) && order.is_before(1, 3));
        assert!(order.is_before(0, 4) && order.is_before(3, 4));
        assert_eq!(
            sequence(&[A, Host], ScheduleSpec::LaneByLane),
            [1, 0],
            "the copy is still under way when the host goes on"
        );
    }

    #[test]
    fn order_goes_through_several_hands() {
        let commands = [
            A,
            RECORD,
            WAIT,
            B,
            Synchronize { stream: 1 },
            Operation { stream: 2 },
        ];
        assert!(Order::new(&commands, &[]).is_before(0, 5));
        assert!(!Order::new(&commands, &[]).has_concurrency());
    }

    fn command() -> impl Strategy<Value = Command> {
        (0..5, 0..3usize, 0..2usize).prop_map(|(kind, stream, event)| match kind {
            0 => Host,
            1 => Record { event, stream },
            2 => Wait { event, stream },
            3 => Synchronize { stream },
            _ => Operation { stream },
        })
    }

    #[test]
    fn the_default_stream_waits_for_blocking_streams_and_they_for_it() {
        use StreamKind::*;
        const C: Command = Operation { stream: 2 };
        let kinds = [Blocking, Blocking, Legacy];
        // `k_1` on a stream, `k_2` on the default stream, `k_3` on a stream: the manual's example.
        let order = Order::new(&[A, C, B], &kinds);
        assert!(order.is_before(0, 1) && order.is_before(1, 2) && order.is_before(0, 2));
        assert!(Order::new(&[A, B], &kinds).is_concurrent(0, 1));
        // Non-blocking streams have no part in it.
        let order = Order::new(&[A, C, B], &[NonBlocking, Blocking, Legacy]);
        assert!(order.is_concurrent(0, 1) && order.is_before(1, 2) && order.is_concurrent(0, 2));
        // An event that is recorded on the default stream, or that it waits for, counts as one of its actions.
        let record = Record {
            event: 0,
            stream: 2,
        };
        assert!(Order::new(&[A, record, B], &kinds).is_before(0, 2));
        // What a host has waited for.
        let wait = Synchronize { stream: 2 };
        assert!(Order::new(&[A, C, wait, Host], &kinds).is_before(0, 3));
        assert!(Order::new(&[C, A, wait, Host], &kinds).is_concurrent(1, 3));
    }

    fn kinds() -> impl Strategy<Value = Vec<StreamKind>> {
        use StreamKind::*;
        let one = prop_oneof![Just(NonBlocking), Just(Blocking), Just(Legacy)];
        prop::collection::vec(one, 0..=3).prop_map(|mut kinds| {
            let mut legacy = kinds.iter_mut().filter(|k| **k == Legacy);
            legacy.next();
            legacy.for_each(|more| *more = Blocking);
            kinds
        })
    }

    /// The order as the reachability of the edges that the guide names.
    fn reachable(commands: &[Command], kinds: &[StreamKind]) -> Vec<Vec<bool>> {
        let kind = |stream: usize| kinds.get(stream).copied().unwrap_or_default();
        let n = commands.len();
        let mut before = vec![vec![false; n]; n];
        let mut recorded: BTreeMap<usize, usize> = BTreeMap::new();
        for (i, command) in commands.iter().enumerate() {
            let agent = |c: &Command| match c {
                Host | Synchronize { .. } => None,
                Operation { stream } | Record { stream, .. } | Wait { stream, .. } => Some(*stream),
            };
            let mut after = |j: usize| {
                before[j][i] = true;
                for row in &mut before {
                    if row[j] {
                        row[i] = true;
                    }
                }
            };
            for (j, earlier) in commands[..i].iter().enumerate() {
                // The host's own commands, and what is issued to the same stream.
                if agent(earlier).is_none() || agent(earlier) == agent(command) {
                    after(j);
                }
                if let Synchronize { stream } = command
                    && agent(earlier) == Some(*stream)
                {
                    after(j);
                }
                if let (Some(first), Some(second)) = (agent(earlier), agent(command))
                    && matches!(
                        (kind(first), kind(second)),
                        (StreamKind::Blocking, StreamKind::Legacy)
                            | (StreamKind::Legacy, StreamKind::Blocking)
                    )
                {
                    after(j);
                }
            }
            match command {
                Record { event, .. } => drop(recorded.insert(*event, i)),
                Wait { event, .. } => recorded.get(event).into_iter().for_each(|j| after(*j)),
                _ => {}
            }
        }
        before
    }

    proptest! {
        #![proptest_config(testing::random(256))]

        #[test]
        fn clocks_say_what_the_graph_says(
            commands in prop::collection::vec(command(), 0..12),
            kinds in kinds(),
        ) {
            let (order, graph) = (Order::new(&commands, &kinds), reachable(&commands, &kinds));
            let operation = |i: usize| matches!(commands[i], Host | Operation { .. });
            let mut concurrent = false;
            for a in (0..commands.len()).filter(|i| operation(*i)) {
                for b in (0..commands.len()).filter(|i| operation(*i)) {
                    prop_assert_eq!(order.is_before(a, b), graph[a][b], "{} {}", a, b);
                    concurrent |= order.is_concurrent(a, b);
                }
            }
            prop_assert_eq!(order.has_concurrency(), concurrent);
        }

        #[test]
        fn sequences_keep_the_order(
            commands in prop::collection::vec(command(), 0..12),
            kinds in kinds(),
            seed: u64,
        ) {
            let order = Order::new(&commands, &kinds);
            let operations = commands.iter().filter(|c| matches!(c, Host | Operation { .. })).count();
            for schedule in [
                ScheduleSpec::Lockstep,
                ScheduleSpec::LaneByLane,
                ScheduleSpec::Random { seed },
            ] {
                let sequence = order.sequence(&schedule);
                prop_assert_eq!(sequence.len(), operations);
                for (at, b) in sequence.iter().enumerate() {
                    for a in &sequence[at + 1..] {
                        prop_assert!(!order.is_before(*a, *b));
                    }
                }
            }
        }
    }
}
