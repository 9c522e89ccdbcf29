//! What a case's YAML means: names that stand for something, a twin that exists,
//! a bug that something can show.

mod plan;

use super::annotation::Fault;
use super::case::{Argument, Case, ExpectedVerdict, Launch};
use super::error::{CatalogError, Hint, Place};
use super::expression::Expression;
use super::load::Entry;
use super::locate::{Step, locate};
use super::oracle::{self, Takes};
use super::pinned::TARGETS;
use super::tree::Tree;
use super::values::{Fill, SizeSpec};
use crate::mutate::explain::lines;
use crate::mutate::step;
use crate::rules::{Level, Rule};
use std::collections::{BTreeMap, BTreeSet};

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

    /// What is said about the PTX: kernels that are launched, cases that exist, targets that are pinned.
    fn compiled(&mut self, all: &[Entry], unreadable: bool) {
        let Some(claims) = &self.case().ptx else {
            return;
        };
        if let Some(name) = &claims.entry
            && !self.case().launched().any(|launch| launch.entry == *name)
        {
            let names: Vec<&str> = self.case().launched().map(|l| l.entry.as_str()).collect();
            let hint = Hint::new(name, names.into_iter());
            self.inconsistent(
                &["ptx".into(), "entry".into()],
                format!("the case launches no `{name}` ({hint})"),
            );
        }
        let claimed =
            claims.counts.len() + claims.has.len() + claims.lacks.len() + claims.order.len();
        if claimed + claims.effects.values().map(|e| e.len()).sum::<usize>() == 0 {
            self.inconsistent(&["ptx".into()], "nothing is claimed about the PTX");
        }
        if claims.order.iter().any(|order| order.len() < 2) {
            self.inconsistent(
                &["ptx".into(), "order".into()],
                "an order has two patterns at least",
            );
        }
        for name in claims.effects.keys() {
            let known = |stem: &str| {
                all.iter()
                    .any(|e| e.id == stem || e.family() == self.entry.family() && e.stem() == stem)
            };
            let found = match (name.as_str(), &self.case().twin) {
                ("twin", twin) => twin.is_some(),
                (name, _) => known(name),
            };
            if !found && !unreadable {
                let family = self.entry.family();
                let stems: Vec<&str> = all
                    .iter()
                    .filter(|e| e.family() == family)
                    .map(Entry::stem)
                    .collect();
                let hint = Hint::new(name, stems.into_iter());
                self.inconsistent(
                    &["ptx".into(), "effects".into(), name.as_str().into()],
                    format!("no case `{name}` ({hint})"),
                );
            }
        }
        let quantities = claims
            .counts
            .values()
            .chain(claims.effects.values().flat_map(|e| e.values()));
        let targets: Vec<String> = quantities
            .flat_map(|q| q.targets())
            .map(str::to_owned)
            .collect();
        for target in targets
            .iter()
            .filter(|target| !TARGETS.contains(&target.as_str()))
        {
            self.inconsistent(
                &["ptx".into()],
                format!(
                    "no PTX is pinned for `{target}`, but for {}",
                    TARGETS.join(" and ")
                ),
            );
        }
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
            self.inconsistent(at, "a case with a `twin` is buggy: the simulator is to say `caught`, or `missed` with its reason");
        }
        if !case.is_buggy() && verdict == ExpectedVerdict::Missed {
            self.inconsistent(at, "nothing can be missed in a case without a `twin`");
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
                "`wrong-results` belongs to a buggy case, one with a `twin`",
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
            self.inconsistent(
                &["oracle".into()],
                "a wrong result needs an `oracle` to be told",
            );
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
                    format!("a line is tagged `{name}`, which is looked for under `perf: {{{name}: {{}}}}` alone"),
                );
            }
        }
        if case.launched().next().is_none() && case.refusal().is_none() {
            self.inconsistent(&["launches".into()], "nothing is launched");
        }
    }

    /// A kernel that the compiler is to refuse is not run, its tags are of the compiler's errors, and no case runs it all the same.
    fn refusal(&mut self, all: &[Entry], untagged: bool) {
        let case = self.case();
        let is_error = |fault| fault == Fault::CompileError;
        let Some(refusal) = case.refusal() else {
            if self.entry.tags.iter().any(|tag| is_error(tag.fault)) {
                self.inconsistent(
                    &["expect".into()],
                    "a line is tagged `compile-error`, which is the business of a case with `expect: {compiler: {errors: […]}}`",
                );
            }
            return;
        };
        let errors: &[Step<'_>] = &["expect".into(), "compiler".into(), "errors".into()];
        if refusal.errors.is_empty() {
            self.inconsistent(
                errors,
                "the compiler is to refuse the kernel, but for no error",
            );
        }
        let distinct: BTreeSet<&String> = refusal.errors.iter().collect();
        if distinct.len() < refusal.errors.len() {
            self.inconsistent(
                errors,
                "an error is named twice; once will do, however many lines have it",
            );
        }
        for (key, given) in [
            ("sizes", !case.sizes.is_empty()),
            ("buffers", !case.buffers.is_empty()),
            ("launches", !case.launches.is_empty()),
            ("plan", !case.plan.is_empty()),
            ("oracle", !case.oracle.is_empty()),
            ("prints", case.prints.is_some()),
            ("wrong-results", case.wrong_results.is_some()),
            ("perf", !case.perf.is_empty()),
            ("limits", case.limits != super::case::CaseLimits::default()),
        ] {
            if given {
                self.inconsistent(
                    &[key.into()],
                    format!("what the compiler refuses never runs: leave `{key}` out"),
                );
            }
        }
        if !untagged && self.entry.tags.iter().any(|tag| !is_error(tag.fault)) {
            self.inconsistent(
                &["kernel".into()],
                "what the compiler refuses never runs: its lines can be tagged `compile-error` and nothing else",
            );
        }
        let runs = |other: &&Entry| {
            other.case.refusal().is_none()
                && other.case.kernel == case.kernel
                && other.case.define_flags() == case.define_flags()
        };
        if let Some(other) = all.iter().find(runs) {
            self.inconsistent(
                &["defines".into()],
                format!(
                    "`{}` runs the same kernel with the same defines, so that it compiles",
                    other.id
                ),
            );
        }
    }

    fn equivalent(&mut self, tree: &Tree) {
        let source = tree.text(&self.entry.kernel_file());
        let case = self.case();
        if case.is_buggy() && !case.equivalent.is_empty() {
            self.inconsistent(
                &["equivalent".into()],
                "only correct cases have mutants to explain, those without a `twin`",
            );
        }
        for (index, one) in case.equivalent.iter().enumerate() {
            let at = |key| [Step::Key("equivalent"), Step::Index(index), Step::Key(key)];
            let (found, place) = match one.mutation.is_of_plan() {
                true => {
                    let text = &self.entry.source.text;
                    (
                        step::lines(text, &one.line),
                        "the case's `plan` and `streams`".to_owned(),
                    )
                }
                false => {
                    let Some(source) = source else { continue };
                    (lines(source, &one.line), format!("`{}`", case.kernel))
                }
            };
            if found.is_empty() {
                let problem = format!("`{}` stands nowhere in {place}", one.line.trim());
                self.inconsistent(&at("line"), problem);
            }
            if one.why.trim().is_empty() {
                self.inconsistent(&at("why"), "an explanation that says nothing");
            }
        }
    }

    fn names(&mut self) {
        let case = self.case();
        let sizes: BTreeSet<&str> = case.sizes.keys().map(String::as_str).collect();
        let buffers: BTreeSet<&str> = case.buffers.keys().map(String::as_str).collect();
        for name in case.sizes.keys().chain(case.buffers.keys()) {
            let kind = if sizes.contains(name.as_str()) {
                "sizes"
            } else {
                "buffers"
            };
            if !is_name(name) || name == "i" {
                self.inconsistent(
                    &[kind.into(), name.as_str().into()],
                    format!("`{name}` can't be a name here: letters, digits and `_`, and not `i`"),
                );
            }
        }
        for name in sizes.intersection(&buffers) {
            let place = self.place(&["buffers".into(), (*name).into()]);
            self.errors.push(CatalogError::AmbiguousName {
                place,
                name: (*name).to_owned(),
            });
        }
        for (name, spec) in &case.sizes {
            let at: &[Step<'_>] = &["sizes".into(), name.as_str().into()];
            match spec {
                SizeSpec::Computed(e) => self.expression(at, e, &sizes),
                SizeSpec::Range(low, high) => {
                    self.expression(at, low, &sizes);
                    self.expression(at, high, &sizes);
                }
                SizeSpec::Choices(_) => {}
            }
        }
        let uses = |name: &str| match case.sizes.get(name) {
            Some(SizeSpec::Computed(e)) => names_of(&[e]),
            Some(SizeSpec::Range(low, high)) => names_of(&[low, high]),
            _ => Vec::new(),
        };
        self.acyclic("sizes", &sizes, &uses);
        let with_index: BTreeSet<&str> = sizes.iter().copied().chain(["i"]).collect();
        for (name, buffer) in &case.buffers {
            let at = |key: &'a str| {
                [
                    Step::Key("buffers"),
                    Step::Key(name.as_str()),
                    Step::Key(key),
                ]
            };
            if let Some(length) = &buffer.length {
                self.expression(&at("length"), length, &sizes);
            } else if !matches!(buffer.values, Fill::Copy(_) | Fill::Literal(_)) {
                self.inconsistent(
                    &at("length")[..2],
                    format!("the buffer `{name}` has no `length`"),
                );
            }
            match &buffer.values {
                Fill::Random(Some((low, high))) => {
                    self.expression(&at("values"), low, &sizes);
                    self.expression(&at("values"), high, &sizes);
                }
                Fill::Each(e) => self.expression(&at("values"), e, &with_index),
                Fill::Copy(other) => self.name(&at("values"), "buffer", other, &buffers),
                _ => {}
            }
        }
        let copies = |name: &str| match case.buffers.get(name).map(|b| &b.values) {
            Some(Fill::Copy(other)) => vec![other.clone()],
            _ => Vec::new(),
        };
        self.acyclic("buffers", &buffers, &copies);
        for (index, launch) in case.launches.iter().enumerate() {
            let path = [Step::Key("launches"), Step::Index(index)];
            self.launch(&path, launch, &sizes, &buffers);
            if launch.stream.is_some() {
                let at = [path.as_slice(), &["stream".into()]].concat();
                self.inconsistent(
                    &at,
                    "`launches` are on one stream: write a `plan` for several",
                );
            }
        }
        self.plan(&sizes, &buffers);
    }

    fn launch(
        &mut self,
        path: &[Step<'_>],
        launch: &'a Launch,
        sizes: &BTreeSet<&'a str>,
        buffers: &BTreeSet<&'a str>,
    ) {
        let at = |key: &'static str| [path, &[Step::Key(key)]].concat();
        let mut known = sizes.clone();
        known.extend(launch.repeat.keys().map(String::as_str));
        for (name, repeat) in &launch.repeat {
            let path = [at("repeat").as_slice(), &[Step::Key(name.as_str())]].concat();
            for part in [&repeat.from, &repeat.condition, &repeat.next] {
                self.expression(&path, part, &known);
            }
        }
        if launch.repeat.len() > 1 {
            self.inconsistent(&at("repeat"), "a launch repeats over one variable");
        }
        let expressions = [("grid", &launch.grid.0), ("block", &launch.block.0)];
        for (key, all) in expressions {
            all.iter()
                .for_each(|e| self.expression(&at(key), e, &known));
        }
        launch
            .shared
            .iter()
            .for_each(|e| self.expression(&at("shared"), e, &known));
        self.arguments(&at("args"), &launch.args, &known, buffers);
        for (k, name) in launch.swap.iter().flatten().enumerate() {
            let path = [at("swap").as_slice(), &[Step::Index(k)]].concat();
            self.name(&path, "buffer", name, buffers);
        }
    }

    fn oracles(&mut self) {
        let case = self.case();
        let sizes: BTreeSet<&str> = case.sizes.keys().map(String::as_str).collect();
        let buffers: BTreeSet<&str> = case.buffers.keys().map(String::as_str).collect();
        let with_index: BTreeSet<&str> = sizes.iter().copied().chain(["i"]).collect();
        for (name, oracle) in &case.oracle {
            let at: &[Step<'_>] = &["oracle".into(), name.as_str().into()];
            self.name(at, "buffer", name, &buffers);
            oracle
                .first
                .iter()
                .for_each(|e| self.expression(at, e, &sizes));
            oracle
                .each
                .iter()
                .for_each(|e| self.expression(at, e, &with_index));
            self.arguments(
                &[at, &["args".into()]].concat(),
                &oracle.args,
                &sizes,
                &buffers,
            );
            let Some(call) = &oracle.is else { continue };
            let Some(function) = oracle::find(&call.function) else {
                let hint = Hint::new(&call.function, oracle::ALL.iter().map(|o| o.name));
                let place = self.place(at);
                self.errors.push(CatalogError::UnknownOracle {
                    place,
                    name: call.function.clone(),
                    hint,
                });
                continue;
            };
            if !function.takes(call.arguments.len()) {
                let place = self.place(at);
                self.errors.push(CatalogError::OracleArguments {
                    place,
                    signature: function.signature(),
                    given: call.arguments.len(),
                });
                continue;
            }
            for (argument, (_, takes)) in call.arguments.iter().zip(function.parameters) {
                match takes {
                    Takes::Buffer => self.name(at, "buffer", argument.text(), &buffers),
                    Takes::Number => self.expression(at, argument, &sizes),
                }
            }
        }
    }

    fn arguments(
        &mut self,
        at: &[Step<'_>],
        arguments: &[Argument],
        sizes: &BTreeSet<&str>,
        buffers: &BTreeSet<&str>,
    ) {
        for (index, argument) in arguments.iter().enumerate() {
            let path = [at, &[Step::Index(index)]].concat();
            match argument {
                Argument::Value(e) if e.as_name().is_some() => {
                    let known = sizes.union(buffers).copied().collect();
                    self.name(
                        &path,
                        "size or buffer",
                        e.as_name().unwrap_or_default(),
                        &known,
                    );
                }
                Argument::Value(e) => self.expression(&path, e, sizes),
                Argument::Float(_) => {}
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

    /// Follows what each name is made of; coming back to a name is an error.
    fn acyclic(
        &mut self,
        section: &str,
        names: &BTreeSet<&str>,
        uses: &dyn Fn(&str) -> Vec<String>,
    ) {
        let mut done: BTreeMap<String, ()> = BTreeMap::new();
        for start in names {
            let mut path: Vec<String> = vec![(*start).to_owned()];
            if let Some(cycle) = walk(&mut path, uses, &mut done) {
                let place = self.place(&[section.into(), (*start).into()]);
                let name = (*start).to_owned();
                self.errors.push(CatalogError::Circular {
                    place,
                    name,
                    cycle: cycle.join(" → "),
                });
                return;
            }
        }
    }
}

fn walk(
    path: &mut Vec<String>,
    uses: &dyn Fn(&str) -> Vec<String>,
    done: &mut BTreeMap<String, ()>,
) -> Option<Vec<String>> {
    let last = path.last().cloned().unwrap_or_default();
    for next in uses(&last) {
        if let Some(start) = path.iter().position(|name| *name == next) {
            let mut cycle = path[start..].to_vec();
            cycle.push(next);
            return Some(cycle);
        }
        if !done.contains_key(&next) {
            path.push(next);
            let cycle = walk(path, uses, done);
            path.pop();
            if cycle.is_some() {
                return cycle;
            }
        }
    }
    done.insert(last, ());
    None
}

fn names_of(expressions: &[&Expression]) -> Vec<String> {
    expressions
        .iter()
        .flat_map(|e| e.names())
        .map(str::to_owned)
        .collect()
}

/// Whether it is an identifier.
fn is_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}
