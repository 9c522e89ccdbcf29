//! Decides claims from facts: runs on the simulator, counts, and stored results of GPUs.

use super::claim::{
    Claim, Compiled, Count, Gpu, Launches, Prediction, Results, Ruling, Run, Shows, Time, Verdict,
};
use super::count::Counter;
use super::time::{Times, seconds};
use catalog::case::ExpectedVerdict;
use catalog::case_result::CaseResult;
use catalog::compiled::{PtxCheck, checks};
use catalog::expression::Expression;
use catalog::load::{Catalog, Entry};
use catalog::plan::Plan;
use catalog::simulate::Prepared;
use evidence::{Detector, Evidence, Fingerprint};
use report;
use simt::{ScheduleSpec, Stop};
use std::fmt::Display;

/// What is known.
#[derive(Clone, Copy, Debug)]
pub struct Facts<'a> {
    /// The cases.
    pub catalog: &'a Catalog,
    /// What the simulator says of them.
    pub trials: &'a [CaseResult],
    /// What a GPU has said of them.
    pub evidence: Option<&'a Evidence>,
    /// What a GPU took for them.
    pub times: Option<&'a Times>,
}

/// A claim and what came of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Decided {
    /// The claim.
    pub claim: Claim,
    /// What came of its predictions, in order.
    pub looked: Vec<Looked>,
    /// What follows.
    pub ruling: Ruling,
}

impl Decided {
    /// Whether that is what its file says.
    pub fn as_expected(&self) -> bool {
        self.ruling == self.claim.verdict
    }
}

/// What came of a prediction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Looked {
    /// Whether it holds; `None` if it could not be looked at.
    pub holds: Option<bool>,
    /// What was seen, or why nothing was.
    pub figure: String,
}

/// What could not be looked at, and why.
type Unseen = String;

/// The cases that the simulator has to try for these claims.
pub fn to_try<'c>(catalog: &'c Catalog, claims: &[Claim]) -> Vec<&'c Entry> {
    let names = || {
        claims
            .iter()
            .flat_map(|c| &c.predicts)
            .filter_map(Prediction::tried)
    };
    let wanted = |entry: &&Entry| names().any(|name| name == entry.id);
    catalog.cases.iter().filter(wanted).collect()
}

/// Decides one claim.
pub fn decide(claim: &Claim, facts: &Facts<'_>) -> Decided {
    let looked: Vec<Looked> = claim
        .predicts
        .iter()
        .enumerate()
        .map(|(index, prediction)| {
            let seen = facts.look(&claim.id, index, prediction);
            let (holds, figure) = match seen {
                Ok((holds, figure)) => (Some(holds), figure),
                Err(why) => (None, why),
            };
            Looked { holds, figure }
        })
        .collect();
    let is = |wanted: bool| move |l: &Looked| l.holds == Some(wanted);
    let ruling = if looked.iter().any(|l| l.holds.is_none()) {
        Ruling::Undecided
    } else if looked.iter().all(is(true)) {
        Ruling::Confirmed
    } else if looked.iter().all(is(false)) {
        Ruling::Refuted
    } else {
        Ruling::Depends
    };
    Decided {
        claim: claim.clone(),
        looked,
        ruling,
    }
}

impl Facts<'_> {
    fn look(
        &self,
        claim: &str,
        index: usize,
        prediction: &Prediction,
    ) -> Result<(bool, String), Unseen> {
        if let Some(Verdict { case, verdict }) = &prediction.simulator {
            let trial = self.trial(case)?;
            let is = match trial.verdict {
                report::Verdict::Clean => ExpectedVerdict::Clean,
                report::Verdict::Caught => ExpectedVerdict::Caught,
                other => {
                    return Err(format!(
                        "{} on the simulator: {}",
                        other.name(),
                        trial.summary
                    ));
                }
            };
            Ok((is == *verdict, trial_figure(trial)))
        } else if let Some(Results { case, right }) = &prediction.results {
            let trial = self.trial(case)?;
            if !trial.ok() {
                return Err(format!(
                    "{} on the simulator: {}",
                    trial.verdict.name(),
                    trial.summary
                ));
            }
            let figure = match &trial.wrong_result {
                Some(example) => example.to_string(),
                None => format!("right in {}", counted_runs(trial.runs.into())),
            };
            Ok((trial.wrong_result.is_none() == *right, figure))
        } else if let Some(compiled) = &prediction.ptx {
            self.ptx(compiled)
        } else if let Some(gpu) = &prediction.gpu {
            self.gpu(gpu)
        } else if let Some(Launches { of, accepted }) = &prediction.launch {
            let (entry, plan) = self.plan(of)?;
            let prepared = Prepared::new(self.catalog, entry).map_err(text)?;
            let ran = prepared
                .run(&plan, &ScheduleSpec::Lockstep, None)
                .map_err(text)?;
            match &ran.stopped {
                Some(Stop::InvalidLaunch(why)) => Ok((!*accepted, why.clone())),
                Some(other) => Err(other.to_string()),
                None => Ok((*accepted, "accepted".to_owned())),
            }
        } else if let Some(count) = &prediction.count {
            self.count(count)
        } else if let Some(time) = &prediction.time {
            self.time(claim, index, time)
        } else {
            Err("the prediction has no key besides `what`".to_owned())
        }
    }

    fn entry(&self, case: &str) -> Result<&Entry, Unseen> {
        let entry = self.catalog.find(case);
        entry.ok_or_else(|| format!("there is no case `{case}`"))
    }

    fn trial(&self, case: &str) -> Result<&CaseResult, Unseen> {
        let trial = self.trials.iter().find(|t| t.id == case);
        trial.ok_or_else(|| format!("`{case}` was not tried"))
    }

    fn plan(&self, run: &Run) -> Result<(&Entry, Plan), Unseen> {
        let entry = self.entry(&run.case)?;
        let plan = run.plan(entry).map_err(text)?;
        Ok((entry, plan))
    }

    fn gpu(&self, gpu: &Gpu) -> Result<(bool, String), Unseen> {
        let entry = self.entry(&gpu.case)?;
        let evidence = self.evidence.ok_or("there is no evidence from a GPU")?;
        let seen = evidence
            .find(&gpu.case, gpu.by)
            .ok_or_else(|| format!("{} has not run `{}`", gpu.by, gpu.case))?;
        let capability = evidence.device.compute_capability;
        let now = Fingerprint::of(self.catalog, entry, capability, gpu.by);
        if seen.of != now {
            return Err(format!(
                "the evidence of {} for `{}` is stale",
                gpu.by, gpu.case
            ));
        }
        let native = gpu.by == Detector::Native;
        let something = match native {
            true => seen.wrong > 0 || seen.error.is_some(),
            false => !seen.reports.is_empty(),
        };
        let shows = match (seen.hung, something) {
            (true, _) => Shows::Hang,
            (false, true) => Shows::Something,
            (false, false) => Shows::Nothing,
        };
        let device = &evidence.device.name;
        let figure = match (shows, native) {
            (Shows::Hang, _) => format!("does not end on an {device}"),
            (_, true) => match &seen.error {
                Some(error) => format!("on an {device}: {error}"),
                None if seen.wrong == 0 => {
                    format!("right in {} on an {device}", counted_runs(seen.runs.into()))
                }
                None => format!(
                    "wrong in {} of {} runs on an {device}",
                    seen.wrong, seen.runs
                ),
            },
            (_, false) => {
                let reports: u64 = seen.reports.iter().map(|r| r.count).sum();
                format!("{reports} reports by {} on an {device}", gpu.by)
            }
        };
        Ok((shows == gpu.shows, figure))
    }

    fn ptx(&self, compiled: &Compiled) -> Result<(bool, String), Unseen> {
        let mut entry = self.entry(&compiled.case)?.clone();
        entry.case.ptx = Some(compiled.holds.clone());
        let (mut holds, mut figures) = (true, Vec::new());
        for target in entry.case.target_names() {
            let all = checks(self.catalog, &entry, target).map_err(text)?;
            holds &= all.iter().all(|check| check.holds);
            let figure: Vec<_> = all.iter().map(counted).collect();
            figures.push((target, figure.join(", ")));
        }
        figures.dedup_by(|(_, a), (_, b)| a == b);
        let figures: Vec<_> = match &figures[..] {
            [(_, one)] => vec![one.clone()],
            several => several.iter().map(|(t, f)| format!("{t}: {f}")).collect(),
        };
        Ok((holds, figures.join("; ")))
    }

    fn count(&self, count: &Count) -> Result<(bool, String), Unseen> {
        let (entry, plan) = self.plan(&count.of)?;
        let prepared = Prepared::new(self.catalog, entry).map_err(text)?;
        let mut counted = Counter::default();
        prepared.watch(&plan, &mut counted).map_err(text)?;
        let value = |e: &Expression| {
            let name = |n: &str| plan.sizes.get(n).copied().or_else(|| counted.get(n));
            e.evaluate(&name).map_err(text)
        };
        let holds = value(&count.holds)? != 0;
        let mut figures = Vec::new();
        for (name, expression) in &count.figures {
            figures.push(format!("{name} {}", value(expression)?));
        }
        Ok((holds, figures.join(", ")))
    }

    fn time(&self, claim: &str, index: usize, time: &Time) -> Result<(bool, String), Unseen> {
        let times = self.times.ok_or("there are no measured times")?;
        let timing = times
            .find(claim, index)
            .ok_or("its time was not measured")?;
        for (run, taken) in [(&time.slow, &timing.slow), (&time.fast, &timing.fast)] {
            let entry = self.entry(&run.case)?;
            if !taken.is_of(run, self.catalog, entry, times.device.compute_capability) {
                return Err(format!("the measured time of `{}` is stale", run.case));
            }
        }
        let ratio = timing.slow.median / timing.fast.median;
        let figure = format!(
            "{ratio:.2} × ({} against {} on an {})",
            seconds(timing.slow.median),
            seconds(timing.fast.median),
            times.device.name
        );
        Ok((time.allows(ratio), figure))
    }
}

/// `1 run`, `64 runs`
fn counted_runs(runs: u64) -> String {
    report::terminal::counted(runs, "run")
}

/// What was counted, for people: `2 st.shared`.
fn counted(check: &PtxCheck) -> String {
    match (&check.problem, check.claim.strip_prefix("counts ")) {
        (Some(problem), _) => problem.clone(),
        (None, Some(pattern)) => format!("{} {pattern}", check.counted),
        (None, None) => format!("{}: {}", check.claim, check.counted),
    }
}

fn text(error: impl Display) -> Unseen {
    error.to_string()
}

fn trial_figure(trial: &CaseResult) -> String {
    match trial.verdict {
        report::Verdict::Clean => trial.summary.clone(),
        _ => {
            let mut rules: Vec<_> = trial.diagnostics.iter().map(|d| d.rule.name()).collect();
            rules.sort_unstable();
            rules.dedup();
            match (&rules[..], &trial.counterexample) {
                ([], Some(example)) => example.to_string(),
                (rules, Some(example)) => {
                    let s = |n: u64| if n == 1 { "" } else { "s" };
                    let (threads, blocks) = (example.threads, example.blocks);
                    format!(
                        "{} in {blocks} block{} of {threads} thread{}",
                        rules.join(", "),
                        s(blocks),
                        s(threads)
                    )
                }
                ([], None) => trial.summary.clone(),
                (rules, None) => rules.join(", "),
            }
        }
    }
}
