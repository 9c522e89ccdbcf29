//! Kernels whose guesses are given up, and kernels whose errors are none of a guess.

use crate::{Request, Source, Unwatched, check};
use detect::rules::Level;
use report::Diagnostic;

/// What comes of a kernel of `x`, `n` and `k` in 32 threads, and the values that it is judged with.
fn judged(head: &str, body: &str, given: Option<&str>) -> (Vec<Diagnostic>, Vec<String>) {
    judged_within(simt::Limits::default().steps, head, body, given)
}

/// The same with a budget of warp-instructions for a schedule.
fn judged_within(
    steps: u64,
    head: &str,
    body: &str,
    given: Option<&str>,
) -> (Vec<Diagnostic>, Vec<String>) {
    let text = format!(
        ".version 8.0\n.target sm_75\n.address_size 64\n{head}\n.visible .entry k(.param .u64 x, .param .u32 n, .param .u32 k)\n{{
         .reg .pred %p<4>; .reg .b32 %r<12>; .reg .b64 %a<9>; .shared .b32 s[16];
         ld.param.u64 %a0, [x]; ld.param.u32 %r0, [n]; ld.param.u32 %r1, [k]; mov.u32 %r2, %tid.x;
         mov.u64 %a7, s; mul.wide.u32 %a1, %r2, 4; add.s64 %a2, %a0, %a1;
         {body}\nDONE: ret;\n}}\n"
    );
    let mut request = Request::new(Source::Ptx {
        name: "k.ptx".into(),
        text,
    });
    request.launch.block = Some(simt::Dim3::linear(32));
    request.budgets.jobs = 1;
    request.budgets.steps = steps;
    let given = given.unwrap_or_default().split_whitespace();
    request.arguments = given
        .map(|text| crate::argument::parse(text).expect("an argument"))
        .collect();
    let checked = check(&request, &Unwatched).expect("checked");
    (checked.check.diagnostics, checked.plan.integers())
}

/// What each thread reads of a table, by an index that depends on `k` alone: `table[k]` or `table[k - 1]`.
const TABLE: &str = ".const .align 4 .b32 table[6] = {1, 2, 3, 4, 5, 6};";
const LOOK_UP: &str = "mov.u64 %a3, table; mul.wide.u32 %a4, %r1, 4; add.s64 %a5, %a3, %a4;
     ld.const.u32 %r3, [%a5]; st.global.u32 [%a2], %r3;";

#[test]
fn an_index_into_an_array_is_made_smaller() {
    // Threads stay below it, too, so it may be a size.
    let body = format!("setp.ge.u32 %p0, %r2, %r1; @%p0 bra DONE; {LOOK_UP}");
    let (found, integers) = judged(TABLE, &body, None);
    let said: Vec<_> = found.iter().map(|d| (d.rule.name(), d.level)).collect();
    assert_eq!(said, [("out-of-bounds", Level::Warning)]);
    assert!(
        found[0].notes[0].starts_with("seen with `2` = 32, not with `2` = 5"),
        "{found:#?}"
    );
    assert_eq!(integers, ["`1` = 32", "`2` = 5"]);
    // What does nothing but select an element is an index from the start.
    let (found, integers) = judged(TABLE, LOOK_UP, None);
    assert_eq!((found.len(), found[0].level), (1, Level::Warning));
    assert!(
        found[0].notes[0].starts_with("seen with `1` = 32, `2` = 31, not with"),
        "{found:#?}"
    );
    assert_eq!(integers, ["`1` = 32", "`2` = 0"]);
}

/// `for (i = t; i < n; i += k * 32)`: with a budget that would last for years, 0 is given up all the same.
#[test]
fn a_step_of_zero_does_not_take_the_whole_budget() {
    let body = "shl.b32 %r3, %r1, 5;
         LOOP: setp.ge.u32 %p0, %r2, %r0; @%p0 bra DONE; mul.wide.u32 %a1, %r2, 4; add.s64 %a2, %a0, %a1;
         st.global.u32 [%a2], %r0; add.s32 %r2, %r2, %r3; bra LOOP;";
    let (found, integers) = judged_within(1 << 60, "", body, None);
    assert_eq!(found, []);
    assert_eq!(integers, ["`1` = 32", "`2` = 1"]);
}

#[test]
fn what_was_given_is_an_error() {
    let (found, _) = judged(TABLE, LOOK_UP, Some("2=7"));
    assert_eq!(found[0].level, Level::Error);
}

/// `if (t < n) s[t] = t;` with an array of 16 for 32 threads: with a smaller `n`, the threads that go wrong do nothing.
#[test]
fn a_guard_is_no_excuse() {
    let body = "setp.ge.u32 %p0, %r2, %r0; @%p0 bra DONE; add.s64 %a3, %a7, %a1; st.shared.u32 [%a3], %r2;";
    let (found, integers) = judged("", body, None);
    assert_eq!(
        (found[0].rule.name(), found[0].level),
        ("out-of-bounds", Level::Error)
    );
    assert!(integers.iter().all(|n| n.ends_with("= 32")), "{integers:?}");
}

#[test]
fn the_size_of_a_given_buffer_bounds_what_counts_its_elements() {
    let body = "setp.ge.u32 %p0, %r2, %r0; @%p0 bra DONE; st.global.u32 [%a2], %r2;";
    let (found, integers) = judged("", body, Some("0=i32[20]"));
    assert_eq!(found, []);
    assert_eq!(integers, ["`1` = 20", "`2` = 32"]);
    let (found, _) = judged("", &body.replace("[%a2]", "[%a2+4]"), Some("0=i32[20]"));
    assert_eq!(
        (found[0].rule.name(), found[0].level),
        ("out-of-bounds", Level::Error)
    );
}

/// Each thread writes element `t * (n - k)`: one place where `k` equals `n`.
const ROW: &str = "sub.s32 %r3, %r0, %r1; mul.lo.s32 %r4, %r3, %r2; mul.wide.s32 %a3, %r4, 4; add.s64 %a4, %a0, %a3;
     st.global.u32 [%a4], %r2;";

#[test]
fn an_index_is_below_its_size() {
    let (found, integers) = judged("", ROW, None);
    let said: Vec<_> = found.iter().map(|d| (d.rule.name(), d.level)).collect();
    assert_eq!(said, [("data-race", Level::Warning)]);
    let note = "seen with `2` = 32, not with `2` = 31";
    assert!(found[0].notes[0].starts_with(note), "{found:#?}");
    assert_eq!(integers, ["`1` = 32", "`2` = 31"]);
    // The kernel never asks whether `n` fits: with a larger one, that index is one.
    let (found, integers) = judged("", ROW, Some("2=32"));
    assert_eq!((found, integers), (vec![], vec!["`1` = 64".to_owned()]));
    let (found, _) = judged("", ROW, Some("1=32 2=32"));
    assert_eq!(found[0].level, Level::Error);
}

/// A race that the same accesses make whatever the integers are, and one whose accesses one less leaves out.
#[test]
fn other_races_stay_errors() {
    let always = "st.global.u32 [%a0], %r2;";
    let last = "add.s32 %r3, %r2, 1; setp.ne.s32 %p0, %r3, %r0; @!%p0 st.global.u32 [%a0], %r2; @%p0 st.global.u32 [%a2], %r2;";
    for body in [always, last] {
        let (found, _) = judged("", body, None);
        let worst = found.iter().map(|d| (d.rule.name(), d.level)).next();
        assert_eq!(worst, Some(("data-race", Level::Error)), "{body}");
    }
}
