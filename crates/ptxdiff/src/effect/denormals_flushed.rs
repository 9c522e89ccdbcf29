//! # denormals-flushed
//!
//! One side replaces subnormal operands and results of floating-point operations by zero (`.ftz`); the other side does
//! not.
//!
//! ## Example
//!
//! ```cpp
//! z = x * y;                              // with --ftz=true or --use_fast_math: mul.ftz.f32
//! ```
//!
//! ## How it is recognised
//!
//! An instruction has `.ftz` and matches one without. If none matches, one that has `.ftz` and no match counts if the
//! other side has floating-point operations, and none with `.ftz`.
//!
//! ## Limitations
//!
//! The instructions of a whole kernel are usually flushed together; the number says how many were compared.

use super::{Occurrence, View};
use crate::code::Instr;

pub(super) fn find(view: &View) -> Vec<Occurrence> {
    let flushes = |i: &Instr| i.typed.modifiers.flushes_subnormals();
    let mine = view.mine.instructions.iter().enumerate();
    let matched: Vec<Occurrence> = mine
        .filter(|(_, i)| flushes(i))
        .filter_map(|(index, _)| {
            let partner = view.partner(index)?;
            (!flushes(&view.other.instructions[partner])).then(|| view.occurrence(vec![index], vec![partner]))
        })
        .collect();
    let float = |i: &&Instr| i.typed.modifiers.types().any(|ty| ty.is_float()) && !i.class.is_access();
    let never = !view.other.instructions.iter().any(flushes) && view.other.instructions.iter().any(|i| float(&i));
    if !matched.is_empty() || !never {
        return matched;
    }
    let alone = view.only_mine().filter(|(_, i)| flushes(i));
    alone.take(1).map(|(index, _)| view.occurrence(vec![index], Vec::new())).collect()
}
