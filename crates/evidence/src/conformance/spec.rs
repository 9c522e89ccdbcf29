//! How an instruction family is written down: spellings with alternatives, and the operands of each.

use super::kind::{Kind, Width};

/// Instructions that have the same operands.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// Spellings: of each group in braces one alternative, which may be empty.
    pub spellings: &'static str,
    /// What comes out, and what goes in; one letter an operand, see [`Operand`].
    pub shape: (&'static str, &'static str),
}

/// A row of a table.
pub const fn row(spellings: &'static str, result: &'static str, operands: &'static str) -> Row {
    Row {
        spellings,
        shape: (result, operands),
    }
}

/// What an operand is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operand {
    /// A register with values of a kind.
    Register(Kind),
    /// A predicate, complemented.
    Not,
    /// The `immLut` of `lop3`.
    Lut,
}

/// What comes out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// A register.
    Register(Width),
    /// A predicate.
    Pred,
    /// `p|q`.
    Pair,
    /// `d|p`.
    WithPred(Width),
}

/// One instruction: a spelling with its operands.
#[derive(Clone, Debug)]
pub struct Instruction {
    /// Opcode and modifiers.
    pub spelling: String,
    /// What comes out.
    pub outcome: Outcome,
    /// What goes in.
    pub operands: Vec<Operand>,
}

impl Instruction {
    /// The operands that are registers, as kinds.
    pub fn kinds(&self) -> impl Iterator<Item = Kind> {
        self.operands.iter().map(|operand| match operand {
            Operand::Register(kind) => *kind,
            Operand::Not => Kind::Pred,
            Operand::Lut => Kind::Int(8),
        })
    }
}

impl Row {
    /// The row's instructions, in the order of its alternatives.
    pub fn instructions(&self) -> Vec<Instruction> {
        let (result, operands) = self.shape;
        expand(self.spellings)
            .into_iter()
            .map(|spelling| {
                let types: Vec<Kind> = spelling.split('.').skip(1).filter_map(Kind::of).collect();
                Instruction {
                    outcome: outcome(result, &types),
                    operands: operands.chars().map(|c| operand(c, &types)).collect(),
                    spelling,
                }
            })
            .collect()
    }
}

/// The kind that a letter stands for: `t`, `u`, `v` for the first, second and third type of the spelling, `w` for
/// the first one twice as wide, `x` and `y` for 32 and 64 bits of whatever, `h` for 16, `i` for a position of bits,
/// `n` for a small signed number, `f` for `.f32`, `p` for a predicate.
fn kind(letter: char, types: &[Kind]) -> Kind {
    let nth = |n: usize| types.get(n).copied().unwrap_or(Kind::Int(32));
    match letter {
        't' => nth(0),
        'u' => nth(1),
        'v' => nth(2),
        'w' => match nth(0) {
            Kind::Int(16) => Kind::Int(32),
            _ => Kind::Int(64),
        },
        'h' => Kind::Int(16),
        'y' => Kind::Int(64),
        'i' => Kind::Position,
        'n' => Kind::Small,
        'f' => Kind::F32,
        'p' => Kind::Pred,
        _ => Kind::Int(32),
    }
}

fn operand(letter: char, types: &[Kind]) -> Operand {
    match letter {
        'q' => Operand::Not,
        'l' => Operand::Lut,
        _ => Operand::Register(kind(letter, types)),
    }
}

/// As for operands, and `P` for `p|q`, `L` for `d|p`.
fn outcome(result: &str, types: &[Kind]) -> Outcome {
    match result {
        "p" => Outcome::Pred,
        "P" => Outcome::Pair,
        "L" => Outcome::WithPred(Width::B32),
        _ => match kind(result.chars().next().unwrap_or('x'), types).width() {
            Width::Pred => Outcome::Pred,
            width => Outcome::Register(width),
        },
    }
}

/// All spellings of a pattern.
pub fn expand(pattern: &str) -> Vec<String> {
    let Some((before, rest)) = pattern.split_once('{') else {
        return vec![pattern.to_string()];
    };
    let (group, after) = rest.split_once('}').unwrap_or((rest, ""));
    let after = expand(after);
    group
        .split(',')
        .flat_map(|choice| {
            after
                .iter()
                .map(move |tail| format!("{before}{choice}{tail}"))
        })
        .collect()
}
