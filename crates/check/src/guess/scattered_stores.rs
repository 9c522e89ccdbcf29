//! Contents that name a place twice.
//!
//! `out[order[i]] = …` races with itself where `order` names a place twice, and a permutation is likelier. So a race of stores alone, to
//! places that a buffer with guessed contents says, is a warning if distinct numbers in it make none.

use super::{Guess, Instead, Needs, STEPS};
use crate::argument::Fill;
use crate::change::Change;
use crate::error::Error;
use crate::known::{Known, Saying, Warnings};
use crate::run::{Runner, possible};
use crate::search::most_are_done;
use detect::finding::Action;
use detect::rules::{Level, Rule};

pub(crate) struct ScatteredStores;

impl Guess for ScatteredStores {
    fn instead(&self, known: &Known, runner: &mut Runner<'_>) -> Result<Vec<Instead>, Error> {
        if known.judged.leaves() || known.judged.longest() > STEPS || !scatters(known, runner)? {
            return Ok(Vec::new());
        }
        Ok(vec![Instead {
            hypothesis: Change::Contents(Fill::Iota).in_hypothesis(&known.judged.asked),
            needs: Needs::default(),
            saying: Saying {
                warnings: Warnings::All,
                ..Saying::default()
            },
        }])
    }
}

/// Whether stores that race with themselves do not race with distinct contents.
fn scatters(known: &Known, runner: &Runner<'_>) -> Result<bool, Error> {
    let found = known.judged.explored.iter().flat_map(|e| &e.findings);
    let mut errors = found.filter(|f| f.rule.level() == Level::Error);
    let stores = errors.all(|f| {
        f.rule == Rule::DataRace && f.ends.iter().all(|(action, _)| *action == Action::Write)
    });
    let hypothesis = &known.judged.hypothesis;
    let plan = &hypothesis.plan;
    let Some(other) = plan.with_contents(&Fill::Iota).filter(|_| stores) else {
        return Ok(false);
    };
    let exploration = runner.exploration(hypothesis);
    let program = &runner.prepared.programs[0];
    let guilty = possible(exploration.guilty(program, plan))?.flatten();
    let Some(guilty) = guilty.filter(|g| !g.is_empty()) else {
        return Ok(false);
    };
    let clean = possible(exploration.guilty(program, &other))?.flatten();
    if !clean.is_some_and(|g| g.is_empty()) || exploration.out_of_time() {
        return Ok(false);
    }
    let seen = possible(exploration.outside(program, &other, &guilty))?;
    Ok(seen.is_some_and(|seen| seen.is_nothing() && most_are_done(&guilty, &seen.inside)))
}
