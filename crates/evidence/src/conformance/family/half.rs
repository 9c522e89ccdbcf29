//! PTX ISA, "Half Precision Floating-Point Instructions".

use crate::conformance::spec::{Row, row};

pub(super) const ROWS: &[Row] = &[
    row("{add,sub,mul}{,.rn}{,.ftz}{,.sat}{.f16,.f16x2}", "t", "tt"),
    row("{add,sub,mul}{,.rn}{.bf16,.bf16x2}", "t", "tt"),
    row("fma.rn{,.ftz}{,.sat,.relu}{.f16,.f16x2}", "t", "ttt"),
    row("fma.rn{,.relu}{.bf16,.bf16x2}", "t", "ttt"),
    row("{neg,abs}{,.ftz}{.f16,.f16x2}", "t", "t"),
    row("{neg,abs}{.bf16,.bf16x2}", "t", "t"),
    row(
        "{min,max}{,.ftz}{,.NaN}{,.xorsign.abs}{.f16,.f16x2}",
        "t",
        "tt",
    ),
    row("{min,max}{,.NaN}{,.xorsign.abs}{.bf16,.bf16x2}", "t", "tt"),
];
