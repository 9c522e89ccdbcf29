//! Buffers of exactly as many elements as a size says.
//!
//! Buffers keep the size that the first hypothesis needed, and grow where another one needs more. So whether a kernel reaches one element
//! past the end is asked by itself: a guessed buffer of `n` elements of which element `n` is touched, for several `n`, is a warning and no
//! error, since it may well have one more. The row offsets of a sparse matrix do.

use super::Guess;
use super::further_sizes::SIZES;
use crate::error::Error;
use crate::hypothesis::Hypothesis;
use crate::known::{Known, Short};
use crate::run::{Runner, possible};
use crate::seen::Seen;

pub(crate) struct OnePast;

impl Guess for OnePast {
    fn short(&self, known: &Known, runner: &mut Runner<'_>) -> Result<Vec<Short>, Error> {
        let first = &known.judged.hypothesis;
        let plan = &first.plan;
        let shape = first.shape();
        let threads = shape.grid.count() * shape.block.count();
        let Some(count) = plan.common_size().filter(|n| *n >= 16 && *n == threads) else {
            return Ok(Vec::new());
        };
        if !plan.unasked().is_empty() {
            return Ok(Vec::new());
        }
        let (build, program) = (
            &runner.prepared.input.builds[0],
            &runner.prepared.programs[0],
        );
        let exploration = runner.exploration(first);
        let mut candidates = plan.guessed_buffers();
        // Where rows begin, and where the last one ends.
        candidates.retain(|index| !plan.parameters.0[*index].usage.rows);
        let mut found = Vec::new();
        // Of fewer elements: one less, and a prime.
        for (size, ..) in &SIZES[..2] {
            if candidates.is_empty() {
                return Ok(Vec::new());
            }
            let fewer = size(count);
            let tight = plan.with_sizes(size, 0);
            let sources = &mut *runner.sources;
            let past = exploration.one_past(build, program, &tight, fewer, &candidates, sources);
            let Some(past) = possible(past)? else {
                return Ok(Vec::new());
            };
            candidates.retain(|index| past.iter().any(|(i, _)| i == index));
            found.clear();
            for (index, one) in past {
                if !candidates.contains(&index) {
                    continue;
                }
                let name = plan.parameters.label(index);
                let element = plan.element_of(index);
                let mut seen = Seen::of(one);
                seen.found.replay = Some("lockstep".into());
                seen.excuse(format!(
                    "with {} the kernel touches element {fewer} of `{name}`, which is taken to have {fewer} elements; if it has one more, say so: `--arg {name}={element}[{}]`",
                    tight.integers().join(", "),
                    count + 1,
                ));
                let mut exact = tight.clone();
                exact.set_length(index, fewer);
                found.push(Short {
                    seen,
                    hypothesis: Hypothesis {
                        plan: exact,
                        geometry: first.geometry.clone(),
                    },
                });
            }
        }
        Ok(found)
    }
}
