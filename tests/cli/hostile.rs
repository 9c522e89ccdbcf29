//! Input from strangers: names that are code, files that are none of theirs, declarations that ask for all memory. Each ends with one
//! message and the documented exit status, runs nothing, shows nothing, and takes little.

use crate::common::racetrap;
use rstest::rstest;
use std::fs;
use std::path::Path;

/// PTX with a kernel `k`.
pub(super) fn ptx(head: &str, parameters: &str, body: &str) -> String {
    format!(
        ".version 8.0\n.target sm_75\n.address_size 64\n{head}\n.visible .entry k({parameters})\n{{\n{body}\nret;\n}}\n"
    )
}

pub(super) fn check(folder: &Path, arguments: &[&str]) -> String {
    racetrap(folder, &[&["check"], arguments].concat())
}

pub(super) fn is_there_a_compiler() -> bool {
    testing::needs_nvcc().is_some()
}

/// The compiler driver hands what it is given to a shell.
#[test]
fn names_and_macros_are_no_code() {
    if !is_there_a_compiler() {
        return;
    }
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let source = "#include \"one.h\"\n__global__ void k(int *x) { x[threadIdx.x] = ONE + TWO; }\n";
    let headers = folder.path().join("h$(touch pwned)");
    fs::create_dir(&headers).unwrap();
    fs::write(headers.join("one.h"), "#define ONE 1\n").unwrap();
    for name in [
        "x$(touch pwned).cu",
        "-x;touch pwned;`touch pwned`.cu",
        "a \"b\\ c'.cu",
    ] {
        fs::write(folder.path().join(name), source).unwrap();
        let arguments = [
            "-I",
            "h$(touch pwned)",
            "-D",
            "TWO=2;//$(touch pwned)`touch pwned`",
            "--",
            name,
        ];
        let shown = check(folder.path(), &arguments);
        // Two semicolons make an empty statement: the macro is taken as it is.
        assert!(shown.ends_with("--- exit status 0\n"), "{shown}");
        assert!(!folder.path().join("pwned").exists(), "{shown}");
    }
    let shown = check(
        folder.path(),
        &["x$(touch pwned).cu", "--arch", "sm_75;touch pwned"],
    );
    assert!(shown.ends_with("--- exit status 2\n"), "{shown}");
    assert!(!folder.path().join("pwned").exists(), "{shown}");
}

/// A source may name any file; what it may not read is neither compiled nor quoted.
#[test]
fn files_of_others_are_not_shown() {
    let (theirs, ours) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let secret = ours.path().join("secret");
    fs::write(&secret, "the password is swordfish\n".repeat(9)).unwrap();
    let body = ".reg .b64 %a; .reg .b32 %r; ld.param.u64 %a, [p]; mov.u32 %r, %tid.x;\n.loc 1 3 1\nst.global.u32 [%a], %r;";
    let named = format!(
        "{}\n.file 1 \"{}\"\n",
        ptx("", ".param .u64 p", body),
        secret.display()
    );
    fs::write(theirs.path().join("k.ptx"), named).unwrap();
    let shown = check(theirs.path(), &["k.ptx", "--grid", "1", "--block", "2"]);
    assert!(shown.contains("error[data-race]"), "{shown}");
    assert!(!shown.contains("swordfish"), "{shown}");
    let shown = check(
        theirs.path(),
        &[
            "k.ptx",
            "-I",
            &ours.path().display().to_string(),
            "--block",
            "2",
        ],
    );
    assert!(shown.contains("swordfish"), "the folder was named: {shown}");

    if !is_there_a_compiler()
        || toolchain::Nvcc::confined() == toolchain::sandbox::Confined::LimitsOnly
    {
        return;
    }
    for source in [
        format!(
            "#include \"{}\"\n__global__ void k() {{}}\n",
            secret.display()
        ),
        format!(
            "__global__ void k(int *x) {{\n#line 3 \"{}\"\nx[0] = 1;\n}}\n",
            secret.display()
        ),
    ] {
        fs::write(theirs.path().join("k.cu"), source).unwrap();
        let shown = check(theirs.path(), &["k.cu", "--block", "2"]);
        assert!(!shown.contains("swordfish"), "{shown}");
    }
}

#[rstest]
#[case::registers(ptx("", "", ".reg .b32 %r<1000000>;"), &[], 2, "more than 200,000 registers")]
#[case::parameter(ptx("", ".param .align 4 .b8 p[40000]", ""), &[], 2, "32,764 bytes of parameters")]
#[case::huge_parameter(ptx("", ".param .align 4 .b8 p[1000000000]", ""), &[], 2, "32,764 bytes of parameters")]
#[case::local(ptx("", "", ".local .align 4 .b8 l[4000000000];"), &[], 2, "bytes of local variables")]
#[case::global(ptx(".global .align 4 .b8 g[4000000000];", "", ""), &[], 2, "bytes of global variables")]
#[case::endless_file(
    ptx("", ".param .u64 p", ".reg .b64 %a; ld.param.u64 %a, [p]; st.global.u32 [%a], 1;"),
    &["--arg", "0=i32[4]:@/dev/zero"],
    2,
    "not a regular file"
)]
#[case::undeclared(ptx("", "", "mov.u32 %q1, 1;"), &[], 2, "`%q1` is not declared")]
#[case::label(ptx("", "", "bra NOWHERE;"), &[], 2, "no label `NOWHERE`")]
#[case::alignment(ptx(".global .align 3 .b8 g[4];", "", ""), &[], 2, "3 is none")]
#[case::size(ptx("", "", ".reg .b64 %a; add.s32 %a, %a, 1;"), &[], 2, "`%a` has 64 bits")]
#[case::function(ptx("", "", "call nothing;"), &[], 2, "`nothing` is not declared")]
#[case::opcode(ptx("", "", "frobnicate.u32;"), &[], 2, "k.ptx:7:1")]
#[case::modifier(ptx("", "", ".reg .b32 %r; add.foo.s32 %r, %r, 1;"), &[], 2, "PTX has no modifier `.foo`")]
#[case::modifier_of_a_load(
    ptx("", ".param .u64 p", ".reg .b64 %a; .reg .b32 %r; ld.param.u64 %a, [p]; ld.globl.u32 %r, [%a];"),
    &[],
    2,
    "PTX has no modifier `.globl`"
)]
fn nothing_takes_all_memory(
    #[case] text: String,
    #[case] arguments: &[&str],
    #[case] code: u8,
    #[case] message: &str,
) {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("k.ptx"), text).unwrap();
    let shown = check(folder.path(), &[&["k.ptx"], arguments].concat());
    assert!(
        shown.ends_with(&format!("--- exit status {code}\n")),
        "{shown}"
    );
    assert!(
        shown.contains(message) && !shown.contains("panicked"),
        "{shown}"
    );
}

/// A buffer that racetrap chose grows to what is reached, once a run, however many instructions reach there.
#[test]
fn guessed_buffers_grow_to_what_is_reached() {
    let stores: String = (0..60)
        .map(|i| format!("st.global.u32 [%a+{}], 1;\n", 4096 + i * 64))
        .collect();
    let body = format!(".reg .b64 %a; ld.param.u64 %a, [p];\n{stores}");
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("k.ptx"), ptx("", ".param .u64 p", &body)).unwrap();
    let shown = check(folder.path(), &["k.ptx", "--grid", "1", "--block", "1"]);
    assert!(shown.ends_with("--- exit status 0\n"), "{shown}");
    assert!(shown.contains("i32[2048]:random"), "{shown}");
}

/// Whoever reads a format finds something there, whatever went wrong.
#[test]
fn failures_are_in_every_format() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("k.ptx"), "no PTX").unwrap();
    for format in ["json", "junit", "sarif", "github"] {
        let shown = check(folder.path(), &["k.ptx", "--format", format]);
        assert!(shown.ends_with("--- exit status 2\n"), "{shown}");
        let stdout = shown.split("--- stdout").nth(1).unwrap_or_default();
        let stdout = stdout.split("--- stderr").next().unwrap_or_default();
        assert!(stdout.contains("is not valid PTX"), "{format}: {shown}");
    }
}

/// What a stranger writes does not reach the terminal as commands to it.
#[test]
fn terminals_are_not_commanded() {
    let folder = tempfile::tempdir().unwrap();
    let body = ".reg .b64 %a; .reg .b32 %r; ld.param.u64 %a, [p]; mov.u32 %r, %tid.x;\nst.global.u32 [%a], %r; // \u{1b}]0;mine\u{7} \u{1b}[2J \u{202e}";
    fs::write(folder.path().join("k.ptx"), ptx("", ".param .u64 p", body)).unwrap();
    let shown = check(folder.path(), &["k.ptx", "--block", "2"]);
    assert!(
        shown.contains("error[data-race]") && shown.contains("mine"),
        "{shown}"
    );
    assert!(
        !shown.contains(['\u{1b}', '\u{7}', '\u{202e}']),
        "{shown:?}"
    );
}

/// Folders of a catalogue that contain themselves.
#[cfg(unix)]
#[test]
fn catalogues_in_a_circle_end() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["kernels", "cases"] {
        fs::create_dir(folder.path().join(name)).unwrap();
        std::os::unix::fs::symlink("..", folder.path().join(name).join("loop")).unwrap();
        std::os::unix::fs::symlink(".", folder.path().join(name).join("self")).unwrap();
    }
    let shown = racetrap(folder.path(), &["run", "--catalog", "."]);
    assert!(shown.ends_with("--- exit status 2\n"), "{shown}");
}

/// Links that lead in a circle, to nowhere, or to what is no file.
#[cfg(unix)]
#[test]
fn links_lead_nowhere_else() {
    let folder = tempfile::tempdir().unwrap();
    let link =
        |to: &str, name: &str| std::os::unix::fs::symlink(to, folder.path().join(name)).unwrap();
    link("circle.ptx", "circle.ptx");
    link("/dev/zero", "zero.ptx");
    link("nowhere", "lost.cu");
    link("/proc/self/mem", "memory.ptx");
    for name in ["circle.ptx", "zero.ptx", "lost.cu", "memory.ptx"] {
        let shown = check(folder.path(), &[name]);
        assert!(shown.ends_with("--- exit status 2\n"), "{shown}");
        assert!(!shown.contains("panicked"), "{shown}");
    }
}
