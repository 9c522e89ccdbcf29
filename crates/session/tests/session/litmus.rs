//! Litmus tests of the PTX memory model, through the simulator: each with the exact
//! verdict it must get, at every placement of the threads, with every fence and
//! qualifier weakened or left out.

use detect::rules::Rule;
use ptx::parser::parse;
use session::{Options, Session};
use simt::{Dim3, Launch, Program, entries};
use std::collections::BTreeSet;

/// Where the threads of a test are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// Lanes of one warp.
    Warp,
    /// Warps of one block.
    Block,
    /// Blocks of a grid.
    Grid,
}
use Place::*;

const PLACES: [Place; 3] = [Warp, Block, Grid];
const SCHEDULES: [&str; 4] = ["lockstep", "lane-by-lane", "random:1", "pct:3:2"];

/// Runs one piece of PTX for each thread; the pieces see `%x` to `%z`, words of global memory
/// far from each other. Registers of a piece: `%r1` to `%r9`, `%p1`.
fn run(place: Place, pieces: &[&str], schedule: &str) -> BTreeSet<Rule> {
    let count = pieces.len() as u32;
    let (grid, block, role) = match place {
        Warp => (1, count, "mov.u32 %r0, %tid.x;".to_owned()),
        Block => (
            1,
            count * 32,
            "mov.u32 %r1, %tid.x; and.b32 %r2, %r1, 31; setp.ne.u32 %p1, %r2, 0; @%p1 ret; \
             shr.u32 %r0, %r1, 5;"
                .to_owned(),
        ),
        Grid => (count, 1, "mov.u32 %r0, %ctaid.x;".to_owned()),
    };
    let mut body = role;
    for (i, _) in pieces.iter().enumerate() {
        body += &format!("\nsetp.eq.u32 %p1, %r0, {i}; @%p1 bra T{i};");
    }
    body += "\nret;";
    for (i, piece) in pieces.iter().enumerate() {
        body += &format!("\nT{i}:\n{piece}\nret;");
    }
    verdict(&body, grid, block, schedule)
}

/// The rules that a kernel breaks. It has a buffer at `%x`.
fn verdict(body: &str, grid: u32, block: u32, schedule: &str) -> BTreeSet<Rule> {
    let ptx = format!(
        ".version 8.3\n.target sm_90\n.address_size 64\n\
         .visible .entry litmus(.param .u64 memory) {{\n\
         .reg .b32 %r<10>; .reg .pred %p<3>; .reg .b64 %x, %y, %z, %a;\n\
         .shared .align 4 .b8 s[256];\n\
         ld.param.u64 %x, [memory]; cvta.to.global.u64 %x, %x;\n\
         add.s64 %y, %x, 256; add.s64 %z, %x, 512;\n{body}\n}}\n"
    );
    let module = parse(&ptx).unwrap_or_else(|e| panic!("{e}\n{ptx}"));
    let entry = entries(&module)[0].to_owned();
    let program = Program::lower(&module, &ptx, &entry).unwrap_or_else(|e| panic!("{e}\n{ptx}"));
    let mut session = Session::new(Options {
        schedule: schedule.parse().expect("a schedule"),
        ..Options::default()
    });
    let buffer = session.device().alloc(1024, "memory").expect("memory");
    session.device().write(buffer, &[0; 1024]).expect("inside");
    let launch = Launch {
        cluster: None,
        grid: Dim3::linear(grid),
        block: Dim3::linear(block),
        dynamic_shared: 0,
        params: buffer.to_le_bytes().to_vec(),
        cooperative: grid > 1,
        number: 0,
    };
    let ended = session.launch(&program, &launch);
    assert!(ended.is_ok(), "{schedule}: {ended:?}\n{ptx}");
    let (outcome, _) = session.finish();
    outcome
        .findings
        .iter()
        .map(|f| f.rule)
        // Threads that take no part leave early; that is not the question here.
        .filter(|r| *r != Rule::BarrierAfterExit)
        // Neither is whether strong accesses that don't race are enough for what is passed on (see `communication`).
        .filter(|r| *r != Rule::UnorderedCommunication)
        .collect()
}

fn expect(place: Place, pieces: &[&str], expected: &[Rule]) {
    let expected: BTreeSet<Rule> = expected.iter().copied().collect();
    for schedule in SCHEDULES {
        let found = run(place, pieces, schedule);
        assert_eq!(found, expected, "{place:?}, {schedule}: {pieces:#?}");
    }
}

/// How far the strong operations of a pattern reach, or that there are none.
#[derive(Clone, Copy, Debug)]
struct Form {
    /// Before the flag is written, or after it was read.
    fence: &'static str,
    /// The flag's instruction up to the operands.
    flag: &'static str,
    /// Scope of the flag operation; `None` if it is weak.
    reach: Option<bool>,
    /// Scope of what synchronises; `None` if nothing does.
    sync: Option<bool>,
}

const WIDE: Option<bool> = Some(true);
const NARROW: Option<bool> = Some(false);

const fn form(
    fence: &'static str,
    flag: &'static str,
    reach: Option<bool>,
    sync: Option<bool>,
) -> Form {
    Form {
        fence,
        flag,
        reach,
        sync,
    }
}

/// Ways to raise a flag.
const SEND: [Form; 13] = [
    form("", "st.release.gpu.global.u32", WIDE, WIDE),
    form("", "st.release.sys.global.u32", WIDE, WIDE),
    form("", "st.release.cta.global.u32", NARROW, NARROW),
    form(
        "fence.acq_rel.gpu;",
        "st.relaxed.gpu.global.u32",
        WIDE,
        WIDE,
    ),
    form("fence.sc.gpu;", "st.relaxed.sys.global.u32", WIDE, WIDE),
    form("membar.gl;", "st.volatile.global.u32", WIDE, WIDE),
    form("membar.cta;", "st.volatile.global.u32", WIDE, NARROW),
    form(
        "fence.acq_rel.cta;",
        "st.relaxed.gpu.global.u32",
        WIDE,
        NARROW,
    ),
    form(
        "fence.acq_rel.gpu;",
        "st.relaxed.cta.global.u32",
        NARROW,
        WIDE,
    ),
    form("", "st.relaxed.gpu.global.u32", WIDE, None),
    form("", "st.volatile.global.u32", WIDE, None),
    form("fence.acq_rel.gpu;", "st.global.u32", None, WIDE),
    form("", "st.global.u32", None, None),
];

/// Ways to wait for it.
const RECEIVE: [Form; 11] = [
    form("", "ld.acquire.gpu.global.u32", WIDE, WIDE),
    form("", "ld.acquire.cta.global.u32", NARROW, NARROW),
    form(
        "fence.acq_rel.gpu;",
        "ld.relaxed.gpu.global.u32",
        WIDE,
        WIDE,
    ),
    form("fence.sc.sys;", "ld.relaxed.gpu.global.u32", WIDE, WIDE),
    form("membar.gl;", "ld.volatile.global.u32", WIDE, WIDE),
    form(
        "fence.acq_rel.cta;",
        "ld.relaxed.gpu.global.u32",
        WIDE,
        NARROW,
    ),
    form(
        "fence.acq_rel.gpu;",
        "ld.relaxed.cta.global.u32",
        NARROW,
        WIDE,
    ),
    form("", "ld.relaxed.gpu.global.u32", WIDE, None),
    form("", "ld.volatile.global.u32", WIDE, None),
    form("fence.acq_rel.gpu;", "ld.global.u32", None, WIDE),
    form("", "ld.global.u32", None, None),
];

/// A value, a flag: the receiver waits for the flag and reads the value.
#[test]
fn message_passing() {
    for place in PLACES {
        for send in SEND {
            for receive in RECEIVE {
                let t0 = format!(
                    "st.global.u32 [%x], 1; {} {} [%y], 1;",
                    send.fence, send.flag
                );
                let t1 = format!(
                    "W: {} %r1, [%y]; setp.eq.u32 %p1, %r1, 0; @%p1 bra W; {} ld.global.u32 %r2, [%x];",
                    receive.flag, receive.fence
                );
                expect(place, &[&t0, &t1], &message_verdict(place, &send, &receive));
            }
        }
    }
}

fn message_verdict(place: Place, send: &Form, receive: &Form) -> Vec<Rule> {
    let (Some(a), Some(b)) = (send.reach, receive.reach) else {
        return vec![Rule::DataRace];
    };
    let flag_reaches = place != Grid || a && b;
    let mut rules = Vec::new();
    if !flag_reaches {
        rules.push(Rule::InsufficientScope);
    }
    match (send.sync, receive.sync) {
        (Some(a), Some(b)) if flag_reaches && (place != Grid || a && b) => {}
        (Some(_), Some(_)) => rules.push(Rule::InsufficientScope),
        _ => rules.push(Rule::DataRace),
    }
    rules
}

/// A lock taken by compare-and-swap, around an ordinary increment.
#[test]
fn locks() {
    use Rule::*;
    let lock = |take: &str, after: &str, before: &str, free: &str| {
        format!(
            "W: {take} %r1, [%y], 0, 1; setp.ne.u32 %p1, %r1, 0; @%p1 bra W; {after} \
             ld.global.u32 %r2, [%x]; add.u32 %r2, %r2, 1; st.global.u32 [%x], %r2; {before} {free};"
        )
    };
    let (acquire, relaxed) = (
        "atom.acquire.gpu.global.cas.b32",
        "atom.relaxed.gpu.global.cas.b32",
    );
    let exchange = "atom.release.gpu.global.exch.b32 %r3, [%y], 0";
    let loose = "atom.relaxed.gpu.global.exch.b32 %r3, [%y], 0";
    let fence = "fence.acq_rel.gpu;";
    // Take, fence, fence, free; verdict within a block; verdict between blocks.
    let table: [(String, &[Rule], &[Rule]); 10] = [
        (lock(acquire, "", "", exchange), &[], &[]),
        (
            lock(acquire, "", "", "st.release.gpu.global.u32 [%y], 0"),
            &[],
            &[],
        ),
        (lock(relaxed, fence, fence, loose), &[], &[]),
        (lock(relaxed, "membar.gl;", "membar.gl;", loose), &[], &[]),
        (lock(relaxed, "", fence, loose), &[DataRace], &[DataRace]),
        (lock(relaxed, fence, "", loose), &[DataRace], &[DataRace]),
        (
            lock(acquire, "", "", "st.global.u32 [%y], 0"),
            &[DataRace],
            &[DataRace],
        ),
        (
            lock(relaxed, "fence.acq_rel.cta;", fence, loose),
            &[],
            &[InsufficientScope],
        ),
        (
            lock(relaxed, fence, "fence.acq_rel.cta;", loose),
            &[],
            &[InsufficientScope],
        ),
        (
            lock(
                "atom.acquire.cta.global.cas.b32",
                "",
                "",
                "atom.release.cta.global.exch.b32 %r3, [%y], 0",
            ),
            &[],
            &[InsufficientScope],
        ),
    ];
    for (thread, block, grid) in &table {
        let other = thread.replace("W:", "V:").replace("bra W", "bra V");
        for place in PLACES {
            let expected = if place == Grid { grid } else { block };
            expect(place, &[thread, &other], expected);
        }
    }
}

/// The last to increment a counter reads what all have written, and resets the counter.
#[test]
fn last_one_reads_all() {
    use Rule::*;
    let thread = |i: u32, before: &str, atom: &str, after: &str| {
        format!(
            "add.s64 %a, %x, {}; st.global.u32 [%a], 7; {before} {atom}.global.add.u32 %r1, [%y], 1; \
             setp.ne.u32 %p1, %r1, 2; @%p1 ret; {after} \
             ld.global.u32 %r2, [%x]; ld.global.u32 %r3, [%x+4]; ld.global.u32 %r4, [%x+8]; \
             st.global.u32 [%y], 0;",
            i * 4
        )
    };
    let gpu = "fence.acq_rel.gpu;";
    let cta = "fence.acq_rel.cta;";
    let table: [(&str, &str, &str, &[Rule], &[Rule]); 7] = [
        (gpu, "atom.relaxed.gpu", gpu, &[], &[]),
        ("", "atom.acq_rel.gpu", "", &[], &[]),
        (gpu, "atom.relaxed.gpu", "", &[DataRace], &[DataRace]),
        ("", "atom.relaxed.gpu", gpu, &[DataRace], &[DataRace]),
        (cta, "atom.relaxed.gpu", gpu, &[], &[InsufficientScope]),
        (gpu, "atom.relaxed.gpu", cta, &[], &[InsufficientScope]),
        // The plain reset races with atomics that it has not observed.
        (
            gpu,
            "atom.relaxed.cta",
            gpu,
            &[],
            &[DataRace, InsufficientScope],
        ),
    ];
    for (before, atom, after, block, grid) in table {
        let all: Vec<String> = (0..3).map(|i| thread(i, before, atom, after)).collect();
        let all: Vec<&str> = all.iter().map(String::as_str).collect();
        for place in PLACES {
            expect(place, &all, if place == Grid { grid } else { block });
        }
    }
}

/// A release is carried on by read-modify-writes, and by nothing else.
#[test]
fn chains_of_read_modify_writes() {
    use Rule::*;
    let send = "st.global.u32 [%x], 1; st.release.gpu.global.u32 [%y], 1;";
    let middle = |instruction: &str| {
        format!(
            "M: ld.relaxed.gpu.global.u32 %r1, [%y]; setp.ne.u32 %p1, %r1, 1; @%p1 bra M; {instruction}; \
             st.relaxed.gpu.global.u32 [%z], 1;"
        )
    };
    // It looks at the chain only once the middle one is done, so that it can't see the first value.
    let receive = "W: ld.relaxed.gpu.global.u32 %r1, [%z]; setp.eq.u32 %p1, %r1, 0; @%p1 bra W; \
                   ld.acquire.gpu.global.u32 %r1, [%y]; setp.ne.u32 %p1, %r1, 2; @%p1 ret; \
                   ld.global.u32 %r2, [%x];";
    let table: [(&str, &[Rule], &[Rule]); 5] = [
        ("atom.relaxed.gpu.global.add.u32 %r2, [%y], 1", &[], &[]),
        ("red.relaxed.gpu.global.add.u32 [%y], 1", &[], &[]),
        (
            "st.relaxed.gpu.global.u32 [%y], 2",
            &[DataRace],
            &[DataRace],
        ),
        (
            "st.release.gpu.global.u32 [%y], 2",
            &[DataRace],
            &[DataRace],
        ),
        (
            "atom.relaxed.cta.global.add.u32 %r2, [%y], 1",
            &[],
            &[InsufficientScope],
        ),
    ];
    for (instruction, block, grid) in table {
        for place in PLACES {
            let expected = if place == Grid { grid } else { block };
            expect(place, &[send, &middle(instruction), receive], expected);
        }
    }
}

/// Causality is cumulative: what the first released, the third has after the second.
#[test]
fn cumulativity() {
    let wait = |label: &str, place: &str| {
        format!(
            "{label}: ld.acquire.gpu.global.u32 %r1, [{place}]; setp.eq.u32 %p1, %r1, 0; @%p1 bra {label};"
        )
    };
    let t0 = "st.global.u32 [%x], 1; st.release.gpu.global.u32 [%y], 1;";
    let pass = wait("M", "%y") + "st.release.gpu.global.u32 [%z], 1;";
    let drop = wait("M", "%y") + "st.relaxed.gpu.global.u32 [%z], 1;";
    let t2 = wait("W", "%z") + "ld.global.u32 %r2, [%x];";
    for place in PLACES {
        expect(place, &[t0, &pass, &t2], &[]);
        expect(place, &[t0, &drop, &t2], &[Rule::DataRace]);
    }
}

/// Store buffering: who reads the other's old value has its fence before the other's. Only
/// `fence.sc` has such an order.
#[test]
fn store_buffering() {
    let first = |fence: &str| {
        format!(
            "st.global.u32 [%x], 1; st.relaxed.gpu.global.u32 [%y], 1; {fence} \
             ld.relaxed.gpu.global.u32 %r1, [%z];"
        )
    };
    let second = |fence: &str| {
        format!(
            "st.relaxed.gpu.global.u32 [%z], 1; {fence} ld.relaxed.gpu.global.u32 %r1, [%y]; \
             setp.eq.u32 %p1, %r1, 0; @%p1 ret; ld.global.u32 %r2, [%x];"
        )
    };
    let table = [
        ("fence.sc.gpu;", "fence.sc.gpu;", None),
        ("membar.gl;", "membar.sys;", None),
        ("fence.acq_rel.gpu;", "fence.sc.gpu;", Some(Rule::DataRace)),
        ("fence.sc.gpu;", "fence.acq_rel.gpu;", Some(Rule::DataRace)),
        ("", "", Some(Rule::DataRace)),
        (
            "fence.sc.cta;",
            "fence.sc.gpu;",
            Some(Rule::InsufficientScope),
        ),
        (
            "fence.sc.gpu;",
            "fence.sc.cta;",
            Some(Rule::InsufficientScope),
        ),
    ];
    for (a, b, expected) in table {
        // The first block runs to its end before the second: it reads the old value.
        let found = run(Grid, &[&first(a), &second(b)], "lane-by-lane");
        assert_eq!(found, expected.into_iter().collect(), "{a} {b}");
    }
}

/// `fence.sc.cluster` orders threads of one cluster. Without clusters in the launch each block is one (PTX ISA, "Scope"): it suffices
/// within a block, and between blocks it reaches nobody.
#[test]
fn fences_of_cluster_scope() {
    let wait = "W: ld.relaxed.gpu.global.u32 %r1, [%y]; setp.eq.u32 %p1, %r1, 0; @%p1 bra W;";
    for kind in ["sc", "acq_rel"] {
        let fence = format!("fence.{kind}.cluster;");
        let send = format!("st.global.u32 [%x], 1; {fence} st.relaxed.gpu.global.u32 [%y], 1;");
        let receive = format!("{wait} {fence} ld.global.u32 %r2, [%x];");
        expect(Warp, &[&send, &receive], &[]);
        expect(Block, &[&send, &receive], &[]);
        expect(Grid, &[&send, &receive], &[Rule::InsufficientScope]);
    }
    // What only `fence.sc` forces: the second reads what the first has written before it.
    let first = "st.global.u32 [%x], 1; st.relaxed.gpu.global.u32 [%y], 1; fence.sc.cluster; \
                 ld.relaxed.gpu.global.u32 %r1, [%z];";
    let second = "st.relaxed.gpu.global.u32 [%z], 1; fence.sc.cluster; \
                  ld.relaxed.gpu.global.u32 %r1, [%y]; setp.eq.u32 %p1, %r1, 0; @%p1 ret; \
                  ld.global.u32 %r2, [%x];";
    for (place, rule) in [(Block, None), (Grid, Some(Rule::InsufficientScope))] {
        let found = run(place, &[first, second], "lane-by-lane");
        assert_eq!(found, rule.into_iter().collect(), "{place:?}");
    }
    let weaker = second.replace("sc.cluster", "acq_rel.cluster");
    let found = run(Block, &[first, &weaker], "lane-by-lane");
    assert_eq!(found, [Rule::DataRace].into());
}

/// Strong operations that only partly overlap are not morally strong.
#[test]
fn partial_overlap_is_a_data_race() {
    let word = "st.relaxed.gpu.global.u32 [%x], 1;";
    let half = "ld.relaxed.gpu.global.u16 %h, [%x];".replace("%h", "%r1");
    let double = "ld.relaxed.gpu.global.u64 %a, [%x];";
    expect(Grid, &[word, double], &[Rule::DataRace]);
    expect(Block, &[word, double], &[Rule::DataRace]);
    expect(Block, &[word, &half], &[Rule::DataRace]);
    expect(Block, &[word, "ld.relaxed.gpu.global.u32 %r1, [%x];"], &[]);
    expect(
        Block,
        &[word, "ld.relaxed.gpu.global.u32 %r1, [%x+4];"],
        &[],
    );
}

/// Lanes that communicate through strong memory rely on lockstep; those that wait don't.
#[test]
fn lanes_of_a_warp() {
    let write = "st.volatile.global.u32 [%x], 1;";
    let use_it = "ld.volatile.global.u32 %r1, [%x]; st.global.u32 [%y], %r1;";
    expect(Warp, &[write, use_it], &[Rule::LockstepAssumption]);
    expect(Block, &[write, use_it], &[]);
    let wait = "W: ld.volatile.global.u32 %r1, [%x]; setp.eq.u32 %p1, %r1, 0; @%p1 bra W;";
    expect(Warp, &[write, wait], &[]);
    let atomic = "atom.global.add.u32 %r1, [%x], 1; st.global.u32 [%y], %r1;";
    expect(Warp, &[write, atomic], &[]);
}

/// Named barriers: who arrives publishes, who waits learns, never the other way round.
#[test]
fn named_barriers() {
    let kernel = |first: &str, second: &str| {
        format!(
            "mov.u32 %r0, %tid.x; setp.ge.u32 %p1, %r0, 32; shl.b32 %r1, %r0, 2; and.b32 %r1, %r1, 127; \
             mov.u32 %r2, s; add.u32 %r2, %r2, %r1; @%p1 bra B;\n{first}\nret;\nB:\n{second}\nret;"
        )
    };
    let write = "st.shared.u32 [%r2], 1;";
    let read = "ld.shared.u32 %r3, [%r2];";
    let join = |a: &str, b: &str| format!("{a} {b}");
    let (arrive, sync) = ("barrier.arrive 1, 64;", "barrier.sync 1, 64;");
    let other = "barrier.sync 2, 32;";
    let table = [
        (join(write, arrive), join(sync, read), None),
        (join(write, sync), join(sync, read), None),
        (join(write, sync), join(arrive, read), Some(Rule::DataRace)),
        (join(arrive, write), join(sync, read), Some(Rule::DataRace)),
        (
            join(write, other),
            join("barrier.sync 3, 32;", read),
            Some(Rule::DataRace),
        ),
    ];
    for (first, second, expected) in table {
        for schedule in SCHEDULES {
            let found: BTreeSet<Rule> = verdict(&kernel(&first, &second), 1, 64, schedule)
                .into_iter()
                // The reader may come first and find nothing there.
                .filter(|r| *r != Rule::UninitializedRead)
                .collect();
            let expected: BTreeSet<Rule> = expected.into_iter().collect();
            assert_eq!(found, expected, "{schedule}: {first} | {second}");
        }
    }
}

/// A warp barrier orders its lanes, and only those in its mask.
#[test]
fn warp_barriers() {
    let kernel = |sync: &str| {
        format!(
            "mov.u32 %r0, %tid.x; shl.b32 %r1, %r0, 2; mov.u32 %r2, s; add.u32 %r3, %r2, %r1; \
             st.shared.u32 [%r3], %r0; {sync} xor.b32 %r1, %r1, 4; add.u32 %r3, %r2, %r1; \
             ld.shared.u32 %r4, [%r3];"
        )
    };
    let halves = "setp.ge.u32 %p1, %r0, 16; mov.u32 %r5, 0xffff; @%p1 mov.u32 %r5, 0xffff0000; \
                  bar.warp.sync %r5;";
    let table = [
        ("bar.warp.sync 0xffffffff;", None),
        ("barrier.sync 0;", None),
        (halves, None),
        ("", Some(Rule::DataRace)),
        (
            "shfl.sync.idx.b32 %r6, %r0, 0, 31, 0xffffffff;",
            Some(Rule::DataRace),
        ),
        ("membar.gl;", Some(Rule::DataRace)),
    ];
    for (sync, expected) in table {
        for schedule in SCHEDULES {
            let found: BTreeSet<Rule> = verdict(&kernel(sync), 1, 32, schedule)
                .into_iter()
                .filter(|r| *r != Rule::UninitializedRead)
                .collect();
            let expected: BTreeSet<Rule> = expected.into_iter().collect();
            assert_eq!(found, expected, "{schedule}: {sync}");
        }
    }
}
