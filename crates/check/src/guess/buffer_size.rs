//! Buffers that the host program makes smaller than the kernel is judged with.
//!
//! The sizes that the host program gives to buffers bind where racetrap knows all that it passes. Otherwise they grow to what the kernel
//! reaches, and what reaches beyond is a warning that says so ([`Origin::Host`]).

use super::{Guess, STEPS};
use crate::error::Error;
use crate::host;
use crate::hypothesis::Hypothesis;
use crate::known::{Known, Short};
use crate::plan::Origin;
use crate::run::{Runner, possible};
use crate::seen::Seen;
use std::collections::HashSet;

pub(crate) struct BufferSize;

impl Guess for BufferSize {
    fn short(&self, known: &Known, runner: &mut Runner<'_>) -> Result<Vec<Short>, Error> {
        let judged = &known.judged;
        let mut tight = judged.hypothesis.clone();
        let mut stated = Vec::new();
        for index in 0..tight.plan.values.len() {
            let Origin::Host { line, .. } = tight.plan.values[index].origin else {
                continue;
            };
            let first = &runner.prepared.first.plan;
            let (before, now) = (first.length_of(index), tight.plan.length_of(index));
            if let (Some(before), true) = (before, now > before) {
                tight.plan.set_length(index, before);
                stated.push((index, before, line));
            }
        }
        if runner.out_of_time() || stated.is_empty() || judged.longest() > STEPS {
            return Ok(Vec::new());
        }
        let zeros = tight.plan.with_zeros();
        let exploration = runner.exploration(&tight);
        let prepared = runner.prepared;
        let mut all = Vec::new();
        for (build, program) in prepared.input.builds.iter().zip(&prepared.programs) {
            let sources = &mut *runner.sources;
            let reached = possible(exploration.tight(build, program, &zeros, sources))?;
            // What only guessed contents lead to says nothing.
            let always: HashSet<usize> = reached
                .unwrap_or_default()
                .into_iter()
                .map(|(index, _)| index)
                .collect();
            let found = possible(exploration.tight(build, program, &tight.plan, sources))?;
            for (index, found) in found.unwrap_or_default() {
                let told = stated.iter().find(|(i, ..)| *i == index);
                let Some((_, elements, line)) = told.filter(|_| always.contains(&index)) else {
                    continue;
                };
                let name = tight.plan.parameters.label(index);
                let line = host::line_of(*line, tight.plan.host_file.as_deref());
                let mut seen = Seen::of(found);
                seen.builds = build.name.map(str::to_string).into_iter().collect();
                seen.excuse(format!(
                    "the program passes `{name}` with {} elements ({line}); not all else that it passes is known, so the kernel is judged with a larger one",
                    report::terminal::thousands(*elements)
                ));
                all.push(Short {
                    seen,
                    hypothesis: Hypothesis::clone(&tight),
                });
            }
        }
        Ok(all)
    }
}
