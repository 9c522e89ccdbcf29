//! Finds the places where a module can be mutated, and applies a mutation.
//!
//! A mutant is a set of edits: of one instruction, or of all copies that a compiler made of one place in the source by
//! unrolling, inlining or instantiating templates. Removing one of four copies of a barrier says little about the barrier,
//! so the usual unit is the place in the source.

use super::operator::{Change, Kind, mutations};
use ptx::SourceMap;
use ptx::ast::{Function, Instruction, Item, Loc, Module, Stmt};
use ptx::source::SourceLine;
use report::of_toolkit;
use std::collections::{BTreeMap, BTreeSet};

/// A mutant.
#[derive(Clone, Debug, PartialEq)]
pub struct Mutant {
    /// What is changed.
    pub change: Change,
    /// Where, in the source: the innermost line that is not the toolkit's. `None` where the PTX has no source lines.
    pub line: Option<SourceLine>,
    /// The instructions that it changes, in the order of the text; at least one.
    pub edits: Vec<Edit>,
}

/// One instruction and its replacement.
#[derive(Clone, Debug, PartialEq)]
pub struct Edit {
    /// The first byte of the instruction in the PTX's text, which names it.
    pub start: u32,
    /// The instruction.
    pub before: Instruction,
    /// What takes its place.
    pub after: Vec<Stmt>,
}

/// Which instructions form one mutant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unit {
    /// All that come from one place (line and column) of the source.
    #[default]
    Place,
    /// Each instruction separately.
    Instruction,
}

/// The mutants of the functions of `module` that `wanted` names, in the order of the source's lines: of these kinds, or of all
/// where `only` is empty.
pub fn mutants(module: &Module, wanted: &BTreeSet<&str>, unit: Unit, only: &[Kind]) -> Vec<Mutant> {
    let sources = SourceMap::of(module);
    let mut found = Vec::new();
    for function in functions(module).filter(|f| wanted.contains(f.name.as_str())) {
        let mut walk = Walk {
            sources: &sources,
            loc: None,
            before: None,
            found: &mut found,
        };
        walk.statements(function.body.as_deref().unwrap_or_default());
    }
    found.retain(|(m, _): &(Mutant, u32)| only.is_empty() || only.contains(&m.change.kind));
    let mut all = match unit {
        Unit::Instruction => found.into_iter().map(|(m, _)| m).collect(),
        Unit::Place => grouped(found),
    };
    all.sort_by_key(|m| (m.line.as_ref().map(key), m.edits[0].start));
    all
}

/// File, line and column.
fn key(line: &SourceLine) -> (String, u32, u32) {
    (line.file.clone(), line.line, line.column)
}

/// One mutant of all that come from one place. Adjacent instructions of one place are not copies of each other, as those of an unrolled
/// loop are, but several that stand there, as in a macro: the second number tells them apart.
fn grouped(found: Vec<(Mutant, u32)>) -> Vec<Mutant> {
    let mut out: Vec<Mutant> = Vec::new();
    let mut known = BTreeMap::new();
    for (one, number) in found {
        let Some(line) = &one.line else {
            out.push(one);
            continue;
        };
        let at = *known
            .entry((key(line), one.change.clone(), number))
            .or_insert(out.len());
        match out.get_mut(at) {
            Some(group) => group.edits.extend(one.edits),
            None => out.push(one),
        }
    }
    out
}

struct Walk<'a> {
    sources: &'a SourceMap,
    loc: Option<&'a Loc>,
    /// Of the instruction before: its place, its first change, its number among adjacent ones of one place; none if it has no mutants.
    before: Option<(Option<SourceLine>, Change, u32)>,
    /// With the number among adjacent ones of one place.
    found: &'a mut Vec<(Mutant, u32)>,
}

impl<'a> Walk<'a> {
    fn statements(&mut self, body: &'a [Stmt]) {
        for statement in body {
            match statement {
                // Line 0 marks compiler-generated code without a source line: it belongs to the preceding line.
                Stmt::Loc(loc) if loc.line == 0 && self.loc.is_some() => {}
                Stmt::Loc(loc) => self.loc = Some(loc),
                Stmt::Block(inner) => self.statements(inner),
                Stmt::Instruction(i) => {
                    let line = self.loc.and_then(|loc| place(self.sources, loc));
                    let mutations = mutations(i);
                    let first = mutations.first().map(|m| m.change.clone());
                    let number = match (&self.before, &first) {
                        (Some((at, change, number)), Some(first))
                            if *at == line && change == first =>
                        {
                            number + 1
                        }
                        _ => 0,
                    };
                    self.before = first.map(|first| (line.clone(), first, number));
                    for mutation in mutations {
                        let mutant = Mutant {
                            change: mutation.change,
                            line: line.clone(),
                            edits: vec![Edit {
                                start: i.span.start,
                                before: i.clone(),
                                after: mutation.replacement,
                            }],
                        };
                        self.found.push((mutant, number));
                    }
                }
                _ => {}
            }
        }
    }
}

fn place(sources: &SourceMap, loc: &Loc) -> Option<SourceLine> {
    let mut chain = sources.chain(loc).into_iter().filter(|l| l.line > 0);
    chain.find(|l| !of_toolkit(&l.file))
}

/// The module with a mutant's edits.
pub fn mutated(module: &Module, mutant: &Mutant) -> Module {
    mutated_by(module, &[mutant])
}

/// The module with the edits of several mutants; of two edits of one instruction the last counts.
pub fn mutated_by(module: &Module, mutants: &[&Mutant]) -> Module {
    let edits: BTreeMap<u32, &[Stmt]> = mutants
        .iter()
        .flat_map(|mutant| &mutant.edits)
        .map(|edit| (edit.start, edit.after.as_slice()))
        .collect();
    let mut module = module.clone();
    for item in &mut module.items {
        if let Item::Function(function) = item
            && let Some(body) = &mut function.body
        {
            edit(body, &edits);
        }
    }
    module
}

fn edit(body: &mut Vec<Stmt>, edits: &BTreeMap<u32, &[Stmt]>) {
    let touched = |s: &Stmt| match s {
        Stmt::Block(_) => true,
        Stmt::Instruction(i) => edits.contains_key(&i.span.start),
        _ => false,
    };
    if !body.iter().any(touched) {
        return;
    }
    for statement in std::mem::take(body) {
        match statement {
            Stmt::Block(mut inner) => {
                edit(&mut inner, edits);
                body.push(Stmt::Block(inner));
            }
            Stmt::Instruction(i) => match edits.get(&i.span.start) {
                Some(after) => body.extend_from_slice(after),
                None => body.push(Stmt::Instruction(i)),
            },
            other => body.push(other),
        }
    }
}

fn functions(module: &Module) -> impl Iterator<Item = &Function> {
    module.items.iter().filter_map(|item| match item {
        Item::Function(f) => Some(f),
        _ => None,
    })
}
