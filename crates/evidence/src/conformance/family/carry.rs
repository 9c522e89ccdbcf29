//! PTX ISA, "Extended-Precision Integer Arithmetic Instructions".
//!
//! The flag `CC.CF` is no register: each instruction stands between one that makes the flag, by an addition
//! or a subtraction, and one that reads it, by an addition or a subtraction.

use crate::conformance::spec::{Instruction, Row, row};

/// Instructions that take or make a carry.
const ROWS: &[Row] = &[
    row("{add,sub}.cc{.u32,.s32,.u64,.s64}", "t", "tt"),
    row("{addc,subc}{,.cc}{.u32,.s32,.u64,.s64}", "t", "tt"),
    row("mad{.hi,.lo}.cc{.u32,.s32,.u64,.s64}", "t", "ttt"),
    row("madc{.hi,.lo}{,.cc}{.u32,.s32,.u64,.s64}", "t", "ttt"),
];

/// What makes the flag before and what reads it after.
pub const SETTERS: [&str; 2] = ["add.cc.u32", "sub.cc.u32"];
/// See [`SETTERS`].
pub const READERS: [&str; 2] = ["addc.u32", "subc.u32"];

/// Each instruction with each of the four surroundings.
pub fn chains() -> Vec<(&'static str, Instruction, &'static str)> {
    let mut all = Vec::new();
    for instruction in ROWS.iter().flat_map(Row::instructions) {
        for setter in SETTERS {
            for reader in READERS {
                all.push((setter, instruction.clone(), reader));
            }
        }
    }
    all
}
