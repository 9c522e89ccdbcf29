//! Random programs: what a few warps of a few blocks do.

use crate::scene::*;
use proptest::prelude::*;
use simt::ids::*;
use simt::observer::*;

pub const BLOCKS: u32 = 3;
pub const WARPS: u32 = 3;
pub const THREADS: u32 = 72;

/// One step of a random program, before it is made to fit who is still there.
#[derive(Clone, Debug)]
pub enum Step {
    Go(u32, u32, Mask, Does),
    /// A run of loads, by all lanes of a warp or not at all: [`Scene::run`].
    Run(u32, u32, [[(u64, Layout); 2]; 2], Vec<(u8, u32)>),
    /// Loads from shared memory that are told of together, by all lanes of a warp or not at all: [`Scene::reads`].
    Reads(u32, u32, Vec<[(u64, Layout); 2]>),
    Fence(u32, u32, Mask, FenceOrder, Scope),
    WarpSync(u32, u32, Mask),
    Barrier(u32),
    /// Barrier 1 of some lanes, those who arrived before included.
    Part(u32, [Mask; WARPS as usize]),
    Arrive(u32, u32, Mask),
    Exit(u32, u32, Mask),
    /// A whole warp closes a group of products.
    Products(u32, u32),
    /// A whole warp waits for all its groups but so many; what they read.
    Await(u32, u32, u32, Does),
}

/// What a program may contain.
#[derive(Clone, Copy, Debug)]
pub struct Kinds {
    pub fine: bool,
    pub strong: bool,
}

fn mask() -> impl Strategy<Value = Mask> {
    prop_oneof![
        4 => (0..4u32).prop_map(|l| 1 << l),
        2 => 1..16u32,
        1 => Just(ALL),
        1 => Just(0xffff),
    ]
}

fn scope() -> impl Strategy<Value = Scope> {
    prop_oneof![
        Just(Scope::Cta),
        Just(Scope::Gpu),
        Just(Scope::Gpu),
        Just(Scope::Sys)
    ]
}

fn order(kinds: Kinds, write: bool, atomic: bool) -> BoxedStrategy<Order> {
    let mut all = vec![Order::Relaxed];
    if !atomic {
        all.extend([Order::Weak, Order::Weak, Order::Volatile]);
    }
    if kinds.fine {
        if atomic {
            all.extend([Order::Acquire, Order::Release, Order::AcqRel]);
        } else if write {
            all.push(Order::Release);
        } else {
            all.push(Order::Acquire);
        }
    }
    if !kinds.strong {
        all = vec![Order::Weak];
    }
    prop::sample::select(all).boxed()
}

fn access(kinds: Kinds) -> impl Strategy<Value = Does> {
    let kind = if kinds.strong {
        prop::sample::select(vec![
            AccessKind::Read,
            AccessKind::Read,
            AccessKind::Write,
            AccessKind::Atomic,
            AccessKind::Reduction,
        ])
    } else {
        prop::sample::select(vec![AccessKind::Read, AccessKind::Write])
    };
    kind.prop_flat_map(move |kind| {
        let atomic = matches!(kind, AccessKind::Atomic | AccessKind::Reduction);
        let red = kind == AccessKind::Reduction;
        let sizes = if atomic {
            prop::sample::select(vec![4u32, 4, 4, 8])
        } else {
            prop::sample::select(vec![1u32, 2, 4, 4, 4, 4, 8, 16])
        };
        let vector = if atomic {
            Just(1u32).boxed()
        } else {
            prop::sample::select(vec![1u32, 1, 1, 2, 4]).boxed()
        };
        (
            any::<bool>(),
            order(kinds, kind == AccessKind::Write, atomic),
            scope(),
            sizes,
            vector,
            0..6u64,
            prop::sample::select(vec![0u64, 1, 1, 2]),
            prop_oneof![Just(ALL), any::<u32>()],
            prop::bool::weighted(0.3),
        )
            .prop_map(
                move |(global, mut order, scope, element, elements, at, stride, wrote, nc)| {
                    if red && order == Order::Acquire {
                        order = Order::Release;
                    }
                    let elements = if element == 16 { 1 } else { elements };
                    let width = u64::from(element * elements);
                    Does {
                        space: if global { Space::Global } else { Space::Shared },
                        kind,
                        order,
                        scope: if order == Order::Volatile {
                            Scope::Sys
                        } else {
                            scope
                        },
                        element,
                        elements,
                        base: at * width.min(8) / width * width,
                        stride: stride * width,
                        wrote: if red { ALL } else { wrote },
                        halves: None,
                        non_coherent: nc
                            && global
                            && kind == AccessKind::Read
                            && order == Order::Weak,
                    }
                },
            )
    })
}

fn step(kinds: Kinds) -> impl Strategy<Value = Step> {
    let who = (0..BLOCKS, 0..WARPS);
    let fence = prop::sample::select(vec![
        FenceOrder::Acquire,
        FenceOrder::Release,
        FenceOrder::AcqRel,
        FenceOrder::Sc,
        FenceOrder::Sc,
    ]);
    let fine = if kinds.fine { 1 } else { 0 };
    prop_oneof![
        12 => (who.clone(), mask(), access(kinds)).prop_map(|((b, w), m, a)| Step::Go(b, w, m, a)),
        3 * fine => (who.clone(), mask(), fence, scope())
            .prop_map(|((b, w), m, f, s)| Step::Fence(b, w, m, f, s)),
        2 => (who.clone(), prop_oneof![Just(ALL), mask()])
            .prop_map(|((b, w), m)| Step::WarpSync(b, w, m)),
        2 => (0..BLOCKS).prop_map(Step::Barrier),
        fine => (0..BLOCKS, prop_oneof![Just(ALL), mask()], prop_oneof![Just(ALL), Just(0), mask()])
            .prop_map(|(b, m, n)| Step::Part(b, [m, n, 0])),
        fine => (who.clone(), mask()).prop_map(|((b, w), m)| Step::Arrive(b, w, m)),
        2 * fine => who.clone().prop_map(|(b, w)| Step::Products(b, w)),
        2 * fine => (who.clone(), 0..2u32, 0..4u64)
            .prop_map(|((b, w), newest, at)| Step::Await(b, w, newest, read(8 * at))),
        1 => (who, mask()).prop_map(|((b, w), m)| Step::Exit(b, w, m)),
    ]
}

/// Single lanes that pass data on through two flags, in every way and many wrong ones.
pub fn message_step() -> impl Strategy<Value = Step> {
    let who = || (0..BLOCKS, 0..WARPS, 0..2u32);
    let all = Kinds {
        fine: true,
        strong: true,
    };
    let flag = prop::sample::select(vec![
        AccessKind::Read,
        AccessKind::Write,
        AccessKind::Atomic,
        AccessKind::Reduction,
    ])
    .prop_flat_map(move |kind| {
        let atomic = matches!(kind, AccessKind::Atomic | AccessKind::Reduction);
        let order = order(all, kind == AccessKind::Write, atomic).prop_map(|o| match o {
            Order::Weak => Order::Relaxed,
            o => o,
        });
        let size = prop_oneof![12 => Just(4u32), 1 => Just(8)];
        (order, scope(), size, 0..2u64, any::<u32>()).prop_map(
            move |(order, scope, element, flag, wrote)| Does {
                space: Space::Global,
                kind,
                order: match (kind, order) {
                    (AccessKind::Reduction, Order::Acquire) => Order::Release,
                    (_, order) => order,
                },
                scope,
                element,
                elements: 1,
                base: 256 * flag,
                stride: 0,
                wrote: if wrote % 4 == 0 { 0 } else { ALL },
                non_coherent: false,
                halves: None,
            },
        )
    });
    let fence = prop::sample::select(vec![
        FenceOrder::Acquire,
        FenceOrder::Release,
        FenceOrder::AcqRel,
        FenceOrder::Sc,
    ]);
    prop_oneof![
        6 => (who(), flag).prop_map(|((b, w, l), does)| Step::Go(b, w, 1 << l, does)),
        4 => (who(), any::<bool>(), 0..8u64).prop_map(|((b, w, l), writes, at)| {
            let does = if writes { write(64 + at * 8) } else { read(64 + at * 8) };
            Step::Go(b, w, 1 << l, does.global())
        }),
        4 => (who(), fence, scope()).prop_map(|((b, w, l), f, s)| Step::Fence(b, w, 1 << l, f, s)),
        1 => (0..BLOCKS, 0..WARPS).prop_map(|(b, w)| Step::WarpSync(b, w, 3)),
        1 => (0..BLOCKS).prop_map(Step::Barrier),
    ]
}

/// Whole warps, mostly, that read and write a few lines row by row.
pub fn row_step() -> impl Strategy<Value = Step> {
    let half = || {
        let layout = prop_oneof![3 => Just(Layout::Adjacent), 1 => Just(Layout::Same)];
        (prop::sample::select(vec![0u64, 0, 4, 60, 64, 128]), layout)
    };
    let halves = (half(), half(), prop::bool::weighted(0.4)).prop_map(|(low, high, follows)| {
        if follows {
            [low, (low.0 + 64, low.1)]
        } else {
            [low, high]
        }
    });
    let bases = (halves.clone(), halves.clone()).prop_map(|(a, b)| [a, b]);
    let reads = prop::collection::vec(halves.clone(), 2..4);
    let loads = prop::collection::vec((0..2u8, (0..40u32).prop_map(|k| 4 * k)), 2..6);
    let run = (bases, loads);
    let access =
        (any::<bool>(), prop::bool::weighted(0.2), halves).prop_map(|(writes, global, halves)| {
            let does = if writes { write(0) } else { read(0) }.halves(halves);
            if global { does.global() } else { does }
        });
    let who = || (0..BLOCKS, 0..WARPS - 1);
    prop_oneof![
        12 => (who(), prop_oneof![6 => Just(ALL), 1 => mask()], access)
            .prop_map(|((b, w), m, a)| Step::Go(b, w, m, a)),
        4 => (who(), run).prop_map(|((b, w), (bases, loads))| Step::Run(b, w, bases, loads)),
        3 => (who(), reads).prop_map(|((b, w), reads)| Step::Reads(b, w, reads)),
        2 => (who(), prop_oneof![3 => Just(ALL), 1 => mask()])
            .prop_map(|((b, w), m)| Step::WarpSync(b, w, m)),
        3 => (0..BLOCKS).prop_map(Step::Barrier),
        1 => (who(), mask()).prop_map(|((b, w), m)| Step::Exit(b, w, m)),
    ]
}

/// Whole warps of several blocks that read global memory, mostly what others read too, and seldom write it.
pub fn common_read_step() -> impl Strategy<Value = Step> {
    let half = || {
        let layout = prop_oneof![5 => Just(Layout::Adjacent), 1 => Just(Layout::Same)];
        (prop::sample::select(vec![0u64, 0, 32, 64, 128]), layout)
    };
    let access = (prop::bool::weighted(0.06), half(), half()).prop_map(|(writes, low, high)| {
        let does = if writes { write(0) } else { read(0) };
        does.halves([low, high]).global()
    });
    prop_oneof![
        12 => ((0..BLOCKS, 0..WARPS - 1), access).prop_map(|((b, w), a)| Step::Go(b, w, ALL, a)),
        1 => (0..BLOCKS).prop_map(Step::Barrier),
    ]
}

/// What an instruction does to a location: mostly it adds.
pub fn effect() -> impl Strategy<Value = Effect> {
    let update = prop_oneof![
        8 => Just(Update::Add),
        1 => Just(Update::Or),
        1 => Just(Update::Ordered),
    ];
    (update, 0..8u32).prop_map(|(update, rare)| Effect {
        update,
        used: rare == 0,
    })
}

/// Warps that update a few words of shared memory by atomics, mostly, and read and write them between some barriers.
pub fn atomic_step() -> impl Strategy<Value = Step> {
    let kind = prop::sample::select(vec![AccessKind::Atomic, AccessKind::Reduction]);
    let update = (kind, scope(), 0..12u32, 0..4u64, 0..3u64, any::<u32>()).prop_map(
        |(kind, scope, rare, at, stride, wrote)| Does {
            kind,
            order: Order::Relaxed,
            scope,
            element: if rare == 0 { 8 } else { 4 },
            base: 64 * at,
            stride: 4 * stride * if rare == 0 { 2 } else { 1 },
            wrote: if rare == 1 && kind == AccessKind::Atomic {
                wrote
            } else {
                ALL
            },
            ..write(0)
        },
    );
    let plain =
        (any::<bool>(), 0..8u32, 0..4u64, 0..2u64).prop_map(|(writes, rare, at, stride)| {
            let does = if writes {
                write(64 * at)
            } else {
                read(64 * at)
            };
            match rare {
                0 => Does {
                    order: Order::Relaxed,
                    stride: 4 * stride,
                    ..does
                },
                1..=3 => does.halves([
                    (64 * at, Layout::Adjacent),
                    (64 * at + 64, Layout::Adjacent),
                ]),
                _ => Does {
                    stride: 4 * stride,
                    ..does
                },
            }
        });
    let who = || (0..BLOCKS, 0..WARPS);
    prop_oneof![
        12 => (who(), prop_oneof![2 => Just(ALL), 1 => mask()], update)
            .prop_map(|((b, w), m, a)| Step::Go(b, w, m, a)),
        3 => (who(), prop_oneof![2 => Just(ALL), 1 => mask()], plain)
            .prop_map(|((b, w), m, a)| Step::Go(b, w, m, a)),
        2 => (who(), prop_oneof![Just(ALL), mask()]).prop_map(|((b, w), m)| Step::WarpSync(b, w, m)),
        4 => (0..BLOCKS).prop_map(Step::Barrier),
        1 => (who(), mask()).prop_map(|((b, w), m)| Step::Exit(b, w, m)),
    ]
}

/// Whole warps that exchange rows of shared memory as if they ran in lockstep, and now and then something else that depends on it.
pub fn lockstep_step() -> impl Strategy<Value = Step> {
    let row = |at: u64, step: u64| [(at, Layout::Adjacent), (at + step, Layout::Adjacent)];
    let access =
        (0..8u32, any::<bool>(), 0..5u64, 0..8u32).prop_map(move |(kind, writes, at, rare)| {
            let does = if writes { write(0) } else { read(0) };
            let at = 4 * [0, 1, 1, 32, 64][at as usize];
            let does = does.halves(row(at, if rare == 0 { 128 } else { 64 }));
            match (kind, rare) {
                (0..2, _) => does,
                (2, 0) => Does {
                    halves: None,
                    ..atom(at)
                },
                (2, 1) => does.halves([(at, Layout::Same), (at, Layout::Same)]),
                (2, 2) => does.order(Order::Relaxed, Scope::Gpu),
                _ => does.volatile(),
            }
        });
    let who = || (0..2u32, prop_oneof![4 => Just(0), 1 => Just(1u32)]);
    prop_oneof![
        12 => (who(), prop_oneof![8 => Just(ALL), 1 => mask()], access)
            .prop_map(|((b, w), m, a)| Step::Go(b, w, m, a)),
        1 => (who(), prop_oneof![3 => Just(ALL), 1 => mask()])
            .prop_map(|((b, w), m)| Step::WarpSync(b, w, m)),
        3 => (0..2u32).prop_map(Step::Barrier),
        1 => (who(), prop_oneof![Just(0u64), Just(4)]).prop_map(|((b, w), at)| {
            Step::Reads(b, w, vec![[(at, Layout::Adjacent), (at + 64, Layout::Adjacent)]])
        }),
    ]
}

/// A step, and what becomes of what it reads.
type Effective = (Step, Effect);

/// Rounds between barriers: updates of a few words of shared memory, more than the log of those that are set aside has room for, then
/// accesses that may depend on them: `weak` for each atomic, in proportion. One warp does most of it, and few of its lanes, so that they
/// meet themselves and each other.
pub fn rounds_of_updates(weak: f64) -> impl Strategy<Value = Vec<Effective>> {
    let who = || prop_oneof![9 => Just((0, 0)), 1 => (0..BLOCKS, 0..WARPS)];
    let few = || prop::sample::select(vec![1, 1, 2, 2, 3, ALL]);
    let word = || (0..3u64, 0..2u64);
    let effect = |update, used| Effect { update, used };
    let added = move || {
        let scope = prop_oneof![12 => Just(Scope::Cta), 1 => Just(Scope::Gpu)];
        let update = prop_oneof![12 => Just(Update::Add), 1 => Just(Update::Or)];
        (who(), few(), word(), scope, update).prop_map(
            move |((b, w), lanes, (at, stride), scope, update)| {
                let does = Does {
                    kind: AccessKind::Reduction,
                    order: Order::Relaxed,
                    scope,
                    stride: 4 * stride,
                    ..write(4 * at)
                };
                (Step::Go(b, w, lanes, does), effect(update, false))
            },
        )
    };
    let synchronised = move || {
        who().prop_map(move |(b, w)| (Step::WarpSync(b, w, ALL), effect(Update::Ordered, false)))
    };
    let depends = move || {
        let weak = prop::bool::weighted(weak / (weak + 1.0));
        let how = (weak, any::<bool>());
        (who(), few(), word(), how).prop_map(move |((b, w), lanes, (at, stride), how)| {
            let does = match how {
                (true, false) => read(4 * at),
                (true, true) => write(4 * at),
                (false, _) => Does {
                    kind: AccessKind::Atomic,
                    order: Order::Relaxed,
                    ..write(4 * at)
                },
            };
            let does = Does {
                stride: 4 * stride,
                ..does
            };
            (Step::Go(b, w, lanes, does), effect(Update::Add, true))
        })
    };
    let first = prop_oneof![6 => added(), 1 => synchronised()];
    let then = prop_oneof![3 => depends(), 1 => added(), 1 => synchronised()];
    let round = (
        prop::collection::vec(first, 4..16),
        prop::collection::vec(then, 0..4),
    );
    prop::collection::vec(round, 1..4).prop_map(move |rounds| {
        let of_block = |b| (Step::Barrier(b), effect(Update::Ordered, false));
        let steps = rounds.into_iter().flat_map(|(first, then)| {
            let barriers = (0..BLOCKS).map(of_block);
            first.into_iter().chain(then).chain(barriers)
        });
        steps.collect()
    })
}

pub fn program() -> impl Strategy<Value = (Kinds, Vec<Step>)> {
    let kinds = (any::<bool>(), any::<bool>()).prop_map(|(fine, strong)| Kinds {
        fine,
        strong: strong || fine,
    });
    kinds.prop_flat_map(|k| (Just(k), prop::collection::vec(step(k), 1..40)))
}
