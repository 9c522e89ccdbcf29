//! Tests of what is refused, and that compilers' PTX is not.

use super::*;

fn check(items: &str, body: &str) -> Result<(), String> {
    let text = format!(
        ".version 8.0\n.target sm_75\n.address_size 64\n{items}\n.visible .entry k(.param .u64 p)\n{{
         .reg .b32 %r<4>; .reg .b64 %rd<4>; .reg .pred %p<2>; .reg .f32 %f<2>; .reg .u32 %u;\n{body}\nret;\n}}\n"
    );
    validate(&crate::parse(&text).unwrap()).map_err(|e| e.to_string())
}

#[test]
fn what_ptxas_refuses_is_refused() {
    for (items, body, message) in [
        ("", "mov.u32 %q1, 1;", "`%q1` is not declared"),
        ("", "mov.u32 %r4, 1;", "`%r4` is not declared"),
        (
            "",
            "{ .reg .b32 %t; } mov.u32 %t, 1;",
            "`%t` is not declared",
        ),
        (
            "",
            "ld.global.u32 %r1, [nosuch];",
            "`nosuch` is not declared",
        ),
        ("", "@%q bra A; A:", "`%q` is not declared"),
        ("", "call nofunc;", "`nofunc` is not declared"),
        ("", "bra NOWHERE;", "no label `NOWHERE`"),
        ("", "A: A: mov.u32 %r1, 1;", "`A` is declared twice"),
        ("", ".reg .b32 %r1;", "`%r1` is declared twice"),
        (".visible .entry k() { ret; }", "", "`k` is declared twice"),
        (".global .align 3 .b8 g[4];", "", "3 is none"),
        ("", ".local .align 6 .b8 l[4];", "6 is none"),
        ("", "@%r1 bra A; A:", "`%r1` is not a predicate register"),
        ("", "add.s32 %p1, %r1, 1;", "`%p1` is a predicate"),
        ("", "setp.eq.s32 %r1, %r2, 1;", "`%r1` is not a predicate"),
        (
            "",
            "add.s32 %rd1, %rd2, 1;",
            "`%rd1` has 64 bits, where the instruction takes 32",
        ),
        ("", "mul.f32 %f1, %f0;", "takes 3 operands"),
        ("", "sub.s32 %r1, %r2, 1, 2;", "takes 3 operands"),
        ("", "add.f32 %f1, %u, %f0;", "`%u` has type .u32"),
        ("", "add.s32 %r1, %f1, 1;", "`%f1` has type .f32"),
        ("", "mov.u32 5, %r1;", "destination is not a register"),
        ("", "ld.global.u32 %r1, %rd1;", "no address in brackets"),
        (
            "",
            "frobnicate.u32 %r1, %r2;",
            "PTX has no instruction `frobnicate`",
        ),
        (
            "",
            "ret; frobnicate;",
            "PTX has no instruction `frobnicate`",
        ),
        ("", "add.foo.s32 %r1, %r1, 1;", "PTX has no modifier `.foo`"),
        ("", "add.u33 %r1, %r1, 1;", "PTX has no modifier `.u33`"),
        (
            "",
            "ld.globl.u32 %r1, [%rd1];",
            "PTX has no modifier `.globl`",
        ),
        (
            "",
            "ld.global.add.u32 %r1, [%rd1];",
            "`ld` does not take the modifier `.add`",
        ),
    ] {
        let said = check(items, body).expect_err(body);
        assert!(said.contains(message), "{body}: {said}");
    }
}

#[test]
fn valid_ptx_is_not() {
    for (items, body) in [
        (
            "",
            "mov.u32 %r1, %tid.x; mov.u64 %rd1, %clock64; mov.b32 %r0, %f1; mov.f32 %f0, %r1;",
        ),
        (
            "",
            "{ .reg .b32 %r1; mov.u32 %r1, 1; } bra DONE; { DONE: } ",
        ),
        (
            "",
            "cvt.u64.u32 %rd1, %r1; ld.global.u8 %r1, [%rd1+4]; st.global.b8 [%rd1], %r1;",
        ),
        (
            "",
            "mul.wide.u32 %rd1, %r1, %r2; shl.b64 %rd1, %rd2, %r1; popc.b64 %r1, %rd1;",
        ),
        (
            "",
            "setp.lt.and.s32 %p0|%p1, %r1, 5, !%p1; selp.b32 %r1, 1, %r2, %p0; @!%p0 bra A; A:",
        ),
        ("", "mov.b64 {%r1, %r2}, %rd1; mov.b64 %rd1, {%r1, _};"),
        (
            ".global .u32 g; .extern .func (.param .b32 r) f(.param .b64 a);",
            "mov.u64 %rd1, g; { .param .b64 a0; .param .b32 r0; st.param.b64 [a0], %rd1; call (r0), f, (a0); ld.param.b32 %r1, [r0]; }",
        ),
        (
            "",
            "P: .callprototype _ (.param .b64 _); call %rd1, (%rd2), P; T: .branchtargets A, B; brx.idx %r1, T; A: B:",
        ),
        (
            "",
            "shfl.sync.down.b32 %r1|%p1, %r2, 1, 31, -1; vote.sync.ballot.b32 %r1, %p0, WARP_SZ;",
        ),
    ] {
        assert_eq!(check(items, body), Ok(()), "{body}");
    }
}

/// Vectors have as many elements as fit, and only where there are some; calls pass what the function takes.
#[test]
fn vectors_and_arguments_are_counted() {
    let many = |n: usize| vec!["%r1"; n].join(", ");
    let function = ".func (.param .b32 r) f(.param .b32 a) { ret; }";
    for (body, message) in [
        (
            format!("mov.b64 {{{}}}, %rd1;", many(100_000)),
            "elements is 100000, where the instruction takes 2",
        ),
        (
            "mov.b64 {%r1, %r2, %r3}, %rd1;".into(),
            "elements is 3, where",
        ),
        ("mov.b64 %rd1, {};".into(), "elements is 0, where"),
        ("mov.b64 {_, _, _}, %rd1;".into(), "elements is 3, where"),
        ("mov.b32 {%r1, %r2}, %r3;".into(), "elements is 2, where"),
        (
            "mov.b64 {{%r1}, %r2}, %rd1;".into(),
            "`mov` takes no vector here",
        ),
        (
            "ld.global.v2.u32 {%r1, %r2, %r3}, [%rd1];".into(),
            "elements is 3, where the instruction takes 2",
        ),
        (
            "ld.global.v2.u32 %r1, [%rd1];".into(),
            "elements is 1, where",
        ),
        (
            "ld.global.u32 {%r1, %r2}, [%rd1];".into(),
            "`ld` takes no vector here",
        ),
        (
            "ld.global.u32 %r1, [{%rd1, %rd2}];".into(),
            "`ld` takes no vector here",
        ),
        (
            format!("st.global.v4.u32 [%rd1], {{{}}};", many(4096)),
            "elements is 4096, where",
        ),
        (
            "atom.global.add.v4.f32 {%f0, %f1}, [%rd1], {%f0, %f1};".into(),
            "elements is 2, where",
        ),
        (
            format!("tex.1d.v4.u32.f32 {{{}}}, [%rd1, {{%f1}}];", many(5)),
            "elements is 5, where",
        ),
        (
            format!(
                "tex.1d.v4.u32.f32 {{{}}}, [%rd1, {{{}}}];",
                many(4),
                many(5)
            ),
            "elements is 5, where",
        ),
        (
            format!(
                "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {{{}}}, {{%r0}}, {{%r0}}, {{%f0}};",
                many(129)
            ),
            "elements is 129, where",
        ),
        (
            "add.s32 %r1, {%r1, %r2}, %r3;".into(),
            "`add` takes no vector here",
        ),
        (
            "selp.b32 {%r1, %r2}, %r1, %r2, %p1;".into(),
            "`selp` takes no vector here",
        ),
        ("bar.sync {%r1, %r2};".into(), "`bar` takes no vector here"),
        (
            "call f, (1, 2, 3);".into(),
            "of results is 0, where `f` is declared with 1",
        ),
        (
            "call (%r1), f, (1, 2, 3);".into(),
            "of arguments is 3, where `f` is declared with 1",
        ),
        (
            "call (%r1), f;".into(),
            "of arguments is 0, where `f` is declared with 1",
        ),
        (
            "mov.u32 %r1, %nowhere;".into(),
            "`%nowhere` is not declared",
        ),
        ("mov.u32 %r1, %pmx;".into(), "`%pmx` is not declared"),
    ] {
        let said = check(function, &body).expect_err(&body);
        assert!(said.contains(message), "{body}: {said}");
    }
    for body in [
        "mov.b64 %rd1, {%r1, 0}; mov.v4.u32 {%r0, %r1, %r2, %r3}, %tid; mov.u32 %r1, %tid.w; mov.u32 %r1, %pm3; mov.u64 %rd1, %pm3_64;",
        "call (%r1), f, (%r2); cvt.rs.satfinite.e2m1x4.f32 %r1, {%f0, %f1, %f0, %f1}, %r2;",
        "ld.global.v8.b32 {%r0, %r1, %r2, %r3, _, _, _, _}, [%rd1];",
    ] {
        assert_eq!(check(function, body), Ok(()), "{body}");
    }
}

/// Newer versions may have what the table lacks.
#[test]
fn instructions_of_newer_versions_are_not_judged() {
    let text =
        ".version 9.1\n.target sm_75\n.address_size 64\n.entry k() { frobnicate.quickly; ret; }\n";
    assert_eq!(validate(&crate::parse(text).unwrap()), Ok(()));
}

#[test]
fn rare_modifiers_are_known() {
    let mut refused = Vec::new();
    for body in [
        "pmevent.mask 3;",
        "atom.global.add.noftz.f16x2 %r1, [%rd1], %r2;",
        "tensormap.replace.tile.global_address.shared::cta.b1024.b64 [%rd1], %rd2;",
        "createpolicy.fractional.L2::evict_last.b64 %rd1, 0.5;",
        "cp.async.ca.shared.global.L2::128B [%r1], [%rd1], 16;",
        "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%r0, %r1, %r2, %r3}, [%rd1];",
        "vmad.s32.s32.s32.shr7 %r1, %r2, %r3, %r0;",
        "lop3.or.b32 %r1|%p1, %r1, %r2, %r3, 5, %p0;",
        "suld.b.2d.v4.b32.trap {%r0, %r1, %r2, %r3}, [%rd1, {%r0, %r1}];",
        "prefetch.global.L2 [%rd1];",
        "barrier.cluster.arrive.release.aligned;",
        "redux.sync.add.s32 %r1, %r2, -1;",
        "ld.global.nc.L1::no_allocate.L2::256B.v4.u32 {%r0, %r1, %r2, %r3}, [%rd1];",
        "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b32 [%r1], %r2, [%r3];",
        "tcgen05.mma.ws.cta_group::1.kind::f16.collector::b0::fill [%r1], %rd1, %rd2, %r2, %p1;",
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f0, %f1, %f0, %f1}, {%r0, %r1, %r2, %r3}, {%r0, %r1}, {%f0, %f1, %f0, %f1};",
    ] {
        if let Err(said) = check("", body) {
            refused.push(format!("{body} {said}"));
        }
    }
    assert!(refused.is_empty(), "{refused:#?}");
}

/// All PTX of the catalogue and of the samples, which `ptxas` accepts.
#[test]
fn compilers_ptx_is_valid() {
    fn files(folder: &std::path::Path, out: &mut Vec<std::path::PathBuf>) {
        for entry in std::fs::read_dir(folder).unwrap().flatten() {
            match entry.path() {
                path if path.is_dir() => files(&path, out),
                path if path.extension().is_some_and(|e| e == "ptx") => out.push(path),
                _ => {}
            }
        }
    }
    let mut all = Vec::new();
    files(
        &std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernels"),
        &mut all,
    );
    files(
        &std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/samples"),
        &mut all,
    );
    assert!(all.len() > 100);
    let mut refused = Vec::new();
    for path in all {
        let module = crate::parse(&std::fs::read_to_string(&path).unwrap()).unwrap();
        if let Err(said) = validate(&module) {
            refused.push(format!("{}: {said}", path.display()));
        }
    }
    assert!(refused.is_empty(), "{refused:#?}");
}
