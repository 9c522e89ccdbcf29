//! Launches whose host code depends on values that nobody says: one launch results, and it follows what is guessed.

use check::host_facts::{Asked, any};
use simt::Dim3;
use toolchain::cuda_text::{CudaText, Takes};

fn asked(given: &[Option<i64>]) -> Asked {
    let mut given = given.to_vec();
    given.resize(4, None);
    Asked {
        name: "k".into(),
        takes: vec![
            Takes::Pointer,
            Takes::Pointer,
            Takes::Integer,
            Takes::Integer,
        ],
        indices: vec![None; 4],
        given,
        block: Dim3::linear(64),
        many_blocks: true,
    }
}

fn text(head: &str, launch: &str) -> CudaText {
    let text = format!(
        "__global__ void k(const float *x, float *y, int n, int m);\nvoid run({head}) {{ {launch}(x, y, n, m); }}\n"
    );
    CudaText::new(&text, &[])
}

const HEAD: &str = "const float *x, float *y, int n, int m";

#[test]
fn shared_memory_and_grid_belong_to_the_guesses() {
    let text = text(HEAD, "k<<<(n + 1023) / 1024, 256, 2 * m * sizeof(float)>>>");
    let (launch, followed) = any(&text, &asked(&[])).expect("a launch");
    let [n, m] = followed.values()[..] else {
        panic!("{followed:?}")
    };
    assert_eq!(launch.grid, Some([(n as u32).div_ceil(1024), 1, 1]));
    assert!(launch.grid.unwrap()[0] >= 2, "{launch:?}");
    assert_eq!(launch.shared, Some(8 * m as u32));
    assert_eq!(followed.depends, [false, false, true, true]);
    // Other guesses, another launch.
    let other = followed.with(&[5000, 7]).launch().expect("a launch");
    assert_eq!((other.grid, other.shared), (Some([5, 1, 1]), Some(56)));
    // No launch of no block.
    assert_eq!(followed.with(&[0, 7]).launch(), None);
}

#[test]
fn what_was_given_counts() {
    let text = text(HEAD, "k<<<(n + 63) / 64, 64, m * sizeof(float)>>>");
    let (launch, followed) =
        any(&text, &asked(&[None, None, Some(300), Some(9)])).expect("a launch");
    assert_eq!((launch.grid, launch.shared), (Some([5, 1, 1]), Some(36)));
    assert!(followed.values().is_empty());
}

/// Blocks as many as one size, threads of another, and shared memory as large as a product of them: all have to fit.
#[test]
fn guesses_are_made_small_enough() {
    let text = text(HEAD, "k<<<dim3(n, m), 512, n * m * sizeof(double)>>>");
    let (launch, _) = any(&text, &asked(&[])).expect("a launch");
    let [x, y, _] = launch.grid.unwrap();
    assert!(x * y <= 8 && x * y >= 2, "{launch:?}");
    assert!(launch.shared.unwrap() <= 48 << 10);
}

/// A launch that a simulator can run, but slowly, is made smaller where smaller sizes do so.
#[test]
fn long_launches_are_made_smaller() {
    use check::host::Host;
    let read = |size: &str, grid: &str| {
        let text = format!(
            "__global__ void k(const float *x, float *y, int n, int m);
             int main() {{ const int n = {size}; float *x, *y; k<<<{grid}, 64>>>(x, y, n, 3); }}\n"
        );
        Host::read(&CudaText::new(&text, &[]), &asked(&[])).expect("a launch")
    };
    let small = read("1 << 15", "n / 64");
    assert!(!small.smaller && small.launch.grid == Some([512, 1, 1]));
    let large = read("1 << 18", "n / 64");
    assert!(large.smaller && large.launch.grid.unwrap()[0] <= 1024);
    // Numbers that are no sizes.
    let fixed = read("7", "4095");
    assert!(!fixed.smaller && fixed.launch.grid == Some([4095, 1, 1]));
}
