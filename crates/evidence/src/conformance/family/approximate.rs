//! PTX ISA, "Floating-Point Instructions": those that are allowed an error.

use crate::conformance::spec::{Row, row};

pub(super) const ROWS: &[Row] = &[
    row("div{.approx,.full}{,.ftz}.f32", "t", "tt"),
    row(
        "{rcp,sqrt,rsqrt,sin,cos,lg2,ex2}.approx{,.ftz}.f32",
        "t",
        "t",
    ),
    row("tanh.approx{.f32,.f16,.f16x2,.bf16,.bf16x2}", "t", "t"),
    row("ex2.approx{.f16,.f16x2}", "t", "t"),
    row("ex2.approx.ftz{.bf16,.bf16x2}", "t", "t"),
    row("{rcp,rsqrt}.approx.ftz.f64", "t", "t"),
    row("rsqrt.approx.f64", "t", "t"),
];
