//! An instruction's modifiers, sorted.
//!
//! The floating-point tables read a [`Form`]: the types in their order, the
//! rounding, and the other modifiers as a set. As in `ptxas`, the modifiers
//! that are not types may stand in any order.

use super::exact::Rounding;
use ptx::semantics::Modifier;
pub(super) use ptx::semantics::Type;

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
    pub(super) fn parse(modifiers: &[Modifier]) -> Option<Form> {
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
                *slot = Some(modifier.ty()?);
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

fn flag(modifier: Modifier) -> Option<Flags> {
    Some(match modifier {
        Modifier::Ftz => FTZ,
        Modifier::Sat => SAT,
        Modifier::NaN => NAN,
        Modifier::Xorsign => XORSIGN,
        Modifier::Abs => ABS,
        Modifier::Relu => RELU,
        Modifier::Satfinite => SATFINITE,
        Modifier::Pack => PACK,
        _ => return None,
    })
}

fn mode(modifier: Modifier) -> Option<Mode> {
    Some(match modifier {
        Modifier::Rn => Mode::Float(Rounding::NearestEven),
        Modifier::Rna => Mode::Float(Rounding::NearestAway),
        Modifier::Rz => Mode::Float(Rounding::TowardZero),
        Modifier::Rm => Mode::Float(Rounding::TowardNegative),
        Modifier::Rp => Mode::Float(Rounding::TowardPositive),
        Modifier::Rni => Mode::Integer(Rounding::NearestEven),
        Modifier::Rzi => Mode::Integer(Rounding::TowardZero),
        Modifier::Rmi => Mode::Integer(Rounding::TowardNegative),
        Modifier::Rpi => Mode::Integer(Rounding::TowardPositive),
        Modifier::Rs => Mode::Stochastic,
        Modifier::Approx => Mode::Approximate,
        Modifier::Full => Mode::Full,
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
