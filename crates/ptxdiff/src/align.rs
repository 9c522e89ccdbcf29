//! Aligns two sequences.
//!
//! Anchors first, as patience difference does (B. Cohen; the algorithm of `git diff --patience`): elements whose key occurs once on
//! both sides, the longest run of them that keeps its order. Between anchors, where both sides are short, the alignment of
//! largest similarity is computed in full (S. B. Needleman, C. D. Wunsch, "A general method applicable to the search
//! for similarities in the amino acid sequence of two proteins", J. Mol. Biol. 48, 1970; a gap costs nothing, so that only
//! matches count). Where they are long, equal keys are paired in the order of their occurrence, which makes anchors again. What
//! is long and has nothing in common stays unmatched. So the time is bounded by the lengths' sum times [`CELLS`]' root.

use std::collections::HashMap;
use std::hash::Hash;
use std::ops::Range;

/// Cells of the table of one full alignment: beyond, more anchors are looked for.
const CELLS: usize = 1 << 18;

/// What is aligned: keys, and how alike two elements are.
pub trait Sequences {
    /// Two elements with one key mean the same.
    type Key: Copy + Eq + Hash;
    /// The key of element `index` of the first (`false`) or second (`true`) sequence.
    fn key(&self, second: bool, index: usize) -> Self::Key;
    /// A coarser key, of which two elements may be partners.
    fn coarse(&self, second: bool, index: usize) -> Self::Key;
    /// How alike two elements are; 0: no partners.
    fn similarity(&self, first: usize, second: usize) -> u32;
}

/// The partners, ascending on both sides.
pub fn align<S: Sequences>(sequences: &S, first: usize, second: usize) -> Vec<(usize, usize)> {
    let mut pairs = Vec::new();
    // A stack in place of recursion: gaps nest as deep as anchors are found.
    let mut gaps = vec![(0..first, 0..second)];
    while let Some((a, b)) = gaps.pop() {
        gap(sequences, a, b, &mut pairs, &mut gaps);
    }
    pairs.sort_unstable();
    pairs
}

type Gap = (Range<usize>, Range<usize>);

fn gap<S: Sequences>(
    sequences: &S,
    mut a: Range<usize>,
    mut b: Range<usize>,
    pairs: &mut Vec<(usize, usize)>,
    gaps: &mut Vec<Gap>,
) {
    while !a.is_empty() && !b.is_empty() && same(sequences, a.start, b.start) {
        pairs.push((a.start, b.start));
        (a.start, b.start) = (a.start + 1, b.start + 1);
    }
    while !a.is_empty() && !b.is_empty() && same(sequences, a.end - 1, b.end - 1) {
        (a.end, b.end) = (a.end - 1, b.end - 1);
        pairs.push((a.end, b.end));
    }
    if a.is_empty() || b.is_empty() {
        return;
    }
    if a.len().saturating_mul(b.len()) <= CELLS {
        return full(sequences, a, b, pairs);
    }
    let key = |second, index| sequences.key(second, index);
    let coarse = |second, index| sequences.coarse(second, index);
    for anchors in [
        unique(&a, &b, key),
        unique(&a, &b, coarse),
        by_occurrence(&a, &b, key),
        by_occurrence(&a, &b, coarse),
    ] {
        let anchors = longest_ascending(anchors);
        if anchors.is_empty() {
            continue;
        }
        let (mut from, mut to) = (a.start, b.start);
        for (x, y) in anchors {
            if sequences.similarity(x, y) > 0 {
                gaps.push((from..x, to..y));
                pairs.push((x, y));
                (from, to) = (x + 1, y + 1);
            }
        }
        if (from, to) != (a.start, b.start) {
            gaps.push((from..a.end, to..b.end));
            return;
        }
    }
}

fn same<S: Sequences>(sequences: &S, a: usize, b: usize) -> bool {
    sequences.key(false, a) == sequences.key(true, b)
}

/// Pairs of elements whose key occurs once on both sides, ascending in the first.
fn unique<K: Eq + Hash>(
    a: &Range<usize>,
    b: &Range<usize>,
    key: impl Fn(bool, usize) -> K,
) -> Vec<(usize, usize)> {
    let once = |range: &Range<usize>, second| {
        let mut seen: HashMap<K, Option<usize>> = HashMap::new();
        for index in range.clone() {
            seen.entry(key(second, index))
                .and_modify(|place| *place = None)
                .or_insert(Some(index));
        }
        seen
    };
    let (mine, theirs) = (once(a, false), once(b, true));
    let mut pairs: Vec<(usize, usize)> = mine
        .iter()
        .filter_map(|(key, place)| Some(((*place)?, (*theirs.get(key)?)?)))
        .collect();
    pairs.sort_unstable();
    pairs
}

/// The n-th occurrence of a key on one side with the n-th on the other, ascending in the first.
fn by_occurrence<K: Eq + Hash>(
    a: &Range<usize>,
    b: &Range<usize>,
    key: impl Fn(bool, usize) -> K,
) -> Vec<(usize, usize)> {
    let mut places: HashMap<K, (Vec<usize>, usize)> = HashMap::new();
    for index in b.clone() {
        places.entry(key(true, index)).or_default().0.push(index);
    }
    a.clone()
        .filter_map(|index| {
            let (places, next) = places.get_mut(&key(false, index))?;
            *next += 1;
            places.get(*next - 1).map(|place| (index, *place))
        })
        .collect()
}

/// The longest part of `pairs`, which ascend in the first element, that ascends in the second too (patience sorting).
fn longest_ascending(pairs: Vec<(usize, usize)>) -> Vec<(usize, usize)> {
    // The last pair of the best run of each length, and each pair's predecessor.
    let mut ends: Vec<usize> = Vec::new();
    let mut before = vec![usize::MAX; pairs.len()];
    for index in 0..pairs.len() {
        let length = ends.partition_point(|&end| pairs[end].1 < pairs[index].1);
        if length > 0 {
            before[index] = ends[length - 1];
        }
        match ends.get_mut(length) {
            Some(end) => *end = index,
            None => ends.push(index),
        }
    }
    let mut run = Vec::with_capacity(ends.len());
    let mut next = ends.last().copied().unwrap_or(usize::MAX);
    while let Some(pair) = pairs.get(next) {
        run.push(*pair);
        next = before[next];
    }
    run.reverse();
    run
}

/// The alignment of largest similarity. Of several, the one whose partners stand latest: a run of equal stores matches its last one,
/// which is the one that a compiler keeps.
fn full<S: Sequences>(
    sequences: &S,
    a: Range<usize>,
    b: Range<usize>,
    pairs: &mut Vec<(usize, usize)>,
) {
    let columns = b.len() + 1;
    let mut best = vec![0u32; (a.len() + 1) * columns];
    for i in 0..a.len() {
        for j in 0..b.len() {
            let similarity = sequences.similarity(a.start + i, b.start + j);
            let apart = best[i * columns + j + 1].max(best[(i + 1) * columns + j]);
            let together = match similarity {
                0 => 0,
                similarity => best[i * columns + j] + similarity,
            };
            best[(i + 1) * columns + j + 1] = apart.max(together);
        }
    }
    let (mut i, mut j) = (a.len(), b.len());
    while i > 0 && j > 0 {
        let here = best[i * columns + j];
        let similarity = sequences.similarity(a.start + i - 1, b.start + j - 1);
        if similarity > 0 && here == best[(i - 1) * columns + j - 1] + similarity {
            (i, j) = (i - 1, j - 1);
            pairs.push((a.start + i, b.start + j));
        } else if here == best[(i - 1) * columns + j] {
            i -= 1;
        } else {
            j -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    struct Words<'a>(&'a [u8], &'a [u8]);

    impl Sequences for Words<'_> {
        type Key = u8;
        fn key(&self, second: bool, index: usize) -> u8 {
            if second { self.1[index] } else { self.0[index] }
        }
        fn coarse(&self, second: bool, index: usize) -> u8 {
            self.key(second, index) / 2
        }
        fn similarity(&self, first: usize, second: usize) -> u32 {
            match (self.0[first], self.1[second]) {
                (a, b) if a == b => 4,
                (a, b) if a / 2 == b / 2 => 1,
                _ => 0,
            }
        }
    }

    fn pairs(a: &[u8], b: &[u8]) -> Vec<(usize, usize)> {
        align(&Words(a, b), a.len(), b.len())
    }

    #[test]
    fn the_last_of_equal_ones_is_the_partner() {
        assert_eq!(pairs(b"xs", b"asasas").last(), Some(&(1, 5)));
        assert_eq!(pairs(b"abc", b"aXbYc"), [(0, 0), (1, 2), (2, 4)]);
    }

    #[test]
    fn long_sequences_have_anchors() {
        let a: Vec<u8> = (0..4000u32).map(|i| (i * i % 251) as u8).collect();
        let mut b = a.clone();
        b.drain(1000..1010);
        b.splice(3000..3000, [7; 20]);
        assert!(pairs(&a, &b).len() >= 3900);
    }

    proptest! {
        #![proptest_config(testing::random(256))]

        #[test]
        fn partners_ascend_and_are_alike(a in prop::collection::vec(0u8..12, 0..40), b in prop::collection::vec(0u8..12, 0..40)) {
            let pairs = pairs(&a, &b);
            prop_assert!(pairs.windows(2).all(|w| w[0].0 < w[1].0 && w[0].1 < w[1].1));
            prop_assert!(pairs.iter().all(|&(x, y)| a[x] / 2 == b[y] / 2));
        }

        #[test]
        fn a_sequence_matches_itself(a in prop::collection::vec(0u8..12, 0..1500)) {
            let pairs = pairs(&a, &a);
            prop_assert!(pairs.iter().all(|(x, y)| x == y) && pairs.len() == a.len());
        }
    }
}
