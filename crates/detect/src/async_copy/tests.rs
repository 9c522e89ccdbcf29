use super::super::Detectors;
use super::super::scene::*;
use super::*;
use proptest::prelude::*;
use simt::observer::{Events, Scope};
use std::collections::BTreeSet;

/// The rules that are broken, with the instructions, the later first.
fn found(act: impl FnOnce(&mut Scene<Detectors>)) -> Vec<(Rule, u32, u32)> {
    let mut scene = Scene::new(Detectors::new(false), 2, 96);
    act(&mut scene);
    let found = scene.observer.take_findings();
    let blame = |f: &Finding| (f.rule, f.ends[0].site.0, f.ends[1].site.0);
    found.iter().map(blame).collect()
}

#[test]
fn a_barrier_does_not_wait_for_copies() {
    let found = found(|s| {
        s.copy_begins(warp(0, 0), ALL, 0, [0, 0]);
        s.barrier(0);
        s.go(warp(0, 1), 1, read(4 * 31));
        s.go(warp(0, 1), 1, read(4 * 32));
        s.go(warp(1, 1), 1, read(4 * 31));
    });
    assert_eq!(found, [(Rule::AsyncCopyHazard, 2, 0)]);
}

#[test]
fn lanes_wait_for_themselves() {
    let found = found(|s| {
        let site = s.copy_begins(warp(0, 0), 0b11, 0, [0, 0]);
        s.copy_ends(site, warp(0, 0), 0b01, 0, [0, 0]);
        s.barrier(0);
        s.go(warp(0, 1), 1, read(0));
        s.go(warp(0, 1), 1, read(4));
    });
    assert_eq!(found, [(Rule::AsyncCopyHazard, 3, 0)]);
}

#[test]
fn a_row_of_words_is_looked_at_too() {
    let found = found(|s| {
        s.copy_begins(warp(0, 0), 1 << 9, 0, [0, 0]);
        s.barrier(0);
        let halves = [
            (0, simt::observer::Layout::Adjacent),
            (64, simt::observer::Layout::Adjacent),
        ];
        s.go(warp(0, 1), ALL, read(0).halves(halves));
    });
    assert_eq!(found, [(Rule::AsyncCopyHazard, 2, 0)]);
}

/// A copy of 32 words by warp 0, which arrives at an mbarrier that expects warp 0 alone.
fn arrives(s: &mut Scene<Detectors>) {
    let (who, object) = (warp(0, 0), 1024);
    let site = s.copy_begins(who, ALL, 0, [0, 0]);
    s.copy_arrives(site, who, ALL, 0, [0, 0]);
    s.go(who, ALL, red(object).bytes(8).release(Scope::Cta));
    s.observer.copies_arrive_at(who, ALL, object);
    s.observer.phase_completes(BlockId(0), object);
}

fn waits(s: &mut Scene<Detectors>, who: WarpRef, mask: Mask) {
    s.go(who, mask, read(1024).bytes(8).acquire(Scope::Cta));
    s.observer.phase_awaited(who, mask, &[1024; LANES]);
}

#[test]
fn arriving_is_not_waiting_for_the_own_thread() {
    let found = found(|s| {
        arrives(s);
        s.go(warp(0, 0), 1, read(0));
        waits(s, warp(0, 0), 0b1);
        s.go(warp(0, 0), 0b1, read(0));
    });
    assert_eq!(found, [(Rule::AsyncCopyHazard, 2, 0)]);
}

#[test]
fn a_barrier_does_not_stand_for_the_wait() {
    let found = found(|s| {
        arrives(s);
        s.barrier(0);
        s.go(warp(0, 1), 1, read(0));
    });
    assert_eq!(found, [(Rule::AsyncCopyHazard, 3, 0)]);
}

#[test]
fn one_thread_waits_and_a_barrier_tells_the_others() {
    let found = found(|s| {
        arrives(s);
        waits(s, warp(0, 2), 0b1);
        s.barrier(0);
        s.go(warp(0, 1), ALL, read(0).by_lane());
        s.go(warp(0, 0), ALL, write(0).by_lane());
    });
    assert_eq!(
        found
            .iter()
            .filter(|f| f.0 == Rule::AsyncCopyHazard)
            .count(),
        0
    );
}

#[test]
fn waiting_for_the_copies_themselves_will_do() {
    let found = found(|s| {
        arrives(s);
        s.observer.copy_ends(warp(0, 0), 0, 0b1);
        s.go(warp(0, 0), 0b01, read(0));
        s.go(warp(0, 0), 0b10, read(4));
    });
    assert_eq!(found, [(Rule::AsyncCopyHazard, 3, 0)]);
}

#[test]
fn the_next_launch_starts_anew() {
    let found = found(|s| {
        s.copy_begins(warp(0, 0), ALL, 0, [0, 0]);
        s.observer.block_ends(BlockId(0));
        s.observer.launch_ends();
        let shape = LaunchShape {
            launch: 1,
            ..s.shape.clone()
        };
        s.observer.launch_begins(&shape);
        s.observer.block_begins(BlockId(0));
        s.go(warp(0, 0), ALL, read(0).by_lane());
    });
    assert_eq!(found, []);
}

const WARPS: usize = 3;
/// How many arrivals each mbarrier expects.
const ARRIVALS: [usize; 2] = [1, 2];

#[derive(Clone, Debug)]
enum Step {
    /// The first thread of a warp reads or writes a word of a space.
    Go(usize, bool, bool, u64),
    /// It begins a copy between two words.
    Begin(usize, u64, u64),
    /// It waits for all its copies.
    Wait(usize),
    /// It lets them arrive at an mbarrier.
    Arrive(usize, usize),
    /// It waits for the last phase of an mbarrier that is complete, or finds that there is none.
    Await(usize, usize),
    Barrier,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => (0..WARPS, any::<bool>(), any::<bool>(), 0..2u64)
            .prop_map(|(w, write, shared, word)| Step::Go(w, write, shared, word)),
        2 => (0..WARPS, 0..2u64, 0..2u64).prop_map(|(w, from, to)| Step::Begin(w, from, to)),
        1 => (0..WARPS).prop_map(Step::Wait),
        2 => (0..WARPS, 0..ARRIVALS.len()).prop_map(|(w, o)| Step::Arrive(w, o)),
        2 => (0..WARPS, 0..ARRIVALS.len()).prop_map(|(w, o)| Step::Await(w, o)),
        2 => Just(Step::Barrier),
    ]
}

/// What touches memory: by which instruction, what it does, and when. A copy begins at one step and ends at another. One that arrives at
/// an mbarrier ends at a step of its own, which comes behind all others and is known to those who wait for it.
#[derive(Clone, Debug)]
struct Touch {
    site: u32,
    begins: usize,
    ends: Option<usize>,
    copies: bool,
    /// The step at which it arrives at an mbarrier.
    arrives: Option<usize>,
    /// Whether shared memory, the word, whether it writes.
    words: Vec<(bool, u64, bool)>,
}

/// The ends of copies that arrive are numbered from here on.
const END: usize = 1000;

/// An mbarrier.
#[derive(Default)]
struct Object {
    arrivals: usize,
    /// Copies, by number in the list, that have arrived in the phase that is not complete, and in those that are.
    coming: Vec<usize>,
    complete: Vec<usize>,
    /// What those who arrived knew.
    released: BTreeSet<usize>,
}

/// Runs the steps, and says of each what comes before it by the rules of the memory model.
fn play(s: &mut Scene<Detectors>, steps: &[Step]) -> (Vec<Touch>, Vec<BTreeSet<usize>>) {
    let mut touches: Vec<Touch> = Vec::new();
    let mut before: Vec<BTreeSet<usize>> = Vec::new();
    let mut known: [BTreeSet<usize>; WARPS] = Default::default();
    let mut begun: [Vec<(usize, u64, [u64; 2])>; WARPS] = Default::default();
    let mut arrived: [Vec<(usize, u64)>; WARPS] = Default::default();
    let mut objects: [Object; ARRIVALS.len()] = Default::default();
    for (now, step) in steps.iter().enumerate() {
        let touch = |site: Site, copies, words| Touch {
            site: site.0,
            begins: now,
            ends: if copies { None } else { Some(now) },
            copies,
            arrives: None,
            words,
        };
        let who = match step {
            Step::Go(w, write, shared, word) => {
                let does = if *write {
                    super::super::scene::write(4 * word)
                } else {
                    read(4 * word)
                };
                let does = if *shared { does } else { does.global() };
                let site = s.go(warp(0, *w as u32), 1, does);
                touches.push(touch(site, false, vec![(*shared, *word, *write)]));
                Some(*w)
            }
            Step::Begin(w, from, to) => {
                let number = now as u64;
                let site = s.copy_begins(warp(0, *w as u32), 1, number, [*from, *to]);
                begun[*w].push((touches.len(), number, [*from, *to]));
                let words = vec![(false, *from, false), (true, *to, true)];
                touches.push(touch(site, true, words));
                Some(*w)
            }
            Step::Wait(w) => {
                for (at, number, words) in begun[*w].drain(..) {
                    let site = Site(touches[at].site);
                    s.copy_ends(site, warp(0, *w as u32), 1, number, words);
                    touches[at].ends = Some(now);
                }
                for (at, number) in arrived[*w].drain(..) {
                    s.observer.copy_ends(warp(0, *w as u32), number, 1);
                    known[*w].insert(END + at);
                }
                Some(*w)
            }
            Step::Arrive(w, o) => {
                let who = warp(0, *w as u32);
                for (at, number, words) in begun[*w].drain(..) {
                    s.copy_arrives(Site(touches[at].site), who, 1, number, words);
                    touches[at].ends = Some(END + at);
                    touches[at].arrives = Some(now);
                    arrived[*w].push((at, number));
                    objects[*o].coming.push(at);
                }
                let object = &mut objects[*o];
                let place = 1024 + 8 * *o as u64;
                s.go(who, 1, red(place).bytes(8).release(Scope::Cta));
                s.observer.copies_arrive_at(who, 1, place);
                object.arrivals += 1;
                if object.arrivals.is_multiple_of(ARRIVALS[*o]) {
                    s.observer.phase_completes(BlockId(0), place);
                    object.complete.append(&mut object.coming);
                }
                object.released.extend(&known[*w]);
                object.released.insert(now);
                Some(*w)
            }
            Step::Await(w, o) => {
                let (who, place) = (warp(0, *w as u32), 1024 + 8 * *o as u64);
                s.go(who, 1, read(place).bytes(8).acquire(Scope::Cta));
                let object = &objects[*o];
                if object.arrivals >= ARRIVALS[*o] {
                    s.observer.phase_awaited(who, 1, &[place; LANES]);
                    known[*w].extend(object.complete.iter().map(|at| END + at));
                }
                known[*w].extend(&object.released);
                Some(*w)
            }
            Step::Barrier => {
                s.barrier(0);
                None
            }
        };
        match who {
            Some(w) => {
                before.push(known[w].clone());
                known[w].insert(now);
            }
            None => {
                let mut all: BTreeSet<usize> = known.iter().flatten().copied().collect();
                before.push(all.clone());
                all.insert(now);
                known = std::array::from_fn(|_| all.clone());
            }
        }
    }
    (touches, before)
}

proptest! {
    #![proptest_config(testing::random(3000))]

    /// Against the definition: two accesses that conflict, neither of which comes before the other.
    #[test]
    fn what_is_found_is_what_nothing_orders(steps in proptest::collection::vec(step(), 1..16)) {
        let mut scene = Scene::new(Detectors::new(false), 1, 32 * WARPS as u32);
        let (touches, before) = play(&mut scene, &steps);
        let ordered = |a: &Touch, b: &Touch| {
            a.ends.is_some_and(|end| end == b.begins || before[b.begins].contains(&end))
        };
        let conflict = |a: &Touch, b: &Touch| {
            a.words.iter().any(|(space, word, writes)| {
                b.words.iter().any(|(s, w, also)| space == s && word == w && (*writes || *also))
            })
        };
        let mut wrong = Vec::new();
        for (i, a) in touches.iter().enumerate() {
            for b in &touches[i + 1..] {
                if conflict(a, b) && !ordered(a, b) && !ordered(b, a) {
                    wrong.push((a, b));
                }
            }
        }
        let found: Vec<_> = scene.observer.take_findings();
        let pair = |f: &Finding| {
            let (a, b) = f.sites();
            (a.0, b.0)
        };
        for f in &found {
            let is_wrong = wrong.iter().any(|(a, b)| (a.site, b.site) == pair(f));
            prop_assert!(is_wrong, "false: {f:?}");
        }
        prop_assert_eq!(found.is_empty(), wrong.is_empty());
        if let [(a, b)] = wrong[..] {
            let last = a.arrives.or(a.ends);
            let meanwhile = a.copies && last.is_none_or(|end| b.begins < end);
            let begun = before[b.begins].contains(&a.begins);
            // Nothing but the wait is missing.
            let arrived = a.arrives.is_some_and(|step| before[b.begins].contains(&step));
            let rule = match meanwhile && begun || arrived {
                true => Rule::AsyncCopyHazard,
                false => Rule::DataRace,
            };
            prop_assert_eq!(found[0].rule, rule);
        }
    }
}
