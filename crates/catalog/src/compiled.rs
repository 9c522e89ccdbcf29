//! Checks the statements of a case about its PTX (key `ptx`).
//!
//! [`checks`] evaluates the statements on the pinned PTX of one target, [`checks_with`] on any PTX, such as that of another
//! compiler. Both return one [`PtxCheck`] for each statement: what was expected, what was counted, and on which lines.

use super::entry::{Catalog, Entry};
use super::pinned::Pin;
use super::ptx_expectations::{PtxExpectations, Quantity};
use ptx::SourceMap;
use ptx::ast::Function;
use ptxdiff::code::value::Values;
use ptxdiff::code::{Code, Instr};
use ptxdiff::effect::Effect;
use ptxdiff::pattern::Pattern;
use ptxdiff::report::title;
use ptxdiff::{FunctionDiff, Side, Unit};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use std::rc::Rc;

/// One expectation, evaluated.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct PtxCheck {
    /// What is claimed: `counts st.shared`, `effects volatile store-elided`.
    pub claim: String,
    /// What was expected: `2`, `none`, `>= 1`.
    pub expected: String,
    /// What there is.
    pub counted: usize,
    /// Whether it is so.
    pub holds: bool,
    /// Where it was counted.
    pub lines: Vec<PtxLine>,
    /// What is missing of an order, or why nothing could be counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// A line of PTX.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct PtxLine {
    /// From 1.
    pub line: u32,
    /// The instruction.
    pub text: String,
    /// The line of the source that it comes from, where known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<u32>,
    /// Set where it stands in the other case's PTX.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub other: bool,
}

impl PtxCheck {
    /// One line, and one for each place: `counts st.shared: expected 2, counted 3`.
    pub fn message(&self) -> String {
        let mut text = match &self.problem {
            Some(problem) => format!("{}: {problem}", self.claim),
            None => format!(
                "{}: expected {}, counted {}",
                self.claim, self.expected, self.counted
            ),
        };
        for line in &self.lines {
            let source = line
                .source
                .map_or(String::new(), |l| format!(" (source line {l})"));
            let other = if line.other { " of the other case" } else { "" };
            text += &format!("\n  PTX line {}{other}{source}: {}", line.line, line.text);
        }
        text
    }
}

/// PTX that can't be had or read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NoPtx(pub String);

/// Evaluates the expectations of a case on its pinned PTX for a target (one of the [case's](super::case::Case::targets)).
///
/// # Errors
///
/// PTX that is not there or that can't be read.
pub fn checks(
    catalog: &Catalog,
    entry: &Entry,
    target: &'static str,
) -> Result<Vec<PtxCheck>, NoPtx> {
    checks_with(catalog, entry, target, &mut |entry| {
        let pin = Pin::new(&entry.case, target);
        let text = catalog
            .tree
            .text(&pin.ptx)
            .ok_or_else(|| NoPtx(format!("`{}` is missing", pin.ptx)))?;
        let unit = Unit::parse(text.to_owned()).map_err(|e| NoPtx(format!("{}: {e}", pin.ptx)))?;
        Ok(Rc::new(unit))
    })
}

/// The same on PTX that `ptx` gives for this case and those that it is compared with.
///
/// # Errors
///
/// What `ptx` gives.
pub fn checks_with(
    catalog: &Catalog,
    entry: &Entry,
    target: &str,
    ptx: &mut dyn FnMut(&Entry) -> Result<Rc<Unit>, NoPtx>,
) -> Result<Vec<PtxCheck>, NoPtx> {
    let Some(claims) = &entry.case.ptx else {
        return Ok(Vec::new());
    };
    let unit = ptx(entry)?;
    let mut checks = instructions(claims, entry, &unit, target)?;
    for (name, effects) in &claims.effects {
        let other = other(catalog, entry, name)
            .ok_or_else(|| NoPtx(format!("there is no case `{name}`")))?;
        let beside = ptx(other)?;
        checks.extend(compared(
            claims,
            (entry, &unit),
            (name, other, &beside),
            effects,
            target,
        )?);
    }
    Ok(checks)
}

/// The case that a name in `effects` means.
pub fn other<'c>(catalog: &'c Catalog, entry: &Entry, name: &str) -> Option<&'c Entry> {
    let stem = match name {
        "twin" => entry.case.twin.as_deref()?,
        name => name,
    };
    catalog
        .find(&format!("{}/{stem}", entry.family()))
        .or_else(|| catalog.find(stem))
}

/// The kernels that are meant, in the order in which they are launched.
fn functions<'u>(
    claims: &PtxExpectations,
    entry: &Entry,
    unit: &'u Unit,
) -> Result<Vec<&'u Function>, NoPtx> {
    let find = |name: &str| {
        unit.entry(name)
            .ok_or_else(|| NoPtx(format!("the PTX has no kernel `{name}`")))
    };
    if let Some(name) = &claims.entry {
        return Ok(vec![find(name)?]);
    }
    let mut functions: Vec<&Function> = Vec::new();
    for launch in entry.case.launched() {
        let function = find(&launch.entry)?;
        if !functions.iter().any(|known| known.name == function.name) {
            functions.push(function);
        }
    }
    Ok(functions)
}

fn instructions(
    claims: &PtxExpectations,
    entry: &Entry,
    unit: &Unit,
    target: &str,
) -> Result<Vec<PtxCheck>, NoPtx> {
    let mut values = Values::default();
    let map: &SourceMap = &unit.map;
    let codes = functions(claims, entry, unit)?
        .into_iter()
        .map(|f| {
            Code::of(&unit.text, map, f, &mut values)
                .map_err(|e| NoPtx(format!("`{}`: {e}", f.name)))
        })
        .collect::<Result<Vec<Code>, NoPtx>>()?;
    let lines = |pattern: &Pattern| -> Vec<PtxLine> {
        let fitting = codes.iter().flat_map(|code| {
            let fits = move |(_, i): &(usize, &Instr)| pattern.fits(i.instr);
            code.instructions
                .iter()
                .enumerate()
                .filter(fits)
                .map(move |(index, _)| line(code, index, false))
        });
        fitting.collect()
    };
    let mut checks = Vec::new();
    let mut counted =
        |claim: String, expected: String, holds: &dyn Fn(usize) -> bool, lines: Vec<PtxLine>| {
            let counted = lines.len();
            checks.push(PtxCheck {
                claim,
                expected,
                counted,
                holds: holds(counted),
                lines,
                problem: None,
            });
        };
    for (pattern, quantity) in &claims.counts {
        if let Some(bounds) = quantity.on(target) {
            counted(
                format!("counts {pattern}"),
                bounds.to_string(),
                &|n| bounds.holds(n),
                lines(pattern),
            );
        }
    }
    for pattern in &claims.has {
        counted(
            format!("has {pattern}"),
            ">= 1".to_owned(),
            &|n| n > 0,
            lines(pattern),
        );
    }
    for pattern in &claims.lacks {
        counted(
            format!("lacks {pattern}"),
            "none".to_owned(),
            &|n| n == 0,
            lines(pattern),
        );
    }
    checks.extend(claims.order.iter().map(|order| in_order(order, &codes)));
    Ok(checks)
}

/// Whether the patterns are fitted one after the other, by one kernel.
fn in_order(order: &[Pattern], codes: &[Code]) -> PtxCheck {
    let names: Vec<String> = order.iter().map(ToString::to_string).collect();
    let mut best: Vec<PtxLine> = Vec::new();
    for code in codes {
        let mut wanted = order.iter().peekable();
        let mut met = Vec::new();
        for (index, instr) in code.instructions.iter().enumerate() {
            if wanted
                .next_if(|pattern| pattern.fits(instr.instr))
                .is_some()
            {
                met.push(line(code, index, false));
            }
        }
        if met.len() > best.len() || best.is_empty() {
            best = met;
        }
    }
    let holds = best.len() == order.len();
    let problem = (!holds).then(|| match best.last() {
        Some(last) => format!("no `{}` after line {}", order[best.len()], last.line),
        None => format!("no `{}`", order[0]),
    });
    PtxCheck {
        claim: format!("order {}", names.join(", ")),
        expected: order.len().to_string(),
        counted: best.len(),
        holds,
        lines: best,
        problem,
    }
}

fn line(code: &Code, index: usize, other: bool) -> PtxLine {
    let instr = &code.instructions[index];
    PtxLine {
        line: instr.line,
        text: instr.instr.to_string().trim_end_matches(';').to_owned(),
        source: code.source(index).map(|line| line.line),
        other,
    }
}

/// The effects in this case's kernels beside the other's: kernels of one name, or the only ones.
fn compared(
    claims: &PtxExpectations,
    (entry, unit): (&Entry, &Unit),
    (name, other, beside): (&str, &Entry, &Unit),
    effects: &BTreeMap<Effect, Quantity>,
    target: &str,
) -> Result<Vec<PtxCheck>, NoPtx> {
    let mine = functions(claims, entry, unit)?;
    let theirs = functions(&PtxExpectations::default(), other, beside)?;
    let mut pairs: Vec<(&Function, &Function)> = Vec::new();
    for function in &mine {
        match theirs.iter().find(|f| f.name == function.name) {
            Some(partner) => pairs.push((function, partner)),
            None if mine.len() == 1 && theirs.len() == 1 => pairs.push((function, theirs[0])),
            None => {
                return Err(NoPtx(format!(
                    "`{}` has no kernel that corresponds to `{}`; name one with `entry`",
                    other.id, function.name
                )));
            }
        }
    }
    let diffs = pairs
        .into_iter()
        .map(|(x, y)| FunctionDiff::of((unit, x), (beside, y)).map_err(|e| NoPtx(e.to_string())))
        .collect::<Result<Vec<_>, NoPtx>>()?;
    let mut checks = Vec::new();
    for (effect, quantity) in effects {
        let Some(bounds) = quantity.on(target) else {
            continue;
        };
        let counted: usize = diffs.iter().map(|diff| diff.count(*effect, Side::A)).sum();
        let mut lines = Vec::new();
        for diff in &diffs {
            let shown = diff
                .effects
                .iter()
                .filter(|o| o.effect == *effect && o.side.is_none_or(|s| s == Side::A));
            for occurrence in shown.flat_map(|o| &o.occurrences) {
                match (occurrence.a.first(), occurrence.b.first()) {
                    (Some(&index), _) => lines.push(line(&diff.a, index, false)),
                    (None, Some(&index)) => lines.push(line(&diff.b, index, true)),
                    (None, None) => {}
                }
            }
        }
        checks.push(PtxCheck {
            claim: format!("effects {name} {effect}"),
            expected: bounds.to_string(),
            counted,
            holds: bounds.holds(counted),
            lines,
            problem: None,
        });
    }
    Ok(checks)
}

/// What an effect of this case beside another one means, in a sentence.
pub fn sentence(effect: Effect, count: usize) -> String {
    title(effect, Some(Side::A), count)
}
