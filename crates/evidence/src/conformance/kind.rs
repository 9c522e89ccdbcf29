//! What a register holds: the type that an instruction reads it as, and so which values are worth trying.

/// How a value lies in a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Width {
    /// `.pred`.
    Pred,
    /// `.b16`.
    B16,
    /// `.b32`.
    B32,
    /// `.b64`.
    B64,
}

impl Width {
    /// Bytes that a result of this width takes in the output; a predicate is stored as 0 or 1 of 32 bits.
    pub fn bytes(self) -> usize {
        match self {
            Width::B16 => 2,
            Width::Pred | Width::B32 => 4,
            Width::B64 => 8,
        }
    }

    /// Prefix of its registers' names.
    pub(super) fn prefix(self) -> &'static str {
        match self {
            Width::Pred => "%p",
            Width::B16 => "%h",
            Width::B32 => "%r",
            Width::B64 => "%d",
        }
    }

    /// The untyped modifier: `b32` and such.
    pub(super) fn untyped(self) -> &'static str {
        match self {
            Width::Pred => "pred",
            Width::B16 => "b16",
            Width::B32 => "b32",
            Width::B64 => "b64",
        }
    }
}

/// The domain that an operand's values are drawn from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// An integer of that many bits, of either sign.
    Int(u8),
    /// Elements of that many bits, that many of them.
    Packed(u8, u8),
    /// `.f16`.
    F16,
    /// `.bf16`.
    Bf16,
    /// `.f16x2`.
    F16x2,
    /// `.bf16x2`.
    Bf16x2,
    /// `.f32`, `.tf32`.
    F32,
    /// `.f32x2`.
    F32x2,
    /// `.f64`.
    F64,
    /// Two codes of 8 bits of a floating-point format.
    Codes,
    /// A position, width or distance of bits: mostly below 70.
    Position,
    /// A small signed number, around −34..34.
    Small,
    /// A predicate.
    Pred,
}

impl Kind {
    /// The kind of a type's values; `None` for a modifier that is no type.
    pub fn of(modifier: &str) -> Option<Kind> {
        Some(match modifier {
            "pred" => Kind::Pred,
            "b8" | "u8" | "s8" => Kind::Int(8),
            "b16" | "u16" | "s16" => Kind::Int(16),
            "b32" | "u32" | "s32" => Kind::Int(32),
            "b64" | "u64" | "s64" => Kind::Int(64),
            "u16x2" | "s16x2" => Kind::Packed(16, 2),
            "u8x4" | "s8x4" => Kind::Packed(8, 4),
            "f16" => Kind::F16,
            "bf16" => Kind::Bf16,
            "f16x2" => Kind::F16x2,
            "bf16x2" => Kind::Bf16x2,
            "f32" | "tf32" => Kind::F32,
            "f32x2" => Kind::F32x2,
            "f64" => Kind::F64,
            "e4m3x2" | "e5m2x2" | "e3m2x2" | "e2m3x2" | "ue8m0x2" => Kind::Codes,
            _ => return None,
        })
    }

    /// The register that it lies in. Integers of 8 bits lie in 32, as wide as `cvt` allows them.
    pub fn width(self) -> Width {
        match self {
            Kind::Pred => Width::Pred,
            Kind::Int(16) | Kind::F16 | Kind::Bf16 | Kind::Codes => Width::B16,
            Kind::Int(64) | Kind::F64 | Kind::F32x2 => Width::B64,
            _ => Width::B32,
        }
    }
}
