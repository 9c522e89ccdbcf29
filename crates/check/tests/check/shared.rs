//! Dynamic shared memory whose size nobody says grows to what the kernel reaches, like guessed buffers.

use check::{Checked, Request, Source, Unwatched, check};

/// What comes of a kernel of `n` in 64 threads, each of which writes the word of dynamic shared memory that `%a1` is the address of.
fn checked(address: &str, shared: Option<u32>) -> Checked {
    let text = format!(
        ".version 8.0\n.target sm_75\n.address_size 64\n.extern .shared .align 16 .b8 s[];
         .visible .entry k(.param .u32 n)\n{{
         .reg .b32 %r<12>; .reg .b64 %a<12>;
         ld.param.u32 %r0, [n]; mov.u32 %r2, %tid.x; mov.u64 %a0, s;
         {address}\n st.shared.u32 [%a1], %r2;\nret;\n}}\n"
    );
    let mut request = Request::new(Source::Ptx {
        name: "k.ptx".into(),
        text,
    });
    request.launch.block = Some(simt::Dim3::linear(64));
    request.launch.shared = shared;
    request.budgets.jobs = 1;
    check(&request, &Unwatched).expect("checked")
}

const ROWS: &str =
    "mad.lo.u32 %r3, %r0, %r2, %r2; mul.wide.u32 %a2, %r3, 4; add.s64 %a1, %a0, %a2;";

#[test]
fn a_guess_grows_and_a_given_size_does_not() {
    let grown = checked(ROWS, None);
    assert_eq!(grown.check.diagnostics, []);
    let shared = grown.hypothesis.dynamic_shared();
    assert!(shared >= 65 * 63 * 4, "{shared}");
    let setting = grown.check.setting.expect("a setting");
    assert_eq!(setting.dynamic_shared, shared);
    let given = checked(ROWS, Some(512));
    assert_eq!(given.check.diagnostics[0].rule.name(), "out-of-bounds");
}

#[test]
fn what_lies_before_it_stays_an_error() {
    let before = checked("sub.s64 %a1, %a0, 8;", None);
    assert_eq!(before.check.diagnostics[0].rule.name(), "out-of-bounds");
}
