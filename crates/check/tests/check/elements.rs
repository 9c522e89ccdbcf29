//! How elements of buffers are counted in messages.

use check::{Request, Source, Unwatched, check};

/// What is said of a race of all threads on four bytes, at byte 8 of the buffer that a kernel of that name gets.
fn said(name: &str) -> String {
    let text = format!(
        ".version 8.0\n.target sm_75\n.address_size 64\n.visible .entry {name}(.param .u64 out)\n{{
         .reg .b32 %r; .reg .b64 %a;
         mov.u32 %r, %tid.x; ld.param.u64 %a, [out]; st.global.u32 [%a+8], %r;\nret;\n}}\n"
    );
    let mut request = Request::new(Source::Ptx {
        name: "k.ptx".into(),
        text,
    });
    request.budgets.jobs = 1;
    let checked = check(&request, &Unwatched).expect("it can be launched");
    checked.check.diagnostics[0].title.clone()
}

/// Two halves are stored at once, and the source counts halves.
#[test]
fn elements_are_the_sources() {
    for (name, element) in [
        ("_Z1kP6__half", "`0[4]`"),
        ("_Z1kP13__nv_bfloat16", "`0[4]`"),
        ("_Z1kPf", "`0[2]`"),
        ("_Z1kPd", "`0[1]`"),
        // Nothing says what lies there: the access counts.
        ("_Z1kPv", "`0[2]`"),
    ] {
        let said = said(name);
        assert!(said.contains(element), "{name}: {said}");
    }
}
