//! Pointers that lead into an array rather than to its start.
//!
//! A guessed buffer that is too small grows; one that begins too late can't. A kernel without any guard that reads as far before its
//! buffer as beyond its end, `in[i - R]` and `in[i + R]`, is called with a pointer to the first element behind a halo. So what it reads
//! before the buffer is a warning, which says so. What is read before a buffer alone (`x[i - 1]`) stays an error, and so
//! does what is read before a buffer that the host program allocates and passes.

use super::{Guess, LONG};
use crate::error::Error;
use crate::known::Known;
use crate::run::Runner;
use detect::rules::{Level, Rule};

pub(crate) struct PointerOffset;

impl Guess for PointerOffset {
    fn excuse(&self, known: &mut Known, runner: &mut Runner<'_>) -> Result<(), Error> {
        let is_outside = |rule| rule == Rule::OutOfBounds;
        let outside = known.findings_mut().any(|seen| is_outside(seen.found.rule));
        if !outside || known.judged.longest() > LONG {
            return Ok(());
        }
        let asked = known.judged.asked.clone();
        let exploration = runner.exploration(&asked);
        let around = exploration.around(&runner.prepared.programs[0], &asked.plan)?;
        let halos = around.iter().filter(|(index, reach)| {
            let passed = asked.plan.values[**index].origin;
            passed.may_grow() && reach.before > 0 && reach.before == reach.behind
        });
        let halos: Vec<(String, u64)> = halos
            .map(|(index, reach)| (asked.plan.parameters.label(*index), reach.before))
            .collect();
        for seen in known.findings_mut() {
            let of = |(name, _): &&(String, u64)| {
                let before = format!("before `{name}`");
                seen.found.notes.iter().any(|note| note.ends_with(&before))
            };
            let halo = halos.iter().find(of);
            if let Some((name, bytes)) = halo
                && is_outside(seen.found.rule)
                && seen.level == Level::Error
            {
                seen.excuse(format!(
                    "the kernel reaches as far beyond the end of `{name}`: it is right if callers pass a pointer {} bytes into a larger array",
                    report::terminal::thousands(*bytes)
                ));
            }
        }
        Ok(())
    }
}
