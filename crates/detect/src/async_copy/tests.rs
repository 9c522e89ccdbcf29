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
    s.observer.copies_arrive_at(who, ALL, who.block, object);
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

impl Touch {
    fn conflicts_with(&self, other: &Touch) -> bool {
        self.words.iter().any(|(space, word, writes)| {
            let mut others = other.words.iter();
            others.any(|(s, w, also)| space == s && word == w && (*writes || *also))
        })
    }
}

/// The ends of copies that arrive are numbered from here on.
const END: usize = 1000;

/// An mbarrier.
#[derive(Clone, Debug, Default)]
struct Object {
    arrivals: usize,
    /// Copies, by number in the list, that have arrived in the phase that is not complete, and in those that are.
    coming: Vec<usize>,
    complete: Vec<usize>,
    /// What those who arrived knew.
    released: BTreeSet<usize>,
}

/// What comes before what, by the rules of the memory model.
#[derive(Clone, Debug, Default)]
struct Model {
    touches: Vec<Touch>,
    /// The steps that come before each.
    before: Vec<BTreeSet<usize>>,
    known: [BTreeSet<usize>; WARPS],
    /// A warp's copies, by number in the list, that it has not waited for; and those that have arrived instead.
    begun: [Vec<usize>; WARPS],
    arrived: [Vec<usize>; WARPS],
    objects: [Object; ARRIVALS.len()],
    /// Instructions so far.
    sites: u32,
}

impl Model {
    fn touch(&mut self, copies: bool, words: Vec<(bool, u64, bool)>) {
        let begins = self.before.len();
        self.touches.push(Touch {
            site: self.sites,
            begins,
            ends: (!copies).then_some(begins),
            copies,
            arrives: None,
            words,
        });
    }

    fn step(&mut self, step: &Step) {
        let now = self.before.len();
        let who = match *step {
            Step::Go(w, write, shared, word) => {
                self.touch(false, vec![(shared, word, write)]);
                Some(w)
            }
            Step::Begin(w, from, to) => {
                self.begun[w].push(self.touches.len());
                self.touch(true, vec![(false, from, false), (true, to, true)]);
                Some(w)
            }
            Step::Wait(w) => {
                for at in self.begun[w].drain(..) {
                    self.touches[at].ends = Some(now);
                }
                let ends = self.arrived[w].drain(..).map(|at| END + at);
                self.known[w].extend(ends);
                Some(w)
            }
            Step::Arrive(w, o) => {
                let object = &mut self.objects[o];
                for at in self.begun[w].drain(..) {
                    self.touches[at].ends = Some(END + at);
                    self.touches[at].arrives = Some(now);
                    self.arrived[w].push(at);
                    object.coming.push(at);
                }
                object.arrivals += 1;
                if object.arrivals.is_multiple_of(ARRIVALS[o]) {
                    object.complete.append(&mut object.coming);
                }
                object.released.extend(&self.known[w]);
                object.released.insert(now);
                Some(w)
            }
            Step::Await(w, o) => {
                let object = &self.objects[o];
                self.known[w].extend(object.complete.iter().map(|at| END + at));
                self.known[w].extend(&object.released);
                Some(w)
            }
            Step::Barrier => None,
        };
        self.sites += u32::from(!matches!(step, Step::Wait(_)));
        match who {
            Some(w) => {
                self.before.push(self.known[w].clone());
                self.known[w].insert(now);
            }
            None => {
                let mut all: BTreeSet<usize> = self.known.iter().flatten().copied().collect();
                self.before.push(all.clone());
                all.insert(now);
                self.known = std::array::from_fn(|_| all.clone());
            }
        }
    }

    fn is_ordered(&self, a: &Touch, b: &Touch) -> bool {
        a.ends
            .is_some_and(|end| end == b.begins || self.before[b.begins].contains(&end))
    }

    /// The earlier accesses that conflict with this one, and nothing orders with it.
    fn wrong<'a>(&'a self, b: &'a Touch) -> impl Iterator<Item = &'a Touch> {
        let earlier = self.touches.iter().filter(|a| a.begins < b.begins);
        earlier.filter(|a| a.conflicts_with(b) && !self.is_ordered(a, b) && !self.is_ordered(b, a))
    }
}

/// Acts the steps out.
fn play(s: &mut Scene<Detectors>, steps: &[Step]) {
    type Copies = [Vec<(Site, u64, [u64; 2])>; WARPS];
    let (mut begun, mut arrived): (Copies, Copies) = Default::default();
    let mut arrivals = [0; ARRIVALS.len()];
    let place = |o: usize| 1024 + 8 * o as u64;
    for (now, step) in steps.iter().enumerate() {
        let warp = |w: usize| warp(0, w as u32);
        match *step {
            Step::Go(w, write, shared, word) => {
                let does = match write {
                    true => super::super::scene::write(4 * word),
                    false => read(4 * word),
                };
                s.go(warp(w), 1, if shared { does } else { does.global() });
            }
            Step::Begin(w, from, to) => {
                let (number, words) = (now as u64, [from, to]);
                let site = s.copy_begins(warp(w), 1, number, words);
                begun[w].push((site, number, words));
            }
            Step::Wait(w) => {
                for (site, number, words) in begun[w].drain(..) {
                    s.copy_ends(site, warp(w), 1, number, words);
                }
                for (_, number, _) in arrived[w].drain(..) {
                    s.observer.copy_ends(warp(w), number, 1);
                }
            }
            Step::Arrive(w, o) => {
                for (site, number, words) in begun[w].drain(..) {
                    s.copy_arrives(site, warp(w), 1, number, words);
                    arrived[w].push((site, number, words));
                }
                s.go(warp(w), 1, red(place(o)).bytes(8).release(Scope::Cta));
                s.observer
                    .copies_arrive_at(warp(w), 1, warp(w).block, place(o));
                arrivals[o] += 1;
                if arrivals[o] % ARRIVALS[o] == 0 {
                    s.observer.phase_completes(BlockId(0), place(o));
                }
            }
            Step::Await(w, o) => {
                s.go(warp(w), 1, read(place(o)).bytes(8).acquire(Scope::Cta));
                if arrivals[o] >= ARRIVALS[o] {
                    s.observer.phase_awaited(warp(w), 1, &[place(o); LANES]);
                }
            }
            Step::Barrier => s.barrier(0),
        }
    }
}

/// Those steps that break no rule behind the ones before them.
fn harmless(steps: Vec<Step>) -> Vec<Step> {
    let mut model = Model::default();
    let mut kept = Vec::new();
    for step in steps {
        let mut next = model.clone();
        next.step(&step);
        let touches = next.touches.len() > model.touches.len();
        let new = next.touches.last().filter(|_| touches);
        if new.is_none_or(|new| next.wrong(new).next().is_none()) {
            model = next;
            kept.push(step);
        }
    }
    kept
}

/// Plays the steps, and compares what is found with the definition: two accesses that conflict, neither of which comes before the other.
fn is_found(steps: &[Step]) -> Result<(), TestCaseError> {
    let mut scene = Scene::new(Detectors::new(false), 1, 32 * WARPS as u32);
    let mut model = Model::default();
    steps.iter().for_each(|step| model.step(step));
    play(&mut scene, steps);
    let touches = model.touches.iter();
    let wrong: Vec<_> = touches
        .flat_map(|b| model.wrong(b).map(move |a| (a, b)))
        .collect();
    let found: Vec<_> = scene.observer.take_findings();
    for f in &found {
        let (a, b) = f.sites();
        let is_wrong = wrong.iter().any(|(x, y)| (x.site, y.site) == (a.0, b.0));
        prop_assert!(is_wrong, "false: {f:?}");
    }
    prop_assert_eq!(found.is_empty(), wrong.is_empty());
    if let [(a, b)] = wrong[..] {
        let last = a.arrives.or(a.ends);
        let meanwhile = a.copies && last.is_none_or(|end| b.begins < end);
        let before = &model.before[b.begins];
        let begun = before.contains(&a.begins);
        // Nothing but the wait is missing.
        let arrived = a.arrives.is_some_and(|step| before.contains(&step));
        let rule = match meanwhile && begun || arrived {
            true => Rule::AsyncCopyHazard,
            false => Rule::DataRace,
        };
        prop_assert_eq!(found[0].rule, rule);
    }
    Ok(())
}

proptest! {
    #![proptest_config(testing::random(3000))]

    #[test]
    fn what_is_found_is_what_nothing_orders(steps in proptest::collection::vec(step(), 1..16)) {
        is_found(&steps)?;
    }
}

proptest! {
    #![proptest_config(testing::random(400))]

    /// The same of long programs, in which nothing is wrong but what the last step makes so: where much is, one more or less is not noticed.
    #[test]
    fn the_last_step_is_judged(steps in proptest::collection::vec(step(), 20..60).prop_map(harmless)) {
        for w in 0..WARPS {
            for (write, shared, word) in [(true, true, 0), (true, true, 1), (true, false, 0), (false, true, 0)] {
                let mut steps = steps.clone();
                steps.push(Step::Go(w, write, shared, word));
                is_found(&steps)?;
            }
        }
    }
}

/// A bulk store of the first 32 words by thread 0, whose group it waits for or not; then all exit.
fn ends_after_store(waits: bool) -> Vec<(Rule, u32, u32)> {
    found(|s| {
        s.bulk_store_begins(warp(0, 0), 0, 128);
        if waits {
            s.observer.copy_reads_end(warp(0, 0), 0, 1);
        }
        s.exit(warp(0, 0), ALL);
        s.exit(warp(0, 1), ALL);
        s.observer.block_ends(BlockId(0));
    })
}

#[test]
fn a_block_may_not_end_before_its_memory_is_read() {
    assert_eq!(ends_after_store(true), []);
    assert_eq!(ends_after_store(false), [(Rule::AsyncCopyHazard, 2, 0)]);
}

/// Block 0 stores in bulk and sets a flag, with only the source waited for or all; it ends, and block 1 reads what the flag promises, or something else,
/// or without having looked at the flag.
fn read_after_flag(waits: bool, looks: bool, at: u64) -> Vec<(Rule, u32, u32)> {
    found(|s| {
        s.bulk_store_begins(warp(0, 0), 0, 128);
        match waits {
            true => s.observer.copy_ends(warp(0, 0), 0, 1),
            false => s.observer.copy_reads_end(warp(0, 0), 0, 1),
        }
        let flag = write(512).global().release(Scope::Gpu);
        s.go(warp(0, 0), 1, flag);
        for w in 0..3 {
            s.exit(warp(0, w), ALL);
        }
        s.observer.block_ends(BlockId(0));
        if looks {
            s.go(warp(1, 0), 1, read(512).global().acquire(Scope::Gpu));
        }
        s.go(warp(1, 0), 1, read(at).global());
    })
}

#[test]
fn what_an_ended_block_has_not_waited_for_is_under_way_until_the_launch_ends() {
    assert_eq!(
        read_after_flag(false, true, 64),
        [(Rule::AsyncCopyHazard, 6, 0)]
    );
    assert_eq!(read_after_flag(true, true, 64), []);
    assert_eq!(read_after_flag(false, true, 128), []);
    // Without an order that is a race with the store's beginning.
    assert_eq!(read_after_flag(false, false, 64), [(Rule::DataRace, 5, 0)]);
}
