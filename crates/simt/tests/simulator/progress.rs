//! Launches that run long, wait for a lock, or wait for time to pass.

use crate::run::Run;
use simt::*;

/// Every block counts to `n`, or for ever where its number is `n`.
const COUNT: &str = r#"
.version 8.0
.target sm_75
.address_size 64
.visible .entry count(.param .u32 n, .param .u32 endless)
{
    .reg .pred %p<4>;
    .reg .b32 %r<6>;
    ld.param.u32 %r1, [n];
    ld.param.u32 %r2, [endless];
    mov.u32 %r3, %ctaid.x;
    mov.u32 %r4, 0;
$L1:
    add.s32 %r4, %r4, 1;
    setp.eq.u32 %p1, %r3, %r2;
    setp.lt.u32 %p2, %r4, %r1;
    or.pred %p3, %p1, %p2;
    @%p3 bra $L1;
    ret;
}
"#;

/// A spent budget is no lack of progress where blocks go on ending.
#[test]
fn a_long_launch_is_not_a_stuck_one() {
    const NOBODY: u64 = 1 << 20;
    let stop = |blocks: u32, n: u64, endless: u64, schedule: &str| {
        let mut run = Run::of(COUNT);
        run.limits.steps = 1_000_000;
        run.launch(blocks, 32, &[n, endless], schedule).unwrap_err()
    };
    for schedule in ["lockstep", "lane-by-lane"] {
        let long = stop(1000, 1000, NOBODY, schedule);
        let Stop::Budget {
            steps,
            ended,
            blocks,
        } = long
        else {
            panic!("{schedule}: {long}");
        };
        assert!(steps > 1_000_000 && blocks == 1000, "{schedule}");
        assert!(ended > 0 && ended < 1000, "{schedule}: {ended}");
    }
    for schedule in ["lockstep", "lane-by-lane"] {
        for (what, stuck) in [
            ("one of many blocks", stop(100, 10, 60, schedule)),
            ("the only block", stop(1, 10, 0, schedule)),
            ("a long block", stop(1, 1 << 30, NOBODY, schedule)),
        ] {
            assert!(
                matches!(stuck, Stop::NoProgress { .. }),
                "{schedule}, {what}: {stuck}"
            );
        }
    }
}

/// Each thread takes a spin lock, adds one, and gives it back.
const LOCK: &str = r#"
.version 8.0
.target sm_75
.address_size 64
.visible .entry lock(.param .u64 mutex, .param .u64 sum)
{
    .reg .pred %p<2>;
    .reg .b32 %r<5>;
    .reg .b64 %rd<3>;
    ld.param.u64 %rd1, [mutex];
    ld.param.u64 %rd2, [sum];
$L1:
    TAKE
    setp.ne.s32 %p1, %r1, 0;
    @%p1 bra $L1;
    fence.sc.gpu;
    ld.global.u32 %r2, [%rd2];
    add.s32 %r2, %r2, 1;
    st.global.u32 [%rd2], %r2;
    fence.sc.gpu;
    atom.global.exch.b32 %r3, [%rd1], 0;
    ret;
}
"#;

/// Who waits for a lock leaves the turn to others soon, whatever it asks with.
#[test]
fn waiting_for_a_lock_is_cheap() {
    for take in [
        "atom.global.cas.b32 %r1, [%rd1], 0, 1;",
        "atom.global.exch.b32 %r1, [%rd1], 1;",
        "atom.global.or.b32 %r1, [%rd1], 1;",
    ] {
        for schedule in ["lockstep", "lane-by-lane", "pct:3:2"] {
            let mut run = Run::of(&LOCK.replace("TAKE", take));
            let (mutex, sum) = (run.buffer(&[0]), run.buffer(&[0]));
            let stats = run.launch(3, 64, &[mutex, sum], schedule).unwrap();
            assert_eq!(run.words(sum, 1), [192], "{take} {schedule}");
            assert!(stats.steps < 400_000, "{take} {schedule}: {}", stats.steps);
        }
    }
}

/// A kernel that spins on the clock until so many cycles have passed, and stores them; with `poll`, it looks at memory meanwhile.
fn spins(poll: &str) -> String {
    format!(
        ".version 8.0\n.target sm_75\n.address_size 64\n.visible .entry k(.param .u64 out, .param .u64 cycles)\n{{\n\
         .reg .pred %p<2>;\n.reg .b32 %r<2>;\n.reg .b64 %d<8>;\n\
         ld.param.u64 %d0, [out];\ncvta.to.global.u64 %d0, %d0;\nld.param.u64 %d1, [cycles];\nmov.u64 %d2, %clock64;\n\
         LOOP:\n{poll}\nmov.u64 %d3, %clock64;\nsub.s64 %d4, %d3, %d2;\nsetp.lt.s64 %p1, %d4, %d1;\n@%p1 bra LOOP;\n\
         st.global.u64 [%d0], %d4;\nret;\n}}\n"
    )
}

#[test]
fn a_loop_that_waits_for_time_alone_is_short() {
    // A second of a GPU's clock.
    let cycles = 1_600_000_000;
    let mut run = Run::of(&spins(""));
    let out = run.buffer(&[0; 2]);
    let stats = run.launch(1, 64, &[out, cycles], "lockstep").unwrap();
    assert!(stats.steps < 2000, "{} steps", stats.steps);
    let waited = u64::from(run.words(out, 2)[0]) | u64::from(run.words(out, 2)[1]) << 32;
    assert!((cycles..4 * cycles).contains(&waited), "{waited} cycles");
}

#[test]
fn a_loop_that_polls_memory_sees_time_pass_as_all_do() {
    let mut run = Run::of(&spins("ld.volatile.global.u32 %r1, [%d0];"));
    let out = run.buffer(&[0; 2]);
    let stats = run.launch(1, 32, &[out, 80_000], "lockstep").unwrap();
    assert!(stats.steps > 5000, "{} steps", stats.steps);
}
