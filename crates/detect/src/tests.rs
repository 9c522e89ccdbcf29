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

mod examples;
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
    let mut closed = [[0; WARPS as usize]; BLOCKS as usize];
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
            Step::Products(b, w) => {
                let m = live[*b as usize][*w as usize];
                if m == scene.exists(*w) {
                    let group = &mut closed[*b as usize][*w as usize];
                    scene.observer.products_begun(warp(*b, *w), m, *group);
                    *group += 1;
                }
            }
            Step::Await(b, w, newest, does) => {
                let (who, m) = (warp(*b, *w), live[*b as usize][*w as usize]);
                let groups = closed[*b as usize][*w as usize].saturating_sub(*newest);
                let all = closed[*b as usize].iter().all(|closed| *closed >= groups);
                if all && groups > 0 && m == scene.exists(*w) {
                    scene.observer.products_awaited(who, m, groups);
                    scene.go(who, m, *does);
                    scene.observer.products_end(who, m, groups);
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
