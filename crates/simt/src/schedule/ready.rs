//! What can run at a moment, in the order of blocks, warps and splits, kept up to date block by block.
//!
//! A decision touches one block, so that finding out what can run next must not cost more the more blocks there
//! are. The blocks' counts are in a binary indexed tree (Fenwick, "A New Data Structure for Cumulative Frequency
//! Tables", 1994): both the number of a runnable and the runnable of a number take logarithmic time.

use super::Runnable;
use crate::ids::{BlockId, WarpId};

/// The runnables of a block, and where they stand in it.
#[derive(Debug, Default)]
struct Entry {
    runnable: Vec<Runnable>,
    splits: Vec<u32>,
}

/// See the module's page.
#[derive(Debug, Default)]
pub(crate) struct Ready {
    /// By block.
    blocks: Vec<Entry>,
    /// Sums of counts; element `i` covers the `i & -i` blocks up to `i`, from 1.
    sums: Vec<usize>,
    len: usize,
    /// Whose last quantum ended without an operation for a long time: block, warp, split.
    tired: Option<(BlockId, WarpId, u32)>,
}

impl Ready {
    /// How many.
    pub fn len(&self) -> usize {
        self.len
    }

    /// The one of a number.
    ///
    /// # Panics
    /// If there are not so many.
    pub fn get(&self, index: usize) -> Runnable {
        let (block, at) = self.locate(index);
        self.blocks[block].runnable[at]
    }

    /// Block, warp and split of a runnable.
    pub fn place(&self, index: usize) -> (u32, usize, usize) {
        let (block, at) = self.locate(index);
        let entry = &self.blocks[block];
        let warp = entry.runnable[at].warp.0 as usize;
        (block as u32, warp, entry.splits[at] as usize)
    }

    /// Who may be waiting for somebody.
    pub fn tired(&self) -> Option<Runnable> {
        let (block, warp, split) = self.tired?;
        let entry = &self.blocks[block.0 as usize];
        let mut all = entry.runnable.iter().zip(&entry.splits);
        all.find(|(r, s)| r.warp == warp && **s == split)
            .map(|(r, _)| *r)
    }

    /// Notes who may be.
    pub fn set_tired(&mut self, who: Option<(BlockId, WarpId, u32)>) {
        self.tired = who;
    }

    /// The number of the first runnable of a block that fits.
    pub fn index(&self, block: BlockId, fits: impl Fn(&Runnable) -> bool) -> Option<usize> {
        let entry = self.blocks.get(block.0 as usize)?;
        Some(self.before(block.0 as usize) + entry.runnable.iter().position(fits)?)
    }

    /// The number of the first runnable of the blocks behind one.
    pub fn behind(&self, block: BlockId) -> usize {
        self.before((block.0 as usize + 1).min(self.blocks.len()))
    }

    /// Replaces what can run of a block: each with its split. What was there before is in `runnable` afterwards.
    pub fn update(&mut self, block: BlockId, runnable: &mut Vec<Runnable>, splits: &mut Vec<u32>) {
        let at = block.0 as usize;
        while self.blocks.len() <= at {
            self.blocks.push(Entry::default());
            let end = self.blocks.len();
            // A new element covers blocks before it too.
            let covered = end - (end & end.wrapping_neg());
            let sum = self.before(end - 1) - self.before(covered);
            self.sums.push(sum);
        }
        let entry = &mut self.blocks[at];
        std::mem::swap(&mut entry.runnable, runnable);
        std::mem::swap(&mut entry.splits, splits);
        let (new, old) = (entry.runnable.len(), runnable.len());
        if new == 0 {
            *entry = Entry::default();
        }
        if new != old {
            self.len = self.len + new - old;
            let mut i = at + 1;
            while i <= self.sums.len() {
                self.sums[i - 1] = self.sums[i - 1] + new - old;
                i += i & i.wrapping_neg();
            }
        }
    }

    /// What can run of a block.
    pub fn of(&self, block: BlockId) -> &[Runnable] {
        let entry = self.blocks.get(block.0 as usize);
        entry.map_or(&[], |e| &e.runnable)
    }

    /// How many there are in the blocks before one.
    fn before(&self, block: usize) -> usize {
        let (mut i, mut sum) = (block, 0);
        while i > 0 {
            sum += self.sums[i - 1];
            i &= i - 1;
        }
        sum
    }

    /// Block of a runnable, and its number in it.
    fn locate(&self, index: usize) -> (usize, usize) {
        let (mut block, mut rest) = (0, index);
        let mut step = self.sums.len().next_power_of_two();
        while step > 0 {
            let end = block + step;
            if end <= self.sums.len() && self.sums[end - 1] <= rest {
                rest -= self.sums[end - 1];
                block = end;
            }
            step /= 2;
        }
        (block, rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{RngExt, SeedableRng};
    use rand_pcg::Pcg64Mcg;

    #[test]
    fn numbers_are_those_of_a_plain_list() {
        let mut rng = Pcg64Mcg::seed_from_u64(3);
        let (mut ready, mut plain) = (Ready::default(), Vec::<Vec<Runnable>>::new());
        for step in 0..3000 {
            let block = if step < 40 {
                step
            } else {
                rng.random_range(0..40)
            };
            let count = rng.random_range(0..5);
            let one = |warp| Runnable {
                block: BlockId(block),
                warp: WarpId(warp),
                lanes: 1 << (step % 32),
                pc: 0,
            };
            let list: Vec<Runnable> = (0..count).map(one).collect();
            let mut splits = vec![7; list.len()];
            plain.resize(plain.len().max(block as usize + 1), Vec::new());
            plain[block as usize] = list.clone();
            ready.update(BlockId(block), &mut list.clone(), &mut splits);
            let all: Vec<Runnable> = plain.iter().flatten().copied().collect();
            assert_eq!(ready.len(), all.len());
            for (index, r) in all.iter().enumerate() {
                assert_eq!(ready.get(index), *r);
                assert_eq!(ready.place(index), (r.block.0, r.warp.0 as usize, 7));
                assert_eq!(ready.index(r.block, |x| x == r), Some(index));
            }
        }
    }
}
