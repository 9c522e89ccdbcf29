//! # values-in-local-memory
//!
//! One side keeps values in local memory (a thread's own, in device memory) that the other side keeps in registers: arrays
//! that are indexed by more than constants, variables whose address is taken, spilled registers.
//!
//! ## Example
//!
//! ```cpp
//! int values[2] = {x, y};
//! out[t] = values[k];                     // st.local, ld.local; with a constant k, registers
//! ```
//!
//! ## How it is recognised
//!
//! One side stores to local memory and loads from it, the other side does not. These accesses are not elided.
//!
//! ## Limitations
//!
//! Registers are assigned below PTX: `--sass` counts what `ptxas` spilled.

use super::{Occurrence, View};
use crate::class::{InstructionClass, Space};
use crate::code::{Code, Instr};

/// Whether an access is one of local memory.
fn is_local(instr: &Instr) -> bool {
    let place = instr.place.map(|p| p.space == Space::Local);
    instr.class.is_access() && place == Some(true)
}

pub(super) fn find(view: &View) -> Vec<Occurrence> {
    let locals = |code: &Code| -> Vec<usize> {
        let all = code.instructions.iter().enumerate();
        all.filter(|(_, i)| is_local(i)).map(|(index, _)| index).collect()
    };
    let mine = locals(view.mine);
    let class = |wanted: fn(InstructionClass) -> bool| mine.iter().any(|&i| wanted(view.mine.instructions[i].class));
    let both = class(|c| matches!(c, InstructionClass::Load(_))) && class(|c| matches!(c, InstructionClass::Store(_)));
    match both && locals(view.other).is_empty() {
        true => vec![view.occurrence(mine, Vec::new())],
        false => Vec::new(),
    }
}
