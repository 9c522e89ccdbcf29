//! More input from strangers, by where it comes from: names of files, what a file is, numbers in options, the system around, catalogues.
//! Each ends with one message of bounded length and a documented exit status, commands nothing and waits for nothing.

use crate::common::racetrap;
use crate::hostile::{check, is_there_a_compiler, ptx};
use rstest::rstest;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// A kernel with a race.
fn race() -> String {
    let body = ".reg .b64 %a; .reg .b32 %r; ld.param.u64 %a, [p]; mov.u32 %r, %tid.x;\nst.global.u32 [%a], %r;";
    ptx("", ".param .u64 p", body)
}

/// Names of files go to terminals, logs and pages as the characters that they are made of.
#[cfg(unix)]
#[rstest]
#[case::escape("a\u{1b}[2J\u{1b}]0;mine\u{7}b.ptx")]
#[case::newline("a\n::error::b.ptx")]
#[case::return_to_the_start("a\rb.ptx")]
#[case::direction("a\u{202e}xtp.b.ptx")]
fn names_command_nothing(#[case] name: &str) {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join(name), race()).unwrap();
    for format in ["text", "github", "markdown", "html", "junit"] {
        let shown = check(folder.path(), &[name, "--block", "2", "--format", format]);
        // The first line is the command.
        let shown = shown.split_once("--- stdout").unwrap().1;
        assert!(shown.ends_with("--- exit status 1\n"), "{shown}");
        let commands = ['\u{1b}', '\u{7}', '\r', '\u{202e}'];
        assert!(!shown.contains(commands), "{format}: {shown:?}");
        let injected = shown.lines().any(|line| line.starts_with("::error::b"));
        assert!(format != "github" || !injected, "{shown}");
    }
    let missing = check(folder.path(), &[&format!("no{name}")]);
    let missing = missing.split_once("--- stderr").unwrap().1;
    assert!(
        !missing.contains(['\u{1b}', '\u{7}', '\r', '\u{202e}']),
        "{missing:?}"
    );
}

/// What is no text, no file, or nobody's: one message, and no waiting for what never comes.
#[cfg(unix)]
#[rstest]
#[case::pipe("pipe.ptx", "not a regular file")]
#[case::folder("folder.ptx", "is a folder")]
#[case::below_a_file("k.ptx/", "not a directory")]
#[case::terminal("/dev/tty", "not a regular file")]
#[case::input("/dev/stdin", "not a regular file")]
#[case::long("LONG", "can't read")]
#[case::wide("wide.ptx", "not UTF-8")]
#[case::nothing_in_it("nul.ptx", "NUL")]
#[case::packed("packed.ptx", "compressed")]
fn files_are_files(#[case] name: &str, #[case] message: &str) {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, bytes: &[u8]| fs::write(folder.path().join(name), bytes).unwrap();
    write("k.ptx", race().as_bytes());
    write(
        "wide.ptx",
        &race().bytes().flat_map(|b| [b, 0x80]).collect::<Vec<_>>(),
    );
    write("nul.ptx", race().replace("ret;", "\0ret;").as_bytes());
    write("packed.ptx", &[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3]);
    fs::create_dir(folder.path().join("folder.ptx")).unwrap();
    let made = Command::new("mkfifo")
        .arg(folder.path().join("pipe.ptx"))
        .status();
    if name == "pipe.ptx" && !made.is_ok_and(|status| status.success()) {
        println!("not checked: there is no mkfifo");
        return;
    }
    let long = "x".repeat(100_000) + ".ptx";
    let name = if name == "LONG" { &long } else { name };
    let began = Instant::now();
    let shown = check(folder.path(), &[name]);
    assert!(began.elapsed() < Duration::from_secs(20));
    assert!(shown.ends_with("--- exit status 2\n"), "{shown}");
    let said = shown.split_once("--- stderr").unwrap().1;
    assert!(said.contains(message), "{said}");
}

/// Directives, and operands that no instruction takes.
#[rstest]
#[case::target(race().replace("sm_75", "x"), "a target such as sm_90")]
#[case::huge_target(race().replace("sm_75", "sm_999999999999"), "a target such as sm_90")]
#[case::version(race().replace("8.0", "8"), "a version such as 8.0")]
#[case::lanes(ptx("", "", &format!(
    ".reg .b64 %a; .reg .b32 %r; mov.b64 {{{}}}, %a;", vec!["%r"; 1_000_000].join(",")
)), "the number of elements is 1000000, where the instruction takes 2")]
#[case::lanes_of_a_load(ptx("", ".param .u64 p", &format!(
    ".reg .b64 %a; .reg .b32 %r; ld.param.u64 %a, [p]; ld.global.v4.u32 {{{}}}, [%a];", vec!["%r"; 100_000].join(",")
)), "where the instruction takes 4")]
#[case::texels(ptx("", "", &format!(
    ".reg .b64 %a; .reg .f32 %f; tex.1d.v4.f32.f32 {{{}}}, [%a, {{%f}}];", vec!["%f"; 100_000].join(",")
)), "where the instruction takes 4")]
#[case::arguments(ptx(".func f(.param .b32 a) { ret; }", "", &format!("call f, ({});", vec!["1"; 100_000].join(","))),
    "the number of arguments is 100000, where `f` is declared with 1")]
#[case::vector_of_vectors(
    ptx("", "", ".reg .b64 %a; .reg .b32 %r; mov.b64 {{%r}, %r}, %a;"),
    "takes no vector here"
)]
#[case::vector_of_a_barrier(
    ptx("", "", ".reg .b32 %r; bar.sync {%r, %r};"),
    "takes no vector here"
)]
#[case::undeclared_word(
    ptx("", "", ".reg .b32 %r; mov.u32 %r, %nowhere;"),
    "`%nowhere` is not declared"
)]
fn ptx_that_no_assembler_takes_is_refused(#[case] text: String, #[case] message: &str) {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("k.ptx"), text).unwrap();
    let shown = check(folder.path(), &["k.ptx", "--entry", "k"]);
    assert!(
        shown.ends_with("--- exit status 2\n"),
        "{}",
        &shown[..shown.len().min(2000)]
    );
    assert!(
        shown.contains(message) && shown.contains("k.ptx:"),
        "{}",
        &shown[..shown.len().min(2000)]
    );
    assert!(shown.len() < 4000, "{} bytes", shown.len());
}

/// What nvcc copies from an `asm` into its PTX without reading it.
#[rstest]
#[case::instruction("garbage.u32 %0, %0;", "PTX has no instruction `garbage")]
#[case::prose("this is no asm %0", "expected `,` or `;`")]
#[case::modifier("add.u32.foo %0, %0, 1;", "PTX has no modifier `.foo`")]
#[case::name("add.u32 %0, %0, %%nowhere;", "`%nowhere` is not declared")]
fn inline_assembly_is_refused_with_its_line(#[case] text: &str, #[case] message: &str) {
    if !is_there_a_compiler() {
        return;
    }
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let source = format!(
        "__global__ void k(int *x) {{\n    int v = x[0];\n    asm volatile(\"{text}\" : \"+r\"(v));\n    x[0] = v;\n}}\n"
    );
    fs::write(folder.path().join("k.cu"), source).unwrap();
    let shown = check(folder.path(), &["k.cu"]);
    assert!(shown.ends_with("--- exit status 2\n"), "{shown}");
    assert!(
        shown.contains("inline assembly in `k.cu` is not valid PTX"),
        "{shown}"
    );
    assert!(
        shown.contains("k.cu:3") && shown.contains(message),
        "{shown}"
    );
}

/// Newer compilers write newer PTX, most of which means the same.
#[test]
fn newer_ptx_is_read_and_told() {
    let folder = tempfile::tempdir().unwrap();
    let text = ptx("", "", "");
    let version = text.lines().next().unwrap().to_owned();
    fs::write(folder.path().join("old.ptx"), &text).unwrap();
    fs::write(
        folder.path().join("new.ptx"),
        text.replace(&version, ".version 999.999"),
    )
    .unwrap();
    let told = "the PTX is of version 999.999, and 9.0 is the newest that racetrap knows";
    let shown = check(folder.path(), &["new.ptx"]);
    assert!(
        shown.contains(told) && shown.ends_with("--- exit status 0\n"),
        "{shown}"
    );
    assert!(!check(folder.path(), &["old.ptx"]).contains("newest that racetrap knows"));
}

/// A count of threads that is beyond 32 bits when it is rounded up to warps.
#[test]
fn barriers_of_too_many_threads_are_told() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(
        folder.path().join("k.ptx"),
        ptx("", "", "bar.sync 0, 4294967295;"),
    )
    .unwrap();
    let shown = check(folder.path(), &["k.ptx", "--block", "64"]);
    assert!(shown.contains("error[invalid-barrier]"), "{shown}");
    assert!(shown.contains("use a thread count of 1024"), "{shown}");
}

/// Names that fill screens are cut, and told no oftener than others.
#[rstest]
#[case::kernel(race().replace("entry k(", &format!("entry k{}(", "x".repeat(100_000))))]
#[case::mangled(race().replace("entry k(", &format!("entry _Z{}{}Pf(", 100_000, "k".repeat(100_000))))]
#[case::register(race().replace("%r;\nret", &format!("%{};\nret", "q".repeat(100_000))))]
#[case::parameter({
    let name = "p".repeat(60_000);
    race().replace("[p]", &format!("[{name}]")).replace(".u64 p)", &format!(".u64 {name})"))
})]
fn names_are_cut(#[case] text: String) {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("k.ptx"), text).unwrap();
    for more in [&[][..], &["--entry", "nope"]] {
        let shown = check(folder.path(), &[&["k.ptx", "--block", "2"], more].concat());
        assert!(
            !shown.contains("panicked"),
            "{}",
            &shown[..shown.len().min(2000)]
        );
        assert!(shown.len() < 6000, "{} bytes", shown.len());
    }
}

/// Numbers that are none, and numbers that would take for ever.
#[rstest]
#[case(&["--timeout", "nan"])]
#[case(&["--timeout", "inf"])]
#[case(&["--timeout", "1e308"])]
#[case(&["--timeout=-1"])]
#[case(&["--memory", "0"])]
#[case(&["--memory", "99999999999T"])]
#[case(&["--inputs", "4294967295"])]
#[case(&["--schedules", "4294967295"])]
#[case(&["--schedule", "pct:1:99999999"])]
#[case(&["--grid", "1e9"])]
#[case(&["--block", "\u{661}"])]
#[case(&["--arg", "0=f32[]"])]
#[case(&["--arg", "0=f32[4]:@."])]
#[case(&["--dump", "0=/dev/full/x"])]
#[case(&["--baseline", "k.ptx"])]
fn options_are_read_with_care(#[case] arguments: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("k.ptx"), race()).unwrap();
    let began = Instant::now();
    let shown = check(folder.path(), &[&["k.ptx"], arguments].concat());
    assert!(shown.ends_with("--- exit status 2\n"), "{shown}");
    assert!(!shown.contains("panicked"), "{shown}");
    assert!(began.elapsed() < Duration::from_secs(20));
}

/// Output that nobody takes, and folders that are none.
#[cfg(target_os = "linux")]
#[test]
fn what_is_around_may_be_broken() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    fs::write(folder.path().join("k.ptx"), race()).unwrap();
    let source = "__global__ void k(int *x) { x[threadIdx.x & 3] = threadIdx.x; }\n";
    fs::write(folder.path().join("k.cu"), source).unwrap();
    let run = |file: &str, name: &str, value: &str, out: Stdio| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_racetrap"));
        command
            .args(["check", file, "--block", "8"])
            .current_dir(folder.path());
        // What was compiled before would need no folder.
        command
            .env("XDG_CACHE_HOME", "/proc")
            .env(name, value)
            .stdin(Stdio::null())
            .stdout(out)
            .stderr(Stdio::piped());
        let output = command.output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!said.contains("panicked"), "{name}={value}: {said}");
        output.status.code()
    };
    let full = || Stdio::from(fs::File::create("/dev/full").unwrap());
    assert_eq!(run("k.ptx", "NO_COLOR", "1", full()), Some(3));
    if !is_there_a_compiler() {
        return;
    }
    let evil = folder.path().join("t$(touch pwned) x");
    fs::create_dir(&evil).unwrap();
    let evil = evil.display().to_string();
    for (name, value, wanted) in [
        // Folders that not even root can make.
        ("HOME", "/dev/null/home", Some(1)),
        ("XDG_CACHE_HOME", "/proc", Some(1)),
        ("TMPDIR", "/dev/null/temporary", Some(2)),
        ("TMPDIR", evil.as_str(), None),
    ] {
        let code = run("k.cu", name, value, Stdio::piped());
        assert!(
            wanted.is_none_or(|w| code == Some(w)),
            "{name}={value}: {code:?}"
        );
    }
    assert!(!folder.path().join("pwned").exists() && !Path::new("pwned").exists());
}

/// Sources that say little and would print much, or command a terminal.
#[rstest]
#[case::launches(format!(
    "__global__ void k(int *x) {{ x[0] = 1; }}\nint main() {{ {} 1, 1>>>(0); }}\n", "k<<<".repeat(50_000)
))]
#[case::parameters(format!(
    "__global__ void k({}) {{}}\n", (0..900).map(|i| format!("int a{i}")).collect::<Vec<_>>().join(", ")
))]
#[case::heads_by_macros(format!(
    "#define K(x) __global__ void x ## x(int *p) {{}}\n{}", (0..300).map(|i| format!("K(k{i})\n")).collect::<String>()
))]
#[case::prints("#include <cstdio>\n__global__ void k() { printf(\"\\033[2J\\033]0;mine\\007 %2147483647d\", 1); }\n".into())]
#[case::assembly("__global__ void k(int *x) { asm volatile(\"} .visible .entry evil() { ret; \"); x[0] = 1; }\n".into())]
#[case::included_terminal("#include \"/dev/tty\"\n__global__ void k() {}\n".into())]
fn sources_print_little(#[case] source: String) {
    if !is_there_a_compiler() {
        return;
    }
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    fs::write(folder.path().join("k.cu"), source).unwrap();
    let shown = check(
        folder.path(),
        &["k.cu", "--timeout", "30", "--no-cache", "--entry", "k"],
    );
    assert!(
        !shown.contains("panicked") && !shown.contains("killed"),
        "{shown}"
    );
    assert!(!shown.contains(['\u{1b}', '\u{7}']), "{shown:?}");
    assert!(shown.len() < 100_000, "{} bytes", shown.len());
}

const CASE: &str = "title: T\nkernel: o/k.cu\nsizes:\n  n: 1..=64\nbuffers:\n  x: {type: i32, length: n, values: iota}\nlaunches:\n  - {entry: k, block: n, args: [x]}\nexpect:\n  simulator: clean\n";

/// Catalogues that multiply themselves, have no end, or name what is not theirs.
#[rstest]
#[case::multiplied({
    let names: Vec<char> = ('a'..='j').collect();
    let lists = names.windows(2).map(|two| format!("{0}: &{0} [{1}]\n", two[1], vec![format!("*{}", two[0]); 9].join(",")));
    "a: &a [x, x]\n".to_owned() + &lists.collect::<String>() + CASE
})]
#[case::of_itself(CASE.replace("title: T", "title: &a [*a]"))]
#[case::deep(format!("title: {}{}\n", "[".repeat(100_000), "]".repeat(100_000)))]
#[case::endless_size(CASE.replace("1..=64", "0..=18446744073709551615"))]
#[case::negative_length(CASE.replace("length: n", "length: 0 - n"))]
#[case::divided_by_nothing(CASE.replace("length: n", "length: 1 / (n - n)"))]
#[case::another_folder(CASE.replace("o/k.cu", "../../../../../../etc/passwd"))]
#[case::a_device(CASE.replace("o/k.cu", "/dev/zero"))]
#[case::code(CASE.replace("title: T", "title: !!python/object/apply:os.system [\"touch pwned\"]"))]
#[case::no_text("title: \0\n".into())]
fn catalogues_are_read_with_care(#[case] case: String) {
    let folder = tempfile::tempdir().unwrap();
    for part in ["kernels/o", "cases/o"] {
        fs::create_dir_all(folder.path().join(part)).unwrap();
    }
    fs::write(
        folder.path().join("kernels/o/k.cu"),
        "__global__ void k(int *x) { x[threadIdx.x] = 1; }\n",
    )
    .unwrap();
    fs::write(folder.path().join("cases/o/k.yaml"), case).unwrap();
    let began = Instant::now();
    let shown = racetrap(folder.path(), &["run", "--catalog", "."]);
    assert!(began.elapsed() < Duration::from_secs(20));
    assert!(shown.ends_with("--- exit status 2\n"), "{shown}");
    assert!(
        !shown.contains("panicked") && !shown.contains("root:"),
        "{shown}"
    );
    assert!(!folder.path().join("pwned").exists());
}
