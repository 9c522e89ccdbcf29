//! What the commonest operations do, compiled into the execution loop.
//!
//! A row function behind a pointer costs a call, and its result makes a detour through memory. What kernels spend most of
//! their time with is recognised here when a program has been lowered: an operation whose function is the very
//! one that the table of arithmetic names for a spelling below. The test of this file compares what the loop does
//! with what that function does.

use crate::alu::float::double;
use crate::alu::{self, AluOp, Mask, Row32, Row64};
use crate::ids::LANES;
use crate::inline::{Inline, inlined};
use crate::op::{Op, Slot};
use crate::state::{Warp, blend, blend_mask, predicate, row};
use ptx::semantics::{Modifier, Opcode};
use std::collections::HashMap;
use std::sync::OnceLock;

/// Where a function is, by which it is known.
fn address(f: &AluOp) -> Option<usize> {
    Some(match *f {
        AluOp::W_W(f) => f as usize,
        AluOp::WW_W(f) => f as usize,
        AluOp::WWW_W(f) => f as usize,
        AluOp::D_D(f) => f as usize,
        AluOp::DD_D(f) => f as usize,
        AluOp::DDD_D(f) => f as usize,
        AluOp::DW_D(f) => f as usize,
        AluOp::W_D(f) => f as usize,
        AluOp::WW_D(f) => f as usize,
        AluOp::WWD_D(f) => f as usize,
        AluOp::WW_P(f) => f as usize,
        AluOp::WWP_W(f) => f as usize,
        _ => return None,
    })
}

/// The row function that the table of arithmetic names for a spelling.
fn function_of(opcode: &Opcode, modifiers: &[&str], operands: usize) -> Option<AluOp> {
    let modifiers: Vec<Modifier> = modifiers.iter().map(|m| Modifier::of(m)).collect();
    alu::lookup(opcode, &modifiers, operands)
}

/// Registers and constants of a warp-instruction, and where its result goes.
struct Rows<'r> {
    warp: &'r mut Warp,
    words: &'r [Row32],
    doubles: &'r [Row64],
    d: Slot,
    s: &'r [Slot],
    active: Mask,
    dead: Mask,
}

impl Rows<'_> {
    // Copies, so that the result may go where an operand came from: in vector registers they cost nothing.
    #[inline(always)]
    fn w(&self, k: usize) -> Row32 {
        *row(&self.warp.w, self.words, self.s[k])
    }
    #[inline(always)]
    fn q(&self, k: usize) -> Row64 {
        *row(&self.warp.d, self.doubles, self.s[k])
    }
    #[inline(always)]
    fn into_w(self, f: impl Fn(usize) -> u32) {
        let mut to = [0; LANES];
        for l in 0..LANES {
            to[l] = f(l);
        }
        blend(
            &mut self.warp.w[self.d.0 as usize],
            &to,
            self.active,
            self.dead,
        );
    }
    #[inline(always)]
    fn into_d(self, f: impl Fn(usize) -> u64) {
        let mut to = [0; LANES];
        for l in 0..LANES {
            to[l] = f(l);
        }
        blend(
            &mut self.warp.d[self.d.0 as usize],
            &to,
            self.active,
            self.dead,
        );
    }
    #[inline(always)]
    fn into_p(self, f: impl Fn(usize) -> bool) {
        let mut mask = 0;
        for l in 0..LANES {
            mask |= Mask::from(f(l)) << l;
        }
        blend_mask(&mut self.warp.p[self.d.0 as usize], mask, self.active);
    }
}

#[inline(always)]
fn w_w(r: Rows<'_>, f: impl Fn(u32) -> u32) {
    let a = r.w(0);
    r.into_w(|l| f(a[l]));
}
#[inline(always)]
fn ww_w(r: Rows<'_>, f: impl Fn(u32, u32) -> u32) {
    let (a, b) = (r.w(0), r.w(1));
    r.into_w(|l| f(a[l], b[l]));
}
#[inline(always)]
fn www_w(r: Rows<'_>, f: impl Fn(u32, u32, u32) -> u32) {
    let (a, b, c) = (r.w(0), r.w(1), r.w(2));
    r.into_w(|l| f(a[l], b[l], c[l]));
}
#[inline(always)]
fn d_d(r: Rows<'_>, f: impl Fn(u64) -> u64) {
    let a = r.q(0);
    r.into_d(|l| f(a[l]));
}
#[inline(always)]
fn dd_d(r: Rows<'_>, f: impl Fn(u64, u64) -> u64) {
    let (a, b) = (r.q(0), r.q(1));
    r.into_d(|l| f(a[l], b[l]));
}
#[inline(always)]
fn dw_d(r: Rows<'_>, f: impl Fn(u64, u32) -> u64) {
    let (a, b) = (r.q(0), r.w(1));
    r.into_d(|l| f(a[l], b[l]));
}
#[inline(always)]
fn w_d(r: Rows<'_>, f: impl Fn(u32) -> u64) {
    let a = r.w(0);
    r.into_d(|l| f(a[l]));
}
#[inline(always)]
fn ww_d(r: Rows<'_>, f: impl Fn(u32, u32) -> u64) {
    let (a, b) = (r.w(0), r.w(1));
    r.into_d(|l| f(a[l], b[l]));
}
#[inline(always)]
fn wwd_d(r: Rows<'_>, f: impl Fn(u32, u32, u64) -> u64) {
    let (a, b, c) = (r.w(0), r.w(1), r.q(2));
    r.into_d(|l| f(a[l], b[l], c[l]));
}
#[inline(always)]
fn ww_p(r: Rows<'_>, f: impl Fn(u32, u32) -> bool) {
    let (a, b) = (r.w(0), r.w(1));
    r.into_p(|l| f(a[l], b[l]));
}
#[inline(always)]
fn wwp_w(r: Rows<'_>, f: impl Fn(u32, u32, bool) -> u32) {
    let (a, b, p) = (r.w(0), r.w(1), predicate(&r.warp.p, r.s[2]));
    r.into_w(|l| f(a[l], b[l], p >> l & 1 != 0));
}

/// The canonical NaN for any.
#[inline(always)]
fn single(value: f32) -> u32 {
    if value.is_nan() {
        0x7fff_ffff
    } else {
        value.to_bits()
    }
}
#[inline(always)]
fn f(bits: u32) -> f32 {
    f32::from_bits(bits)
}

impl Rows<'_> {
    /// The result of an operation of `.f64`, which keeps one of its operands' NaN. Those are settled apart: few rows have some.
    #[inline(always)]
    fn into_float<const N: usize>(self, f: impl Fn([f64; N]) -> f64) {
        let operands: [&Row64; N] =
            std::array::from_fn(|k| row(&self.warp.d, self.doubles, self.s[k]));
        let mut to = [0; LANES];
        let mut nan = 0;
        for l in 0..LANES {
            let value = f(operands.map(|row| f64::from_bits(row[l])));
            to[l] = value.to_bits();
            nan |= u64::from(value.is_nan());
        }
        if nan != 0 {
            to = double::settled(operands, to);
        }
        let register = &mut self.warp.d[self.d.0 as usize];
        blend(register, &to, self.active, self.dead);
    }
}

#[inline(always)]
fn dd_float(r: Rows<'_>, f: impl Fn(f64, f64) -> f64) {
    r.into_float(|[a, b]| f(a, b));
}
#[inline(always)]
fn ddd_float(r: Rows<'_>, f: impl Fn(f64, f64, f64) -> f64) {
    r.into_float(|[a, b, c]| f(a, b, c));
}

macro_rules! inline_operations {
    ($($name:ident: $opcode:ident $modifiers:expr, $operands:literal, $shape:ident $f:expr;)*) => {
        const SPELLINGS: &[(Inline, Opcode, &[&str], usize)] = &[
            $((Inline::$name, Opcode::$opcode, &$modifiers, $operands),)*
            (Inline::FmaF32, Opcode::Fma, &["rn", "f32"], 4),
            (Inline::FmaF64, Opcode::Fma, &["rn", "f64"], 4),
        ];

        #[inline(always)]
        fn perform_rows<const FMA: bool>(which: Inline, rows: Rows<'_>) {
            match which {
                Inline::No => {}
                $(Inline::$name => $shape(rows, $f),)*
                Inline::FmaF32 => www_w(rows, |a, b, c| single(f(a).mul_add(f(b), f(c)))),
                Inline::FmaF64 => ddd_float(rows, f64::mul_add),
            }
        }
    };
}

inlined!(inline_operations);

/// The operation that a decoded one is.
pub(crate) fn recognised(op: &Op) -> Inline {
    static KNOWN: OnceLock<HashMap<usize, Inline>> = OnceLock::new();
    let known = KNOWN.get_or_init(|| {
        let function = |(which, opcode, modifiers, operands): &(Inline, Opcode, &[&str], usize)| {
            let f = function_of(opcode, modifiers, *operands)?;
            Some((address(&f)?, *which))
        };
        SPELLINGS.iter().filter_map(function).collect()
    });
    let f = match op {
        Op::Alu { f, d, .. } if *d != Slot::NONE => f,
        Op::Setp {
            f,
            p,
            q: Slot::NONE,
            combine: None,
            ..
        } if *p != Slot::NONE => f,
        _ => return Inline::No,
    };
    let found = address(f).and_then(|at| known.get(&at));
    found.copied().unwrap_or_default()
}

/// Performs an operation in the active lanes.
#[inline(always)]
pub(crate) fn perform<const FMA: bool>(
    which: Inline,
    warp: &mut Warp,
    (words, doubles): (&[Row32], &[Row64]),
    op: &Op,
    active: Mask,
    dead: Mask,
) {
    let (d, s): (Slot, &[Slot]) = match op {
        Op::Alu { d, s, .. } => (*d, s),
        Op::Setp { p, s, .. } => (*p, s),
        _ => return,
    };
    let rows = Rows {
        warp,
        words,
        doubles,
        d,
        s,
        active,
        dead,
    };
    perform_rows::<FMA>(which, rows);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::WarpId;
    use crate::program::Program;
    use rand::{Rng, RngExt, SeedableRng};
    use rand_pcg::Pcg64Mcg;

    fn word(rng: &mut Pcg64Mcg) -> u64 {
        const SPECIAL: [u64; 12] = [
            0,
            1,
            31,
            32,
            0x7fff_ffff,
            0x8000_0000,
            0xffff_ffff,
            0x7f80_0000,
            0x0080_0000,
            0x007f_ffff,
            0xffc0_0001,
            0x3f80_0000,
        ];
        let special = |rng: &mut Pcg64Mcg| SPECIAL[rng.random_range(0..SPECIAL.len())];
        match rng.random_range(0..4) {
            0 => special(rng),
            1 => special(rng) << 32 | special(rng),
            2 => rng.next_u64() & 0xff,
            _ => rng.next_u64(),
        }
    }

    /// Each does what the row function does by whose pointer it is recognised.
    #[test]
    fn inlined_operations_do_what_the_table_says() {
        let mut rng = Pcg64Mcg::seed_from_u64(7);
        let text =
            ".version 8.0\n.target sm_75\n.address_size 64\n.visible .entry k()\n{\nret;\n}\n";
        let module = ptx::parser::parse(text).unwrap();
        let mut program = Program::lower(&module, text, "k").unwrap();
        (program.rows_w, program.rows_d, program.preds) = (4, 4, 4);
        for (which, opcode, modifiers, operands) in SPELLINGS {
            let f = function_of(opcode, modifiers, *operands).unwrap();
            let op = |d, s: [Slot; 5]| match f {
                AluOp::WW_P(_) => Op::Setp {
                    f,
                    p: d,
                    q: Slot::NONE,
                    s: [s[0], s[1]],
                    combine: None,
                },
                _ => Op::Alu { f, d, s },
            };
            let slots = [Slot(0), Slot(1), Slot(2), Slot::NONE, Slot::NONE];
            let op = op(Slot(3), slots);
            let same = recognised(&op);
            let f_of = |which| SPELLINGS.iter().find(|s| s.0 == which).unwrap();
            let (_, o, m, n) = f_of(same);
            assert_eq!(
                address(&function_of(o, m, *n).unwrap()),
                address(&f),
                "{opcode:?} {modifiers:?} is recognised"
            );
            for _ in 0..200 {
                let mut warp = Warp::new(WarpId(0), Mask::MAX, &program, false);
                for l in 0..LANES {
                    for k in 0..4 {
                        warp.w[k][l] = word(&mut rng) as u32;
                        warp.d[k][l] = word(&mut rng);
                    }
                }
                warp.p.iter_mut().for_each(|p| *p = rng.next_u32());
                let active = rng.next_u32();
                let (w, d, p) = (warp.w.clone(), warp.d.clone(), warp.p.clone());
                let (mut t32, mut t64, mut mask) = (w[3], d[3], p[3]);
                match f {
                    AluOp::W_W(f) => f(&w[0], &mut t32),
                    AluOp::WW_W(f) => f(&w[0], &w[1], &mut t32),
                    AluOp::WWW_W(f) => f(&w[0], &w[1], &w[2], &mut t32),
                    AluOp::D_D(f) => f(&d[0], &mut t64),
                    AluOp::DD_D(f) => f(&d[0], &d[1], &mut t64),
                    AluOp::DDD_D(f) => f(&d[0], &d[1], &d[2], &mut t64),
                    AluOp::DW_D(f) => f(&d[0], &w[1], &mut t64),
                    AluOp::W_D(f) => f(&w[0], &mut t64),
                    AluOp::WW_D(f) => f(&w[0], &w[1], &mut t64),
                    AluOp::WWD_D(f) => f(&w[0], &w[1], &d[2], &mut t64),
                    AluOp::WW_P(f) => mask = f(&w[0], &w[1]),
                    AluOp::WWP_W(f) => f(&w[0], &w[1], p[2], &mut t32),
                    _ => panic!("{opcode:?} has another shape"),
                }
                perform::<true>(*which, &mut warp, (&[], &[]), &op, active, 0);
                let mut want = (w[3], d[3], p[3]);
                blend(&mut want.0, &t32, active, 0);
                blend(&mut want.1, &t64, active, 0);
                blend_mask(&mut want.2, mask, active);
                assert_eq!(
                    (warp.w[3], warp.d[3], warp.p[3]),
                    want,
                    "{opcode:?} {modifiers:?}"
                );
            }
        }
    }
}
