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
        row(Vadd2, "vadd2", OPERANDS),
        row(Vsub2, "vsub2", OPERANDS),
        row(Vavrg2, "vavrg2", OPERANDS),
        row(Vabsdiff2, "vabsdiff2", OPERANDS),
        row(Vmin2, "vmin2", OPERANDS),
        row(Vmax2, "vmax2", OPERANDS),
        row(Vset2, "vset2", OPERANDS),
        row(Vadd4, "vadd4", OPERANDS),
        row(Vsub4, "vsub4", OPERANDS),
        row(Vavrg4, "vavrg4", OPERANDS),
        row(Vabsdiff4, "vabsdiff4", OPERANDS),
        row(Vmin4, "vmin4", OPERANDS),
        row(Vmax4, "vmax4", OPERANDS),
        row(Vset4, "vset4", OPERANDS),
    ];
    scalar.into_iter().chain(packed).collect()
}
