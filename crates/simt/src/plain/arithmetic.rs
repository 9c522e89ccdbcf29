//! From registers to registers (PTX ISA, "Integer Arithmetic Instructions" to "Data Movement and Conversion Instructions", but for memory):
//! each lane's operands are gathered, the table's function is applied, and each active lane takes its result.

use super::Turn;
use crate::alu::compare::write_set_pair;
use crate::alu::{AluOp, Mask, Row32, Row64};
use crate::hooks::Hooks;
use crate::ids::LANES;
use crate::ids::lanes_of;
use crate::memory::*;
use crate::op::*;

impl<O: Hooks> Turn<'_, '_, O> {
    /// A 32-bit operand in the active lanes; zero in the others. A constant is the same in all.
    fn words(&self, slot: Slot, active: Mask) -> Row32 {
        let active = if slot.0 & Slot::CONST != 0 {
            Mask::MAX
        } else {
            active
        };
        let mut words = [0; LANES];
        lanes_of(active).for_each(|l| words[l] = self.w(slot, l));
        words
    }

    /// A 64-bit operand in the active lanes; zero in the others. A constant is the same in all.
    fn doubles(&self, slot: Slot, active: Mask) -> Row64 {
        let active = if slot.0 & Slot::CONST != 0 {
            Mask::MAX
        } else {
            active
        };
        let mut doubles = [0; LANES];
        lanes_of(active).for_each(|l| doubles[l] = self.d(slot, l));
        doubles
    }

    /// A predicate in the active lanes; false in the others.
    fn truths(&self, slot: Slot, active: Mask) -> Mask {
        super::filter(active, |l| self.p(slot, l))
    }

    /// An instruction of the table [`crate::alu`].
    pub(super) fn alu(&mut self, f: &AluOp, d: Slot, s: &[Slot; 5], active: Mask) {
        use AluOp::*;
        let w = |k: usize| self.words(s[k], active);
        let q = |k: usize| self.doubles(s[k], active);
        let p = |k: usize| self.truths(s[k], active);
        let cc = self.warp().carry & active;
        let (mut words, mut doubles, mut truths, mut carry) = ([0; LANES], [0; LANES], 0, None);
        let (a, b) = (&mut words, &mut doubles);
        macro_rules! gives {
            ($class:expr, $call:expr) => {{
                $call;
                $class
            }};
        }
        let class = match f {
            W_W(f) => gives!(RegisterClass::W(32), f(&w(0), a)),
            WW_W(f) => gives!(RegisterClass::W(32), f(&w(0), &w(1), a)),
            WWW_W(f) => gives!(RegisterClass::W(32), f(&w(0), &w(1), &w(2), a)),
            WWWW_W(f) => gives!(RegisterClass::W(32), f(&w(0), &w(1), &w(2), &w(3), a)),
            WWWWW_W(f) => gives!(
                RegisterClass::W(32),
                f(&w(0), &w(1), &w(2), &w(3), &w(4), a)
            ),
            D_W(f) => gives!(RegisterClass::W(32), f(&q(0), a)),
            DD_W(f) => gives!(RegisterClass::W(32), f(&q(0), &q(1), a)),
            WWD_W(f) => gives!(RegisterClass::W(32), f(&w(0), &w(1), &q(2), a)),
            WWP_W(f) => gives!(RegisterClass::W(32), f(&w(0), &w(1), p(2), a)),
            D_D(f) => gives!(RegisterClass::D, f(&q(0), b)),
            DD_D(f) => gives!(RegisterClass::D, f(&q(0), &q(1), b)),
            DDD_D(f) => gives!(RegisterClass::D, f(&q(0), &q(1), &q(2), b)),
            W_D(f) => gives!(RegisterClass::D, f(&w(0), b)),
            WW_D(f) => gives!(RegisterClass::D, f(&w(0), &w(1), b)),
            WWD_D(f) => gives!(RegisterClass::D, f(&w(0), &w(1), &q(2), b)),
            DW_D(f) => gives!(RegisterClass::D, f(&q(0), &w(1), b)),
            DWW_D(f) => gives!(RegisterClass::D, f(&q(0), &w(1), &w(2), b)),
            DDWW_D(f) => gives!(RegisterClass::D, f(&q(0), &q(1), &w(2), &w(3), b)),
            DDW_D(f) => gives!(RegisterClass::D, f(&q(0), &q(1), &w(2), b)),
            DDP_D(f) => gives!(RegisterClass::D, f(&q(0), &q(1), p(2), b)),
            // The other outcomes are those of `compute`.
            WW_P(_) | DD_P(_) | WW_PP(_) => gives!(
                RegisterClass::P,
                truths = self.compare(f, &[s[0], s[1]], active).0
            ),
            W_P(f) => gives!(RegisterClass::P, truths = f(&w(0))),
            D_P(f) => gives!(RegisterClass::P, truths = f(&q(0))),
            P_P(f) => gives!(RegisterClass::P, truths = f(p(0))),
            PP_P(f) => gives!(RegisterClass::P, truths = f(p(0), p(1))),
            // "Extended-Precision Integer Arithmetic Instructions": with the carry flag, in and out.
            WW_W_Carry(f) => gives!(RegisterClass::W(32), carry = Some(f(&w(0), &w(1), cc, a))),
            WWW_W_Carry(f) => gives!(
                RegisterClass::W(32),
                carry = Some(f(&w(0), &w(1), &w(2), cc, a))
            ),
            DD_D_Carry(f) => gives!(RegisterClass::D, carry = Some(f(&q(0), &q(1), cc, b))),
            DDD_D_Carry(f) => gives!(
                RegisterClass::D,
                carry = Some(f(&q(0), &q(1), &q(2), cc, b))
            ),
            // An operation of its own: `compute`.
            WWWWP_WP(_) => return,
        };
        for l in lanes_of(active) {
            match class {
                RegisterClass::W(_) => self.set_w(d, l, words[l]),
                RegisterClass::P => self.set_p(d, l, truths >> l & 1 == 1),
                _ => self.set_d(d, l, doubles[l]),
            }
        }
        if let Some(carry) = carry {
            let flags = &mut self.warp_mut().carry;
            *flags = *flags & !active | carry & active;
        }
    }

    /// Instructions with results or operands that the table does not know.
    pub(super) fn compute(&mut self, op: &Op, active: Mask) {
        match op {
            Op::Setp {
                f,
                p,
                q,
                s,
                combine,
            } => {
                let (holds, fails) = self.compare(f, s, active);
                let holds = self.combine(*combine, holds, active);
                let fails = self.combine(*combine, fails, active);
                for l in lanes_of(active) {
                    self.set_p(*p, l, holds >> l & 1 == 1);
                    self.set_p(*q, l, fails >> l & 1 == 1);
                }
            }
            Op::Set {
                f,
                d,
                s,
                combine,
                truth,
            } => {
                let (lower, other) = self.compare(f, s, active);
                let upper = match f {
                    AluOp::WW_PP(_) => other,
                    _ => lower,
                };
                let lower = self.combine(*combine, lower, active);
                let upper = self.combine(*combine, upper, active);
                let mut result = [0; LANES];
                write_set_pair(*truth, lower, upper, &mut result);
                lanes_of(active).for_each(|l| self.set_w(*d, l, result[l]));
            }
            Op::Lop3Test { f, d, p, s } => {
                let w = |k: usize| self.words(s[k], active);
                let mut result = [0; LANES];
                let test = self.truths(s[4], active);
                let truths = f(&w(0), &w(1), &w(2), &w(3), test, &mut result);
                for l in lanes_of(active) {
                    self.set_w(*d, l, result[l]);
                    self.set_p(*p, l, truths >> l & 1 == 1);
                }
            }
            Op::Pack { d, s } => {
                for l in lanes_of(active) {
                    let bits = self.concatenated(s, l);
                    self.cut(d, l, bits);
                }
            }
            Op::Cvta { d, a, add } => {
                for l in lanes_of(active) {
                    let address = self.d(*a, l).wrapping_add(*add);
                    self.set_d(*d, l, address);
                }
            }
            Op::IsSpace {
                p,
                a,
                wide,
                space,
                own,
            } => {
                for l in lanes_of(active) {
                    let address = match wide {
                        true => self.d(*a, l),
                        false => u64::from(self.w(*a, l)),
                    };
                    let far = *own && address >= SHARED_BASE + FAR;
                    self.set_p(*p, l, lies_in(address, *space) && !far);
                }
            }
            Op::FrameAddress { d, wide, offset } => {
                let address = self.split().base + offset;
                for l in lanes_of(active) {
                    match wide {
                        true => self.set_d(*d, l, address.into()),
                        false => self.set_w(*d, l, address),
                    }
                }
            }
            Op::Video(video) => {
                let w = |k: usize| self.words(video.s[k], active);
                let mut result = [0; LANES];
                video.form.row(&w(0), &w(1), &w(2), &mut result);
                lanes_of(active).for_each(|l| self.set_w(video.d, l, result[l]));
            }
            _ => {}
        }
    }

    /// "setp": where the comparison holds, and where its negation does; of packed halves, where it holds in the lower and in the upper one.
    fn compare(&self, f: &AluOp, s: &[Slot; 2], active: Mask) -> (Mask, Mask) {
        let w = |k: usize| self.words(s[k], active);
        let q = |k: usize| self.doubles(s[k], active);
        let holds = match f {
            AluOp::WW_P(f) => f(&w(0), &w(1)),
            AluOp::DD_P(f) => f(&q(0), &q(1)),
            AluOp::WW_PP(f) => return f(&w(0), &w(1)),
            _ => 0,
        };
        (holds, !holds)
    }

    /// `.and c`, `.or c`, `.xor c` of "setp" and "set".
    fn combine(&self, combine: Option<(BoolOp, Slot)>, value: Mask, active: Mask) -> Mask {
        let Some((op, c)) = combine else {
            return value;
        };
        let c = self.truths(c, active);
        match op {
            BoolOp::And => value & c,
            BoolOp::Or => value | c,
            BoolOp::Xor => value ^ c,
        }
    }

    /// "mov" of vectors: the parts' bits side by side, the first part lowest.
    fn concatenated(&self, parts: &[Part], l: usize) -> u128 {
        let (mut bits, mut at) = (0, 0);
        for part in parts {
            let value = self.register(part.class, part.slot, l);
            bits |= u128::from(value & u64::MAX >> (64 - u32::from(part.bits))) << at;
            at += part.bits;
        }
        bits
    }

    /// The other way round.
    fn cut(&mut self, parts: &[Part], l: usize, mut bits: u128) {
        for part in parts {
            let value = bits as u64 & u64::MAX >> (64 - u32::from(part.bits));
            self.set_register(part.class, part.slot, l, value);
            bits >>= part.bits;
        }
    }
}

/// Whether a generic address lies in the window of a state space (PTX ISA, "Generic Addressing").
pub(super) fn lies_in(address: u64, space: AddressSpace) -> bool {
    let window = |base: u64| (base..base + WINDOW).contains(&address);
    match space {
        AddressSpace::Global => address >= GLOBAL_BASE,
        AddressSpace::Shared => (SHARED_BASE..SHARED_BASE + SHARED_WINDOW).contains(&address),
        AddressSpace::Local => window(LOCAL_BASE),
        AddressSpace::Param => window(PARAM_BASE),
        // Constant variables have addresses of global memory.
        AddressSpace::Const => false,
        AddressSpace::Generic => true,
    }
}
