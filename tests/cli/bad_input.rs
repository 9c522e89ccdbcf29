//! What users get wrong: one clear message with the place and the remedy, the documented exit
//! code, no panic, no hang.

use crate::common::racetrap;
use rstest::rstest;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

const KERNELS: &str = include_str!("kernels.ptx");
const SOURCE: &str = include_str!("kernels.cu");

/// A folder with the kernels and with what is wrong with them.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, bytes: &[u8]| fs::write(folder.path().join(name), bytes).unwrap();
    write("kernels.ptx", KERNELS.as_bytes());
    write("kernels.cu", SOURCE.as_bytes());
    write("empty.ptx", b"");
    write(
        "rubbish.ptx",
        &[0x9d, 0x00, 0xff, 0x17, 0xc3, 0x28, 0x00, 0x41],
    );
    write(
        "rubbish.cu",
        &[0x9d, 0x00, 0xff, 0x17, 0xc3, 0x28, 0x00, 0x41],
    );
    let mut elf = vec![0u8; 64];
    elf[..4].copy_from_slice(b"\x7fELF");
    elf[18] = 190;
    write("kernel.ptx", &elf);
    let cut = KERNELS.find("bar.sync").unwrap();
    write("truncated.ptx", &KERNELS.as_bytes()[..cut + 5]);
    write("prose.ptx", b"Dear simulator,\nplease find no bugs.\n");
    write(
        "none.ptx",
        b".version 9.0\n.target sm_75\n.address_size 64\n",
    );
    write(
        "old.ptx",
        b".version 4.0\n.target sm_30\n.address_size 32\n.entry k() { ret; }\n",
    );
    write(
        "texture.ptx",
        b".version 9.0\n.target sm_75\n.address_size 64\n.visible .entry k(.param .u64 t)\n{\n\t.reg .b64 %rd<2>;\n\t.reg .f32 %f<5>;\n\tld.param.u64 %rd1, [t];\n\ttex.1d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%rd1, {%f1}];\n\tret;\n}\n");
    write("short.bin", &[0; 10]);
    fs::create_dir(folder.path().join("sub")).unwrap();
    folder
}

fn check(path: &Path, arguments: &[&str]) -> String {
    let all: Vec<&str> = ["check"]
        .into_iter()
        .chain(arguments.iter().copied())
        .collect();
    racetrap(path, &all)
}

#[rstest]
#[case::missing_file("missing_file", &["kernals.ptx"], 2)]
#[case::missing_folder("missing_folder", &["nowhere/kernel.cu"], 2)]
#[case::a_folder("a_folder", &["sub"], 2)]
#[case::empty("empty", &["empty.ptx"], 2)]
#[case::rubbish_ptx("rubbish_ptx", &["rubbish.ptx"], 2)]
#[case::rubbish_cuda("rubbish_cuda", &["rubbish.cu"], 2)]
#[case::machine_code("machine_code", &["kernel.ptx"], 2)]
#[case::truncated("truncated", &["truncated.ptx"], 2)]
#[case::prose("prose", &["prose.ptx"], 2)]
#[case::no_kernel("no_kernel", &["none.ptx"], 2)]
#[case::narrow_addresses("narrow_addresses", &["old.ptx"], 2)]
#[case::which_entry("which_entry", &["kernels.ptx"], 2)]
#[case::no_such_entry("no_such_entry", &["kernels.ptx", "--entry", "revers"], 2)]
#[case::argument_without_value("argument_without_value", &["kernels.ptx", "--entry", "reverse", "--arg", "n"], 2)]
#[case::unknown_parameter("unknown_parameter", &["kernels.ptx", "--entry", "reverse", "--arg", "m=1"], 2)]
#[case::index_too_large("index_too_large", &["kernels.ptx", "--entry", "reverse", "--arg", "2=1"], 2)]
#[case::number_for_a_pointer("number_for_a_pointer", &["kernels.ptx", "--entry", "reverse", "--arg", "data=7"], 2)]
#[case::buffer_for_a_number("buffer_for_a_number", &["kernels.ptx", "--entry", "reverse", "--arg", "n=i32[4]"], 2)]
#[case::number_too_large("number_too_large", &["kernels.ptx", "--entry", "reverse", "--arg", "n=5000000000"], 2)]
#[case::fraction_for_an_integer("fraction_for_an_integer", &["kernels.ptx", "--entry", "reverse", "--arg", "n=1.5"], 2)]
#[case::unknown_type("unknown_type", &["kernels.ptx", "--entry", "reverse", "--arg", "data=i31[4]"], 2)]
#[case::unknown_fill("unknown_fill", &["kernels.ptx", "--entry", "reverse", "--arg", "data=i32[4]:radnom"], 2)]
#[case::file_too_short("file_too_short", &["kernels.ptx", "--entry", "reverse", "--arg", "data=i32[4]:@short.bin"], 2)]
#[case::file_of_odd_length("file_of_odd_length", &["kernels.ptx", "--entry", "reverse", "--arg", "data=i32[]:@short.bin"], 2)]
#[case::struct_too_small("struct_too_small", &["kernels.ptx", "--entry", "mixed", "--arg", "window={1, 2.5}"], 2)]
#[case::buffer_too_large("buffer_too_large", &["kernels.ptx", "--entry", "reverse", "--arg", "data=i32[4000000000]"], 2)]
#[case::block_too_large("block_too_large", &["kernels.ptx", "--entry", "reverse", "--block", "2000"], 2)]
#[case::block_too_deep("block_too_deep", &["kernels.ptx", "--entry", "reverse", "--block", "1,1,65"], 2)]
#[case::block_of_zero("block_of_zero", &["kernels.ptx", "--entry", "reverse", "--block", "0"], 2)]
#[case::billion_threads("billion_threads", &["kernels.ptx", "--entry", "reverse", "--grid", "1000000", "--block", "1000"], 2)]
#[case::shared_too_large("shared_too_large", &["kernels.ptx", "--entry", "reverse", "--shared", "1000000"], 2)]
#[case::bad_schedule("bad_schedule", &["kernels.ptx", "--entry", "reverse", "--schedule", "randomly"], 2)]
#[case::unsupported("unsupported", &["texture.ptx", "--arg", "0=0"], 3)]
fn one_clear_message(#[case] name: &str, #[case] arguments: &[&str], #[case] code: u8) {
    let folder = folder();
    let shown = check(folder.path(), arguments);
    assert!(
        shown.ends_with(&format!("--- exit status {code}\n")),
        "{shown}"
    );
    assert!(!shown.contains("panicked"), "{shown}");
    insta::assert_snapshot!(name, shown);
}

/// The step budget ends it, and it is a finding.
#[test]
fn a_kernel_that_never_ends() {
    let folder = folder();
    let began = Instant::now();
    let shown = check(
        folder.path(),
        &[
            "kernels.ptx",
            "--entry",
            "spin",
            "--max-steps",
            "200000",
            "--jobs",
            "1",
        ],
    );
    assert!(began.elapsed() < Duration::from_secs(60));
    // A turn that has begun goes on for a while when the budget is spent.
    let (before, rest) = shown.split_once("has not ended after ").expect(&shown);
    let (steps, after) = rest.split_once(' ').unwrap();
    let steps: u64 = steps.replace(',', "").parse().unwrap();
    assert!((200_000..400_000).contains(&steps), "{steps}");
    insta::assert_snapshot!(format!("{before}has not ended after [STEPS] {after}"));
    // With a budget that would take a minute, it is known that no budget would do.
    let began = Instant::now();
    let shown = check(folder.path(), &["kernels.ptx", "--entry", "spin"]);
    assert!(began.elapsed() < Duration::from_secs(10), "{shown}");
    let never = "the kernel never ends: its threads repeat what they do, and nothing changes";
    assert!(shown.contains(never), "{shown}");
    assert!(!shown.contains("--max-steps"), "{shown}");
}

/// Threads that run for ever in one place of the source count together, whichever of its instructions they are at.
#[test]
fn threads_that_wait_in_one_place_are_one_label() {
    if testing::needs_nvcc().is_none() {
        return;
    }
    // In the project, whose compiler is found from there.
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let source = "__global__ void waits()\n{\n    __shared__ volatile int flag;\n    if (threadIdx.x == 0)\n        flag = 0;\n    \
                  __syncthreads();\n    while (flag == 0) {}\n}\n";
    std::fs::write(folder.path().join("waits.cu"), source).unwrap();
    let shown = check(folder.path(), &["waits.cu", "--grid", "1", "--block", "64"]);
    let labels = shown.matches("still running here").count();
    assert_eq!(
        labels,
        shown.matches("error[no-progress]").count(),
        "{shown}"
    );
    assert!(
        shown.contains("64 threads ((0,0,0) the first) of block"),
        "{shown}"
    );
}

/// The clock ends it, and nothing is claimed.
#[test]
fn a_kernel_that_takes_too_long() {
    let folder = folder();
    let began = Instant::now();
    let shown = check(
        folder.path(),
        &[
            "kernels.ptx",
            "--entry",
            "count",
            "--block",
            "1",
            "--arg",
            "rounds=2000000000",
            "--max-steps",
            "1000000000000",
            "--timeout",
            "0.5",
        ],
    );
    assert!(began.elapsed() < Duration::from_secs(60));
    assert!(shown.ends_with("--- exit status 3\n"), "{shown}");
    assert!(shown.contains("inconclusive"), "{shown}");
}

/// Many findings at two instructions are one finding with a count.
#[test]
fn ten_million_findings() {
    let folder = folder();
    let shown = check(
        folder.path(),
        &[
            "kernels.ptx",
            "--entry",
            "count",
            "--grid",
            "40",
            "--block",
            "256",
            "--arg",
            "rounds=500",
            "--schedule",
            "lockstep",
        ],
    );
    assert!(shown.ends_with("--- exit status 1\n"), "{shown}");
    assert!(shown.lines().count() < 80, "{shown}");
}

/// Where no compiler is found, the message says where it was looked for and how to get one.
#[test]
fn no_compiler() {
    let folder = folder();
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_racetrap"))
        .args(["check", "kernels.cu"])
        .current_dir(folder.path())
        .env("PATH", folder.path())
        .env("HOME", folder.path())
        .env_remove("XDG_DATA_HOME")
        .env("CUDA_PATH", "/nowhere")
        .env_remove("CUDA_HOME")
        .output()
        .unwrap();
    let shown = String::from_utf8_lossy(&output.stderr).into_owned();
    if Path::new("/usr/local/cuda/bin/nvcc").exists() || Path::new("/opt/cuda/bin/nvcc").exists() {
        testing::skip("this machine has a CUDA toolkit in its usual place");
        return;
    }
    assert_eq!(output.status.code(), Some(2), "{shown}");
    insta::assert_snapshot!(shown.replace(&folder.path().display().to_string(), "[FOLDER]"));
}

/// A catalogue of one's own with mistakes: each with its file, line and what was meant.
#[test]
fn a_case_with_a_typo() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    write(
        "kernels/own/add.cu",
        "__global__ void add(int *x) { x[threadIdx.x] += 1; }\n",
    );
    write(
        "cases/own/add.yaml",
        "title: Adds one\nkernel: own/add.cu\nszies:\n  n: 1..=64\nlaunches:\n  - {entry: add}\nexpect:\n  simulator: clean\n",
    );
    let shown = racetrap(folder.path(), &["run", "--catalog", "."]);
    assert!(shown.ends_with("--- exit status 2\n"), "{shown}");
    assert!(shown.contains("cases/own/add.yaml:3"), "{shown}");
    assert!(shown.contains("sizes"), "{shown}");
    let nowhere = racetrap(folder.path(), &["list", "--catalog", "nowhere"]);
    assert!(nowhere.ends_with("--- exit status 2\n"), "{nowhere}");
}
