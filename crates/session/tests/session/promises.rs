//! What a clean run promises about other schedules, against what other schedules do: random programs of updates, tickets,
//! carries, `malloc`, prints and branches on them.
//!
//! Where one run under `lockstep` is called independent, 200 schedules and every number of cores must leave the same bytes, print
//! the same text and find nothing; where only the verdict is, they must find nothing.

use detect::finding::{Action, Finding};
use detect::rules::Rule;
use proptest::prelude::*;
use ptx::parser::parse;
use session::{Independence, Options, Outcome, Session};
use simt::{Dim3, Launch, Program, ScheduleSpec, entries};

/// Words of global memory that all threads use; the words of each thread follow.
const WORDS: u32 = 4;

/// What one place of memory is, and what is done to it.
#[derive(Clone, Debug)]
struct Kernel {
    blocks: u32,
    threads: u32,
    body: Vec<String>,
}

impl Kernel {
    fn ptx(&self) -> String {
        format!(
            ".version 8.3\n.target sm_90\n.address_size 64\n\
             .extern .func (.param .b64 r) malloc (.param .b64 n);\n\
             .extern .func (.param .b32 r) vprintf (.param .b64 f, .param .b64 a);\n\
             .global .align 1 .b8 format[5] = {{97, 37, 100, 10, 0}};\n\
             .visible .entry k(.param .u64 memory) {{\n\
             .local .align 8 .b8 frame[16];\n\
             .reg .b32 %r<20>; .reg .pred %p<3>; .reg .b64 %x, %o, %a, %f, %q;\n\
             .shared .align 4 .b8 s[16];\n\
             ld.param.u64 %x, [memory]; cvta.to.global.u64 %x, %x;\n\
             mov.u32 %r0, %tid.x; mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x;\n\
             mad.lo.u32 %r3, %r1, %r2, %r0;\n\
             mul.wide.u32 %o, %r3, 4; add.u64 %o, %o, %x; add.u64 %o, %o, {};\n\
             mov.u32 %r4, 0; mov.u32 %r5, 0;\n\
             setp.lt.u32 %p1, %r0, 4; mul.wide.u32 %a, %r0, 4;\n\
             cvt.u32.u64 %r6, %a; @%p1 st.shared.u32 [%r6], 0;\n\
             bar.sync 0;\n{}\nret;\n}}\n",
            WORDS * 4,
            self.body.join("\n")
        )
    }

    fn run(&self, program: &Program, schedule: &ScheduleSpec, jobs: usize) -> (Outcome, Vec<u8>) {
        let bytes = u64::from(WORDS + self.blocks * self.threads) * 4;
        let mut session = Session::new(Options {
            schedule: schedule.clone(),
            jobs,
            device_bytes: 64 << 20,
            ..Options::default()
        });
        let memory = session.device().alloc(bytes, "memory").unwrap();
        let zero = vec![0; bytes as usize];
        session.device().write(memory, &zero).unwrap();
        let launch = Launch {
            cluster: None,
            grid: Dim3::linear(self.blocks),
            block: Dim3::linear(self.threads),
            dynamic_shared: 0,
            params: memory.to_le_bytes().to_vec(),
            cooperative: false,
            number: 0,
        };
        let _ = session.launch(program, &launch);
        let (outcome, device) = session.finish();
        let left = device.read(memory, bytes).unwrap();
        (outcome, left)
    }

    /// Runs it under other schedules, where the first run promises something of them.
    fn keeps_its_promise(&self, schedules: u32) -> Result<Option<Independence>, TestCaseError> {
        let ptx = self.ptx();
        let module = parse(&ptx).map_err(|e| TestCaseError::fail(format!("{e}\n{ptx}")))?;
        let entry = entries(&module)[0].to_owned();
        let program = Program::lower(&module, &ptx, &entry)
            .map_err(|e| TestCaseError::fail(format!("{e}\n{ptx}")))?;
        let (first, left) = self.run(&program, &ScheduleSpec::Lockstep, 1);
        if !first.findings.is_empty() || first.stopped.is_some() {
            return Ok(None);
        }
        let promise = first.independence;
        for jobs in [2, 3, 8] {
            let (other, memory) = self.run(&program, &ScheduleSpec::Lockstep, jobs);
            prop_assert!(
                left == memory && other.output == first.output && other.findings.is_empty(),
                "{jobs} cores change something\n{ptx}"
            );
            prop_assert_eq!(other.independence, promise, "{} cores\n{}", jobs, &ptx);
        }
        if promise == Independence::Dependent {
            return Ok(Some(promise));
        }
        let names = (0..schedules).map(|n| match n % 4 {
            0 => format!("random:{n}"),
            1 => format!("pct:{n}:3"),
            2 => format!("weak:{n}"),
            _ if n == 3 => "lane-by-lane".to_owned(),
            _ => format!("random:{n}"),
        });
        for name in names {
            let schedule: ScheduleSpec = name.parse().unwrap();
            let (other, memory) = self.run(&program, &schedule, 1);
            let found = &other.findings;
            prop_assert!(
                found.is_empty() && other.stopped.is_none(),
                "{promise:?}, and {name} finds {found:?} {:?}\n{ptx}",
                other.stopped
            );
            if promise == Independence::Independent {
                prop_assert!(
                    left == memory && other.output == first.output,
                    "{promise:?}, and {name} leaves {memory:?} instead of {left:?}, prints {:?} instead of {:?}\n{ptx}",
                    other.output,
                    first.output
                );
            }
        }
        Ok(Some(promise))
    }
}

/// A word that several threads use: its space and address.
fn word() -> impl Strategy<Value = (&'static str, String)> {
    prop_oneof![
        3 => (0..WORDS).prop_map(|k| ("global", format!("[%x+{}]", k * 4))),
        2 => (0..4u32).prop_map(|k| ("shared", format!("[s+{}]", k * 4))),
    ]
}

fn pick(all: &'static [&'static str]) -> impl Strategy<Value = &'static str> {
    prop::sample::select(all)
}

/// Something to compute with: what is the same in every schedule, and what was read.
fn value() -> impl Strategy<Value = &'static str> {
    pick(&["%r0", "%r3", "1", "7", "%r4", "%r5"])
}

const UPDATES: &[&str] = &[
    "add.u32", "add.u32", "add.u32", "max.u32", "max.s32", "min.u32", "and.b32", "or.b32",
    "xor.b32",
];

fn statement() -> impl Strategy<Value = String> {
    let update = || (word(), pick(UPDATES), value());
    let bounded = (
        word(),
        pick(&["inc.u32", "dec.u32"]),
        pick(&["3", "5", "%r2"]),
    );
    prop_oneof![
        12 => update().prop_map(|((s, a), f, v)| format!("red.{s}.{f} {a}, {v};")),
        2 => bounded.prop_map(|((s, a), f, v)| format!("red.{s}.{f} {a}, {v};")),
        3 => update().prop_map(|((s, a), f, v)| format!("atom.{s}.{f} %r4, {a}, {v};")),
        1 => (word(), value()).prop_map(|((s, a), v)| format!("atom.{s}.cas.b32 %r9, {a}, 0, {v};")),
        1 => (word(), value()).prop_map(|((s, a), v)| format!("atom.{s}.exch.b32 %r9, {a}, {v};")),
        1 => (word(), value()).prop_map(|((s, a), v)| format!("red.{s}.add.f32 {a}, {v};")),
        2 => (word(), value()).prop_map(|((s, a), v)| format!("st.volatile.{s}.u32 {a}, {v};")),
        2 => word().prop_map(|(s, a)| format!("ld.volatile.{s}.u32 %r4, {a};")),
        2 => word().prop_map(|(s, a)| format!("ld.{s}.u32 %r4, {a};")),
        1 => (word(), value()).prop_map(|((s, a), v)| format!("st.release.gpu.{s}.u32 {a}, {v};")),
        1 => word().prop_map(|(s, a)| format!("ld.acquire.gpu.{s}.u32 %r9, {a};")),
        1 => pick(&["membar.gl;", "fence.acq_rel.cta;"]).prop_map(str::to_owned),
        3 => Just("bar.sync 0;".to_owned()),
        1 => Just("bar.warp.sync -1;".to_owned()),
        2 => Just("add.cc.u32 %r8, %r4, 4294967295; addc.u32 %r5, 0, 0;".to_owned()),
        1 => Just("sub.cc.u32 %r8, %r0, %r4; subc.u32 %r5, 0, 0;".to_owned()),
        1 => Just("mov.u32 %r4, %clock;".to_owned()),
        1 => Just("activemask.b32 %r4;".to_owned()),
        1 => Just("mov.u32 %r4, %r0;".to_owned()),
        5 => value().prop_map(|v| format!("st.global.u32 [%o], {v};")),
        2 => Just("ld.global.u32 %r4, [%o];".to_owned()),
        1 => value().prop_map(|v| format!(
            "and.b32 %r7, {v}, 3; mul.wide.u32 %a, %r7, 4; add.u64 %a, %a, %x; red.global.add.u32 [%a], 1;"
        )),
        1 => value().prop_map(|v| format!(
            "{{ .param .b64 n; .param .b64 m; st.param.b64 [n], 16; call.uni (m), malloc, (n); ld.param.b64 %q, [m]; }} \
             cvt.u32.u64 %r5, %q; st.u32 [%q], {v}; ld.u32 %r4, [%q];"
        )),
        1 => value().prop_map(|v| format!(
            "st.local.u32 [frame], {v}; cvta.global.u64 %f, format; mov.u64 %a, frame; cvta.local.u64 %a, %a; \
             {{ .param .b64 f; .param .b64 a; .param .b32 n; st.param.b64 [f], %f; st.param.b64 [a], %a; \
             call.uni (n), vprintf, (f, a); }}"
        )),
    ]
}

/// A statement, of all threads or of some.
fn guarded() -> impl Strategy<Value = String> {
    let some = prop_oneof![
        3 => Just(String::new()),
        2 => (0..3u32).prop_map(|t| format!("setp.ne.u32 %p2, %r0, {t};")),
        1 => (0..2u32).prop_map(|b| format!("setp.ne.u32 %p2, %r1, {b};")),
        1 => (0..3u32).prop_map(|t| format!("setp.ne.u32 %p2, %r3, {t};")),
        1 => (0..3u32).prop_map(|t| format!("setp.le.u32 %p2, %r4, {t};")),
    ];
    (some, statement()).prop_map(|(some, what)| match some.as_str() {
        "" => what,
        // Barriers are for everybody.
        _ if what.starts_with("bar") => what,
        _ => format!("{some} @%p2 bra @; {what} @:"),
    })
}

fn kernel() -> impl Strategy<Value = Kernel> {
    (
        1..4u32,
        prop::sample::select(vec![1, 2, 5, 32, 40]),
        prop::collection::vec(guarded(), 1..7),
    )
        .prop_map(|(blocks, threads, body)| Kernel {
            blocks,
            threads,
            body: body
                .into_iter()
                .enumerate()
                .map(|(i, text)| {
                    text.replace('@', "\u{0}")
                        .replace("\u{0}%", "@%")
                        .replace('\u{0}', &format!("L{i}"))
                })
                .collect(),
        })
}

proptest! {
    #![proptest_config(testing::random(400))]

    #[test]
    fn what_is_called_independent_is_the_same_in_every_schedule(kernel in kernel()) {
        kernel.keeps_its_promise(200)?;
    }
}

/// Runs some statements by two blocks of 33 threads.
fn promise_of(body: &str) -> Option<Independence> {
    let kernel = Kernel {
        blocks: 2,
        threads: 33,
        body: vec![body.to_owned()],
    };
    kernel
        .keeps_its_promise(40)
        .unwrap_or_else(|e| panic!("{e}"))
}

/// Which comes first, the store or the updates, decides whether these read what nothing has written.
#[test]
fn updates_of_what_a_store_begins_are_dependent() {
    for look in [
        "red.shared.inc.u32 [s+12], 3;",
        "ld.volatile.shared.u32 %r9, [s+12];",
    ] {
        let store = "setp.ne.u32 %p2, %r0, 0; @%p2 bra L9; st.volatile.shared.u32 [s+12], %r0; L9:";
        let kernel = Kernel {
            blocks: 1,
            threads: 2,
            body: vec![store.to_owned(), look.to_owned()],
        };
        let promise = kernel
            .keeps_its_promise(40)
            .unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(promise, Some(Independence::Dependent), "{look}");
    }
}

/// What orders the two could have come later: then they race. Whole warps are judged in another way than parts of them.
#[test]
fn weak_accesses_that_a_message_orders_after_updates_are_dependent() {
    for threads in [32, 33, 40] {
        let body = "setp.ne.u32 %p2, %r1, 0; @%p2 bra B; red.global.add.u32 [%x], 1; membar.gl; \
             st.release.gpu.global.u32 [%x+12], 1; bra END; \
             B: setp.ne.u32 %p2, %r0, 0; @%p2 bra J; ld.acquire.gpu.global.u32 %r9, [%x+12]; J: bar.sync 0; \
             ld.global.u32 %r4, [%x]; END:";
        let kernel = Kernel {
            blocks: 2,
            threads,
            body: vec![body.to_owned()],
        };
        let promise = kernel
            .keeps_its_promise(40)
            .unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(promise, Some(Independence::Dependent), "{threads} threads");
    }
}

#[test]
fn updates_of_one_kind_are_independent() {
    for update in [
        "add.u32", "max.u32", "min.s32", "xor.b32", "and.b32", "or.b32",
    ] {
        let body = format!("red.global.{update} [%x], %r3; red.shared.{update} [s], %r3;");
        assert_eq!(promise_of(&body), Some(Independence::Independent), "{body}");
    }
    let body = "red.global.inc.u32 [%x], 5;";
    assert_eq!(promise_of(body), Some(Independence::Independent), "{body}");
}

#[test]
fn two_kinds_at_one_location_are_not() {
    for [a, b] in [
        ["add.u32", "max.u32"],
        ["add.u32", "min.u32"],
        ["add.u32", "xor.b32"],
        ["and.b32", "or.b32"],
        ["max.u32", "max.s32"],
    ] {
        let body = format!("red.global.{a} [%x], %r3; red.global.{b} [%x], %r3;");
        assert_eq!(promise_of(&body), Some(Independence::VerdictOnly), "{body}");
        let apart = format!("red.global.{a} [%x], %r3; red.global.{b} [%x+4], %r3;");
        assert_eq!(
            promise_of(&apart),
            Some(Independence::Independent),
            "{apart}"
        );
    }
    for body in [
        "red.global.inc.u32 [%x], 5; red.global.inc.u32 [%x], 6;",
        "red.global.inc.u32 [%x], 5; red.global.add.u32 [%x], 1;",
        "red.global.add.u32 [%x], 1; st.volatile.global.u32 [%x], 5;",
        "atom.global.cas.b32 %r9, [%x], 0, %r3;",
        "red.global.add.f32 [%x], %r3;",
        "atom.global.add.u32 %r4, [%x], 1; st.global.u32 [%o], %r4;",
    ] {
        assert_eq!(promise_of(body), Some(Independence::VerdictOnly), "{body}");
    }
    // Stores of different values are a finding.
    for order in ["volatile", "relaxed.gpu"] {
        let body = format!("st.{order}.global.u32 [%x], %r3;");
        assert_eq!(promise_of(&body), None, "{body}");
    }
}

/// Stores that come in any order are part of an algorithm where some thread polls, as in Peterson's.
#[test]
fn different_stores_are_no_finding_where_somebody_polls() {
    let poll = "ld.volatile.global.u32 %r4, [%x+4]; setp.eq.u32 %p2, %r4, 7; @%p2 bra L; st.global.u32 [%o], 1; L:";
    let body = format!("st.volatile.global.u32 [%x], %r3; {poll}");
    assert!(promise_of(&body).is_some(), "{body}");
}

#[test]
fn tickets_that_steer_are_dependent_through_whatever_carries_them() {
    let through = |carrier: &str| {
        format!(
            "atom.global.add.u32 %r4, [%x], 1; {carrier} setp.eq.u32 %p2, %r5, 0; @%p2 bra L; st.global.u32 [%o], 1; L:"
        )
    };
    for carrier in [
        "mov.u32 %r5, %r4;",
        "add.cc.u32 %r8, %r4, 4294967295; addc.u32 %r5, 0, 0;",
        "sub.cc.u32 %r8, %r0, %r4; subc.u32 %r5, 0, 0;",
        "mad.lo.cc.u32 %r8, %r4, %r4, %r4; madc.hi.u32 %r5, %r0, %r0, 0;",
        "st.global.u32 [%o], %r4; ld.global.u32 %r5, [%o];",
        "st.local.u32 [frame], %r4; ld.local.u32 %r5, [frame];",
    ] {
        let body = through(carrier);
        assert_eq!(promise_of(&body), Some(Independence::Dependent), "{body}");
    }
}

#[test]
fn a_location_that_one_thread_uses_is_nobodys_ticket() {
    for body in [
        "atom.global.add.u32 %r4, [%o], 1; setp.eq.u32 %p2, %r4, 0; @%p2 st.global.u32 [%o], 5;",
        "st.volatile.global.u32 [%o], %r3; ld.volatile.global.u32 %r4, [%o]; st.global.u32 [%o], %r4;",
        "setp.ne.u32 %p2, %r0, 0; @%p2 bra L; st.volatile.shared.u32 [s], %r1; L: bar.sync 0; \
         ld.volatile.shared.u32 %r4, [s]; st.global.u32 [%o], %r4;",
    ] {
        assert_eq!(promise_of(body), Some(Independence::Independent), "{body}");
    }
}

#[test]
fn what_only_a_communication_orders_is_dependent() {
    let roles = |first: &str, second: &str| {
        format!(
            "setp.ne.u32 %p2, %r0, 0; @%p2 ret; setp.eq.u32 %p2, %r1, 0; @%p2 bra A; {second} ret; A: {first}"
        )
    };
    for (first, second) in [
        (
            "st.global.u32 [%x+4], 1; membar.gl; red.global.add.u32 [%x], 1;",
            "red.global.add.u32 [%x], 1; membar.gl; ld.global.u32 %r4, [%x+4];",
        ),
        (
            "st.relaxed.gpu.global.u32 [%x], 1;",
            "ld.relaxed.gpu.global.u32 %r4, [%x]; st.global.u32 [%x], 2;",
        ),
    ] {
        let body = roles(first, second);
        let promise = promise_of(&body);
        assert!(
            matches!(promise, None | Some(Independence::Dependent)),
            "{promise:?}: {body}"
        );
    }
}

/// A load that returns a value from before all writes depends on the order of threads as any other does.
#[test]
fn a_stale_value_is_no_promise() {
    let kernel = Kernel {
        blocks: 2,
        threads: 33,
        body: vec![
            "setp.ne.u32 %p2, %r0, 0; @%p2 ret; setp.eq.u32 %p2, %r1, 0; @%p2 bra A; \
             ld.volatile.global.u32 %r4, [%x]; st.global.u32 [%o], %r4; ret; \
             A: st.volatile.global.u32 [%x], 1;"
                .to_owned(),
        ],
    };
    let ptx = kernel.ptx();
    let module = parse(&ptx).unwrap_or_else(|e| panic!("{e}"));
    let entry = entries(&module)[0].to_owned();
    let program = Program::lower(&module, &ptx, &entry).unwrap_or_else(|e| panic!("{e}"));
    for name in ["lockstep", "weak", "weak:1", "weak:2", "random:1"] {
        let schedule: ScheduleSpec = name.parse().unwrap();
        let (outcome, _) = kernel.run(&program, &schedule, 1);
        assert_ne!(outcome.independence, Independence::Independent, "{name}");
    }
}

/// A thread's own update comes after another one's, and so hides from its load that data passes between the two. In another order it does not.
#[test]
fn an_own_update_that_hides_anothers_is_dependent() {
    let kernel = Kernel {
        blocks: 2,
        threads: 1,
        body: vec![
            "red.global.add.u32 [%x+4], %r4; \
             setp.ne.u32 %p2, %r3, 1; @%p2 bra L; ld.volatile.global.u32 %r4, [%x+4]; L:"
                .to_owned(),
        ],
    };
    let promise = kernel.keeps_its_promise(40);
    let promise = promise.unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(promise, Some(Independence::Dependent));
}

/// The first block stores strongly, then weakly, then sets a flag; the second one waits for the flag, and nothing orders what it reads. Where
/// that is the value from before all stores, it still races with the weak one.
#[test]
fn a_load_of_the_initial_value_is_an_access_like_any_other() {
    let kernel = Kernel {
        blocks: 2,
        threads: 1,
        body: vec![
            "setp.eq.u32 %p2, %r1, 0; @%p2 bra A; \
             W: ld.relaxed.gpu.global.u32 %r5, [%x]; setp.eq.u32 %p2, %r5, 0; @%p2 bra W; \
             ld.relaxed.gpu.global.u32 %r4, [%x+4]; st.global.u32 [%o], %r4; ret; \
             A: st.relaxed.gpu.global.u32 [%x+4], 1; st.global.u32 [%x+4], 2; st.relaxed.gpu.global.u32 [%x], 1;"
                .to_owned(),
        ],
    };
    let ptx = kernel.ptx();
    let module = parse(&ptx).unwrap_or_else(|e| panic!("{e}"));
    let entry = entries(&module)[0].to_owned();
    let program = Program::lower(&module, &ptx, &entry).unwrap_or_else(|e| panic!("{e}"));
    let mut initial = 0;
    for seed in 0..100 {
        let schedule: ScheduleSpec = format!("weak:{seed}").parse().unwrap();
        let (outcome, left) = kernel.run(&program, &schedule, 1);
        let of_second = (WORDS as usize + 1) * 4;
        initial += u32::from(left[of_second] == 0);
        let races = |f: &Finding| {
            let ends = f.ends.iter().map(|end| (end.block.0, end.action));
            let mut ends: Vec<_> = ends.collect();
            ends.sort_by_key(|end| end.0);
            f.rule == Rule::DataRace && ends == [(0, Action::Write), (1, Action::Read)]
        };
        assert!(
            outcome.findings.iter().any(races),
            "weak:{seed}: {:?}",
            outcome.findings
        );
    }
    assert!(initial > 10, "{initial} of 100 runs read the initial value");
}
