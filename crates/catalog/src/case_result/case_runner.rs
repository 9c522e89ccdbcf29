//! Runs a case: observes, judges and shrinks each run.

use super::figures::{counts, wrong_figures};
use super::{CaseResult, RUNS, Settings};
use crate::annotation::{Fault, Home, action_name};
use crate::case::Case;
use crate::compare::{Mismatch, compare};
use crate::draw::{Draw, Draws, runner};
use crate::example::{Counterexample, example};
use crate::expect::Expected;
use crate::plan::{Plan, plan};
use crate::shrink::{ShrinkStep, shrink};
use crate::simulate::{LocatedFinding, Prepared, RunOutcome};
use crate::token::token;
use detect::finding::Finding;
use detect::rules::{Level, Rule};
use proptest::strategy::{Strategy, ValueTree};
use report::terminal::counted;
use report::{Diagnostic, Verdict};
use session::Independence;
use simt::{Limits, Program, Stop};
use std::collections::BTreeMap;
use std::fmt;
use std::ops::ControlFlow;

/// Runs that shrinking one counterexample may take.
const SHRINKING: u32 = 64;
/// Warp-instructions that shrinking one counterexample may take: runs that do not end are long ones.
const SHRINKING_STEPS: u64 = 4_000_000;
/// After so many runs that did not end, the others are left out: each spends its whole budget.
const ENDLESS: u32 = 3;

/// One run, judged.
pub(crate) struct Observation {
    pub(crate) plan: Plan,
    pub(crate) ran: RunOutcome,
    /// The groups of tags that each finding belongs to; none: unexpected.
    matched: Vec<(Finding, LocatedFinding, Vec<usize>)>,
    mismatch: Option<Mismatch>,
    /// A performance note with the wrong figures.
    figures: Option<String>,
}

/// What a counterexample is to show.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Target {
    WrongResult,
    Group(usize),
    Unexpected(Rule, Vec<Vec<u32>>),
    Figures,
}

impl Observation {
    pub(crate) fn aims(&self) -> Vec<Target> {
        let mut aims = Vec::new();
        if self.mismatch.is_some() {
            aims.push(Target::WrongResult);
        }
        if self.figures.is_some() {
            aims.push(Target::Figures);
        }
        for (_, seen, groups) in &self.matched {
            if groups.is_empty() {
                let lines = seen.ends.iter().map(|end| end.lines.clone()).collect();
                aims.push(Target::Unexpected(seen.rule, lines));
            }
            aims.extend(groups.iter().copied().map(Target::Group));
        }
        aims.sort();
        aims.dedup();
        aims
    }

    fn finding(&self, aim: &Target) -> Option<&Finding> {
        self.aimed_at(aim).map(|(finding, _)| finding)
    }

    /// The finding that no tag covers, for an aim that is one.
    fn seen(&self, aim: &Target) -> Option<&LocatedFinding> {
        let unexpected = matches!(aim, Target::Unexpected(..));
        self.aimed_at(aim).filter(|_| unexpected).map(|(_, s)| s)
    }

    fn aimed_at(&self, aim: &Target) -> Option<(&Finding, &LocatedFinding)> {
        let fits = |(_, seen, groups): &&(Finding, LocatedFinding, Vec<usize>)| match aim {
            Target::Group(group) => groups.contains(group),
            Target::Unexpected(rule, lines) => {
                groups.is_empty()
                    && seen.rule == *rule
                    && seen.ends.iter().map(|end| &end.lines).eq(lines)
            }
            Target::WrongResult | Target::Figures => false,
        };
        let found = self.matched.iter().find(fits);
        found.map(|(finding, seen, _)| (finding, seen))
    }

    /// How much there is to look at.
    fn weight(&self) -> u64 {
        self.ran.steps
    }
}

/// A run that says nothing about the case.
pub(crate) enum RunError {
    Unsupported(String),
    Inconclusive(String),
}

pub(crate) struct CaseRunner<'a> {
    pub(super) prepared: &'a Prepared<'a>,
    pub(super) settings: &'a Settings,
    expected: Expected<'a>,
    /// For each aim, the lightest run that showed it.
    pub(crate) evidence: BTreeMap<Target, (u64, Draw)>,
    /// The first run whose results may depend on the order of threads.
    dependent: Option<Draw>,
}

impl<'a> CaseRunner<'a> {
    pub(crate) fn new(prepared: &'a Prepared<'a>, settings: &'a Settings) -> CaseRunner<'a> {
        CaseRunner {
            prepared,
            settings,
            expected: Expected::new(&prepared.entry.tags),
            evidence: BTreeMap::new(),
            dependent: None,
        }
    }

    fn case(&self) -> &'a Case {
        &self.prepared.entry.case
    }

    pub(super) fn run(mut self, trial: &mut CaseResult) {
        let runs = self
            .settings
            .runs
            .or(self.case().limits.runs)
            .unwrap_or(RUNS)
            .max(1);
        let mut runner = runner(self.settings.seed, &trial.id);
        let mut endless = 0;
        for run in 0..runs {
            let schedule = self.settings.schedule.clone();
            let draws = Draws {
                case: self.case(),
                schedule,
                weak: self.prepared.reads_stale_values(),
                run,
            };
            let draw = match draws.new_tree(&mut runner) {
                Ok(tree) => tree.current(),
                Err(reason) => return trouble(trial, RunError::Inconclusive(reason.to_string())),
            };
            let observation = match self.observe(&draw) {
                Ok(observation) => observation,
                Err(error) => return trouble(trial, error),
            };
            trial.runs += 1;
            if run == 0 {
                trial.output.clone_from(&observation.ran.output);
            }
            self.note(&observation, &draw);
            endless += u32::from(observation.ran.stopped.is_some());
            if endless >= ENDLESS {
                break;
            }
        }
        if let Some(draw) = self.dependent.clone().filter(|_| endless < ENDLESS) {
            let orders = self.other_orders(&draw, |runner, observation, draw| {
                runner.note(observation, draw);
                ControlFlow::Continue(())
            });
            trial.runs += orders;
        }
        self.judge(trial);
    }

    /// Keeps what a run shows.
    fn note(&mut self, observation: &Observation, draw: &Draw) {
        if observation.ran.independence != Independence::Independent {
            self.dependent.get_or_insert_with(|| draw.clone());
        }
        for aim in observation.aims() {
            let weight = observation.weight();
            let known = self.evidence.entry(aim).or_insert((weight, draw.clone()));
            if weight < known.0 {
                *known = (weight, draw.clone());
            }
        }
    }

    pub(super) fn replay(mut self, draw: &Draw, trial: &mut CaseResult) {
        let observation = match self.observe(draw) {
            Ok(observation) => observation,
            Err(error) => return trouble(trial, error),
        };
        trial.runs = 1;
        trial.output.clone_from(&observation.ran.output);
        for aim in observation.aims() {
            self.evidence.insert(aim.clone(), (0, draw.clone()));
            trial
                .diagnostics
                .extend(self.worded(&observation, &aim, draw));
        }
        let shows = match (&observation.mismatch, trial.diagnostics.len()) {
            (Some(mismatch), _) => mismatch.to_string(),
            (None, 0) => "no error".to_owned(),
            (None, 1) => "1 finding".to_owned(),
            (None, n) => format!("{n} findings"),
        };
        let example = self.example(&observation.plan, draw, shows);
        trial.summary = example.to_string();
        trial.counterexample = Some(example);
        let unexpected = self.evidence.keys().any(|aim| match aim {
            Target::Unexpected(..) | Target::Figures => true,
            Target::WrongResult => !self.case().is_buggy(),
            Target::Group(_) => false,
        });
        // One run need not show all that is annotated.
        trial.verdict = match (unexpected, self.evidence.is_empty()) {
            (true, _) => Verdict::FalseAlarm,
            (false, false) => Verdict::Caught,
            (false, true) => Verdict::Clean,
        };
    }

    /// The tags that would cover a finding, and where they belong.
    fn tags_for(&self, seen: &LocatedFinding) -> String {
        let entry = self.prepared.entry;
        let stem = entry.id.rsplit('/').next().unwrap_or(&entry.id);
        let of_rule = self.expected.groups().iter();
        let taken = of_rule
            .filter(|g| g.fault == Fault::Rule(seen.rule))
            .map(|g| g.number)
            .max();
        let number = match (taken, seen.ends.len()) {
            (_, 0 | 1) => String::new(),
            (taken, _) => format!("#{}", taken.unwrap_or(0) + 1),
        };
        // The actions at each line.
        let mut places: Vec<(Home, u32, Vec<&str>)> = Vec::new();
        for end in &seen.ends {
            let line = end.lines.first().copied().unwrap_or(0);
            let action = action_name(end.action);
            match places
                .iter_mut()
                .find(|(h, l, _)| (*h, *l) == (end.home, line))
            {
                Some((.., actions)) if actions.contains(&action) => {}
                Some((.., actions)) => actions.push(action),
                None => places.push((end.home, line, vec![action])),
            }
        }
        let tag = |(home, line, actions): &(Home, u32, Vec<&str>)| {
            let words = format!("{}{number} {}", seen.rule, actions.join(" "));
            match home {
                Home::Kernel => format!("`//~[{stem}] {words}` at {}:{line}", entry.kernel_file()),
                Home::Case => format!("`#~ {words}` at line {line} of the case"),
            }
        };
        places.iter().map(tag).collect::<Vec<_>>().join(", ")
    }

    /// One run.
    pub(crate) fn observe(&mut self, draw: &Draw) -> Result<Observation, RunError> {
        self.observe_recorded(draw, |_| false)
    }

    /// One run; what threads do to memory that they share is written down if `recorded` says so of the only launch's program.
    pub(super) fn observe_recorded(
        &mut self,
        draw: &Draw,
        recorded: impl FnOnce(&Program) -> bool,
    ) -> Result<Observation, RunError> {
        let case = self.case();
        let inconclusive = |e: &dyn fmt::Display| RunError::Inconclusive(e.to_string());
        let sizes = draw.sizes(case).map_err(|e| inconclusive(&e))?;
        let plan = plan(case, sizes, draw.inputs).map_err(|e| inconclusive(&e))?;
        let recorded = self.prepared.only_launch(&plan).is_some_and(recorded);
        let limits = Limits {
            live: self.settings.live.clone(),
            ..self.prepared.limits(Some(self.settings.wall))
        };
        let ran = self
            .prepared
            .run_recorded(&plan, &draw.schedule, limits, recorded)
            .map_err(|e| inconclusive(&e))?;
        let mut mismatch = None;
        match &ran.stopped {
            None => {
                mismatch = compare(self.prepared, &plan, &ran).map_err(|e| inconclusive(&e))?;
            }
            Some(stop) if stop.is_finding() => {}
            Some(stop) => {
                let place = self.prepared.stopped_at(&plan, stop);
                let place = place.map(|at| format!("{at}: ")).unwrap_or_default();
                let token = token(&self.prepared.entry.id, case, &plan.sizes, draw);
                let text = format!("{place}{stop} (racetrap replay {token})");
                return Err(match stop {
                    Stop::Unsupported { .. } | Stop::KernelsSynchronise(..) => {
                        RunError::Unsupported(text)
                    }
                    _ => RunError::Inconclusive(text),
                });
            }
        }
        if mismatch.is_some() {
            self.expected.wrong_result();
        }
        let mut matched = Vec::new();
        let mut figures = None;
        for finding in &ran.findings {
            let counts = counts(case, finding.rule);
            if finding.rule.level() == Level::Note && counts.is_none() {
                continue;
            }
            let seen = self.prepared.seen(&plan, finding);
            let groups = self.expected.matches(&seen);
            if let (Some(counts), false) = (counts, groups.is_empty()) {
                figures = figures.or(wrong_figures(counts, finding, &seen, &plan));
            }
            matched.push((finding.clone(), seen, groups));
        }
        Ok(Observation {
            plan,
            ran,
            matched,
            mismatch,
            figures,
        })
    }

    fn judge(&mut self, trial: &mut CaseResult) {
        let case = self.case();
        // Shrinking goes on with other runs; what counts as found is what was drawn.
        let missing = self.expected.missing();
        let aims: Vec<Target> = self.evidence.keys().cloned().collect();
        let mut shown: BTreeMap<Target, Counterexample> = BTreeMap::new();
        let mut tags: BTreeMap<Target, String> = BTreeMap::new();
        for aim in aims {
            if let Some((observation, draw)) = self.shrunk(&aim) {
                let shows = self.shows(&observation, &aim);
                if let Some(seen) = observation.seen(&aim).filter(|_| case.is_buggy()) {
                    tags.insert(aim.clone(), self.tags_for(seen));
                }
                shown.insert(aim.clone(), self.example(&observation.plan, &draw, shows));
                trial
                    .diagnostics
                    .extend(self.worded(&observation, &aim, &draw));
            }
        }
        let concluded = self.conclude(trial.runs, &shown, &missing, &tags);
        let mut expected = shown.clone();
        expected.retain(|aim, _| !matches!(aim, Target::Unexpected(..)));
        if expected.len() < shown.len() {
            let (verdict, summary, _) = self.conclude(trial.runs, &expected, &missing, &tags);
            trial.otherwise = Some((verdict, summary));
        }
        let (verdict, summary, example) = concluded;
        if verdict == Verdict::Clean {
            trial.schedule_independent = Some(self.dependent.is_none());
        }
        trial.verdict = verdict;
        trial.summary = summary;
        trial.counterexample = example.cloned();
        trial.wrong_result = shown.get(&Target::WrongResult).cloned();
    }

    /// The verdict on what so many runs have shown and on what they have not, the reason, and the run that shows it.
    fn conclude<'s>(
        &self,
        ran: u32,
        shown: &'s BTreeMap<Target, Counterexample>,
        missing: &[impl fmt::Display],
        tags: &BTreeMap<Target, String>,
    ) -> (Verdict, String, Option<&'s Counterexample>) {
        let case = self.case();
        let unexpected = shown
            .iter()
            .find(|(aim, _)| matches!(aim, Target::Unexpected(..) | Target::Figures));
        let wrong = shown.get(&Target::WrongResult);
        if let Some((aim, example)) = unexpected {
            let tags = tags
                .get(aim)
                .map(|t| format!("; if this is the bug, tag it: {t}"));
            (
                Verdict::FalseAlarm,
                format!("not annotated: {example}{}", tags.unwrap_or_default()),
                Some(example),
            )
        } else if let (Some(example), false) = (wrong, case.is_buggy()) {
            (
                Verdict::FalseAlarm,
                format!("wrong result: {example}"),
                Some(example),
            )
        } else if let (Some(example), Some(false)) = (wrong, case.wrong_results) {
            let summary =
                format!("wrong result, but the case states `wrong-results: false`: {example}");
            (Verdict::FalseAlarm, summary, Some(example))
        } else if !missing.is_empty() {
            let missing: Vec<_> = missing.iter().map(ToString::to_string).collect();
            let summary = format!("in {}: no {}", runs(ran), missing.join(", no "));
            (Verdict::Missed, summary, None)
        } else if case.wrong_results == Some(true) && wrong.is_none() {
            let summary = format!("no wrong result in {}", runs(ran));
            (Verdict::Missed, summary, None)
        } else if case.is_buggy() || !shown.is_empty() {
            let example = wrong.or_else(|| shown.values().next());
            let summary = example.map(ToString::to_string).unwrap_or_default();
            (Verdict::Caught, summary, example)
        } else {
            let promise = match self.dependent.is_some() {
                true => "under the schedules tried",
                false => "under every schedule",
            };
            (
                Verdict::Clean,
                format!("{}, right {promise}", runs(ran)),
                None,
            )
        }
    }

    /// The smallest run that still shows it.
    pub(crate) fn shrunk(&mut self, aim: &Target) -> Option<(Observation, Draw)> {
        let (_, start) = self.evidence.get(aim)?.clone();
        let first = self.observe(&start).ok()?;
        let fixed = self.settings.schedule.is_some();
        let mut steps = 0;
        Some(shrink((first, start), fixed, SHRINKING, &mut |draw| {
            let observed = self.observe(draw).ok();
            steps += observed.as_ref().map_or(0, Observation::weight);
            ShrinkStep {
                shows: observed.filter(|o| o.aims().contains(aim)),
                enough: steps >= SHRINKING_STEPS,
            }
        }))
    }

    pub(crate) fn shows(&self, observation: &Observation, aim: &Target) -> String {
        match aim {
            Target::WrongResult => observation
                .mismatch
                .as_ref()
                .map(ToString::to_string)
                .unwrap_or_default(),
            Target::Figures => observation.figures.clone().unwrap_or_default(),
            Target::Group(group) => self.expected.groups()[*group].name(),
            Target::Unexpected(rule, lines) => {
                let lines: Vec<_> = lines.iter().filter_map(|chain| chain.first()).collect();
                let at = match lines[..] {
                    [] => String::new(),
                    [line] => format!(" at line {line}"),
                    [a, b, ..] if a == b => format!(" at line {a}"),
                    [a, b, ..] => format!(" at lines {a} and {b}"),
                };
                format!("{rule}{at}")
            }
        }
    }

    pub(crate) fn example(&self, plan: &Plan, draw: &Draw, shows: String) -> Counterexample {
        let schedule = Some(draw.schedule.clone());
        example(self.prepared.entry, plan, draw, schedule, shows)
    }

    pub(crate) fn worded(
        &self,
        observation: &Observation,
        aim: &Target,
        draw: &Draw,
    ) -> Option<Diagnostic> {
        let finding = observation.finding(aim)?;
        let plan = &observation.plan;
        let mut worded = self
            .prepared
            .diagnose(plan, &observation.ran, std::iter::once(finding))
            .pop()?;
        let token = token(&self.prepared.entry.id, self.case(), &plan.sizes, draw);
        worded.replay = Some(format!("racetrap replay {token}"));
        worded.expected = matches!(aim, Target::Group(_));
        Some(worded)
    }
}

fn trouble(trial: &mut CaseResult, trouble: RunError) {
    (trial.verdict, trial.summary) = match trouble {
        RunError::Unsupported(text) => (Verdict::Unsupported, text),
        RunError::Inconclusive(text) => (Verdict::Inconclusive, text),
    };
}
/// `1 run`, `64 runs`
fn runs(number: u32) -> String {
    counted(number.into(), "run")
}
