//! PTX ISA, "Logic and Shift Instructions", `prmt` and `mov`.

use crate::conformance::spec::{Row, row};

pub(super) const ROWS: &[Row] = &[
    row("{and,or,xor}{.b16,.b32,.b64,.pred}", "t", "tt"),
    row("not{.b16,.b32,.b64,.pred}", "t", "t"),
    row("cnot{.b16,.b32,.b64}", "t", "t"),
    row("lop3.b32", "t", "tttl"),
    row("lop3{.or,.and}.b32", "L", "tttlp"),
    row("lop3{.or,.and}.b32", "L", "tttlq"),
    row("shf{.l,.r}{.clamp,.wrap}.b32", "t", "tti"),
    row("shl{.b16,.b32,.b64}", "t", "ti"),
    row(
        "shr{.b16,.b32,.b64,.u16,.u32,.u64,.s16,.s32,.s64}",
        "t",
        "ti",
    ),
    row("prmt.b32", "t", "ttt"),
    row("prmt.b32{.f4e,.b4e,.rc8,.ecl,.ecr,.rc16}", "t", "ttt"),
    row(
        "mov{.pred,.b16,.b32,.b64,.u16,.u32,.u64,.s16,.s32,.s64,.f32,.f64}",
        "t",
        "t",
    ),
];
