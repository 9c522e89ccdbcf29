//! Checks the statements of a case about its PTX (key `ptx`).
//!
//! [`checks`] evaluates the statements on the pinned PTX of one target, [`checks_with`] on any PTX, such as that of another
//! compiler. Both return one [`PtxCheck`] for each statement: what was expected, what was counted, and on which lines.

use super::load::{Catalog, Entry};
use super::pinned::Pin;
use ptx::SourceMap;
use ptx::ast::Function;
use ptxdiff::code::value::Values;
use ptxdiff::code::{Code, Instr};
use ptxdiff::effect::Effect;
use ptxdiff::pattern::Pattern;
use ptxdiff::report::title;
use ptxdiff::{FunctionDiff, Side, Unit};
use schemars::JsonSchema;
use serde::de::{self, Deserializer, MapAccess, Visitor};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::rc::Rc;
use std::str::FromStr;

/// What the compiler must have made of the kernel, checked on the pinned PTX of every target. A pattern is an opcode followed by
/// required qualifiers in any order: `st.shared` matches `st.volatile.shared.u32`. `!volatile` excludes a qualifier
/// (`bar.sync.!warp` matches block barriers, but not `bar.warp.sync`). `*` matches the rest of a word (`bar*`, `*.volatile`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct PtxExpectations {
    /// The plain name of the kernel to check; the default is all kernels that the case launches, together.
    #[serde(default)]
    pub entry: Option<String>,
    /// The number of instructions that match each pattern: a number, `>= 2`, `2..=4`, or one for each target,
    /// `{sm_75: 2, sm_90: 3}`.
    #[serde(default)]
    pub counts: BTreeMap<Pattern, Quantity>,
    /// Patterns that must match an instruction.
    #[serde(default)]
    pub has: Vec<Pattern>,
    /// Patterns that must match no instruction.
    #[serde(default)]
    pub lacks: Vec<Pattern>,
    /// Sequences of patterns that must match in this order; other instructions may stand between them.
    #[serde(default)]
    pub order: Vec<Vec<Pattern>>,
    /// What the compiler did to this case's kernel, relative to another case's. Name the other case by its file's stem in the
    /// same folder, by its full name, or as `twin`. List effects under the names of `racetrap diff`, with their counts.
    #[serde(default)]
    pub effects: BTreeMap<String, BTreeMap<Effect, Quantity>>,
}

/// How many there must be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// On every target.
    Everywhere(Bounds),
    /// On each target its own; nothing is said about those that are left out.
    ByTarget(BTreeMap<String, Bounds>),
}

/// A number, or a comparison.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bounds {
    text: String,
    least: usize,
    most: usize,
}

impl Bounds {
    /// Whether `count` is within.
    pub fn holds(&self, count: usize) -> bool {
        (self.least..=self.most).contains(&count)
    }
}

impl fmt::Display for Bounds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl FromStr for Bounds {
    type Err = String;

    fn from_str(text: &str) -> Result<Bounds, String> {
        let text = text.trim();
        let number = |digits: &str| digits.trim().parse::<usize>().ok();
        let after = |sign: &str| text.strip_prefix(sign).map(number);
        let range = match text.split_once("..=") {
            Some((from, to)) => number(from).zip(number(to)),
            None => match (after(">="), after("<="), after(">"), after("<")) {
                (Some(n), ..) => n.map(|n| (n, usize::MAX)),
                (_, Some(n), ..) => n.map(|n| (0, n)),
                (_, _, Some(n), _) => n.map(|n| (n.saturating_add(1), usize::MAX)),
                (.., Some(n)) => n.filter(|n| *n > 0).map(|n| (0, n - 1)),
                _ => number(text).map(|n| (n, n)),
            },
        };
        match range {
            Some((least, most)) if least <= most => Ok(Bounds {
                text: text.to_owned(),
                least,
                most,
            }),
            _ => Err(format!(
                "`{text}` is not a number of instructions: write 2, >= 2, < 5 or 2..=4"
            )),
        }
    }
}

impl Quantity {
    /// What is said about a target, if anything.
    pub fn on(&self, target: &str) -> Option<&Bounds> {
        match self {
            Quantity::Everywhere(bounds) => Some(bounds),
            Quantity::ByTarget(targets) => targets.get(target),
        }
    }

    /// The targets that are named.
    pub fn targets(&self) -> impl Iterator<Item = &str> {
        let named = match self {
            Quantity::Everywhere(_) => None,
            Quantity::ByTarget(targets) => Some(targets.keys().map(String::as_str)),
        };
        named.into_iter().flatten()
    }
}

impl Serialize for Quantity {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Quantity::Everywhere(bounds) => serializer.serialize_str(&bounds.text),
            Quantity::ByTarget(targets) => serializer.collect_map(
                targets
                    .iter()
                    .map(|(target, bounds)| (target, &bounds.text)),
            ),
        }
    }
}

impl<'de> Deserialize<'de> for Quantity {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Quantity, D::Error> {
        struct Reader;
        struct Within(Bounds);
        impl<'de> Deserialize<'de> for Within {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Within, D::Error> {
                match deserializer.deserialize_any(Reader)? {
                    Quantity::Everywhere(bounds) => Ok(Within(bounds)),
                    Quantity::ByTarget(_) => Err(de::Error::custom("targets cannot be nested")),
                }
            }
        }
        impl<'de> Visitor<'de> for Reader {
            type Value = Quantity;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number, a comparison such as `>= 2`, or one for each target")
            }
            fn visit_u64<E: de::Error>(self, value: u64) -> Result<Quantity, E> {
                self.visit_str(&value.to_string())
            }
            fn visit_i64<E: de::Error>(self, value: i64) -> Result<Quantity, E> {
                self.visit_str(&value.to_string())
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Quantity, E> {
                text.parse().map(Quantity::Everywhere).map_err(E::custom)
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Quantity, A::Error> {
                let mut targets = BTreeMap::new();
                while let Some((target, Within(bounds))) = map.next_entry::<String, Within>()? {
                    targets.insert(target, bounds);
                }
                Ok(Quantity::ByTarget(targets))
            }
        }
        deserializer.deserialize_any(Reader)
    }
}

impl JsonSchema for Quantity {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Quantity".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let one = serde_json::json!([{ "type": "integer", "minimum": 0 }, { "type": "string" }]);
        schemars::json_schema!({
            "description": "A number, a comparison (`>= 2`, `< 5`, `2..=4`), or one for each target.",
            "anyOf": [
                { "type": "integer", "minimum": 0 },
                { "type": "string" },
                { "type": "object", "additionalProperties": { "anyOf": one } }
            ]
        })
    }
}

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

/// Evaluates the expectations of a case on its pinned PTX for a target (one of [`super::pinned::TARGETS`]).
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_are_numbers_and_comparisons() {
        let holds = |text: &str, count| text.parse::<Bounds>().unwrap().holds(count);
        assert!(holds("2", 2) && !holds("2", 3));
        assert!(holds(">= 2", 9) && !holds("> 2", 2) && holds("<= 2", 0) && !holds("<2", 2));
        assert!(holds("2..=4", 4) && !holds("2..=4", 5));
        for text in ["", "two", "4..=2", "-1", "< 0", "== 2"] {
            assert!(text.parse::<Bounds>().is_err(), "{text}");
        }
    }

    #[test]
    fn targets_may_have_their_own() {
        let quantity: Quantity = serde_yaml::from_str("{sm_75: 2, sm_90: '>= 3'}").unwrap();
        assert!(quantity.on("sm_90").unwrap().holds(4));
        assert_eq!(quantity.on("sm_100"), None);
        assert!(serde_yaml::from_str::<Quantity>("{sm_75: {sm_90: 1}}").is_err());
    }
}
