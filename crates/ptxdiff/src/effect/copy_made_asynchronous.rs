//! # copy-made-asynchronous
//!
//! One side copies from memory to memory with `cp.async`; the other side loads into a register and stores from it.
//!
//! An asynchronous copy continues while the thread executes other instructions. The thread may read the destination only
//! after it has waited for the copy. Other threads also need a barrier after the wait.
//!
//! ## Example
//!
//! ```cpp
//! __pipeline_memcpy_async(&tile[t], &in[t], 4);   // cp.async.ca.shared.global
//! tile[t] = in[t];                                // ld.global, st.shared
//! ```
//!
//! ## How it is recognised
//!
//! One side has a `cp.async` or `cp.async.bulk`. The other side has a `ld` of the bytes that it reads or a `st` of the
//! bytes that it writes, between the same barriers and fences. For a copy whose size is known only at run time, loads and
//! stores of the same variable or parameter count.
//!
//! ## Limitations
//!
//! Tensor copies (`cp.async.bulk.tensor`) are not recognised, because their source is not an address. The comparison does
//! not check that the kernel waits for the copy.

use super::{Occurrence, View};
use crate::class::InstructionClass;

pub(super) fn find(view: &View) -> Vec<Occurrence> {
    let plain = |class: InstructionClass| matches!(class, InstructionClass::Load(_) | InstructionClass::Store(_));
    let mine = view.mine.instructions.iter().enumerate();
    mine.filter(|(_, instr)| matches!(instr.class, InstructionClass::AsyncCopy(_)))
        .filter_map(|(index, _)| {
            let mut beside = view.cover.beside(view.side, index, |_| true);
            beside.retain(|&i| plain(view.other.instructions[i].class));
            (!beside.is_empty()).then(|| view.occurrence(vec![index], beside))
        })
        .collect()
}
