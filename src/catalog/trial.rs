//! Tries a case on the simulator: runs it under drawn sizes, inputs and schedules, shrinks
//! what it finds, and comes to a verdict.
//!
//! All runs of a case follow from the seed and the case's name, whatever else runs beside it.

use super::annotation::{Fault, Home, action_name};
use super::case::{Case, ExpectedVerdict, PerfCounts, PerfRule};
use super::compare::{Mismatch, compare};
use super::compiled;
use super::draw::{Draw, Draws, runner};
use super::example::{Counterexample, example};
use super::load::{Catalog, Entry};
use super::machine::{PrepareError, Prepared, Ran, Seen};
use super::pinned::TARGETS;
use super::plan::{Plan, evaluate, plan};
use super::refused;
use super::shrink::{Tried, shrink};
use super::token::token;
use crate::backend::Independence;
use crate::expect::Expected;
use crate::finding::{Detail, Finding};
use crate::report::terminal::counted;
use crate::report::{Check, Diagnostic, Verdict};
use crate::rules::{Level, Rule};
use crate::simt::{ScheduleSpec, Stop};
use proptest::strategy::{Strategy, ValueTree};
use std::collections::BTreeMap;
use std::fmt;
use std::time::{Duration, Instant};

/// How cases are tried.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Everything random follows from it.
    pub seed: u64,
    /// The schedule of all runs; drawn where none is given.
    pub schedule: Option<ScheduleSpec>,
    /// Runs of a case; the case's own number, or [`RUNS`], where none is given.
    pub runs: Option<u32>,
    /// Wall-clock time of a launch.
    pub wall: Duration,
}

impl Default for Settings {
    /// Seed 0, drawn schedules, ten seconds a launch.
    fn default() -> Settings {
        Settings {
            seed: 0,
            schedule: None,
            runs: None,
            wall: Duration::from_secs(10),
        }
    }
}

/// Runs of a case, where nothing else is said.
pub const RUNS: u32 = 24;
/// Runs that shrinking one counterexample may take.
const SHRINKING: u32 = 64;
/// Warp-instructions that shrinking one counterexample may take: runs that do not end are long ones.
const SHRINKING_STEPS: u64 = 4_000_000;
/// After so many runs that did not end, the others are left out: each spends its whole budget.
const ENDLESS: u32 = 3;

/// What came out of a case.
#[derive(Clone, Debug)]
pub struct Trial {
    /// The case's name.
    pub id: String,
    /// Whether it is a buggy one.
    pub buggy: bool,
    /// What the simulator says.
    pub verdict: Verdict,
    /// What the case expects it to say.
    pub expected: ExpectedVerdict,
    /// The verdict's reason in one line.
    pub summary: String,
    /// The smallest run that shows the bug (or what should not be there).
    pub counterexample: Option<Counterexample>,
    /// Of a run with a wrong result, the smallest that was found.
    pub wrong_result: Option<Counterexample>,
    /// The findings, each from the smallest run that shows it.
    pub diagnostics: Vec<Diagnostic>,
    /// What the compiler said, where it is to refuse the kernel: the verdict is about that, and nothing ran.
    pub refusal: Option<String>,
    /// Runs done.
    pub runs: u32,
    /// Whether every schedule gives these results on the inputs tried; `None` where there are findings.
    pub schedule_independent: Option<bool>,
    /// What the first run printed.
    pub output: String,
    /// What the case says of its PTX and is not so, each in a few lines.
    pub ptx: Vec<String>,
    /// How long it took.
    pub time: Duration,
}

impl Trial {
    /// Whether the verdict is the expected one, and the PTX what the case says of it.
    pub fn ok(&self) -> bool {
        self.verdict_ok() && self.ptx.is_empty()
    }

    /// Whether the verdict is the expected one.
    pub fn verdict_ok(&self) -> bool {
        let expected = match self.expected {
            ExpectedVerdict::Caught => Verdict::Caught,
            ExpectedVerdict::Clean => Verdict::Clean,
            ExpectedVerdict::Missed => Verdict::Missed,
            ExpectedVerdict::FalseAlarm => Verdict::FalseAlarm,
            ExpectedVerdict::Unsupported => Verdict::Unsupported,
        };
        self.verdict == expected
    }

    /// For the renderers.
    pub fn check(&self) -> Check {
        Check {
            name: self.id.clone(),
            verdict: self.verdict,
            ok: self.ok(),
            summary: self.summary.clone(),
            schedule_independent: self.schedule_independent,
            setting: None,
            diagnostics: self.diagnostics.clone(),
            output: self.output.clone(),
            time: self.time,
        }
    }
}

/// One run, judged.
pub(super) struct Observation {
    pub(super) plan: Plan,
    pub(super) ran: Ran,
    /// The groups of tags that each finding belongs to; none: unexpected.
    matched: Vec<(Finding, Seen, Vec<usize>)>,
    mismatch: Option<Mismatch>,
    /// A performance note with the wrong figures.
    figures: Option<String>,
}

/// What a counterexample is to show.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Aim {
    WrongResult,
    Group(usize),
    Unexpected(Rule, Vec<Vec<u32>>),
    Figures,
}

impl Observation {
    pub(super) fn aims(&self) -> Vec<Aim> {
        let mut aims = Vec::new();
        if self.mismatch.is_some() {
            aims.push(Aim::WrongResult);
        }
        if self.figures.is_some() {
            aims.push(Aim::Figures);
        }
        for (_, seen, groups) in &self.matched {
            if groups.is_empty() {
                let lines = seen.ends.iter().map(|end| end.lines.clone()).collect();
                aims.push(Aim::Unexpected(seen.rule, lines));
            }
            aims.extend(groups.iter().copied().map(Aim::Group));
        }
        aims.sort();
        aims.dedup();
        aims
    }

    fn finding(&self, aim: &Aim) -> Option<&Finding> {
        self.aimed_at(aim).map(|(finding, _)| finding)
    }

    /// The finding that no tag covers, for an aim that is one.
    fn seen(&self, aim: &Aim) -> Option<&Seen> {
        let unexpected = matches!(aim, Aim::Unexpected(..));
        self.aimed_at(aim).filter(|_| unexpected).map(|(_, s)| s)
    }

    fn aimed_at(&self, aim: &Aim) -> Option<(&Finding, &Seen)> {
        let fits = |(_, seen, groups): &&(Finding, Seen, Vec<usize>)| match aim {
            Aim::Group(group) => groups.contains(group),
            Aim::Unexpected(rule, lines) => {
                groups.is_empty()
                    && seen.rule == *rule
                    && seen.ends.iter().map(|end| &end.lines).eq(lines)
            }
            Aim::WrongResult | Aim::Figures => false,
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
pub(super) enum Trouble {
    Unsupported(String),
    Inconclusive(String),
    /// The kernel itself gave up, by a trap or a failed assertion: why, and the same with its place.
    Gave(String, String),
}

/// Tries one case. One that the compiler is to refuse is judged by what the compiler said.
pub fn run(catalog: &Catalog, entry: &Entry, settings: &Settings) -> Trial {
    let started = Instant::now();
    let mut trial = blank(entry);
    match Prepared::new(catalog, entry) {
        Ok(prepared) => Trier::new(&prepared, settings).run(&mut trial),
        Err(PrepareError::Refused) => {
            let judged = refused::judge(catalog, entry);
            (trial.verdict, trial.summary) = (judged.verdict, judged.summary);
            trial.refusal = Some(judged.said);
        }
        Err(error) => {
            trial.verdict = match error {
                PrepareError::Lower { .. } => Verdict::Unsupported,
                _ => Verdict::Inconclusive,
            };
            trial.summary = error.to_string();
        }
    }
    trial.ptx = against_ptx(catalog, entry);
    if trial.verdict_ok()
        && let Some(first) = trial.ptx.first()
    {
        trial.summary = format!(
            "its PTX is another: {}",
            first.lines().next().unwrap_or_default()
        );
    }
    trial.time = started.elapsed();
    trial
}

/// What the case says of its PTX and is not so, for every pinned target.
fn against_ptx(catalog: &Catalog, entry: &Entry) -> Vec<String> {
    let mut failed = Vec::new();
    for target in TARGETS {
        match compiled::checks(catalog, entry, target) {
            Ok(checks) => failed.extend(
                checks
                    .iter()
                    .filter(|check| !check.holds)
                    .map(|check| format!("{target}: {}", check.message())),
            ),
            Err(error) => failed.push(format!("{target}: {error}")),
        }
    }
    failed
}

/// Does one run again, as its token says.
pub fn replay(catalog: &Catalog, entry: &Entry, draw: &Draw, settings: &Settings) -> Trial {
    let started = Instant::now();
    let mut trial = blank(entry);
    match Prepared::new(catalog, entry) {
        Ok(prepared) => Trier::new(&prepared, settings).replay(draw, &mut trial),
        Err(error) => trial.summary = error.to_string(),
    }
    trial.time = started.elapsed();
    trial
}

fn blank(entry: &Entry) -> Trial {
    Trial {
        id: entry.id.clone(),
        buggy: entry.case.is_buggy(),
        verdict: Verdict::Inconclusive,
        expected: entry.case.expect.simulator.verdict,
        summary: String::new(),
        counterexample: None,
        wrong_result: None,
        diagnostics: Vec::new(),
        refusal: None,
        runs: 0,
        schedule_independent: None,
        output: String::new(),
        ptx: Vec::new(),
        time: Duration::ZERO,
    }
}

/// A case whose trial could not be brought to its end by a mistake of racetrap itself.
pub fn broken(entry: &Entry, message: &str) -> Trial {
    let summary = format!("racetrap itself failed: {message}");
    Trial {
        summary,
        ..blank(entry)
    }
}

pub(super) struct Trier<'a> {
    prepared: &'a Prepared<'a>,
    settings: &'a Settings,
    expected: Expected<'a>,
    /// For each aim, the lightest run that showed it.
    pub(super) evidence: BTreeMap<Aim, (u64, Draw)>,
    dependent: bool,
}

impl<'a> Trier<'a> {
    pub(super) fn new(prepared: &'a Prepared<'a>, settings: &'a Settings) -> Trier<'a> {
        Trier {
            prepared,
            settings,
            expected: Expected::new(&prepared.entry.tags),
            evidence: BTreeMap::new(),
            dependent: false,
        }
    }

    fn case(&self) -> &'a Case {
        &self.prepared.entry.case
    }

    fn run(mut self, trial: &mut Trial) {
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
                weak: self.prepared.reads_older_values(),
                run,
            };
            let draw = match draws.new_tree(&mut runner) {
                Ok(tree) => tree.current(),
                Err(reason) => return trouble(trial, Trouble::Inconclusive(reason.to_string())),
            };
            let observation = match self.observe(&draw) {
                Ok(observation) => observation,
                Err(error) => return trouble(trial, error),
            };
            trial.runs += 1;
            if run == 0 {
                trial.output.clone_from(&observation.ran.output);
            }
            self.dependent |= observation.ran.independence != Independence::Independent;
            for aim in observation.aims() {
                let weight = observation.weight();
                let known = self.evidence.entry(aim).or_insert((weight, draw.clone()));
                if weight < known.0 {
                    *known = (weight, draw.clone());
                }
            }
            endless += u32::from(observation.ran.stopped.is_some());
            if endless >= ENDLESS {
                break;
            }
        }
        self.judge(trial);
    }

    fn replay(mut self, draw: &Draw, trial: &mut Trial) {
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
            (None, 0) => "nothing wrong".to_owned(),
            (None, 1) => "1 finding".to_owned(),
            (None, n) => format!("{n} findings"),
        };
        let example = self.example(&observation.plan, draw, shows);
        trial.summary = example.to_string();
        trial.counterexample = Some(example);
        let unexpected = self.evidence.keys().any(|aim| match aim {
            Aim::Unexpected(..) | Aim::Figures => true,
            Aim::WrongResult => !self.case().is_buggy(),
            Aim::Group(_) => false,
        });
        // One run need not show all that is annotated.
        trial.verdict = match (unexpected, self.evidence.is_empty()) {
            (true, _) => Verdict::FalseAlarm,
            (false, false) => Verdict::Caught,
            (false, true) => Verdict::Clean,
        };
    }

    /// The tags that would cover a finding, and where they belong.
    fn tags_for(&self, seen: &Seen) -> String {
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
    pub(super) fn observe(&mut self, draw: &Draw) -> Result<Observation, Trouble> {
        let case = self.case();
        let inconclusive = |e: &dyn fmt::Display| Trouble::Inconclusive(e.to_string());
        let sizes = draw.sizes(case).map_err(|e| inconclusive(&e))?;
        let plan = plan(case, sizes, draw.inputs).map_err(|e| inconclusive(&e))?;
        let ran = self
            .prepared
            .run(&plan, &draw.schedule, Some(self.settings.wall))
            .map_err(|e| inconclusive(&e))?;
        let mut mismatch = None;
        match &ran.stopped {
            None => {
                mismatch = compare(self.prepared, &plan, &ran).map_err(|e| inconclusive(&e))?;
            }
            Some(Stop::Deadlock { .. } | Stop::NoProgress { .. }) => {}
            Some(stop) => {
                let place = self.prepared.stopped_at(&plan, stop);
                let place = place.map(|at| format!("{at}: ")).unwrap_or_default();
                let token = token(&self.prepared.entry.id, case, &plan.sizes, draw);
                let text = format!("{place}{stop} (racetrap replay {token})");
                return Err(match stop {
                    Stop::Unsupported { .. } | Stop::KernelsSynchronise(..) => {
                        Trouble::Unsupported(text)
                    }
                    Stop::Trap { .. } | Stop::Assert { .. } => {
                        Trouble::Gave(stop.to_string(), text)
                    }
                    _ => Trouble::Inconclusive(text),
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

    fn judge(&mut self, trial: &mut Trial) {
        let case = self.case();
        // Shrinking goes on with other runs; what counts as found is what was drawn.
        let missing = self.expected.missing();
        let aims: Vec<Aim> = self.evidence.keys().cloned().collect();
        let mut shown: BTreeMap<Aim, Counterexample> = BTreeMap::new();
        let mut tags: BTreeMap<Aim, String> = BTreeMap::new();
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
        let unexpected = shown
            .iter()
            .find(|(aim, _)| matches!(aim, Aim::Unexpected(..) | Aim::Figures));
        let wrong = shown.get(&Aim::WrongResult);
        let (verdict, summary, example) = if let Some((aim, example)) = unexpected {
            let tags = tags
                .get(aim)
                .map(|t| format!("; if that is its fault, tag it: {t}"));
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
            let summary = format!("the case says that results are never wrong: {example}");
            (Verdict::FalseAlarm, summary, Some(example))
        } else if !missing.is_empty() {
            let missing: Vec<_> = missing.iter().map(ToString::to_string).collect();
            let summary = format!("in {}: no {}", runs(trial.runs), missing.join(", no "));
            (Verdict::Missed, summary, None)
        } else if case.wrong_results == Some(true) && wrong.is_none() {
            let summary = format!("no wrong result in {}", runs(trial.runs));
            (Verdict::Missed, summary, None)
        } else if case.is_buggy() || !shown.is_empty() {
            let example = wrong.or_else(|| shown.values().next());
            let summary = example.map(ToString::to_string).unwrap_or_default();
            (Verdict::Caught, summary, example)
        } else {
            let promise = match self.dependent {
                true => "on the schedules tried",
                false => "under every schedule",
            };
            trial.schedule_independent = Some(!self.dependent);
            (
                Verdict::Clean,
                format!("{}, right {promise}", runs(trial.runs)),
                None,
            )
        };
        trial.verdict = verdict;
        trial.summary = summary;
        trial.counterexample = example.cloned();
        trial.wrong_result = wrong.cloned();
    }

    /// The smallest run that still shows it.
    pub(super) fn shrunk(&mut self, aim: &Aim) -> Option<(Observation, Draw)> {
        let (_, start) = self.evidence.get(aim)?.clone();
        let first = self.observe(&start).ok()?;
        let fixed = self.settings.schedule.is_some();
        let mut steps = 0;
        Some(shrink((first, start), fixed, SHRINKING, &mut |draw| {
            let observed = self.observe(draw).ok();
            steps += observed.as_ref().map_or(0, Observation::weight);
            Tried {
                shows: observed.filter(|o| o.aims().contains(aim)),
                enough: steps >= SHRINKING_STEPS,
            }
        }))
    }

    pub(super) fn shows(&self, observation: &Observation, aim: &Aim) -> String {
        match aim {
            Aim::WrongResult => observation
                .mismatch
                .as_ref()
                .map(ToString::to_string)
                .unwrap_or_default(),
            Aim::Figures => observation.figures.clone().unwrap_or_default(),
            Aim::Group(group) => self.expected.groups()[*group].name(),
            Aim::Unexpected(rule, lines) => {
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

    pub(super) fn example(&self, plan: &Plan, draw: &Draw, shows: String) -> Counterexample {
        let schedule = Some(draw.schedule.clone());
        example(self.prepared.entry, plan, draw, schedule, shows)
    }

    pub(super) fn worded(
        &self,
        observation: &Observation,
        aim: &Aim,
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
        worded.expected = matches!(aim, Aim::Group(_));
        Some(worded)
    }
}

fn trouble(trial: &mut Trial, trouble: Trouble) {
    (trial.verdict, trial.summary) = match trouble {
        Trouble::Unsupported(text) => (Verdict::Unsupported, text),
        Trouble::Inconclusive(text) | Trouble::Gave(_, text) => (Verdict::Inconclusive, text),
    };
}

/// The figures that a case asks of a rule's notes; `None` if it does not look for them.
fn counts(case: &Case, rule: Rule) -> Option<&PerfCounts> {
    let name = match rule {
        Rule::BankConflict => PerfRule::BankConflict,
        Rule::UncoalescedAccess => PerfRule::UncoalescedAccess,
        Rule::DivergentBranch => PerfRule::DivergentBranch,
        _ => return None,
    };
    case.perf.get(&name)
}

/// `1 run`, `64 runs`
fn runs(number: u32) -> String {
    counted(number.into(), "run")
}

fn wrong_figures(
    counts: &PerfCounts,
    finding: &Finding,
    seen: &Seen,
    plan: &Plan,
) -> Option<String> {
    let pairs: Vec<(&str, &Option<_>, u64)> = match finding.detail {
        Detail::Banks {
            requests,
            wavefronts,
            degree,
        } => vec![
            ("requests", &counts.requests, requests),
            ("wavefronts", &counts.wavefronts, wavefronts),
            ("degree", &counts.degree, degree.into()),
        ],
        Detail::Sectors {
            requests,
            sectors,
            ideal,
        } => vec![
            ("requests", &counts.requests, requests),
            ("sectors", &counts.sectors, sectors),
            ("ideal", &counts.ideal, ideal),
        ],
        Detail::Branches {
            executed,
            divergent,
        } => vec![
            ("executed", &counts.executed, executed),
            ("divergent", &counts.divergent, divergent),
        ],
        _ => return None,
    };
    let line = seen
        .ends
        .first()
        .and_then(|end| end.lines.first())
        .copied()
        .unwrap_or(0);
    pairs.into_iter().find_map(|(what, expression, found)| {
        let expected = evaluate(what, expression.as_ref()?, &plan.sizes);
        let wrong = |expected: &dyn fmt::Display| {
            format!(
                "{} at line {line}: {found} {what}, expected {expected}",
                finding.rule
            )
        };
        match expected {
            Ok(expected) if u64::try_from(expected) == Ok(found) => None,
            Ok(expected) => Some(wrong(&expected)),
            Err(error) => Some(wrong(&error)),
        }
    })
}
