//! The simulator against hardware, value for value.
//!
//! Seeded programs run on the simulator and on a GPU, and every result is compared bit for bit; approximate
//! instructions are compared within the error that the PTX manual allows them. Without a GPU the simulator is compared
//! with recordings of what one gave.
//!
//! Programs avoid what PTX does not settle: of several `.f64` NaN operands the manual ("Floating-Point Instructions") says
//! that payloads are kept, not whose; of `.f32` that some NaN comes out. Where `ptxas` translates an instruction as it stands
//! this, too, is compared, bit for bit; among others, [`family`]'s random programs settle such a NaN before they use it.
//!
//! From a seed to a verdict: a [`Generator`] writes program N, [`systematic`] for the first ones (every
//! instruction of the tables in [`family`], on special and random [`values`]), at random for the others. [`run`]
//! executes it on the simulator, [`device`] on a GPU; or a [`recording`] says what one gave. [`compare`] tells where
//! results begin to differ, with [`bounds`] for approximate instructions, and [`minimise`] takes away what a
//! difference does not need. A [`session`] does so with many programs, a [`report`] says what came of it.

pub mod bounds;
pub mod build;
pub mod compare;
pub mod device;
pub mod family;
pub mod kind;
pub mod minimise;
pub mod recording;
pub mod report;
pub mod run;
pub mod session;
pub mod spec;
pub mod systematic;
pub mod values;

use build::Program;
use family::random;

/// Writes programs; the same for a seed everywhere.
#[derive(Debug)]
pub struct Generator {
    seed: u64,
    tables: systematic::Tables,
    plans: Vec<systematic::Plan>,
    choice: random::Choice,
}

impl Generator {
    /// The programs of a seed.
    pub fn new(seed: u64) -> Generator {
        let tables = systematic::Tables::default();
        Generator {
            seed,
            plans: systematic::plans(&tables),
            tables,
            choice: random::Choice::default(),
        }
    }

    /// How many programs are systematic: those with the lowest numbers.
    pub fn systematic(&self) -> u32 {
        self.plans.len() as u32
    }

    /// The family of program `number`.
    pub fn family(&self, number: u32) -> family::Family {
        self.plans
            .get(number as usize)
            .map_or(family::Family::Random, systematic::Plan::family)
    }

    /// Whether all outputs of program `number` are recorded, not only hashes of them.
    pub fn is_kept_whole(&self, number: u32) -> bool {
        match self.plans.get(number as usize) {
            Some(plan) => plan.is_kept_whole(),
            None => number == self.systematic(),
        }
    }

    /// Program `number`.
    pub fn program(&self, number: u32) -> Program {
        match self.plans.get(number as usize) {
            Some(plan) => systematic::program(&self.tables, plan, number, self.seed),
            None => random::program(&self.choice, number, self.seed),
        }
    }
}
