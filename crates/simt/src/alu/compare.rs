//! Comparison and selection: `setp`, `set`, `selp`, `slct` (PTX ISA,
//! "Comparison and Selection Instructions", "Half Precision Comparison
//! Instructions") and what looks at the bits of a floating-point number without
//! computing: `testp`, `copysign` ("Floating Point Instructions").

mod class;
mod relation;
mod select;

pub use relation::{set_truth, write_set, write_set_pair};

use super::AluOp;
use super::spelling::types_last;
use ptx::semantics::{Modifier, Opcode, Opcode::*};

/// See [`super::lookup`].
pub fn lookup(opcode: &Opcode, modifiers: &[Modifier], operands: usize) -> Option<AluOp> {
    let modifiers = types_last(modifiers);
    let m = modifiers.as_slice();
    match (opcode, operands) {
        (Setp, 3 | 4) => relation::setp(m, operands == 4),
        (Set, 3 | 4) => relation::set(m, operands == 4),
        (Selp, 4) => select::selp(m),
        (Slct, 4) => select::slct(m),
        (Testp, 2) => class::testp(m),
        (Copysign, 3) => class::copysign(m),
        _ => None,
    }
}
