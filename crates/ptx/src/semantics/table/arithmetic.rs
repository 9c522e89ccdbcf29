//! "Integer Arithmetic Instructions" and "Extended-Precision Integer Arithmetic Instructions". `add` to `max` are floating-point
//! instructions too.

use super::super::Opcode::*;
use super::{Row, row};

pub(super) fn rows() -> Vec<Row> {
    vec![
        // "add", "sub"; also of "Floating-Point", "Half Precision" and "Mixed Precision", where a is of the narrower type.
        row(Add, "add", "=d, a, b:t1"),
        row(Sub, "sub", "=d, a, b:t1"),
        // "mul": .wide doubles the result.
        row(Mul, "mul", "=d:w, a, b"),
        // "mad"
        row(Mad, "mad", "=d:w, a, b, c:w"),
        // "mul24", "mad24"
        row(Mul24, "mul24", "=d, a, b"),
        row(Mad24, "mad24", "=d, a, b, c"),
        // "sad": c + |a - b|
        row(Sad, "sad", "=d, a, b, c"),
        // "div", "rem"
        row(Div, "div", "=d, a, b"),
        row(Rem, "rem", "=d, a, b"),
        // "abs", "neg"
        row(Abs, "abs", "=d, a"),
        row(Neg, "neg", "=d, a"),
        // "min", "max"; of three operands for .f32
        row(Min, "min", "=d, a, b, c"),
        row(Max, "max", "=d, a, b, c"),
        // "popc", "clz", "bfind": the result is .u32
        row(Popc, "popc", "=d:32, a"),
        row(Clz, "clz", "=d:32, a"),
        row(Bfind, "bfind", "=d:32, a"),
        // "fns"
        row(Fns, "fns", "=d, mask:32, base:32, offset:32"),
        // "brev"
        row(Brev, "brev", "=d, a"),
        // "bfe", "bfi": positions and lengths are .u32
        row(Bfe, "bfe", "=d, a, b:32, c:32"),
        row(Bfi, "bfi", "=f, a, b, c:32, d:32"),
        // "szext", "bmsk"
        row(Szext, "szext", "=d, a, b:32"),
        row(Bmsk, "bmsk", "=d, a:32, b:32"),
        // "dp4a", "dp2a": the types are of the elements
        row(Dp4a, "dp4a", "=d:32, a:32, b:32, c:32"),
        row(Dp2a, "dp2a", "=d:32, a:32, b:32, c:32"),
        // "add.cc", "addc", "sub.cc", "subc", "mad.cc", "madc": through the condition code register
        row(AddCc, "add.cc", "=d, a, b").carry(false, true),
        row(Addc, "addc", "=d, a, b").carry(true, false),
        row(SubCc, "sub.cc", "=d, a, b").carry(false, true),
        row(Subc, "subc", "=d, a, b").carry(true, false),
        row(MadCc, "mad.cc", "=d, a, b, c").carry(false, true),
        row(Madc, "madc", "=d, a, b, c").carry(true, false),
    ]
}
