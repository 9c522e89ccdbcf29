//! PTX ISA, "Floating-Point Instructions": what has a rounding, and what only selects.

use crate::conformance::spec::{Row, row};

pub(super) const ROWS: &[Row] = &[
    row(
        "{add,sub,mul}{,.rn,.rz,.rm,.rp}{,.ftz}{,.sat}.f32",
        "t",
        "tt",
    ),
    row("{add,sub,mul}{,.rn,.rz,.rm,.rp}.f64", "t", "tt"),
    row("{fma,mad}{.rn,.rz,.rm,.rp}{,.ftz}{,.sat}.f32", "t", "ttt"),
    row("{fma,mad}{.rn,.rz,.rm,.rp}.f64", "t", "ttt"),
    row("div{.rn,.rz,.rm,.rp}{.f32,.ftz.f32,.f64}", "t", "tt"),
    row("{rcp,sqrt}{.rn,.rz,.rm,.rp}{.f32,.ftz.f32,.f64}", "t", "t"),
    row("{neg,abs}{.f32,.ftz.f32,.f64}", "t", "t"),
    row("{min,max}{,.ftz}{,.NaN}{,.xorsign.abs}.f32", "t", "tt"),
    row("{min,max}.f64", "t", "tt"),
];
