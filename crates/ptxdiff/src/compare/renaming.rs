//! Whether instructions agree under one renaming of registers.

use crate::code::{Instr, Token};
use ptx::semantics::{Comparison, Opcode};
use std::collections::HashMap;

/// A renaming of registers: one to one.
#[derive(Default)]
pub(super) struct Renaming {
    to_b: HashMap<u32, u32>,
    pub to_a: HashMap<u32, u32>,
}

impl Renaming {
    /// Whether two instructions agree; what is not named yet is bound.
    pub fn agrees(&mut self, a: &Instr, b: &Instr) -> bool {
        let mut same = a.name == b.name && a.operands.len() == b.operands.len();
        let paired = a.operands.iter().zip(&b.operands);
        let count = a.operands.len();
        if same && commutes(a) && count >= 3 {
            let (x, y) = (count - 2, count - 1);
            let straight = self.fits(&a.operands[x], &b.operands[x])
                && self.fits(&a.operands[y], &b.operands[y]);
            let crossed = self.fits(&a.operands[x], &b.operands[y])
                && self.fits(&a.operands[y], &b.operands[x]);
            if !straight && crossed {
                for (mine, theirs) in [(x, y), (y, x)] {
                    same &= self.bind(&a.operands[mine], &b.operands[theirs]);
                }
                for (mine, theirs) in paired.take(x) {
                    same &= self.bind(mine, theirs);
                }
                return same;
            }
        }
        for (mine, theirs) in paired {
            same &= self.bind(mine, theirs);
        }
        same
    }

    fn fits(&self, a: &[Token], b: &[Token]) -> bool {
        a.len() == b.len()
            && a.iter().zip(b).all(|pair| match pair {
                (Token::Register(x), Token::Register(y)) => {
                    match (self.to_b.get(x), self.to_a.get(y)) {
                        (Some(bound), _) => bound == y,
                        (None, Some(_)) => false,
                        (None, None) => true,
                    }
                }
                (x, y) => x == y,
            })
    }

    fn bind(&mut self, a: &[Token], b: &[Token]) -> bool {
        let fits = self.fits(a, b);
        for pair in a.iter().zip(b) {
            if let (Token::Register(x), Token::Register(y)) = pair
                && !self.to_b.contains_key(x)
                && !self.to_a.contains_key(y)
            {
                self.to_b.insert(*x, *y);
                self.to_a.insert(*y, *x);
            }
        }
        fits
    }
}

/// Whether the last two operands may change places.
fn commutes(instruction: &Instr) -> bool {
    let t = &instruction.typed;
    match t.opcode {
        Opcode::Add
        | Opcode::Mul
        | Opcode::And
        | Opcode::Or
        | Opcode::Xor
        | Opcode::Min
        | Opcode::Max => {
            // With mixed precision the operands are of two types.
            t.operands.len() == 3 && t.modifiers.types().count() < 2
        }
        Opcode::Setp => {
            t.operands.len() == 3
                && matches!(
                    t.modifiers.comparison(),
                    Some(Comparison::Eq | Comparison::Ne)
                )
        }
        _ => false,
    }
}
