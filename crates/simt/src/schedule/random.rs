//! Random choices at every memory and synchronisation operation.
//!
//! Half of the seeds change their mind at each of them, which finds what needs a switch at a certain place; the others take
//! turns of different lengths, which finds what needs somebody to get far ahead.

use super::{Decision, Ready, Schedule};
use rand::{Rng, RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// See the module's page.
pub(crate) struct Random {
    rng: Pcg64Mcg,
    /// Whether every turn is of one operation.
    short: bool,
    /// Decides on stale values; has no say in who runs.
    stale: Option<Pcg64Mcg>,
}

impl Random {
    pub fn new(seed: u64, weak: bool) -> Random {
        let mut rng = Pcg64Mcg::seed_from_u64(seed);
        let short = rng.random_range(0..2) == 0;
        let stale = weak.then(|| Pcg64Mcg::seed_from_u64(!seed));
        Random { rng, short, stale }
    }
}

impl Schedule for Random {
    fn decide(&mut self, ready: &Ready) -> Decision {
        let index = self.rng.random_range(0..ready.len());
        let all = ready.get(index).lanes;
        // A quarter of the turns tears a warp apart.
        let some = all & self.rng.next_u32();
        let lanes = if self.rng.random_range(0..4) == 0 && some != 0 {
            some
        } else {
            all
        };
        // Mostly short turns, now and then a long one.
        let long = self.rng.next_u32().trailing_zeros().min(6) * self.rng.random_range(1..4);
        let visible = if self.short { 1 } else { 1 + long };
        let stale = self
            .stale
            .as_mut()
            .is_some_and(|rng| rng.random_range(0..2) == 0);
        Decision {
            index: index as u32,
            lanes,
            visible,
            stale,
        }
    }
}
