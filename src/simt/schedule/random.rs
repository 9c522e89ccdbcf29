//! Random choices at every memory and synchronisation operation.

use super::{Decision, Runnable, Schedule};
use rand::{Rng, RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// See the module's page.
pub(crate) struct Random {
    rng: Pcg64Mcg,
}

impl Random {
    pub fn new(seed: u64) -> Random {
        Random {
            rng: Pcg64Mcg::seed_from_u64(seed),
        }
    }
}

impl Schedule for Random {
    fn decide(&mut self, runnable: &[Runnable]) -> Decision {
        let index = self.rng.random_range(0..runnable.len());
        let all = runnable[index].lanes;
        // A quarter of the turns tears a warp apart.
        let some = all & self.rng.next_u32();
        let lanes = if self.rng.random_range(0..4) == 0 && some != 0 {
            some
        } else {
            all
        };
        // Mostly short turns, now and then a long one.
        let visible = 1 + self.rng.next_u32().trailing_zeros().min(6) * self.rng.random_range(1..4);
        Decision {
            index: index as u32,
            lanes,
            visible,
        }
    }
}
