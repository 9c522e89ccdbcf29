//! Runs a mutated kernel of a correct case until the first error, with the same drawn sizes, inputs and schedules, detectors
//! and oracles as the case.

use super::case_result::{CaseRunner, Observation, RUNS, RunError, Settings, Target};
use super::draw::{Draw, Draws, runner};
use super::example::Counterexample;
use super::simulate::Prepared;
use detect::rules::{Level, Rule};
use proptest::strategy::{Strategy, ValueTree};
use report::{Diagnostic, Verdict};
use session::Independence;
use std::ops::ControlFlow;

/// What a number of runs showed.
#[derive(Clone, Debug, Default)]
pub struct Probe {
    /// What is wrong with it; none: nothing that these runs show.
    pub sign: Option<Sign>,
    /// Runs done.
    pub runs: u32,
    /// Whether other schedules may do other things on the same inputs, or leave other results.
    pub dependent: bool,
    /// Why nothing can be said: `unsupported` or `inconclusive`, and the reason.
    pub trouble: Option<(Verdict, String)>,
}

/// Something that a correct kernel does not do.
#[derive(Clone, Debug)]
pub struct Sign {
    /// The rule of the finding; none: a wrong result, or a kernel that gives up by itself.
    pub rule: Option<Rule>,
    /// It in one line, without the run: `data-race at lines 12 and 14`, `out[3] = 1, expected 2`.
    pub what: String,
    /// The finding, worded.
    pub diagnostic: Option<Diagnostic>,
    /// The run that shows it: the smallest, where one was looked for.
    pub example: Option<Counterexample>,
}

/// Runs `prepared` until something is wrong or its runs are done. With `smallest`, the run that shows it is
/// made as small as it gets.
pub fn probe(prepared: &Prepared<'_>, settings: &Settings, smallest: bool) -> Probe {
    let case = &prepared.entry.case;
    let mut case_runner = CaseRunner::new(prepared, settings);
    let mut runner = runner(settings.seed, &prepared.entry.id);
    let mut probe = Probe::default();
    let mut dependent = None;
    let trouble = |probe: Probe, verdict, text| Probe {
        trouble: Some((verdict, text)),
        ..probe
    };
    for run in 0..settings.runs.or(case.limits.runs).unwrap_or(RUNS).max(1) {
        let schedule = settings.schedule.clone();
        let draws = Draws {
            case,
            schedule,
            weak: prepared.reads_stale_values(),
            run,
        };
        let draw = match draws.new_tree(&mut runner) {
            Ok(tree) => tree.current(),
            Err(reason) => return trouble(probe, Verdict::Inconclusive, reason.to_string()),
        };
        let observation = match case_runner.observe(&draw) {
            Ok(observation) => observation,
            Err(RunError::Unsupported(text)) => return trouble(probe, Verdict::Unsupported, text),
            Err(RunError::Inconclusive(text)) => {
                return trouble(probe, Verdict::Inconclusive, text);
            }
        };
        probe.runs += 1;
        if observation.ran.independence != Independence::Independent {
            dependent.get_or_insert_with(|| draw.clone());
        }
        probe.sign = sign(&mut case_runner, observation, draw, smallest);
        if probe.sign.is_some() {
            probe.dependent = dependent.is_some();
            return probe;
        }
    }
    probe.dependent = dependent.is_some();
    if let Some(draw) = dependent {
        let mut shows = None;
        probe.runs +=
            case_runner.other_orders(&draw, |_, observation, draw| match worst(observation) {
                Some(_) => {
                    shows = Some(draw.clone());
                    ControlFlow::Break(())
                }
                None => ControlFlow::Continue(()),
            });
        let found = shows.and_then(|draw| Some((case_runner.observe(&draw).ok()?, draw)));
        probe.sign = found
            .and_then(|(observation, draw)| sign(&mut case_runner, observation, draw, smallest));
    }
    probe
}

/// The worst that a run shows, if there is something; with `smallest`, of the smallest run that shows it.
fn sign(
    case_runner: &mut CaseRunner<'_>,
    observation: Observation,
    draw: Draw,
    smallest: bool,
) -> Option<Sign> {
    let aim = worst(&observation)?;
    let (observation, draw) = match smallest {
        true => {
            case_runner.evidence.insert(aim.clone(), (0, draw.clone()));
            case_runner.shrunk(&aim).unwrap_or((observation, draw))
        }
        false => (observation, draw),
    };
    let shows = case_runner.shows(&observation, &aim);
    let mut diagnostic = case_runner.worded(&observation, &aim, &draw);
    if let Some(diagnostic) = &mut diagnostic {
        // The token would replay the kernel as it is.
        diagnostic.replay = None;
    }
    Some(Sign {
        rule: match aim {
            Target::Unexpected(rule, _) => Some(rule),
            _ => None,
        },
        example: Some(case_runner.example(&observation.plan, &draw, shows.clone())),
        what: shows,
        diagnostic,
    })
}

/// The worst that a run shows, if that is more than a note: an error before a wrong result before a warning, and of errors the
/// first in the order of the rules.
fn worst(observation: &Observation) -> Option<Target> {
    let rank = |aim: &Target| match aim {
        Target::Unexpected(rule, _) => match rule.level() {
            Level::Error => Some(0),
            Level::Warning => Some(2),
            Level::Note => None,
        },
        Target::WrongResult => Some(1),
        // The tags of a correct case are notes.
        Target::Group(_) | Target::Figures => None,
    };
    let aims = observation.aims().into_iter();
    let ranked = aims.filter_map(|aim| Some((rank(&aim)?, aim)));
    ranked.min().map(|(_, aim)| aim)
}
