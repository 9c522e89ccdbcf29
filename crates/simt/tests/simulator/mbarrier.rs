//! mbarriers: waits that cost nothing, waits that never end, states with counts (PTX ISA, "Parallel Synchronization and Communication
//! Instructions: mbarrier").

use crate::run::{Run, SCHEDULES};
use simt::*;

/// A kernel in which thread 0 initialises `bar` for `count` arrivals, all threads meet, and then do the body.
fn kernel(count: &str, body: &str) -> String {
    format!(
        ".version 8.0\n.target sm_90\n.address_size 64\n
        .visible .entry k(.param .u64 out) {{
            .reg .u64 %out, %at, %s<4>; .reg .u32 %t, %n, %r<9>; .reg .pred %p<6>; .reg .u64 %c<4>;
            .shared .align 8 .b64 bar[2];
            ld.param.u64 %out, [out];
            mov.u32 %t, %tid.x; mov.u32 %n, %ntid.x; mov.u32 %r8, 0;
            mul.wide.u32 %at, %t, 4; add.u64 %at, %out, %at;
            setp.ne.u32 %p1, %t, 0;
            @%p1 bra $BEGUN;
            mbarrier.init.shared.b64 [bar], {count};
            mbarrier.init.shared.b64 [bar+8], 1;
        $BEGUN:
            bar.sync 0;
            {body}
            st.global.u32 [%at], %r8;
            ret;
        }}"
    )
}

/// libcu++'s wait (`__cccl_thread_poll_with_backoff` of `barrier::wait`), as nvcc 13.0 compiles it for sm_90, in our own words.
const PATIENT: &str = "mov.u64 %c1, %globaltimer;
    mov.u32 %r1, 0;
$AGAIN: setp.lt.s32 %p2, %r1, 16;
    @%p2 bra $COUNT;
    bra.uni $SLEEP;
$COUNT: add.s32 %r1, %r1, 1;
    bra.uni $LOOK;
$SLEEP: mov.u64 %c2, %globaltimer;
    sub.s64 %c3, %c2, %c1;
    setp.lt.s64 %p3, %c3, 40000;
    @%p3 bra $LOOK;
    nanosleep.u32 1000;
$LOOK: mbarrier.try_wait.shared.b64 %p4, [bar], %s1;
    selp.b32 %r2, 1, 0, %p4;
    setp.eq.s32 %p5, %r2, 0;
    @%p5 bra $AGAIN;";

/// The same as part of `pipeline::consumer_wait`: what is done after a failed look stands somewhere else.
const APART: &str = "mov.u64 %c1, %globaltimer;
    mov.u32 %r1, 0;
    bra.uni $LOOK;
$COUNT: add.s32 %r1, %r1, 1;
$LOOK: mbarrier.try_wait.shared.b64 %p4, [bar], %s1;
    selp.b32 %r2, 1, 0, %p4;
    setp.eq.s32 %p5, %r2, 0;
    @%p5 bra $FAILED;
    bra.uni $DONE;
$FAILED2: mov.u32 %r8, 9; st.global.u32 [%at], %r8;
$FAILED: setp.lt.s32 %p2, %r1, 16;
    @%p2 bra $COUNT;
    mov.u64 %c2, %globaltimer;
    sub.s64 %c3, %c2, %c1;
    setp.lt.s64 %p3, %c3, 40000;
    @%p3 bra $LOOK;
    nanosleep.u32 1000;
    bra.uni $LOOK;
$DONE:";

const WAITS: [(&str, &str); 4] = [
    ("patient", PATIENT),
    ("apart", APART),
    ("plain", PLAIN),
    ("parity", PARITY),
];

const PLAIN: &str = "$AGAIN: mbarrier.test_wait.shared.b64 %p2, [bar], %s1;
    @%p2 bra $DONE;
    bra $AGAIN;
$DONE:";

const PARITY: &str =
    "$AGAIN: mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 %p2, [bar], 0, 1000;
    @!%p2 bra $AGAIN;";

/// The last thread works before it arrives: others wait, and don't spin.
#[test]
fn waiting_costs_nothing() {
    for (name, wait) in WAITS {
        let body = format!(
            "sub.u32 %r3, %n, 1; setp.ne.u32 %p3, %t, %r3; @%p3 bra $ARRIVE;
            mov.u32 %r4, 20000;
        $WORK: sub.u32 %r4, %r4, 1; xor.b32 %r8, %r8, %r4; setp.ne.u32 %p3, %r4, 0; @%p3 bra $WORK;
        $ARRIVE: mbarrier.arrive.shared.b64 %s1, [bar];
            {wait}
            mov.u32 %r8, 1;"
        );
        for schedule in SCHEDULES {
            let mut run = Run::of(&kernel("%n", &body));
            let out = run.buffer(&[0; 256]);
            let stats = run.launch(1, 256, &[out], schedule).unwrap();
            assert_eq!(run.words(out, 256), [1; 256], "{name}, {schedule}");
            let apart = if schedule == "lockstep" { 1 } else { 32 };
            // The work, and some tens of instructions a warp or thread.
            let most = 80_100 + 8 * apart * 64;
            assert!(stats.steps < most, "{name}, {schedule}: {}", stats.steps);
        }
    }
}

/// One arrival is missing: told at once, with the counts.
#[test]
fn a_wait_that_never_ends_is_told_with_its_counts() {
    for (name, wait) in WAITS {
        let body = format!("mbarrier.arrive.shared.b64 %s1, [bar];\n{wait}");
        for schedule in SCHEDULES {
            let mut run = Run::of(&kernel("33", &body));
            run.limits.steps = 20_000;
            let out = run.buffer(&[0; 32]);
            let stop = run.launch(1, 32, &[out], schedule).unwrap_err();
            let Stop::Deadlock { phases, .. } = &stop else {
                panic!("{name}, {schedule}: {stop}");
            };
            let [phase] = phases[..] else {
                panic!("{name}, {schedule}: {phases:?}");
            };
            let state = phase.state;
            assert_eq!((phase.object, phase.threads, phase.parity), (0, 32, false));
            assert_eq!((state.expected, state.pending, state.bytes), (33, 1, 0));
        }
    }
}

/// Loops that end otherwise are no such waits: one counts, one looks at the clock, one at two mbarriers, and one's parity changes.
#[test]
fn loops_that_give_up_do() {
    let counts = "mov.u32 %r1, 0;
    $AGAIN: add.u32 %r1, %r1, 1; setp.gt.u32 %p3, %r1, 50; @%p3 bra $DONE;
        mbarrier.try_wait.parity.shared.b64 %p2, [bar], 0; @!%p2 bra $AGAIN;
    $DONE: mov.u32 %r8, 7;";
    let clock = "mov.u64 %c1, %globaltimer;
    $AGAIN: mbarrier.try_wait.parity.shared.b64 %p2, [bar], 0; @%p2 bra $DONE;
        mov.u64 %c2, %globaltimer; sub.u64 %c3, %c2, %c1; setp.lt.u64 %p3, %c3, 1000; @%p3 bra $AGAIN;
    $DONE: mov.u32 %r8, 7;";
    let late = "mov.u32 %r1, 0; mov.u32 %r2, 0;
    $AGAIN: add.u32 %r1, %r1, 1; setp.lt.u32 %p3, %r1, 50; @%p3 bra $LOOK; mov.u32 %r2, 1;
    $LOOK: mbarrier.try_wait.parity.shared.b64 %p2, [bar], 0; setp.ne.u32 %p4, %r2, 0; @%p4 bra $DONE; @!%p2 bra $AGAIN;
    $DONE: mov.u32 %r8, 7;";
    let hidden = "mov.u32 %r1, 0; setp.eq.u32 %p4, %n, %n;
    $AGAIN: add.u32 %r1, %r1, 1; setp.lt.u32 %p3, %r1, 50; @%p3 bra $LOOK; @%p4 bra $DONE;
    $LOOK: mbarrier.try_wait.parity.shared.b64 %p2, [bar], 0; @!%p2 bra $AGAIN;
    $DONE: mov.u32 %r8, 7;";
    let two = "setp.ne.u32 %p3, %t, 31; @%p3 bra $AGAIN; mbarrier.arrive.shared.b64 %s2, [bar+8];
    $AGAIN: mbarrier.try_wait.parity.shared.b64 %p2, [bar], 0; @%p2 bra $DONE;
        mbarrier.try_wait.parity.shared.b64 %p2, [bar+8], 0; @!%p2 bra $AGAIN;
    $DONE: mov.u32 %r8, 7;";
    let parity = "mov.u32 %r1, 0;
    $AGAIN: mbarrier.try_wait.parity.shared.b64 %p2, [bar], %r1; xor.b32 %r1, %r1, 1; @!%p2 bra $AGAIN;
        mov.u32 %r8, 7;";
    for body in [counts, clock, late, hidden, two, parity] {
        for schedule in SCHEDULES {
            let mut run = Run::of(&kernel("33", body));
            let out = run.buffer(&[0; 32]);
            let ended = run.launch(1, 32, &[out], schedule);
            assert!(ended.is_ok(), "{schedule}: {ended:?}\n{body}");
            assert_eq!(run.words(out, 32), [7; 32], "{schedule}\n{body}");
        }
    }
}

/// "mbarrier.pending_count": the count that was pending before the arrival, of a state that `.noComplete` returned.
#[test]
fn a_state_without_completion_has_a_count() {
    let body = "mbarrier.arrive.noComplete.shared.b64 %s1, [bar], 2;
        mbarrier.arrive_drop.noComplete.shared.b64 %s2, [bar], 1;
        mbarrier.pending_count.b64 %r1, %s1; mbarrier.pending_count.b64 %r2, %s2;
        mad.lo.u32 %r8, %r1, 100, %r2;";
    for schedule in SCHEDULES {
        let mut run = Run::of(&kernel("40", body));
        let out = run.buffer(&[0; 1]);
        run.launch(1, 1, &[out], schedule).unwrap();
        assert_eq!(run.words(out, 1), [4038], "{schedule}");
    }
}

/// A state's phase, both parities, and threads that drop out.
#[test]
fn phases_alternate() {
    let body = "mov.u32 %r1, 0;
    $PHASES: mbarrier.arrive.release.cta.shared::cta.b64 %s1, [bar], 1;
    $FIRST: mbarrier.test_wait.acquire.cta.shared::cta.b64 %p2, [bar], %s1; @!%p2 bra $FIRST;
        and.b32 %r2, %r1, 1;
    $SECOND: mbarrier.try_wait.parity.relaxed.cluster.shared::cta.b64 %p2, [bar], %r2; @!%p2 bra $SECOND;
        add.u32 %r1, %r1, 1; setp.lt.u32 %p3, %r1, 5; @%p3 bra $PHASES;
        mov.u32 %r8, %r1;
        mbarrier.arrive_drop.shared.b64 _, [bar];";
    for schedule in SCHEDULES {
        let mut run = Run::of(&kernel("%n", body));
        let out = run.buffer(&[0; 96]);
        run.launch(1, 96, &[out], schedule).unwrap();
        assert_eq!(run.words(out, 96), [5; 96], "{schedule}");
    }
}
