//! `and`, `or`, `xor`, `not`, `cnot`, `lop3`.

use crate::alu::rows::{LANES, row, test1};
use crate::alu::words::*;
use crate::alu::{AluOp, Mask, Row32};

/// "Logic and Shift Instructions: and".
pub(super) fn and(m: &[Modifier]) -> Option<AluOp> {
    Some(match m {
        [PRED] => AluOp::PP_P(|a, b| a & b),
        [B16] => row!(WW_W, |a: u16, b: u16| a & b),
        [B32] => row!(WW_W, |a: u32, b: u32| a & b),
        [B64] => row!(DD_D, |a: u64, b: u64| a & b),
        _ => return None,
    })
}

/// "Logic and Shift Instructions: or".
pub(super) fn or(m: &[Modifier]) -> Option<AluOp> {
    Some(match m {
        [PRED] => AluOp::PP_P(|a, b| a | b),
        [B16] => row!(WW_W, |a: u16, b: u16| a | b),
        [B32] => row!(WW_W, |a: u32, b: u32| a | b),
        [B64] => row!(DD_D, |a: u64, b: u64| a | b),
        _ => return None,
    })
}

/// "Logic and Shift Instructions: xor".
pub(super) fn xor(m: &[Modifier]) -> Option<AluOp> {
    Some(match m {
        [PRED] => AluOp::PP_P(|a, b| a ^ b),
        [B16] => row!(WW_W, |a: u16, b: u16| a ^ b),
        [B32] => row!(WW_W, |a: u32, b: u32| a ^ b),
        [B64] => row!(DD_D, |a: u64, b: u64| a ^ b),
        _ => return None,
    })
}

/// "Logic and Shift Instructions: not".
pub(super) fn not(m: &[Modifier]) -> Option<AluOp> {
    Some(match m {
        [PRED] => AluOp::P_P(|a| !a),
        [B16] => row!(W_W, |a: u16| !a),
        [B32] => row!(W_W, |a: u32| !a),
        [B64] => row!(D_D, |a: u64| !a),
        _ => return None,
    })
}

/// "Logic and Shift Instructions: cnot".
pub(super) fn cnot(m: &[Modifier]) -> Option<AluOp> {
    Some(match m {
        [B16] => row!(W_W, |a: u16| (a == 0) as u16),
        [B32] => row!(W_W, |a: u32| (a == 0) as u32),
        [B64] => row!(D_D, |a: u64| (a == 0) as u64),
        _ => return None,
    })
}

/// "Logic and Shift Instructions: lop3", with and without `.BoolOp`.
pub(super) fn lop3(m: &[Modifier], operands: usize) -> Option<AluOp> {
    Some(match (m, operands) {
        ([B32], 5) => AluOp::WWWW_W(table_lookup),
        ([And, B32], 6) => AluOp::WWWWP_WP(|a, b, c, table, q, d| {
            table_lookup(a, b, c, table, d);
            nonzero(d) & q
        }),
        ([Or, B32], 6) => AluOp::WWWWP_WP(|a, b, c, table, q, d| {
            table_lookup(a, b, c, table, d);
            nonzero(d) | q
        }),
        _ => return None,
    })
}

fn nonzero(d: &Row32) -> Mask {
    test1(d, |d: u32| d != 0)
}

/// Each bit of `d` is the bit of `immLut` that the bits of `a`, `b` and `c`
/// number, `a` the most significant. `immLut` is a constant, the same in all lanes.
fn table_lookup(a: &Row32, b: &Row32, c: &Row32, table: &Row32, d: &mut Row32) {
    let entry = |i: u32| 0u32.wrapping_sub(table[0] >> i & 1);
    // (a,b) chooses a pair of entries, c one of the two: low ^ (c & (low ^ high)).
    let pair = |i: u32| (entry(i), entry(i) ^ entry(i + 1));
    let [p0, p1, p2, p3] = [pair(0), pair(2), pair(4), pair(6)];
    for i in 0..LANES {
        let (a, b, c) = (a[i], b[i], c[i]);
        let choose = |(low, difference): (u32, u32)| low ^ (c & difference);
        let without_a = mux(b, choose(p1), choose(p0));
        let with_a = mux(b, choose(p3), choose(p2));
        d[i] = mux(a, with_a, without_a);
    }
}

/// The bits of `yes` where `s` is set, those of `no` elsewhere.
fn mux(s: u32, yes: u32, no: u32) -> u32 {
    no ^ (s & (yes ^ no))
}
