//! Types that instructions name as modifiers (PTX ISA, "Fundamental Types", "Packed Data Types", "Alternate Floating-Point Data Formats").

use crate::ast::ScalarType;

macro_rules! types {
    ($($name:ident = $text:literal, $bits:literal;)*) => {
        /// A type that a modifier names.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Type {
            $(#[doc = concat!("`.", $text, "`")] $name,)*
        }

        impl Type {
            /// All types.
            pub const ALL: &[Type] = &[$(Type::$name,)*];

            /// As PTX spells it, without the dot.
            pub fn name(self) -> &'static str {
                match self { $(Type::$name => $text,)* }
            }

            /// Bits of a value, of all elements where it is packed.
            pub fn bits(self) -> u32 {
                match self { $(Type::$name => $bits,)* }
            }
        }
    };
}

types! {
    Pred = "pred", 1;
    B1 = "b1", 1;
    B8 = "b8", 8;
    B16 = "b16", 16;
    B32 = "b32", 32;
    B64 = "b64", 64;
    B128 = "b128", 128;
    B1024 = "b1024", 1024;
    U2 = "u2", 2;
    U4 = "u4", 4;
    U8 = "u8", 8;
    U16 = "u16", 16;
    U32 = "u32", 32;
    U64 = "u64", 64;
    S2 = "s2", 2;
    S4 = "s4", 4;
    S8 = "s8", 8;
    S16 = "s16", 16;
    S32 = "s32", 32;
    S64 = "s64", 64;
    U8x4 = "u8x4", 32;
    S8x4 = "s8x4", 32;
    U16x2 = "u16x2", 32;
    S16x2 = "s16x2", 32;
    F16 = "f16", 16;
    F16x2 = "f16x2", 32;
    Bf16 = "bf16", 16;
    Bf16x2 = "bf16x2", 32;
    F32 = "f32", 32;
    F32x2 = "f32x2", 64;
    F64 = "f64", 64;
    Tf32 = "tf32", 32;
    E4m3 = "e4m3", 8;
    E5m2 = "e5m2", 8;
    E3m2 = "e3m2", 6;
    E2m3 = "e2m3", 6;
    E2m1 = "e2m1", 4;
    Ue8m0 = "ue8m0", 8;
    Ue4m3 = "ue4m3", 8;
    E4m3x2 = "e4m3x2", 16;
    E4m3x4 = "e4m3x4", 32;
    E5m2x2 = "e5m2x2", 16;
    E5m2x4 = "e5m2x4", 32;
    E3m2x2 = "e3m2x2", 16;
    E3m2x4 = "e3m2x4", 32;
    E2m3x2 = "e2m3x2", 16;
    E2m3x4 = "e2m3x4", 32;
    E2m1x2 = "e2m1x2", 8;
    E2m1x4 = "e2m1x4", 16;
    Ue8m0x2 = "ue8m0x2", 16;
    Ue4m3x2 = "ue4m3x2", 16;
    S2f6x2 = "s2f6x2", 16;
    Texref = "texref", 64;
    Samplerref = "samplerref", 64;
    Surfref = "surfref", 64;
}

impl Type {
    /// Bytes of a value in memory; `None` for what is no whole number of bytes.
    pub fn bytes(self) -> Option<u32> {
        self.bits().is_multiple_of(8).then(|| self.bits() / 8)
    }

    /// Whether it holds one or several integers, or bits without a meaning.
    pub fn is_integer(self) -> bool {
        use Type::*;
        matches!(
            self,
            B8 | B16
                | B32
                | B64
                | B128
                | U2
                | U4
                | U8
                | U16
                | U32
                | U64
                | S2
                | S4
                | S8
                | S16
                | S32
                | S64
                | U8x4
                | S8x4
                | U16x2
                | S16x2
        )
    }

    /// Whether it is a signed integer.
    pub fn is_signed(self) -> bool {
        use Type::*;
        matches!(self, S2 | S4 | S8 | S16 | S32 | S64 | S8x4 | S16x2)
    }

    /// Whether it is an unsigned integer (bits without a meaning are none).
    pub fn is_unsigned(self) -> bool {
        use Type::*;
        matches!(self, U2 | U4 | U8 | U16 | U32 | U64 | U8x4 | U16x2)
    }

    /// Whether it is a floating-point number, or several.
    pub fn is_float(self) -> bool {
        !self.is_integer()
            && !matches!(
                self,
                Type::Pred
                    | Type::B1
                    | Type::B1024
                    | Type::Texref
                    | Type::Samplerref
                    | Type::Surfref
            )
    }

    /// The fundamental type of the same name, in which registers and variables can be declared.
    pub fn scalar(self) -> Option<ScalarType> {
        Some(match self {
            Type::S8 => ScalarType::S8,
            Type::S16 => ScalarType::S16,
            Type::S32 => ScalarType::S32,
            Type::S64 => ScalarType::S64,
            Type::U8 => ScalarType::U8,
            Type::U16 => ScalarType::U16,
            Type::U32 => ScalarType::U32,
            Type::U64 => ScalarType::U64,
            Type::F16 => ScalarType::F16,
            Type::F16x2 => ScalarType::F16x2,
            Type::F32 => ScalarType::F32,
            Type::F64 => ScalarType::F64,
            Type::Bf16 => ScalarType::Bf16,
            Type::Bf16x2 => ScalarType::Bf16x2,
            Type::B8 => ScalarType::B8,
            Type::B16 => ScalarType::B16,
            Type::B32 => ScalarType::B32,
            Type::B64 => ScalarType::B64,
            Type::B128 => ScalarType::B128,
            Type::Pred => ScalarType::Pred,
            _ => return None,
        })
    }
}
