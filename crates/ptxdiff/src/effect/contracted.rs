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
use crate::Side;
use crate::code::{Code, Instr};
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
    beside_others(view, &mut found);
    found
}

/// Adds those whose product or sum on the other side has a partner, because the same operation stands elsewhere on mine: as many as the other
/// side has products, sums and no fused operations more.
fn beside_others(view: &View, found: &mut Vec<Occurrence>) {
    use Opcode::{Add, Fma, Mad, Mul, Sub};
    let ty = |instr: &Instr| instr.typed.modifiers.types().next_back().filter(|ty: &Type| ty.is_float());
    let count = |code: &Code, wanted: &[Opcode], of: Type| {
        let all = code.instructions.iter();
        all.filter(|i| wanted.contains(&i.typed.opcode) && ty(i) == Some(of)).count()
    };
    let more = |here: &Code, there: &Code, wanted: &[Opcode], of| count(here, wanted, of).saturating_sub(count(there, wanted, of));
    let used = |found: &[Occurrence], side: Side| -> Vec<usize> { found.iter().flat_map(|o| o.of(side)).copied().collect() };
    for (index, fused) in view.only_mine().filter(|(_, i)| matches!(i.typed.opcode, Fma | Mad)) {
        let Some(own) = ty(fused) else { continue };
        let (mine, theirs) = (used(found, view.side), used(found, view.side.other()));
        let known = mine.iter().filter(|at| ty(&view.mine.instructions[**at]) == Some(own)).count();
        let products = more(view.other, view.mine, &[Mul], own);
        let sums = more(view.other, view.mine, &[Add, Sub], own);
        let most = products.min(sums).min(more(view.mine, view.other, &[Fma, Mad], own));
        if known >= most || mine.contains(&index) {
            continue;
        }
        let free = |wanted: &'static [Opcode]| {
            let all = view.other.instructions.iter().enumerate();
            all.filter(|(at, i)| wanted.contains(&i.typed.opcode) && ty(i) == Some(own) && !theirs.contains(at))
        };
        let pairs = free(&[Mul]).flat_map(|(p, product)| {
            let adds = free(&[Add, Sub]).filter(|(_, sum)| product.result.is_some_and(|r| sum.sources.contains(&r)));
            adds.map(move |(s, _)| (p, s))
        });
        let best = pairs.max_by_key(|(p, s)| {
            let both = [*p, *s].map(|at| &view.other.instructions[at]);
            let shared = fused.sources.iter().filter(|v| both.iter().any(|i| i.sources.contains(v))).count();
            let alone = [*p, *s].iter().filter(|at| view.back(**at).is_none()).count();
            (shared, alone, both[0].site == fused.site, std::cmp::Reverse(*p))
        });
        found.extend(best.map(|(p, s)| view.occurrence(vec![index], vec![p, s])));
    }
}
