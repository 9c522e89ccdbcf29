//! Memory that ends with a launch: a block's shared memory, a lane's local memory, the kernel's parameters.

use super::words::Words;
use crate::ids::LANES;
use std::cell::Cell;
use std::hash::{Hash, Hasher};

/// A block's shared memory, or that of all blocks of its cluster.
///
/// While a block of a cluster runs, it has the memory of all of them, and its own part begins at `base`. An address of another block's part holds the
/// block's rank in the cluster above [`FAR`], plus one (`mapa`).
#[derive(Debug)]
pub(crate) struct Shared {
    words: Vec<Cell<u32>>,
    valid: Vec<Cell<u8>>,
    /// Bytes of one block.
    pub bytes: u64,
    /// Its first word.
    base: usize,
    /// Words from one block's part to the next one's.
    stride: usize,
}

/// What real shared memory holds at the start is undefined; a pattern shows misuse better than zeros.
const UNWRITTEN: u32 = 0xcdcd_cdcd;

/// From here on, an address of shared memory is one of a block of the cluster by its rank.
pub const FAR: u64 = 1 << 24;
/// The same in words.
const FAR_WORD: usize = (FAR >> 2) as usize;

impl Shared {
    pub fn new(bytes: u32) -> Shared {
        Shared::of_cluster(bytes, 1)
    }

    /// That of a cluster of so many blocks.
    pub fn of_cluster(bytes: u32, blocks: u32) -> Shared {
        let stride = bytes.div_ceil(4) as usize;
        let words = stride * blocks as usize;
        Shared {
            words: vec![Cell::new(UNWRITTEN); words],
            valid: vec![Cell::new(0); words],
            bytes: u64::from(bytes),
            base: 0,
            stride,
        }
    }

    /// That of a block while the others of its cluster have it: none.
    pub fn elsewhere(bytes: u32) -> Shared {
        Shared {
            bytes: u64::from(bytes),
            ..Shared::of_cluster(0, 1)
        }
    }

    /// Makes the part of the block of this rank its own one.
    pub fn belongs_to(&mut self, rank: u32) {
        self.base = self.stride * rank as usize;
    }

    /// Forgets what was written, for another block.
    pub fn renew(&mut self) {
        self.words.fill(Cell::new(UNWRITTEN));
        self.valid.fill(Cell::new(0));
    }

    /// Where a word of an address lies.
    #[inline(always)]
    fn at(&self, word: usize) -> usize {
        match word < FAR_WORD {
            true => self.base + word,
            false => self.far(word),
        }
    }

    #[cold]
    fn far(&self, word: usize) -> usize {
        (word / FAR_WORD - 1) * self.stride + word % FAR_WORD
    }

    /// Whether some bytes at an address are there: of its own part, or of another block's.
    #[inline(always)]
    pub fn holds(&self, at: u64, size: u64) -> bool {
        let fits = |at: u64| at.checked_add(size).is_some_and(|end| end <= self.bytes);
        fits(at) || at >= FAR && fits(at % FAR) && self.has_rank(at / FAR - 1)
    }

    /// A block that is alone has no other part: `mapa` never leads there.
    fn has_rank(&self, rank: u64) -> bool {
        let blocks = (self.words.len() / self.stride.max(1)) as u64;
        blocks > 1 && rank < blocks
    }

    /// All words, and of each the bytes that have been written.
    #[inline(always)]
    pub fn words(&self) -> (&[Cell<u32>], &[Cell<u8>]) {
        let words = &self.words[self.base..][..self.stride];
        (words, &self.valid[self.base..][..words.len()])
    }

    /// Adjacent words.
    #[inline(always)]
    pub fn run<const N: usize>(&self, word: usize) -> [u32; N] {
        let word = self.at(word);
        let words = &self.words[word..word + N];
        std::array::from_fn(|i| words[i].get())
    }

    /// Whether all bytes of words have been written, the last one's too.
    #[inline(always)]
    pub fn is_written(&self, first: usize, last: usize) -> bool {
        let bytes = self.valid[self.at(first)..=self.at(last)].iter();
        bytes.fold(0xf, |all, byte| all & byte.get()) == 0xf
    }
}

impl Words for Shared {
    #[inline(always)]
    fn get(&self, word: usize, _: usize) -> u32 {
        self.words[self.at(word)].get()
    }
    #[inline(always)]
    fn set(&self, word: usize, _: usize, value: u32) {
        self.words[self.at(word)].set(value);
    }
    #[inline(always)]
    fn valid(&self, word: usize, _: usize) -> u8 {
        self.valid[self.at(word)].get()
    }
    #[inline(always)]
    fn mark(&self, word: usize, _: usize, bytes: u8) {
        let valid = &self.valid[self.at(word)];
        valid.set(valid.get() | bytes);
    }
    #[inline(always)]
    fn load_run<const N: usize>(&self, word: usize, to: &mut [u32; N]) -> u8 {
        let word = self.at(word);
        let (words, valid) = (&self.words[word..word + N], &self.valid[word..word + N]);
        let mut all = 0xf;
        for i in 0..N {
            to[i] = words[i].get();
        }
        for byte in valid {
            all &= byte.get();
        }
        all
    }
    #[inline(always)]
    fn store_run<const N: usize>(&self, word: usize, from: &[u32; N]) {
        let word = self.at(word);
        let (words, valid) = (&self.words[word..word + N], &self.valid[word..word + N]);
        for i in 0..N {
            words[i].set(from[i]);
        }
        valid.iter().for_each(|v| v.set(0xf));
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
}

/// Local memory of a warp's lanes, a row of 32 words for each four bytes.
#[derive(Debug, Default)]
pub(crate) struct Local {
    words: Vec<Cell<u32>>,
    valid: Vec<Cell<u8>>,
}

impl Local {
    /// Makes room for so many bytes a lane.
    pub fn reserve(&mut self, bytes: u32) {
        let words = (bytes.div_ceil(4) as usize) * LANES;
        if words > self.words.len() {
            self.words.resize_with(words, Cell::default);
            self.valid.resize_with(words, Cell::default);
        }
    }
    /// Has nothing but a frame of so many bytes a lane, which nobody has written.
    pub fn begin(&mut self, frame: u32) {
        self.words.clear();
        self.valid.clear();
        self.reserve(frame);
    }
    pub fn bytes(&self) -> u64 {
        (self.words.len() / LANES * 4) as u64
    }
    /// Forgets that bytes were written: a new frame starts there.
    pub fn forget(&self, from: u32, to: u32, lane: usize) {
        for word in (from / 4) as usize..(to.div_ceil(4) as usize).min(self.words.len() / LANES) {
            self.valid[word * LANES + lane].set(0);
        }
    }
}

impl Hash for Local {
    /// Values alone.
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        self.words.iter().for_each(|word| word.get().hash(hasher));
    }
}

impl Words for Local {
    const PRIVATE: bool = true;
    #[inline(always)]
    fn get(&self, word: usize, lane: usize) -> u32 {
        self.words[word * LANES + lane].get()
    }
    #[inline(always)]
    fn set(&self, word: usize, lane: usize, value: u32) {
        self.words[word * LANES + lane].set(value);
    }
    #[inline(always)]
    fn valid(&self, word: usize, lane: usize) -> u8 {
        self.valid[word * LANES + lane].get()
    }
    #[inline(always)]
    fn mark(&self, word: usize, lane: usize, bytes: u8) {
        let valid = &self.valid[word * LANES + lane];
        valid.set(valid.get() | bytes);
    }
}

/// The kernel's parameters: the same for all lanes, never written.
#[derive(Debug, Default)]
pub(crate) struct Params {
    words: Vec<u32>,
    bytes: u64,
}

impl Params {
    pub fn new(bytes: &[u8]) -> Params {
        let mut padded = bytes.to_vec();
        padded.resize(bytes.len().next_multiple_of(4), 0);
        let words = padded
            .chunks_exact(4)
            .map(|c| u32::from_le_bytes([c[0], c[1], c[2], c[3]]))
            .collect();
        Params {
            words,
            bytes: bytes.len() as u64,
        }
    }
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}

impl Words for Params {
    #[inline(always)]
    fn get(&self, word: usize, _: usize) -> u32 {
        self.words[word]
    }
    fn set(&self, _: usize, _: usize, _: u32) {}
    #[inline(always)]
    fn valid(&self, _: usize, _: usize) -> u8 {
        0xf
    }
    fn mark(&self, _: usize, _: usize, _: u8) {}
}
