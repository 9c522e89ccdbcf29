//! Kernels that only further hypotheses show to be wrong.

use crate::{DEFAULT_INPUTS, Request, Source, Unwatched, check};
use detect::rules::Level;

/// What is found in a kernel of `x` and `n` with that body, under so many settings.
fn found(body: &str, inputs: u32) -> Vec<(String, Level, String)> {
    let text = format!(
        ".version 8.0\n.target sm_75\n.address_size 64\n.visible .entry k(.param .u64 x, .param .u32 n)\n{{
         .reg .pred %p<4>; .reg .b32 %r<9>; .reg .b64 %a<5>;
         ld.param.u64 %a0, [x]; ld.param.u32 %r0, [n];
         mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x;
         mad.lo.s32 %r4, %r2, %r3, %r1; mul.wide.s32 %a1, %r4, 4; add.s64 %a2, %a0, %a1;
         {body}\nDONE: ret;\n}}\n"
    );
    of(text, inputs)
}

fn of(text: String, inputs: u32) -> Vec<(String, Level, String)> {
    let mut request = Request::new(Source::Ptx {
        name: "k.ptx".into(),
        text,
    });
    request.inputs = inputs;
    request.budgets.jobs = 1;
    let checked = check(&request, &Unwatched).unwrap();
    let all = checked.check.diagnostics.into_iter();
    all.map(|d| (d.rule.name().to_owned(), d.level, d.notes.join("; ")))
        .collect()
}

const GUARDED: &str =
    "setp.COMPARE.s32 %p0, %r4, %r0; @%p0 bra DONE; st.global.u32 [%a2OFFSET], %r4;";

#[test]
fn one_past_the_end_is_a_warning() {
    let right = GUARDED.replace("COMPARE", "ge").replace("OFFSET", "");
    assert_eq!(found(&right, 6), []);
    for (compare, offset) in [("gt", ""), ("ge", "+4")] {
        let wrong = GUARDED
            .replace("COMPARE", compare)
            .replace("OFFSET", offset);
        assert_eq!(found(&wrong, 1), []);
        let said = found(&wrong, 6);
        assert_eq!(said.len(), 1, "{said:?}");
        assert_eq!(
            (said[0].0.as_str(), said[0].1),
            ("out-of-bounds", Level::Warning)
        );
        assert!(said[0].2.contains("element 89 of `0`"), "{said:?}");
    }
    // Two further elements are what a stencil reads.
    let stencil = GUARDED.replace("COMPARE", "ge").replace("OFFSET", "+8");
    assert_eq!(found(&stencil, 6), []);
}

#[test]
fn a_kernel_without_a_guard_is_not_one_past() {
    assert_eq!(found("st.global.u32 [%a2], %r4;", 6), []);
}

/// A kernel with a number `a`, whose threads write one place where `COMPARE` holds.
fn found_of_a_number(compare: &str, inputs: u32) -> Vec<(String, Level, String)> {
    let text = format!(
        ".version 8.0\n.target sm_75\n.address_size 64\n.visible .entry k(.param .u64 x, .param .f32 a)\n{{
         .reg .pred %p<3>; .reg .b32 %r<2>; .reg .f32 %f<2>; .reg .b64 %a<2>;
         ld.param.u64 %a0, [x]; ld.param.f32 %f0, [a]; mov.u32 %r0, %tid.x;
         {compare} @%p0 st.global.u32 [%a0], %r0;\nret;\n}}\n"
    );
    of(text, inputs)
}

#[test]
fn numbers_are_zero_and_negative_and_small_too() {
    for (compare, value) in [
        ("setp.eq.f32 %p0, %f0, 0f00000000;", "0.0"),
        ("setp.lt.f32 %p0, %f0, 0f00000000;", "-1.0"),
        // Beyond 0 and below 0.01.
        (
            "setp.gt.f32 %p0, %f0, 0f00000000; setp.lt.and.f32 %p0, %f0, 0f3C23D70A, %p0;",
            "0.001",
        ),
    ] {
        assert_eq!(found_of_a_number(compare, 1), []);
        let said = found_of_a_number(compare, DEFAULT_INPUTS);
        assert_eq!(said.len(), 1, "{said:?}");
        assert_eq!(
            (said[0].0.as_str(), said[0].1),
            ("data-race", Level::Warning)
        );
        let note = format!("seen with `1` = {value}, not with `1` = 1.0");
        assert!(said[0].2.contains(&note), "{said:?}");
    }
}

/// A loop whose number of rounds a number says: it takes long where that is small, which is no loop without end.
#[test]
fn what_takes_longer_is_not_endless() {
    let rounds = "mov.f32 %f1, 0f00000000; A: add.f32 %f1, %f1, %f0; setp.lt.f32 %p0, %f1, 0f42C80000; @%p0 bra A; setp.lt.f32 %p0, %f1, 0f00000000;";
    assert_eq!(found_of_a_number(rounds, DEFAULT_INPUTS), []);
}

#[test]
fn a_barrier_behind_the_guard_is_found() {
    let body = "setp.ge.s32 %p0, %r4, %r0; @%p0 bra SKIP; bar.sync 0; SKIP: @%p0 bra DONE; st.global.u32 [%a2], %r4;";
    assert_eq!(found(body, 1), []);
    let said = found(body, 2);
    assert!(!said.is_empty());
    assert!(
        said[0]
            .2
            .contains("seen with `1` = 127, not with `1` = 128"),
        "{said:?}"
    );
}
