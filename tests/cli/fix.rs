//! `racetrap check --fix`: changes are shown, written and carried only if they mend what was found.

use crate::common::racetrap;
use std::path::Path;

/// Two missing barriers, of which one is in a loop.
const TILE: &str = "\
__global__ void sum(const int *in, int *out)
{
    __shared__ int s[64];
    int t = threadIdx.x;
    s[t] = in[t];
    for (int half = 32; half > 0; half /= 2) {
        if (t < half)
            s[t] += s[t + half];
    }
    if (t == 0)
        out[0] = s[0];
}
";

/// A race that no single change mends: all blocks write one element.
const NO_CHANGE: &str = "\
__global__ void last(int *out)
{
    out[0] = blockIdx.x;
}
";

fn with(name: &str, text: &str, test: impl FnOnce(&Path)) {
    if testing::needs_nvcc().is_none() {
        return;
    }
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    std::fs::write(folder.path().join(name), text).unwrap();
    test(folder.path());
}

const LAUNCH: [&str; 6] = ["--grid", "1", "--block", "64", "--jobs", "1"];

fn check(folder: &Path, more: &[&str]) -> String {
    let arguments: Vec<&str> = ["check"]
        .iter()
        .chain(more)
        .chain(&LAUNCH)
        .copied()
        .collect();
    racetrap(folder, &arguments)
}

#[test]
fn changes_are_shown_as_a_difference() {
    with("sum.cu", TILE, |folder| {
        let shown = check(folder, &["sum.cu", "--fix"]);
        let at = shown.find("\nfix: ").unwrap_or_else(|| panic!("{shown}"));
        insta::assert_snapshot!(&shown[at..]);
        let text = std::fs::read_to_string(folder.join("sum.cu")).unwrap();
        assert_eq!(text, TILE, "it was only shown");
    });
}

#[test]
fn what_is_written_is_clean() {
    with("sum.cu", TILE, |folder| {
        let shown = check(folder, &["sum.cu", "--fix=write"]);
        assert!(shown.contains("these changes are made"), "{shown}");
        let again = check(folder, &["sum.cu"]);
        assert!(again.contains("clean sum.cu"), "{again}");
        assert!(again.ends_with("--- exit status 0\n"), "{again}");
    });
}

/// Reports carry changes that were tried, and none otherwise.
#[test]
fn formats_carry_what_was_tried() {
    with("sum.cu", TILE, |folder| {
        let sarif = |more: &[&str]| {
            let all: Vec<&str> = ["sum.cu", "--format", "sarif"]
                .iter()
                .chain(more)
                .copied()
                .collect();
            check(folder, &all)
        };
        assert!(!sarif(&[]).contains("\"fixes\""));
        let tried = sarif(&["--fix"]);
        assert!(
            tried.contains("\"fixes\"") && tried.contains("__syncthreads();"),
            "{tried}"
        );
        let github = check(folder, &["sum.cu", "--format", "github", "--fix"]);
        assert!(github.contains("suggestion:"), "{github}");
    });
}

#[test]
fn no_change_is_claimed_where_none_mends() {
    with("last.cu", NO_CHANGE, |folder| {
        let shown = racetrap(
            folder,
            &["check", "last.cu", "--fix", "--grid", "2", "--block", "1"],
        );
        assert!(
            shown.contains("fix: no finding comes with a change of the source"),
            "{shown}"
        );
        assert!(!shown.contains("+++"), "{shown}");
    });
}

#[test]
fn only_sources_are_changed() {
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cli"));
    let shown = racetrap(
        folder,
        &["check", "kernels.ptx", "--entry", "reverse", "--fix"],
    );
    assert!(
        shown.contains("`--fix` changes CUDA source, and this is none"),
        "{shown}"
    );
}
