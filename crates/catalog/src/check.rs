//! Checks the meaning of a case: names are defined, the twin exists, and the bug can be detected.

mod compiled;
mod names;
mod plan;
mod refusal;

use super::annotation::Fault;
use super::case::{Case, ExpectedVerdict};
use super::entry::Entry;
use super::error::{CatalogError, Hint, Place};
use super::locate::{Step, locate};
use super::tree::Tree;
use crate::equivalent::{lines, plan_lines};
use detect::rules::{Level, Rule};
use session::expression::Expression;
use std::collections::BTreeSet;

/// Whether a fault only costs time.
pub fn is_performance(fault: Fault) -> bool {
    matches!(fault, Fault::Rule(rule) if rule.level() == Level::Note)
}

/// What could not be read, so that its absence is no news.
#[derive(Clone, Copy, Debug)]
pub struct Doubt {
    /// Some YAML files.
    pub cases: bool,
    /// Some tags of the case's kernel.
    pub tags: bool,
}

/// Checks one case against the others.
pub fn entry(
    entry: &Entry,
    all: &[Entry],
    tree: &Tree,
    doubt: Doubt,
    errors: &mut Vec<CatalogError>,
) {
    let yaml = tree.text(&entry.file).unwrap_or_default();
    let mut check = Check {
        entry,
        yaml,
        errors,
    };
    check.kernel(tree);
    check.twin(all, doubt.cases);
    check.expectations(doubt.tags);
    check.targets();
    check.refusal(all, doubt.tags);
    check.names();
    check.oracles();
    check.compiled(all, doubt.cases);
    check.equivalent(tree);
}

struct Check<'a> {
    entry: &'a Entry,
    yaml: &'a str,
    errors: &'a mut Vec<CatalogError>,
}

impl<'a> Check<'a> {
    fn case(&self) -> &'a Case {
        &self.entry.case
    }

    fn place(&self, path: &[Step<'_>]) -> Place {
        let (line, column) = locate(self.yaml, path);
        Place {
            file: self.entry.file.clone(),
            line,
            column,
        }
    }

    fn inconsistent(&mut self, path: &[Step<'_>], problem: impl Into<String>) {
        let place = self.place(path);
        self.errors.push(CatalogError::Inconsistent {
            place,
            problem: problem.into(),
        });
    }

    fn kernel(&mut self, tree: &Tree) {
        let kernel = &self.case().kernel;
        if tree.text(&self.entry.kernel_file()).is_none() {
            let known: Vec<_> = tree
                .below("kernels/", ".cu")
                .map(|(file, _)| file.trim_start_matches("kernels/"))
                .collect();
            let hint = Hint::new(kernel, known.into_iter());
            let place = self.place(&["kernel".into()]);
            self.errors.push(CatalogError::MissingKernel {
                place,
                kernel: kernel.clone(),
                hint,
            });
        }
        for name in self.case().defines.keys() {
            if !is_name(name) {
                self.inconsistent(
                    &["defines".into(), name.as_str().into()],
                    format!("`{name}` is not the name of a preprocessor symbol"),
                );
            }
        }
    }

    fn twin(&mut self, all: &[Entry], unreadable: bool) {
        let place = || self.place(&["twin".into()]);
        let Some(twin) = &self.case().twin else {
            if self.case().expect.simulator.verdict == ExpectedVerdict::Caught
                && !self.entry.tags.iter().any(|tag| is_performance(tag.fault))
            {
                let place = self.place(&["expect".into(), "simulator".into()]);
                self.errors.push(CatalogError::NoTwin { place });
            }
            return;
        };
        let family = self.entry.family();
        let siblings = || {
            all.iter()
                .filter(|e| e.family() == family && e.id != self.entry.id)
        };
        let error = match siblings().find(|e| e.stem() == twin) {
            None if unreadable => return,
            None => CatalogError::MissingTwin {
                place: place(),
                twin: twin.clone(),
                hint: Hint::new(
                    twin,
                    siblings().filter(|e| !e.case.is_buggy()).map(Entry::stem),
                ),
            },
            Some(found) => match &found.case.twin {
                Some(of_twin) => CatalogError::TwinOfTwin {
                    place: place(),
                    twin: twin.clone(),
                    of_twin: of_twin.clone(),
                },
                None => return,
            },
        };
        self.errors.push(error);
    }

    fn expectations(&mut self, untagged: bool) {
        let case = self.case();
        let at: &[Step<'_>] = &["expect".into(), "simulator".into()];
        let verdict = case.expect.simulator.verdict;
        if case.is_buggy() && verdict == ExpectedVerdict::Clean {
            self.inconsistent(at, "a case with a `twin` is buggy: expect `caught` from the simulator, or `missed` with a reason");
        }
        if !case.is_buggy() && verdict == ExpectedVerdict::Missed {
            self.inconsistent(
                at,
                "a case without a `twin` is correct, so nothing can be missed",
            );
        }
        if case.is_buggy()
            && self.entry.tags.is_empty()
            && case.refusal().is_none()
            && case.wrong_results != Some(true)
            && !untagged
        {
            let place = Place::file(&self.entry.file);
            self.errors.push(CatalogError::NoAnnotation {
                place,
                kernel: case.kernel.clone(),
                case: self.entry.stem().to_owned(),
            });
        }
        if !case.is_buggy() && case.wrong_results.is_some() {
            self.inconsistent(
                &["wrong-results".into()],
                "`wrong-results` is only for buggy cases, which have a `twin`",
            );
        }
        let compares = !case.oracle.is_empty() || case.prints.is_some();
        let tagged_wrong = self
            .entry
            .tags
            .iter()
            .any(|t| t.fault == Fault::WrongResult);
        let shows_wrong = case.wrong_results == Some(true) || tagged_wrong;
        if shows_wrong && !compares && case.refusal().is_none() {
            self.inconsistent(&["oracle".into()], "`wrong-results` needs an `oracle`");
        }
        if !case.is_meant_buggy() && !compares {
            self.inconsistent(
                &["oracle".into()],
                "a correct case needs an `oracle` (or `prints`)",
            );
        }
        for tag in self
            .entry
            .tags
            .iter()
            .filter(|tag| is_performance(tag.fault))
        {
            let counted = case
                .perf
                .keys()
                .any(|rule| Fault::Rule(Rule::from(*rule)) == tag.fault);
            if !counted {
                let name = tag.fault.name();
                self.inconsistent(
                    &["perf".into()],
                    format!(
                        "a line is tagged `{name}`, which needs the key `perf: {{{name}: {{}}}}`"
                    ),
                );
            }
        }
        if case.launched().next().is_none() && case.refusal().is_none() {
            self.inconsistent(&["launches".into()], "the case launches nothing");
        }
    }

    fn targets(&mut self) {
        let targets = &self.case().targets;
        let different: BTreeSet<_> = targets.iter().collect();
        if targets.is_empty() {
            self.inconsistent(&["targets".into()], "the kernel needs at least one target");
        } else if different.len() < targets.len() {
            self.inconsistent(&["targets".into()], "a target is named twice");
        }
    }

    fn equivalent(&mut self, tree: &Tree) {
        let source = tree.text(&self.entry.kernel_file());
        let case = self.case();
        if case.is_buggy() && !case.equivalent.is_empty() {
            self.inconsistent(
                &["equivalent".into()],
                "only correct cases, which have no `twin`, have mutants to explain",
            );
        }
        for (index, one) in case.equivalent.iter().enumerate() {
            let at = |key| [Step::Key("equivalent"), Step::Index(index), Step::Key(key)];
            let (found, place) = match one.mutation.is_of_plan() {
                true => {
                    let text = &self.entry.source.text;
                    (
                        plan_lines(text, &one.line),
                        "the case's `plan` and `streams`".to_owned(),
                    )
                }
                false => {
                    let Some(source) = source else { continue };
                    (lines(source, &one.line), format!("`{}`", case.kernel))
                }
            };
            if found.is_empty() {
                let problem = format!("`{}` does not occur in {place}", one.line.trim());
                self.inconsistent(&at("line"), problem);
            }
            if one.why.trim().is_empty() {
                self.inconsistent(&at("why"), "the explanation is empty");
            }
        }
    }

    fn expression(&mut self, at: &[Step<'_>], expression: &Expression, known: &BTreeSet<&str>) {
        for name in expression.names() {
            self.name(at, "size", name, known);
        }
    }

    fn name(&mut self, at: &[Step<'_>], kind: &'static str, name: &str, known: &BTreeSet<&str>) {
        if !known.contains(name) {
            let place = self.place(at);
            let hint = Hint::new(name, known.iter().copied());
            self.errors.push(CatalogError::UnknownName {
                place,
                kind,
                name: name.to_owned(),
                hint,
            });
        }
    }
}

/// Whether it is an identifier.
fn is_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}
