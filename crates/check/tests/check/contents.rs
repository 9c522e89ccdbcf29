//! What only guessed contents of buffers show is told as such, and what they would hide is looked for.

use check::{Request, Source, Unwatched, check};
use detect::rules::Level;
use report::{Check, Diagnostic, Verdict};

/// What comes of a kernel of `x`, `y` and `n` in 64 threads, of which `%r2` is the number and `%r3` is `x[%r2]`; `%a3` is the
/// address of `y[%r2]`, and `%a5` that of `y[%r3]`.
fn found(body: &str) -> Vec<Diagnostic> {
    verdict(body).diagnostics
}

fn verdict(body: &str) -> Check {
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
    check(&request, &Unwatched).expect("checked").check
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

/// `if (x[t] == 7777) y[0]++`: the kernel says what it looks for, so it is its own fault what comes of it.
#[test]
fn contents_that_a_branch_asks_for_are_tried() {
    let update = "ld.global.u32 %r4, [%a1]; add.s32 %r4, %r4, 1; st.global.u32 [%a1], %r4;";
    for asked in [
        "setp.ne.u32 %p0, %r3, 7777; @%p0 bra DONE;",
        "setp.ne.s32 %p0, %r3, -1; @%p0 bra DONE;",
        "setp.le.s32 %p0, %r3, 100000; @%p0 bra DONE;",
        "add.s32 %r5, %r3, -500; setp.gt.u32 %p0, %r5, 3; @%p0 bra DONE;",
        "and.b32 %r5, %r3, 4096; setp.eq.u32 %p0, %r5, 0; @%p0 bra DONE;",
        // Behind one that few pass.
        "setp.ne.u32 %p0, %r3, 7777; @%p0 bra DONE;\nld.global.u32 %r5, [%a3]; setp.ne.u32 %p0, %r5, 8888; @%p0 bra DONE;",
    ] {
        // `y` is what the last one looks at, so it counts in `x`.
        let update = match asked.contains("8888") {
            true => update.replace("%a1", "%a0"),
            false => update.to_owned(),
        };
        let all = found(&format!("{asked} {update}"));
        assert_eq!(
            said(&all).first(),
            Some(&("data-race", Level::Error)),
            "{asked}"
        );
    }
    // Which elements are set only the host knows: one, perhaps.
    let all = found("setp.ne.u32 %p0, %r3, 7777; @%p0 bra DONE; st.global.u32 [%a1], %r2;");
    assert_eq!(said(&all), [("data-race", Level::Warning)]);
}

/// Numbers that nobody finds: whatever is done there was not judged, if threads could meet.
#[test]
fn what_only_other_contents_lead_to_is_no_clean_verdict() {
    let hash = "mul.lo.u32 %r5, %r3, 0x9e3779b1; rem.u32 %r5, %r5, 1000003; setp.ne.u32 %p0, %r5, 4711; @%p0 bra DONE;";
    let hidden = verdict(&format!("{hash} st.global.u32 [%a1], %r2;"));
    assert_eq!(hidden.verdict, Verdict::Inconclusive, "{}", hidden.summary);
    assert!(hidden.summary.contains("--arg 0="), "{}", hidden.summary);
    assert_eq!(check::verdict::code(&hidden, None), 3);
    // Nobody meets in a register.
    let own = verdict(&format!("{hash} add.s32 %r3, %r3, 1;"));
    assert_eq!(own.verdict, Verdict::Clean, "{}", own.summary);
    // What the number of a thread keeps it from is told as not seen, as before.
    let thread = verdict("setp.lt.u32 %p0, %r2, 100; @%p0 bra DONE; st.global.u32 [%a1], %r2;");
    assert_eq!(thread.verdict, Verdict::Clean, "{}", thread.summary);
}
