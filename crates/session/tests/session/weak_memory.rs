//! The `weak` schedules against the axioms: what a random program of a few operations reads under them is one of the
//! outcomes that the PTX memory consistency model allows, found here by going through all candidate executions.
//!
//! The names of relations and axioms are those of the PTX ISA, "Memory Consistency Model". Everything but one fence is of `.gpu` scope and every thread in
//! a block of its own, so all strong operations on one place are morally strong with each other. Of executions with weak ones, those are gone
//! through whose writes at a place are totally ordered and whose reads of it go forward: fewer than the model has.

use detect::rules::Rule;
use proptest::prelude::*;
use ptx::parser::parse;
use session::{Options, Session};
use simt::{Dim3, Launch, Program, ScheduleSpec, entries};
use std::collections::BTreeSet;

/// An operation of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Op {
    /// `st`: place, value, whether it releases.
    Store(usize, u32, bool),
    /// `ld`: place, whether it acquires.
    Load(usize, bool),
    /// `atom.exch`: place, value, acquires, releases.
    Exchange(usize, u32, bool, bool),
    /// A weak `st`: place, value.
    WeakStore(usize, u32),
    /// A weak `ld`: place.
    WeakLoad(usize),
    /// `fence`
    Fence(Fence),
}
use Op::*;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fence {
    AcqRel,
    Sc,
    /// `fence.sc.cta`: of a thread that is alone in its block, it orders nothing for anybody.
    ScOfBlock,
}

impl Op {
    fn place(self) -> Option<usize> {
        match self {
            Store(place, ..) | Load(place, _) | Exchange(place, ..) => Some(place),
            WeakStore(place, _) | WeakLoad(place) => Some(place),
            Fence(_) => None,
        }
    }
    fn reads(self) -> bool {
        matches!(self, Load(..) | WeakLoad(..) | Exchange(..))
    }
    fn is_weak(self) -> bool {
        matches!(self, WeakStore(..) | WeakLoad(..))
    }
    fn writes(self) -> Option<u32> {
        match self {
            Store(_, value, _) | WeakStore(_, value) | Exchange(_, value, ..) => Some(value),
            _ => None,
        }
    }
    fn acquires(self) -> bool {
        matches!(self, Load(_, true) | Exchange(_, _, true, _))
    }
    fn releases(self) -> bool {
        matches!(self, Store(_, _, true) | Exchange(_, _, _, true))
    }
    fn ptx(self, register: usize) -> String {
        let at = |place: usize| format!("[%x+{}]", 64 * place);
        match self {
            Store(place, value, release) => {
                let order = if release { "release" } else { "relaxed" };
                format!("st.{order}.gpu.global.u32 {}, {value};", at(place))
            }
            Load(place, acquire) => {
                let order = if acquire { "acquire" } else { "relaxed" };
                format!("ld.{order}.gpu.global.u32 %r{register}, {};", at(place))
            }
            WeakStore(place, value) => format!("st.global.u32 {}, {value};", at(place)),
            WeakLoad(place) => format!("ld.global.u32 %r{register}, {};", at(place)),
            Exchange(place, value, acquire, release) => {
                let order = match (acquire, release) {
                    (true, true) => "acq_rel",
                    (true, false) => "acquire",
                    (false, true) => "release",
                    (false, false) => "relaxed",
                };
                let place = at(place);
                format!("atom.{order}.gpu.global.exch.b32 %r{register}, {place}, {value};")
            }
            Fence(self::Fence::AcqRel) => "fence.acq_rel.gpu;".to_owned(),
            Fence(self::Fence::Sc) => "fence.sc.gpu;".to_owned(),
            Fence(self::Fence::ScOfBlock) => "fence.sc.cta;".to_owned(),
        }
    }
}

const PLACES: usize = 2;
/// Operations of a thread at most.
const LONGEST: usize = 4;

/// What a run leaves: what each operation of each thread read, then what the places hold.
type Outcome = Vec<u32>;

/// The outcome of one run on the simulator.
fn run(program: &Program, threads: &[Vec<Op>], schedule: ScheduleSpec) -> Outcome {
    let mut session = Session::new(Options {
        schedule,
        ..Options::default()
    });
    let buffer = session.device().alloc(4096, "memory").expect("memory");
    session.device().write(buffer, &[0; 4096]).expect("inside");
    let launch = Launch {
        grid: Dim3::linear(threads.len() as u32),
        block: Dim3::ONE,
        dynamic_shared: 0,
        params: buffer.to_le_bytes().to_vec(),
        cooperative: true,
        number: 0,
    };
    session.launch(program, &launch).expect("a run that ends");
    let (outcome, device) = session.finish();
    // Relaxed accesses whose values are kept are just what the outcomes are about; weak ones race.
    let weak = threads.iter().flatten().any(|op| op.is_weak());
    let mut findings = outcome.findings.iter();
    assert!(
        findings.all(|f| f.rule == Rule::UnorderedCommunication
            || weak
                && matches!(
                    f.rule,
                    Rule::DataRace | Rule::SameValueWrite | Rule::InsufficientScope
                )),
        "{threads:?}: {:?}",
        outcome.findings
    );
    let word = |at: usize| {
        let bytes = device.read(buffer + at as u64, 4).expect("inside");
        u32::from_le_bytes(bytes.try_into().expect("four bytes"))
    };
    let mut left = Vec::new();
    for (t, ops) in threads.iter().enumerate() {
        let read = ops.iter().enumerate().filter(|(_, op)| op.reads());
        left.extend(read.map(|(k, _)| word(1024 + 64 * t + 4 * k)));
    }
    left.extend((0..PLACES).map(|place| word(64 * place)));
    left
}

fn lowered(threads: &[Vec<Op>]) -> Program {
    let mut body = String::from("mov.u32 %r20, %ctaid.x;");
    for t in 0..threads.len() {
        body += &format!("setp.eq.u32 %p1, %r20, {t}; @%p1 bra T{t};\n");
    }
    body += "ret;\n";
    for (t, ops) in threads.iter().enumerate() {
        body += &format!("T{t}:\n");
        for (k, op) in ops.iter().enumerate() {
            body += &format!("{}\n", op.ptx(k));
        }
        for (k, _) in ops.iter().enumerate().filter(|(_, op)| op.reads()) {
            body += &format!("st.global.u32 [%x+{}], %r{k};\n", 1024 + 64 * t + 4 * k);
        }
        body += "ret;\n";
    }
    let ptx = format!(
        ".version 8.3\n.target sm_90\n.address_size 64\n\
         .visible .entry litmus(.param .u64 memory) {{\n\
         .reg .b32 %r<21>; .reg .pred %p<2>; .reg .b64 %x;\n\
         ld.param.u64 %x, [memory]; cvta.to.global.u64 %x, %x;\n{body}\n}}\n"
    );
    let module = parse(&ptx).unwrap_or_else(|e| panic!("{e}\n{ptx}"));
    let entry = entries(&module)[0].to_owned();
    Program::lower(&module, &ptx, &entry).unwrap_or_else(|e| panic!("{e}\n{ptx}"))
}

/// All outcomes that are seen under the two kinds of weak schedules.
fn seen(threads: &[Vec<Op>], seeds: u64) -> BTreeSet<Outcome> {
    let program = lowered(threads);
    let random = (0..seeds).map(Some);
    std::iter::once(None)
        .chain(random)
        .map(|seed| run(&program, threads, ScheduleSpec::Weak { seed }))
        .collect()
}

/// A relation between events.
#[derive(Clone)]
struct Relation(Vec<u32>);

impl Relation {
    fn new(events: usize) -> Relation {
        Relation(vec![0; events])
    }
    fn add(&mut self, a: usize, b: usize) {
        self.0[a] |= 1 << b;
    }
    fn has(&self, a: usize, b: usize) -> bool {
        self.0[a] >> b & 1 == 1
    }
    fn close(&mut self) {
        for via in 0..self.0.len() {
            for a in 0..self.0.len() {
                if self.has(a, via) {
                    self.0[a] |= self.0[via];
                }
            }
        }
    }
    fn is_cyclic(&self) -> bool {
        let mut closed = self.clone();
        closed.close();
        (0..self.0.len()).any(|a| closed.has(a, a))
    }
    fn pairs(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        let n = self.0.len();
        (0..n).flat_map(move |a| (0..n).filter(move |b| self.has(a, *b)).map(move |b| (a, b)))
    }
}

/// Every order of some things.
fn orders(things: &[usize]) -> Vec<Vec<usize>> {
    let Some((first, rest)) = things.split_first() else {
        return vec![Vec::new()];
    };
    let mut all = Vec::new();
    for order in orders(rest) {
        for at in 0..=order.len() {
            let mut longer = order.clone();
            longer.insert(at, *first);
            all.push(longer);
        }
    }
    all
}

/// A program's events: one for each place's first value, then the operations of the threads.
struct Events {
    ops: Vec<Op>,
    thread: Vec<Option<usize>>,
}

impl Events {
    fn of(threads: &[Vec<Op>]) -> Events {
        let mut events = Events {
            ops: (0..PLACES).map(|place| Store(place, 0, false)).collect(),
            thread: vec![None; PLACES],
        };
        for (t, ops) in threads.iter().enumerate() {
            events.ops.extend(ops);
            events.thread.extend(vec![Some(t); ops.len()]);
        }
        events
    }
    fn writes(&self, place: usize) -> Vec<usize> {
        let all = 0..self.ops.len();
        all.filter(|e| self.ops[*e].place() == Some(place) && self.ops[*e].writes().is_some())
            .collect()
    }
    fn before_in_program(&self, a: usize, b: usize) -> bool {
        a < b && self.thread[a].is_some() && self.thread[a] == self.thread[b]
    }
}

/// The outcomes that the axioms allow.
fn allowed(threads: &[Vec<Op>]) -> BTreeSet<Outcome> {
    let events = Events::of(threads);
    let n = events.ops.len();
    let reads: Vec<usize> = (0..n).filter(|e| events.ops[*e].reads()).collect();
    let fences: Vec<usize> = (0..n)
        .filter(|e| events.ops[*e] == Fence(self::Fence::Sc))
        .collect();
    let coherence: Vec<Vec<Vec<usize>>> = (0..PLACES)
        .map(|place| {
            let later: Vec<usize> = events
                .writes(place)
                .into_iter()
                .filter(|w| *w >= PLACES)
                .collect();
            let mut all = orders(&later);
            all.iter_mut().for_each(|order| order.insert(0, place));
            all
        })
        .collect();
    let sources: Vec<Vec<usize>> = reads
        .iter()
        .map(|r| {
            let place = events.ops[*r].place().expect("a place");
            events
                .writes(place)
                .into_iter()
                .filter(|w| w != r)
                .collect()
        })
        .collect();
    let mut outcomes = BTreeSet::new();
    let sc_orders = orders(&fences);
    let mut choice = vec![0; reads.len()];
    loop {
        let from: Vec<usize> = choice.iter().zip(&sources).map(|(c, s)| s[*c]).collect();
        for x in &coherence[0] {
            for y in &coherence[1] {
                let order = [x, y];
                let allowed = |sc| is_allowed(&events, &reads, &from, order, sc);
                if sc_orders.iter().any(|sc| allowed(sc)) {
                    let value = |w: &usize| events.ops[*w].writes().expect("a write");
                    let last = order
                        .iter()
                        .map(|o| value(o.last().expect("the first value")));
                    outcomes.insert(from.iter().map(value).chain(last).collect());
                }
            }
        }
        let Some(at) = (0..choice.len()).find(|i| choice[*i] + 1 < sources[*i].len()) else {
            return outcomes;
        };
        choice[at] += 1;
        choice[..at].fill(0);
    }
}

/// Whether a candidate execution satisfies the axioms.
fn is_allowed(
    events: &Events,
    reads: &[usize],
    from: &[usize],
    order: [&Vec<usize>; PLACES],
    sc: &[usize],
) -> bool {
    let n = events.ops.len();
    let ops = &events.ops;
    let same_place =
        |a: usize, b: usize| ops[a].place().is_some() && ops[a].place() == ops[b].place();
    let mut co = Relation::new(n);
    for order in order {
        for (i, a) in order.iter().enumerate() {
            order[i + 1..].iter().for_each(|b| co.add(*a, *b));
        }
    }
    let (mut rf, mut fr) = (Relation::new(n), Relation::new(n));
    for (r, w) in reads.iter().zip(from) {
        rf.add(*w, *r);
        (0..n)
            .filter(|later| co.has(*w, *later) && later != r)
            .for_each(|later| fr.add(*r, later));
    }
    // "Atomicity": nothing comes between what a read-modify-write reads and what it writes.
    for (r, w) in reads.iter().zip(from) {
        let between = |e: usize| co.has(*w, e) && co.has(e, *r);
        if ops[*r].writes().is_some() && (!co.has(*w, *r) || (0..n).any(between)) {
            return false;
        }
    }
    // "SC-per-location"
    let mut local = Relation::new(n);
    for (a, b) in rf.pairs().chain(co.pairs()).chain(fr.pairs()) {
        local.add(a, b);
    }
    for a in 0..n {
        for b in (0..n).filter(|b| events.before_in_program(a, *b) && same_place(a, *b)) {
            local.add(a, b);
        }
    }
    if local.is_cyclic() {
        return false;
    }
    // "Observation Order": of morally strong operations, and through read-modify-writes.
    let strong = |e: usize| !ops[e].is_weak();
    let mut strong_rf = Relation::new(n);
    rf.pairs()
        .filter(|(w, r)| strong(*w) && strong(*r))
        .for_each(|(w, r)| strong_rf.add(w, r));
    let rf_of_all = std::mem::replace(&mut rf, strong_rf);
    let mut observed = rf.clone();
    for _ in 0..n {
        for (w, z) in observed
            .clone()
            .pairs()
            .filter(|(_, z)| ops[*z].writes().is_some())
        {
            (0..n)
                .filter(|r| rf.has(z, *r))
                .for_each(|r| observed.add(w, r));
        }
    }
    let rf = rf_of_all;
    // "Release and Acquire Patterns": first operation and write, read and last operation.
    let fence = |e: usize| matches!(ops[e], Fence(self::Fence::AcqRel | self::Fence::Sc));
    let (mut releases, mut acquires) = (Vec::new(), Vec::new());
    for a in 0..n {
        if ops[a].releases() {
            releases.push((a, a));
        }
        if ops[a].acquires() {
            acquires.push((a, a));
        }
        for b in (0..n).filter(|b| events.before_in_program(a, *b)) {
            let carried = fence(a) || ops[a].releases() && same_place(a, b);
            if carried && ops[b].writes().is_some() && strong(b) {
                releases.push((a, b));
            }
            let completed = fence(b) || ops[b].acquires() && same_place(a, b);
            if completed && ops[a].reads() && strong(a) {
                acquires.push((a, b));
            }
        }
    }
    // "Base Causality Order": program order and what synchronizes.
    let mut base = Relation::new(n);
    for a in 0..n {
        (0..n)
            .filter(|b| events.before_in_program(a, *b))
            .for_each(|b| base.add(a, b));
    }
    for (first, w) in &releases {
        for (_, last) in acquires.iter().filter(|(r, _)| observed.has(*w, *r)) {
            base.add(*first, *last);
        }
    }
    for (i, a) in sc.iter().enumerate() {
        sc[i + 1..].iter().for_each(|b| base.add(*a, *b));
    }
    base.close();
    // "Causality Order"
    let mut causality = base.clone();
    for (x, z) in observed.pairs() {
        (0..n)
            .filter(|y| base.has(z, *y))
            .for_each(|y| causality.add(x, y));
    }
    let rank = |fence: usize| sc.iter().position(|f| *f == fence);
    causality.pairs().all(|(a, b)| {
        // "Coherence", "Fence-SC", "Causality"; the first values come before everything.
        let coherent = !same_place(a, b) || !co.has(b, a);
        let fenced = match (rank(a), rank(b)) {
            (Some(a), Some(b)) => a < b,
            _ => true,
        };
        coherent && fenced && a != b && !rf.has(b, a) && !fr.has(b, a)
    })
}

fn op() -> impl Strategy<Value = Op> {
    let place = 0..PLACES;
    prop_oneof![
        4 => (place.clone(), 1..4u32, any::<bool>()).prop_map(|(p, v, r)| Store(p, v, r)),
        4 => (place.clone(), any::<bool>()).prop_map(|(p, a)| Load(p, a)),
        2 => (place.clone(), 1..4u32).prop_map(|(p, v)| WeakStore(p, v)),
        2 => place.clone().prop_map(WeakLoad),
        1 => (place, 1..4u32, any::<bool>(), any::<bool>())
            .prop_map(|(p, v, a, r)| Exchange(p, v, a, r)),
        1 => Just(Fence(self::Fence::AcqRel)),
        2 => Just(Fence(self::Fence::Sc)),
        1 => Just(Fence(self::Fence::ScOfBlock)),
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
fn store_buffering(first: &[Fence], second: &[Fence]) -> [Vec<Op>; 2] {
    let thread = |own: usize, fences: &[Fence]| {
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
    use self::Fence::{AcqRel, Sc, ScOfBlock};
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
    use self::Fence::Sc;
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
    let shapes: [(&str, Vec<Vec<Op>>, Outcome, bool); 10] = [
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
