//! "Comparison and Selection Instructions", "Half Precision Comparison Instructions", "Logic and Shift Instructions".

use super::super::Opcode::*;
use super::{Row, row};

pub(super) fn rows() -> Vec<Row> {
    vec![
        // "set": .dtype.stype
        row(Set, "set", "=d, a, b, c:p"),
        // "setp": q is the complement, or the upper half's comparison
        row(Setp, "setp", "=p:p|q, a, b, c:p"),
        // "selp"
        row(Selp, "selp", "=d, a, b, c:p"),
        // "slct": the last type is c's
        row(Slct, "slct", "=d, a:t1, b:t1, c"),
        // "and", "or", "xor", "not", "cnot"
        row(And, "and", "=d, a, b"),
        row(Or, "or", "=d, a, b"),
        row(Xor, "xor", "=d, a, b"),
        row(Not, "not", "=d, a"),
        row(Cnot, "cnot", "=d, a"),
        // "lop3": d|p with .BoolOp
        row(Lop3, "lop3", "=d|p, a, b, c, immLut:i, q:p"),
        // "shf"
        row(Shf, "shf", "=d, a, b, c"),
        // "shl", "shr": the amount is .u32
        row(Shl, "shl", "=d, a, b:32"),
        row(Shr, "shr", "=d, a, b:32"),
    ]
}
