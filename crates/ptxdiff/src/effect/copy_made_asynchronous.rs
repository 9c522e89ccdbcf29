//! # copy-made-asynchronous
//!
//! One side copies from memory to memory with `cp.async`, the other loads into a register and stores from it. An asynchronous copy goes on while
//! the thread does: what it writes may be read only after it was waited for, and by other threads only after a barrier behind the wait.
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
//! A `cp.async` or `cp.async.bulk` and, on the other side, `ld` of the bytes that it reads or `st` of the bytes that it writes, between the
//! same barriers and fences. Of a copy whose size is known only when it runs: loads and stores of the same variable or parameter.
//!
//! ## What it cannot see
//!
//! Copies of tensors (`cp.async.bulk.tensor`), whose source is no address. Whether the copy is waited for (`racetrap explain async-copy-hazard`).

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
