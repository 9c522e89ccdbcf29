//! Small kernels in which one line is marked `// a` and another `// b`, and what is put between them: the lines that come in, or why none do.

use super::super::tests::end_of;
use super::{Unplaced, Wanted, place};
use crate::source::SourceFile;
use rstest::rstest;
use std::sync::Arc;

fn placed(kernel: &str, wanted: Wanted) -> String {
    let text = format!(
        "__global__ void k(int *out, int n) {{\n__shared__ int s[64];\nint t = threadIdx.x;\n{kernel}\n}}\n"
    );
    let file = Arc::new(SourceFile::new("k.cu".into(), text));
    let line = |mark: &str| {
        let found = file.text.lines().position(|l| l.contains(mark));
        found.map(|at| at as u32 + 1)
    };
    let a = line("// a").unwrap();
    let b = line("// b").unwrap_or(a);
    match place(&end_of(&file, a), &end_of(&file, b), wanted, &[]) {
        Ok(placed) => {
            let diff = placed.edit.diff();
            let changed = diff.lines().filter(|l| {
                l.starts_with(['+', '-']) && !l.starts_with("+++") && !l.starts_with("---")
            });
            let changed: Vec<&str> = changed.map(|l| l.trim_end()).collect();
            let before = file.text.lines().zip(
                placed
                    .edit
                    .applied(&file)
                    .lines()
                    .map(str::to_owned)
                    .collect::<Vec<_>>(),
            );
            let first = before.take_while(|(x, y)| x == y).count();
            format!("behind {first}: {}", changed.join(" "))
        }
        Err(Unplaced::Unread) => "unread".to_owned(),
        Err(Unplaced::There) => "there".to_owned(),
        Err(Unplaced::Apart(line)) => format!("apart by {}", line.unwrap_or(0)),
    }
}

#[rstest]
#[case::a_plain_pair(
    "s[t] = n; // a\nout[t] = s[63 - t]; // b",
    "behind 4: +__syncthreads();"
)]
#[case::a_branch_is_closed(
    "if (t < 48) {\ns[t] = n; // a\nout[t] = s[47 - t]; // b\n}",
    "behind 5: +} +__syncthreads(); +if (t < 48) {"
)]
#[case::not_where_a_name_would_be_lost(
    "if (t < 48) {\nint x = s[t]; // a\ns[47 - t] = x; // b\n}",
    "apart by 4"
)]
#[case::both_ways_of_a_branch(
    "if (t < 32) {\ns[t] = n; // a\n} else {\nout[t] = s[t - 32]; // b\n}",
    "apart by 4"
)]
#[case::behind_who_has_left(
    "s[t] = n; // a\nif (t > 40) return;\nout[t] = s[63 - t]; // b",
    "behind 4: +__syncthreads();"
)]
#[case::not_behind_who_has_left(
    "if (t > 40) return;\ns[t] = n; // a\nout[t] = s[63 - t]; // b",
    "apart by 0"
)]
#[case::one_that_some_miss(
    "if (t < 32) {\ns[t] = n; // a\n__syncthreads();\n}\nout[t] = s[63 - t]; // b",
    "behind 5: +} -}"
)]
#[case::one_of_the_warp_is_not_enough(
    "s[t] = n; // a\n__syncwarp();\nout[t] = s[63 - t]; // b",
    "behind 4: +__syncthreads();"
)]
#[case::the_next_turn(
    "for (int i = 0; i < n; i++) {\ns[t] = i; // b\n__syncthreads();\nout[t] += s[63 - t]; // a\n}",
    "behind 7: +__syncthreads();"
)]
#[case::no_loop_joins_them(
    "for (int i = 0; i < 4; i++)\ns[t] = i; // a\nfor (int i = 0; i < 4; i++)\nout[t] += s[63 - t]; // b",
    "behind 5: +__syncthreads();"
)]
#[case::a_tree(
    "for (int d = 32; d > 0; d /= 2) {\nif (t < d) s[t] += s[t + d]; // a\n}",
    "behind 5: +__syncthreads();"
)]
#[case::a_tree_of_several_lines(
    "for (int d = 32; d > 0; d /= 2) {\nif (t < d) {\nint x = s[t + d]; // b\ns[t] += x; // a\n}\n}",
    "behind 8: +__syncthreads();"
)]
#[case::pairs(
    "for (int d = 32; d > 0; d /= 2) {\nint other = t ^ d;\nif (other > t) {\nint x = s[other]; // b\ns[t] = x; // a\n}\n}",
    "behind 9: +__syncthreads();"
)]
#[case::a_scan_is_split(
    "for (int d = 1; d < 64; d *= 2) {\nif (t >= d) s[t] += s[t - d]; // a\n}",
    "behind 4: -if (t >= d) s[t] += s[t - d]; // a +{ +    const auto value = (t >= d) ? (s[t - d]) : 0; +    __syncthreads(); +    if (t >= d) s[t] += value; +    __syncthreads(); +} // a"
)]
#[case::a_flag_in_shared_memory(
    "__shared__ int more;\nwhile (true) {\nif (t == 0) more = 0; // b\n__syncthreads();\nif (s[t] > 3) more = 1;\n__syncthreads();\nif (!more) break; // a\n}",
    "behind 10: +__syncthreads();"
)]
#[case::turns_of_their_own(
    "for (int i = t; i < n; i += 3) {\ns[i] = 1; // a\nout[i] = s[63 - i]; // b\n}",
    "apart by 4"
)]
fn barriers_go_where_all_come(#[case] kernel: &str, #[case] wanted: &str) {
    assert_eq!(placed(kernel, Wanted::Block), wanted);
}

#[rstest]
#[case(Wanted::BlockOrWarp, "__syncthreads()")]
#[case(Wanted::Either, "__syncwarp()")]
#[case(Wanted::Warp, "__syncwarp()")]
fn the_barrier_is_of_who_shares_the_data(#[case] wanted: Wanted, #[case] barrier: &str) {
    let kernel = "s[t] = n; // a\nout[t] = s[t ^ 1]; // b\n__syncwarp();";
    assert_eq!(placed(kernel, wanted), format!("behind 4: +{barrier};"));
}

/// Of one warp, where only a warp comes.
#[test]
fn a_branch_of_a_warp_gets_a_barrier_of_the_warp() {
    let kernel = "if (t < 32) {\ns[t] = n; // a\nout[t] = s[31 - t]; // b\n}";
    assert_eq!(
        placed(kernel, Wanted::BlockOrWarp),
        "behind 5: +__syncwarp();"
    );
}

#[test]
fn accesses_in_functions_are_ordered_where_they_are_called() {
    let text = "\
__device__ void put(int *s, int t) {
    s[t] = t; // a
}
__global__ void k(int *out) {
    __shared__ int s[64];
    int t = threadIdx.x;
    if (t < 8) put(s, t);
    out[t] = s[63 - t]; // b
}
";
    let file = Arc::new(SourceFile::new("k.cu".into(), text.into()));
    let placed = place(&end_of(&file, 2), &end_of(&file, 8), Wanted::Block, &[]).unwrap();
    assert_eq!(placed.place, "between line 7 and line 8");
    // Called again while others are still in it.
    let text = "\
__device__ int first(int *s, int t) {
    s[t] = t; // b
    __syncthreads();
    return s[0]; // a
}
__global__ void k(int *out) {
    __shared__ int s[64];
    out[threadIdx.x] = first(s, threadIdx.x);
    out[threadIdx.x] += first(s, threadIdx.x + 1);
}
";
    let file = Arc::new(SourceFile::new("k.cu".into(), text.into()));
    let placed = place(&end_of(&file, 4), &end_of(&file, 2), Wanted::Block, &[]).unwrap();
    assert!(
        placed
            .edit
            .applied(&file)
            .contains("{\n    __syncthreads();\n    s[t] = t;"),
        "{}",
        placed.edit.diff()
    );
}
