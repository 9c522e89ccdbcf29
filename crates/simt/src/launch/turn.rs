//! A turn of a split, on the engine that was chosen for the launch.

use crate::exec::{Core, Quantum, Yield};
use crate::hooks::Hooks;
use crate::plain;
use crate::state::Block;
use crate::stop::{Engine, Stop};

impl<O: Hooks> Core<'_, O> {
    /// Runs split `s` of warp `w`. Why it could not is boxed, so that what is returned each turn is small.
    pub(super) fn run(
        &mut self,
        block: &mut Block,
        w: usize,
        s: usize,
        quantum: Quantum,
    ) -> Result<Yield, Box<Stop>> {
        let ended = self.with_cluster(block, |core, block| match core.engine {
            Engine::Fast | Engine::Both => core.run_turn(block, w, s, quantum),
            Engine::Plain => plain::run(core, block, w, s, quantum),
        });
        if O::WATCHES {
            self.observer.turn_ends();
        }
        ended
    }
}
