//! `racetrap diff` as its user sees it.

use crate::common::racetrap;
use rstest::rstest;
use std::fs;
use std::path::Path;
use std::process::Command;

/// What the command prints, in a folder with two PTX files and a source.
fn diff(arguments: &[&str]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    let kernel = |name: &str, body: &str| {
        format!(
            ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry {name}(.param .u64 p) {{\n\
             .reg .b64 %rd<3>;\n.reg .b32 %r<9>;\nld.param.u64 %rd1, [p];\n{body}\nret;\n}}\n"
        )
    };
    write(
        "one.ptx",
        &kernel(
            "k",
            "ld.global.u32 %r1, [%rd1];\nst.global.u32 [%rd1+4], %r1;",
        ),
    );
    write(
        "renamed.ptx",
        &kernel(
            "k",
            "ld.global.u32 %r7, [%rd1];\nst.global.u32 [%rd1+4], %r7;",
        ),
    );
    write(
        "other.ptx",
        &kernel(
            "k",
            "ld.volatile.global.u32 %r1, [%rd1];\nst.global.u32 [%rd1+4], %r1;",
        ),
    );
    let second = kernel(
        "acquire",
        "ld.acquire.gpu.global.u32 %r1, [%rd1];\nst.global.u32 [%rd1+4], %r1;",
    );
    write(
        "both.ptx",
        &(kernel(
            "plain",
            "ld.relaxed.gpu.global.u32 %r1, [%rd1];\nst.global.u32 [%rd1+4], %r1;",
        ) + &second.replace(".version 8.0\n.target sm_90\n.address_size 64\n", "")),
    );
    write(
        "table.ptx",
        &kernel(
            "k",
            "ld.param.u32 %r1, [table+8];\nst.global.u32 [%rd1+4], %r1;",
        )
        .replace(
            ".param .u64 p",
            ".param .u64 p, .param .align 4 .b8 table[70]",
        ),
    );
    let several = kernel("f", "")
        + &kernel("g", "").replace(".version 8.0\n.target sm_90\n.address_size 64\n", "");
    write("several.ptx", &several);
    write("lost.ptx", &kernel("k", "bra NOWHERE;"));
    write("prose.ptx", "Dear compiler,\n");
    write(
        "none.ptx",
        ".version 8.0\n.target sm_90\n.address_size 64\n",
    );
    let all: Vec<&str> = ["diff"]
        .into_iter()
        .chain(arguments.iter().copied())
        .collect();
    racetrap(folder.path(), &all)
}

#[rstest]
#[case::side_by_side(&["scan/warp/plain", "scan/warp/volatile", "--width", "120"])]
#[case::one_under_the_other(&["scan/warp/volatile", "scan/warp/plain", "--width", "80", "--context", "1"])]
#[case::files(&["one.ptx", "other.ptx"])]
#[case::the_same(&["one.ptx", "renamed.ptx"])]
#[case::effects_alone(&["reduce/shared/mask", "reduce/shared/remainder", "--effects"])]
#[case::a_kernel_with_defines(&["scan/warp.cu:BUG_PLAIN_POINTER", "scan/warp.cu", "--entry", "scan_warps_lockstep", "--effects"])]
#[case::two_targets(&["scan/warp/syncwarp", "--arch", "sm_75,sm_90"])]
#[case::json(&["one.ptx", "other.ptx", "--format", "json"])]
#[case::two_kernels_of_one_file(&["both.ptx", "--entry", "plain,acquire"])]
#[case::a_parameter_by_its_name(&["one.ptx", "table.ptx", "--entry", "k", "--effects"])]
fn shows(#[case] arguments: &[&str]) {
    let name = format!(
        "diff_{}",
        arguments.join("_").replace(['/', '.', ':', ',', '-'], "_")
    );
    insta::assert_snapshot!(name, diff(arguments));
}

#[rstest]
#[case::no_such_case(&["scan/wrap/plain", "scan/warp/volatile"])]
#[case::several_cases(&["scan/warp/s", "scan/warp/volatile"])]
#[case::nothing_to_compare_with(&["scan/warp/volatile"])]
#[case::three_operands(&["a.ptx", "b.ptx", "c.ptx"])]
#[case::no_operand(&[])]
#[case::no_such_file(&["one.ptx", "two.ptx"])]
#[case::prose(&["one.ptx", "prose.ptx"])]
#[case::no_kernel(&["one.ptx", "none.ptx"])]
#[case::no_such_entry(&["one.ptx", "other.ptx", "--entry", "kernel"])]
#[case::no_common_kernel(&["several.ptx", "one.ptx"])]
#[case::a_branch_to_nowhere(&["one.ptx", "lost.ptx"])]
#[case::no_such_level(&["scan/warp/volatile", "--opt", "0,4"])]
#[case::no_such_release(&["scan/warp/volatile", "--cuda", "11.8,13.0"])]
#[case::no_such_target(&["scan/warp/volatile", "--arch", "75,90"])]
#[case::ptx_in_two_ways(&["one.ptx", "--opt", "0,3"])]
#[case::one_kernel_of_one_file(&["both.ptx", "--entry", "plain"])]
#[case::one_kernel_twice(&["both.ptx", "--entry", "plain,plain"])]
#[case::two_kernels_in_two_ways(&["both.ptx", "--entry", "plain,acquire", "--arch", "sm_75,sm_90"])]
#[case::no_such_second_entry(&["both.ptx", "--entry", "plain,acquires"])]
#[case::nothing_is_claimed(&["--across", "vector/pitched"])]
fn bad_input(#[case] arguments: &[&str]) {
    let name = format!(
        "diff_bad_{}",
        arguments.join("_").replace(['/', '.', ':', ',', '-'], "_")
    );
    insta::assert_snapshot!(name, diff(arguments));
}

/// Flags belong to one side; what is no flag is refused, and never reaches a shell.
#[test]
fn each_side_has_its_flags() {
    if testing::needs_nvcc().is_none() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let source = "__global__ void k(const float *x, const float *y, float *z) { z[0] = x[0] * y[0] + z[0]; }\n\
                  int main() { float *p; cudaMalloc(&p, 4); k<<<1, 1>>>(p, p, p); return cudaDeviceSynchronize(); }\n";
    let file = folder.path().join("mine.cu");
    fs::write(&file, source).unwrap();
    let run = |arguments: &[&str]| {
        let all: Vec<&str> = ["diff", file.to_str().unwrap(), "--effects"]
            .into_iter()
            .chain(arguments.iter().copied())
            .collect();
        // The compiler may be in the project's folder.
        racetrap(&testing::root(), &all)
    };
    let found = run(&["--a-flags=--fmad=false"]);
    assert!(
        found.contains("1 product and sum contracted in B") && found.contains("nvcc --fmad=false"),
        "{found}"
    );
    let found = run(&["--b-flags", "--use_fast_math -maxrregcount=32"]);
    assert!(found.contains("flushes subnormal numbers in B"), "{found}");
    let refused = run(&["--b-flags", "-o`touch${IFS}pwned`"]);
    assert!(
        refused.contains("is not a valid compiler option"),
        "{refused}"
    );
    let two = run(&["--a-flags=-ftz=true", "--b-flags=-ftz=true"]);
    assert!(two.contains("there is nothing to compare"), "{two}");
}

/// Without a network, or without python3, there is a message and an exit code, and nothing half installed.
#[test]
fn a_release_that_cannot_be_fetched_is_told() {
    let cache = tempfile::tempdir().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_racetrap"))
        .args(["diff", "scan/warp/volatile", "--cuda", "12.0,13.0"])
        .env("XDG_CACHE_HOME", cache.path())
        .env("PATH", cache.path())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(3));
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(told.contains("python3 was not found"), "{told}");
    let installed = cache.path().join("racetrap/cuda/12.0");
    assert!(!installed.exists());
}

/// An index that refuses connections is told as what it is, for a diff and for the table, and nothing is half installed.
#[rstest]
#[case::a_diff(&["diff", "scan/warp/volatile", "--cuda", "12.0,13.0"])]
#[case::the_table(&["diff", "--across", "scan/warp", "--cuda", "13.5"])]
fn an_index_that_cannot_be_reached_is_told(#[case] arguments: &[&str]) {
    let cache = tempfile::tempdir().unwrap();
    // A port that nobody listens on: it was free a moment ago.
    let port = std::net::TcpListener::bind("127.0.0.1:0")
        .and_then(|listener| listener.local_addr())
        .unwrap()
        .port();
    let output = Command::new(env!("CARGO_BIN_EXE_racetrap"))
        .args(arguments)
        .env("XDG_CACHE_HOME", cache.path())
        .env("PIP_INDEX_URL", format!("http://127.0.0.1:{port}/simple"))
        .env("PIP_RETRIES", "1")
        .env_remove("PIP_EXTRA_INDEX_URL")
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(3), "{told}");
    assert!(
        told.contains("error: the package index is unreachable or has no nvidia-cuda-nv"),
        "{told}"
    );
    assert!(told.contains("help: check the network"), "{told}");
    let kept: Vec<_> = fs::read_dir(cache.path().join("racetrap/cuda"))
        .unwrap()
        .collect();
    assert!(kept.is_empty(), "{kept:?}");
}

/// The table says what its data say, and names each compiler.
#[test]
fn the_table_across_compilers_is_that_of_its_data() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs");
    let read = |name: &str| fs::read_to_string(docs.join(name)).unwrap();
    let across: catalog::across::Across = serde_json::from_str(&read("across.json")).unwrap();
    assert!(read("across.json") == across.json().unwrap());
    assert!(across.compilers.len() >= 5 && across.compilers.iter().all(|c| !c.version.is_empty()));
    let command = "cargo run -- diff --across --write docs";
    assert_eq!(
        read("across.md"),
        across.markdown(command),
        "renew both with `{command}`"
    );
}
