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
