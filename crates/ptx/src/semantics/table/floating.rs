//! "Floating-Point Instructions", "Half Precision Floating-Point Instructions", "Mixed Precision Floating-Point Instructions": what the
//! integers don't have.

use super::super::Opcode::*;
use super::{Row, row};

pub(super) fn rows() -> Vec<Row> {
    vec![
        // "testp"
        row(Testp, "testp", "=p:p, a"),
        // "copysign"
        row(Copysign, "copysign", "=d, a, b"),
        // "fma"; with mixed precision a and b are of the narrower type
        row(Fma, "fma", "=d, a, b, c:t1"),
        // "rcp", "sqrt", "rsqrt"
        row(Rcp, "rcp", "=d, a"),
        row(Sqrt, "sqrt", "=d, a"),
        row(Rsqrt, "rsqrt", "=d, a"),
        // "sin", "cos", "lg2", "ex2", "tanh"
        row(Sin, "sin", "=d, a"),
        row(Cos, "cos", "=d, a"),
        row(Lg2, "lg2", "=d, a"),
        row(Ex2, "ex2", "=d, a"),
        row(Tanh, "tanh", "=d, a"),
    ]
}
