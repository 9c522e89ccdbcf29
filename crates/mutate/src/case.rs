//! Judges the mutants of a case's kernel and plan in the same way as the case itself.

use super::explain;
use super::judged::{Judged, Outcome, Subject};
use super::site::{Mutant, Unit, mutants, mutated};
use super::step::steps;
use super::{Change, Kind};
use catalog::case_result;
use catalog::equivalent::{Equivalent, plan_text};
use catalog::load::{Catalog, Entry};
use catalog::probe::{Probe, probe};
use catalog::simulate::{PrepareError, Prepared};
use report::exit;
use report::source::statement;
use report::{Label, SourceFile, Sources, Verdict};
use std::sync::Arc;

/// Options for trying mutants.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Runs, seed, schedule.
    pub trial: case_result::Settings,
    /// The unit of mutation.
    pub unit: Unit,
    /// The kinds of mutations; empty for all.
    pub only: Vec<Kind>,
    /// Whether to shrink the run that shows why something is needed.
    pub smallest: bool,
}

impl Default for Settings {
    /// The defaults of `racetrap mutate`, but without shrinking: seed 1, one mutant for each place.
    fn default() -> Settings {
        Settings {
            trial: case_result::Settings {
                seed: 1,
                ..case_result::Settings::default()
            },
            unit: Unit::Place,
            only: Vec::new(),
            smallest: false,
        }
    }
}

/// Judges all mutants of a correct case.
///
/// Always runs the PTX for the newest target of the case. For other targets compilers emit other instructions (loops for
/// fences, several instructions for an atomic), so an explanation could not hold for all of them.
pub fn judge(catalog: &Catalog, entry: &Entry, settings: &Settings) -> Subject {
    let mut subject = Subject {
        name: entry.id.clone(),
        refused: None,
        mutants: Vec::new(),
        together: Vec::new(),
        unused: Vec::new(),
        strict: settings.unit == Unit::Place,
    };
    let prepared = match Prepared::new(catalog, entry) {
        Ok(prepared) => prepared,
        Err(error) => {
            let what = match error {
                PrepareError::Lower { .. } => Verdict::Unsupported,
                _ => Verdict::Inconclusive,
            };
            subject.refused = Some((exit::INCONCLUSIVE, format!("{}: {error}", what.name())));
            return subject;
        }
    };
    let own = probe(&prepared, &settings.trial, false);
    subject.refused = refusal(&own);
    if subject.refused.is_some() {
        return subject;
    }
    let functions = prepared.functions();
    let all = mutants(&prepared.module, &functions, settings.unit, &settings.only);
    let (mut sources, ptx) = prepared.texts();
    let lines: Vec<Option<u32>> = all
        .iter()
        .map(|m| m.line.as_ref().filter(|l| l.file == entry.kernel_file()))
        .map(|line| line.map(|l| l.line))
        .collect();
    let source = catalog.tree.text(&entry.kernel_file()).unwrap_or_default();
    let places: Vec<(&Change, Option<u32>)> = all.iter().map(|m| &m.change).zip(lines).collect();
    let (of_plan, of_kernel): (Vec<Equivalent>, Vec<Equivalent>) = entry
        .case
        .equivalent
        .iter()
        .cloned()
        .partition(|one| one.mutation.is_of_plan());
    let explained = explain::explain(&of_kernel, source, &places);
    let steps = steps(&entry.case, &settings.only);
    let places: Vec<_> = steps
        .iter()
        .map(|m| (&m.change, Some(m.line(entry))))
        .collect();
    let of_plan = explain::explain(&of_plan, &plan_text(&entry.source.text), &places);
    for (mutant, why) in all.iter().zip(explained.mutants) {
        subject.mutants.push(Judged {
            change: mutant.change.clone(),
            place: place(mutant, &mut sources, &ptx),
            ptx_lines: ptx_lines(mutant, &ptx),
            outcome: outcome(&prepared, mutant, settings),
            explained: why,
        });
    }
    for (mutant, why) in steps.iter().zip(of_plan.mutants) {
        let mutated = mutant.mutated(entry);
        let outcome = match Prepared::new(catalog, &mutated) {
            Ok(prepared) => probed(&prepared, settings),
            Err(error) => Outcome::Unknown(Verdict::Inconclusive, error.to_string()),
        };
        subject.mutants.push(Judged {
            change: mutant.change.clone(),
            place: mutant.place(entry),
            ptx_lines: Vec::new(),
            outcome,
            explained: why,
        });
    }
    if settings.only.is_empty() && subject.strict {
        subject.unused = explained.unused;
        subject.unused.extend(of_plan.unused);
    }
    subject
}

/// Why the unmodified kernel cannot be judged further.
fn refusal(own: &Probe) -> Option<(u8, String)> {
    if let Some(sign) = &own.sign {
        let why = format!("the kernel itself is not clean: {}", sign.what);
        return Some((exit::FINDINGS, why));
    }
    let (verdict, why) = own.trouble.as_ref()?;
    Some((exit::INCONCLUSIVE, format!("{}: {why}", verdict.name())))
}

fn outcome(prepared: &Prepared<'_>, mutant: &Mutant, settings: &Settings) -> Outcome {
    let changed = match prepared.with_module(mutated(&prepared.module, mutant)) {
        Ok(changed) => changed,
        Err(error) => return Outcome::Unknown(Verdict::Unsupported, error.to_string()),
    };
    probed(&changed, settings)
}

fn probed(changed: &Prepared<'_>, settings: &Settings) -> Outcome {
    let probe = probe(changed, &settings.trial, settings.smallest);
    match (probe.sign, probe.trouble) {
        (Some(sign), _) => Outcome::Needed(Box::new(sign)),
        (None, Some((verdict, why))) => Outcome::Unknown(verdict, why),
        (None, None) => Outcome::NoFailure {
            runs: probe.runs,
            launches: 1,
            every_schedule: !probe.dependent,
        },
    }
}

/// The line to show: the source line, or the PTX line if there is none.
pub fn place(mutant: &Mutant, sources: &mut Sources, ptx: &Arc<SourceFile>) -> Label {
    let text = mutant.change.to_string();
    let instruction = mutant.edits.first().map(|edit| edit.before.to_string());
    let label = |source: Arc<SourceFile>, line, columns| Label {
        source,
        line,
        columns,
        text: text.clone(),
        who: None,
        instruction: instruction.clone(),
    };
    if let Some(line) = &mutant.line
        && let Some(file) = sources.find(&line.file)
        && let Some(text) = file.line(line.line)
    {
        let columns = statement(text, line.column);
        return label(file, line.line, columns);
    }
    let line = ptx_lines(mutant, ptx).first().copied().unwrap_or(1);
    let text = ptx.line(line).unwrap_or_default();
    let columns = statement(text, 0);
    label(Arc::clone(ptx), line, columns)
}

/// The lines of the PTX that a mutant changes.
pub fn ptx_lines(mutant: &Mutant, ptx: &SourceFile) -> Vec<u32> {
    let line = |start: u32| {
        let before = ptx.text.as_bytes().get(..start as usize);
        before.map_or(1, |b| b.iter().filter(|b| **b == b'\n').count() as u32 + 1)
    };
    mutant.edits.iter().map(|edit| line(edit.start)).collect()
}
