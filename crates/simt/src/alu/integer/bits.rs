//! `popc` to `bmsk`: counting, finding, extracting and inserting bits.

use crate::alu::AluOp;
use crate::alu::rows::row;
use crate::alu::words::*;

/// "Integer Arithmetic Instructions: popc".
pub(super) fn popc(m: &[Modifier]) -> Option<AluOp> {
    Some(match m {
        [B32] => row!(W_W, u32::count_ones),
        [B64] => row!(D_W, u64::count_ones),
        _ => return None,
    })
}

/// "Integer Arithmetic Instructions: clz".
pub(super) fn clz(m: &[Modifier]) -> Option<AluOp> {
    Some(match m {
        [B32] => row!(W_W, u32::leading_zeros),
        [B64] => row!(D_W, u64::leading_zeros),
        _ => return None,
    })
}

/// "Integer Arithmetic Instructions: bfind". All ones where no bit is found.
pub(super) fn bfind(m: &[Modifier]) -> Option<AluOp> {
    // A negative number's most significant non-sign bit is its complement's highest one.
    const fn s32(a: i32) -> u32 {
        (a ^ (a >> 31)) as u32
    }
    const fn s64(a: i64) -> u64 {
        (a ^ (a >> 63)) as u64
    }
    // For 0, whose leading zeros are one more than the highest position, this wraps to all ones.
    const fn position32(a: u32) -> u32 {
        31u32.wrapping_sub(a.leading_zeros())
    }
    const fn position64(a: u64) -> u32 {
        63u32.wrapping_sub(a.leading_zeros())
    }
    const fn shift32(a: u32) -> u32 {
        if a == 0 { !0 } else { a.leading_zeros() }
    }
    const fn shift64(a: u64) -> u32 {
        if a == 0 { !0 } else { a.leading_zeros() }
    }
    Some(match m {
        [U32] => row!(W_W, position32),
        [S32] => row!(W_W, |a: i32| position32(s32(a))),
        [U64] => row!(D_W, position64),
        [S64] => row!(D_W, |a: i64| position64(s64(a))),
        [Shiftamt, U32] => row!(W_W, shift32),
        [Shiftamt, S32] => row!(W_W, |a: i32| shift32(s32(a))),
        [Shiftamt, U64] => row!(D_W, shift64),
        [Shiftamt, S64] => row!(D_W, |a: i64| shift64(s64(a))),
        _ => return None,
    })
}

/// "Integer Arithmetic Instructions: fns".
pub(super) fn fns(m: &[Modifier]) -> Option<AluOp> {
    Some(match m {
        [B32] => row!(WWW_W, find_nth_set),
        _ => return None,
    })
}

/// The position of the `offset`-th set bit counted upwards from bit `base`
/// (downwards for negative offsets, `base` itself for 0), or all ones. The
/// manual leaves `base` above 31 undefined: nothing is found there.
fn find_nth_set(mask: u32, base: u32, offset: i32) -> u32 {
    if offset == i32::MIN {
        // What the code of `ptxas` comes to: −`offset` is no more than the number of set bits.
        return 0;
    }
    if base > 31 || offset.unsigned_abs() > 32 {
        return !0;
    }
    let mut candidates = match offset {
        0 => mask & (1 << base),
        1.. => mask & (!0 << base),
        _ => (mask & (!0 >> (31 - base))).reverse_bits(),
    };
    for _ in 1..offset.unsigned_abs() {
        candidates &= candidates.wrapping_sub(1);
    }
    match candidates.trailing_zeros() {
        32 => !0,
        position if offset < 0 => 31 - position,
        position => position,
    }
}

/// "Integer Arithmetic Instructions: brev".
pub(super) fn brev(m: &[Modifier]) -> Option<AluOp> {
    Some(match m {
        [B32] => row!(W_W, u32::reverse_bits),
        [B64] => row!(D_D, u64::reverse_bits),
        _ => return None,
    })
}

/// Shifts and masks with amounts from 0 upwards, without branches.
macro_rules! fields {
    ($ones:ident, $shl:ident, $zero_extend:ident, $sign_extend:ident, $unsigned:ty, $signed:ty) => {
        /// The `length` lowest bits, all from the width on.
        fn $ones(length: u32) -> $unsigned {
            !$shl(!0, length)
        }
        /// Zero from the width on.
        fn $shl(a: $unsigned, amount: u32) -> $unsigned {
            let shifted = a << (amount & (<$unsigned>::BITS - 1));
            if amount < <$unsigned>::BITS {
                shifted
            } else {
                0
            }
        }
        /// Keeps the `length` lowest bits.
        fn $zero_extend(a: $unsigned, length: u32) -> $unsigned {
            a & $ones(length)
        }
        /// Repeats the highest of the `length` lowest bits; 0 for no bits.
        fn $sign_extend(a: $signed, length: u32) -> $signed {
            let surplus = (<$signed>::BITS - length.min(<$signed>::BITS)) & (<$signed>::BITS - 1);
            let extended = (a << surplus) >> surplus;
            if length == 0 { 0 } else { extended }
        }
    };
}

fields!(ones32, shl32, zero_extend32, sign_extend32, u32, i32);
fields!(ones64, shl64, zero_extend64, sign_extend64, u64, i64);

/// "Integer Arithmetic Instructions: bfe". The manual takes the lowest bytes of position and
/// length. So does the hardware for 32 bits; for 64 `ptxas` emits shifts that
/// see all 32 bits of them.
pub(super) fn bfe(m: &[Modifier]) -> Option<AluOp> {
    Some(match m {
        [U32] => row!(WWW_W, |a: u32, position: u8, length: u8| {
            let from = if position < 32 {
                a >> (position & 31)
            } else {
                0
            };
            zero_extend32(from, length as u32)
        }),
        [S32] => row!(WWW_W, |a: i32, position: u8, length: u8| {
            sign_extend32(a >> position.min(31), length as u32)
        }),
        [U64] => row!(DWW_D, |a: u64, position: u32, length: u32| {
            let from = if position < 64 {
                a >> (position & 63)
            } else {
                0
            };
            zero_extend64(from, length)
        }),
        [S64] => row!(DWW_D, |a: i64, position: u32, length: u32| {
            sign_extend64(a >> position.min(63), length)
        }),
        _ => return None,
    })
}

/// "Integer Arithmetic Instructions: bfi". Position and length as in [`bfe`].
pub(super) fn bfi(m: &[Modifier]) -> Option<AluOp> {
    Some(match m {
        [B32] => row!(WWWW_W, |a: u32, b: u32, position: u8, length: u8| {
            let field = shl32(ones32(length as u32), position as u32);
            b & !field | shl32(a, position as u32) & field
        }),
        [B64] => row!(DDWW_D, |a: u64, b: u64, position: u32, length: u32| {
            let field = shl64(ones64(length), position);
            b & !field | shl64(a, position) & field
        }),
        _ => return None,
    })
}

/// "Integer Arithmetic Instructions: szext".
pub(super) fn szext(m: &[Modifier]) -> Option<AluOp> {
    Some(match m {
        [Clamp, U32] => row!(WW_W, zero_extend32),
        [Clamp, S32] => row!(WW_W, sign_extend32),
        [Wrap, U32] => row!(WW_W, |a: u32, length: u32| zero_extend32(a, length & 31)),
        [Wrap, S32] => row!(WW_W, |a: i32, length: u32| sign_extend32(a, length & 31)),
        _ => return None,
    })
}

/// "Integer Arithmetic Instructions: bmsk".
pub(super) fn bmsk(m: &[Modifier]) -> Option<AluOp> {
    Some(match m {
        [Clamp, B32] => row!(WW_W, |position: u32, width: u32| shl32(
            ones32(width),
            position
        )),
        [Wrap, B32] => {
            row!(WW_W, |position: u32, width: u32| ones32(width & 31)
                << (position & 31))
        }
        _ => return None,
    })
}
