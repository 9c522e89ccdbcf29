//! PTX ISA, "Integer Arithmetic Instructions".

use crate::conformance::spec::{Row, row};

pub(super) const ROWS: &[Row] = &[
    row(
        "add{.u16,.u32,.u64,.s16,.s32,.s64,.u16x2,.s16x2}",
        "t",
        "tt",
    ),
    row("add.sat.s32", "t", "tt"),
    row("sub{.u16,.u32,.u64,.s16,.s32,.s64}", "t", "tt"),
    row("sub.sat.s32", "t", "tt"),
    row("mul{.hi,.lo}{.u16,.u32,.u64,.s16,.s32,.s64}", "t", "tt"),
    row("mul.wide{.u16,.u32,.s16,.s32}", "w", "tt"),
    row("mad{.hi,.lo}{.u16,.u32,.u64,.s16,.s32,.s64}", "t", "ttt"),
    row("mad.wide{.u16,.u32,.s16,.s32}", "w", "ttw"),
    row("mad.hi.sat.s32", "t", "ttt"),
    row("mul24{.hi,.lo}{.u32,.s32}", "t", "tt"),
    row("mad24{.hi,.lo}{.u32,.s32}", "t", "ttt"),
    row("mad24.hi.sat.s32", "t", "ttt"),
    row("sad{.u16,.u32,.u64,.s16,.s32,.s64}", "t", "ttt"),
    row("{div,rem}{.u16,.u32,.u64,.s16,.s32,.s64}", "t", "tt"),
    row("{abs,neg}{.s16,.s32,.s64}", "t", "t"),
    row("{min,max}{.u16,.u32,.u64,.u16x2,.s16,.s64}", "t", "tt"),
    row("{min,max}{,.relu}{.s16x2,.s32}", "t", "tt"),
    row("{popc,clz}{.b32,.b64}", "x", "t"),
    row("brev{.b32,.b64}", "t", "t"),
    row("bfind{,.shiftamt}{.u32,.u64,.s32,.s64}", "x", "t"),
    row("fns.b32", "x", "tin"),
    row("bfe{.u32,.u64,.s32,.s64}", "t", "tii"),
    row("bfi{.b32,.b64}", "t", "ttii"),
    row("szext{.clamp,.wrap}{.u32,.s32}", "t", "ti"),
    row("bmsk{.clamp,.wrap}.b32", "t", "ii"),
    row("dp4a{.u32,.s32}{.u32,.s32}", "x", "tux"),
    row("dp2a{.lo,.hi}{.u32,.s32}{.u32,.s32}", "x", "tux"),
];
