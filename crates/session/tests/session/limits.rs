//! A run that reaches a limit ends there, and what was found until then is kept.

use detect::finding::{COUNTED, Finding};
use detect::rules::Rule;
use session::{Options, Outcome, Session};
use simt::{Dim3, Launch, Limits, Live, Program, Stop};
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

const MIB: u64 = 1 << 20;

/// What blocks of 64 threads give for a body that sees `%x`, the address of a buffer of so many bytes, `%t` and `%b`, thread and block, and
/// `%g`, the thread's number in the grid.
fn run(options: Options, bytes: u64, blocks: u32, body: &str) -> Outcome {
    let text = format!(
        ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 out) {{\n\
         .reg .b64 %x, %p, %q;\n.reg .b32 %t, %b, %g, %i, %v;\n.reg .pred %o;\n\
         ld.param.u64 %x, [out];\nmov.u32 %t, %tid.x;\nmov.u32 %b, %ctaid.x;\nmad.lo.u32 %g, %b, 64, %t;\nmov.u32 %i, 0;\n{body}\nret;\n}}\n"
    );
    let module = ptx::parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let program = Program::lower(&module, &text, "k").unwrap_or_else(|e| panic!("{e}\n{text}"));
    let mut session = Session::new(options);
    let out = session.device().alloc(bytes, "out").unwrap();
    let launch = Launch {
        cluster: None,
        grid: Dim3::linear(blocks),
        block: Dim3::linear(64),
        dynamic_shared: 0,
        params: out.to_le_bytes().to_vec(),
        cooperative: false,
        number: 0,
    };
    let _ = session.launch(&program, &launch);
    session.finish().0
}

/// All threads write one word.
const RACE: &str = "st.global.u32 [%x], %t;\n";

fn rules(findings: &[Finding]) -> Vec<Rule> {
    findings.iter().map(|f| f.rule).collect()
}

/// One byte of each page, with an access that opens what is remembered of it.
const SPARSE: &str = "mul.wide.u32 %p, %g, 4096;\nadd.u64 %p, %p, %x;\nst.volatile.global.u8 [%p], %t;\nld.volatile.global.u8 %v, [%p];\n";

#[test]
fn shadows_count_into_the_memory() {
    for jobs in [1, 3] {
        let options = |mib: u64| Options {
            device_bytes: mib * MIB,
            jobs,
            ..Options::default()
        };
        let body = format!("{RACE}{SPARSE}");
        let outcome = run(options(20), 16 * MIB, 64, &body);
        assert!(
            matches!(outcome.stopped, Some(Stop::Memory(_))),
            "{:?}",
            outcome.stopped
        );
        assert!(rules(&outcome.findings).contains(&Rule::DataRace));
        assert!(outcome.executed > 0);
        let outcome = run(options(4096), 16 * MIB, 64, &body);
        assert_eq!(outcome.stopped, None, "with more memory it ends");
    }
}

/// A loop without an end, by the budget of steps alone.
const LONG: &str =
    "L: add.u32 %i, %i, 1;\nst.global.u32 [%x+4], %i;\nsetp.ne.u32 %o, %i, 0;\n@%o bra L;\n";

#[test]
fn a_run_that_is_ended_keeps_what_it_has_found() {
    let live = Live::new();
    let limits = |wall| Limits {
        steps: u64::MAX,
        wall,
        live: Some(live.clone()),
        ..Limits::default()
    };
    for jobs in [1, 3] {
        let options = Options {
            limits: limits(Some(Duration::from_millis(300))),
            jobs,
            ..Options::default()
        };
        let began = Instant::now();
        let outcome = run(options, 64, 8, &format!("{RACE}{LONG}"));
        assert!(began.elapsed() < Duration::from_secs(10));
        assert!(
            matches!(outcome.stopped, Some(Stop::WallClock(_))),
            "{:?}",
            outcome.stopped
        );
        assert!(rules(&outcome.findings).contains(&Rule::DataRace));
        assert!(
            outcome.executed > 1000,
            "{} warp-instructions",
            outcome.executed
        );
    }
    let (before, ended) = (live.all_steps(), live.clone());
    let outcome = std::thread::scope(|scope| {
        scope.spawn(move || {
            while ended.all_steps() < before + 10_000 {
                std::thread::yield_now();
            }
            ended.end();
        });
        let options = Options {
            limits: limits(None),
            ..Options::default()
        };
        run(options, 64, 8, &format!("{RACE}{LONG}"))
    });
    assert_eq!(outcome.stopped, Some(Stop::Interrupted));
    assert!(rules(&outcome.findings).contains(&Rule::DataRace));
    assert!(
        outcome.executed > 1000,
        "{} warp-instructions",
        outcome.executed
    );
}

/// Data races by the lines of the PTX that they are of, with how often each was counted.
fn races(outcome: &Outcome) -> Vec<(u32, u32, u64)> {
    let of = |f: &Finding| (f.ends[0].site.0, f.ends[1].site.0, f.count);
    let races = outcome.findings.iter().filter(|f| f.rule == Rule::DataRace);
    races.map(of).collect()
}

#[test]
fn a_race_is_counted_so_often_and_then_known_and_others_are_still_judged() {
    // Adjacent words, which each block writes after the one before; some that lie apart, which are not judged together; bytes.
    for (width, step) in [("u32", 4), ("u32", 12), ("u8", 1)] {
        let body = format!(
            "mul.wide.u32 %p, %t, {step};\nadd.u64 %p, %p, %x;\nst.global.{width} [%p], %b;\n\
             ld.global.{width} %v, [%p];\nst.global.{width} [%p+1024], %v;\n"
        );
        let with = |jobs, blocks| {
            let options = Options {
                jobs,
                ..Options::default()
            };
            races(&run(options, 4096, blocks, &body))
        };
        let all = with(1, 200);
        assert!(all.iter().all(|r| r.2 == COUNTED), "{all:?}");
        assert_eq!(all, with(4, 200), "the number of cores changes nothing");
        let few = with(1, 2);
        assert!(few.iter().all(|r| r.2 < COUNTED), "{few:?}");
        let pairs = |all: &[(u32, u32, u64)]| -> BTreeSet<(u32, u32)> {
            let pair = |r: &(u32, u32, u64)| (r.0.min(r.1), r.0.max(r.1));
            all.iter().map(pair).collect()
        };
        assert_eq!(
            pairs(&all),
            pairs(&few),
            "the same races as where none is known"
        );
        // The load only reads back what its thread has stored.
        assert_eq!(all.len(), 2, "the two stores: {all:?}");
        // A race that comes when the others are known is found.
        let late = format!("{body}setp.eq.u32 %o, %b, 199;\n@%o st.global.{width} [%p], %t;\n");
        let late = races(&run(Options::default(), 4096, 201, &late));
        assert!(late.len() > 2, "{late:?}");
    }
}

/// Findings by rule and instructions, with how often each was counted.
fn counted(outcome: &Outcome) -> Vec<(Rule, u32, u32, u64)> {
    let of = |f: &Finding| (f.rule, f.sites().0.0, f.sites().1.0, f.count);
    outcome.findings.iter().map(of).collect()
}

#[test]
fn writes_of_one_value_are_counted_so_often_and_another_value_is_still_found() {
    let body = "mul.wide.u32 %p, %t, 4;\nadd.u64 %p, %p, %x;\nmov.u32 %v, 7;\n\
        setp.eq.u32 %o, %b, LATE;\n@%o mov.u32 %v, %t;\nst.global.u32 [%p], %v;\n";
    for jobs in [1, 4] {
        let with = |late: u32| {
            let options = Options {
                jobs,
                ..Options::default()
            };
            let body = body.replace("LATE", &late.to_string());
            counted(&run(options, 4096, 200, &body))
        };
        let [(rule, _, _, count)] = with(1_000)[..] else {
            panic!("one finding");
        };
        assert_eq!((rule, count), (Rule::SameValueWrite, COUNTED));
        // The last block comes when the pair is long known.
        let late = with(199);
        assert_eq!(late.len(), 1, "{late:?}");
        assert_eq!(late[0].0, Rule::DataRace);
        assert!(late[0].3 >= COUNTED, "{late:?}");
    }
}

#[test]
fn a_warp_in_lockstep_is_counted_so_often_and_what_is_new_is_still_found() {
    // Each lane takes what the next one has stored, in a row of shared memory of its warp's own.
    let exchange = ".shared .align 4 .b8 row[1024];\nmov.u32 %i, row;\nshr.u32 %v, %t, 5;\nmad.lo.u32 %i, %v, 256, %i;\n\
        and.b32 %v, %t, 31;\nmad.lo.u32 %i, %v, 4, %i;\nst.volatile.shared.u32 [%i+64], %v;\nld.volatile.shared.u32 %v, [%i+32];\n\
        st.volatile.shared.u32 [%i+64], %v;\nld.volatile.shared.u32 %v, [%i+48];\nst.global.u32 [%x], 0;\n";
    for jobs in [1, 4] {
        let with = |blocks, more: &str| {
            let options = Options {
                jobs,
                ..Options::default()
            };
            let all = counted(&run(options, 4096, blocks, &format!("{exchange}{more}")));
            let kept = all.into_iter().filter(|f| f.0 == Rule::LockstepAssumption);
            kept.collect::<Vec<_>>()
        };
        let (few, all) = (with(2, ""), with(400, ""));
        let pairs = |all: &[(Rule, u32, u32, u64)]| -> BTreeSet<(u32, u32)> {
            all.iter().map(|f| (f.1.min(f.2), f.1.max(f.2))).collect()
        };
        assert_eq!(pairs(&few), pairs(&all));
        assert!(all.len() >= 3, "{all:?}");
        assert!(all.iter().all(|f| f.3 == COUNTED), "{all:?}");
        // One more in the last block.
        let late = with(
            400,
            "setp.ne.u32 %o, %b, 399;\n@%o bra E;\nst.volatile.shared.u32 [%i+68], %v;\nE:\n",
        );
        assert!(late.len() > all.len(), "{late:?}");
        assert!(late.iter().any(|f| f.3 < COUNTED), "{late:?}");
    }
}
