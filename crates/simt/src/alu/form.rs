//! An instruction's modifiers, parsed once.
//!
//! The floating-point tables read a [`Form`]: the types in their order, the
//! rounding, and the other modifiers as a set. As in `ptxas`, the modifiers
//! that are not types may stand in any order.

use super::exact::Rounding;

/// A type that a modifier names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub(super) enum Type {
    U2,
    S2,
    U4,
    S4,
    U8,
    U16,
    U32,
    U64,
    S8,
    S16,
    S32,
    S64,
    B32,
    F16,
    F16x2,
    Bf16,
    Bf16x2,
    F32,
    F32x2,
    F64,
    Tf32,
    E4m3x2,
    E4m3x4,
    E5m2x2,
    E5m2x4,
    E3m2x2,
    E3m2x4,
    E2m3x2,
    E2m3x4,
    E2m1x2,
    Ue8m0x2,
}

/// How a result is brought into its format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// Nothing said.
    Default,
    /// `.rn`, `.rna`, `.rz`, `.rm`, `.rp`.
    Float(Rounding),
    /// `.rni`, `.rzi`, `.rmi`, `.rpi`: to an integral value.
    Integer(Rounding),
    /// `.rs`: by random bits.
    Stochastic,
    /// `.approx`.
    Approximate,
    /// `.full`.
    Full,
}

/// A set of the modifiers that are neither types nor modes.
pub(super) type Flags = u16;

/// `.ftz`.
pub(super) const FTZ: Flags = 1;
/// `.sat`.
pub(super) const SAT: Flags = 1 << 1;
/// `.NaN`.
pub(super) const NAN: Flags = 1 << 2;
/// `.xorsign`.
pub(super) const XORSIGN: Flags = 1 << 3;
/// `.abs`.
pub(super) const ABS: Flags = 1 << 4;
/// `.relu`.
pub(super) const RELU: Flags = 1 << 5;
/// `.satfinite`.
pub(super) const SATFINITE: Flags = 1 << 6;
/// `.pack`.
pub(super) const PACK: Flags = 1 << 7;

/// See the module's page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Form {
    /// Rounding or another way to a result.
    pub mode: Mode,
    /// The other modifiers.
    pub flags: Flags,
    types: [Option<Type>; 3],
}

impl Form {
    /// Reads modifiers; `None` where one is unknown here, stands twice, or
    /// contradicts another.
    pub(super) fn parse(modifiers: &[&str]) -> Option<Form> {
        let mut form = Form {
            mode: Mode::Default,
            flags: 0,
            types: [None; 3],
        };
        for &modifier in modifiers {
            if let Some(flag) = flag(modifier) {
                if form.has(flag) {
                    return None;
                }
                form.flags |= flag;
            } else if let Some(mode) = mode(modifier) {
                if form.mode != Mode::Default {
                    return None;
                }
                form.mode = mode;
            } else {
                let slot = form.types.iter_mut().find(|slot| slot.is_none())?;
                *slot = Some(type_named(modifier)?);
            }
        }
        Some(form)
    }

    /// The types in their order.
    pub(super) fn types(&self) -> (Option<Type>, Option<Type>, Option<Type>) {
        (self.types[0], self.types[1], self.types[2])
    }

    /// Whether a modifier is there.
    pub(super) fn has(&self, flag: Flags) -> bool {
        self.flags & flag != 0
    }

    /// Something if no modifier is there but those of `allowed`.
    pub(super) fn only(&self, allowed: Flags) -> Option<()> {
        (self.flags & !allowed == 0).then_some(())
    }

    /// The IEEE rounding that is given, if it is one of the four.
    pub(super) fn ieee_rounding(&self) -> Option<Rounding> {
        match self.mode {
            Mode::Float(Rounding::NearestAway) => None,
            Mode::Float(rounding) => Some(rounding),
            _ => None,
        }
    }

    /// As [`Self::ieee_rounding`], where to nearest is the default.
    pub(super) fn rounding_or_nearest(&self) -> Option<Rounding> {
        match self.mode {
            Mode::Default => Some(Rounding::NearestEven),
            _ => self.ieee_rounding(),
        }
    }
}

fn flag(modifier: &str) -> Option<Flags> {
    Some(match modifier {
        "ftz" => FTZ,
        "sat" => SAT,
        "NaN" => NAN,
        "xorsign" => XORSIGN,
        "abs" => ABS,
        "relu" => RELU,
        "satfinite" => SATFINITE,
        "pack" => PACK,
        _ => return None,
    })
}

fn mode(modifier: &str) -> Option<Mode> {
    Some(match modifier {
        "rn" => Mode::Float(Rounding::NearestEven),
        "rna" => Mode::Float(Rounding::NearestAway),
        "rz" => Mode::Float(Rounding::TowardZero),
        "rm" => Mode::Float(Rounding::TowardNegative),
        "rp" => Mode::Float(Rounding::TowardPositive),
        "rni" => Mode::Integer(Rounding::NearestEven),
        "rzi" => Mode::Integer(Rounding::TowardZero),
        "rmi" => Mode::Integer(Rounding::TowardNegative),
        "rpi" => Mode::Integer(Rounding::TowardPositive),
        "rs" => Mode::Stochastic,
        "approx" => Mode::Approximate,
        "full" => Mode::Full,
        _ => return None,
    })
}

fn type_named(modifier: &str) -> Option<Type> {
    Some(match modifier {
        "u2" => Type::U2,
        "s2" => Type::S2,
        "u4" => Type::U4,
        "s4" => Type::S4,
        "u8" => Type::U8,
        "u16" => Type::U16,
        "u32" => Type::U32,
        "u64" => Type::U64,
        "s8" => Type::S8,
        "s16" => Type::S16,
        "s32" => Type::S32,
        "s64" => Type::S64,
        "b32" => Type::B32,
        "f16" => Type::F16,
        "f16x2" => Type::F16x2,
        "bf16" => Type::Bf16,
        "bf16x2" => Type::Bf16x2,
        "f32" => Type::F32,
        "f32x2" => Type::F32x2,
        "f64" => Type::F64,
        "tf32" => Type::Tf32,
        "e4m3x2" => Type::E4m3x2,
        "e4m3x4" => Type::E4m3x4,
        "e5m2x2" => Type::E5m2x2,
        "e5m2x4" => Type::E5m2x4,
        "e3m2x2" => Type::E3m2x2,
        "e3m2x4" => Type::E3m2x4,
        "e2m3x2" => Type::E2m3x2,
        "e2m3x4" => Type::E2m3x4,
        "e2m1x2" => Type::E2m1x2,
        "ue8m0x2" => Type::Ue8m0x2,
        _ => return None,
    })
}

/// Evaluates `body` with a constant of that name that equals a run-time flag:
/// what a table needs to name an instance of a generic lane function.
macro_rules! with_flag {
    ($name:ident = $flag:expr, $body:expr) => {
        if $flag {
            const $name: bool = true;
            $body
        } else {
            const $name: bool = false;
            $body
        }
    };
}

/// Evaluates `body` with a type of that name that stands for a rounding: one
/// of the markers in [`super::rounding`].
macro_rules! with_rounding {
    ($name:ident = $rounding:expr, $body:expr) => {
        match $rounding {
            $crate::alu::exact::Rounding::NearestEven => {
                type $name = $crate::alu::rounding::Rn;
                $body
            }
            $crate::alu::exact::Rounding::TowardZero => {
                type $name = $crate::alu::rounding::Rz;
                $body
            }
            $crate::alu::exact::Rounding::TowardNegative => {
                type $name = $crate::alu::rounding::Rm;
                $body
            }
            $crate::alu::exact::Rounding::TowardPositive => {
                type $name = $crate::alu::rounding::Rp;
                $body
            }
            $crate::alu::exact::Rounding::NearestAway => return None,
        }
    };
}

pub(super) use {with_flag, with_rounding};
