//! A plain read that only seeds a loop around a compare-and-swap races, and does no harm: a warning. Used for anything else, it is an error.

use check::{Request, Source, Unwatched, check};
use detect::rules::{Level, Rule};

/// The maximum of all threads' numbers, as the programming guide makes such an operation; `also` is done with the value read.
fn found(also: &str) -> Vec<(Rule, Level)> {
    let text = format!(
        ".version 8.0\n.target sm_75\n.address_size 64\n.visible .entry k(.param .u64 x, .param .u64 y)\n{{
         .reg .b32 %r<9>; .reg .b64 %a<5>; .reg .pred %p<2>;
         ld.param.u64 %a0, [x]; ld.param.u64 %a1, [y]; mov.u32 %r0, %tid.x; mul.wide.u32 %a2, %r0, 4; add.s64 %a3, %a1, %a2;
         ld.global.u32 %r1, [%a0];
         {also}
         LOOP: max.u32 %r2, %r1, %r0;
         atom.global.cas.b32 %r3, [%a0], %r1, %r2;
         setp.ne.u32 %p0, %r3, %r1; mov.u32 %r1, %r3; @%p0 bra LOOP;
         ret;\n}}\n"
    );
    let mut request = Request::new(Source::Ptx {
        name: "k.ptx".into(),
        text,
    });
    request.budgets.jobs = 1;
    let checked = check(&request, &Unwatched).expect("checked");
    let all = checked.check.diagnostics.into_iter();
    all.map(|d| (d.rule, d.level)).collect()
}

#[test]
fn what_a_compare_and_swap_begins_with_may_be_old() {
    assert_eq!(found(""), [(Rule::DataRace, Level::Warning)]);
    assert_eq!(
        found("add.u32 %r5, %r1, 1;"),
        [(Rule::DataRace, Level::Warning)]
    );
}

#[test]
fn a_value_that_is_used_otherwise_may_not() {
    for also in [
        "st.global.u32 [%a3], %r1;",
        "and.b32 %r4, %r1, 7; mul.wide.u32 %a4, %r4, 4; add.s64 %a4, %a1, %a4; st.global.u32 [%a4], 1;",
    ] {
        let found = found(also);
        assert!(
            found.contains(&(Rule::DataRace, Level::Error)),
            "{also}: {found:?}"
        );
    }
}
