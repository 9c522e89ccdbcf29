//! Which bytes of global memory have been written: four bits for each word of 32, sixteen words side by side.

use super::cells::Cells;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Words of memory that a cell tells of.
pub const WORDS: usize = 16;

/// The bits. Several cores may use them at the same time.
#[derive(Debug, Default)]
pub(crate) struct Written(Cells<AtomicU64>);

/// The cells of a range of words, each with the bits that belong to the range.
#[inline(always)]
fn cells_of(words: Range<usize>) -> impl Iterator<Item = (usize, u64)> {
    let end = match words.is_empty() {
        true => words.start / WORDS,
        false => words.end.div_ceil(WORDS),
    };
    (words.start / WORDS..end).map(move |cell| {
        let from = words.start.max(cell * WORDS) % WORDS;
        let count = (words.end - cell * WORDS).min(WORDS) - from;
        (cell, u64::MAX >> (64 - 4 * count) << (4 * from))
    })
}

impl Written {
    /// Bits that somebody has lent, none of them set.
    pub fn lent(cells: &'static [AtomicU64]) -> Written {
        Written(Cells::Lent(cells))
    }

    /// Makes room for so many words, where the bits are not lent.
    pub fn reserve(&mut self, words: usize) {
        self.0.reserve(words.div_ceil(WORDS));
    }

    /// Words that there is room for.
    pub fn words(&self) -> usize {
        self.0.len() * WORDS
    }

    /// The bytes of a word that were written.
    #[inline(always)]
    pub fn get(&self, word: usize) -> u8 {
        (self.0[word / WORDS].load(Relaxed) >> (4 * (word % WORDS))) as u8 & 0xf
    }

    /// The bytes that were written in all words of a range; all, if it is empty.
    #[inline(always)]
    pub fn in_all(&self, words: Range<usize>) -> u8 {
        let mut all = u64::MAX;
        for (cell, bits) in cells_of(words) {
            all &= self.0[cell].load(Relaxed) | !bits;
        }
        for step in [32, 16, 8, 4] {
            all &= all >> step;
        }
        all as u8 & 0xf
    }

    /// Bytes of a word have been written.
    #[inline(always)]
    pub fn mark(&self, word: usize, bytes: u8) {
        let bits = u64::from(bytes & 0xf) << (4 * (word % WORDS));
        set(&self.0[word / WORDS], bits);
    }

    /// All bytes of these words have been written.
    #[inline(always)]
    pub fn mark_all(&self, words: Range<usize>) {
        for (cell, bits) in cells_of(words) {
            set(&self.0[cell], bits);
        }
    }

    /// Nothing is left of what was written to these words.
    pub fn forget_all(&self, words: Range<usize>) {
        for (cell, bits) in cells_of(words) {
            // Memory that was never touched takes no room.
            if self.0[cell].load(Relaxed) & bits != 0 {
                self.0[cell].fetch_and(!bits, Relaxed);
            }
        }
    }

    /// A copy of the bits of these words, by cell.
    pub fn copy_of(&self, words: Range<usize>) -> Vec<u64> {
        let cells = cells_of(words);
        cells.map(|(cell, _)| self.0[cell].load(Relaxed)).collect()
    }

    /// Puts [such a copy](Written::copy_of) back.
    pub fn put_back(&self, words: Range<usize>, copy: &[u64]) {
        for ((cell, bits), old) in cells_of(words).zip(copy) {
            let others = self.0[cell].load(Relaxed) & !bits;
            self.0[cell].store(others | old & bits, Relaxed);
        }
    }

    /// Exactly these bytes of a word count as written.
    pub fn put(&self, word: usize, bytes: u8) {
        if self.get(word) & !bytes != 0 {
            self.forget_all(word..word + 1);
        }
        self.mark(word, bytes);
    }
}

/// Sets bits. Most are set already, which is cheaper to see than to repeat.
#[inline(always)]
fn set(cell: &AtomicU64, bits: u64) {
    if cell.load(Relaxed) & bits != bits {
        cell.fetch_or(bits, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[derive(Clone, Debug)]
    enum Step {
        Mark(usize, u8),
        MarkAll(usize, usize),
        ForgetAll(usize, usize),
        Put(usize, u8),
        /// Copies words, forgets them and their neighbours, puts the copy back.
        Copy(usize, usize),
    }

    const ALL: usize = 70;

    fn step() -> impl Strategy<Value = Step> {
        let range = || (0..ALL, 0..40usize);
        prop_oneof![
            (0..ALL, 0..16u8).prop_map(|(w, b)| Step::Mark(w, b)),
            range().prop_map(|(w, n)| Step::MarkAll(w, n)),
            range().prop_map(|(w, n)| Step::ForgetAll(w, n)),
            (0..ALL, 0..16u8).prop_map(|(w, b)| Step::Put(w, b)),
            range().prop_map(|(w, n)| Step::Copy(w, n)),
        ]
    }

    proptest! {
        #![proptest_config(testing::random(500))]
        #[test]
        fn they_are_what_an_array_of_bytes_would_be(steps in prop::collection::vec(step(), 1..30)) {
            let mut written = Written::default();
            written.reserve(ALL);
            let mut plain = [0u8; ALL];
            let range = |w: usize, n: usize| w..(w + n).min(ALL);
            for step in steps {
                match step {
                    Step::Mark(w, bytes) => {
                        written.mark(w, bytes);
                        plain[w] |= bytes;
                    }
                    Step::MarkAll(w, n) => {
                        written.mark_all(range(w, n));
                        plain[range(w, n)].fill(0xf);
                    }
                    Step::ForgetAll(w, n) => {
                        written.forget_all(range(w, n));
                        plain[range(w, n)].fill(0);
                    }
                    Step::Copy(w, n) => {
                        let copy = written.copy_of(range(w, n));
                        written.forget_all(w.saturating_sub(3)..(w + n).min(ALL));
                        plain[w.saturating_sub(3)..w].fill(0);
                        written.put_back(range(w, n), &copy);
                    }
                    Step::Put(w, bytes) => {
                        written.put(w, bytes);
                        plain[w] = bytes;
                    }
                }
                for w in 0..ALL {
                    prop_assert_eq!(written.get(w), plain[w]);
                    for n in [1, 16, 32] {
                        let words = range(w, n);
                        let all = plain[words.clone()].iter().fold(0xf, |all, w| all & w);
                        prop_assert_eq!(written.in_all(words), all);
                    }
                }
            }
        }
    }
}
