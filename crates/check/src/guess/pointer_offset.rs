//! Pointers that lead into an array rather than to its start.
//!
//! A guessed buffer that is too small grows; one that begins too late can't. A kernel without any guard that reads as far before its
//! buffer as beyond its end, `in[i - R]` and `in[i + R]`, is called with a pointer to the first element behind a halo. So what it reads
//! before the buffer is a warning, which says so. What is read before a buffer alone (`x[i - 1]`) stays an error.

use super::Settled;
use crate::explore::Exploration;
use crate::plan::Plan;
use crate::{Error, Prepared};
use detect::rules::{Level, Rule};

/// Turns accesses before buffers into warnings where the kernel reaches as far beyond their ends.
pub(super) fn excuse(
    prepared: &Prepared,
    exploration: &Exploration<'_>,
    guess: &Plan,
    first: &mut Settled,
) -> Result<(), Error> {
    let is_outside = |rule| rule == Rule::OutOfBounds;
    let all = first.explored.iter().flat_map(|e| &e.diagnostics);
    if !all.clone().any(|d| is_outside(d.rule)) {
        return Ok(());
    }
    let around = exploration.around(&prepared.programs[0], guess)?;
    let halos = around
        .iter()
        .filter(|(_, reach)| reach.before > 0 && reach.before == reach.behind);
    let halos: Vec<(String, u64)> = halos
        .map(|(index, reach)| (guess.parameters.label(*index), reach.before))
        .collect();
    let diagnostics = first.explored.iter_mut().flat_map(|e| &mut e.diagnostics);
    for diagnostic in diagnostics.filter(|d| is_outside(d.rule) && d.level == Level::Error) {
        let of = |(name, _): &&(String, u64)| {
            diagnostic
                .notes
                .iter()
                .any(|note| note.ends_with(&format!("before `{name}`")))
        };
        if let Some((name, bytes)) = halos.iter().find(of) {
            diagnostic.level = Level::Warning;
            diagnostic.notes.insert(0, format!(
                "the kernel reaches as far beyond the end of `{name}`: it is right if callers pass a pointer {} bytes into a larger array",
                report::terminal::thousands(*bytes)
            ));
        }
    }
    Ok(())
}
