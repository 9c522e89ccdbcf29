//! Names in a case: each stands for a size, a buffer or an oracle that there is, and none for itself.

use super::{Check, is_name};
use crate::case::{Argument, Launch};
use crate::error::{CatalogError, Hint};
use crate::locate::Step;
use crate::oracle::{self, Takes};
use crate::values::{Fill, SizeSpec};
use session::expression::Expression;
use std::collections::{BTreeMap, BTreeSet};

impl<'a> Check<'a> {
    pub(super) fn names(&mut self) {
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
                    format!(
                        "`{name}` is not a valid name: use letters, digits and `_`, but not `i`"
                    ),
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
        for (name, tensor) in &case.tensors {
            let at = |key: &'a str| {
                [
                    Step::Key("tensors"),
                    Step::Key(name.as_str()),
                    Step::Key(key),
                ]
            };
            if !is_name(name) || sizes.contains(name.as_str()) || buffers.contains(name.as_str()) {
                self.inconsistent(
                    &at("of")[..2],
                    format!("`{name}` is not a valid name, or one of a size or a buffer"),
                );
            }
            self.name(&at("of"), "buffer", &tensor.of, &buffers);
            (tensor.dims.iter()).for_each(|e| self.expression(&at("dims"), e, &sizes));
            (tensor.extent.iter()).for_each(|e| self.expression(&at("box"), e, &sizes));
            (tensor.pitch.iter()).for_each(|e| self.expression(&at("pitch"), e, &sizes));
            let ranks = [tensor.dims.len(), tensor.extent.len()];
            if ranks[0] != ranks[1] || !(1..=5).contains(&ranks[0]) {
                self.inconsistent(
                    &at("box"),
                    "a tensor and its box have the same number of dimensions, one to five",
                );
            }
        }
        for (index, launch) in case.launches.iter().enumerate() {
            let path = [Step::Key("launches"), Step::Index(index)];
            self.launch(&path, launch, &sizes, &buffers);
            if launch.stream.is_some() {
                let at = [path.as_slice(), &["stream".into()]].concat();
                self.inconsistent(
                    &at,
                    "`launches` use one stream; write a `plan` for several streams",
                );
            }
        }
        self.plan(&sizes, &buffers);
    }

    pub(super) fn launch(
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
            self.inconsistent(&at("repeat"), "a launch can repeat over only one variable");
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
        let tensors = self.case().tensors.keys().map(String::as_str);
        let memory = buffers.iter().copied().chain(tensors).collect();
        self.arguments(&at("args"), &launch.args, &known, &memory);
        for (k, name) in launch.swap.iter().flatten().enumerate() {
            let path = [at("swap").as_slice(), &[Step::Index(k)]].concat();
            self.name(&path, "buffer", name, buffers);
        }
    }

    pub(super) fn oracles(&mut self) {
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
