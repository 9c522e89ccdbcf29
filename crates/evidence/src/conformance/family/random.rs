//! Programs in which instructions of all families feed each other: predicated, in divergent branches and loops, through
//! shuffles, shared and local memory.
//!
//! Every result outside of branches and loops is stored, so that the first wrong one is found among right operands.
//! Approximate instructions don't take part: what follows from an allowed error could not be compared. Nor does what
//! PTX leaves to `ptxas`, as far as it showed on an H200 (driver 580.159.04, CUDA 13.0):
//!
//! * which NaN comes out ([`unsettled`]): such a result is made one NaN at once, by the program itself;
//! * `neg.s16` and `abs.s16` of −32768, which becomes 32768 where a `mul.wide` follows: both are left out;
//! * what `ptxas` gets wrong: it converts the old value of `d` in `@p set.eq.f16.b16 d, …` where `p` is false,
//!   forgets `.sat` in `@p cvt.rn.sat.f16.f32`, and the guard itself of `@p testp.finite.f32`: none of these is
//!   guarded ([`can_be_guarded`]). It joins `lop3.b32 d, a, b, b`
//!   and `xor.b32 e, b, d` to a `LOP3` with the table of one that reads `b` twice and the operands of one that does
//!   not: operands of `lop3` are distinct. It forgets `.ftz` where
//!   `setp.neu.and.ftz.f32` decides a branch, so that a lane may take another side than a vote says: lanes of
//!   a masked operation go by the vote's bits. Results of two pairs of instructions are in doubt and no longer used
//!   ([`Doubts`]).

mod exchange;
mod flow;
mod words;

use super::Family;
use super::doubt::Doubts;
use crate::conformance::build::{Builder, Program, Source, Value};
use crate::conformance::kind::{Kind, Width};
use crate::conformance::spec::{Instruction, Operand, Outcome, Row};
use crate::conformance::values::Random;
use catalog::draw::mix;

/// The instructions to choose from: family, row, spelling.
#[derive(Debug)]
pub struct Choice(Vec<Vec<Vec<Instruction>>>);

impl Default for Choice {
    fn default() -> Choice {
        let families = [
            Family::Integer,
            Family::Integer,
            Family::Logic,
            Family::Compare,
            Family::Float,
            Family::Half,
            Family::Convert,
        ];
        Choice(
            families
                .map(|f| f.rows().iter().map(chosen).collect())
                .into(),
        )
    }
}

/// The row's instructions that take part.
fn chosen(row: &Row) -> Vec<Instruction> {
    let mut all = row.instructions();
    all.retain(|i| !matches!(&*i.spelling, "neg.s16" | "abs.s16"));
    all
}

/// Whether `ptxas` keeps the meaning of the instruction under a guard.
fn can_be_guarded(spelling: &str) -> bool {
    let narrowed = spelling.starts_with("cvt.rn") && spelling.ends_with(".sat.f16.f32");
    !(spelling.starts_with("set.") || spelling.starts_with("testp.") || narrowed)
}

/// The type of a result whose NaN follows from no more than PTX: for `.f64` the payload is that of one of the operands,
/// which `ptxas` may exchange; `min` and `max` of a register and itself, and `neg` or `abs` under a guard, may become
/// moves or selections, which keep the bits of a NaN.
fn unsettled(spelling: &str) -> Option<&str> {
    let (opcode, modifiers) = spelling.split_once('.')?;
    let ty = modifiers.rsplit('.').next()?;
    let floats = ["f16", "bf16", "f16x2", "bf16x2", "f32", "f64"];
    match opcode {
        "min" | "max" | "neg" | "abs" => floats.contains(&ty).then_some(ty),
        "add" | "sub" | "mul" | "fma" | "mad" => (ty == "f64").then_some(ty),
        _ => None,
    }
}

impl Choice {
    fn draw<'a>(&'a self, random: &mut Random) -> &'a Instruction {
        let family = random.choose(&self.0);
        let row = random.choose(family);
        random.choose(row)
    }
}

/// Values that can be used, newest last.
type Pool = Vec<Value>;

struct Writer<'c> {
    b: Builder,
    random: Random,
    choice: &'c Choice,
    pool: Pool,
    doubts: Doubts,
}

/// Writes a program.
pub fn program(choice: &Choice, number: u32, seed: u64) -> Program {
    let own = mix(mix(seed) ^ mix(0x7a2d + u64::from(number)));
    let mut b = Builder::new();
    b.variables =
        "    .shared .align 16 .b8 words[2048];\n    .local .align 8 .b8 cells[64];\n    \
                   .reg .b32 %word, %from, %warp;\n    .reg .pred %side, %nan;\n    .reg .b16 %low, %high;\n    .reg .b64 %cells, %cell;\n"
            .to_owned();
    b.line("mov.u64 %cells, cells;");
    let mut w = Writer {
        b,
        random: Random::new(&[own]),
        choice,
        pool: Vec::new(),
        doubts: Doubts::default(),
    };
    for (kind, count) in [
        (Kind::Int(32), 2),
        (Kind::Int(64), 1),
        (Kind::Int(16), 1),
        (Kind::F32, 2),
        (Kind::F64, 1),
        (Kind::F16x2, 1),
        (Kind::F16, 1),
        (Kind::Pred, 2),
    ] {
        for index in 0..count {
            let value = w.b.input(kind, index);
            w.pool.push(value);
        }
    }
    let statements = 10 + w.random.below(12);
    for _ in 0..statements {
        w.statement();
    }
    w.b.finish(number, Family::Random, own)
}

impl Writer<'_> {
    fn statement(&mut self) {
        match self.random.below(32) {
            0..=13 => self.plain(),
            14..=16 => self.predicated(),
            17..=20 => self.branch(),
            21 | 22 => self.repeat(),
            23 | 24 => self.shared(),
            25..=27 => self.warp(),
            28 => self.local(),
            29 => self.carry(),
            30 => self.pack(),
            _ => self.masked(),
        }
    }

    /// A value of a width that is not in doubt: mostly a recent one.
    fn pick(&mut self, width: Width) -> Value {
        loop {
            let value = self.pick_any(width);
            if !self.doubts.about(&value.register) {
                return value;
            }
        }
    }

    fn pick_any(&mut self, width: Width) -> Value {
        let all: Vec<&Value> = self.pool.iter().filter(|v| v.width == width).collect();
        let recent = all.len().min(4);
        let n = match self.random.percent(60) {
            true => all.len() - recent + self.random.below(recent),
            false => self.random.below(all.len()),
        };
        all[n].clone()
    }

    fn operands(&mut self, i: &Instruction, inside: bool) -> Vec<Value> {
        let mut values = Vec::new();
        for (operand, kind) in i.operands.iter().zip(i.kinds().collect::<Vec<_>>()) {
            if *operand == Operand::Lut {
                continue;
            }
            // Inputs of the operand's own kind are loaded where every lane comes along.
            let fresh = match kind {
                Kind::Position | Kind::Small => 70,
                _ => 25,
            };
            let mut value = if !inside && self.random.percent(fresh) {
                let index = self.random.below(2) as u8;
                self.b.input(kind, index)
            } else {
                self.pick(kind.width())
            };
            let distinct = i.spelling.starts_with("lop3");
            while distinct && values.iter().any(|v: &Value| v.register == value.register) {
                value = self.pick(kind.width());
            }
            values.push(value);
        }
        values
    }

    fn plain(&mut self) {
        let i = self.choice.draw(&mut self.random).clone();
        let operands = self.operands(&i, false);
        let mut random = self.random.clone();
        let (text, destinations) = self.b.compose(&i, &operands, &mut random);
        self.random = random;
        self.b.line(&text);
        let sources: Vec<Source> = operands.iter().map(|v| v.source).collect();
        for (register, width) in destinations {
            self.doubts.note(&i.spelling, false, &operands, &register);
            if self.doubts.about(&register) {
                continue;
            }
            self.settle(&i.spelling, &register);
            let value = self
                .b
                .store(&register, width, &i.spelling, &text, sources.clone());
            self.pool.push(value);
        }
    }

    /// Makes the NaN of an [`unsettled`] result the canonical one.
    fn settle(&mut self, spelling: &str, register: &str) {
        let Some(ty) = unsettled(spelling) else {
            return;
        };
        match ty.strip_suffix("x2") {
            None => self.settle_one(ty, register),
            Some(half) => {
                self.b
                    .line(&format!("mov.b32 {{%low, %high}}, {register};"));
                self.settle_one(half, "%low");
                self.settle_one(half, "%high");
                self.b
                    .line(&format!("mov.b32 {register}, {{%low, %high}};"));
            }
        }
    }

    fn settle_one(&mut self, ty: &str, register: &str) {
        let (untyped, nan) = match ty {
            "f64" => ("b64", "0x7ff8000000000000"),
            "f32" => ("b32", "0x7fffffff"),
            _ => ("b16", "0x7fff"),
        };
        self.b
            .line(&format!("setp.nan.{ty} %nan, {register}, {register};"));
        self.b.line(&format!(
            "selp.{untyped} {register}, {nan}, {register}, %nan;"
        ));
    }

    /// An instruction with one result.
    fn simple(&mut self) -> Instruction {
        loop {
            let i = self.choice.draw(&mut self.random);
            if matches!(i.outcome, Outcome::Register(_) | Outcome::Pred) {
                return i.clone();
            }
        }
    }

    fn compose(&mut self, i: &Instruction, operands: &[Value]) -> (String, String, Width) {
        let mut random = self.random.clone();
        let (text, mut to) = self.b.compose(i, operands, &mut random);
        self.random = random;
        let (register, width) = to.swap_remove(0);
        (text, register, width)
    }

    fn predicated(&mut self) {
        let i = loop {
            let i = self.simple();
            if can_be_guarded(&i.spelling) {
                break i;
            }
        };
        let operands = self.operands(&i, false);
        let guard = self.pick(Width::Pred);
        let not = if self.random.percent(50) { "!" } else { "" };
        let (text, to, width) = self.compose(&i, &operands);
        let before = self.pick(width);
        let first = format!("mov.{} {to}, {};", width.untyped(), before.register);
        let second = format!("@{not}{} {text}", guard.register);
        self.b.line(&first);
        self.b.line(&second);
        self.doubts.note(&i.spelling, true, &operands, &to);
        if self.doubts.about(&to) {
            return;
        }
        self.settle(&i.spelling, &to);
        let sources = [&before, &guard]
            .into_iter()
            .chain(&operands)
            .map(|v| v.source)
            .collect();
        let value = self.b.store(
            &to,
            width,
            &format!("@p {}", i.spelling),
            &format!("{first} {second}"),
            sources,
        );
        self.pool.push(value);
    }
}
