//! The `weak` schedules against the axioms: what a random program of a few operations reads under them is one of the
//! outcomes that the PTX memory consistency model allows, found here by going through all candidate executions.
//!
//! The names of relations and axioms are those of the PTX ISA, "Memory Consistency Model". Everything but one fence is of `.gpu` scope and every thread in
//! a block of its own, so all strong operations on one place are morally strong with each other. Of executions with weak ones, those are gone
//! through whose writes at a place are totally ordered and whose reads of it go forward: fewer than the model has.

mod axioms;
mod blocks;
mod program;

use axioms::allowed;
use detect::rules::Rule;
use program::{FenceKind, Op, Op::*, Outcome, PLACES, judged, seen};
use proptest::prelude::*;
use ptx::parser::parse;
use session::{Options, Session};
use simt::{Dim3, Launch, Program, ScheduleSpec};
use std::collections::BTreeSet;

/// Operations of a thread at most.
const LONGEST: usize = 4;

fn op() -> impl Strategy<Value = Op> {
    let place = 0..PLACES;
    prop_oneof![
        4 => (place.clone(), 1..4u32, any::<bool>()).prop_map(|(p, v, r)| Store(p, v, r)),
        4 => (place.clone(), any::<bool>()).prop_map(|(p, a)| Load(p, a)),
        2 => (place.clone(), 1..4u32).prop_map(|(p, v)| WeakStore(p, v)),
        2 => place.clone().prop_map(WeakLoad),
        1 => (place, 1..4u32, any::<bool>(), any::<bool>())
            .prop_map(|(p, v, a, r)| Exchange(p, v, a, r)),
        1 => Just(Fence(FenceKind::AcqRel)),
        2 => Just(Fence(FenceKind::Sc)),
        1 => Just(Fence(FenceKind::ScOfBlock)),
    ]
}

/// Two threads, or three short ones: few enough candidates to go through.
fn threads() -> impl Strategy<Value = Vec<Vec<Op>>> {
    prop_oneof![
        prop::collection::vec(prop::collection::vec(op(), 1..=LONGEST), 2),
        prop::collection::vec(prop::collection::vec(op(), 1..=2), 3..=4),
    ]
}

proptest! {
    #![proptest_config(testing::random(400))]

    #[test]
    fn what_weak_schedules_read_is_allowed(threads in threads()) {
        let allowed = allowed(&threads);
        for outcome in seen(&threads, 16) {
            prop_assert!(allowed.contains(&outcome), "{outcome:?} is none of {allowed:?}");
        }
    }
}

/// Store buffering: both threads write one place and read the other.
fn store_buffering(first: &[FenceKind], second: &[FenceKind]) -> [Vec<Op>; 2] {
    let thread = |own: usize, fences: &[FenceKind]| {
        let fences = fences.iter().map(|f| Fence(*f));
        std::iter::once(Store(own, 1, true))
            .chain(fences)
            .chain([Load(1 - own, true)])
            .collect()
    };
    [thread(0, first), thread(1, second)]
}

#[test]
fn store_buffering_shows_and_two_sc_fences_forbid_it() {
    use FenceKind::{AcqRel, Sc, ScOfBlock};
    for (first, second, shows) in [
        (&[][..], &[][..], true),
        (&[AcqRel], &[AcqRel], true),
        (&[Sc], &[AcqRel], true),
        (&[], &[Sc], true),
        (&[Sc], &[Sc], false),
        (&[Sc], &[ScOfBlock], true),
    ] {
        let threads = store_buffering(first, second);
        let both_old: Outcome = vec![0, 0, 1, 1];
        assert_eq!(
            allowed(&threads).contains(&both_old),
            shows,
            "{first:?} {second:?}"
        );
        assert_eq!(
            seen(&threads, 64).contains(&both_old),
            shows,
            "{first:?} {second:?}"
        );
    }
}

#[test]
fn a_message_overtakes_its_data_unless_released_and_acquired() {
    for (release, acquire) in [(false, false), (true, false), (false, true), (true, true)] {
        let threads = [
            vec![Store(0, 1, false), Store(1, 1, release)],
            vec![Load(1, acquire), Load(0, false)],
        ];
        let flag_without_data: Outcome = vec![1, 0, 1, 1];
        let shows = !(release && acquire);
        assert_eq!(
            allowed(&threads).contains(&flag_without_data),
            shows,
            "{release} {acquire}"
        );
        assert_eq!(
            seen(&threads, 64).contains(&flag_without_data),
            shows,
            "{release} {acquire}"
        );
    }
}

/// The commonest message: plain data, and a flag.
#[test]
fn plain_data_is_overtaken_by_its_flag_unless_released_and_acquired() {
    for (release, acquire) in [(false, false), (true, false), (false, true), (true, true)] {
        let threads = [
            vec![WeakStore(0, 1), Store(1, 1, release)],
            vec![Load(1, acquire), WeakLoad(0)],
        ];
        let flag_without_data: Outcome = vec![1, 0, 1, 1];
        let shows = !(release && acquire);
        assert_eq!(
            allowed(&threads).contains(&flag_without_data),
            shows,
            "{release} {acquire}"
        );
        assert_eq!(
            seen(&threads, 64).contains(&flag_without_data),
            shows,
            "{release} {acquire}"
        );
    }
}

/// Independent reads of independent writes: two readers see two writes in different orders.
#[test]
fn readers_disagree_unless_sc_fences_are_between_their_reads() {
    use FenceKind::Sc;
    for (fence, shows) in [(None, true), (Some(Sc), false)] {
        let reader = |first: usize| {
            let fence = fence.map(Fence).into_iter();
            std::iter::once(Load(first, true))
                .chain(fence)
                .chain([Load(1 - first, true)])
                .collect::<Vec<Op>>()
        };
        let threads = [
            vec![Store(0, 1, false)],
            vec![Store(1, 1, false)],
            reader(0),
            reader(1),
        ];
        let disagree: Outcome = vec![1, 0, 1, 0, 1, 1];
        assert_eq!(allowed(&threads).contains(&disagree), shows, "{fence:?}");
        assert_eq!(seen(&threads, 4000).contains(&disagree), shows, "{fence:?}");
    }
}

/// A thread never reads backwards at one place ("SC-per-location").
#[test]
fn reads_of_one_place_go_forward() {
    let threads = [
        vec![Store(0, 1, false), Store(0, 2, false)],
        vec![Load(0, false), Load(0, false)],
    ];
    let allowed = allowed(&threads);
    assert!(!allowed.contains(&vec![2, 1, 2, 0]));
    let seen = seen(&threads, 256);
    assert!(seen.is_subset(&allowed));
    assert!(seen.contains(&vec![1, 2, 2, 0]), "{seen:?}");
}

/// The small shapes of the literature, all operations relaxed: which of the outcomes that the model allows are shown. Shown are stale
/// reads; left out are loads that see a later store, and writes that come in another order at a place than they were performed in.
#[test]
fn what_is_shown_of_the_usual_shapes() {
    let st = |place, value| Store(place, value, false);
    let ld = |place| Load(place, false);
    let rmw = |place, value| Exchange(place, value, false, false);
    let shapes: [(&str, Vec<Vec<Op>>, Outcome, bool); 15] = [
        (
            "SB, read-modify-writes",
            vec![vec![rmw(0, 1), ld(1)], vec![rmw(1, 1), ld(0)]],
            vec![0, 0, 0, 0, 1, 1],
            true,
        ),
        (
            "MP, the flag a read-modify-write",
            vec![vec![st(0, 1), rmw(1, 1)], vec![ld(1), ld(0)]],
            vec![0, 1, 0, 1, 1],
            true,
        ),
        (
            "MP, the flag two read-modify-writes",
            vec![vec![st(0, 1), rmw(1, 1)], vec![rmw(1, 2), ld(0)]],
            vec![0, 1, 0, 1, 2],
            true,
        ),
        (
            "MP of plain data, the flag two read-modify-writes",
            vec![
                vec![WeakStore(0, 1), rmw(1, 1)],
                vec![rmw(1, 2), WeakLoad(0)],
            ],
            vec![0, 1, 0, 1, 2],
            // Without a strong load no stale value is looked for: this is a data race, which every schedule tells.
            false,
        ),
        (
            "WRC, read-modify-writes",
            vec![vec![rmw(0, 1)], vec![ld(0), rmw(1, 1)], vec![ld(1), ld(0)]],
            vec![0, 1, 0, 1, 0, 1, 1],
            true,
        ),
        (
            "SB",
            vec![vec![st(0, 1), ld(1)], vec![st(1, 1), ld(0)]],
            vec![0, 0, 1, 1],
            true,
        ),
        (
            "MP",
            vec![vec![st(0, 1), st(1, 1)], vec![ld(1), ld(0)]],
            vec![1, 0, 1, 1],
            true,
        ),
        (
            "R",
            vec![vec![st(0, 1), st(1, 1)], vec![st(1, 2), ld(0)]],
            vec![0, 1, 2],
            true,
        ),
        (
            "WRC",
            vec![vec![st(0, 1)], vec![ld(0), st(1, 1)], vec![ld(1), ld(0)]],
            vec![1, 1, 0, 1, 1],
            true,
        ),
        (
            "RWC",
            vec![vec![st(0, 1)], vec![ld(0), ld(1)], vec![st(1, 1), ld(0)]],
            vec![1, 0, 0, 1, 1],
            true,
        ),
        (
            "IRIW",
            vec![
                vec![st(0, 1)],
                vec![st(1, 1)],
                vec![ld(0), ld(1)],
                vec![ld(1), ld(0)],
            ],
            vec![1, 0, 1, 0, 1, 1],
            true,
        ),
        (
            "LB",
            vec![vec![ld(0), st(1, 1)], vec![ld(1), st(0, 1)]],
            vec![1, 1, 1, 1],
            false,
        ),
        (
            "S",
            vec![vec![st(0, 2), st(1, 1)], vec![ld(1), st(0, 1)]],
            vec![1, 2, 1],
            false,
        ),
        (
            "2+2W",
            vec![vec![st(0, 1), st(1, 2)], vec![st(1, 1), st(0, 2)]],
            vec![1, 1],
            false,
        ),
        (
            "WRW+2W",
            vec![
                vec![st(0, 2)],
                vec![ld(0), st(1, 1)],
                vec![st(1, 2), st(0, 1)],
            ],
            vec![2, 2, 2],
            false,
        ),
    ];
    for (name, threads, outcome, shown) in shapes {
        assert!(allowed(&threads).contains(&outcome), "{name}");
        assert_eq!(seen(&threads, 4000).contains(&outcome), shown, "{name}");
    }
}

/// The shape of `fence_sc_through_a_read`: one fence precedes another through a read of the initial value, and that one a third.
///
/// Where the value is read, and the last place ends as the third thread leaves it, the data is ordered in this execution: no race is told
/// of it. Others have one.
#[test]
fn fences_order_through_a_read_of_the_initial_value() {
    use FenceKind::Sc;
    let threads = [
        vec![WeakStore(0, 3), Fence(Sc), Load(1, false)],
        vec![Store(1, 1, false), Fence(Sc), Store(2, 1, false)],
        vec![Store(2, 2, false), Fence(Sc), WeakLoad(0)],
    ];
    let mut shown = 0;
    for seed in 0..400 {
        let (outcome, raced) = judged(&threads, seed);
        // What the first thread read; what the third did; the places.
        if let [0, 3, 3, 1, 2] = outcome[..] {
            shown += 1;
            assert!(!raced, "{seed}");
        }
    }
    assert!(shown > 0);
}

/// Blocks that count with atomics of block scope lose counts ("Atomicity" holds among morally strong operations); with those of
/// device scope they do not.
#[test]
fn atomics_of_a_narrow_scope_lose_counts() {
    let counts = |scope: &str| -> BTreeSet<u32> {
        let ptx = format!(
            ".version 8.3\n.target sm_90\n.address_size 64\n\
             .visible .entry count(.param .u64 memory) {{\n\
             .reg .b32 %r<3>; .reg .b64 %x;\n\
             ld.param.u64 %x, [memory]; cvta.to.global.u64 %x, %x;\n\
             atom.relaxed.{scope}.global.add.u32 %r1, [%x], 1;\n\
             atom.relaxed.{scope}.global.add.u32 %r1, [%x], 1;\n\
             ret;\n}}\n"
        );
        let module = parse(&ptx).expect("PTX");
        let program = Program::lower(&module, &ptx, "count").expect("a kernel");
        let seeds = std::iter::once(None).chain((0..64).map(Some));
        let once = |seed| {
            let mut session = Session::new(Options {
                schedule: ScheduleSpec::Weak { seed },
                ..Options::default()
            });
            let buffer = session.device().alloc(64, "memory").expect("memory");
            session.device().write(buffer, &[0; 64]).expect("inside");
            let launch = Launch {
                cluster: None,
                grid: Dim3::linear(3),
                block: Dim3::ONE,
                dynamic_shared: 0,
                params: buffer.to_le_bytes().to_vec(),
                cooperative: true,
                number: 0,
            };
            session.launch(&program, &launch).expect("a run that ends");
            let (outcome, device) = session.finish();
            let narrow = outcome
                .findings
                .iter()
                .any(|f| f.rule == Rule::InsufficientScope);
            assert_eq!(narrow, scope == "cta", "{:?}", outcome.findings);
            let bytes = device.read(buffer, 4).expect("inside");
            u32::from_le_bytes(bytes.try_into().expect("four bytes"))
        };
        seeds.map(once).collect()
    };
    assert_eq!(counts("gpu"), [6].into());
    let narrow = counts("cta");
    assert!(narrow.iter().all(|n| (2..=6).contains(n)), "{narrow:?}");
    assert!(narrow.iter().any(|n| *n < 6), "{narrow:?}");
}
