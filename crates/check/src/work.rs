//! How much may be spent on other guesses.
//!
//! A wrong kernel is run again with other sizes, indices and blocks, in case its errors are the guesses'. Most wrong kernels are wrong with
//! all of them, so the search has a budget: what the kernel itself took, and no less than about a second's work. It is counted in
//! warp-instructions, so that a slow machine gives the same verdict.

use std::sync::atomic::{AtomicU64, Ordering};

/// Warp-instructions that a search may take in any case.
const LEAST: u64 = 16_000_000;

/// Warp-instructions that are left for other guesses.
#[derive(Debug)]
pub struct Work(AtomicU64);

impl Default for Work {
    /// Without a limit.
    fn default() -> Work {
        Work(AtomicU64::new(u64::MAX))
    }
}

impl Work {
    /// Work for a search behind runs that took so many warp-instructions.
    pub fn limit(&self, taken: u64) {
        self.0.store(taken.max(LEAST), Ordering::Relaxed);
    }

    /// Takes away what a run took.
    pub fn spend(&self, steps: u64) {
        let left = self.left();
        if left != u64::MAX {
            self.0.store(left.saturating_sub(steps), Ordering::Relaxed);
        }
    }

    /// What is left.
    pub fn left(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_is_used_up() {
        let work = Work::default();
        work.spend(1 << 60);
        assert_eq!(work.left(), u64::MAX);
        work.limit(3);
        work.spend(LEAST - 1);
        assert_eq!(work.left(), 1);
        work.spend(2);
        assert_eq!(work.left(), 0);
        work.limit(2 * LEAST);
        assert_eq!(work.left(), 2 * LEAST);
    }
}
