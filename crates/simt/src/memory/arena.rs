//! The words of global memory: their own, or lent by the process that simulates a whole program.

use super::cells::Cells;
use super::words::Words;
use super::written::Written;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// The arena. Blocks on several cores may use it at the same time.
#[derive(Debug, Default)]
pub(crate) struct Arena {
    pub(crate) words: Cells<AtomicU32>,
    pub(crate) valid: Written,
    /// Serialises atomics on more than one word.
    wide: Mutex<()>,
}

impl Words for Arena {
    const GLOBAL: bool = true;
    #[inline(always)]
    fn get(&self, word: usize, _: usize) -> u32 {
        self.words[word].load(Relaxed)
    }
    #[inline(always)]
    fn set(&self, word: usize, _: usize, value: u32) {
        self.words[word].store(value, Relaxed);
    }
    #[inline(always)]
    fn valid(&self, word: usize, _: usize) -> u8 {
        self.valid.get(word)
    }
    #[inline(always)]
    fn mark(&self, word: usize, _: usize, bytes: u8) {
        self.valid.mark(word, bytes);
    }
    #[inline(always)]
    fn load_run<const N: usize>(&self, word: usize, to: &mut [u32; N]) -> u8 {
        let words = &self.words[word..word + N];
        for i in 0..N {
            to[i] = words[i].load(Relaxed);
        }
        self.valid.in_all(word..word + N)
    }
    #[inline(always)]
    fn store_run<const N: usize>(&self, word: usize, from: &[u32; N]) {
        let words = &self.words[word..word + N];
        for i in 0..N {
            words[i].store(from[i], Relaxed);
        }
        self.valid.mark_all(word..word + N);
    }
    #[inline(always)]
    fn lane_words<const N: usize>(&self, word: usize, _: usize) -> ([u32; N], u8) {
        let mut to = [0; N];
        let valid = self.load_run(word, &mut to);
        (to, valid)
    }
    #[inline(always)]
    fn set_lane_words<const N: usize>(&self, word: usize, _: usize, from: [u32; N]) {
        self.store_run(word, &from);
    }
    fn replace(&self, word: usize, _: usize, mask: u32, bits: u32) {
        let _ = self.words[word].fetch_update(Relaxed, Relaxed, |old| Some(old & !mask | bits));
    }
}

impl Arena {
    /// One atomic update of a word, against other cores too; the old value.
    pub fn update(&self, word: usize, mut f: impl FnMut(u32) -> u32) -> u32 {
        let old = self.words[word].fetch_update(Relaxed, Relaxed, |old| Some(f(old)));
        self.valid.mark(word, 0xf);
        old.unwrap_or_default()
    }

    /// Keeps other cores' wide atomics away.
    pub fn lock(&self) -> std::sync::MutexGuard<'_, ()> {
        self.wide
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Forgets that a byte was written.
    pub(crate) fn forget(&mut self, at: u64) {
        let word = (at >> 2) as usize;
        self.valid
            .put(word, self.valid.get(word) & !(1 << (at & 3)));
    }

    pub(crate) fn resize(&mut self, bytes: u64) {
        let words = bytes.div_ceil(4) as usize;
        self.words.reserve(words);
        self.valid.reserve(words);
    }
}
