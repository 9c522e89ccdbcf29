//! # load-made-read-only
//!
//! One side loads through the read-only cache (`ld.global.nc`), which is not coherent: if anything writes the location while
//! the kernel runs, the load may return an old value (`racetrap explain non-coherent-read`).
//!
//! ## Example
//!
//! ```cpp
//! __global__ void f(const float *__restrict__ in, float *__restrict__ out)      // ld.global.nc
//! ```
//!
//! ## How it is recognised
//!
//! Two loads match, and only one has `.nc`.
//!
//! ## Limitations
//!
//! Loads of a loop that was unrolled are compared where they match.

use super::{Occurrence, View};
use crate::class::InstructionClass;
use crate::code::Instr;
use ptx::semantics::Modifier;

pub(super) fn find(view: &View) -> Vec<Occurrence> {
    let read_only = |i: &Instr| i.typed.has(Modifier::Nc);
    let mine = view.mine.instructions.iter().enumerate();
    mine.filter(|(_, i)| matches!(i.class, InstructionClass::Load(_)) && read_only(i))
        .filter_map(|(index, _)| {
            let partner = view.partner(index)?;
            let other = &view.other.instructions[partner];
            let load = matches!(other.class, InstructionClass::Load(_));
            (load && !read_only(other)).then(|| view.occurrence(vec![index], vec![partner]))
        })
        .collect()
}
