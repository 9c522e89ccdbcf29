//! Puts together what a kernel is found to do: with the launch that it is judged with, and with further settings of what was guessed.

use super::checked::Checked;
use super::geometry::Geometry;
use super::guess::{self, Settled, further_settings};
use super::prepare::Prepared;
use super::request::{Request, Watch};
use super::{Error, two_builds, unseen, verdict};
use detect::rules::{Level, Rule};
use report::{Diagnostic, Sources, merge, settle_causes};
use std::time::Instant;

/// Tries the other settings of what is guessed, and words what comes of all.
pub(super) fn judge(
    request: &Request,
    prepared: &Prepared,
    mut settled: Settled,
    started: Instant,
    sources: &mut Sources,
    watch: &dyn Watch,
) -> Result<Checked, Error> {
    let exploration = prepared.exploration(request, watch);
    let input = &prepared.input;
    two_builds::downgrade(&mut settled.explored, &input.builds);

    let enlarged = guess::enlarged(prepared, request, &exploration, &settled, sources)?;
    settled.warnings.extend(enlarged);
    let further = further_settings::explore(prepared, request, watch, &settled, sources)?;
    let Settled {
        plan,
        mut explored,
        warnings,
        mut left_out,
        ..
    } = settled;
    left_out.extend(further.left_out);

    let mut diagnostics: Vec<Diagnostic> = Vec::new();
    let mut findings = Vec::new();
    for one in &mut explored {
        findings.append(&mut one.findings);
        merge(&mut diagnostics, std::mem::take(&mut one.diagnostics));
    }
    if request.trace {
        for (one, program) in explored.iter().zip(&prepared.programs) {
            exploration.trace(program, &plan, &one.examples, &mut diagnostics)?;
        }
    }
    let geometry = Geometry {
        shared: plan.dynamic_shared(&prepared.geometry),
        ..plan.geometry(&prepared.geometry).clone()
    };
    let setting = verdict::setting(request, input, &prepared.entry, &geometry, &plan, &explored);
    for diagnostic in &mut diagnostics {
        let schedule = diagnostic.replay.take().unwrap_or_default();
        diagnostic.replay = verdict::replay(request, &setting, &schedule);
    }
    diagnostics.extend(warnings);
    diagnostics.extend(further.diagnostics);
    settle_causes(&mut diagnostics);
    findings.extend(further.findings);
    // What explains different results is told already.
    let explains = |d: &Diagnostic| {
        d.level == Level::Error
            || matches!(
                d.rule,
                Rule::LockstepAssumption | Rule::UnorderedCommunication | Rule::SameValueWrite
            )
    };
    let faulty = diagnostics.iter().any(explains);
    let builds = input.builds.iter().zip(&prepared.programs);
    let different = explored
        .iter()
        .zip(builds)
        .find_map(|(e, (build, program))| {
            let difference = e.difference.as_ref().filter(|_| !faulty)?;
            Some((difference, e.memory.as_ref(), build, program))
        });
    if let Some((difference, memory, build, program)) = different {
        let found = (difference, memory);
        let mut diagnostic = exploration.differing(build, program, &plan, found, sources)?;
        let schedule = &difference.schedules[1];
        diagnostic.replay = verdict::replay(request, &setting, schedule);
        diagnostic.builds = build.name.map(str::to_string).into_iter().collect();
        diagnostics.push(diagnostic);
    }
    diagnostics.sort_by_key(|d| std::cmp::Reverse(d.level));
    let first = explored.iter().map(|e| e.independence);
    let told = verdict::Told {
        independence: verdict::weakest(first.chain(further.independence)),
        every_order: explored.iter().all(|e| e.every_order) && further.every_order,
        older_values: prepared.programs.iter().any(|p| p.facts.stale_values),
        inputs: further.inputs,
        time: started.elapsed(),
    };
    let mut check = verdict::judge(request, input, setting, diagnostics, &explored, &told);
    if check.verdict == report::Verdict::Clean {
        let coverage: Vec<_> = (explored.iter().zip(&further.coverage))
            .map(|(one, more)| {
                let mut all = one.coverage.clone();
                all.merge(more);
                all
            })
            .collect();
        check.unseen = unseen::unseen(prepared, &plan, &coverage, left_out, sources);
    } else {
        check.unseen.guesses = left_out;
    }
    let memory = explored
        .iter_mut()
        .find_map(|one| one.memory.take())
        .unwrap_or_default();
    Ok(Checked {
        check,
        findings,
        geometry,
        plan,
        explored,
        memory,
        independence: told.independence,
    })
}
