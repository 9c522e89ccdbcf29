//! Buffers that the host program makes smaller than the kernel is judged with.

use super::{STEPS, Settled};
use crate::explore::Exploration;
use crate::plan::{Origin, Plan};
use crate::{Error, ErrorKind, Prepared, Request, host, verdict};
use detect::rules::Level;
use report::{Diagnostic, Sources};
use std::collections::HashSet;

/// What reaches beyond the sizes that the host program gives to buffers, where it does not bind ([`Origin::Host`]): racetrap does not
/// know all that the program passes, so it lets them grow, and says that it had to.
///
/// # Errors
///
/// The check was cancelled.
pub fn enlarged(
    prepared: &Prepared,
    request: &Request,
    exploration: &Exploration<'_>,
    settled: &Settled,
    sources: &mut Sources,
) -> Result<Vec<Diagnostic>, Error> {
    let mut plan = settled.plan.clone();
    let mut stated = Vec::new();
    for index in 0..plan.values.len() {
        let Origin::Host { line, .. } = plan.values[index].origin else {
            continue;
        };
        let (before, now) = (prepared.plan.length_of(index), plan.length_of(index));
        if let (Some(before), true) = (before, now > before) {
            plan.set_length(index, before);
            stated.push((index, before, line));
        }
    }
    let late = exploration.out_of_time();
    if late || stated.is_empty() || settled.explored.iter().any(|e| e.steps > STEPS) {
        return Ok(Vec::new());
    }
    let zeros = plan.with_zeros();
    let mut found = Vec::new();
    for (build, program) in prepared.input.builds.iter().zip(&prepared.programs) {
        let mut tight = |plan: &Plan| match exploration.tight(build, program, plan, sources) {
            Err(error) if error.kind == ErrorKind::Cancelled => Err(error),
            found => Ok(found.unwrap_or_default()),
        };
        // What only guessed contents lead to says nothing.
        let always: HashSet<usize> = tight(&zeros)?.into_iter().map(|(index, _)| index).collect();
        for (index, mut diagnostic) in tight(&plan)? {
            if always.contains(&index) {
                diagnostic.builds = build.name.map(str::to_string).into_iter().collect();
                found.push((index, diagnostic));
            }
        }
    }
    let (entry, geometry) = (&prepared.entry, &prepared.geometry);
    let explored = &settled.explored;
    let how = verdict::setting(request, &prepared.input, entry, geometry, &plan, explored);
    let mut all = Vec::new();
    for (index, mut diagnostic) in found {
        let Some((_, elements, line)) = stated.iter().find(|(i, ..)| *i == index) else {
            continue;
        };
        let name = plan.parameters.label(index);
        let line = host::line_of(*line, plan.host_file.as_deref());
        diagnostic.level = Level::Warning;
        diagnostic.notes.insert(0, format!(
            "the program passes `{name}` with {} elements ({line}); not all else that it passes is known, so the kernel is judged with a larger one",
            report::terminal::thousands(*elements)
        ));
        diagnostic.replay = verdict::replay(request, &how, "lockstep");
        all.push(diagnostic);
    }
    let mut merged = Vec::new();
    report::merge(&mut merged, all);
    Ok(merged)
}
