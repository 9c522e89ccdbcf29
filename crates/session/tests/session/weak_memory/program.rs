//! Random programs of a few operations, and what runs of them under the `weak` schedules leave.

use detect::rules::Rule;
use ptx::parser::parse;
use session::{Options, Session};
use simt::{Dim3, Launch, Program, ScheduleSpec, entries};
use std::collections::BTreeSet;

/// An operation of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
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
    Fence(FenceKind),
}
use Op::*;

/// A fence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FenceKind {
    /// `fence.acq_rel.gpu`
    AcqRel,
    /// `fence.sc.gpu`
    Sc,
    /// `fence.sc.cta`: of a thread that is alone in its block, it orders nothing for anybody.
    ScOfBlock,
}

impl Op {
    pub fn place(self) -> Option<usize> {
        match self {
            Store(place, ..) | Load(place, _) | Exchange(place, ..) => Some(place),
            WeakStore(place, _) | WeakLoad(place) => Some(place),
            Fence(_) => None,
        }
    }
    pub fn reads(self) -> bool {
        matches!(self, Load(..) | WeakLoad(..) | Exchange(..))
    }
    pub fn is_weak(self) -> bool {
        matches!(self, WeakStore(..) | WeakLoad(..))
    }
    pub fn writes(self) -> Option<u32> {
        match self {
            Store(_, value, _) | WeakStore(_, value) | Exchange(_, value, ..) => Some(value),
            _ => None,
        }
    }
    pub fn acquires(self) -> bool {
        matches!(self, Load(_, true) | Exchange(_, _, true, _))
    }
    pub fn releases(self) -> bool {
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
            Fence(FenceKind::AcqRel) => "fence.acq_rel.gpu;".to_owned(),
            Fence(FenceKind::Sc) => "fence.sc.gpu;".to_owned(),
            Fence(FenceKind::ScOfBlock) => "fence.sc.cta;".to_owned(),
        }
    }
}

/// Places of the memory.
pub const PLACES: usize = 2;
/// What a run leaves: what each operation of each thread read, then what the places hold.
pub type Outcome = Vec<u32>;

/// The outcome of one run on the simulator, and whether it has a data race.
fn run(program: &Program, threads: &[Vec<Op>], schedule: ScheduleSpec) -> (Outcome, bool) {
    let mut session = Session::new(Options {
        schedule,
        ..Options::default()
    });
    let buffer = session.device().alloc(4096, "memory").expect("memory");
    session.device().write(buffer, &[0; 4096]).expect("inside");
    let launch = Launch {
        cluster: None,
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
    let narrow = Fence(FenceKind::ScOfBlock);
    let narrow = threads.iter().flatten().any(|op| *op == narrow);
    let mut findings = outcome.findings.iter();
    assert!(
        findings.all(|f| f.rule == Rule::UnorderedCommunication
            || narrow && f.rule == Rule::InsufficientScope
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
    let places = threads.iter().flatten().filter_map(|op| op.place());
    let places = places.max().map_or(PLACES, |most| PLACES.max(most + 1));
    left.extend((0..places).map(|place| word(64 * place)));
    let raced = outcome.findings.iter().any(|f| f.rule == Rule::DataRace);
    (left, raced)
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
pub fn seen(threads: &[Vec<Op>], seeds: u64) -> BTreeSet<Outcome> {
    let program = lowered(threads);
    let random = (0..seeds).map(Some);
    std::iter::once(None)
        .chain(random)
        .map(|seed| run(&program, threads, ScheduleSpec::Weak { seed }).0)
        .collect()
}

/// The outcome under one weak schedule, and whether that run has a data race.
pub fn judged(threads: &[Vec<Op>], seed: u64) -> (Outcome, bool) {
    let program = lowered(threads);
    run(&program, threads, ScheduleSpec::Weak { seed: Some(seed) })
}

/// The word at `at` that a kernel leaves under a weak schedule: its grid and block, what memory begins with is 0, but for the word itself,
/// which is 7.
pub fn run_ptx(ptx: &str, (grid, block): (u32, u32), seed: u64, at: u64) -> u32 {
    let module = parse(ptx).unwrap_or_else(|e| panic!("{e}\n{ptx}"));
    let entry = entries(&module)[0].to_owned();
    let program = Program::lower(&module, ptx, &entry).unwrap_or_else(|e| panic!("{e}\n{ptx}"));
    let mut session = Session::new(Options {
        schedule: ScheduleSpec::Weak { seed: Some(seed) },
        ..Options::default()
    });
    let buffer = session.device().alloc(256, "memory").expect("memory");
    session.device().write(buffer, &[0; 256]).expect("inside");
    let word = 7u32.to_le_bytes();
    session.device().write(buffer + at, &word).expect("inside");
    let launch = Launch {
        cluster: None,
        grid: Dim3::linear(grid),
        block: Dim3::linear(block),
        dynamic_shared: 0,
        params: buffer.to_le_bytes().to_vec(),
        cooperative: true,
        number: 0,
    };
    session.launch(&program, &launch).expect("a run that ends");
    let (_, device) = session.finish();
    let bytes = device.read(buffer + at, 4).expect("inside");
    u32::from_le_bytes(bytes.try_into().expect("four bytes"))
}
