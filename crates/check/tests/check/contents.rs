//! What only guessed contents of buffers show is told as such, and what they would hide is looked for.

use check::{Request, Source, Unwatched, check};
use detect::rules::Level;
use report::Diagnostic;

/// What comes of a kernel of `x`, `y` and `n` in 64 threads, of which `%r2` is the number and `%r3` is `x[%r2]`; `%a3` is the
/// address of `y[%r2]`, and `%a5` that of `y[%r3]`.
fn found(body: &str) -> Vec<Diagnostic> {
    let text = format!(
        ".version 8.0\n.target sm_75\n.address_size 64\n.const .align 4 .b32 table[6] = {{1, 2, 3, 4, 5, 6}};
         .visible .entry k(.param .u64 x, .param .u64 y, .param .u32 n)\n{{
         .reg .pred %p<4>; .reg .b32 %r<12>; .reg .b64 %a<12>;
         ld.param.u64 %a0, [x]; ld.param.u64 %a1, [y]; ld.param.u32 %r0, [n]; mov.u32 %r2, %tid.x;
         mul.wide.u32 %a2, %r2, 4; add.s64 %a3, %a1, %a2; add.s64 %a2, %a0, %a2; ld.global.u32 %r3, [%a2];
         mul.wide.u32 %a4, %r3, 4; add.s64 %a5, %a1, %a4;
         {body}\nDONE: ret;\n}}\n"
    );
    let mut request = Request::new(Source::Ptx {
        name: "k.ptx".into(),
        text,
    });
    request.launch.block = Some(simt::Dim3::linear(64));
    request.budgets.jobs = 1;
    check(&request, &Unwatched)
        .expect("checked")
        .check
        .diagnostics
}

fn said(all: &[Diagnostic]) -> Vec<(&str, Level)> {
    all.iter().map(|d| (d.rule.name(), d.level)).collect()
}

#[test]
fn contents_that_lead_outside_an_array_are_doubted() {
    let all = found(
        "mov.u64 %a6, table; add.s64 %a6, %a6, %a4; ld.const.u32 %r4, [%a6]; st.global.u32 [%a3], %r4;",
    );
    assert_eq!(said(&all), [("out-of-bounds", Level::Warning)]);
    let note = &all[0].notes[0];
    assert!(note.contains("not with `0` = random:0..=3"), "{note}");
}

/// An array that any thread leaves, whatever it reads.
#[test]
fn other_accesses_outside_stay_errors() {
    let all = found(
        "mov.u64 %a6, table; mul.wide.u32 %a7, %r2, 4; add.s64 %a6, %a6, %a7; ld.const.u32 %r4, [%a6]; st.global.u32 [%a3], %r4;",
    );
    assert_eq!(said(&all)[0], ("out-of-bounds", Level::Error));
}

/// `y[x[t]] = t`: a permutation makes no race.
#[test]
fn a_scatter_may_be_a_permutation() {
    let all = found("st.global.u32 [%a5], %r2;");
    assert_eq!(said(&all), [("data-race", Level::Warning)]);
    assert!(
        all[0].notes[0].contains("not with `0` = iota"),
        "{:?}",
        all[0].notes
    );
}

/// `y[x[t]] += 1` counts: that places come twice is what it is for.
#[test]
fn counting_without_an_atomic_is_an_error() {
    let all = found("ld.global.u32 %r4, [%a5]; add.s32 %r4, %r4, 1; st.global.u32 [%a5], %r4;");
    assert_eq!(said(&all)[0], ("data-race", Level::Error));
}

/// `if (x[t] == 1) y[0]++`: one of 64 random numbers is 1.
#[test]
fn flags_are_set_more_than_once() {
    let all = found(
        "setp.ne.u32 %p0, %r3, 1; @%p0 bra DONE; ld.global.u32 %r4, [%a1]; add.s32 %r4, %r4, 1; st.global.u32 [%a1], %r4;",
    );
    assert_eq!(
        said(&all).first().map(|(rule, _)| *rule),
        Some("data-race"),
        "{all:?}"
    );
}
