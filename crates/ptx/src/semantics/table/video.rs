//! "Video Instructions": "Scalar Video Instructions" and "SIMD Video Instructions". All operands are 32-bit words, whose bytes and halves
//! selectors name.

use super::super::Opcode::*;
use super::{Row, row};

const OPERANDS: &str = "=d:32, a:32, b:32, c:32";

pub(super) fn rows() -> Vec<Row> {
    let scalar = [
        // "vadd, vsub, vabsdiff, vmin, vmax"
        row(Vadd, "vadd", OPERANDS),
        row(Vsub, "vsub", OPERANDS),
        row(Vabsdiff, "vabsdiff", OPERANDS),
        row(Vmin, "vmin", OPERANDS),
        row(Vmax, "vmax", OPERANDS),
        // "vshl, vshr", "vmad", "vset"
        row(Vshl, "vshl", OPERANDS),
        row(Vshr, "vshr", OPERANDS),
        row(Vmad, "vmad", OPERANDS),
        row(Vset, "vset", OPERANDS),
    ];
    // "vadd2, vsub2, vavrg2, vabsdiff2, vmin2, vmax2", "vset2", and the same with 4
    let packed = [
        "vadd2",
        "vsub2",
        "vavrg2",
        "vabsdiff2",
        "vmin2",
        "vmax2",
        "vset2",
        "vadd4",
        "vsub4",
        "vavrg4",
        "vabsdiff4",
        "vmin4",
        "vmax4",
        "vset4",
    ];
    let packed = packed
        .into_iter()
        .map(|spelling| row(VideoSimd, spelling, OPERANDS));
    scalar.into_iter().chain(packed).collect()
}
