//! Host programs: what a session says of operations that streams, events and the host's waiting order or don't, and what a plan
//! that makes no sense is told.

use catalog::load::Catalog;
use catalog::tree::Tree;
use detect::rules::Rule;
use insta::assert_snapshot;
use ptx::parse;
use rstest::rstest;
use session::{Command, Independence, Options, Order, Outcome, Session, StreamKind};
use simt::{Dim3, Launch, Program, ScheduleSpec, Stop};
use std::path::Path;

/// Kernels of one thread with one pointer.
const PTX: &str = "\
.version 8.0
.target sm_90
.address_size 64

.visible .entry write(.param .u64 p) {
    .reg .b64 %rd<2>;
    ld.param.u64 %rd1, [p];
    st.global.u32 [%rd1], 7;
    ret;
}

.visible .entry read(.param .u64 p) {
    .reg .b64 %rd<2>;
    .reg .b32 %r<2>;
    ld.param.u64 %rd1, [p];
    ld.global.u32 %r1, [%rd1];
    st.global.u32 [%rd1+4], %r1;
    ret;
}

.visible .entry add(.param .u64 p) {
    .reg .b64 %rd<2>;
    ld.param.u64 %rd1, [p];
    red.relaxed.gpu.global.add.u32 [%rd1], 1;
    ret;
}

.visible .entry add_in_block(.param .u64 p) {
    .reg .b64 %rd<2>;
    ld.param.u64 %rd1, [p];
    red.relaxed.cta.global.add.u32 [%rd1], 1;
    ret;
}

.visible .entry write_far(.param .u64 p) {
    .reg .b64 %rd<2>;
    ld.param.u64 %rd1, [p];
    st.global.u32 [%rd1+12], 7;
    ret;
}

.visible .entry publish(.param .u64 p) {
    .reg .b64 %rd<2>;
    ld.param.u64 %rd1, [p];
    st.global.u32 [%rd1+4], 7;
    st.release.gpu.global.u32 [%rd1], 1;
    ret;
}

.visible .entry await_it(.param .u64 p) {
    .reg .b64 %rd<2>;
    .reg .b32 %r<3>;
    .reg .pred %p1;
    ld.param.u64 %rd1, [p];
again:
    ld.acquire.gpu.global.u32 %r1, [%rd1];
    setp.eq.u32 %p1, %r1, 0;
    @%p1 bra again;
    ld.global.u32 %r2, [%rd1+4];
    st.global.u32 [%rd1+8], %r2;
    ret;
}
";

/// What a step does: a kernel on the common 16 bytes, a copy onto them from other memory, a look at them by the host.
#[derive(Clone, Copy)]
enum Does {
    Kernel(&'static str, usize),
    Upload(usize),
    Look,
    Record(usize),
    Wait(usize),
    Synchronize(usize),
}
use Does::*;

fn run(steps: &[Does], schedule: ScheduleSpec) -> Outcome {
    run_on(steps, &[], schedule)
}

fn run_on(steps: &[Does], streams: &[StreamKind], schedule: ScheduleSpec) -> Outcome {
    let commands: Vec<_> = steps
        .iter()
        .map(|step| match *step {
            Kernel(_, stream) | Upload(stream) => Command::Operation { stream },
            Look => Command::Host,
            Record(stream) => Command::Record { event: 0, stream },
            Wait(stream) => Command::Wait { event: 0, stream },
            Synchronize(stream) => Command::Synchronize { stream },
        })
        .collect();
    let module = parse(PTX).unwrap();
    let order = Order::new(&commands, streams);
    let sequence = order.sequence(&schedule);
    let options = Options {
        schedule,
        limits: simt::Limits {
            steps: 1000,
            ..Default::default()
        },
        ..Options::default()
    };
    let mut session = Session::ordered(options, order, steps.len());
    let data = session.device().alloc(16, "data").unwrap();
    let other = session.device().alloc_host(16, "other").unwrap();
    session.device().write(data, &[0; 16]).unwrap();
    session.device().write(other, &[0; 16]).unwrap();
    for number in sequence {
        if !session.may_run(number) {
            continue;
        }
        match steps[number] {
            Kernel(name, _) => {
                let program = Program::lower(&module, PTX, name).unwrap();
                let how = Launch {
                    cluster: None,
                    grid: Dim3::ONE,
                    block: Dim3::ONE,
                    dynamic_shared: 0,
                    params: data.to_le_bytes().to_vec(),
                    cooperative: false,
                    number: number as u32,
                };
                let _ = session.launch_as_numbered(&program, &how);
            }
            Upload(_) => session.copy(number, other, data, 16, 4).unwrap(),
            Look => session.copy(number, data, other, 16, 4).unwrap(),
            Record(_) | Wait(_) | Synchronize(_) => {}
        }
    }
    session.finish().0
}

const SCHEDULES: [ScheduleSpec; 3] = [
    ScheduleSpec::Lockstep,
    ScheduleSpec::LaneByLane,
    ScheduleSpec::Random { seed: 1 },
];

/// The findings, which must be the same whatever runs first: rule, and the steps of both ends.
fn found(steps: &[Does]) -> Vec<(Rule, u32, u32)> {
    let all = SCHEDULES.map(|schedule| {
        let outcome = run(steps, schedule);
        assert_eq!(outcome.stopped, None);
        let ends = |f: &detect::finding::Finding| (f.rule, f.ends[1].launch, f.ends[0].launch);
        outcome.findings.iter().map(ends).collect::<Vec<_>>()
    });
    assert_eq!(all[0], all[1]);
    assert_eq!(all[0], all[2]);
    all[0].clone()
}

#[rstest]
#[case::one_stream(&[Kernel("write", 0), Kernel("read", 0)], &[])]
#[case::two_streams(&[Kernel("write", 0), Kernel("read", 1)], &[(Rule::DataRace, 0, 1)])]
#[case::event(&[Kernel("write", 0), Record(0), Wait(1), Kernel("read", 1)], &[])]
#[case::event_of_nothing(&[Record(0), Kernel("write", 0), Wait(1), Kernel("read", 1)], &[(Rule::DataRace, 1, 3)])]
#[case::host_waits(&[Kernel("write", 0), Synchronize(0), Kernel("read", 1)], &[])]
#[case::host_waits_for_another(&[Kernel("write", 0), Synchronize(1), Kernel("read", 1)], &[(Rule::DataRace, 0, 2)])]
#[case::kernel_and_copy(&[Upload(0), Kernel("write", 1)], &[(Rule::DataRace, 0, 1)])]
#[case::kernel_after_copy(&[Upload(0), Kernel("write", 0)], &[])]
#[case::host_looks_early(&[Kernel("write", 0), Look], &[(Rule::DataRace, 0, 1)])]
#[case::host_looks_in_time(&[Kernel("write", 0), Synchronize(0), Look], &[])]
#[case::host_looks_at_a_source(&[Upload(0), Look], &[(Rule::DataRace, 0, 1)])]
#[case::atomics(&[Kernel("add", 0), Kernel("add", 1)], &[])]
#[case::narrow_atomics(&[Kernel("add", 0), Kernel("add_in_block", 1)], &[(Rule::InsufficientScope, 0, 1)])]
#[case::atomic_and_plain(&[Kernel("add", 0), Kernel("write", 1)], &[(Rule::DataRace, 0, 1)])]
#[case::atomic_and_host(&[Kernel("add", 0), Look], &[(Rule::DataRace, 0, 1)])]
fn what_nothing_orders_races(#[case] steps: &[Does], #[case] expected: &[(Rule, u32, u32)]) {
    assert_eq!(found(steps), expected);
}

#[test]
fn what_meets_in_atomics_is_no_longer_proved_for_every_order() {
    let independence = |steps: &[Does]| run(steps, ScheduleSpec::Lockstep).independence;
    let one = [Kernel("add", 0), Kernel("add", 0)];
    let two = [Kernel("add", 0), Kernel("add", 1)];
    assert_eq!(independence(&one), Independence::Independent);
    assert_eq!(independence(&two), Independence::Dependent);
}

#[test]
fn kernels_that_may_synchronise_are_no_verdict() {
    let steps = [Kernel("publish", 0), Kernel("await_it", 1)];
    // In the order of their launches, what orders them is not known; the other way round, the flag never comes.
    for schedule in [ScheduleSpec::Lockstep, ScheduleSpec::LaneByLane] {
        let outcome = run(&steps, schedule);
        // Both are named, whichever ran first.
        assert_eq!(
            outcome.stopped,
            Some(Stop::KernelsSynchronise(
                "publish".to_owned(),
                "await_it".to_owned()
            ))
        );
        assert_eq!(outcome.findings, []);
    }
    // On one stream there is nothing to doubt.
    let steps = [Kernel("publish", 0), Kernel("await_it", 0)];
    let outcome = run(&steps, ScheduleSpec::Lockstep);
    assert_eq!((outcome.stopped, outcome.findings), (None, vec![]));
}

#[test]
fn a_wait_that_nothing_else_ends_is_a_finding() {
    let none = |steps: &[Does], schedule| {
        let outcome = run(steps, schedule);
        let rules: Vec<Rule> = outcome.findings.iter().map(|f| f.rule).collect();
        assert!(
            matches!(outcome.stopped, Some(Stop::NoProgress { .. })),
            "{:?}",
            outcome.stopped
        );
        rules
    };
    for schedule in SCHEDULES {
        // What runs beside it touches other memory.
        let beside = [Kernel("write_far", 1), Kernel("await_it", 0)];
        assert_eq!(none(&beside, schedule.clone()), [Rule::NoProgress]);
        // What would end it comes after it.
        let behind = [
            Kernel("await_it", 0),
            Kernel("publish", 0),
            Kernel("write_far", 1),
        ];
        assert_eq!(none(&behind, schedule), [Rule::NoProgress]);
    }
    // What may end it races with it, which is what is wrong.
    let steps = [Kernel("await_it", 0), Upload(1)];
    let rules = none(&steps, ScheduleSpec::Lockstep);
    assert!(
        rules.iter().all(|r| *r == Rule::DataRace) && !rules.is_empty(),
        "{rules:?}"
    );
}

#[rstest]
#[case::blocking(&[StreamKind::Legacy, StreamKind::Blocking], &[])]
#[case::non_blocking(&[StreamKind::Legacy], &[(Rule::DataRace, 0, 1)])]
fn the_default_stream_orders_blocking_streams_alone(
    #[case] kinds: &[StreamKind],
    #[case] expected: &[(Rule, u32, u32)],
) {
    for steps in [
        [Kernel("write", 0), Kernel("read", 1)],
        [Kernel("write", 1), Kernel("read", 0)],
    ] {
        let outcome = run_on(&steps, kinds, ScheduleSpec::LaneByLane);
        let ends = |f: &detect::finding::Finding| (f.rule, f.ends[1].launch, f.ends[0].launch);
        let found: Vec<_> = outcome.findings.iter().map(ends).collect();
        assert_eq!(found, expected);
    }
}

#[test]
fn copies_carry_what_was_never_written() {
    let mut session = Session::new(Options::default());
    let device = session.device();
    let (a, b) = (
        device.alloc(11, "a").unwrap(),
        device.alloc(11, "b").unwrap(),
    );
    device.write(b, &[9; 11]).unwrap();
    device.write(a + 1, &[1, 2, 3, 4, 5]).unwrap();
    // Aligned, and not.
    for (from, to, bytes) in [(0, 0, 8), (1, 2, 5), (0, 0, 11)] {
        device.copy(a + from, b + to, bytes).unwrap();
        let (data, written) = (
            device.read(b + to, bytes).unwrap(),
            device.written(b + to, bytes).unwrap(),
        );
        assert_eq!(data, device.read(a + from, bytes).unwrap());
        assert_eq!(written, device.written(a + from, bytes).unwrap());
    }
    assert!(device.copy(a, b, 12).is_err());
}

const CASE: &str = "\
title: A plan
kernel: k.cu
sizes: {n: 1..=64}
buffers:
  given: {type: i32, length: n, values: iota, memory: pinned}
  data: {type: i32, length: n, values: uninitialized}
plan:
  - copy: {from: given, to: data, stream: up}
  - record: {event: done, stream: up}
  - wait: {event: done, stream: work}
  - launch: {entry: k, args: [data, n], stream: work}
  - synchronize: work
  - host: {from: given, to: given, count: 0}
oracle:
  data: {each: i}
expect:
  simulator: clean
";

fn told(from: &str, to: &str) -> String {
    assert!(CASE.contains(from), "{from}");
    let mut tree = Tree::default();
    let kernel = "__global__ void k(int *data, int n) {}\n";
    let case = CASE.replacen(from, to, 1);
    tree.files
        .insert("kernels/k.cu".into(), kernel.to_owned().into());
    tree.files.insert("cases/f/c.yaml".into(), case.into());
    match Catalog::without_ptx(tree, Path::new("somewhere")) {
        Ok(catalog) => format!("{} good cases", catalog.cases.len()),
        Err(errors) => errors.to_string(),
    }
}

#[test]
fn mistakes_in_plans() {
    let steps = "  - synchronize: work\n";
    let all = [
        ("title", "title"),
        (steps, "  - {}\n"),
        (steps, "  - {synchronize: work, record: {event: done}}\n"),
        (steps, "  - synchronise: work\n"),
        (steps, "  - synchronize: wrok\n"),
        (steps, "  - synchronize: default\n"),
        (
            "args: [data, n], stream: work",
            "args: [data, n], stream: all",
        ),
        ("plan:\n", "streams: {wrk: blocking}\nplan:\n"),
        ("plan:\n", "streams: {work: bloking}\nplan:\n"),
        ("plan:\n", "streams: {default: blocking}\nplan:\n"),
        ("wait: {event: done", "wait: {event: doen"),
        ("from: given, to: data", "from: givn, to: data"),
        ("from: given, to: given", "from: data, to: given"),
        ("count: 0}", "count: m}"),
        ("count: 0}", "stream: up}"),
        ("memory: pinned", "memory: pinnd"),
        ("memory: pinned", "memory: pinned, symbol: table"),
        (
            "plan:\n",
            "launches:\n  - {entry: k, args: [data, n], stream: up}\nplan:\n",
        ),
        (steps, "  - synchronize: work #~ data-race read\n"),
        ("args: [data, n]", "args: [dat, n]"),
    ];
    let text: Vec<_> = all
        .iter()
        .map(|(from, to)| format!("{to:?}\n{}", told(from, to)))
        .collect();
    assert_snapshot!(text.join("\n\n"));
}
