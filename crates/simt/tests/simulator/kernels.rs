//! Small kernels under several schedules and on several cores.

use crate::run::{Run, SCHEDULES};
use simt::*;

const HISTOGRAM: &str = r#"
.version 8.0
.target sm_75
.address_size 64
.visible .entry histogram(.param .u64 in, .param .u32 n, .param .u64 bins)
{
    .reg .pred %p<7>;
    .reg .b32 %r<31>;
    .reg .b64 %rd<12>;
    .shared .align 4 .b8 h[64];
    ld.param.u64 %rd3, [in];
    ld.param.u32 %r12, [n];
    ld.param.u64 %rd4, [bins];
    mov.u32 %r30, %tid.x;
    mov.u32 %r5, %ntid.x;
    setp.gt.u32 %p1, %r30, 15;
    @%p1 bra $L1;
    shl.b32 %r13, %r30, 2;
    mov.u32 %r14, h;
    add.s32 %r15, %r14, %r13;
    st.shared.u32 [%r15], 0;
$L1:
    bar.sync 0;
    mov.u32 %r17, %ctaid.x;
    mad.lo.s32 %r29, %r17, %r5, %r30;
    setp.ge.s32 %p3, %r29, %r12;
    @%p3 bra $L2;
    cvta.to.global.u64 %rd1, %rd3;
    mul.wide.s32 %rd5, %r29, 4;
    add.s64 %rd6, %rd1, %rd5;
    ld.global.u32 %r1, [%rd6];
    shl.b32 %r1, %r1, 2;
    mov.u32 %r20, h;
    add.s32 %r21, %r20, %r1;
    atom.shared.add.u32 %r22, [%r21], 1;
$L2:
    bar.sync 0;
    @%p1 bra $L3;
    cvta.to.global.u64 %rd2, %rd4;
    mul.wide.s32 %rd7, %r30, 4;
    add.s64 %rd8, %rd2, %rd7;
    ld.shared.u32 %r26, [%r15];
    atom.global.add.u32 %r27, [%rd8], %r26;
$L3:
    ret;
}
"#;

#[test]
fn histogram_counts_under_every_schedule() {
    for schedule in SCHEDULES.into_iter().chain(["replay:"]) {
        let mut run = Run::of(HISTOGRAM);
        let data: Vec<u32> = (0..500).map(|i| i * 7 % 16).collect();
        let input = run.buffer(&data);
        let bins = run.buffer(&[0; 16]);
        run.launch(8, 64, &[input, 500, bins], schedule)
            .unwrap_or_else(|e| panic!("{schedule}: {e}"));
        // The last 12 of 512 threads have no element.
        let expected: Vec<u32> = (0..16)
            .map(|b| data.iter().filter(|d| **d == b).count() as u32)
            .collect();
        assert_eq!(run.words(bins, 16), expected, "{schedule}");
    }
}

/// Tiles, a reduction over a tile, dynamic shared memory and a grid barrier.
#[test]
fn a_grid_barrier_waits_for_all_blocks() {
    for ptx in [
        include_str!("../../../ptx/tests/samples/groups.sm_75.ptx"),
        include_str!("../../../ptx/tests/samples/groups.sm_90.lineinfo.ptx"),
    ] {
        for schedule in SCHEDULES {
            let mut run = Run::of(ptx);
            let data: Vec<u32> = (0..1000).collect();
            let input = run.buffer(&data);
            let out = run.buffer(&[0; 8]);
            let ended = run.launch_with(5, 64, &[input, out, 1000], schedule, 8, true);
            ended.unwrap_or_else(|e| panic!("{schedule}: {e}"));
            assert_eq!(run.words(out, 1), [999 * 1000 / 2], "{schedule}");
        }
    }
}

/// Traps in the blocks from the one of this number on; the others write their number.
const TRAPS: &str = r#"
.version 8.0
.target sm_75
.address_size 64
.visible .entry traps(.param .u64 out, .param .u32 first)
{
    .reg .pred %p<2>;
    .reg .b32 %r<4>;
    .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [out];
    ld.param.u32 %r1, [first];
    mov.u32 %r2, %ctaid.x;
    setp.ge.u32 %p1, %r2, %r1;
    @%p1 trap;
    mul.wide.u32 %rd2, %r2, 4;
    add.s64 %rd1, %rd1, %rd2;
    st.global.u32 [%rd1], %r2;
    ret;
}
"#;

#[test]
fn what_nobody_watches_fails_on_several_cores_as_on_one() {
    let mut run = Run::of(TRAPS);
    assert!(run.program.facts.blocks_commute && !run.program.facts.order_sources);
    for first in [0u32, 1, 37, 199] {
        let to = run.buffer(&[u32::MAX; 200]);
        let stopped = run.launch(200, 32, &[to, u64::from(first)], "lockstep");
        let Err(Stop::Trap { block, .. }) = stopped else {
            panic!("{stopped:?}");
        };
        assert_eq!(block.0, first);
        let written: Vec<u32> = (0..first).collect();
        assert_eq!(
            run.words(to, u64::from(first)),
            written,
            "blocks before it have run"
        );
    }
    let to = run.buffer(&[u32::MAX; 200]);
    let stats = run.launch(200, 32, &[to, 200], "lockstep").unwrap();
    assert!(stats.parallel);
}

/// Says that cores got in each other's way, so that every launch has to run again on one.
#[derive(Default)]
struct Never {
    joined: bool,
}

impl simt::observer::Events for Never {}

impl simt::observer::Observer for Never {
    fn fork(&self) -> Never {
        Never::default()
    }
    fn join(&mut self, _: Vec<Never>) -> simt::observer::Joined {
        self.joined = true;
        simt::observer::Joined::Conflict
    }
}

/// Each thread changes its 16 bytes at %x, in a way that shows if it is done twice; %y is the thread's word in a row.
const CHANGES: [&str; 12] = [
    "ld.global.u32 %r1, [%x]; mad.lo.u32 %r1, %r1, 3, 1; st.global.u32 [%x], %r1;",
    "ld.global.u32 %r1, [%y]; mad.lo.u32 %r1, %r1, 3, 1; st.global.u32 [%y], %r1;",
    "ld.u32 %r1, [%x]; add.u32 %r1, %r1, 1; @%p1 st.u32 [%x], %r1;",
    "ld.global.u8 %r1, [%x+3]; add.u32 %r1, %r1, 1; st.global.u8 [%x+3], %r1;",
    "ld.global.u64 %d1, [%x+8]; add.u64 %d1, %d1, 1; st.global.u64 [%x+8], %d1;",
    "ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%x]; add.u32 %r1, %r1, 1; st.global.v4.u32 [%x], {%r1, %r1, %r1, %r1};",
    "ld.global.u16 %r1, [%x+2]; add.u32 %r1, %r1, 5; @%p1 st.global.u16 [%x+2], %r1;",
    "red.global.add.u32 [%x], 1;",
    "atom.global.add.u64 %d1, [%x], 1;",
    "red.global.max.u32 [%x], 70000; red.global.add.u32 [%x], 1;",
    "@%p1 red.global.add.u32 [%y], 3;",
    "red.global.add.u64 [%x+8], 7; st.global.u8 [%x], 1;",
];

#[test]
fn a_launch_that_has_to_run_again_finds_what_was_there() {
    for (change, at) in CHANGES.iter().zip(0..) {
        let ptx = format!(
            ".version 8.0\n.target sm_75\n.address_size 64\n.visible .entry k(.param .u64 out, .param .u64 in) {{\n\
             .reg .b32 %r<8>; .reg .b64 %x, %y, %z, %o, %d1; .reg .pred %p1;\n\
             ld.param.u64 %x, [out]; ld.param.u64 %z, [in];\n\
             mov.u32 %r0, %ctaid.x; mov.u32 %r1, %ntid.x; mov.u32 %r2, %tid.x; mad.lo.u32 %r0, %r0, %r1, %r2;\n\
             mul.wide.u32 %o, %r0, 4; add.u64 %y, %x, %o; add.u64 %z, %z, %o; ld.global.u32 %r1, [%z];\n\
             mul.wide.u32 %o, %r0, 16; add.u64 %x, %x, %o; setp.gt.u32 %p1, %r1, 7;\n{change}\nret; }}\n"
        );
        let mut run = Run::of(&ptx);
        assert!(run.program.facts.blocks_commute, "{change}");
        let words: Vec<u32> = (0..64 * 64 * 4).collect();
        let (input, one, two) = (run.buffer(&words), run.buffer(&words), run.buffer(&words));
        run.launch(64, 64, &[one, input], "lane-by-lane").unwrap();
        let how = Launch {
            cluster: None,
            grid: Dim3::linear(64),
            block: Dim3::linear(64),
            dynamic_shared: 0,
            params: [two.to_le_bytes(), input.to_le_bytes()].concat(),
            cooperative: false,
            number: 0,
        };
        let mut observer = Never::default();
        let Run {
            device, program, ..
        } = &mut run;
        let limits = Limits::default();
        let schedule = ScheduleSpec::Lockstep;
        let stats = launch(device, program, &how, &schedule, &limits, 3, &mut observer).unwrap();
        assert!(observer.joined && !stats.parallel, "{at}: {change}");
        let count = words.len() as u64;
        assert!(run.words(one, count) != words, "{at}: nothing has changed");
        assert!(
            run.words(one, count) == run.words(two, count),
            "{at}: {change}"
        );
        assert!(run.words(input, count) == words);
    }
}

/// A loop in shared memory whose store goes where its first load came from, at addresses that move on in every turn. The loads are performed
/// together, so that nothing may be remembered of the address but what the turn computed.
#[test]
fn a_store_goes_where_the_loop_has_moved_on_to() {
    let ptx = ".version 8.0\n.target sm_75\n.address_size 64\n.visible .entry k(.param .u64 out)\n{\n\
         .reg .pred %p<3>;\n.reg .b32 %r<20>;\n.reg .b64 %rd<9>;\n.shared .align 4 .b8 s[2048];\nld.param.u64 %rd1, [out];\n\
         mov.u32 %r1, %tid.x;\nshl.b32 %r2, %r1, 2;\nmov.u32 %r3, s;\nadd.s32 %r4, %r3, %r2;\nmov.u32 %r5, %r4;\nmov.u32 %r6, 16;\n\
         mov.u32 %r7, 1;\nFILL:\nst.shared.u32 [%r5], %r7;\nadd.s32 %r5, %r5, 128;\nadd.s32 %r6, %r6, -1;\n\
         setp.ne.s32 %p1, %r6, 0;\n@%p1 bra FILL;\nmov.u32 %r5, %r4;\nmov.u32 %r6, 15;\nSUM:\nadd.s32 %r10, %r5, 128;\n\
         ld.shared.u32 %r11, [%r10];\nld.shared.u32 %r12, [%r5];\nadd.s32 %r13, %r11, %r12;\nst.shared.u32 [%r10], %r13;\n\
         add.s32 %r5, %r5, 128;\nadd.s32 %r6, %r6, -1;\nsetp.ne.s32 %p1, %r6, 0;\n@%p1 bra SUM;\n\
         ld.shared.u32 %r15, [%r5];\nmul.wide.u32 %rd2, %r1, 4;\nadd.s64 %rd3, %rd1, %rd2;\nst.global.u32 [%rd3], %r15;\nret;\n}\n";
    for schedule in SCHEDULES {
        let mut run = Run::of(ptx);
        let out = run.buffer(&[0; 32]);
        run.launch(1, 32, &[out], schedule).unwrap();
        assert_eq!(run.words(out, 32), [16; 32], "{schedule}");
    }
}
