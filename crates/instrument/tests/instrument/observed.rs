//! What strong reads have observed comes before what follows them, without any fence ("Causality Order").

use crate::watched;
use device::job::Job;
use simt::ScheduleSpec;

/// Blocks count themselves, and who counts last, by `last`, resets the counter. `early`: everybody does, before counting.
fn counter(early: bool) -> Job {
    let (before, last) = match early {
        true => ("st.global.u32 [%rd1], %r5;", "@!%p1 bra DONE;"),
        false => ("", "@!%p1 bra DONE;\n st.global.u32 [%rd1], %r5;"),
    };
    let ptx = format!(
        ".version 7.0
.target sm_75
.address_size 64
.visible .entry counter(.param .u64 at)
{{
  .reg .b32 %r<8>; .reg .b64 %rd<4>; .reg .pred %p<2>;
  ld.param.u64 %rd1, [at];
  cvta.to.global.u64 %rd1, %rd1;
  mov.b32 %r5, 0;
  {before}
  atom.global.add.u32 %r1, [%rd1], 1;
  mov.u32 %r2, %nctaid.x;
  sub.u32 %r2, %r2, 1;
  setp.eq.u32 %p1, %r1, %r2;
  {last}
DONE:
  ret;
}}
"
    );
    watched::one_launch(ptx, "counter", (4, 1), 4)
}

#[test]
fn who_counts_last_may_reset_the_counter() {
    let mut raced = 0;
    for seed in 0..40 {
        let schedule = ScheduleSpec::Random { seed };
        let right = watched::run(&counter(false), &schedule, 1_000_000);
        assert!(right.ended);
        assert_eq!(right.results.findings, [], "{seed}");
        let early = watched::run(&counter(true), &schedule, 1_000_000);
        raced += usize::from(!early.results.findings.is_empty());
    }
    assert_eq!(raced, 40);
}
