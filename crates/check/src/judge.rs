//! Makes a verdict of what is known: joins what builds and hypotheses showed, and puts it into words, once.

use super::argument::Value;
use super::checked::Checked;
use super::error::Error;
use super::explore::Key;
use super::hypothesis::Hypothesis;
use super::known::{Beside, GivenUp, Known, LeftOut, Short, Warnings};
use super::plan::Plan;
use super::prepare::Prepared;
use super::run::{Outcome, Runner};
use super::seen::{Seen, in_short};
use super::{gated, unseen, verdict};
use detect::coverage::Coverage;
use detect::rules::{Level, Rule};
use report::{Diagnostic, merge, settle_causes};
use std::collections::HashSet;
use std::time::Instant;

/// The verdict, and what came of the hypothesis that the kernel is judged with.
///
/// # Errors
///
/// The check was cancelled.
pub(super) fn judge(
    mut known: Known,
    started: Instant,
    runner: &mut Runner<'_>,
) -> Result<Checked, Error> {
    let (prepared, request) = (runner.prepared, runner.request);
    let further = further(&known, runner);
    let mut diagnostics = first(&known, runner)?;
    for one in &known.given_up {
        diagnostics.extend(warnings(one, &known.judged.hypothesis, runner));
    }
    diagnostics.extend(short(&known.short, runner));
    diagnostics.extend(further.diagnostics);
    settle_causes(&mut diagnostics);
    let Outcome {
        hypothesis,
        explored,
        ..
    } = &mut known.judged;
    let setting = setting(runner, hypothesis, explored);
    // What explains different results is told already.
    let explains = |d: &Diagnostic| {
        d.level == Level::Error
            || matches!(
                d.rule,
                Rule::LockstepAssumption | Rule::UnorderedCommunication | Rule::SameValueWrite
            )
    };
    let faulty = diagnostics.iter().any(explains);
    let builds = prepared.input.builds.iter().zip(&prepared.programs);
    let different = explored
        .iter()
        .zip(builds)
        .find_map(|(e, (build, program))| {
            let difference = e.difference.as_ref().filter(|_| !faulty)?;
            Some((difference, e.memory.as_ref(), build, program))
        });
    if let Some((difference, memory, build, program)) = different {
        let found = (difference, memory);
        let exploration = runner.exploration(hypothesis);
        let plan = &hypothesis.plan;
        let seen = exploration.differing(build, program, plan, found, runner.sources)?;
        diagnostics.push(Diagnostic {
            replay: verdict::replay(request, &setting, &difference.schedules[1]),
            builds: build.name.map(str::to_string).into_iter().collect(),
            ..seen
        });
    }
    diagnostics.sort_by_key(|d| std::cmp::Reverse(d.level));
    let independence = explored.iter().map(|e| e.independence);
    let told = verdict::Told {
        independence: verdict::weakest(independence.chain(further.independence)),
        every_order: explored.iter().all(|e| e.every_order) && further.every_order,
        older_values: prepared.programs.iter().any(|p| p.facts.stale_values),
        inputs: further.inputs,
        gpu: prepared
            .programs
            .iter()
            .map(|p| p.device)
            .max()
            .filter(|gpu| *gpu > 0),
        time: started.elapsed(),
    };
    let mut left_out: Vec<String> = known
        .given_up
        .iter()
        .filter_map(|g| left_out(g, hypothesis))
        .collect();
    left_out.extend(further.left_out);
    let mut check = verdict::judge(
        request,
        &prepared.input,
        setting,
        diagnostics,
        explored,
        &told,
    );
    if check.verdict == report::Verdict::Clean {
        let coverage: Vec<_> = (explored.iter().zip(&further.coverage))
            .map(|(one, more)| {
                let mut all = one.coverage.clone();
                all.merge(more);
                all
            })
            .collect();
        let mut turns = runner.turns(hypothesis)?;
        for one in &further.for_turns {
            turns.merge(&runner.turns(one)?);
        }
        let reached = unseen::Reached {
            coverage: &coverage,
            turns: &turns,
        };
        check.unseen = unseen::unseen(prepared, hypothesis, &reached, runner.sources);
        let gated = gated::gated(prepared, hypothesis, coverage.first(), runner.sources);
        if let Some(said) = gated.said() {
            check.verdict = report::Verdict::Inconclusive;
            check.ok = false;
            check.summary = said;
        }
    }
    check.unseen.guesses = left_out;
    let all = explored.iter_mut();
    let mut findings: Vec<_> = all.flat_map(|e| std::mem::take(&mut e.findings)).collect();
    findings.extend(further.findings);
    let memory = explored
        .iter_mut()
        .find_map(|one| one.memory.take())
        .unwrap_or_default();
    Ok(Checked {
        check,
        findings,
        memory,
        independence: told.independence,
        tried: runner.runs,
        hypothesis: known.judged.hypothesis,
        explored: known.judged.explored,
    })
}

/// How a hypothesis was run, for the command that shows a finding again.
fn setting(
    runner: &Runner<'_>,
    hypothesis: &Hypothesis,
    explored: &[super::explore::Explored],
) -> report::Setting {
    let prepared: &Prepared = runner.prepared;
    verdict::setting(
        runner.request,
        &prepared.input,
        &prepared.entry,
        hypothesis,
        explored,
    )
}

/// Words findings that a hypothesis shows.
fn worded<'s>(
    all: impl IntoIterator<Item = &'s Seen>,
    hypothesis: &Hypothesis,
    runner: &Runner<'_>,
) -> Vec<Diagnostic> {
    let setting = setting(runner, hypothesis, &[]);
    let replay = |schedule: &str| verdict::replay(runner.request, &setting, schedule);
    let held = verdict::holds_values(runner.request);
    let word = |seen: &Seen| {
        let mut diagnostic = seen.worded(&replay);
        if let (true, Some(schedule)) = (held, &seen.found.replay) {
            let note = format!("seen under the schedule `{schedule}`");
            diagnostic.notes.push(note);
        }
        diagnostic
    };
    all.into_iter().map(word).collect()
}

/// What the hypothesis shows that the kernel is judged with.
fn first(known: &Known, runner: &Runner<'_>) -> Result<Vec<Diagnostic>, Error> {
    let judged = &known.judged;
    let mut diagnostics = Vec::new();
    for seen in &judged.seen {
        merge(&mut diagnostics, worded(seen, &judged.hypothesis, runner));
    }
    if runner.request.trace {
        let exploration = runner.exploration(&judged.hypothesis);
        for (one, program) in judged.explored.iter().zip(&runner.prepared.programs) {
            let plan = &judged.hypothesis.plan;
            exploration.trace(program, plan, &one.examples, &mut diagnostics)?;
        }
    }
    Ok(diagnostics)
}

/// What single runs with short buffers show.
fn short(all: &[Short], runner: &Runner<'_>) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for one in all {
        merge(&mut found, worded([&one.seen], &one.hypothesis, runner));
    }
    found
}

/// The errors of a hypothesis that was given up, as far as they are warnings.
fn warnings(given_up: &GivenUp, judged: &Hypothesis, runner: &Runner<'_>) -> Vec<Diagnostic> {
    let (plan, other) = (&given_up.hypothesis.plan, &judged.plan);
    let (with, without): (Vec<_>, Vec<_>) = (plan.integers().into_iter().zip(other.integers()))
        .filter(|(before, after)| before != after)
        .chain(other_contents(plan, other))
        .unzip();
    let note = format!(
        "seen with {}, not with {}, with which the kernel is judged; say with `--arg` what callers pass",
        with.join(", "),
        without.join(", "),
    );
    let mut errors: Vec<Seen> = given_up.warnings().cloned().collect();
    errors.iter_mut().for_each(|seen| seen.excuse(note.clone()));
    if given_up.saying.warnings == Warnings::Outside {
        errors = one_of(errors);
    }
    let mut found = Vec::new();
    merge(&mut found, worded(&errors, &given_up.hypothesis, runner));
    found
}

/// Accesses outside, as one finding: it is one number that leads there. What else was seen then follows from it.
fn one_of(all: Vec<Seen>) -> Vec<Seen> {
    let mut found = all.into_iter();
    let Some(mut first) = found.next() else {
        return Vec::new();
    };
    let key = first.found.key();
    let others = found.filter(|seen| seen.found.key() != key);
    let mut lines: Vec<u32> = others
        .filter_map(|seen| {
            seen.found
                .labels
                .iter()
                .find(|l| l.is_guilty())
                .map(|l| l.line)
        })
        .collect();
    lines.sort_unstable();
    lines.dedup();
    if !lines.is_empty() {
        let lines: Vec<String> = lines.iter().map(u32::to_string).collect();
        let lines = lines.join(", ");
        first
            .last
            .push(format!("so it leads outside at these lines, too: {lines}"));
    }
    vec![first]
}

/// What a clean verdict does not hold for, of a hypothesis that was given up.
fn left_out(given_up: &GivenUp, judged: &Hypothesis) -> Option<String> {
    let errors = in_short(given_up.errors());
    Some(match given_up.saying.left_out? {
        LeftOut::Numbers => {
            let (before, after) = (given_up.hypothesis.plan.integers(), judged.plan.integers());
            let changed: Vec<String> = (before.into_iter().zip(after))
                .filter_map(|(before, after)| (before != after).then_some(before))
                .collect();
            format!("{}, which leads to {errors}", changed.join(", "))
        }
        LeftOut::Block => format!(
            "blocks of {} threads, which lead to {errors}",
            given_up.hypothesis.geometry.block
        ),
    })
}

/// What further hypotheses showed.
#[derive(Default)]
struct Further {
    /// Findings that the first one does not have, each with the one that shows it.
    diagnostics: Vec<Diagnostic>,
    /// The same, one by one.
    findings: Vec<super::explore::Found>,
    /// What differs in those that count: `n = 127`.
    inputs: Vec<String>,
    /// Whether every order of communication was tried with each of them.
    every_order: bool,
    /// By build, where the branches went with all of them.
    coverage: Vec<Coverage>,
    /// Those that were tried for loops to go round more often.
    for_turns: Vec<Hypothesis>,
    /// What each of them says about other schedules.
    independence: Vec<Option<session::Independence>>,
    /// Those that led to errors which are the guess's: `` `n` = 31, which leads to data-race at k.cu:7 ``.
    left_out: Vec<String>,
}

fn further(known: &Known, runner: &Runner<'_>) -> Further {
    let mut further = Further {
        every_order: true,
        coverage: vec![Coverage::default(); known.judged.explored.len()],
        ..Further::default()
    };
    let first = known.judged.seen.iter().flatten();
    let given_up = known.given_up.iter().flat_map(GivenUp::warnings);
    let short = known.short.iter().map(|short| &short.seen);
    let all = first.chain(given_up).chain(short);
    let mut keys: HashSet<Key> = all.map(|seen| seen.found.key()).collect();
    for one in &known.beside {
        let changed = &one.outcome.hypothesis;
        let first = &known.judged.hypothesis;
        let (this, before) = (differing(changed, first), differing(first, changed));
        let Some(new) = one.new_findings(&keys) else {
            let errors = in_short(one.fresh(&keys).into_iter());
            further
                .left_out
                .push(format!("{this}, which leads to {errors}"));
            continue;
        };
        let new: Vec<Seen> = new
            .into_iter()
            .map(|(seen, level)| {
                let mut seen = seen.clone();
                seen.level = level;
                seen.first
                    .push(format!("seen with {this}, not with {before}"));
                seen
            })
            .collect();
        let mut found = Vec::new();
        merge(&mut found, worded(&new, &one.outcome.hypothesis, runner));
        keys.extend(found.iter().map(Diagnostic::key));
        further.diagnostics.extend(found);
        further.take(one);
        further.inputs.push(this);
    }
    further
}

impl Further {
    fn take(&mut self, one: &Beside) {
        for (one, coverage) in one.outcome.explored.iter().zip(&mut self.coverage) {
            coverage.merge(&one.coverage);
        }
        if one.for_turns {
            self.for_turns.push(one.outcome.hypothesis.clone());
        }
        for one in &one.outcome.explored {
            self.independence.push(one.independence);
            self.every_order &= one.every_order;
            self.findings.extend(one.findings.iter().cloned());
        }
    }
}

/// What differs from another hypothesis, for messages.
fn differing(this: &Hypothesis, other: &Hypothesis) -> String {
    if this.block() != other.block() {
        return format!("blocks of {} threads", this.block());
    }
    let (plan, other) = (&this.plan, &other.plan);
    let contents = other_contents(plan, other);
    if !contents.is_empty() {
        let all: Vec<String> = contents.into_iter().map(|(this, _)| this).collect();
        return all.join(", ");
    }
    match plan.floats() != other.floats() {
        true => plan.floats().join(", "),
        false => plan.integers().join(", "),
    }
}

/// The buffers whose contents differ, for messages: `` `col` = i32[64]:random ``.
fn other_contents(plan: &Plan, other: &Plan) -> Vec<(String, String)> {
    let said = |plan: &Plan, index: usize| match &plan.values[index].value {
        Value::Buffer(spec) => {
            let text = spec.to_string();
            let fill = text.split_once(':').map_or(text.as_str(), |(_, fill)| fill);
            format!("`{}` = {fill}", plan.parameters.label(index))
        }
        value => value.to_string(),
    };
    let fill = |plan: &Plan, index: usize| match &plan.values[index].value {
        Value::Buffer(spec) => Some(spec.fill.clone()),
        _ => None,
    };
    (0..plan.values.len())
        .filter(|index| fill(plan, *index) != fill(other, *index))
        .map(|index| (said(plan, index), said(other, index)))
        .collect()
}
