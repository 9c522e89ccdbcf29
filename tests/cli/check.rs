//! `racetrap check` on kernels that tell something about each of its parts.

use crate::common::racetrap;
use std::fs;
use std::path::Path;

fn folder() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cli"))
}

fn check(arguments: &[&str]) -> String {
    let all: Vec<&str> = ["check", "kernels.ptx"]
        .into_iter()
        .chain(arguments.iter().copied())
        .collect();
    racetrap(folder(), &all)
}

#[test]
fn a_race() {
    let shown = check(&[
        "--entry",
        "reverse",
        "--schedule",
        "lockstep",
        "--jobs",
        "1",
    ]);
    insta::assert_snapshot!(shown);
}

#[test]
fn a_race_for_machines() {
    for format in ["github", "sarif", "junit", "json"] {
        let shown = check(&["--entry", "reverse", "--format", format, "--schedules", "2"]);
        assert!(shown.ends_with("--- exit status 1\n"), "{shown}");
        assert!(
            shown.contains("data-race") && shown.contains("kernels.cu"),
            "{shown}"
        );
    }
}

#[test]
fn a_clean_kernel() {
    insta::assert_snapshot!(check(&["--entry", "reverse_fixed", "--arg", "n=128"]));
}

/// The kernel is right where the last block is full: another guess shows that, as a warning.
#[test]
fn integers_that_are_guessed_take_several_values() {
    let shown = check(&["--entry", "reverse_fixed"]);
    assert!(shown.contains("warning[uninitialized-read]"), "{shown}");
    assert!(
        shown.contains("seen with `n` = 127, not with `n` = 128"),
        "{shown}"
    );
    assert!(shown.contains("--arg n=127"), "{shown}");
    assert!(shown.ends_with("--- exit status 0\n"), "{shown}");
    let shown = check(&["--entry", "reverse_fixed", "--inputs", "1"]);
    assert!(shown.contains("clean kernels.ptx"), "{shown}");
}

/// The result depends on who takes the ticket first, so schedules are tried.
#[test]
fn a_kernel_that_depends_on_the_schedule() {
    insta::assert_snapshot!(check(&[
        "--entry",
        "last",
        "--arg",
        "ticket=i32[1]:zeros",
        "--schedules",
        "5"
    ]));
}

/// All kinds of arguments, and what the report says of them.
#[test]
fn arguments() {
    let shown = check(&[
        "--entry",
        "mixed",
        "--grid",
        "1",
        "--block",
        "32",
        "--shared",
        "128",
        "--arg",
        "out=f32[32]:uninitialized",
        "--arg",
        "window={2, 0.5, i32[40]:iota}",
        "--arg",
        "weight=2.5",
        "--arg",
        "3=0x10",
    ]);
    insta::assert_snapshot!(shown);
}

#[test]
fn what_the_kernel_prints() {
    let shown = check(&[
        "--entry", "greet", "--grid", "1", "--block", "2", "--arg", "limit=2",
    ]);
    insta::assert_snapshot!(shown);
}

#[test]
fn a_failed_assertion() {
    let shown = check(&[
        "--entry", "greet", "--grid", "1", "--block", "4", "--arg", "limit=2",
    ]);
    assert!(shown.ends_with("--- exit status 1\n"), "{shown}");
    insta::assert_snapshot!(shown);
}

/// The command that a finding prints shows the same finding.
#[test]
fn findings_can_be_seen_again() {
    let first = check(&["--entry", "reverse", "--arg", "n=100", "--schedules", "3"]);
    let (_, rest) = first.split_once("reproduce with: racetrap ").expect(&first);
    let (command, _) = rest.split_once('\n').unwrap();
    let words: Vec<String> = command
        .split(' ')
        .map(|word| word.replace('\'', ""))
        .collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let again = racetrap(folder(), &words);
    let error = |text: &str| {
        text.lines()
            .find(|l| l.starts_with("error["))
            .map(str::to_string)
    };
    assert_eq!(error(&first), error(&again), "{again}");
    assert!(again.ends_with("--- exit status 1\n"), "{again}");
}

/// The source is compiled twice; what both builds show is one finding.
#[test]
fn cuda_source() {
    if testing::needs_nvcc().is_none() {
        return;
    }
    let path = fs::canonicalize(folder().join("kernels.cu")).unwrap();
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let shown = racetrap(
        root,
        &["check", &path.display().to_string(), "--entry", "reverse"],
    );
    assert!(shown.ends_with("--- exit status 1\n"), "{shown}");
    assert!(
        shown.contains("appears in: optimised, unoptimised"),
        "{shown}"
    );
    assert_eq!(shown.matches("error[data-race]").count(), 1, "{shown}");
    let broken = Path::new(env!("CARGO_TARGET_TMPDIR")).join("broken.cu");
    fs::write(&broken, "__global__ void k(int* x) { *x = undeclared; }\n").unwrap();
    let refused = racetrap(root, &["check", &broken.display().to_string()]);
    assert!(refused.ends_with("--- exit status 2\n"), "{refused}");
    assert!(
        refused.contains("identifier \"undeclared\" is undefined"),
        "{refused}"
    );
}

/// Threads that leave early may share the kernel's end with the others once it is optimised: that is no error.
#[test]
fn an_end_that_the_optimiser_merged() {
    if testing::needs_nvcc().is_none() {
        return;
    }
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let text = "__global__ void pad(int *data, int n)
{
    __shared__ int tile[128];
    int t = threadIdx.x;
    if (t >= n) { data[t] = 0; return; }
    tile[t] = data[t];
    __syncthreads();
    data[t] = tile[n - 1 - t];
}
";
    fs::write(folder.join("pad.cu"), text).unwrap();
    let launch = ["--grid", "1", "--block", "128", "--arg", "n=96"];
    let shown = racetrap(folder, &[&["check", "pad.cu"], &launch[..]].concat());
    assert!(shown.ends_with("--- exit status 0\n"), "{shown}");
    assert_eq!(shown.matches("warning[").count(), 1, "{shown}");
    assert!(
        shown.contains("warning[barrier-after-exit]")
            && shown.contains("the optimiser has merged the end of these threads")
            && shown.contains("appears in: optimised, unoptimised"),
        "{shown}"
    );
    // Here the threads do go past the barrier.
    let text = text
        .replace("return; }\n", "n = -n; }\n    if (n > 0) {\n")
        .replace("    data[t] = tile", "    }\n    data[t] = tile");
    let text = text.replace("tile[n - 1 - t]", "tile[t]");
    fs::write(folder.join("past.cu"), text).unwrap();
    let shown = racetrap(folder, &[&["check", "past.cu"], &launch[..]].concat());
    assert!(shown.contains("error[divergent-barrier]"), "{shown}");
    assert!(shown.ends_with("--- exit status 1\n"), "{shown}");
}

/// Every thread writes its number to one word, and counts.
const COUNT: &str = "
.version 8.0
.target sm_75
.address_size 64
.visible .entry count(.param .u64 out, .param .u32 rounds)
{
    .reg .pred %p<2>;
    .reg .b32 %r<3>;
    .reg .b64 %rd<2>;
    ld.param.u64 %rd1, [out];
    ld.param.u32 %r1, [rounds];
    mov.u32 %r2, 0;
    WRITE
AGAIN:
    add.s32 %r2, %r2, 1;
    setp.lt.u32 %p1, %r2, %r1;
    @%p1 bra AGAIN;
    ret;
}
";

/// `racetrap check` of that kernel in so many warps.
fn count(name: &str, write: bool, grid: &str, rounds: &str, more: &[&str]) -> String {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let write = if write {
        "mov.u32 %r2, %tid.x; st.global.u32 [%rd1], %r2; mov.u32 %r2, 0;"
    } else {
        ""
    };
    fs::write(folder.join(name), COUNT.replace("WRITE", write)).unwrap();
    let rounds = format!("1={rounds}");
    let launch = [
        "check",
        name,
        "--grid",
        grid,
        "--block",
        "32",
        "--arg",
        "0=i32[1]:zeros",
        "--arg",
        &rounds,
    ];
    racetrap(folder, &[&launch[..], more].concat())
}

/// A budget that is spent while blocks go on ending is no finding.
#[test]
fn a_long_launch_is_inconclusive() {
    let shown = count("long.ptx", false, "100", "1000", &["--max-steps", "100000"]);
    assert!(shown.ends_with("--- exit status 3\n"), "{shown}");
    assert!(!shown.contains("error["), "{shown}");
    assert!(
        shown.contains("of 100 blocks ended within the budget of")
            && shown.contains("`--max-steps`")
            && shown.contains("`--grid`"),
        "{shown}"
    );
    // One block that runs as long is stuck for all that can be seen.
    let shown = count(
        "stuck.ptx",
        false,
        "1",
        "100000",
        &["--max-steps", "100000"],
    );
    assert!(shown.contains("error[no-progress]"), "{shown}");
    assert!(shown.ends_with("--- exit status 1\n"), "{shown}");
}

/// What has errors and runs for long is run under no more schedules.
#[test]
fn a_long_run_with_errors_is_enough() {
    let few = ["--schedules", "3"];
    let shown = count("brief.ptx", true, "2", "10", &few);
    assert!(shown.contains("error[data-race]"), "{shown}");
    assert!(shown.contains("3 schedules tried"), "{shown}");
    let shown = count("lengthy.ptx", true, "2", "400000", &few);
    assert!(shown.contains("error[data-race]"), "{shown}");
    assert!(shown.contains("schedule lockstep tried"), "{shown}");
}

#[test]
fn help_teaches() {
    // What is not in this build is in the reference all the same.
    let help = racetrap(folder(), &["--help"]).replace(" (not in this build)", "");
    insta::assert_snapshot!("help", help);
    insta::assert_snapshot!("help_check", racetrap(folder(), &["check", "--help"]));
}

#[test]
fn completions() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let shown = racetrap(folder(), &["completions", shell]);
        assert!(
            shown.contains("racetrap") && shown.contains("check"),
            "{shell}"
        );
        assert!(shown.ends_with("--- exit status 0\n"));
    }
}

/// A kernel of `tests/judged` or of the catalogue, by its path in the repository.
fn check_file(path: &str, arguments: &[&str]) -> String {
    let all: Vec<&str> = ["check", path]
        .into_iter()
        .chain(arguments.iter().copied())
        .collect();
    racetrap(Path::new(env!("CARGO_MANIFEST_DIR")), &all)
}

/// Blocks that are dealt out to several cores are judged again on one, where there is something to find.
#[test]
fn the_number_of_cores_changes_no_finding() {
    let launch = ["--grid", "8", "--block", "64", "--schedule", "lockstep"];
    for (file, rule) in [
        (
            "kernels/warp/too_far.BUG_TOO_FAR.sm_75.ptx",
            "undefined-shuffle",
        ),
        (
            "kernels/read_only/neighbours.BUG_READ_ONLY.sm_75.ptx",
            "non-coherent-read",
        ),
    ] {
        let entry = match rule {
            "undefined-shuffle" => "half_sum",
            _ => "square_and_swap",
        };
        let on = |jobs: &str| {
            let all = [&launch[..], &["--entry", entry, "--jobs", jobs]].concat();
            check_file(file, &all)
        };
        let one = on("1");
        assert!(one.contains(&format!("error[{rule}]")), "{one}");
        assert_eq!(one.replace("--jobs 1", "--jobs 4"), on("4"));
    }
}

/// Only what is accessed in global memory can outgrow a buffer that was guessed.
#[test]
fn shared_memory_does_not_enlarge_buffers() {
    let shown = check_file(
        "tests/judged/buggy/vector_view_too_long.ptx",
        &["--grid", "2", "--block", "64"],
    );
    assert!(shown.contains("error[out-of-bounds]"), "{shown}");
    assert!(!shown.contains("enlarged"), "{shown}");
    let elements = "`tile` has 64 elements of 4 bytes; the access would be to `tile[128]`, 256 bytes past the end";
    assert!(shown.contains(elements), "{shown}");
}

#[test]
fn atomics_of_different_sizes() {
    let launch = ["--grid", "2", "--block", "1", "--schedule", "lockstep"];
    let shown = check_file("tests/judged/buggy/mixed_size_atomics.ptx", &launch);
    assert!(
        shown.contains("two atomic updates of different sizes overlap at `counter[0]`"),
        "{shown}"
    );
    assert!(
        shown.contains("use the same type for this memory"),
        "{shown}"
    );
}

/// The grid's barrier traps in an ordinary launch: a kernel that has one is launched so that it works.
#[test]
fn a_grid_barrier_gets_a_cooperative_launch() {
    let file = "tests/judged/buggy/read_only_across_grid_sync.ptx";
    let launch = [
        "--grid",
        "2",
        "--block",
        "32",
        "--arg",
        "0=f32[64]:random",
        "--arg",
        "1=f32[64]:zeros",
    ];
    let shown = check_file(file, &launch);
    assert!(shown.contains("--block 32 --cooperative\n"), "{shown}");
    assert!(!shown.contains("give `--cooperative`"), "{shown}");
}

/// The host program says how large a buffer is, and the kernel reaches further: said, although other arguments are guesses.
#[test]
fn a_buffer_that_the_host_sizes_is_not_enlarged_in_silence() {
    if testing::needs_nvcc().is_none() {
        return;
    }
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let source = "__global__ void k(const int *a, int *c) { int t = threadIdx.x + blockIdx.x * blockDim.x; c[t] = a[t]; }
int main() { int h[1101], *a, *c; cudaMalloc(&a, 1101 * sizeof(int)); cudaMalloc(&c, 1152 * sizeof(int)); fill(h);
cudaMemcpy(a, h, 1101 * sizeof(int), cudaMemcpyHostToDevice); k<<<9, 128>>>(a, c); }\n";
    let name = "größe.cu";
    std::fs::write(folder.path().join(name), source.replace("fill(h);", "")).unwrap();
    let shown = racetrap(folder.path(), &["check", name]);
    assert!(shown.contains("warning[out-of-bounds]"), "{shown}");
    assert!(
        shown.contains("the program passes `a` with 1,101 elements (line 3)"),
        "{shown}"
    );
    // The name is written with escapes in the PTX.
    assert!(shown.contains("--> größe.cu:1:"), "{shown}");
}

/// What becomes of a flag's value is lost in unoptimised code, where `load` is a function: that is no reason for a warning.
#[test]
fn a_flag_of_the_library_is_clean_as_it_should_be_used() {
    if testing::needs_nvcc().is_none() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let source = |store: &str, load: &str| {
        format!(
            "#include <cuda/atomic>\n\
             __global__ void hand_over(int *data, cuda::atomic<int, cuda::thread_scope_device> *flag, int *out) {{\n\
                 if (threadIdx.x != 0) return;\n\
                 if (blockIdx.x == 0) {{ *data = 42; flag->store(1, cuda::std::memory_order_{store}); }}\n\
                 else {{ while (flag->load(cuda::std::memory_order_{load}) == 0) ; out[0] = *data; }}\n\
             }}\n"
        )
    };
    for (store, load, told) in [
        ("release", "acquire", "clean"),
        ("relaxed", "relaxed", "error"),
    ] {
        fs::write(folder.path().join("flag.cu"), source(store, load)).unwrap();
        let tools = Path::new(env!("CARGO_MANIFEST_DIR")).join(".toolchain");
        let linked = folder.path().join(".toolchain");
        if tools.is_dir() && !linked.exists() {
            std::os::unix::fs::symlink(tools, linked).unwrap();
        }
        let shown = racetrap(
            folder.path(),
            &["check", "flag.cu", "--grid", "2", "--block", "32"],
        );
        assert!(shown.contains(&format!("\n{told}")), "{store}: {shown}");
        assert!(!shown.contains("warning"), "{store}: {shown}");
    }
}

/// Where nobody says for which GPU, a source is compiled for one that has what it uses, and the verdict says so.
#[rstest::rstest]
#[case::intrinsic(
    "__global__ void k(int *o) { int v = __reduce_add_sync(0xffffffff, threadIdx.x); if (threadIdx.x == 0) o[blockIdx.x] = v; }",
    "as on sm_80, which `__reduce_add_sync` needs"
)]
#[case::attribute(
    "__global__ void __cluster_dims__(2) k(int *o) { o[blockIdx.x * 64 + threadIdx.x] = 1; }",
    "as on sm_90, which `__cluster_dims__` needs"
)]
#[case::cluster(
    "#include <cooperative_groups.h>\n__global__ void k(int *o) { cooperative_groups::this_cluster().sync(); o[blockIdx.x * 64 + threadIdx.x] = 1; }",
    "as on sm_90, which `this_cluster` needs"
)]
#[case::library(
    "#include <cuda/ptx>\n__global__ void k(int *o) { cuda::ptx::fence_proxy_async(); o[blockIdx.x * 64 + threadIdx.x] = 1; }",
    "as on sm_90, which `cuda::ptx::fence_proxy_async` needs"
)]
fn a_source_is_compiled_for_a_gpu_that_has_what_it_uses(#[case] source: &str, #[case] said: &str) {
    if testing::needs_nvcc().is_none() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("k.cu"), source).unwrap();
    let tools = Path::new(env!("CARGO_MANIFEST_DIR")).join(".toolchain");
    if tools.is_dir() {
        std::os::unix::fs::symlink(tools, folder.path().join(".toolchain")).unwrap();
    }
    let shown = racetrap(folder.path(), &["check", "k.cu"]);
    assert!(shown.contains(said), "{shown}");
    let shown = racetrap(folder.path(), &["check", "k.cu", "--arch", "sm_75"]);
    assert!(!shown.contains("\nclean"), "{shown}");
}

/// A wait that never ends is one finding, not one for each build.
#[test]
fn a_wait_of_two_builds_is_one_deadlock() {
    if testing::needs_nvcc().is_none() {
        return;
    }
    let arguments = "check tests/judged/buggy/tensor_bytes_inside_alone.cu --grid 2 --block 64 \
                     --max-steps 500000 --arg 0=i32[512]:uninitialized --arg 1=tensor:i32[12,32]:box=8,32:iota";
    let arguments: Vec<&str> = arguments.split_whitespace().collect();
    let shown = racetrap(Path::new(env!("CARGO_MANIFEST_DIR")), &arguments);
    assert!(shown.contains("error[deadlock]"), "{shown}");
    assert!(
        shown.contains("appears in: optimised, unoptimised"),
        "{shown}"
    );
    assert!(!shown.contains("no-progress"), "{shown}");
    // Alone, the map is missing, and that is said.
    let shown = racetrap(Path::new(env!("CARGO_MANIFEST_DIR")), &arguments[..2]);
    assert!(shown.contains("unsupported "), "{shown}");
    assert!(
        shown.contains("give `--arg 'in=tensor:f16[64,128]:box=64,64'`"),
        "{shown}"
    );
    assert!(!shown.contains("000000000000"), "{shown}");
}

/// A second kernel that does not wait is told where its launch depends on the first one, and not where it comes behind its end.
#[test]
fn a_second_kernel() {
    let file = "kernels/dependent_launch/pair.BUG_WAIT_MISSING.sm_90.ptx";
    let both = ["--entry", "square", "--then", "weigh", "--inputs", "1"];
    let dependent = [&both[..], &["--programmatic"]].concat();
    insta::assert_snapshot!(check_file(file, &dependent));
    let shown = check_file(file, &both);
    assert!(shown.contains("clean kernels/"), "{shown}");
    assert!(
        shown.contains("; followed by `weigh` when it has ended"),
        "{shown}"
    );
    let right = "kernels/dependent_launch/pair.sm_90.ptx";
    let shown = check_file(right, &dependent);
    assert!(shown.contains("clean kernels/"), "{shown}");
    let shape = [
        &both[..3],
        &["weigh<<<3,96>>>", "--programmatic", "--inputs", "1"],
    ]
    .concat();
    let shown = check_file(right, &shape);
    assert!(shown.contains("clean kernels/"), "{shown}");
    let shown = check_file(right, &["--entry", "weigh", "--inputs", "1"]);
    assert!(
        shown.contains("`--entry FIRST --then SECOND --programmatic` runs both"),
        "{shown}"
    );
    let shown = check_file(right, &["--entry", "square", "--then", "wigh"]);
    assert!(
        shown.contains("wigh") && shown.ends_with("--- exit status 2\n"),
        "{shown}"
    );
}
