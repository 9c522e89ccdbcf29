//! The modifiers that the integer tables are written with: types as words among the others.

use ptx::semantics::Type;

pub(super) use ptx::semantics::Modifier::{
    self, And, B4e, Cc, Clamp, Ecl, Ecr, Eq, Equ, F4e, Finite, Ftz, Ge, Geu, Gt, Gtu, Hi, Hs,
    Infinite, L, Le, Leu, Lo, Ls, Lt, Ltu, Nan, Ne, Neu, Normal, NotANumber, Num, Number, Or, R,
    Rc8, Rc16, Relu, Sat, Shiftamt, Subnormal, Wide, Wrap, Xor,
};

macro_rules! types {
    ($($name:ident = $ty:ident,)*) => {
        $(pub(super) const $name: Modifier = Modifier::Type(Type::$ty);)*
    };
}

types! {
    PRED = Pred, B16 = B16, B32 = B32, B64 = B64, U8X4 = U8x4, S8X4 = S8x4, U16 = U16, U32 = U32, U64 = U64, U16X2 = U16x2, S16 = S16,
    S32 = S32, S64 = S64, S16X2 = S16x2, F16 = F16, F16X2 = F16x2, BF16 = Bf16, BF16X2 = Bf16x2, F32 = F32, F64 = F64,
}
