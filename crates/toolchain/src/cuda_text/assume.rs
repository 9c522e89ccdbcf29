//! What is taken for variables of host code whose values the text does not tell.
//!
//! `k<<<(n + 255) / 256, 256, m * sizeof(float)>>>(x, n, m)` in a function that nobody calls says nothing of `n` and `m`, but much of
//! how grid, shared memory and arguments belong together. So a caller chooses values for what is [`Unknown`], and the launch is read
//! with them.

use super::CudaText;
use super::host::{HostArgument, HostLaunch, strip_casts};
use super::scan::identifier;
use super::unknown::{Assumed, How, Missing, Takes, Unknown};
use std::cell::RefCell;

impl CudaText {
    /// A launch of the kernel `name`, by its number among [`CudaText::launches`], with values for what the text does not tell, and
    /// what is missing still. `takes` says what the kernel's parameters are.
    pub fn launch_with(
        &self,
        name: &str,
        number: usize,
        shrink: u32,
        takes: &[Takes],
        assumed: &Assumed,
    ) -> Option<(HostLaunch, Vec<Missing>)> {
        let written = self.written(name);
        let written = written.get(number)?;
        let noted = RefCell::new(Vec::new());
        let how = How {
            shrink,
            assumed: Some(assumed),
            missing: Some(&noted),
        };
        let (launch, of_block) = self.read(written, how, Some(takes));
        let place = written.place(self);
        let missing = noted.take().into_iter().enumerate();
        let missing = missing.map(|(index, (unknown, there))| {
            let first = there.and_then(|there| {
                let (value, at, looped) = self.first_value(there, &unknown.name)?;
                let value = self.number(&value, Some(at), how.quiet())?.integer();
                let around = place.is_some_and(|p| p.function == there.function);
                Some((value, looped && around))
            });
            Missing {
                unknown,
                first: first.map(|(value, _)| value),
                looped: first.is_some_and(|(_, looped)| looped),
                of_block: index < of_block,
            }
        });
        Some((launch, missing.collect()))
    }

    /// The variable that is passed as an argument of such a launch, where it is one.
    pub fn passed_variable(&self, name: &str, number: usize, index: usize) -> Option<Unknown> {
        let written = self.written(name);
        let written = written.get(number)?;
        let passed = strip_casts(written.passed.get(index)?);
        let function = self.place(written.at)?.function;
        (!passed.is_empty()
            && identifier(passed) == passed
            && !passed.starts_with(|c: char| c.is_ascii_digit()))
        .then(|| Unknown::local(function, passed))
    }
}

/// Whether everything that a launch says of its shape is known.
pub fn has_shape(launch: &HostLaunch) -> bool {
    launch.grid.is_some() && launch.block.is_some()
}

/// The arguments whose values are known with what was assumed, and are not without.
pub fn depends(with: &HostLaunch, without: &HostLaunch) -> Vec<bool> {
    let pairs = with.arguments.iter().zip(&without.arguments);
    pairs
        .map(|(with, without)| *without == HostArgument::Unknown && with != without)
        .collect()
}
