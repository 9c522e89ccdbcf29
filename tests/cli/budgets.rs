//! What hostile input may take: 2 GiB of memory, compilers included, and the time that `--timeout` gives, which is one for all.
//! `ci/hostile.sh` runs this and [`hostile`](super::hostile).

use super::hostile::{check, is_there_a_compiler, ptx};
use rstest::rstest;
use std::fs;
use std::path::Path;

/// Memory of a check of a hostile input, at most, and its time.
const MEMORY: u64 = 2 << 30;
const SECONDS: u64 = 30;

/// Memory of the processes that a process has started, and of those that they have, bytes.
#[cfg(target_os = "linux")]
fn memory_below(process: u32) -> u64 {
    let tasks = fs::read_dir(format!("/proc/{process}/task"));
    let tasks = tasks.into_iter().flatten().flatten();
    // A thread's children are listed with that thread (proc(5)).
    let children: String = tasks
        .filter_map(|task| fs::read_to_string(task.path().join("children")).ok())
        .collect();
    let children = children
        .split_whitespace()
        .filter_map(|id| id.parse::<u32>().ok());
    let of = |id: u32| {
        let status = fs::read_to_string(format!("/proc/{id}/status")).unwrap_or_default();
        let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let resident =
            resident.and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok());
        (resident.unwrap_or(0) << 10) + memory_below(id)
    };
    children.map(of).sum()
}

/// [`watched_command`] of a check.
#[cfg(target_os = "linux")]
fn watched(folder: &Path, arguments: &[&str]) -> (String, i32, u64) {
    watched_command(folder, &[&["check"], arguments].concat())
}

/// Runs a command, and watches its memory and time, those of the compilers included; its output, its exit status and its memory.
#[cfg(target_os = "linux")]
fn watched_command(folder: &Path, arguments: &[&str]) -> (String, i32, u64) {
    use std::process::{Command, Stdio};
    use std::time::{Duration, Instant};
    let output = fs::File::create(folder.join("output")).unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_racetrap"))
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
        most = most.max((peak.unwrap_or(0) << 10) + memory_below(child.id()));
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
        std::thread::sleep(Duration::from_millis(20));
    };
    let text = fs::read(folder.join("output")).unwrap();
    let text = String::from_utf8_lossy(&text);
    assert!(!text.contains("panicked"), "{text}");
    assert!(matches!(status.code(), Some(0..=3)), "{status}: {text}");
    (text.into_owned(), status.code().unwrap_or(-1), most)
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
#[case::alignment(ptx(".global .align 1073741824 .b8 g[4];", "", ""))]
#[case::registers_beyond_64_bits(ptx("", "", ".reg .b32 %r<18446744073709551616>;"))]
#[case::targets(ptx("", "", &format!(
    ".reg .b32 %r; mov.u32 %r, %tid.x; T: .branchtargets {}; brx.idx %r, T; L:",
    vec!["L"; 300_000].join(",")
)))]
#[case::range_of_targets(ptx(
    "",
    "",
    ".reg .b32 %r; mov.u32 %r, 0; T: .branchtargets L<100000000>; brx.idx %r, T; L0:"
))]
#[case::number_of_a_file(ptx("", "", "") + ".file 99999999999999999999 \"x.cu\"\n")]
#[case::inlined_in_itself(ptx("", ".param .u64 p", &(0..20_000).fold(
    ".reg .b64 %a; .reg .b32 %r; ld.param.u64 %a, [p]; mov.u32 %r, %tid.x; $L:\n".to_owned(),
    |all, i| all + &format!(".loc 1 {i} 1, function_name $i{i}, inlined_at 1 {i} 1\nst.global.u32 [%a], %r;\n")
)) + ".file 1 \"x.cu\"\n")]
#[case::debugging_information(ptx("", "", "") + &format!(".section .debug_str\n{{\n{}}}\n", ".b8 65,65,65,65\n".repeat(600_000)))]
#[case::many_constants(ptx(&(0..2000).map(|i| format!(".const .align 4 .b8 c{i}[60000];\n")).collect::<String>(), "", ""))]
#[case::many_shared_arrays(ptx(
    &(0..100_000).map(|i| format!(".extern .shared .align 16 .b8 e{i}[];\n")).collect::<String>(),
    "",
    ".reg .b32 %r; ld.shared.u32 %r, [e7];"
))]
#[case::parameters_of_a_call(ptx(
    &format!(".func f({}) {{ ret; }}", (0..100_000).map(|i| format!(".param .b32 a{i}")).collect::<Vec<_>>().join(",")),
    "",
    &format!("call f, ({});", vec!["1"; 100_000].join(","))
))]
#[case::chain_of_initialisers(ptx(&(0..50_000).map(|i| format!(".global .u64 a{i} = a{};\n", i + 1)).collect::<String>(), "", ""))]
#[case::dimensions(ptx(&format!(".global .b8 g{};", "[1]".repeat(200_000)), "", ""))]
#[case::signs(ptx("", "", &format!("mov.u32 %r, {}1;", "-!~".repeat(50_000))))]
#[case::conditions(ptx("", "", &format!("mov.u32 %r, {}1{};", "1?".repeat(50_000), ":0".repeat(50_000))))]
#[case::least_number_divided(ptx("", "", ".reg .b64 %r; mov.u64 %r, -9223372036854775808/-1;"))]
#[case::threads_beyond_32_bits(ptx("", "", "").replace(")\n{", ")\n.maxntid 4294967295, 4294967295, 4294967295\n{"))]
#[case::no_threads(ptx("", "", "").replace(")\n{", ")\n.reqntid 0, 0, 0\n{"))]
#[case::name_of_a_file(ptx(
    "",
    ".param .u64 p",
    ".reg .b64 %a; .reg .b32 %r; ld.param.u64 %a, [p]; mov.u32 %r, %tid.x;\n.loc 1 1 1\nst.global.u32 [%a], %r;"
) + &format!(".file 1 \"{}\"\n", "A".repeat(5_000_000)))]
#[case::volatile_loads(ptx("", ".param .u64 p", &format!(
    ".reg .b64 %a; .reg .b32 %r; ld.param.u64 %a, [p];\n{}",
    (0..40_000).map(|i| format!("ld.volatile.global.u32 %r, [%a+{}];\n", i % 64 * 4)).collect::<String>()
)))]
#[case::moves_backwards(ptx("", ".param .u64 p", &format!(
    ".reg .b64 %a; .reg .b32 %m<40001>; .reg .pred %q; ld.param.u64 %a, [p]; ld.volatile.global.u32 %m0, [%a];\nA:\n{}setp.eq.u32 %q, %m40000, 7; @%q bra A;",
    (0..40_000).rev().map(|i| format!("mov.u32 %m{}, %m{i};\n", i + 1)).collect::<String>()
)))]
#[case::moves_to_a_store(ptx("", ".param .u64 p", &format!(
    ".reg .b64 %a; .reg .b32 %m<40001>; ld.param.u64 %a, [p]; ld.global.u32 %m0, [%a];\n{}st.global.u32 [%a], %m40000;",
    (0..40_000).map(|i| format!("mov.u32 %m{}, %m{i};\n", i + 1)).collect::<String>()
)))]
#[case::loops_at_the_clock(ptx("", "", &format!(
    ".reg .b32 %r; .reg .pred %q; {}mov.u32 %r, %clock;\n{}",
    (0..20_000).map(|i| format!("L{i}:\n")).collect::<String>(),
    (0..20_000).map(|i| format!("setp.eq.u32 %q, %tid.x, {}; @%q bra L{i};\n", i + 5000)).collect::<String>()
)))]
#[case::families_of_registers(ptx("", "", &(0..40_000).map(|i| {
    let name: String = format!("{i:05}").bytes().map(|b| char::from(b + 49)).collect();
    format!(".reg .b32 %{name}<2>; mov.u32 %{name}1, 1;\n")
}).collect::<String>()))]
#[case::barriers_behind_branches(ptx("", "", &format!(
    ".reg .b32 %r; .reg .pred %q; mov.u32 %r, %tid.x;\n{}",
    (0..20_000).map(|i| format!("setp.gt.u32 %q, %r, {}; @%q bra M{i}; bar.sync 0; M{i}:\n", 1000 + i)).collect::<String>()
)))]
#[case::barriers_in_loops(ptx("", "", &format!(
    ".reg .b32 %r; .reg .pred %q; mov.u32 %r, %tid.x;\n{}",
    (0..20_000).map(|i| format!("N{i}: bar.sync 0; setp.gt.u32 %q, %r, {}; @%q bra N{i};\n", 1000 + i)).collect::<String>()
)))]
#[case::barriers_in_a_nest(ptx("", "", &format!(
    ".reg .b32 %r; .reg .pred %q; mov.u32 %r, %tid.x;\n{}{}{}",
    (0..5_000).map(|i| format!("setp.gt.u32 %q, %r, {}; @%q bra E{i};\n", 1000 + i)).collect::<String>(),
    "bar.sync 0;".repeat(5_000),
    (0..5_000).rev().map(|i| format!("E{i}: add.u32 %r, %r, 1;\n")).collect::<String>()
)))]
#[case::barriers_in_functions(ptx(
    &(0..5_000).rev().map(|i| format!(".func f{i}() {{ bar.sync 0; call f{}; ret; }}\n", i + 1)).fold(
        ".func f5000() { bar.sync 0; ret; }\n".to_owned(), |all, one| all + &one),
    "",
    ".reg .pred %q; setp.gt.u32 %q, %tid.x, 2000; @%q bra M; call f0; M:"
))]
#[case::thicket(ptx("", "", &format!(
    ".reg .b32 %r; .reg .pred %q; bar.sync 0; mov.u32 %r, %tid.x;\n{}ret;\n{}bar.sync 0;",
    (0..8_000).map(|i| format!("setp.eq.u32 %q, %r, {}; @%q bra R{i};\n", 1000 + i)).collect::<String>(),
    (0..8_000).map(|i| format!("R{i}: add.u32 %r, %r, 1; setp.eq.u32 %q, %r, 7; @%q bra R{};\n", (i * 7919 + 13) % 8000)).collect::<String>()
)))]
#[case::addresses_in_any_order(ptx("", ".param .u64 p", &format!(
    ".reg .b64 %m<100001>; ld.param.u64 %m0, [p];\n{}st.global.u64 [%m100000], 1;",
    (0..100_000).map(|i| i * 7919 % 100_000).map(|k| format!("add.u64 %m{}, %m{k}, 0;\n", k + 1)).collect::<String>()
)))]
#[case::rubbish("\u{0}\u{1}é{}[]()<>;:,.".repeat(100_000))]
fn hostile_inputs_stay_within_their_budgets(#[case] text: String) {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("k.ptx"), text).unwrap();
    let timeout = SECONDS.to_string();
    let (said, _, most) = watched(
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

/// Names that the demangler takes apart: pointers to pointers, numbers, and substitutions that double.
#[cfg(target_os = "linux")]
#[rstest]
#[case::pointers(format!("_Z1k{}i", "P".repeat(60_000)))]
#[case::digits(format!("_Z{}k", "9".repeat(60_000)))]
#[case::templates(format!("_Z1k{}i{}", "I".repeat(30_000), "E".repeat(30_000)))]
#[case::substitutions(
    ("_123456789ABCDEFGHIJKLMNOPQRS").chars().skip(1).fold("_Z1k1AIiiE".to_owned(), |all, c| {
        let before = char::from_digit(c.to_digit(36).unwrap_or(1) - 1, 36).unwrap_or('0');
        all + &format!("S_IS{0}_S{0}_E", before.to_ascii_uppercase())
    }) + "v"
)]
fn names_stay_within_their_budgets(#[case] name: String) {
    let folder = tempfile::tempdir().unwrap();
    let text = ptx("", "", "").replace("entry k(", &format!("entry {name}("));
    fs::write(folder.path().join("k.ptx"), text).unwrap();
    let (said, code, _) = watched(folder.path(), &["k.ptx", "--timeout", "10"]);
    assert!(matches!(code, 0 | 2), "{code}");
    assert!(said.len() < 1 << 20, "{} bytes of output", said.len());
}

/// Arguments that ask for more than there is.
#[cfg(target_os = "linux")]
#[rstest]
#[case(&["--block", "4294967295,4294967295,4294967295"], 2)]
#[case(&["--grid", "2147483647,65535,65535", "--block", "1024"], 2)]
#[case(&["--shared", "4294967295"], 2)]
#[case(&["--arg", "0=f32[18446744073709551615]"], 2)]
#[case(&["--arg", "0=f32[4611686018427387904]:zeros"], 2)]
#[case(&["--arg", "0=f32[4294967295][4294967295]"], 2)]
#[case(&["--arg", "0=f32[9]:each:9223372036854775807+i*9223372036854775807"], 2)]
#[case(&["--arg", "0=f32[9]:each:i/0"], 2)]
#[case(&["--arg", "0=f32[4]:random:-9223372036854775808..=9223372036854775807"], 2)]
#[case(&["--arg", "0=u8[]:@/proc/self/environ"], 2)]
#[case(&["--arg", "0=f32[8]:@/proc/self/mem"], 2)]
#[case(&["--arg", "1=-99999999999999999999999999"], 2)]
#[case(&["--set", "x=f32[4]"], 2)]
#[case(&["--dump", "0=/dev/full"], 2)]
#[case(&["--baseline", "/dev/zero"], 2)]
#[case(&["--kernel", "*k*k*k*k*k*k*k*k*k*k*k*k*k*k*k*k*a"], 2)]
#[case(&["--jobs", "4294967295"], 2)]
#[case(&["--schedule", "reverse:99999999999.1.1-1.1.1"], 2)]
fn arguments_stay_within_their_budgets(#[case] arguments: &[&str], #[case] code: i32) {
    let folder = tempfile::tempdir().unwrap();
    let body = ".reg .b64 %a; ld.param.u64 %a, [p]; st.global.u32 [%a], 1;";
    let text = ptx("", ".param .u64 p, .param .u32 n", body);
    fs::write(folder.path().join("k.ptx"), text).unwrap();
    let (said, ended, _) = watched(folder.path(), &[&["k.ptx"], arguments].concat());
    assert_eq!(ended, code, "{said}");
    // The same, nested as deep as a command line goes.
    for deep in ["0=f32[4]:each:(", "1={", "1=-"] {
        let deep = deep.to_owned() + &deep[deep.len() - 1..].repeat(50_000);
        let (_, ended, _) = watched(folder.path(), &["k.ptx", "--arg", &deep]);
        assert_eq!(ended, 2);
    }
}

/// The time limit is one for everything, and is kept to the second: compilers, runs whose steps take long, what they print.
#[cfg(target_os = "linux")]
#[rstest]
#[case::compiler("k.cu", format!(
    "__global__ void k(float *x, float y) {{\n{}}}\n",
    (0..6000).map(|i| format!("x[{i}] = x[{}] * {i}.5f + y;\n", i * 7 % 9001)).collect::<String>()
))]
#[case::polling("k.ptx", ptx("", ".param .u64 p",
    ".reg .b64 %a; .reg .b32 %r; .reg .pred %q; ld.param.u64 %a, [p]; A: ld.volatile.global.u32 %r, [%a+4]; add.u32 %r, %r, 1;
     st.volatile.global.u32 [%a+4], %r; ld.volatile.global.u32 %r, [%a]; setp.ne.u32 %q, %r, 7; @%q bra A;"
))]
#[case::findings("k.ptx", ptx("", ".param .u64 p", &format!(
    ".reg .b64 %a; .reg .b32 %r; ld.param.u64 %a, [p]; mov.u32 %r, %tid.x;\nA: {} bra A;",
    (0..3000).map(|i| format!("st.global.u32 [%a+{}], %r;\n", i * 4 % 4096)).collect::<String>()
)))]
#[case::compiler_and_kernel("k.cu", "__global__ void k(volatile int *x) { while (x[0] != 7) x[1]++; }\n".into())]
#[case::output("k.cu", "#include <cstdio>\n__global__ void k(int n) { while (n) printf(\"%200d\\n\", n); }\n".into())]
fn the_time_limit_is_kept(#[case] name: &str, #[case] text: String) {
    const LIMIT: u64 = 4;
    if name.ends_with(".cu") && !is_there_a_compiler() {
        return;
    }
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    fs::write(folder.path().join(name), text).unwrap();
    let limit = LIMIT.to_string();
    let arguments = [name, "--timeout", &limit, "--no-cache", "--jobs", "1"];
    let started = std::time::Instant::now();
    let (said, code, _) = watched(folder.path(), &arguments);
    let took = started.elapsed();
    assert!(matches!(code, 1 | 3), "{code}: {said}");
    assert!(
        took < std::time::Duration::from_secs(LIMIT + 2),
        "{took:?}: {said}"
    );
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
#[case::embedded("#embed \"/dev/zero\"\n__global__ void k() {}\n".into(), 2)]
#[case::constant_loop("constexpr int f() { int s = 0; for (long i = 0; i < 9000000000; i++) s ^= i; return s; }\n__global__ void k(int *x) { constexpr int v = f(); x[0] = v; }\n".into(), 2)]
#[case::chain_of_templates("template <int N> struct T { T<N + 1> *t; static const int v = T<N + 1>::v; };\n__global__ void k(int *x) { x[0] = T<0>::v; }\n".into(), 2)]
#[case::statements(format!("__global__ void k(int *x) {{\n{}}}\n", "x[0]++;\n".repeat(2_000_000)), 3)]
fn compilers_end_in_time(#[case] source: String, #[case] code: i32) {
    if !is_there_a_compiler() {
        return;
    }
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    fs::write(folder.path().join("k.cu"), source).unwrap();
    let started = std::time::Instant::now();
    // Two compilers side by side take some 0.4 GiB a second.
    let (shown, ended, _) = watched(folder.path(), &["k.cu", "--timeout", "3", "--no-cache"]);
    // A slow machine may run out of time first; nothing else may come out.
    assert!(ended == code || ended == 3, "{ended}: {shown}");
    assert!(started.elapsed() < std::time::Duration::from_secs(10));
}

/// Kernels of which there is much to remember: the memory limit ends them, or their time, and nothing else does.
#[cfg(target_os = "linux")]
#[rstest]
#[case::a_byte_of_each_page(500, "st.volatile.global.u8 [%a], 1; ld.volatile.global.u8 %r, [%a];".into())]
#[case::an_atomic_in_each_page(260, "atom.global.add.u32 %r, [%a], 1;".into())]
#[case::an_atomic_in_each_page_of_much(500, "atom.global.add.u32 %r, [%a], 1;".into())]
#[case::a_large_table(512, "mov.u32 %i, 0; L: ld.volatile.global.u32 %r, [%a]; st.volatile.global.u32 [%a], %i; add.u64 %a, %a, 32; add.u32 %i, %i, 1; setp.lt.u32 %q, %i, 128; @%q bra L;".into())]
#[case::atomics_on_one_word(1, "atom.global.add.u32 %r, [g], 1;\n".repeat(30_000))]
#[case::loads_of_what_nobody_wrote(1, (0..20_000).map(|i| format!("ld.shared.u32 %r, [s+{}];\n", i * 4 % 8192)).collect())]
#[case::meetings(1, "mov.u32 %i, 0; L: bar.sync 0; add.u32 %i, %i, 1; setp.lt.u32 %q, %i, 1000000; @%q bra L;".into())]
#[case::copies(1, "mov.u32 %i, 0; L: cp.async.ca.shared.global [s], [g], 16; add.u32 %i, %i, 1; setp.lt.u32 %q, %i, 1000000; @%q bra L;".into())]
fn what_is_remembered_stays_within_its_budget(#[case] mebibytes: u64, #[case] body: String) {
    let head = format!(
        ".global .align 4096 .b8 g[{}];\n.shared .align 16 .b8 s[8192];",
        mebibytes << 20
    );
    let address = ".reg .b32 %r, %i, %t; .reg .b64 %a, %o; .reg .pred %q; mov.u32 %t, %ctaid.x; mad.lo.u32 %t, %t, 1024, %tid.x;\n\
        mov.u64 %a, g; mul.wide.u32 %o, %t, 4096; add.u64 %a, %a, %o;\n";
    let text = ptx(&head, "", &format!("{address}{body}")).replace("sm_75", "sm_80");
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("k.ptx"), text).unwrap();
    let grid = (mebibytes / 4).clamp(2, 125).to_string();
    let arguments = [
        "k.ptx",
        "--grid",
        &grid,
        "--block",
        "1024",
        "--timeout",
        "8",
    ];
    let (said, _, most) = watched(folder.path(), &arguments);
    assert!(!said.contains("panicked"), "{said}");
    println!("{} MiB: {said}", most >> 20);
}

/// Other commands that run kernels or read PTX, on inputs that are long for them: their time is one for all, too.
#[cfg(target_os = "linux")]
#[test]
fn other_commands_end_in_time() {
    let folder = tempfile::tempdir().unwrap();
    let barriers = ".reg .b32 %r; mov.u32 %r, %tid.x;\n".to_owned() + &"bar.sync 0;\n".repeat(6000);
    fs::write(folder.path().join("a.ptx"), ptx("", "", &barriers)).unwrap();
    let mixed = |step: usize| -> String {
        let one = |i: usize| match i * step % 7 {
            0 => "bar.sync 0;\n".to_owned(),
            1 | 2 => format!("st.volatile.shared.u32 [s+{}], %r;\n", i * step % 61 * 4),
            3 => format!("st.shared.u32 [s+{}], %r;\n", i * step % 59 * 4),
            4 => format!("ld.shared.u32 %r, [s+{}];\n", i * step % 53 * 4),
            _ => format!("add.u32 %r, %r, {};\n", i * step % 97),
        };
        let body: String = (1..20_000).map(one).collect();
        ptx(
            "",
            "",
            &format!(".shared .align 4 .b8 s[256]; .reg .b32 %r; mov.u32 %r, %tid.x;\n{body}"),
        )
    };
    fs::write(folder.path().join("b.ptx"), mixed(3)).unwrap();
    fs::write(folder.path().join("c.ptx"), mixed(5)).unwrap();
    for (arguments, seconds) in [
        (
            &["mutate", "a.ptx", "--block", "64", "--timeout", "5"][..],
            // Five and a moment; on a busy machine, the moment is long.
            30,
        ),
        (&["diff", "b.ptx", "c.ptx"], 30),
    ] {
        let started = std::time::Instant::now();
        let (said, ..) = watched_command(folder.path(), arguments);
        let took = started.elapsed();
        assert!(
            took < std::time::Duration::from_secs(seconds),
            "{arguments:?}: {took:?}"
        );
        assert!(said.len() < 64 << 20, "{arguments:?}: {} bytes", said.len());
    }
}

/// Processor time of a process, in hundredths of a second (proc(5), `stat`).
#[cfg(target_os = "linux")]
fn processor_time(process: u32) -> u64 {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    let after = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    let of = |field: usize| after.split_whitespace().nth(field)?.parse::<u64>().ok();
    of(11).unwrap_or(0) + of(12).unwrap_or(0)
}

/// A signal ends the launch, and what was found until then is told.
#[cfg(target_os = "linux")]
#[rstest]
#[case("INT")]
#[case("TERM")]
fn a_signal_ends_the_check_with_its_verdict(#[case] signal: &str) {
    use std::process::{Command, Stdio};
    let body = ".reg .b64 %a; .reg .b32 %r; ld.param.u64 %a, [p]; mov.u32 %r, %tid.x; st.global.u32 [%a], %r;\n\
        A: add.u32 %r, %r, 1; st.global.u32 [%a+4], %r; bra A;";
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("k.ptx"), ptx("", ".param .u64 p", body)).unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_racetrap"))
        .args([
            "check",
            "k.ptx",
            "--max-steps",
            "1000000000000",
            "--timeout",
            "600",
        ])
        .current_dir(folder.path())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // Reading a few lines takes a fraction of that.
    while processor_time(child.id()) < 150 && child.try_wait().unwrap().is_none() {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    let sent = Command::new("kill")
        .args([&format!("-{signal}"), &child.id().to_string()])
        .status();
    assert!(sent.unwrap().success());
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("error[data-race]"), "{said}");
    assert!(said.contains("the check was interrupted, after "), "{said}");
}

/// A signal ends the cases that run, and what was judged until then is told.
#[cfg(target_os = "linux")]
#[test]
fn a_signal_ends_the_cases_with_what_was_judged() {
    use std::io::{BufRead, BufReader, Read};
    use std::process::{Command, Stdio};
    let mut child = Command::new(env!("CARGO_BIN_EXE_racetrap"))
        .args(["run", "--runs", "1000", "--jobs", "1"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let mut first = String::new();
    output.read_line(&mut first).unwrap();
    let sent = Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status();
    assert!(sent.unwrap().success());
    let mut rest = String::new();
    output.read_to_string(&mut rest).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(3), "{first}{rest}");
    let judged = rest.lines().take_while(|line| !line.is_empty()).count() + 1;
    let told = rest.lines().last().unwrap_or_default();
    let told = told.strip_prefix("interrupted: ").expect(&rest);
    let (left, all) = told.split_once(" of ").unwrap();
    let all: usize = all.split(' ').next().unwrap().parse().unwrap();
    assert_eq!(
        left.parse::<usize>().unwrap() + judged,
        all,
        "{first}{rest}"
    );
}
