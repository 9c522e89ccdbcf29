//! Input from strangers: names that are code, files that are none of theirs, declarations that ask for all memory. Each ends with one
//! message and the documented exit status, runs nothing, shows nothing, and takes little.

use crate::common::racetrap;
use rstest::rstest;
use std::fs;
use std::path::Path;

/// PTX with a kernel `k`.
fn ptx(head: &str, parameters: &str, body: &str) -> String {
    format!(
        ".version 8.0\n.target sm_75\n.address_size 64\n{head}\n.visible .entry k({parameters})\n{{\n{body}\nret;\n}}\n"
    )
}

fn check(folder: &Path, arguments: &[&str]) -> String {
    racetrap(folder, &[&["check"], arguments].concat())
}

fn is_there_a_compiler() -> bool {
    let found = toolchain::Nvcc::find().is_ok();
    if !found {
        println!("not checked: there is no CUDA compiler; ci/cuda-toolkit.sh installs one");
    }
    found
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

/// Memory of a check of a hostile input, at most, and its time.
const MEMORY: u64 = 2 << 30;
const SECONDS: u64 = 30;

/// Runs a check, and watches its memory and time; its output.
#[cfg(target_os = "linux")]
fn watched(folder: &Path, arguments: &[&str]) -> (String, u64) {
    use std::process::{Command, Stdio};
    use std::time::{Duration, Instant};
    let output = fs::File::create(folder.join("output")).unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_racetrap"))
        .arg("check")
        .args(arguments)
        .current_dir(folder)
        .stdout(output.try_clone().unwrap())
        .stderr(output)
        .stdin(Stdio::null())
        .spawn()
        .unwrap();
    let (started, mut most) = (Instant::now(), 0);
    let status = loop {
        let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let peak = peak.and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok());
        most = most.max(peak.unwrap_or(0) << 10);
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        // Reading and checking a file of many megabytes is not watched by the clock.
        if most > MEMORY || started.elapsed() > Duration::from_secs(3 * SECONDS) {
            child.kill().unwrap();
            child.wait().unwrap();
            panic!(
                "{arguments:?}: {} MiB after {:?}",
                most >> 20,
                started.elapsed()
            );
        }
        std::thread::sleep(Duration::from_millis(10));
    };
    let text = fs::read(folder.join("output")).unwrap();
    let text = String::from_utf8_lossy(&text);
    assert!(!text.contains("panicked"), "{text}");
    assert!(matches!(status.code(), Some(0..=3)), "{status}: {text}");
    (text.into_owned(), most)
}

/// Everything that once took all memory or all time, or looks as if it could.
#[cfg(target_os = "linux")]
#[rstest]
#[case::recursion(ptx(".func f() { call f; ret; }", "", "call f;"))]
#[case::recursion_with_registers(ptx(
    ".func f() { .reg .b64 %a<2000>; mov.u64 %a1, 1; call f; add.u64 %a2, %a1, %a1; ret; }",
    "",
    "call f;"
))]
#[case::mutual_recursion(ptx(
    ".func g(); .func f() { call g; ret; } .func g() { call f; ret; }",
    "",
    "call f;"
))]
#[case::endless_loop(ptx("", "", "A: bra A;"))]
#[case::nested_blocks(ptx("", "", &format!("{}{}", "{".repeat(50_000), "}".repeat(50_000))))]
#[case::nested_operand(ptx("", "", &format!("mov.u32 %r, {}1{};", "(".repeat(50_000), ")".repeat(50_000))))]
#[case::nested_vector(ptx("", "", &format!("mov.b64 {}1{}, %a;", "{".repeat(50_000), "}".repeat(50_000))))]
#[case::initialiser(ptx(&format!(".global .u32 g[1] = {}1{};", "{".repeat(50_000), "}".repeat(50_000)), "", ""))]
#[case::many_instructions(ptx("", "", &"ret;".repeat(2_000_000)))]
#[case::many_labels(ptx("", "", &(0..300_000).map(|i| format!("L{i}:\n")).collect::<String>()))]
#[case::many_registers(ptx("", "", &(0..100_000).map(|i| format!(".reg .b32 %r{i};\n")).collect::<String>()))]
#[case::many_functions(ptx(&(0..50_000).map(|i| format!(".func f{i}() {{ ret; }}\n")).collect::<String>(), "", "call f7;"))]
#[case::chain_of_calls(ptx(
    &(0..5_000).rev().map(|i| format!(".func f{i}() {{ call f{}; ret; }}\n", i + 1)).fold(
        ".func f5000() { ret; }\n".to_owned(), |all, one| all + &one),
    "",
    "call f0;"
))]
#[case::many_findings(ptx("", ".param .u64 p", &format!(
    ".reg .b64 %a; .reg .b32 %r; ld.param.u64 %a, [p]; mov.u32 %r, %tid.x;\n{}",
    (0..500).map(|i| format!("st.global.u32 [%a+{}], %r;\n", i % 64 * 4)).collect::<String>()
)))]
#[case::thousands_of_findings(ptx("", ".param .u64 p", &format!(
    ".reg .b64 %a; .reg .b32 %r; ld.param.u64 %a, [p]; mov.u32 %r, %tid.x;\n{}",
    (0..5000).map(|i| format!("st.global.u32 [%a+{}], %r;\n", i * 4 % 4096)).collect::<String>()
)))]
#[case::many_kernels((0..20_000).fold(ptx("", "", ""), |all, i| {
    all + &format!(".visible .entry k{i}() {{ {} ret; }}\n", "bar.sync 0;".repeat(100))
}))]
#[case::one_large_kernel(ptx("", "", &format!(".reg .b32 %r<9>;\n{}", "add.s32 %r1, %r2, %r3;\n".repeat(3_000_000))))]
#[case::large_variable(ptx(&format!(".global .b8 g[9000000] = {{{}1}};", "1,".repeat(8_999_999)), "", ""))]
#[case::long_comment(ptx("", "", &format!("/*{}*/", "x\n".repeat(40_000_000))))]
#[case::long_name(ptx("", "", &format!(".reg .b32 %{};", "r".repeat(5_000_000))))]
#[case::long_line(ptx("", "", &" ".repeat(20_000_000)))]
#[case::rubbish("\u{0}\u{1}é{}[]()<>;:,.".repeat(100_000))]
fn hostile_inputs_stay_within_their_budgets(#[case] text: String) {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("k.ptx"), text).unwrap();
    let timeout = SECONDS.to_string();
    let (said, most) = watched(
        folder.path(),
        &[
            "k.ptx",
            "--entry",
            "k",
            "--block",
            "64",
            "--timeout",
            &timeout,
            "--jobs",
            "2",
        ],
    );
    assert!(said.len() < 1 << 20, "{} bytes of output", said.len());
    println!("{} MiB", most >> 20);
}

/// The time limit holds where wording the findings would take longer than the runs.
#[test]
fn thousands_of_findings_end_in_time() {
    let stores: String = (0..5000)
        .map(|i| format!("st.global.u32 [%a+{}], %r;\n", i * 4 % 4096))
        .collect();
    let body =
        format!(".reg .b64 %a; .reg .b32 %r; ld.param.u64 %a, [p]; mov.u32 %r, %tid.x;\n{stores}");
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("k.ptx"), ptx("", ".param .u64 p", &body)).unwrap();
    let started = std::time::Instant::now();
    let shown = check(folder.path(), &["k.ptx", "--timeout", "2", "--jobs", "1"]);
    let took = started.elapsed();
    assert!(took < std::time::Duration::from_secs(20), "{took:?}");
    assert!(shown.ends_with("--- exit status 1\n"), "{shown}");
    assert!(shown.contains("more that are left out"), "{shown}");
    assert!(shown.len() < 200_000, "{} bytes", shown.len());
}

/// Sources that keep the compiler busy or fill its memory: its limits end it, and the check's time is one for all.
#[cfg(target_os = "linux")]
#[rstest]
#[case::endless_include("#include \"/dev/zero\"\n__global__ void k() {}\n".into(), 2)]
#[case::includes_itself("#include __FILE__\n__global__ void k() {}\n".into(), 2)]
#[case::templates(
    "template <int A, int B> struct T { static const int v = T<A - 1, B>::v + T<A, B - 1>::v; };\n__global__ void k(int *x) { x[0] = T<3000, 3000>::v; }\n".into(),
    2
)]
#[case::macros({
    let nested: String = (1..11).map(|i| format!("#define A{i} {}\n", format!("A{} ", i - 1).repeat(10))).collect();
    format!("#define A0 x\n{nested}__global__ void k(int *x) {{ A10; }}\n")
}, 3)]
#[case::statements(format!("__global__ void k(int *x) {{\n{}}}\n", "x[0]++;\n".repeat(2_000_000)), 3)]
fn compilers_end_in_time(#[case] source: String, #[case] code: i32) {
    if !is_there_a_compiler() {
        return;
    }
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    fs::write(folder.path().join("k.cu"), source).unwrap();
    let started = std::time::Instant::now();
    let shown = check(folder.path(), &["k.cu", "--timeout", "5", "--no-cache"]);
    // A slow machine may run out of time first; nothing else may come out.
    let codes = [
        format!("--- exit status {code}\n"),
        "--- exit status 3\n".into(),
    ];
    assert!(codes.iter().any(|c| shown.ends_with(c)), "{shown}");
    assert!(started.elapsed() < std::time::Duration::from_secs(40));
    assert!(!shown.contains("panicked"), "{shown}");
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
