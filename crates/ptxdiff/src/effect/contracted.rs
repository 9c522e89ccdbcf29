//! # contracted
//!
//! One side multiplies and adds floating-point numbers in one instruction, `fma`, which rounds once; the other side
//! multiplies and adds in two, which round twice. Results may differ in the last place.
//!
//! ## Example
//!
//! ```cpp
//! z = x * y + z;                          // fma.rn.f32; with -fmad=false: mul.rn.f32, add.rn.f32
//! ```
//!
//! ## How it is recognised
//!
//! An `fma` has no match, and on the other side there is a product of the same type without a match. It has the same
//! operands or comes from the same source place, and a sum or difference without a match uses it. If operands cannot be
//! compared, the numbers decide: products and sums of this type without a match.
//!
//! ## Limitations
//!
//! Contractions of halves in packed types count once.

use super::{Occurrence, View};
use crate::code::Instr;
use ptx::semantics::{Opcode, Type};

pub(super) fn find(view: &View) -> Vec<Occurrence> {
    let ty = |instr: &Instr| instr.typed.modifiers.types().next_back().filter(|ty: &Type| ty.is_float());
    let unmatched = |opcodes: [Opcode; 2]| -> Vec<usize> {
        let all = view.other.instructions.iter().enumerate();
        all.filter(|(index, i)| {
            opcodes.contains(&i.typed.opcode) && ty(i).is_some() && view.back(*index).is_none()
        })
        .map(|(index, _)| index)
        .collect()
    };
    let mut products = unmatched([Opcode::Mul, Opcode::Mul]);
    let mut sums = unmatched([Opcode::Add, Opcode::Sub]);
    let mut found = Vec::new();
    let fused = view.only_mine().filter(|(_, i)| matches!(i.typed.opcode, Opcode::Fma | Opcode::Mad));
    for (index, instr) in fused.filter(|(_, i)| ty(i).is_some()) {
        let own = ty(instr);
        let best = products.iter().copied().filter(|&p| ty(&view.other.instructions[p]) == own).max_by_key(|&p| {
            let product = &view.other.instructions[p];
            let same = instr.sources.iter().filter(|v| product.sources.contains(v)).count();
            (same, product.site == instr.site, std::cmp::Reverse(p))
        });
        let Some(product) = best else { continue };
        let sum = sums.iter().copied().find(|&s| s > product && ty(&view.other.instructions[s]) == own);
        let Some(sum) = sum else { continue };
        products.retain(|p| *p != product);
        sums.retain(|s| *s != sum);
        found.push(view.occurrence(vec![index], vec![product, sum]));
    }
    found
}
