//! Two kernels of 20,000 lines of PTX, compared on one core: reading, canonical form, alignment, effects.
//!
//! `cargo bench --bench diff` prints the time of each step.

use divan::Bencher;
use ptxdiff::{FunctionDiff, Unit};

fn main() {
    divan::main();
}

/// A kernel of so many instructions: loads, sums, stores, a branch and a barrier now and then.
fn kernel(lines: usize, seed: u64) -> String {
    let mut text = String::from(
        ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 p)\n{\n\
         .reg .pred %p<9>;\n.reg .b32 %r<90000>;\n.reg .b64 %rd<9>;\nld.param.u64 %rd1, [p];\nmov.u32 %r0, %tid.x;\n",
    );
    let mut state = seed;
    let mut next = |below: u64| {
        state = state
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (state >> 33) % below
    };
    for at in 1..=lines as u64 {
        let (x, y) = (at - 1 - next(at.min(20)), at - 1 - next(at.min(20)));
        text += &match next(40) {
            0..=12 => format!("ld.global.u32 %r{at}, [%rd1+{}];\n", 4 * next(4000)),
            13..=18 => format!(
                "mov.u32 %r{at}, 1;\nst.global.u32 [%rd1+{}], %r{x};\n",
                4 * next(4000)
            ),
            19 => format!(
                "setp.lt.u32 %p1, %r{x}, %r{y};\nmov.u32 %r{at}, 0;\n@%p1 bra L{at};\nadd.s32 %r{at}, %r{x}, 1;\nL{at}:\n"
            ),
            20 => format!("mov.u32 %r{at}, 2;\nbar.sync 0;\n"),
            _ => format!("add.s32 %r{at}, %r{x}, %r{y};\n"),
        };
    }
    text + "ret;\n}\n"
}

fn compare(a: &Unit, b: &Unit) -> bool {
    let entry = |unit: &Unit| {
        unit.entries()
            .next()
            .expect("there is a kernel")
            .name
            .clone()
    };
    let (x, y) = (entry(a), entry(b));
    let (x, y) = (
        a.entry(&x).expect("it is there"),
        b.entry(&y).expect("it is there"),
    );
    FunctionDiff::of((a, x), (b, y))
        .expect("its flow makes sense")
        .is_same()
}

fn unit(text: String) -> Unit {
    Unit::parse(text).expect("the benchmark's PTX parses")
}

/// What users wait for: two texts in, effects out.
#[divan::bench]
fn one_line_in_a_hundred_differs(bencher: Bencher) {
    let a = kernel(17_000, 1);
    let b: Vec<String> = a
        .lines()
        .enumerate()
        .map(|(i, l)| {
            if i > 20 && i % 100 == 0 {
                l.replace("add.s32", "sub.s32")
            } else {
                l.to_owned()
            }
        })
        .collect();
    let b = b.join("\n");
    bencher.bench_local(|| compare(&unit(a.clone()), &unit(b.clone())));
}

#[divan::bench]
fn nothing_in_common(bencher: Bencher) {
    let (a, b) = (kernel(17_000, 1), kernel(17_000, 2));
    bencher.bench_local(|| compare(&unit(a.clone()), &unit(b.clone())));
}

#[divan::bench]
fn the_same(bencher: Bencher) {
    let a = kernel(17_000, 1);
    bencher.bench_local(|| compare(&unit(a.clone()), &unit(a.clone())));
}
