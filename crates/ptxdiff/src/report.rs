//! A diff as data, for the terminal and JSON renderers.

use super::code::{Code, Instr, plain_symbol};
use super::compare::Match;
use super::effect::Effect;
use super::sass::MachineReport;
use super::{FunctionDiff, Side, Unit};
use ptx::ast::{Function, Item, Operand, StateSpace, Stmt, Variable};
use ptx::demangle;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// The version of the document's format. It increases when a key is removed or changes its meaning.
pub const VERSION: u32 = 1;

/// The result of comparing two operands.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct DiffReport {
    /// The version of this format.
    pub version: u32,
    /// Whether nothing differs except the names of registers and labels and the order of blocks.
    pub same: bool,
    /// The first operand.
    pub a: Operands,
    /// The second operand.
    pub b: Operands,
    /// The kernels that were compared.
    pub functions: Vec<FunctionReport>,
    /// Kernels that only A has.
    pub only_a: Vec<String>,
    /// Kernels that only B has.
    pub only_b: Vec<String>,
}

/// An operand.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Operands {
    /// The operand as the user wrote it.
    pub name: String,
    /// How its PTX was made: target, compiler, flags.
    pub made: String,
}

/// A comparison of two kernels.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct FunctionReport {
    /// The demangled name in A.
    pub a: String,
    /// The demangled name in B.
    pub b: String,
    /// Whether nothing differs.
    pub same: bool,
    /// Number of A's instructions without unconditional branches.
    pub instructions_a: usize,
    /// B's.
    pub instructions_b: usize,
    /// What the compiler did.
    pub effects: Vec<EffectReport>,
    /// Variables and parameters that differ.
    pub declarations: Vec<Declaration>,
    /// All instructions, with matching ones side by side.
    pub rows: Vec<Row>,
    /// Counts of machine and PTX instructions, if requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub machine: Option<MachineReport>,
}

/// An effect and its occurrences.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct EffectReport {
    /// The effect; `racetrap explain EFFECT` prints its page.
    pub effect: Effect,
    /// The side that has the effect; absent if both sides agree.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub side: Option<Side>,
    /// The number of occurrences.
    pub count: usize,
    /// The effect in a sentence.
    pub title: String,
    /// The occurrences.
    pub occurrences: Vec<OccurrenceReport>,
}

/// An occurrence of an effect.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct OccurrenceReport {
    /// The number of copies of an unrolled loop's body.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub factor: Option<u32>,
    /// The difference in words: `release where B has acquire and release`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// A's instructions.
    pub a: Vec<Cell>,
    /// B's instructions.
    pub b: Vec<Cell>,
}

/// A declaration that differs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Declaration {
    /// The variable or parameter.
    pub name: String,
    /// A's declaration.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub a: Option<String>,
    /// B's declaration.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub b: Option<String>,
}

/// How the two sides of a row compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RowKind {
    /// Both sides are equal.
    Same,
    /// The two instructions match but differ.
    Changed,
    /// The matching instruction of the other side is elsewhere.
    Moved,
    /// Only A has it.
    OnlyA,
    /// Only B has it.
    OnlyB,
}

/// Two matching instructions side by side, or one without a match.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Row {
    /// How they compare.
    pub kind: RowKind,
    /// A's instruction.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub a: Option<Cell>,
    /// B's instruction.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub b: Option<Cell>,
}

/// An instruction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Cell {
    /// The PTX text. B's registers carry the names of A's if they correspond; registers that only B has are marked with `'`.
    pub text: String,
    /// Its line in the PTX, counted from 1.
    pub ptx_line: u32,
    /// The address that it accesses, in terms of symbols, parameters (by name, or `param0` if the compiler named them) and
    /// special registers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// The source file, as the compiler named it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The source line, counted from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
}

/// The JSON schema, stored in `docs/diff.schema.json`.
pub fn schema() -> String {
    let mut text = serde_json::to_string_pretty(&schemars::schema_for!(DiffReport))
        .unwrap_or_else(|e| unreachable!("a schema is plain JSON: {e}"));
    text.push('\n');
    text
}

impl FunctionReport {
    /// The data of a diff.
    pub fn of(diff: &FunctionDiff, a: &Unit, b: &Unit) -> FunctionReport {
        let cells = Cells::of(diff);
        let declarations = declarations((a, diff.a.function), (b, diff.b.function));
        let occurrence = |o: &super::effect::Occurrence| OccurrenceReport {
            factor: o.factor,
            note: o.note.clone(),
            a: o.a.iter().map(|&i| cells.cell(Side::A, i)).collect(),
            b: o.b.iter().map(|&i| cells.cell(Side::B, i)).collect(),
        };
        let effects = diff.effects.iter().map(|observed| EffectReport {
            effect: observed.effect,
            side: observed.side,
            count: observed.occurrences.len(),
            title: title(observed.effect, observed.side, observed.occurrences.len()),
            occurrences: observed.occurrences.iter().map(occurrence).collect(),
        });
        FunctionReport {
            a: demangle(&diff.a.function.name),
            b: demangle(&diff.b.function.name),
            same: diff.is_same() && declarations.is_empty(),
            instructions_a: diff.a.instructions.len(),
            instructions_b: diff.b.instructions.len(),
            effects: effects.collect(),
            rows: rows(diff, &cells),
            declarations,
            machine: None,
        }
    }
}

/// An effect in a sentence: `5 stores elided in A: B makes them, A does not`.
pub fn title(effect: Effect, side: Option<Side>, count: usize) -> String {
    let title = effect.title(count);
    let Some(side) = side else {
        return format!("{count} {title}");
    };
    let other = side.other();
    let rest = match effect {
        Effect::StoreElided => format!("{other} stores, {side} does not"),
        Effect::LoadElided => format!("{other} loads, {side} does not"),
        Effect::AtomicElided => format!("{other} has them, {side} does not"),
        Effect::AccessesVectorised | Effect::AccessesMerged => {
            format!("{other} has several narrower ones")
        }
        Effect::AccessMadeAtomic => format!("plain loads and stores in {other}"),
        Effect::CopyMadeAsynchronous => format!("loads and stores in {other}"),
        Effect::SynchronisationWeakened => format!("stronger in {other}"),
        Effect::ValueKept => {
            format!("{other} reads the value from memory again, {side} does not")
        }
        Effect::LoadMoved => format!("before the barrier in {side}, after it in {other}"),
        Effect::StoreMoved => format!("before the barrier in {side}, after it in {other}"),
        Effect::StoreSunk => format!("in each iteration in {other}"),
        Effect::LoopSplit => format!("one loop in {other}"),
        Effect::LoopUnswitched => format!("decided in each iteration of one loop in {other}"),
        Effect::LoopPipelined => format!("{other} makes all accesses in their own iteration"),
        Effect::OperationChanged => format!("the costlier one is in {other}"),
        Effect::Contracted => format!("two instructions in {other}"),
        Effect::Approximated => format!("rounded in {other}"),
        Effect::DenormalsFlushed => format!("{other} keeps them"),
        Effect::LoadMadeReadOnly => format!("coherent in {other}"),
        Effect::MovedToConstantMemory => format!("from global memory in {other}"),
        Effect::ValuesInLocalMemory => format!("in registers in {other}"),
        Effect::TailsMerged => format!("one for each way in {other}"),
        Effect::AtomicsAggregated => format!("one for each lane in {other}"),
        Effect::BarrierMoved => format!("outside of this loop in {other}"),
        Effect::FenceRegrouped => format!("in the access in {other}"),
        Effect::DoesMore => format!("it does what {other} does, and more"),
        Effect::LoadHoisted => format!("in each iteration in {other}"),
        Effect::LoopUnrolled => format!("a loop in {other}"),
        Effect::BranchToSelection => format!("a branch in {other}"),
        Effect::StrengthReduced => format!("the costlier one is in {other}"),
        Effect::AtomicToReduction => format!("{other} uses the old value, {side} does not"),
        Effect::CallInlined => format!("a call in {other}"),
        Effect::BarrierLost => format!("{other} has the barrier, {side} does not"),
        Effect::VolatileDropped => format!("volatile in {other}"),
        Effect::FenceLost => format!("{other} has the fence, {side} does not"),
        Effect::BarrierKept
        | Effect::FenceKept
        | Effect::VolatileKept
        | Effect::BarrierRenumbered
        | Effect::AccessesReordered
        | Effect::Unrelated => {
            return format!("{count} {title}");
        }
    };
    format!("{count} {title} in {side}: {rest}")
}

/// Turns instructions into cells.
struct Cells<'d, 'u> {
    diff: &'d FunctionDiff<'u>,
    /// A's registers by definition.
    names: HashMap<u32, &'d str>,
    /// What A's and B's parameters are called.
    parameters: [Vec<String>; 2],
}

impl<'d, 'u> Cells<'d, 'u> {
    fn of(diff: &'d FunctionDiff<'u>) -> Cells<'d, 'u> {
        let mut names = HashMap::new();
        for instr in &diff.a.instructions {
            for (name, definition) in &instr.registers {
                names.entry(*definition).or_insert(*name);
            }
        }
        Cells {
            diff,
            names,
            parameters: [&diff.a, &diff.b].map(|code| parameters(code.function)),
        }
    }

    fn cell(&self, side: Side, index: usize) -> Cell {
        let code = self.diff.code(side);
        let instr = &code.instructions[index];
        let source = code.source(index);
        Cell {
            text: self.text(side, instr),
            ptx_line: instr.line,
            address: self.address(side, instr),
            file: source.map(|line| line.file.clone()),
            line: source.map(|line| line.line),
        }
    }

    fn address(&self, side: Side, instr: &Instr) -> Option<String> {
        let place = instr.place?;
        let values = &self.diff.values;
        let base = values.show(place.base, 5, &self.parameters[side as usize]);
        Some(match place.offset {
            0 => base,
            offset if offset < 0 => format!("{base} - {}", offset.unsigned_abs()),
            offset => format!("{base} + {offset}"),
        })
    }

    fn text(&self, side: Side, instr: &Instr) -> String {
        let text = instr.instr.to_string();
        let text = text.trim_end_matches(';');
        if side == Side::A {
            return text.to_owned();
        }
        let renamed: HashMap<&str, String> = instr
            .registers
            .iter()
            .map(|(name, definition)| {
                let mine = self
                    .diff
                    .matching
                    .renamed
                    .get(definition)
                    .and_then(|d| self.names.get(d));
                (
                    *name,
                    mine.map_or_else(|| format!("{name}'"), |mine| (*mine).to_owned()),
                )
            })
            .collect();
        rename(text, &renamed)
    }
}

/// The text with its registers renamed.
fn rename(text: &str, names: &HashMap<&str, String>) -> String {
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '$' | '%');
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find(is_name) {
        let length = rest[start..]
            .find(|c| !is_name(c))
            .unwrap_or(rest.len() - start);
        let (before, word) = (&rest[..start], &rest[start..start + length]);
        out.push_str(before);
        out.push_str(names.get(word).map_or(word, String::as_str));
        rest = &rest[start + length..];
    }
    out + rest
}

fn rows(diff: &FunctionDiff, cells: &Cells) -> Vec<Row> {
    let matching = &diff.matching;
    let only = |side: Side, index: usize, moved: bool| {
        let cell = Some(cells.cell(side, index));
        let (a, b, kind) = match side {
            Side::A => (cell, None, RowKind::OnlyA),
            Side::B => (None, cell, RowKind::OnlyB),
        };
        Row {
            kind: if moved { RowKind::Moved } else { kind },
            a,
            b,
        }
    };
    let mut rows = Vec::new();
    let mut next_b = 0;
    // B's instructions before a match, in the order of the alignment.
    let mut b_until = |stop: Option<usize>, rows: &mut Vec<Row>| {
        while let Some(&index) = matching.order_b.get(next_b) {
            if Some(index) == stop {
                next_b += 1;
                return;
            }
            let moved =
                matching.of_b[index].is_some_and(|p| matching.pairs[p].kind == Match::Moved);
            if matching.of_b[index].is_none() || moved {
                rows.push(only(Side::B, index, moved));
            }
            next_b += 1;
        }
    };
    for &index in &matching.order_a {
        let pair = matching.of_a[index].map(|p| matching.pairs[p]);
        match pair {
            None => rows.push(only(Side::A, index, false)),
            Some(pair) if pair.kind == Match::Moved => rows.push(only(Side::A, index, true)),
            Some(pair) => {
                b_until(Some(pair.b), &mut rows);
                let a = cells.cell(Side::A, index);
                let mut b = cells.cell(Side::B, pair.b);
                let kind = match pair.kind {
                    Match::Same => RowKind::Same,
                    _ => RowKind::Changed,
                };
                if kind == RowKind::Same {
                    // Labels and the order of commutative operands do not count as a difference.
                    b.text = a.text.clone();
                }
                rows.push(Row {
                    kind,
                    a: Some(a),
                    b: Some(b),
                });
            }
        }
    }
    b_until(None, &mut rows);
    rows
}

/// Parameters and named variables in memory that differ.
fn declarations(a: (&Unit, &Function), b: (&Unit, &Function)) -> Vec<Declaration> {
    let (mine, theirs) = (declared(a), declared(b));
    let names: BTreeSet<&String> = mine.keys().chain(theirs.keys()).collect();
    let plain =
        |side: &BTreeMap<String, Declared>, name: &str| side.get(name).map(|d| d.plain.clone());
    names
        .into_iter()
        .filter(|name| plain(&mine, name) != plain(&theirs, name))
        .map(|name| {
            let (a, b) = (mine.get(name), theirs.get(name));
            let own = |d: &Declared| d.name.clone();
            let called = match (a.map(own), b.map(own)) {
                (Some(a), Some(b)) if a != b => name.clone(),
                (a, b) => a.or(b).unwrap_or_else(|| name.clone()),
            };
            Declaration {
                name: called,
                a: a.map(|d| d.text.clone()),
                b: b.map(|d| d.text.clone()),
            }
        })
        .collect()
}

/// A declaration: the key to compare, the name, and the PTX text.
struct Declared {
    plain: String,
    name: String,
    text: String,
}

/// The names of a function's parameters: as in the PTX, or `param0` and so on if the compiler generated the name.
fn parameters(function: &Function) -> Vec<String> {
    let parameters = function.params.iter().enumerate();
    parameters
        .map(
            |(index, parameter)| match parameter.name.ends_with(&format!("_param_{index}")) {
                true => format!("param{index}"),
                false => parameter.name.clone(),
            },
        )
        .collect()
}

/// Declarations by plain name, parameters by position.
fn declared((unit, function): (&Unit, &Function)) -> BTreeMap<String, Declared> {
    let mut used = BTreeSet::new();
    let mut local = Vec::new();
    walk(
        function.body.as_deref().unwrap_or_default(),
        &mut used,
        &mut local,
    );
    let global = unit.module.items.iter().filter_map(|item| match item {
        Item::Variable(variable) => Some(variable),
        _ => None,
    });
    let mut found: BTreeMap<String, Declared> = global
        .chain(local)
        .filter(|v| used.contains(v.name.as_str()))
        .map(|v| {
            // An alignment larger than the type needs is the compiler's choice.
            let plain = plain_symbol(&v.name);
            let text = Variable {
                name: plain.clone(),
                linkage: None,
                align: None,
                ..v.clone()
            }
            .to_string();
            let declared = Declared {
                plain: text.clone(),
                name: plain.clone(),
                text,
            };
            (plain, declared)
        })
        .collect();
    for (index, parameter) in function.params.iter().enumerate() {
        // A parameter's alignment and pointee are hints.
        let hintless = Variable {
            pointer: None,
            align: None,
            ..parameter.clone()
        };
        let nameless = Variable {
            name: String::new(),
            ..hintless.clone()
        };
        let declared = Declared {
            plain: nameless.to_string(),
            name: parameter.name.clone(),
            text: hintless.to_string(),
        };
        found.insert(format!("parameter {index}"), declared);
    }
    found
}

fn walk<'f>(statements: &'f [Stmt], used: &mut BTreeSet<&'f str>, local: &mut Vec<&'f Variable>) {
    for statement in statements {
        match statement {
            Stmt::Block(inner) => walk(inner, used, local),
            Stmt::Variable(v) if !matches!(v.space, StateSpace::Reg | StateSpace::Param) => {
                local.push(v)
            }
            Stmt::Instruction(i) => i.operands.iter().for_each(|operand| names(operand, used)),
            _ => {}
        }
    }
}

fn names<'f>(operand: &'f Operand, used: &mut BTreeSet<&'f str>) {
    match operand {
        Operand::Name(name, _) | Operand::Offset(name, _) | Operand::Index(name, _) => {
            used.insert(name);
        }
        Operand::Address(address) => names(&address.base, used),
        Operand::Vector(list) | Operand::List(list) => list.iter().for_each(|o| names(o, used)),
        _ => {}
    }
}

/// The number of instructions that [`super::pattern`] matches in a function.
pub fn count<'c>(code: &'c Code<'c>, pattern: &super::pattern::Pattern) -> Vec<&'c Instr<'c>> {
    code.instructions
        .iter()
        .filter(|i| pattern.fits(i.instr))
        .collect()
}
