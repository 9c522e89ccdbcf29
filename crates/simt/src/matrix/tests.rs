//! Fragments: each element is held, as often as any other, and where the manual says.

use super::*;
use std::collections::HashMap;

fn fragment(
    rows: usize,
    columns: usize,
    each: usize,
    parts: usize,
    arrangement: Arrangement,
) -> Fragment {
    Fragment {
        rows,
        columns,
        each,
        parts,
        arrangement,
    }
}

/// All that `wmma` and `mma` have.
fn all() -> Vec<Fragment> {
    use Arrangement::*;
    let mut all = Vec::new();
    // `wmma` of `.f16`, with twice as many registers as elements need; of `.bf16`, bytes, `.tf32`, `.f64`, nibbles and bits.
    for (m, n) in [(16, 16), (32, 8), (8, 32)] {
        all.push(fragment(m, 16, 16, 2, Rows));
        all.push(fragment(16, n, 16, 2, Columns));
        for parts in [2, 4] {
            all.push(fragment(m, 16, m / 2, parts, Rows));
            all.push(fragment(16, n, n / 2, parts, Columns));
        }
        all.push(fragment(m, n, 8, 1, Sum));
        all.push(fragment(m, n, 8, 2, Sum));
    }
    for (lines, k, each, parts) in [(16, 8, 4, 1), (8, 4, 1, 1), (8, 32, 8, 8)] {
        all.push(fragment(lines, k, each, parts, Rows));
        all.push(fragment(k, lines, each, parts, Columns));
    }
    // `mma`, by elements of a register and `k`.
    for (parts, ks) in [
        (1, &[4, 8, 16][..]),
        (2, &[8, 16]),
        (4, &[16, 32]),
        (8, &[32, 64]),
    ] {
        for &k in ks {
            for m in [8, 16] {
                if (m * k / 32usize).is_multiple_of(parts) {
                    all.push(fragment(m, k, m * k / 32, parts, First));
                }
            }
            if (k / 4usize).is_multiple_of(parts) {
                all.push(fragment(k, 8, k / 4, parts, Second));
            }
        }
    }
    all.push(fragment(8, 8, 2, 1, Sum));
    all.push(fragment(16, 8, 4, 2, Sum));
    all
}

#[test]
fn every_element_is_held_equally_often() {
    for fragment in all() {
        assert!(fragment.is_whole(), "{fragment:?}");
        let mut held: HashMap<(usize, usize), usize> = HashMap::new();
        for lane in 0..LANES {
            for index in 0..fragment.each {
                let (row, column) = fragment.place(lane, index);
                assert!(row < fragment.rows && column < fragment.columns);
                *held.entry((row, column)).or_default() += 1;
            }
        }
        let copies = LANES * fragment.each / (fragment.rows * fragment.columns);
        assert_eq!(held.len(), fragment.rows * fragment.columns, "{fragment:?}");
        assert!(held.values().all(|n| *n == copies), "{fragment:?}");
    }
}

/// PTX ISA, "Matrix Fragments for mma.m16n8k16 with floating point type": a6 of lane 5, b3 of lane 6, c2 of lane 31.
#[test]
fn fragments_of_mma_are_those_of_the_manual() {
    let place = |rows, columns, each, arrangement, lane, index| {
        fragment(rows, columns, each, 2, arrangement).place(lane, index)
    };
    assert_eq!(place(16, 16, 8, Arrangement::First, 5, 6), (1 + 8, 2 + 8));
    assert_eq!(
        place(16, 8, 4, Arrangement::Second, 6, 3),
        (2 * 2 + 1 + 8, 1)
    );
    assert_eq!(place(16, 8, 4, Arrangement::Sum, 31, 2), (7 + 8, 6));
}

#[test]
fn what_does_not_fit_is_refused() {
    use Arrangement::*;
    for odd in [
        fragment(16, 16, 7, 2, Rows),
        fragment(16, 16, 4, 2, First),
        fragment(16, 16, 8, 2, Second),
        fragment(12, 8, 3, 1, Sum),
        fragment(16, 16, 0, 2, Rows),
        fragment(16, 8, 0, 2, Sum),
    ] {
        assert!(!odd.is_whole(), "{odd:?}");
    }
}
