//! Accesses to memory that nobody has allocated, or that was freed: the host marks the lines, as `racetrap_interpose` does.

use crate::watched;
use device::job::Job;
use simt::ScheduleSpec;

/// Each of 2 times 64 threads reads its word and `ahead` words further, and writes the first, if its number is below `end`.
fn kernel(ahead: i64, end: u32) -> Job {
    let ptx = format!(
        ".version 7.0
.target sm_75
.address_size 64
.visible .entry k(.param .u64 x)
{{
  .reg .b64 %rd<4>; .reg .b32 %r<4>; .reg .f32 %f<3>; .reg .pred %p<2>;
  ld.param.u64 %rd1, [x];
  cvta.to.global.u64 %rd1, %rd1;
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, %ctaid.x;
  mad.lo.s32 %r3, %r2, 64, %r1;
  setp.ge.u32 %p1, %r3, {end};
  @%p1 bra DONE;
  mul.wide.u32 %rd2, %r3, 4;
  add.s64 %rd3, %rd1, %rd2;
  ld.global.f32 %f1, [%rd3+{}];
  ld.global.f32 %f2, [%rd3+2048];
  st.global.f32 [%rd3+1024], %f2;
DONE:
  ret;
}}
",
        ahead * 4
    );
    watched::one_launch(ptx, "k", (2, 64), 4096)
}

/// Addresses within the buffer of what was found, and whether it was written; the buffer ends after so many bytes.
fn found(job: &Job, bytes: u64) -> Vec<(u64, bool)> {
    let ran = watched::run_bounded(job, &ScheduleSpec::Lockstep, 1_000_000, bytes);
    assert!(ran.ended);
    let findings = ran.results.findings.iter();
    assert!(findings.clone().all(|f| f.outside && !f.shared));
    let mut out: Vec<_> = findings.map(|f| (f.address - ran.at, f.writes)).collect();
    out.sort_unstable();
    out
}

#[test]
fn what_lies_behind_the_end_is_found_and_nothing_else() {
    assert_eq!(found(&kernel(0, 128), 4096), []);
    // All that is read and written ends exactly there.
    assert_eq!(found(&kernel(0, 100), 2048 + 400), []);
    assert_eq!(found(&kernel(0, 100), 2048 + 404), []);
    // One word less, within a line, at its end, and by whole lines.
    assert_eq!(found(&kernel(0, 100), 2048 + 396), [(2048 + 396, false)]);
    assert_eq!(found(&kernel(0, 97), 2048 + 384), [(2048 + 384, false)]);
    assert_eq!(found(&kernel(0, 128), 2048 + 448).len(), 1);
    // Both loads are the same.
    assert_eq!(found(&kernel(512, 101), 2048 + 400), [(2048 + 400, false)]);
    let written = found(&kernel(0, 128), 1024 + 64);
    assert_eq!(written, [(1024 + 64, true), (2048, false)]);
}
