//! Random programs: what a few threads do, and where they are.

use Op::*;
use proptest::prelude::*;
use simt::observer::*;

/// Where a thread is: block, warp, lane.
pub(super) type Place = (u32, u32, u32);

/// Places of up to four threads. The lanes of a warp are adjacent.
pub(super) const PLACES: [[Place; 4]; 5] = [
    [(0, 0, 0), (1, 0, 0), (0, 1, 0), (1, 1, 0)],
    [(0, 0, 0), (0, 1, 0), (1, 0, 0), (1, 1, 0)],
    [(0, 0, 0), (0, 0, 1), (1, 0, 0), (1, 0, 1)],
    [(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 0, 1)],
    [(0, 0, 0), (0, 0, 1), (0, 1, 0), (0, 1, 1)],
];

/// Locations: the first two are accessed weakly, the others as flags.
pub(super) const DATA: usize = 2;
pub(super) const LOCATIONS: usize = 4;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Op {
    /// Kind, location, ordering, scope; whether it reads until there is a value.
    Access(AccessKind, usize, Order, Scope, bool),
    Fence(FenceOrder, Scope),
    /// `bar.sync` of the block.
    Block,
    /// `bar.warp.sync` of the warp's threads.
    Warp,
}

#[derive(Clone, Debug)]
pub(super) struct Program {
    pub(super) places: Vec<Place>,
    pub(super) threads: Vec<Vec<Op>>,
}

fn scope() -> impl Strategy<Value = Scope> {
    prop_oneof![3 => Just(Scope::Gpu), 1 => Just(Scope::Cta), 1 => Just(Scope::Sys)]
}

fn op() -> impl Strategy<Value = Op> {
    use AccessKind::*;
    let data = (prop::sample::select(vec![Read, Write]), 0..DATA);
    let flag = || (DATA..LOCATIONS, scope());
    prop_oneof![
        5 => data.prop_map(|(kind, l)| Access(kind, l, Order::Weak, Scope::Sys, false)),
        1 => (prop::sample::select(vec![Read, Write]), DATA..LOCATIONS)
            .prop_map(|(kind, l)| Access(kind, l, Order::Weak, Scope::Sys, false)),
        2 => (flag(), prop::sample::select(vec![Order::Relaxed, Order::Release]))
            .prop_map(|((l, s), o)| Access(Write, l, o, s, false)),
        3 => (flag(), prop::sample::select(vec![Order::Relaxed, Order::Acquire]), any::<bool>())
            .prop_map(|((l, s), o, spin)| Access(Read, l, o, s, spin)),
        2 => (
            flag(),
            prop::sample::select(vec![Order::Relaxed, Order::Acquire, Order::Release, Order::AcqRel]),
        )
            .prop_map(|((l, s), o)| Access(Atomic, l, o, s, false)),
        2 => (flag(), prop::sample::select(vec![Order::Relaxed, Order::Release]))
            .prop_map(|((l, s), o)| Access(Reduction, l, o, s, false)),
        3 => scope().prop_map(|s| Fence(FenceOrder::Sc, s)),
        1 => scope().prop_map(|s| Fence(FenceOrder::AcqRel, s)),
        2 => Just(Block),
        1 => Just(Warp),
    ]
}

/// Programs: each thread's operations, with as many barriers as its block's (or warp's) other threads have.
pub(super) fn program() -> impl Strategy<Value = Program> {
    let threads = prop_oneof![
        prop::collection::vec(prop::collection::vec(op(), 1..=6), 2),
        prop::collection::vec(prop::collection::vec(op(), 1..=4), 3),
        prop::collection::vec(prop::collection::vec(op(), 1..=4), 4),
    ];
    (0..PLACES.len(), threads).prop_map(|(p, mut threads)| {
        let places = PLACES[p][..threads.len()].to_vec();
        for meeting in [Block, Warp] {
            let group = |t: usize| match meeting {
                Block => (places[t].0, 0),
                _ => (places[t].0, places[t].1),
            };
            for t in 0..threads.len() {
                let count = |ops: &[Op]| ops.iter().filter(|o| **o == meeting).count();
                let most = (0..threads.len())
                    .filter(|u| group(*u) == group(t))
                    .map(|u| count(&threads[u]))
                    .max()
                    .unwrap_or(0);
                while count(&threads[t]) < most {
                    threads[t].push(meeting);
                }
            }
        }
        Program { places, threads }
    })
}
