//! Exploration by reversal against all interleavings: where it comes to its end, the final memories that its runs left are those of the
//! interleavings of a random program, which a small interpreter goes through one by one.

use proptest::prelude::*;
use ptx::parser::parse;
use session::reversal::Reversals;
use session::{Options, Outcome, Session};
use simt::{Dim3, Launch, Program, ScheduleSpec, entries};
use std::collections::BTreeSet;

/// An operation of a thread; places are words of global memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Op {
    /// `st`: place, value, whether it is relaxed and not weak.
    Store(usize, u32, bool),
    /// `ld`: place, whether it is relaxed and not weak.
    Load(usize, bool),
    /// `atom.exch`
    Exchange(usize, u32),
    /// `atom.add`
    Add(usize, u32),
    /// `atom.cas` from one value to another.
    Swap(usize, u32, u32),
    /// `st` where what was read last is a certain value: the value, place, what is stored.
    StoreIf(u32, usize, u32),
    /// `st` at the place that what was read last says.
    StoreAt(u32),
    /// `bar.sync`
    Barrier,
}
use Op::*;

const PLACES: usize = 2;

/// Block and thread of each of three threads; whether they are of one block.
const WHERE: [([(u32, u32); 3], bool); 3] = [
    ([(0, 0), (0, 1), (0, 32)], true),
    ([(0, 0), (1, 0), (2, 0)], false),
    ([(0, 0), (0, 1), (1, 0)], false),
];

/// Memory, then what each operation of each thread read.
type Left = Vec<u32>;

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct State {
    memory: [u32; PLACES],
    at: Vec<usize>,
    last: Vec<u32>,
    read: Vec<Vec<u32>>,
}

fn step(threads: &[Vec<Op>], s: &State, t: usize) -> State {
    let mut s = s.clone();
    let mut read = None;
    match threads[t][s.at[t]] {
        Store(place, value, _) => s.memory[place] = value,
        Load(place, _) => read = Some(s.memory[place]),
        Exchange(place, value) => read = Some(std::mem::replace(&mut s.memory[place], value)),
        Add(place, value) => {
            read = Some(s.memory[place]);
            s.memory[place] += value;
        }
        Swap(place, from, to) => {
            read = Some(s.memory[place]);
            if s.memory[place] == from {
                s.memory[place] = to;
            }
        }
        StoreIf(if_read, place, value) if s.last[t] == if_read => s.memory[place] = value,
        StoreIf(..) | Barrier => {}
        StoreAt(value) => s.memory[s.last[t] as usize % PLACES] = value,
    }
    if let Some(read) = read {
        s.last[t] = read;
        s.read[t].push(read);
    }
    s.at[t] += 1;
    s
}

/// What all interleavings leave.
fn interleavings(threads: &[Vec<Op>]) -> BTreeSet<Left> {
    let n = threads.len();
    let mut left = BTreeSet::new();
    let mut seen = BTreeSet::new();
    let mut todo = vec![State {
        memory: [0; PLACES],
        at: vec![0; n],
        last: vec![0; n],
        read: vec![Vec::new(); n],
    }];
    while let Some(s) = todo.pop() {
        if !seen.insert(s.clone()) {
            continue;
        }
        let op = |t: usize| threads[t].get(s.at[t]);
        let live: Vec<usize> = (0..n).filter(|t| op(*t).is_some()).collect();
        if live.is_empty() {
            left.insert([s.memory.to_vec(), s.read.concat()].concat());
        } else if live.iter().all(|t| op(*t) == Some(&Barrier)) {
            todo.push(live.iter().fold(s.clone(), |s, t| step(threads, &s, *t)));
        }
        let free = live.iter().filter(|t| op(**t) != Some(&Barrier));
        todo.extend(free.map(|t| step(threads, &s, *t)));
    }
    left
}

fn lowered(threads: &[Vec<Op>], place: &[(u32, u32)]) -> Program {
    let mut body = String::from("mov.u32 %r20, %ctaid.x; mov.u32 %r21, %tid.x;\n");
    for (t, (block, thread)) in place.iter().enumerate().take(threads.len()) {
        body += &format!(
            "setp.eq.u32 %p1, %r20, {block}; setp.eq.and.u32 %p1, %r21, {thread}, %p1; @%p1 bra T{t};\n"
        );
    }
    body += "ret;\n";
    for (t, ops) in threads.iter().enumerate() {
        body += &format!("T{t}:\nmov.u32 %r22, 0;\n");
        let mut reads = 0;
        for op in ops {
            let order = |relaxed: bool| if relaxed { ".relaxed.gpu" } else { "" };
            let at = |place: usize| format!("[%x+{}]", 64 * place);
            body += &match *op {
                Store(p, v, r) => format!("st{}.global.u32 {}, {v};", order(r), at(p)),
                Load(p, r) => format!("ld{}.global.u32 %r{reads}, {};", order(r), at(p)),
                Exchange(p, v) => format!("atom.global.exch.b32 %r{reads}, {}, {v};", at(p)),
                Add(p, v) => format!("atom.global.add.u32 %r{reads}, {}, {v};", at(p)),
                Swap(p, from, to) => {
                    format!("atom.global.cas.b32 %r{reads}, {}, {from}, {to};", at(p))
                }
                StoreIf(read, p, v) => format!(
                    "setp.eq.u32 %p1, %r22, {read}; @%p1 st.relaxed.gpu.global.u32 {}, {v};",
                    at(p)
                ),
                StoreAt(v) => format!(
                    "and.b32 %r23, %r22, 1; mul.wide.u32 %y, %r23, 64; add.u64 %y, %x, %y; st.relaxed.gpu.global.u32 [%y], {v};"
                ),
                Barrier => "bar.sync 0;".to_owned(),
            };
            if matches!(op, Load(..) | Exchange(..) | Add(..) | Swap(..)) {
                body += &format!(" mov.u32 %r22, %r{reads};");
                reads += 1;
            }
            body += "\n";
        }
        for k in 0..reads {
            body += &format!("st.global.u32 [%x+{}], %r{k};\n", 1024 + 64 * t + 4 * k);
        }
        body += "ret;\n";
    }
    let ptx = format!(
        ".version 8.3\n.target sm_90\n.address_size 64\n\
         .visible .entry k(.param .u64 memory) {{\n\
         .reg .b32 %r<24>; .reg .pred %p<2>; .reg .b64 %x, %y;\n\
         ld.param.u64 %x, [memory]; cvta.to.global.u64 %x, %x;\n{body}\n}}\n"
    );
    let module = parse(&ptx).unwrap_or_else(|e| panic!("{e}\n{ptx}"));
    let entry = entries(&module)[0].to_owned();
    Program::lower(&module, &ptx, &entry).unwrap_or_else(|e| panic!("{e}\n{ptx}"))
}

fn run(program: &Program, threads: &[Vec<Op>], schedule: &ScheduleSpec) -> (Left, Outcome) {
    let mut session = Session::new(Options {
        schedule: schedule.clone(),
        communication: true,
        ..Options::default()
    });
    let buffer = session.device().alloc(4096, "memory").expect("memory");
    session.device().write(buffer, &[0; 4096]).expect("inside");
    let launch = Launch {
        cluster: None,
        grid: Dim3::linear(3),
        block: Dim3::linear(33),
        dynamic_shared: 0,
        params: buffer.to_le_bytes().to_vec(),
        cooperative: false,
        number: 0,
    };
    session.launch(program, &launch).expect("a run that ends");
    let (outcome, device) = session.finish();
    let word = |at: usize| {
        let bytes = device.read(buffer + at as u64, 4).expect("inside");
        u32::from_le_bytes(bytes.try_into().expect("four bytes"))
    };
    let mut left: Left = (0..PLACES).map(|place| word(64 * place)).collect();
    for (t, ops) in threads.iter().enumerate() {
        let reads = ops
            .iter()
            .filter(|op| matches!(op, Load(..) | Exchange(..) | Add(..) | Swap(..)));
        left.extend((0..reads.count()).map(|k| word(1024 + 64 * t + 4 * k)));
    }
    (left, outcome)
}

/// What the runs of the exploration left, and how many they were; it must come to its end.
fn explored(threads: &[Vec<Op>], place: &[(u32, u32)]) -> (BTreeSet<Left>, usize) {
    let program = lowered(threads, place);
    let mut reversals = Reversals::new();
    let mut left = BTreeSet::new();
    let mut next = Some(ScheduleSpec::Lockstep);
    let mut runs = 0;
    while let Some(schedule) = next {
        runs += 1;
        assert!(runs < 100_000, "{threads:?}");
        let (memory, outcome) = run(&program, threads, &schedule);
        left.insert(memory);
        reversals.add(&schedule, outcome.communication.as_ref());
        next = reversals.next();
    }
    // Without strong accesses there is no log, and nothing to try.
    let strong = program.facts.strong_global;
    assert_eq!(reversals.are_all(), strong, "{threads:?}");
    (left, runs)
}

fn op() -> impl Strategy<Value = Op> {
    let place = || 0..PLACES;
    let value = || 1..3u32;
    prop_oneof![
        3 => (place(), value(), any::<bool>()).prop_map(|(p, v, r)| Store(p, v, r)),
        3 => (place(), any::<bool>()).prop_map(|(p, r)| Load(p, r)),
        1 => (place(), value()).prop_map(|(p, v)| Exchange(p, v)),
        2 => (place(), value()).prop_map(|(p, v)| Add(p, v)),
        1 => (place(), 0..3u32, value()).prop_map(|(p, from, to)| Swap(p, from, to)),
        2 => (0..3u32, place(), value()).prop_map(|(r, p, v)| StoreIf(r, p, v)),
        1 => value().prop_map(StoreAt),
    ]
}

fn program() -> impl Strategy<Value = (usize, Vec<Vec<Op>>)> {
    let threads = prop_oneof![
        prop::collection::vec(prop::collection::vec(op(), 1..=4), 2),
        prop::collection::vec(prop::collection::vec(op(), 1..=3), 3),
    ];
    (0..WHERE.len(), threads, prop::option::of(0..4usize)).prop_map(
        |(place, mut threads, barrier)| {
            // All or none wait for each other, for they are of one block.
            if let (Some(at), true) = (barrier, WHERE[place].1) {
                for ops in &mut threads {
                    ops.insert(at.min(ops.len()), Barrier);
                }
            }
            // Something strong, so that there is a log.
            threads[0].push(Load(0, true));
            (place, threads)
        },
    )
}

proptest! {
    #![proptest_config(testing::random(300))]

    #[test]
    fn exploration_to_its_end_leaves_what_all_interleavings_leave((place, threads) in program()) {
        let all = interleavings(&threads);
        let (left, runs) = explored(&threads, &WHERE[place].0);
        prop_assert_eq!(left, all, "in {} runs", runs);
    }
}

/// Two threads that count up a word come in either order: two runs, and none more.
#[test]
fn each_order_is_tried_once() {
    let count = || vec![Add(0, 1)];
    for (place, _) in WHERE {
        let (left, runs) = explored(&[count(), count()], &place);
        assert_eq!((left.len(), runs), (2, 2));
        let (left, runs) = explored(&[count(), count(), count()], &place);
        assert_eq!((left.len(), runs), (6, 6));
    }
}
