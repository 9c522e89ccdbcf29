//! Video instructions (PTX ISA, "Video Instructions"): their selectors are parts of the operands.

use super::Lowering;
use super::operand::{Decoded, Undecodable};
use crate::op::*;
use crate::video::{Form, Operation, Pick, Relation, Signed, VideoOp};
use ptx::ast::{Instruction, Operand, ScalarType};
use ptx::semantics::{Comparison, Modifier, Opcode, Type, TypedInstruction};

const W: RegisterClass = RegisterClass::W(32);

/// Why forms are refused whose results on an H200 (`ptxas` 13.0 for `sm_90`) are not those of the manual's pseudocode.
const UNLIKE_THE_MANUAL: &str =
    "a form of a video instruction that GPUs don't compute as the manual has it";

/// An operand without its sign and selector.
struct Selected<'o> {
    register: Operand,
    selector: Option<&'o str>,
    negated: bool,
}

fn selected(operand: &Operand) -> Selected<'_> {
    let (inner, negated) = match operand {
        Operand::Neg(inner) => (&**inner, true),
        plain => (plain, false),
    };
    match inner {
        Operand::Name(name, Some(selector)) => Selected {
            register: Operand::Name(name.clone(), None),
            selector: Some(selector),
            negated,
        },
        _ => Selected {
            register: inner.clone(),
            selector: None,
            negated,
        },
    }
}

fn pick(selector: Option<&str>) -> Decoded<Pick> {
    Ok(match selector {
        None => Pick::Word,
        Some("b0") => Pick::Byte(0),
        Some("b1") => Pick::Byte(1),
        Some("b2") => Pick::Byte(2),
        Some("b3") => Pick::Byte(3),
        Some("h0") => Pick::Half(0),
        Some("h1") => Pick::Half(1),
        Some(other) => return Err(Undecodable::Selector(other.to_owned())),
    })
}

/// The digits of `.b3210` or `.h10`, of the lowest element first.
fn digits(selector: &str, letter: char, below: u8) -> Decoded<Vec<u8>> {
    let wrong = || Undecodable::Selector(selector.to_owned());
    let digits = selector.strip_prefix(letter).ok_or_else(wrong)?;
    digits
        .bytes()
        .rev()
        .map(|d| d.checked_sub(b'0').filter(|d| *d < below).ok_or_else(wrong))
        .collect()
}

fn relation(t: &TypedInstruction) -> Decoded<Operation> {
    Ok(Operation::Set(match t.modifiers.comparison() {
        Some(Comparison::Eq) => Relation::Eq,
        Some(Comparison::Ne) => Relation::Ne,
        Some(Comparison::Lt) => Relation::Lt,
        Some(Comparison::Le) => Relation::Le,
        Some(Comparison::Gt) => Relation::Gt,
        Some(Comparison::Ge) => Relation::Ge,
        _ => return Err("a comparison of this form".into()),
    }))
}

/// The types as signs: of destination and sources, or of sources alone.
fn signs(t: &TypedInstruction) -> Decoded<Signed> {
    let mut signs = Vec::new();
    for ty in t.modifiers.types() {
        signs.push(match ty {
            Type::S32 => true,
            Type::U32 => false,
            _ => return Err("a video instruction of this type".into()),
        });
    }
    match signs[..] {
        [d, a, b] => Ok(Signed { d, a, b }),
        // `vset`, whose result is unsigned.
        [a, b] => Ok(Signed { d: false, a, b }),
        _ => Err("too few types".into()),
    }
}

impl Lowering<'_> {
    /// Scalar ones: `vop.dtype.atype.btype{.sat}{.op2} d{.dsel}, a{.asel}, b{.bsel}{, c}`.
    pub(super) fn video(&mut self, i: &Instruction, t: &TypedInstruction) -> Decoded<()> {
        let (a, b) = (selected(self.operand(i, 1)?), selected(self.operand(i, 2)?));
        let from = [pick(a.selector)?, pick(b.selector)?];
        let saturate = t.has(Modifier::Sat);
        let signed = signs(t)?;
        let wrap = t.has(Modifier::Wrap);
        let operation = match t.opcode {
            Opcode::Vmad => {
                let negated = |k| matches!(i.operands.get(k), Some(Operand::Neg(_)));
                if saturate || t.has(Modifier::Shr7) || t.has(Modifier::Shr15) {
                    return Err(UNLIKE_THE_MANUAL.into());
                }
                let form = Form::Mad {
                    signed,
                    from,
                    negates_product: negated(1) != negated(2),
                    negates_sum: negated(3),
                    plus_one: t.has(Modifier::Po),
                };
                return self.push_video(i, form);
            }
            Opcode::Vadd => Operation::Add,
            Opcode::Vsub => Operation::Sub,
            Opcode::Vabsdiff => Operation::AbsoluteDifference,
            Opcode::Vmin => Operation::Min,
            Opcode::Vmax => Operation::Max,
            Opcode::Vshl => Operation::ShiftLeft { wrap },
            Opcode::Vshr => Operation::ShiftRight { wrap },
            _ => relation(t)?,
        };
        if a.negated || b.negated {
            return Err("a negated operand".into());
        }
        let to = pick(selected(self.operand(i, 0)?).selector)?;
        let merges = to != Pick::Word;
        let shifts_left = matches!(operation, Operation::ShiftLeft { .. });
        let unlike = [
            t.has(Modifier::Min) || t.has(Modifier::Max),
            saturate && (merges || shifts_left),
            to == Pick::Half(1),
        ];
        if unlike.contains(&true) {
            return Err(UNLIKE_THE_MANUAL.into());
        }
        let form = Form::Scalar {
            operation,
            signed,
            from,
            to,
            saturate,
            accumulates: t.has(Modifier::Add),
        };
        self.push_video(i, form)
    }

    /// SIMD ones: `vop{2,4}.dtype.atype.btype{.sat,.add} d{.mask}, a{.asel}, b{.bsel}, c`.
    pub(super) fn video_simd(&mut self, i: &Instruction, t: &TypedInstruction) -> Decoded<()> {
        let (count, letter) = match t.opcode {
            Opcode::Vadd2 | Opcode::Vsub2 | Opcode::Vavrg2 | Opcode::Vabsdiff2 => (2u8, 'h'),
            Opcode::Vmin2 | Opcode::Vmax2 | Opcode::Vset2 => (2, 'h'),
            _ => (4, 'b'),
        };
        let operation = match t.opcode {
            Opcode::Vadd2 | Opcode::Vadd4 => Operation::Add,
            Opcode::Vsub2 | Opcode::Vsub4 => Operation::Sub,
            Opcode::Vavrg2 | Opcode::Vavrg4 => Operation::Average,
            Opcode::Vabsdiff2 | Opcode::Vabsdiff4 => Operation::AbsoluteDifference,
            Opcode::Vmin2 | Opcode::Vmin4 => Operation::Min,
            Opcode::Vmax2 | Opcode::Vmax4 => Operation::Max,
            _ => relation(t)?,
        };
        let mut from = [[0; 4]; 2];
        for (k, from) in from.iter_mut().enumerate() {
            let first = count * k as u8;
            *from = std::array::from_fn(|e| first + e as u8);
            if let Some(selector) = selected(self.operand(i, k + 1)?).selector {
                let all = digits(selector, letter, 2 * count)?;
                if all.len() != usize::from(count) {
                    return Err(Undecodable::Selector(selector.to_owned()));
                }
                from[..all.len()].copy_from_slice(&all);
            }
        }
        let mask = match selected(self.operand(i, 0)?).selector {
            Some(selector) => digits(selector, letter, count)?
                .iter()
                .fold(0, |mask, k| mask | 1 << k),
            None => (1 << count) - 1,
        };
        let form = Form::Simd {
            operation,
            signed: signs(t)?,
            bits: 32 / u32::from(count),
            from,
            mask,
            saturate: t.has(Modifier::Sat),
            accumulates: t.has(Modifier::Add),
        };
        self.push_video(i, form)
    }

    fn push_video(&mut self, i: &Instruction, form: Form) -> Decoded<()> {
        let mut s = [self.constants.w(0); 3];
        for (slot, operand) in s.iter_mut().zip(&i.operands[1..]) {
            *slot = self.source(&selected(operand).register, W, ScalarType::B32)?;
        }
        let (d, after) = self.destination(&selected(self.operand(i, 0)?).register, W)?;
        self.emit(Op::Video(Box::new(VideoOp { form, d, s })));
        after.into_iter().for_each(|op| self.emit(op));
        Ok(())
    }
}
