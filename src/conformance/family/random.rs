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

use super::Family;
use super::doubt::Doubts;
use crate::catalog::draw::mix;
use crate::conformance::build::{Builder, Program, Source, Value};
use crate::conformance::kind::{Kind, Width};
use crate::conformance::spec::{Instruction, Operand, Outcome, Row};
use crate::conformance::values::Random;

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

    /// A few instructions that see what was there before and each other.
    fn block(&mut self, depth: u32) -> usize {
        let known = self.pool.len();
        for _ in 0..1 + self.random.below(3) {
            if depth < 2 && self.random.percent(20) {
                self.fork(depth + 1);
                continue;
            }
            let i = self.simple();
            let operands = self.operands(&i, true);
            let (text, register, width) = self.compose(&i, &operands);
            self.b.line(&text);
            self.doubts.note(&i.spelling, false, &operands, &register);
            self.settle(&i.spelling, &register);
            self.pool.push(Value {
                register,
                width,
                source: Source::Other,
            });
        }
        known
    }

    /// Two sides, and registers that both write. They are in the pool afterwards.
    fn fork(&mut self, depth: u32) -> Vec<Value> {
        let guard = self.pick(Width::Pred);
        let (other, end) = (self.b.label(), self.b.label());
        let mut merged = Vec::new();
        for width in [
            Width::B32,
            *self
                .random
                .clone()
                .choose(&[Width::B64, Width::B16, Width::Pred, Width::B32]),
        ] {
            let register = self.b.register(width);
            merged.push(Value {
                register,
                width,
                source: Source::Other,
            });
        }
        self.b.line(&format!("@{} bra {other};", guard.register));
        for side in 0..2 {
            let known = self.block(depth);
            for m in &merged {
                let from = self.pick(m.width);
                self.doubts.copy(&from.register, &m.register);
                self.b.line(&format!(
                    "mov.{} {}, {};",
                    m.width.untyped(),
                    m.register,
                    from.register
                ));
            }
            self.pool.truncate(known);
            if side == 0 {
                self.b.line(&format!("bra {end};"));
                self.b.line(&format!("{other}:"));
            }
        }
        self.b.line(&format!("{end}:"));
        self.pool.extend(merged.clone());
        merged
    }

    fn branch(&mut self) {
        let sources: Vec<Source> = self.pool.iter().map(|v| v.source).collect();
        let from = self.b.position();
        let merged = self.fork(0);
        let text = self.b.since(from);
        self.pool.truncate(self.pool.len() - merged.len());
        for m in merged {
            let value = self
                .b
                .store(&m.register, m.width, "branch", &text, sources.clone());
            self.pool.push(value);
        }
    }

    fn repeat(&mut self) {
        let count = self.pick(Width::B32);
        let start = self.pick(Width::B32);
        let sources: Vec<Source> = self.pool.iter().map(|v| v.source).collect();
        let from = self.b.position();
        let (n, sum, more, again) = (
            self.b.register(Width::B32),
            self.b.register(Width::B32),
            self.b.register(Width::Pred),
            self.b.label(),
        );
        self.b.line(&format!("and.b32 {n}, {}, 7;", count.register));
        self.b.line(&format!("mov.b32 {sum}, {};", start.register));
        self.b.line(&format!("{again}:"));
        let known = self.pool.len();
        let carried = Value {
            register: sum.clone(),
            width: Width::B32,
            source: Source::Other,
        };
        self.pool.extend([carried.clone(), carried]);
        self.block(1);
        let last = self.pick(Width::B32);
        self.b
            .line(&format!("xor.b32 {sum}, {sum}, {};", last.register));
        self.b
            .line(&format!("shf.l.wrap.b32 {sum}, {sum}, {sum}, 5;"));
        self.pool.truncate(known);
        self.b.line(&format!("setp.ne.u32 {more}, {n}, 0;"));
        self.b.line(&format!("sub.u32 {n}, {n}, 1;"));
        self.b.line(&format!("@{more} bra {again};"));
        let text = self.b.since(from);
        let value = self.b.store(&sum, Width::B32, "loop", &text, sources);
        self.pool.push(value);
    }

    /// Values change hands through shared memory.
    fn shared(&mut self) {
        let from = self.b.position();
        let wide = self.random.percent(30);
        let vector = self.random.percent(50);
        let (x, y) = (self.pick(Width::B32), self.pick(Width::B32));
        let d = self.pick(Width::B64);
        self.b.line("mov.u32 %from, words;");
        self.b.line("mad.lo.u32 %word, %t2, 8, %from;");
        match (wide, vector) {
            (true, _) => self
                .b
                .line(&format!("st.shared.b64 [%word], {};", d.register)),
            (_, true) => self.b.line(&format!(
                "st.shared.v2.b32 [%word], {{{}, {}}};",
                x.register, y.register
            )),
            _ => {
                self.b
                    .line(&format!("st.shared.b32 [%word], {};", x.register));
                self.b
                    .line(&format!("st.shared.b32 [%word+4], {};", y.register));
            }
        }
        self.b.line("bar.sync 0;");
        let by = self.random.below(128);
        if self.random.percent(50) {
            self.b.line(&format!("xor.b32 %from, %t2, {by};"));
        } else {
            self.b
                .line(&format!("mad.lo.u32 %from, %t2, {}, {by};", 2 * by + 1));
            self.b.line("and.b32 %from, %from, 127;");
        }
        self.b.line("mov.u32 %word, words;");
        self.b.line("mad.lo.u32 %word, %from, 8, %word;");
        let mut results = Vec::new();
        if self.random.percent(50) {
            let to = self.b.register(Width::B64);
            self.b.line(&format!("ld.shared.b64 {to}, [%word];"));
            results.push((to, Width::B64));
        } else {
            let (a, b) = (self.b.register(Width::B32), self.b.register(Width::B32));
            let ty = *self.random.choose(&["s8", "u8", "s16", "u16"]);
            self.b.line(&format!("ld.shared.b32 {a}, [%word];"));
            self.b.line(&format!(
                "ld.shared.{ty} {b}, [%word+{}];",
                2 * self.random.below(4)
            ));
            results.extend([(a, Width::B32), (b, Width::B32)]);
        }
        self.b.line("bar.sync 0;");
        let text = self.b.since(from);
        let sources = vec![x.source, y.source, d.source];
        for (register, width) in results {
            let value = self
                .b
                .store(&register, width, "shared memory", &text, sources.clone());
            self.pool.push(value);
        }
    }

    fn warp(&mut self) {
        let a = self.pick(Width::B32);
        let p = self.pick(Width::Pred);
        let d = self.b.register(Width::B32);
        let mut sources = vec![a.source];
        let text = match self.random.below(6) {
            0 | 1 => {
                let mode = *self.random.choose(&["up", "down", "bfly", "idx"]);
                let from = self.pick(Width::B32);
                sources.push(from.source);
                let width = 1 << self.random.below(6);
                let clamp = (32 - width) << 8 | if mode == "up" { 0 } else { 31 };
                let from = match self.random.percent(50) {
                    true => from.register,
                    false => self.random.below(32).to_string(),
                };
                format!(
                    "shfl.sync.{mode}.b32 {d}, {}, {from}, {clamp:#x}, 0xffffffff;",
                    a.register
                )
            }
            2 => {
                sources = vec![p.source];
                format!("vote.sync.ballot.b32 {d}, {}, 0xffffffff;", p.register)
            }
            3 => format!("match.any.sync.b32 {d}, {}, 0xffffffff;", a.register),
            4 => {
                let ty = *self
                    .random
                    .choose(&["add.u32", "min.s32", "max.s32", "min.u32", "max.u32"]);
                format!("redux.sync.{ty} {d}, {}, 0xffffffff;", a.register)
            }
            _ => {
                let op = *self.random.choose(&["and", "or", "xor"]);
                format!("redux.sync.{op}.b32 {d}, {}, 0xffffffff;", a.register)
            }
        };
        self.b.line(&text);
        let spelling = text.split(' ').next().unwrap_or_default().to_owned();
        let value = self.b.store(&d, Width::B32, &spelling, &text, sources);
        self.pool.push(value);
    }

    /// Warp operations in both sides of a branch, by the lanes of each.
    fn masked(&mut self) {
        let (p, a) = (self.pick(Width::Pred), self.pick(Width::B32));
        let q = self.pick(Width::Pred);
        let from = self.b.position();
        let (d, e) = (self.b.register(Width::B32), self.b.register(Width::B32));
        let (other, end) = (self.b.label(), self.b.label());
        let ty = *self
            .random
            .choose(&["add.u32", "min.s32", "max.u32", "xor.b32"]);
        self.b.line(&format!(
            "vote.sync.ballot.b32 %warp, {}, 0xffffffff;",
            p.register
        ));
        for line in [
            "and.b32 %word, %t2, 31;",
            "shr.b32 %word, %warp, %word;",
            "and.b32 %word, %word, 1;",
            "setp.ne.u32 %side, %word, 0;",
        ] {
            self.b.line(line);
        }
        self.b.line(&format!("@%side bra {other};"));
        self.b.line("not.b32 %warp, %warp;");
        self.b
            .line(&format!("redux.sync.{ty} {d}, {}, %warp;", a.register));
        self.b
            .line(&format!("match.any.sync.b32 {e}, {}, %warp;", a.register));
        self.b.line(&format!("bra {end};"));
        self.b.line(&format!("{other}:"));
        self.b
            .line(&format!("vote.sync.ballot.b32 {e}, {}, %warp;", q.register));
        self.b.line(&format!("redux.sync.{ty} {d}, {e}, %warp;"));
        self.b.line(&format!("{end}:"));
        let text = self.b.since(from);
        for register in [d, e] {
            let sources = vec![p.source, a.source, q.source];
            let value = self.b.store(
                &register,
                Width::B32,
                "warp operations in a branch",
                &text,
                sources,
            );
            self.pool.push(value);
        }
    }

    /// Values through an array in local memory, at places that depend on the lane.
    fn local(&mut self) {
        let (i, j) = (self.pick(Width::B32), self.pick(Width::B32));
        let (x, y) = (self.pick(Width::B64), self.pick(Width::B64));
        let from = self.b.position();
        for n in 0..8 {
            self.b.line(&format!(
                "st.local.b64 [cells+{}], {};",
                8 * n,
                if n % 2 == 0 { &x } else { &y }.register
            ));
        }
        for (index, value) in [(&i, &x), (&j, &y)] {
            self.b
                .line(&format!("and.b32 %word, {}, 7;", index.register));
            self.b.line("mul.wide.u32 %cell, %word, 8;");
            self.b.line("add.u64 %cell, %cell, %cells;");
            self.b
                .line(&format!("st.local.b64 [%cell], {};", value.register));
        }
        let (d, low) = (self.b.register(Width::B64), self.b.register(Width::B32));
        self.b
            .line(&format!("xor.b32 %word, {}, {};", i.register, j.register));
        self.b.line("and.b32 %word, %word, 7;");
        self.b.line("mul.wide.u32 %cell, %word, 8;");
        self.b.line("add.u64 %cell, %cell, %cells;");
        self.b.line(&format!("ld.local.b64 {d}, [%cell];"));
        self.b.line(&format!("ld.local.s16 {low}, [%cell+2];"));
        let text = self.b.since(from);
        for (register, width) in [(d, Width::B64), (low, Width::B32)] {
            let sources = vec![i.source, j.source, x.source, y.source];
            let value = self
                .b
                .store(&register, width, "local memory", &text, sources);
            self.pool.push(value);
        }
    }

    fn carry(&mut self) {
        let all: Vec<Value> = (0..4).map(|_| self.pick(Width::B32)).collect();
        let r: Vec<String> = (0..3).map(|_| self.b.register(Width::B32)).collect();
        let op = *self.random.choose(&["add", "sub"]);
        let from = self.b.position();
        self.b.line(&format!(
            "{op}.cc.u32 {}, {}, {};",
            r[0], all[0].register, all[1].register
        ));
        self.b.line(&format!(
            "{op}c.cc.u32 {}, {}, {};",
            r[1], all[2].register, all[3].register
        ));
        self.b
            .line(&format!("{op}c.u32 {}, {}, 0;", r[2], all[0].register));
        let text = self.b.since(from);
        for register in r {
            let sources = all.iter().map(|v| v.source).collect();
            let value = self
                .b
                .store(&register, Width::B32, "carries", &text, sources);
            self.pool.push(value);
        }
    }

    /// `mov` with vectors.
    fn pack(&mut self) {
        let (x, y) = (self.pick(Width::B32), self.pick(Width::B32));
        let (h, d) = (self.pick(Width::B16), self.pick(Width::B64));
        let from = self.b.position();
        let (d1, r1) = (self.b.register(Width::B64), self.b.register(Width::B32));
        let (r2, r3) = (self.b.register(Width::B32), self.b.register(Width::B32));
        let (h1, h2) = (self.b.register(Width::B16), self.b.register(Width::B16));
        self.b.line(&format!(
            "mov.b64 {d1}, {{{}, {}}};",
            x.register, y.register
        ));
        self.b
            .line(&format!("mov.b32 {{{h1}, {h2}}}, {};", x.register));
        self.b
            .line(&format!("mov.b32 {r1}, {{{}, {h2}}};", h.register));
        self.b
            .line(&format!("mov.b64 {{{r2}, {r3}}}, {};", d.register));
        let text = self.b.since(from);
        let sources = vec![x.source, y.source, h.source, d.source];
        for (register, width) in [
            (d1, Width::B64),
            (r1, Width::B32),
            (h1, Width::B16),
            (r2, Width::B32),
            (r3, Width::B32),
        ] {
            let value = self
                .b
                .store(&register, width, "mov of vectors", &text, sources.clone());
            self.pool.push(value);
        }
    }
}
