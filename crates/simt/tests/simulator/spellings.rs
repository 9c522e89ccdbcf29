//! What `ptxas` takes without a word of the manual, or in older files: vectors of one element, vector registers, votes and shuffles without
//! `.sync`, calls with several results. Where `ptxas` is there, it is asked.

use crate::run::{Run, SCHEDULES};
use ptx::parser::parse;
use std::path::Path;
use std::process::Command;

/// A kernel with this body: `%a` is a buffer of the words 10, 11, 12 and so on, `%t` the thread.
fn kernel((version, target): (&str, &str), functions: &str, body: &str) -> String {
    format!(
        ".version {version}\n.target {target}\n.address_size 64\n{functions}\n\
         .visible .entry k(.param .u64 p) {{\n\
         .reg .b64 %a, %b; .reg .b32 %r, %s, %t; .reg .f32 %f; .reg .pred %q;\n\
         ld.param.u64 %a, [p]; mov.u32 %t, %tid.x;\n\
         {body}\n ret;\n}}\n"
    )
}

const NOW: (&str, &str) = ("8.0", "sm_80");

/// What `ptxas` says of a text for an `sm_80`; `None` where there is none to ask.
fn assembles(ptx: &str) -> Option<bool> {
    assembles_for("sm_80", ptx)
}

/// The same for any architecture.
pub fn assembles_for(arch: &str, ptx: &str) -> Option<bool> {
    let ptxas = testing::needs_ptxas()?;
    let name = ptx
        .bytes()
        .fold(5381u64, |h, b| h.wrapping_mul(33) ^ u64::from(b));
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name:x}.ptx"));
    std::fs::write(&file, ptx).unwrap();
    let to = file.with_extension("cubin");
    let mut command = Command::new(&ptxas.path);
    command.args(["-arch", arch, "-o"]).arg(to).arg(file);
    Some(command.output().unwrap().status.success())
}

/// The words behind the first sixteen that one thread leaves.
fn left(ptx: &str, threads: u32) -> Vec<u32> {
    assert_ne!(assembles(ptx), Some(false), "{ptx}");
    ptx::validate(&parse(ptx).unwrap()).unwrap_or_else(|e| panic!("{e}\n{ptx}"));
    let mut all = SCHEDULES.iter().take(1).map(|schedule| {
        let mut run = Run::of(ptx);
        let words: Vec<u32> = (10..74).collect();
        let at = run.buffer(&words);
        run.launch(1, threads, &[at], schedule)
            .unwrap_or_else(|e| panic!("{schedule}: {e}\n{ptx}"));
        run.words(at + 64, 4)
    });
    all.next().unwrap()
}

#[test]
fn vectors_of_one_and_vector_registers_are_taken() {
    for (body, expected) in [
        (
            "ld.global.b32 { %r }, [%a]; st.global.b32 [%a+64], { %r };",
            [10, 27, 28, 29],
        ),
        (
            "ld.global.b32 %s, [%a+4]; mov.b32 {%r}, %s; mov.b32 %s, {%r}; st.global.b32 [%a+64], %s;",
            [11, 27, 28, 29],
        ),
        (
            ".reg .v2 .b32 %v; ld.global.v2.b32 %v, [%a]; st.global.v2.b32 [%a+64], %v;",
            [10, 11, 28, 29],
        ),
        (
            ".reg .v4 .b32 %v; ld.global.v4.b32 %v, [%a]; mov.b32 %r, %v.w; st.global.b32 [%a+64], %r; st.global.b32 [%a+68], %v.z;",
            [13, 12, 28, 29],
        ),
        (
            ".reg .v2 .b32 %v<3>; ld.global.v2.b32 %v1, [%a]; ld.global.v2.b32 %v2, [%a+8]; st.global.b32 [%a+64], %v1.y; st.global.b32 [%a+68], %v2.x;",
            [11, 12, 28, 29],
        ),
        (
            ".reg .v2 .b32 %v; mov.b32 %v.x, 3; mov.b32 %v.y, 4; st.global.v2.b32 [%a+64], %v;",
            [3, 4, 28, 29],
        ),
        (
            ".reg .v2 .b32 %v, %w; ld.global.v2.b32 %v, [%a]; mov.v2.b32 %w, %v; st.global.v2.b32 [%a+64], %w;",
            [10, 11, 28, 29],
        ),
        (
            ".reg .v2 .b32 %v; ld.global.v2.b32 {%v.x, %v.y}, [%a]; mov.b64 %b, %v; st.global.b64 [%a+64], %b;",
            [10, 11, 28, 29],
        ),
    ] {
        assert_eq!(left(&kernel(NOW, "", body), 1), expected, "{body}");
    }
    // What `ptxas` refuses is refused.
    for body in [
        "add.u32 {%r}, %s, %s;",
        "atom.global.add.u32 {%r}, [%a], 1;",
        "ld.global.v2.b32 {%r}, [%a];",
        "ld.global.v1.b32 {%r}, [%a];",
    ] {
        let ptx = kernel(NOW, "", body);
        assert_ne!(assembles(&ptx), Some(true), "{ptx}");
        assert!(
            parse(&ptx).is_err() || ptx::validate(&parse(&ptx).unwrap()).is_err(),
            "{body}"
        );
    }
}

#[test]
fn votes_and_shuffles_without_sync_are_those_of_who_is_active() {
    let body = "setp.lt.u32 %q, %t, 3; vote.ballot.b32 %r, %q; shfl.down.b32 %s, %t, 1, 31;\n\
                setp.ne.u32 %q, %t, 0; @%q bra L;\n\
                st.global.b32 [%a+64], %r; st.global.b32 [%a+68], %s; L:";
    for of in [("6.0", "sm_60"), ("6.4", "sm_60"), ("6.3", "sm_70")] {
        assert_eq!(left(&kernel(of, "", body), 32), [7, 1, 28, 29], "{of:?}");
    }
    let ptx = kernel(("6.4", "sm_70"), "", body);
    assert_ne!(assembles(&ptx), Some(true));
    let mut run = Run::of(&ptx);
    let at = run.buffer(&[0; 64]);
    assert!(run.launch(1, 32, &[at], "lockstep").is_err());
}

#[test]
fn calls_have_several_results() {
    let functions = ".func (.reg .b32 a, .reg .b32 b) two(.reg .b32 x) { add.u32 a, x, 1; add.u32 b, x, 2; ret; }";
    let body = "call (%r, %s), two, (5); st.global.b32 [%a+64], %r; st.global.b32 [%a+68], %s;";
    assert_eq!(left(&kernel(NOW, functions, body), 1), [6, 7, 28, 29]);
}
