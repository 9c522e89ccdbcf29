//! Options that say what a launch, a compiler or a reader needs.

use crate::common::racetrap;
use std::fs;
use std::path::Path;

const PTX: &str = "\
.version 8.0
.target sm_75
.address_size 64
.const .u32 offset = 1;
.visible .entry add(.param .u64 x, .param .u32 n)
{
 .reg .pred %p; .reg .b32 %r<5>; .reg .b64 %a<4>;
 ld.param.u64 %a0, [x]; ld.param.u32 %r0, [n];
 mov.u32 %r1, %tid.x;
 setp.ge.u32 %p, %r1, %r0; @%p bra DONE;
 ld.const.u32 %r2, [offset];
 mul.wide.u32 %a1, %r1, 4; add.s64 %a2, %a0, %a1;
 ld.global.u32 %r3, [%a2]; add.u32 %r4, %r3, %r2; st.global.u32 [%a2], %r4;
DONE: ret;
}
.visible .entry race(.param .u64 x)
{
 .reg .b32 %r<2>; .reg .b64 %a<2>;
 ld.param.u64 %a0, [x]; mov.u32 %r1, %tid.x; st.global.u32 [%a0], %r1; ret;
}
";

fn in_folder(arguments: &[&str]) -> String {
    let folder = tempfile::tempdir().unwrap();
    check(folder.path(), arguments)
}

fn check(folder: &Path, arguments: &[&str]) -> String {
    fs::write(folder.join("k.ptx"), PTX).unwrap();
    racetrap(folder, &[&["check", "k.ptx"], arguments].concat())
}

#[test]
fn several_kernels_of_a_file() {
    let both = in_folder(&["--entry", "add", "--entry", "race", "--block", "32"]);
    assert!(
        both.contains("clean k.ptx: add") && both.contains("findings k.ptx: race"),
        "{both}"
    );
    assert!(both.ends_with("--- exit status 1\n"), "{both}");
    assert_eq!(
        both.replace("--entry add --entry race", ""),
        in_folder(&["--all", "--block", "32"]).replace("--all", "")
    );
    let json = in_folder(&["--all", "--format", "json"]);
    assert!(
        json.contains("\"k.ptx: add\"") && json.contains("\"k.ptx: race\""),
        "{json}"
    );
    // Each takes the arguments that it has.
    let given = in_folder(&["--all", "--arg", "1=7"]);
    assert!(given.contains("--arg 1=7"), "{given}");
    let unknown = in_folder(&["--entry", "add", "--entry", "lost"]);
    assert!(unknown.ends_with("--- exit status 2\n"), "{unknown}");
}

#[test]
fn variables_are_set_and_buffers_shown() {
    let launch = [
        "--entry", "add", "--grid", "1", "--block", "4", "--arg", "1=4", "--dump", "0",
    ];
    let arguments = |more: &[&'static str]| [&launch[..], more].concat();
    let shown = in_folder(&arguments(&["--arg", "0=i32[4]:iota"]));
    assert!(shown.contains("0 = i32[4]: 1 2 3 4"), "{shown}");
    let shown = in_folder(&arguments(&[
        "--arg",
        "0=i32[4]:iota",
        "--set",
        "offset=10",
    ]));
    assert!(shown.contains("0 = i32[4]: 10 11 12 13"), "{shown}");
    for (set, message) in [
        ("ofset=1", "did you mean `offset`"),
        ("offset=1:i64", "these are 8 bytes, but the variable has 4"),
        (
            "offset=i32[2]:zeros",
            "these are 8 bytes, but the variable has 4",
        ),
        ("offset=&x", "a variable is set to numbers"),
        ("offset", "`--set offset` has no `=`"),
    ] {
        let shown = in_folder(&arguments(&["--set", set]));
        assert!(shown.contains(message), "{shown}");
        assert!(shown.ends_with("--- exit status 2\n"), "{shown}");
    }
    let shown = in_folder(&["--entry", "add", "--dump", "y"]);
    assert!(shown.contains("there is no buffer `y`"), "{shown}");
    let shown = in_folder(&arguments(&["--format", "json"]));
    assert!(shown.contains("`--format` has no place for"), "{shown}");
}

#[test]
fn buffers_come_from_files_and_go_to_them() {
    let folder = tempfile::tempdir().unwrap();
    let bytes: Vec<u8> = (0..8u32).flat_map(u32::to_le_bytes).collect();
    fs::write(folder.path().join("in.bin"), bytes).unwrap();
    let arguments = [
        "--entry",
        "add",
        "--arg",
        "0=i32:@in.bin",
        "--arg",
        "1=8",
        "--dump",
        "0=out.bin",
    ];
    let shown = check(folder.path(), &arguments);
    assert!(shown.contains("i32[8]:@in.bin"), "{shown}");
    let expected: Vec<u8> = (1..9u32).flat_map(u32::to_le_bytes).collect();
    assert_eq!(
        fs::read(folder.path().join("out.bin")).unwrap(),
        expected,
        "{shown}"
    );
}

#[test]
fn options_reach_the_compiler() {
    let hostile = in_folder(&["--memory", "lots"]);
    assert!(hostile.contains("a size from 1M to 1024G"), "{hostile}");
    if testing::needs_nvcc().is_none() {
        return;
    }
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    fs::write(folder.path().join("one.h"), "#define ONE 1\n").unwrap();
    fs::write(
        folder.path().join("k.cu"),
        "__global__ void k(int *x) { x[threadIdx.x] = ONE; }\n",
    )
    .unwrap();
    let run = |more: &[&str]| racetrap(folder.path(), &[&["check", "k.cu"], more].concat());
    let shown = run(&["--include", "one.h", "--compiler-option=--use_fast_math"]);
    assert!(shown.ends_with("--- exit status 0\n"), "{shown}");
    // A header that changes is read again.
    fs::write(folder.path().join("one.h"), "#define ONE TWO\n").unwrap();
    let shown = run(&["--include", "one.h"]);
    assert!(shown.contains("identifier \"TWO\" is undefined"), "{shown}");
    let shown = run(&["--compiler-option=-o;touch pwned"]);
    assert!(shown.ends_with("--- exit status 2\n"), "{shown}");
    assert!(!folder.path().join("pwned").exists());
}

/// The folder decides, not the name alone.
#[test]
fn two_files_of_one_name_are_told_apart() {
    if testing::needs_nvcc().is_none() {
        return;
    }
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    write(
        "a/k.cu",
        "extern \"C\" __device__ void put(int *p, int i);\nextern \"C\" __global__ void next(int *x) {\n  __shared__ int s[64];\n  \
         put(s, threadIdx.x);\n  x[threadIdx.x] = s[threadIdx.x];\n}\n",
    );
    write(
        "b/k.cu",
        "extern \"C\" __device__ void put(int *p, int i) {\n\n\n  p[(i + 1) % 64] = i;\n}\n",
    );
    let shown = racetrap(
        folder.path(),
        &[
            "check", "a/k.cu", "b/k.cu", "--entry", "next", "--grid", "1", "--block", "64",
        ],
    );
    for line in [
        " --> a/k.cu:5:20\n",
        "5 |   x[threadIdx.x] = s[threadIdx.x];\n",
        " ::: b/k.cu:4:3\n",
        "4 |   p[(i + 1) % 64] = i;\n",
        "between line 4 of b/k.cu and line 5 of a/k.cu",
    ] {
        assert!(shown.contains(line), "{line}\n{shown}");
    }
}

/// Kernel, host code and device functions in files of their own.
#[test]
fn several_files_are_linked() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    let run = |arguments: &[&str]| racetrap(folder.path(), &[&["check"], arguments].concat());
    let head = ".version 8.0\n.target sm_75\n.address_size 64\n";
    write(
        "kernel.ptx",
        &format!(
            "{head}.extern .func put(.param .u64 a);\n.visible .entry k(.param .u64 x) {{ .reg .b64 %a; ld.param.u64 %a, [x]; {{ .param .u64 p; st.param.u64 [p], %a; call put, (p); }} ret; }}\n"
        ),
    );
    write(
        "put.ptx",
        &format!(
            "{head}.visible .func put(.param .u64 a) {{ .reg .b64 %a; .reg .b32 %r; ld.param.u64 %a, [a]; mov.u32 %r, %tid.x; st.u32 [%a], %r; ret; }}\n"
        ),
    );
    let alone = run(&["kernel.ptx"]);
    assert!(
        alone.contains("`put`, which is declared but defined nowhere"),
        "{alone}"
    );
    assert!(alone.contains("`racetrap check a.cu b.cu`"), "{alone}");
    let both = run(&["kernel.ptx", "put.ptx", "--block", "32"]);
    assert!(both.contains("error[data-race]"), "{both}");
    assert!(
        both.contains("reproduce with: racetrap check kernel.ptx put.ptx"),
        "{both}"
    );
    let twice = run(&["kernel.ptx", "put.ptx", "put.ptx"]);
    assert!(twice.contains("`put` is defined in two objects"), "{twice}");
    assert!(twice.ends_with("--- exit status 2\n"), "{twice}");
    if testing::needs_nvcc().is_none() {
        return;
    }
    write(
        "k.h",
        "__global__ void add(int *x, int n);\nextern __device__ int twice(int);\nextern __device__ int last;\n",
    );
    write(
        "k.cu",
        "#include \"k.h\"\n__global__ void add(int *x, int n) {\n    int i = threadIdx.x;\n    x[i] = twice(i);\n    last = i;\n}\n",
    );
    write(
        "twice.cu",
        "__device__ int last;\n__device__ int twice(int v) { return 2 * v; }\n",
    );
    write(
        "main.cu",
        "#include \"k.h\"\nint main() {\n    int *d;\n    cudaMalloc(&d, 48 * sizeof(int));\n    add<<<1, 48>>>(d, 48);\n}\n",
    );
    let shown = run(&["k.cu", "twice.cu", "main.cu", "--entry", "add"]);
    assert!(
        shown.contains("--block 48") && shown.contains("as line 5 of main.cu launches it"),
        "{shown}"
    );
    assert!(
        shown.contains("unordered writes of `last`") && shown.contains("k.cu:5"),
        "{shown}"
    );
    // What is in PTX already is linked to both builds.
    write(
        "b.cu",
        "extern __device__ void put(int *);\n__global__ void k(int *x) { put(x); }\n",
    );
    write(
        "put.ptx",
        &fs::read_to_string(folder.path().join("put.ptx"))
            .unwrap()
            .replace("put", "_Z3putPi"),
    );
    let mixed = run(&["b.cu", "put.ptx", "--block", "32"]);
    assert!(
        mixed.contains("appears in: optimised, unoptimised"),
        "{mixed}"
    );
}

/// A signal ends the program with all that it started, and leaves nothing behind.
#[cfg(unix)]
#[test]
fn signals_leave_nothing_behind() {
    use std::os::unix::fs::PermissionsExt;
    use std::process::{Command, Stdio};
    use std::time::{Duration, Instant};
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let (bin, temporary) = (folder.path().join("bin"), folder.path().join("tmp"));
    fs::create_dir_all(&bin).unwrap();
    fs::create_dir_all(&temporary).unwrap();
    let nvcc = bin.join("nvcc");
    fs::write(&nvcc, "#!/bin/sh\nsleep 300\n").unwrap();
    fs::set_permissions(&nvcc, PermissionsExt::from_mode(0o755)).unwrap();
    fs::write(folder.path().join("k.cu"), "__global__ void k() {}\n").unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_racetrap"))
        .args(["check", "k.cu", "--no-cache"])
        .current_dir(folder.path())
        .env("PATH", format!("{}:/usr/bin:/bin", bin.display()))
        .env("TMPDIR", &temporary)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let entries = || fs::read_dir(&temporary).unwrap().count();
    let started = Instant::now();
    while entries() == 0 && started.elapsed() < Duration::from_secs(30) {
        std::thread::sleep(Duration::from_millis(20));
    }
    std::thread::sleep(Duration::from_millis(200));
    assert!(entries() > 0, "the compiler was started");
    let kill = Command::new("kill").arg(child.id().to_string()).status();
    assert!(kill.unwrap().success());
    let status = child.wait().unwrap();
    assert_eq!(status.code(), Some(143), "128 + SIGTERM");
    assert_eq!(entries(), 0);
}

/// Both builds of a source are compiled at the same time, and the doctor says what the compiler is confined by.
#[cfg(unix)]
#[test]
fn builds_are_compiled_side_by_side_and_confined() {
    use std::os::unix::fs::PermissionsExt;
    use std::process::Command;
    use std::time::{Duration, Instant};
    const LONG: u64 = 3;
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let bin = folder.path().join("bin");
    fs::create_dir_all(&bin).unwrap();
    let nvcc = bin.join("nvcc");
    let script = format!("#!/bin/sh\nsleep {LONG}\necho k.cu: error: slow >&2\nexit 1\n");
    fs::write(&nvcc, script).unwrap();
    fs::set_permissions(&nvcc, PermissionsExt::from_mode(0o755)).unwrap();
    fs::write(folder.path().join("k.cu"), "__global__ void k() {}\n").unwrap();
    // First in the path, where a machine may have a compiler.
    let path = format!("{}:/usr/bin:/bin", bin.display());
    let run = |args: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_racetrap"));
        command
            .args(args)
            .current_dir(folder.path())
            .env("PATH", &path);
        command.output().unwrap()
    };
    let started = Instant::now();
    let out = run(&["check", "k.cu", "--no-cache", "--jobs", "2"]);
    let took = started.elapsed();
    assert_eq!(out.status.code(), Some(2), "{out:?}");
    let long = Duration::from_secs(LONG);
    assert!(long <= took && took < 2 * long, "{took:?}");
    let doctor = run(&["doctor"]);
    let said = String::from_utf8_lossy(&doctor.stdout);
    assert!(said.contains("sandbox"), "{said}");
}

/// Whoever builds the command does not build courses.
#[cfg(not(feature = "grade"))]
#[test]
fn a_build_without_grade_says_how_to_get_it() {
    for given in [
        &["grade", "a.yaml", "--jobs", "2"][..],
        &["grade", "--help"],
    ] {
        let folder = tempfile::tempdir().unwrap();
        let shown = racetrap(folder.path(), given);
        let called = format!("`racetrap {}`", given.join(" "));
        assert!(shown.contains(&called), "{shown}");
        assert!(
            shown.contains("cargo install --path . --features grade"),
            "{shown}"
        );
        assert!(shown.ends_with("--- exit status 2\n"), "{shown}");
    }
}

/// One thread may do what one thread has to do, and only the schedule in which warps go in step counts.
#[test]
fn performance_is_judged_in_step() {
    let folder = tempfile::tempdir().unwrap();
    let kernel = "\
.version 8.0
.target sm_75
.address_size 64
.visible .entry k(.param .u64 p)
{
  .reg .pred %p<3>;
  .reg .b32 %r<3>;
  .reg .b64 %rd<4>;
  ld.param.u64 %rd1, [p];
  cvta.to.global.u64 %rd2, %rd1;
  mov.u32 %r1, %tid.x;
  mul.wide.u32 %rd3, %r1, 4;
  add.s64 %rd2, %rd2, %rd3;
  setp.ne.s32 %p1, %r1, 0;
  @%p1 bra ALL;
  st.global.u32 [%rd2], %r1;
ALL:
  and.b32 %r2, %r1, 1;
  setp.eq.s32 %p2, %r2, 1;
  @%p2 bra END;
  st.global.u32 [%rd2], %r2;
END:
  ret;
}
";
    fs::write(folder.path().join("k.ptx"), kernel).unwrap();
    let shown = racetrap(
        folder.path(),
        &[
            "check",
            "k.ptx",
            "--perf",
            "--grid",
            "1",
            "--block",
            "64",
            "--arg",
            "0=i32[64]:zeros",
        ],
    );
    assert_eq!(
        shown.matches("note[divergent-branch]").count(),
        1,
        "{shown}"
    );
    for said in ["@%p2 bra END;", "2 of 2 executions split the warp"] {
        assert!(shown.contains(said), "{said}\n{shown}");
    }
    // An access is told as one, though the finding is about no memory in particular.
    assert!(!shown.contains("a register of it"), "{shown}");
}
