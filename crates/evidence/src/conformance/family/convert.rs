//! PTX ISA, "Data Movement and Conversion Instructions: cvt, cvt.pack".

use crate::conformance::spec::{Row, row};

pub(super) const ROWS: &[Row] = &[
    row(
        "cvt{.u8,.u16,.u32,.u64,.s8,.s16,.s32,.s64}{.u8,.u16,.u32,.u64,.s8,.s16,.s32,.s64}",
        "t",
        "u",
    ),
    row("cvt.sat{.u8,.s8}{.u16,.u32,.u64,.s16,.s32,.s64}", "t", "u"),
    row("cvt.sat{.u8.s8,.s8.u8}", "t", "u"),
    row("cvt.sat{.u16,.s16}{.u32,.u64,.s32,.s64}", "t", "u"),
    row("cvt.sat{.u16.s8,.u16.s16,.s16.u16}", "t", "u"),
    row("cvt.sat{.u32,.s32}{.u64,.s64}", "t", "u"),
    row("cvt.sat{.u32.s8,.u32.s16,.u32.s32,.s32.u32}", "t", "u"),
    row(
        "cvt.sat{.u64.s8,.u64.s16,.u64.s32,.u64.s64,.s64.u64}",
        "t",
        "u",
    ),
    row(
        "cvt{.rni,.rzi,.rmi,.rpi}{,.sat}{.u8,.u16,.u32,.u64,.s8,.s16,.s32,.s64}{.f16,.f64}",
        "t",
        "u",
    ),
    row(
        "cvt{.rni,.rzi,.rmi,.rpi}{.u16,.u32,.u64,.s16,.s32,.s64}.bf16",
        "t",
        "u",
    ),
    row(
        "cvt{.rni,.rzi,.rmi,.rpi}{,.ftz}{,.sat}{.u8,.u16,.u32,.u64,.s8,.s16,.s32,.s64}.f32",
        "t",
        "u",
    ),
    row(
        "cvt{.rn,.rz,.rm,.rp}{,.sat}{.f16,.f64}{.u8,.u16,.u32,.u64,.s8,.s16,.s32,.s64}",
        "t",
        "u",
    ),
    row(
        "cvt{.rn,.rz,.rm,.rp}.bf16{.u16,.u32,.u64,.s16,.s32,.s64}",
        "t",
        "u",
    ),
    row(
        "cvt{.rn,.rz,.rm,.rp}{,.ftz}{,.sat}.f32{.u8,.u16,.u32,.u64,.s8,.s16,.s32,.s64}",
        "t",
        "u",
    ),
    row("cvt{,.rni,.rzi,.rmi,.rpi}{,.ftz}{,.sat}.f32.f32", "t", "u"),
    row(
        "cvt{,.rni,.rzi,.rmi,.rpi}{,.sat}{.f16.f16,.f64.f64}",
        "t",
        "u",
    ),
    row("cvt{,.rni,.rzi,.rmi,.rpi}.bf16.bf16", "t", "u"),
    row(
        "cvt{.rn,.rz,.rm,.rp}{,.ftz}{,.sat}{.f32.f64,.f16.f32}",
        "t",
        "u",
    ),
    row("cvt{.rn,.rz,.rm,.rp}{,.sat}.f16.f64", "t", "u"),
    row("cvt{.rn,.rz,.rm,.rp}.bf16.f64", "t", "u"),
    row("cvt{.rn,.rz,.rm,.rp}{,.ftz}.bf16.f32", "t", "u"),
    row(
        "cvt{.rn,.rz}{.relu,.satfinite,.relu.satfinite}{.f16,.bf16}.f32",
        "t",
        "u",
    ),
    row("cvt{,.ftz}{,.sat}{.f64.f32,.f32.f16}", "t", "u"),
    row("cvt{,.sat}.f64.f16", "t", "u"),
    row("cvt{,.rn,.rz,.rm,.rp}{,.ftz}.f32.bf16", "t", "u"),
    row(
        "cvt{,.rn,.rz,.rm,.rp}{.f64.bf16,.f16.bf16,.bf16.f16}",
        "t",
        "u",
    ),
    row(
        "cvt{.rn,.rz}{,.relu}{,.satfinite}{.f16x2,.bf16x2}.f32",
        "t",
        "uu",
    ),
    row("cvt{.rn,.rz}{,.relu}.tf32.f32", "t", "u"),
    row("cvt.rna{,.satfinite}.tf32.f32", "t", "u"),
    row("cvt.rn{,.relu}.satfinite{.e4m3x2,.e5m2x2}.f32", "t", "uu"),
    row("cvt.rn{,.relu}.satfinite{.e4m3x2,.e5m2x2}.f16x2", "t", "u"),
    row("cvt.rn{,.relu}.f16x2{.e4m3x2,.e5m2x2}", "t", "u"),
    row("cvt.pack.sat{.u16,.s16}.s32", "x", "uu"),
    row("cvt.pack.sat{.u8,.s8}.s32.b32", "x", "uuv"),
    row("cvt.pack.sat{.u4,.s4,.u2,.s2}.s32.b32", "x", "xxx"),
];
