//! From a function over one lane to a function over a row.
//!
//! The tables of this folder name, for each instruction, a closure over plain
//! Rust values (`i16`, `f32`, `[u16; 2]`, …); [`row!`] wraps it in the loop over the
//! 32 lanes and in the [`AluOp`](super::AluOp) variant that it is asked for:
//!
//! ```ignore
//! row!(WW_W, |a: i32, b: i32| a.wrapping_add(b))
//! row!(WW_P, |a: f32, b: f32| a < b)
//! row!(WW_W_Carry, |a: u32, b: u32, carry: bool| add_with_carry(a, b, carry))
//! ```
//!
//! The closure captures nothing and its parameters have types; each must be a
//! [`Lane`] whose word fits the variant's letter. The loops have constant
//! length and no bounds checks, so that a lane function without branches
//! becomes SIMD code.

use super::{Mask, Row32};
use crate::simd::{Work, at_best};

/// Number of lanes in a warp.
pub(super) const LANES: usize = 32;

/// A value that a lane of a row can hold.
pub(super) trait Lane: Copy {
    /// `u32` for the letter `W`, `u64` for the letter `D`.
    type Word: Copy;
    /// Reads the value; bits above a narrow type are ignored.
    fn from_word(word: Self::Word) -> Self;
    /// The value as a register holds it; narrow types are zero-extended.
    fn to_word(self) -> Self::Word;
}

macro_rules! integer_lanes {
    ($($lane:ty, $unsigned:ty, $word:ty;)*) => {$(
        impl Lane for $lane {
            type Word = $word;
            #[inline(always)]
            fn from_word(word: $word) -> $lane {
                word as $lane
            }
            #[inline(always)]
            fn to_word(self) -> $word {
                self as $unsigned as $word
            }
        }
    )*};
}

integer_lanes! {
    u8, u8, u32;
    i8, u8, u32;
    u16, u16, u32;
    i16, u16, u32;
    u32, u32, u32;
    i32, u32, u32;
    u64, u64, u64;
    i64, u64, u64;
}

macro_rules! float_lanes {
    ($($lane:ty, $word:ty;)*) => {$(
        impl Lane for $lane {
            type Word = $word;
            #[inline(always)]
            fn from_word(word: $word) -> $lane {
                <$lane>::from_bits(word)
            }
            #[inline(always)]
            fn to_word(self) -> $word {
                self.to_bits()
            }
        }
    )*};
}

float_lanes! {
    f32, u32;
    f64, u64;
}

/// Packed types (`.u16x2`, `.s8x4`, …): element 0 in the lowest bits.
macro_rules! packed_lanes {
    ($($element:ty, $count:literal;)*) => {$(
        impl Lane for [$element; $count] {
            type Word = u32;
            #[inline(always)]
            fn from_word(word: u32) -> [$element; $count] {
                std::array::from_fn(|i| (word >> (i as u32 * <$element>::BITS)) as $element)
            }
            #[inline(always)]
            fn to_word(self) -> u32 {
                let mut word = 0;
                for (i, element) in self.into_iter().enumerate() {
                    word |= element.to_word() << (i as u32 * <$element>::BITS);
                }
                word
            }
        }
    )*};
}

packed_lanes! {
    u16, 2;
    i16, 2;
    u8, 4;
    i8, 4;
}

/// A row of the lanes' words.
pub(super) type Row<L> = [<L as Lane>::Word; LANES];

/// `d[i] = f(a[i])`.
#[inline(always)]
pub(super) fn map1<A: Lane, R: Lane>(a: &Row<A>, d: &mut Row<R>, f: impl Fn(A) -> R) {
    for i in 0..LANES {
        d[i] = f(A::from_word(a[i])).to_word();
    }
}

/// `d[i] = f(a[i], b[i])`.
#[inline(always)]
pub(super) fn map2<A: Lane, B: Lane, R: Lane>(
    a: &Row<A>,
    b: &Row<B>,
    d: &mut Row<R>,
    f: impl Fn(A, B) -> R,
) {
    for i in 0..LANES {
        d[i] = f(A::from_word(a[i]), B::from_word(b[i])).to_word();
    }
}

/// `d[i] = f(a[i], b[i], c[i])`.
#[inline(always)]
pub(super) fn map3<A: Lane, B: Lane, C: Lane, R: Lane>(
    a: &Row<A>,
    b: &Row<B>,
    c: &Row<C>,
    d: &mut Row<R>,
    f: impl Fn(A, B, C) -> R,
) {
    for i in 0..LANES {
        d[i] = f(A::from_word(a[i]), B::from_word(b[i]), C::from_word(c[i])).to_word();
    }
}

/// `d[i] = f(a[i], b[i], c[i])`, where `fused` is `f` if the processor has fused multiplication and addition,
/// but for rows that it declines (all of them are computed by `f` then).
#[inline(always)]
pub(super) fn fused3<L: Lane>(
    rows: [&Row<L>; 3],
    d: &mut Row<L>,
    f: impl Fn(L, L, L) -> L,
    fused: impl Fn(L, L, L) -> (L, bool),
) {
    struct Map<'r, L: Lane, F, G>([&'r Row<L>; 3], &'r mut Row<L>, F, G);
    impl<L: Lane, F: Fn(L, L, L) -> L, G: Fn(L, L, L) -> (L, bool)> Work for Map<'_, L, F, G> {
        type Output = ();
        #[inline(always)]
        fn run<const FMA: bool>(self) {
            let Map([a, b, c], d, f, fused) = self;
            let mut declined = !FMA;
            if FMA {
                for i in 0..LANES {
                    let lane = |row: &Row<L>| L::from_word(row[i]);
                    let (value, declines) = fused(lane(a), lane(b), lane(c));
                    d[i] = value.to_word();
                    declined |= declines;
                }
            }
            if declined {
                map3(a, b, c, d, f);
            }
        }
    }
    at_best(Map(rows, d, f, fused));
}

/// `d[i] = f(a[i], b[i], c[i], e[i])`.
#[inline(always)]
pub(super) fn map4<A: Lane, B: Lane, C: Lane, E: Lane, R: Lane>(
    a: &Row<A>,
    b: &Row<B>,
    c: &Row<C>,
    e: &Row<E>,
    d: &mut Row<R>,
    f: impl Fn(A, B, C, E) -> R,
) {
    for i in 0..LANES {
        d[i] = f(
            A::from_word(a[i]),
            B::from_word(b[i]),
            C::from_word(c[i]),
            E::from_word(e[i]),
        )
        .to_word();
    }
}

/// Bit `i` is whether `f(i)` holds.
#[inline(always)]
pub(super) fn collect_mask(f: impl Fn(usize) -> bool) -> Mask {
    let mut mask = 0;
    for i in 0..LANES {
        mask |= Mask::from(f(i)) << i;
    }
    mask
}

/// Bit `i` is `f(a[i])`.
#[inline(always)]
pub(super) fn test1<A: Lane>(a: &Row<A>, f: impl Fn(A) -> bool) -> Mask {
    collect_mask(|i| f(A::from_word(a[i])))
}

/// Bit `i` is `f(a[i], b[i])`.
#[inline(always)]
pub(super) fn test2<A: Lane, B: Lane>(a: &Row<A>, b: &Row<B>, f: impl Fn(A, B) -> bool) -> Mask {
    collect_mask(|i| f(A::from_word(a[i]), B::from_word(b[i])))
}

/// Bit `i` is `f` of the lower halves of `a[i]` and `b[i]`, and the same of the upper halves.
#[inline(always)]
pub(super) fn test2_pair(a: &Row32, b: &Row32, f: impl Fn(u16, u16) -> bool) -> (Mask, Mask) {
    (
        collect_mask(|i| f(a[i] as u16, b[i] as u16)),
        collect_mask(|i| f((a[i] >> 16) as u16, (b[i] >> 16) as u16)),
    )
}

/// `d[i] = f(a[i], b[i], bit i of p)`.
#[inline(always)]
pub(super) fn select2<A: Lane, B: Lane, R: Lane>(
    a: &Row<A>,
    b: &Row<B>,
    p: Mask,
    d: &mut Row<R>,
    f: impl Fn(A, B, bool) -> R,
) {
    for i in 0..LANES {
        let bit = p & (1 << i) != 0;
        d[i] = f(A::from_word(a[i]), B::from_word(b[i]), bit).to_word();
    }
}

/// `(d[i], bit i of the answer) = f(a[i], b[i], bit i of carry)`.
#[inline(always)]
pub(super) fn carry2<A: Lane, B: Lane, R: Lane>(
    a: &Row<A>,
    b: &Row<B>,
    carry: Mask,
    d: &mut Row<R>,
    f: impl Fn(A, B, bool) -> (R, bool),
) -> Mask {
    let mut mask = 0;
    for i in 0..LANES {
        let bit = carry & (1 << i) != 0;
        let (result, out) = f(A::from_word(a[i]), B::from_word(b[i]), bit);
        d[i] = result.to_word();
        mask |= Mask::from(out) << i;
    }
    mask
}

/// `(d[i], bit i of the answer) = f(a[i], b[i], c[i], bit i of carry)`.
#[inline(always)]
pub(super) fn carry3<A: Lane, B: Lane, C: Lane, R: Lane>(
    a: &Row<A>,
    b: &Row<B>,
    c: &Row<C>,
    carry: Mask,
    d: &mut Row<R>,
    f: impl Fn(A, B, C, bool) -> (R, bool),
) -> Mask {
    let mut mask = 0;
    for i in 0..LANES {
        let bit = carry & (1 << i) != 0;
        let (result, out) = f(
            A::from_word(a[i]),
            B::from_word(b[i]),
            C::from_word(c[i]),
            bit,
        );
        d[i] = result.to_word();
        mask |= Mask::from(out) << i;
    }
    mask
}

/// `row!(VARIANT, lane function)`: the [`AluOp`](super::AluOp) of that variant
/// that applies the function to each lane. See the module's page.
macro_rules! row {
    (W_W, $f:expr) => { row!(@map1 W_W, $f) };
    (D_D, $f:expr) => { row!(@map1 D_D, $f) };
    (W_D, $f:expr) => { row!(@map1 W_D, $f) };
    (D_W, $f:expr) => { row!(@map1 D_W, $f) };
    (WW_W, $f:expr) => { row!(@map2 WW_W, $f) };
    (DD_D, $f:expr) => { row!(@map2 DD_D, $f) };
    (WW_D, $f:expr) => { row!(@map2 WW_D, $f) };
    (DD_W, $f:expr) => { row!(@map2 DD_W, $f) };
    (DW_D, $f:expr) => { row!(@map2 DW_D, $f) };
    (WWW_W, $f:expr) => { row!(@map3 WWW_W, $f) };
    (DDD_D, $f:expr) => { row!(@map3 DDD_D, $f) };
    (WWD_D, $f:expr) => { row!(@map3 WWD_D, $f) };
    (DWW_D, $f:expr) => { row!(@map3 DWW_D, $f) };
    (DDW_D, $f:expr) => { row!(@map3 DDW_D, $f) };
    (WWD_W, $f:expr) => { row!(@map3 WWD_W, $f) };
    (WWWW_W, $f:expr) => { row!(@map4 WWWW_W, $f) };
    (DDWW_D, $f:expr) => { row!(@map4 DDWW_D, $f) };
    (W_P, $f:expr) => { $crate::alu::AluOp::W_P(|a| $crate::alu::rows::test1(a, $f)) };
    (D_P, $f:expr) => { $crate::alu::AluOp::D_P(|a| $crate::alu::rows::test1(a, $f)) };
    (WW_P, $f:expr) => { $crate::alu::AluOp::WW_P(|a, b| $crate::alu::rows::test2(a, b, $f)) };
    (DD_P, $f:expr) => { $crate::alu::AluOp::DD_P(|a, b| $crate::alu::rows::test2(a, b, $f)) };
    (WW_PP, $f:expr) => {
        $crate::alu::AluOp::WW_PP(|a, b| $crate::alu::rows::test2_pair(a, b, $f))
    };
    (WWP_W, $f:expr) => { row!(@select2 WWP_W, $f) };
    (DDP_D, $f:expr) => { row!(@select2 DDP_D, $f) };
    (WW_W_Carry, $f:expr) => { row!(@carry2 WW_W_Carry, $f) };
    (DD_D_Carry, $f:expr) => { row!(@carry2 DD_D_Carry, $f) };
    (WWW_W_Carry, $f:expr) => { row!(@carry3 WWW_W_Carry, $f) };
    (DDD_D_Carry, $f:expr) => { row!(@carry3 DDD_D_Carry, $f) };
    (@map1 $variant:ident, $f:expr) => {
        $crate::alu::AluOp::$variant(|a, d| $crate::alu::rows::map1(a, d, $f))
    };
    (@map2 $variant:ident, $f:expr) => {
        $crate::alu::AluOp::$variant(|a, b, d| $crate::alu::rows::map2(a, b, d, $f))
    };
    (@map3 $variant:ident, $f:expr) => {
        $crate::alu::AluOp::$variant(|a, b, c, d| $crate::alu::rows::map3(a, b, c, d, $f))
    };
    (@map4 $variant:ident, $f:expr) => {
        $crate::alu::AluOp::$variant(|a, b, c, e, d| {
            $crate::alu::rows::map4(a, b, c, e, d, $f)
        })
    };
    (@select2 $variant:ident, $f:expr) => {
        $crate::alu::AluOp::$variant(|a, b, p, d| {
            $crate::alu::rows::select2(a, b, p, d, $f)
        })
    };
    (@carry2 $variant:ident, $f:expr) => {
        $crate::alu::AluOp::$variant(|a, b, carry, d| {
            $crate::alu::rows::carry2(a, b, carry, d, $f)
        })
    };
    (@carry3 $variant:ident, $f:expr) => {
        $crate::alu::AluOp::$variant(|a, b, c, carry, d| {
            $crate::alu::rows::carry3(a, b, c, carry, d, $f)
        })
    };
}

pub(super) use row;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::alu::AluOp;

    #[test]
    fn a_mask_has_lane_i_in_bit_i() {
        for want in [0, 1, 0x8000_0000, 0x8000_0001, 0xdead_beef, 0x0102_0408, !0] {
            assert_eq!(collect_mask(|i| want >> i & 1 == 1), want);
        }
    }

    #[test]
    fn narrow_lanes_ignore_upper_bits_and_zero_extend() {
        let AluOp::WW_W(add) = row!(WW_W, |a: i16, b: i16| a.wrapping_add(b)) else {
            panic!("wrong variant")
        };
        let mut d = [0; 32];
        add(&[0xabcd_ffff; 32], &[0x1234_ffff; 32], &mut d);
        assert_eq!(d, [0x0000_fffe; 32]);
    }

    #[test]
    fn packed_lanes_have_element_0_below() {
        assert_eq!(<[u16; 2]>::from_word(0x1234_5678), [0x5678, 0x1234]);
        assert_eq!([-1i16, 2].to_word(), 0x0002_ffff);
        assert_eq!(<[i8; 4]>::from_word(0x1234_56ff), [-1, 0x56, 0x34, 0x12]);
        assert_eq!([1i8, -1, 2, -2].to_word(), 0xfe02_ff01);
    }

    #[test]
    fn carries_go_in_and_out_by_lane() {
        let AluOp::WW_W_Carry(step) =
            row!(WW_W_Carry, |a: u32, b: u32, c: bool| (a + b + c as u32, !c))
        else {
            panic!("wrong variant")
        };
        let mut d = [0; 32];
        assert_eq!(step(&[1; 32], &[2; 32], 0x8000_0001, &mut d), 0x7fff_fffe);
        assert_eq!((d[0], d[1], d[31]), (4, 3, 4));
    }
}
