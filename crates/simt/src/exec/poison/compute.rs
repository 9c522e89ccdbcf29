//! Computations: in which lanes a result is undefined.

use super::super::Core;
use crate::alu::{AluOp, Mask};
use crate::hooks::Hooks;
use crate::ids::*;
use crate::lower::def_use::{Use, visit_operands};
use crate::lower::instruction::signature;
use crate::op::*;
use crate::state::*;
use crate::undefined::{Lanes, Undefined};
use ptx::semantics::{Modifier, Opcode, TypedInstruction};

impl<O: Hooks> Core<'_, O> {
    /// The lanes in which the result of a computation is undefined.
    pub(super) fn computed(
        &self,
        u: &mut Undefined,
        warp: &Warp,
        w: usize,
        i: &Instr,
        active: Mask,
    ) -> Lanes {
        let instruction = &self.program.site(i.site).instruction;
        match &i.op {
            Op::Alu {
                f: f @ (AluOp::WWP_W(_) | AluOp::DDP_D(_)),
                s,
                ..
            } => {
                let class = signature(f).0;
                let chosen = predicate(&warp.p, s[2]);
                let a = u.of(w, class, s[0]).within(chosen);
                let b = u.of(w, class, s[1]).within(!chosen);
                u.of(w, RegisterClass::P, s[2]).or(a).or(b)
            }
            // Each lane's result comes from several lanes.
            Op::Matrix(_) | Op::Wgmma(_) => {
                let mut all = self.data(u, w, i);
                if all.mask != 0 {
                    all.mask = Mask::MAX;
                }
                all
            }
            Op::Alu { f, s, .. } => {
                let (out, ins) = signature(f);
                let all = ins
                    .iter()
                    .zip(s)
                    .fold(Lanes::default(), |all, (c, s)| all.or(u.of(w, *c, *s)));
                let carries = matches!(
                    f,
                    AluOp::WW_W_Carry(_)
                        | AluOp::DD_D_Carry(_)
                        | AluOp::WWW_W_Carry(_)
                        | AluOp::DDD_D_Carry(_)
                );
                if carries {
                    let carry = u.warps[w].carry;
                    let all = if instruction.carry.reads {
                        all.or(carry)
                    } else {
                        all
                    };
                    if instruction.carry.writes {
                        u.warps[w].carry = carry.within(!active).or(all.within(active));
                    }
                    return all;
                }
                if all.mask == 0 {
                    return all;
                }
                // One operand that is defined may decide alone.
                let decides = |slot: Slot| -> Mask {
                    let certain = !u.of(w, out, slot).mask;
                    certain
                        & match (f, &instruction.opcode) {
                            (AluOp::PP_P(_), Opcode::And) => !predicate(&warp.p, slot),
                            (AluOp::PP_P(_), Opcode::Or) => predicate(&warp.p, slot),
                            (AluOp::WW_W(_) | AluOp::DD_D(_), opcode)
                                if *opcode == Opcode::And || low_product(instruction) =>
                            {
                                (0..LANES)
                                    .filter(|l| self.register(warp, slot, out, *l) == 0)
                                    .fold(0, |m, l| m | 1 << l)
                            }
                            _ => 0,
                        }
                };
                all.within(!(decides(s[0]) | decides(s[1])))
            }
            Op::Setp {
                combine: Some((op, c)),
                ..
            }
            | Op::Set {
                combine: Some((op, c)),
                ..
            } => {
                let other = u.of(w, RegisterClass::P, *c);
                let holds = predicate(&warp.p, *c);
                let decided = match op {
                    BoolOp::And => !holds,
                    BoolOp::Or => holds,
                    BoolOp::Xor => 0,
                } & !other.mask;
                self.data(u, w, i).within(!decided)
            }
            _ => self.data(u, w, i),
        }
    }

    /// The lanes in which anything is undefined that a result is computed from.
    fn data(&self, u: &Undefined, w: usize, i: &Instr) -> Lanes {
        let mut all = Lanes::default();
        let read = &mut |row: Row, what: Use| {
            if what != Use::Control {
                all = all.or(u.warps[w].of(Some(row)));
            }
        };
        visit_operands(self.program, i, read, &mut |_| {});
        all
    }
}

/// Whether one factor of zero decides the result.
fn low_product(instruction: &TypedInstruction) -> bool {
    instruction.opcode == Opcode::Mul && instruction.has(Modifier::Lo)
}
