//! `min` and `max` of floating-point codes, in every format by the same
//! integer comparison (a code of 16 bits is the upper half of one of 32).
//!
//! A sign-magnitude code becomes a two's-complement key of the same order, in
//! which −0 stands before +0 as the manual wants it.

/// What to do with NaN, and with signs.
#[derive(Clone, Copy)]
pub(super) struct Layout<U> {
    /// The code of +∞: every larger magnitude is NaN.
    pub infinity: U,
}

macro_rules! ordered {
    ($($module:ident, $unsigned:ty, $signed:ty;)*) => {$(
        pub(super) mod $module {
            use super::Layout;

            const SIGN: $unsigned = 1 << (<$unsigned>::BITS - 1);

            #[inline(always)]
            fn is_nan(code: $unsigned, layout: Layout<$unsigned>) -> bool {
                code & !SIGN > layout.infinity
            }

            #[inline(always)]
            fn key(code: $unsigned) -> $signed {
                let sign = (code as $signed) >> (<$unsigned>::BITS - 1);
                code as $signed ^ (sign & !SIGN as $signed)
            }

            /// The smaller (or, if `MAX`, the larger) of two numbers; of a number
            /// and NaN the number, unless `NAN`; of two NaN, `nan`.
            #[inline(always)]
            pub(in super::super) fn pick<const MAX: bool, const NAN: bool>(
                a: $unsigned,
                b: $unsigned,
                nan: $unsigned,
                layout: Layout<$unsigned>,
            ) -> $unsigned {
                let (nan_a, nan_b) = (is_nan(a, layout), is_nan(b, layout));
                let first = if MAX { key(a) > key(b) } else { key(a) < key(b) };
                let number = if (first & !nan_a) | nan_b { a } else { b };
                let none = if NAN { nan_a | nan_b } else { nan_a & nan_b };
                if none { nan } else { number }
            }
        }
    )*};
}

ordered! {
    single, u32, i32;
    double, u64, i64;
}

/// [`single::pick`] of magnitudes; the sign is the product's. (`.xorsign.abs`)
#[inline(always)]
pub(super) fn pick_xorsign<const MAX: bool, const NAN: bool>(
    a: u32,
    b: u32,
    nan: u32,
    layout: Layout<u32>,
) -> u32 {
    const SIGN: u32 = 1 << 31;
    let magnitude = single::pick::<MAX, NAN>(a & !SIGN, b & !SIGN, nan, layout);
    let none = magnitude & !SIGN > layout.infinity;
    if none {
        magnitude
    } else {
        magnitude | (a ^ b) & SIGN
    }
}
