//! The race detector against the plain reference, over random programs.
//!
//! Each of these shortcuts was broken on purpose, once:
//!
//! | shortcut | mistake | noticed by |
//! |---|---|---|
//! | `racing_rows` | any rows count as known; those of reads set aside before; any order as observed; any read as replaced | `rows_whose_races_are_known_are_told_when_it_matters` |
//! | | lines that others have touched not looked at; forgotten instead of told; told with a later stamp | the same |
//! | lines that are packed again | though no barrier has settled them; the stamp of a later strong access not kept | three tests of atomics and of any programs, and the same |
//! | `Cells::take_own` | another lane's write taken for its own | `the_fast_detector_judges_like_the_plain_one` |
//! | | other readers not looked at | the same, `readers_of_another_block_outlive_a_barrier` |
//! | reads that are set aside | forgotten instead of told | `rows_whose_races_are_known_are_told_when_it_matters`, which has strong accesses beside them |
//! | atomics that are set aside | forgotten instead of told; told with a later stamp | `the_fast_detector_judges_atomics_that_it_sets_aside_like_the_plain_one` |

mod steps;

use super::Detectors;
use super::reference::{Pair, Reference};
use super::scene::*;
use crate::finding::Finding;
use crate::rules::Rule;
use proptest::prelude::*;
use simt::ids::*;
use simt::observer::*;
use std::collections::HashSet;
use steps::*;

/// Acts out a program for an observer.
fn play<O: Events>(observer: O, kinds: Kinds, steps: &[Step]) -> O {
    play_in_loop(observer, kinds, steps, 1)
}

/// Acts out a program several times over, by the same instructions.
fn play_in_loop<O: Events>(observer: O, kinds: Kinds, steps: &[Step], times: usize) -> O {
    play_with(observer, kinds, steps, times, &[])
}

/// The same, with what becomes of what the instructions read.
fn play_with<O: Events>(
    observer: O,
    kinds: Kinds,
    steps: &[Step],
    times: usize,
    effects: &[Effect],
) -> O {
    let number = |n: usize| (times > 1).then_some(n);
    let all = (0..times).flat_map(|time| {
        let steps = steps.iter().enumerate();
        steps.map(move |(n, step)| (time, number(n), step))
    });
    act(observer, kinds, &all.collect::<Vec<_>>(), effects)
}

/// Acts out steps: each with the turn of the loop that it is made in, and its number, where it has one that others may have, too.
fn act<O: Events>(
    observer: O,
    kinds: Kinds,
    steps: &[(usize, Option<usize>, &Step)],
    effects: &[Effect],
) -> O {
    let mut scene = Scene::new(observer, BLOCKS, THREADS);
    scene.shape.effects = effects.into();
    scene.shape.fine_sync = kinds.fine;
    // With them, no read is set aside.
    scene.shape.async_copies = false;
    scene.shape.async_proxy = false;
    if steps.iter().any(|(_, number, _)| number.is_some()) {
        // A small log, which loops fill.
        scene.shape.shared_bytes = 640;
    }
    scene.shape.strong_shared = kinds.strong;
    scene.shape.strong_global = kinds.strong;
    let all = || steps.iter().map(|(_, _, step)| *step);
    scene.shape.non_coherent =
        all().any(|s| matches!(s, Step::Go(_, _, _, does) if does.non_coherent));
    let granule = all()
        .filter_map(|s| match s {
            Step::Go(_, _, _, does) => Some(does.element),
            _ => None,
        })
        .min()
        .unwrap_or(4);
    scene.shape.shared_granule = granule;
    scene.shape.global_granule = granule;
    scene.begin();
    let mut live = [[0; WARPS as usize]; BLOCKS as usize];
    for block in &mut live {
        for (w, mask) in block.iter_mut().enumerate() {
            *mask = scene.exists(w as u32);
        }
    }
    let mut arrived: [Vec<(u32, Mask)>; BLOCKS as usize] = Default::default();
    for &(time, number, step) in steps {
        if let Some(number) = number {
            scene.at(number as u32 * 8);
        }
        // Everything keeps its number, so that shrinking does not renumber.
        match step {
            Step::Go(b, w, m, does) => {
                let m = m & live[*b as usize][*w as usize];
                if m != 0 {
                    scene.go(warp(*b, *w), m, *does);
                }
            }
            Step::Run(b, w, bases, loads) => {
                if live[*b as usize][*w as usize] == ALL {
                    // Every third time elsewhere.
                    let further = if time % 3 == 2 { 64 } else { 0 };
                    let bases = bases.map(|halves| halves.map(|(at, how)| (at + further, how)));
                    scene.run(warp(*b, *w), bases, loads);
                }
            }
            Step::Reads(b, w, reads) => {
                if live[*b as usize][*w as usize] == ALL {
                    scene.reads(warp(*b, *w), reads);
                }
            }
            Step::Fence(b, w, m, order, s) => {
                let m = m & live[*b as usize][*w as usize];
                if m != 0 {
                    scene.fence(warp(*b, *w), m, *order, *s);
                }
            }
            Step::WarpSync(b, w, m) => {
                let m = m & live[*b as usize][*w as usize];
                if m != 0 {
                    scene.warp_sync(warp(*b, *w), m);
                }
            }
            Step::Barrier(b) => {
                let waited: Vec<_> = (0..WARPS)
                    .map(|w| (w, live[*b as usize][w as usize]))
                    .filter(|(_, m)| *m != 0)
                    .collect();
                if !waited.is_empty() {
                    scene.barrier_of(*b, 0, &waited, &[], true);
                }
            }
            Step::Part(b, masks) => {
                let waited: Vec<_> = (0..WARPS)
                    .map(|w| (w, masks[w as usize] & live[*b as usize][w as usize]))
                    .filter(|(_, m)| *m != 0)
                    .collect();
                if !waited.is_empty() {
                    let before = std::mem::take(&mut arrived[*b as usize]);
                    scene.barrier_of(*b, 1, &waited, &before, false);
                }
            }
            Step::Arrive(b, w, m) => {
                let m = m & live[*b as usize][*w as usize];
                if m != 0 {
                    scene.arrive(warp(*b, *w), 1, m);
                    arrived[*b as usize].push((*w, m));
                }
            }
            Step::Exit(b, w, m) => {
                let m = m & live[*b as usize][*w as usize];
                if m != 0 {
                    scene.exit(warp(*b, *w), m);
                    live[*b as usize][*w as usize] &= !m;
                }
            }
        }
    }
    scene.observer
}

fn agree(kinds: Kinds, steps: &[Step]) -> Result<(), TestCaseError> {
    agree_in_loop(kinds, steps, 1)
}

fn agree_in_loop(kinds: Kinds, steps: &[Step], times: usize) -> Result<(), TestCaseError> {
    let mut plain = play_in_loop(Reference::new(), kinds, steps, times);
    let mut fast = play_in_loop(Detectors::new(false), kinds, steps, times);
    let plain_all = plain.take_findings().into_sorted();
    // In a loop either of two instructions may come first.
    let pair = |rule: Rule, [a, b]: [Site; 2]| Pair {
        rule,
        later: a.max(b),
        earlier: a.min(b),
    };
    let of = |f: &Finding| pair(f.rule, [f.ends[0].site, f.ends[1].site]);
    let all: HashSet<Pair> = plain_all.iter().map(of).collect();
    let mut found = HashSet::new();
    for f in fast.take_findings() {
        let pair = of(&f);
        prop_assert!(
            all.contains(&pair),
            "false alarm: {f:#?}\nreference: {all:?}"
        );
        found.insert(pair);
    }
    for pair in all.iter().filter(|p| p.rule == Rule::NonCoherentRead) {
        prop_assert!(found.contains(pair), "missed: {pair:?}; found {found:?}");
    }
    // Blind spot of the pairs of readers (see `race::cells`): a reader that has exited before a barrier which the others pass may
    // be forgotten for two that the barrier orders. No false alarm may come from it, a race with it may be missed.
    let forgets = !kinds.fine && steps.iter().any(|s| matches!(s, Step::Exit(..)));
    for (byte, races) in plain.first.iter().filter(|_| !forgets) {
        prop_assert!(
            races
                .iter()
                .any(|p| found.contains(&pair(p.rule, [p.later, p.earlier]))),
            "missed at {byte:?}: one of {races:?}; found {found:?}"
        );
    }
    Ok(())
}

#[test]
fn a_barrier_that_only_arrivals_complete_teaches_nobody() {
    let mut scene = Scene::new(Detectors::new(false), 1, 64);
    scene.arrive(warp(0, 0), 1, ALL);
    scene.go(warp(0, 0), 1, write(0));
    scene.barrier_of(0, 1, &[], &[(0, ALL)], false);
    scene.go(warp(0, 1), 1, write(0));
    scene.barrier(0);
    scene.go(warp(0, 0), 1, read(0));
    let found = scene.observer.take_findings();
    assert_eq!(found.len(), 1, "only the two writes race: {found:#?}");
}

/// An access by lanes of a warp, with nothing else to say of it.
fn does(
    kind: AccessKind,
    order: Order,
    scope: Scope,
    element: u32,
    base: u64,
    stride: u64,
) -> Does {
    Does {
        space: Space::Global,
        kind,
        order,
        scope,
        element,
        elements: 1,
        base,
        stride,
        wrote: ALL,
        halves: None,
        non_coherent: false,
    }
}

/// What a block has read is ordered by its barrier, and must not stand for what another one has.
#[test]
fn readers_of_another_block_outlive_a_barrier() {
    let weak =
        |kind, element, base, stride| does(kind, Order::Weak, Scope::Cta, element, base, stride);
    let steps = [
        Step::Go(0, 0, 9, weak(AccessKind::Read, 8, 0, 8)),
        Step::Go(1, 0, ALL, weak(AccessKind::Read, 1, 0, 1)),
        Step::Go(0, 0, 1, weak(AccessKind::Write, 1, 0, 0)),
        Step::Go(0, 1, ALL, weak(AccessKind::Read, 4, 4, 8)),
        Step::Barrier(0),
        Step::Go(0, 0, 4, weak(AccessKind::Write, 4, 12, 8)),
    ];
    let kinds = Kinds {
        fine: false,
        strong: false,
    };
    agree(kinds, &steps).unwrap();
}

/// Who observes a strong write comes after that one, not after those that it replaced.
#[test]
fn a_replaced_access_is_not_ordered_with_who_observes_the_later_one() {
    let strong = |kind| does(kind, Order::Relaxed, Scope::Gpu, 4, 0, 0);
    let weak = |kind| does(kind, Order::Weak, Scope::Sys, 4, 0, 0);
    let kinds = Kinds {
        fine: true,
        strong: true,
    };
    for (first, races) in [(AccessKind::Write, 1), (AccessKind::Atomic, 0)] {
        let steps = [
            Step::Go(0, 0, 1, strong(first)),
            Step::Go(0, 0, 1, strong(first)),
            Step::Go(1, 0, 1, strong(AccessKind::Read)),
            Step::Go(1, 0, 1, weak(AccessKind::Write)),
        ];
        agree(kinds, &steps).unwrap();
        let found = play(Detectors::new(false), kinds, &steps).take_findings();
        assert_eq!(found.len(), races, "{first:?}: {found:#?}");
    }
}

/// The barrier orders the one of two readers that did not exit, though the other's warp has published more.
#[test]
fn a_reader_that_waits_is_ordered_where_another_has_exited() {
    let weak = |element, base| {
        does(
            AccessKind::Read,
            Order::Weak,
            Scope::Sys,
            element,
            base,
            element.into(),
        )
    };
    let write = does(AccessKind::Write, Order::Relaxed, Scope::Cta, 4, 0, 0);
    let steps = [
        Step::WarpSync(1, 1, ALL),
        Step::Go(1, 1, 9, weak(2, 2)),
        Step::Go(0, 0, 1, weak(1, 0)),
        Step::Go(1, 2, 1, weak(4, 0)),
        Step::Exit(1, 1, ALL),
        Step::Barrier(1),
        Step::Go(1, 0, 1, write),
    ];
    let kinds = Kinds {
        fine: false,
        strong: true,
    };
    agree(kinds, &steps).unwrap();
}

/// An acquiring read whose scope is too narrow may still be part of a wider acquire pattern.
#[test]
fn a_wide_fence_acquires_what_a_narrow_acquire_read() {
    let steps = [
        Step::Go(
            0,
            0,
            1,
            does(AccessKind::Read, Order::Relaxed, Scope::Cta, 4, 0, 0),
        ),
        Step::Go(
            0,
            0,
            1,
            does(AccessKind::Write, Order::Release, Scope::Gpu, 4, 256, 0),
        ),
        Step::Go(
            1,
            1,
            2,
            does(AccessKind::Reduction, Order::AcqRel, Scope::Sys, 4, 256, 0),
        ),
        Step::Go(
            1,
            0,
            1,
            does(AccessKind::Atomic, Order::Acquire, Scope::Cta, 4, 256, 0),
        ),
        Step::Fence(1, 0, 1, FenceOrder::Acquire, Scope::Gpu),
        Step::Go(
            1,
            0,
            1,
            does(AccessKind::Write, Order::Relaxed, Scope::Cta, 8, 0, 0),
        ),
    ];
    let kinds = Kinds {
        fine: true,
        strong: true,
    };
    agree(kinds, &steps).unwrap();
}

/// A lane's later read is the one that counts, whichever place it took in the line.
#[test]
fn a_later_read_of_a_lane_outlives_its_earlier_one() {
    let weak = |kind, element, elements, base, stride| Does {
        elements,
        ..does(kind, Order::Weak, Scope::Cta, element, base, stride)
    };
    let steps = [
        Step::Go(1, 0, ALL, weak(AccessKind::Read, 1, 1, 1, 1)),
        Step::Go(1, 1, 1, weak(AccessKind::Read, 4, 2, 32, 0)),
        Step::Barrier(1),
        Step::Go(1, 1, 3, weak(AccessKind::Read, 2, 4, 32, 8)),
        Step::Go(1, 0, 4, weak(AccessKind::Write, 2, 2, 16, 8)),
    ];
    let kinds = Kinds {
        fine: false,
        strong: false,
    };
    agree(kinds, &steps).unwrap();
}

/// What a warp has read in one way is no excuse to write it in another one.
#[test]
fn a_write_by_other_lanes_than_those_that_read_is_a_race() {
    use Layout::Adjacent;
    let row = |at| [(at, Adjacent), (at + 64, Adjacent)];
    // A row of words, then the lanes next to those.
    let twice = [Step::Reads(0, 0, vec![row(16), row(0)])];
    let once = [
        Step::Reads(0, 0, vec![row(16)]),
        Step::Reads(0, 0, vec![row(0)]),
    ];
    // The upper half of the warp where the lower one writes.
    let crossed = [Step::Reads(0, 0, vec![[(256, Adjacent), (16, Adjacent)]])];
    let far = [(16, Adjacent), (512, Adjacent)];
    let all = [
        (&twice[..], row(16)),
        (&once[..], row(16)),
        (&crossed[..], far),
    ];
    for (reads, to) in all {
        let mut steps = reads.to_vec();
        steps.push(Step::Go(0, 0, ALL, write(0).halves(to)));
        steps.push(Step::Barrier(0));
        let kinds = Kinds {
            fine: false,
            strong: false,
        };
        agree(kinds, &steps).unwrap();
        let found = play(Detectors::new(false), kinds, &steps).take_findings();
        assert_eq!(found.len(), 1, "{steps:?}: {found:#?}");
    }
}

/// A narrow release does not undo a wide one: a later strong write is part of both release patterns.
#[test]
fn a_narrow_release_leaves_a_wide_one_as_it_is() {
    let at = |kind, order, scope, base| does(kind, order, scope, 4, base, 0);
    let steps = [
        Step::Go(0, 1, 1, at(AccessKind::Read, Order::Relaxed, Scope::Cta, 0)),
        Step::Go(
            0,
            1,
            1,
            at(AccessKind::Write, Order::Release, Scope::Gpu, 256),
        ),
        Step::Go(
            0,
            1,
            1,
            at(AccessKind::Atomic, Order::Release, Scope::Cta, 256),
        ),
        Step::Go(
            0,
            1,
            1,
            at(AccessKind::Write, Order::Relaxed, Scope::Sys, 256),
        ),
        Step::Go(
            1,
            1,
            2,
            at(AccessKind::Read, Order::Acquire, Scope::Sys, 256),
        ),
        Step::Go(
            1,
            1,
            2,
            at(AccessKind::Atomic, Order::Relaxed, Scope::Cta, 0),
        ),
    ];
    let kinds = Kinds {
        fine: true,
        strong: true,
    };
    agree(kinds, &steps).unwrap();
}

proptest! {
    #![proptest_config(testing::random(2000))]
    #[test]
    fn the_fast_detector_judges_like_the_plain_one((kinds, steps) in program()) {
        agree(kinds, &steps)?;
    }

    #[test]
    fn the_fast_detector_passes_messages_like_the_plain_one(
        steps in prop::collection::vec(message_step(), 1..40),
    ) {
        let kinds = Kinds { fine: true, strong: true };
        agree(kinds, &steps)?;
    }
}

proptest! {
    #![proptest_config(testing::random(1000))]
    #[test]
    fn the_fast_detector_judges_whole_rows_like_the_plain_one(
        steps in prop::collection::vec(row_step(), 1..60),
    ) {
        let kinds = Kinds { fine: false, strong: false };
        agree(kinds, &steps)?;
    }
}

// Loops, whose reads fill the log of those that are set aside.
proptest! {
    #![proptest_config(testing::random(100))]
    #[test]
    fn the_fast_detector_judges_loops_over_rows_like_the_plain_one(
        steps in prop::collection::vec(row_step(), 1..20),
        times in 2..40usize,
        barriers in any::<bool>(),
    ) {
        let kinds = Kinds { fine: false, strong: false };
        let kept = steps.into_iter().filter(|step| barriers || !matches!(step, Step::Barrier(_)));
        let steps: Vec<Step> = kept.collect();
        agree_in_loop(kinds, &steps, times)?;
    }
}

proptest! {
    #![proptest_config(testing::random(1000))]
    #[test]
    fn the_fast_detector_judges_what_many_blocks_read_like_the_plain_one(
        steps in prop::collection::vec(common_read_step(), 1..40),
    ) {
        let kinds = Kinds { fine: false, strong: false };
        agree(kinds, &steps)?;
    }
}

proptest! {
    #![proptest_config(testing::random(1000))]
    #[test]
    fn the_fast_detector_judges_atomics_that_it_sets_aside_like_the_plain_one(
        steps in prop::collection::vec(atomic_step(), 1..60),
    ) {
        let kinds = Kinds { fine: false, strong: true };
        agree(kinds, &steps)?;
    }
}

// More updates between two barriers than are set aside one by one.
proptest! {
    #![proptest_config(testing::random(1000))]
    #[test]
    fn the_fast_detector_judges_updates_that_it_folds_like_the_plain_one(
        rounds in rounds_of_updates(2.0),
        times in 1..3usize,
    ) {
        let kinds = Kinds { fine: false, strong: true };
        let steps: Vec<Step> = rounds.into_iter().map(|(step, _)| step).collect();
        agree_in_loop(kinds, &steps, times)?;
    }
}

// What depends on the order of threads does not depend on what is set aside.
proptest! {
    #![proptest_config(testing::random(1000))]
    #[test]
    fn updates_that_are_set_aside_are_known_when_it_matters(
        steps in prop::collection::vec(atomic_step(), 1..60),
        effects in prop::collection::vec(effect(), 64),
    ) {
        order_is_known(&steps, 1, &effects)?;
    }
    #[test]
    fn updates_that_are_folded_are_known_when_it_matters(rounds in rounds_of_updates(0.05)) {
        let (steps, some): (Vec<Step>, Vec<Effect>) = rounds.into_iter().unzip();
        // In a loop, an instruction has the number of its step eight times over.
        let effects: Vec<Effect> = some.into_iter().flat_map(|effect| [effect; 8]).collect();
        order_is_known(&steps, 2, &effects)?;
    }
}

// What is found does not depend on what is set aside because its races are known.
proptest! {
    #![proptest_config(testing::random(1000))]
    #[test]
    fn rows_whose_races_are_known_are_told_when_it_matters(
        steps in prop::collection::vec(lockstep_step(), 1..16),
        rest in prop::collection::vec(lockstep_step(), 0..6),
        times in 4..24usize,
    ) {
        let kinds = Kinds { fine: false, strong: true };
        let turn = |time| steps.iter().enumerate().map(move |(n, step)| (time, Some(n), step));
        // Something that is new comes at last.
        let rest = rest.iter().enumerate().map(|(n, step)| (times, Some(steps.len() + n), step));
        let all: Vec<_> = (0..times).flat_map(turn).chain(rest).collect();
        let play = |at_once| {
            let mut observer = Detectors::new(false);
            observer.races.tells_at_once = at_once;
            act(observer, kinds, &all, &[])
        };
        let [mut told, mut aside] = [true, false].map(play);
        prop_assert_eq!(told.take_findings(), aside.take_findings());
    }
}

/// Tells the detector of atomics at once, and as it would itself: that the same values depended on the order of threads.
fn order_is_known(steps: &[Step], times: usize, effects: &[Effect]) -> Result<(), TestCaseError> {
    let kinds = Kinds {
        fine: false,
        strong: true,
    };
    let play = |observer| play_with(observer, kinds, steps, times, effects);
    let mut told = Detectors::new(false);
    told.races.tells_at_once = true;
    let (told, aside) = (play(told), play(Detectors::new(false)));
    prop_assert_eq!(told.order_sources(), aside.order_sources());
    Ok(())
}

/// Who continued a chain of atomics comes after what came before it, though another of its block has continued it since.
#[test]
fn all_who_continue_a_chain_come_after_its_beginning() {
    let add = |scope| does(AccessKind::Reduction, Order::Relaxed, scope, 4, 0, 0);
    let kinds = Kinds {
        fine: true,
        strong: true,
    };
    for (second, races) in [(0, 0), (1, 1)] {
        let steps = [
            Step::Go(0, 0, 1, add(Scope::Gpu)),
            Step::Go(1, second, 1, add(Scope::Gpu)),
            Step::Go(1, 2, 1, add(Scope::Gpu)),
            Step::Go(1, 0, 1, add(Scope::Cta)),
        ];
        agree(kinds, &steps).unwrap();
        let found = play(Detectors::new(false), kinds, &steps).take_findings();
        assert_eq!(found.len(), races, "{found:#?}");
    }
}

#[test]
fn fetches_from_what_nobody_writes_are_not_judged() {
    let races = |unwritten: &[std::ops::Range<u64>]| {
        let mut scene = Scene::new(Detectors::new(false), 2, 32);
        scene.shape.unwritten = unwritten.into();
        scene.go(warp(0, 0), ALL, write(64).global().by_lane());
        let fetch = read(64).global().non_coherent();
        scene.go(warp(1, 0), ALL, fetch.by_lane());
        let findings = scene.observer.take_findings();
        findings.iter().any(|f| f.rule == Rule::DataRace)
    };
    assert!(races(&[]));
    assert!(races(&[0..64, 192..4096]), "the fetch is elsewhere");
    assert!(races(&[0..8, 65..4096]), "a part of it is elsewhere");
    assert!(!races(&[0..64, 64..192]));
}
