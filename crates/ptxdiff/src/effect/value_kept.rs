//! # value-kept-in-register
//!
//! One side reads a word of memory again that its thread has already read or written; the other side takes the value from
//! the register that still holds it. Another thread may write the word between the two accesses. `volatile`, an atomic
//! load or a barrier makes the thread read it again.
//!
//! ## Example
//!
//! ```cpp
//! data[32] = value;
//! value = data[32] + data[31];            // a plain data[32] is `value`: no load
//! ```
//!
//! ## How it is recognised
//!
//! A load is elided (`load-elided`), and on every path to it the same thread has accessed the same location: same state
//! space, same address in terms of parameters, variables and special registers, same width.
//!
//! ## Limitations
//!
//! The comparison does not recognise addresses that are equal but written differently. It does not tell which register
//! keeps the value.

use super::{Occurrence, View};
use crate::Side;
use crate::class::InstructionClass;

pub(super) fn find(view: &View, elided: &[Occurrence]) -> Vec<Occurrence> {
    let code = view.other;
    let kept = |occurrence: &&Occurrence| {
        let load = match view.side {
            Side::A => occurrence.b[0],
            Side::B => occurrence.a[0],
        };
        let own = &code.instructions[load];
        let Some(place) = own.place else { return false };
        let mut classes = vec![InstructionClass::Load(place.space), InstructionClass::Store(place.space)];
        classes.extend([InstructionClass::Atomic(place.space), InstructionClass::Reduction(place.space)]);
        classes.iter().any(|class| {
            let alike = view.alike.get(&(*class, Some(place))).into_iter().flatten();
            alike.into_iter().any(|&earlier| earlier != load && code.dominates(earlier, load))
        })
    };
    elided.iter().filter(kept).cloned().collect()
}
