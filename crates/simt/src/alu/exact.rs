//! Exact binary floating-point arithmetic with one rounding at the end.
//!
//! A finite operand is unpacked to ±significand · 2^exponent over 128-bit
//! integers; the operations below compute the exact result, or enough leading bits
//! of it and a *sticky* lowest bit that stands for everything that was cut
//! off; [`Format::round`] packs it into any [`Format`] in any [`Rounding`]. This is
//! the slow road: `f64` with directed roundings, conversions between any two
//! formats, and whatever has no counterpart in the host's hardware. The fast ones are
//! in the `float` and `half` folders.
//!
//! The source for formats narrower than 16 bits is the Open Compute Project's
//! "Microscaling Formats" specification, which the PTX manual's "Alternate
//! Floating-Point Data Formats" follow.

/// What happens to digits that do not fit (PTX ISA, "Rounding Modifiers").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rounding {
    /// `.rn`: to nearest, ties to even.
    NearestEven,
    /// `.rna`: to nearest, ties away from zero.
    NearestAway,
    /// `.rz`.
    TowardZero,
    /// `.rm`.
    TowardNegative,
    /// `.rp`.
    TowardPositive,
}

/// What the codes with the largest exponent mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Top {
    /// Infinity and NaN, as in IEEE 754.
    InfinityAndNan,
    /// Numbers, except that all ones is NaN (`.e4m3`).
    OneNan,
    /// Numbers only (`.e2m1`, `.e2m3`, `.e3m2`).
    Numbers,
}

/// A binary format: one sign bit, an exponent, a fraction.
#[derive(Clone, Copy, Debug)]
pub(super) struct Format {
    /// Width of the exponent field.
    pub exponent_bits: u32,
    /// Width of the fraction field.
    pub fraction_bits: u32,
    /// What the largest exponent means.
    pub top: Top,
}

const fn ieee(exponent_bits: u32, fraction_bits: u32) -> Format {
    Format {
        exponent_bits,
        fraction_bits,
        top: Top::InfinityAndNan,
    }
}

/// `.f64`.
pub(super) const F64: Format = ieee(11, 52);
/// `.f32`.
pub(super) const F32: Format = ieee(8, 23);
/// `.f16`.
pub(super) const F16: Format = ieee(5, 10);
/// `.bf16`.
pub(super) const BF16: Format = ieee(8, 7);
/// `.e5m2`.
pub(super) const E5M2: Format = ieee(5, 2);
/// `.e4m3`.
pub(super) const E4M3: Format = Format {
    exponent_bits: 4,
    fraction_bits: 3,
    top: Top::OneNan,
};
/// `.e3m2`.
pub(super) const E3M2: Format = Format {
    exponent_bits: 3,
    fraction_bits: 2,
    top: Top::Numbers,
};
/// `.e2m3`.
pub(super) const E2M3: Format = Format {
    exponent_bits: 2,
    fraction_bits: 3,
    top: Top::Numbers,
};
/// `.e2m1`.
pub(super) const E2M1: Format = Format {
    exponent_bits: 2,
    fraction_bits: 1,
    top: Top::Numbers,
};

/// ±significand · 2^exponent, not zero. The lowest bit of the significand may
/// be sticky.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Exact {
    /// Whether the sign is minus.
    pub negative: bool,
    /// Weight of the significand's lowest bit.
    pub exponent: i32,
    /// Not zero.
    pub significand: u128,
}

/// A value of any format, unpacked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Value {
    /// Not a number.
    Nan,
    /// An infinity.
    Infinite {
        /// Whether the sign is minus.
        negative: bool,
    },
    /// A zero.
    Zero {
        /// Whether the sign is minus.
        negative: bool,
    },
    /// Any other number.
    Finite(Exact),
}

/// `value >> count` whose lowest bit is also set if a bit was lost.
fn shift_right_sticky(value: u128, count: u32) -> u128 {
    if count == 0 {
        value
    } else if count > 127 {
        (value != 0) as u128
    } else {
        let lost = value & ((1 << count) - 1) != 0;
        value >> count | lost as u128
    }
}

/// The exact value with its leading bit at position 125, which leaves room for
/// the carry of an addition.
fn lead_125(value: Exact) -> Exact {
    let shift = value.significand.leading_zeros() as i32 - 2;
    assert!(shift >= 0);
    Exact {
        exponent: value.exponent - shift,
        significand: value.significand << shift,
        ..value
    }
}

impl Format {
    /// Exponent of 1.0's code.
    pub(super) const fn bias(&self) -> i32 {
        (1 << (self.exponent_bits - 1)) - 1
    }

    /// The sign bit.
    pub(super) const fn sign(&self) -> u64 {
        1 << (self.exponent_bits + self.fraction_bits)
    }

    /// The largest finite number's code, sign plus.
    pub(super) const fn largest(&self) -> u64 {
        match self.top {
            Top::InfinityAndNan => self.infinity() - 1,
            Top::OneNan => self.sign() - 2,
            Top::Numbers => self.sign() - 1,
        }
    }

    /// The code of infinity, where the format has one.
    pub(super) const fn infinity(&self) -> u64 {
        ((1 << self.exponent_bits) - 1) << self.fraction_bits
    }

    /// The NaN that NVIDIA's hardware makes: all ones but the sign. Formats
    /// without NaN convert it to their largest number, which has that code.
    pub(super) const fn nan(&self) -> u64 {
        self.sign() - 1
    }

    /// What a code stands for. Bits above the format's are ignored.
    pub(super) fn unpack(&self, code: u64) -> Value {
        let negative = code & self.sign() != 0;
        let magnitude = code & (self.sign() - 1);
        let fraction = magnitude & ((1 << self.fraction_bits) - 1);
        let field = (magnitude >> self.fraction_bits) as i32;
        match self.top {
            _ if magnitude == 0 => return Value::Zero { negative },
            Top::InfinityAndNan if magnitude == self.infinity() => {
                return Value::Infinite { negative };
            }
            Top::InfinityAndNan if magnitude > self.infinity() => return Value::Nan,
            Top::OneNan if magnitude == self.nan() => return Value::Nan,
            _ => {}
        }
        let hidden = if field == 0 {
            0
        } else {
            1 << self.fraction_bits
        };
        Value::Finite(Exact {
            negative,
            exponent: field.max(1) - self.bias() - self.fraction_bits as i32,
            significand: (fraction | hidden) as u128,
        })
    }

    /// The code of a value: finite ones rounded, infinities kept where the
    /// format has them and otherwise made the largest number (`.satfinite`) or NaN.
    pub(super) fn pack(&self, value: Value, rounding: Rounding) -> u64 {
        let signed = |negative: bool, code| if negative { code | self.sign() } else { code };
        match value {
            Value::Nan => self.nan(),
            Value::Zero { negative } => signed(negative, 0),
            Value::Infinite { negative } => match self.top {
                Top::InfinityAndNan => signed(negative, self.infinity()),
                Top::OneNan => self.nan(),
                Top::Numbers => signed(negative, self.largest()),
            },
            Value::Finite(exact) => self.round(exact, rounding),
        }
    }

    /// The code of an exact value, rounded once. Too large a number gives infinity or
    /// the largest number as IEEE 754 has it; formats without infinity give
    /// NaN (`.e4m3`) or the largest number.
    pub(super) fn round(&self, exact: Exact, rounding: Rounding) -> u64 {
        let sign = if exact.negative { self.sign() } else { 0 };
        let magnitude = self.magnitude(exact, rounding);
        if magnitude <= self.largest() {
            return sign | magnitude;
        }
        let away = match rounding {
            Rounding::NearestEven | Rounding::NearestAway => true,
            Rounding::TowardZero => false,
            Rounding::TowardNegative => exact.negative,
            Rounding::TowardPositive => !exact.negative,
        };
        match self.top {
            Top::InfinityAndNan if away => sign | self.infinity(),
            Top::OneNan if away => self.nan(),
            _ => sign | self.largest(),
        }
    }

    /// As [`Self::pack`] with `.satfinite`: infinities and what is too large
    /// become the largest number.
    pub(super) fn pack_finite(&self, value: Value, rounding: Rounding) -> u64 {
        let sign = if is_negative(value) { self.sign() } else { 0 };
        match value {
            Value::Infinite { .. } => sign | self.largest(),
            Value::Finite(exact) => sign | self.magnitude(exact, rounding).min(self.largest()),
            _ => self.pack(value, rounding),
        }
    }

    /// As [`Self::pack`] with `.rs`: `random` is added to the first `bits` of
    /// the digits that do not fit, and what carries out of them is kept.
    pub(super) fn pack_stochastic(&self, value: Value, random: u32, bits: u32) -> u64 {
        let Value::Finite(exact) = value else {
            return self.pack(value, Rounding::TowardZero);
        };
        let (kept, lost) = self.cut(exact);
        let random = (random & ((1 << bits) - 1)) as u128;
        let carry = ((lost >> (128 - bits)) + random) >> bits;
        let magnitude = kept + carry as u64;
        let sign = if exact.negative { self.sign() } else { 0 };
        match self.top {
            _ if magnitude <= self.largest() => sign | magnitude,
            Top::InfinityAndNan => sign | self.infinity(),
            Top::OneNan => self.nan(),
            Top::Numbers => sign | self.largest(),
        }
    }

    /// As [`Self::pack_stochastic`] with `.satfinite`.
    pub(super) fn pack_stochastic_finite(&self, value: Value, random: u32, bits: u32) -> u64 {
        let sign = if is_negative(value) { self.sign() } else { 0 };
        match value {
            Value::Nan => self.nan(),
            Value::Infinite { .. } => sign | self.largest(),
            _ => {
                let code = self.pack_stochastic(value, random, bits);
                sign | (code & !self.sign()).min(self.largest())
            }
        }
    }

    /// The rounded magnitude's code, without bound.
    fn magnitude(&self, exact: Exact, rounding: Rounding) -> u64 {
        const HALF: u128 = 1 << 127;
        let (kept, lost) = self.cut(exact);
        let up = match rounding {
            Rounding::NearestEven => lost > HALF || lost == HALF && kept & 1 == 1,
            Rounding::NearestAway => lost >= HALF,
            Rounding::TowardZero => false,
            Rounding::TowardNegative => exact.negative && lost != 0,
            Rounding::TowardPositive => !exact.negative && lost != 0,
        };
        kept + up as u64
    }

    /// The magnitude's code rounded toward zero, without bound, and the digits
    /// lost: a fraction of the last place, in units of its 2^-128.
    fn cut(&self, exact: Exact) -> (u64, u128) {
        let fraction_bits = self.fraction_bits as i32;
        let leading = 127 - exact.significand.leading_zeros() as i32;
        let exponent = (exact.exponent + leading).max(1 - self.bias());
        // Weight of the last place, relative to the significand's lowest bit.
        let shift = exponent - fraction_bits - exact.exponent;
        let (kept, lost) = match shift {
            ..=0 => (exact.significand << -shift, 0),
            1..128 => (
                exact.significand >> shift,
                exact.significand << (128 - shift),
            ),
            128 => (0, exact.significand),
            _ => (
                0,
                shift_right_sticky(exact.significand, (shift - 128) as u32),
            ),
        };
        // A hidden bit, where there is one, adds 1 to the exponent field.
        let field = (exponent + self.bias() - 1) as u64;
        if field > 1 << self.exponent_bits {
            return (u64::MAX >> 1, lost);
        }
        ((field << fraction_bits) + kept as u64, lost)
    }
}

/// a · b.
pub(super) fn multiply(a: Value, b: Value) -> Value {
    use Value::*;
    let negative = is_negative(a) != is_negative(b);
    match (a, b) {
        (Nan, _) | (_, Nan) | (Infinite { .. }, Zero { .. }) | (Zero { .. }, Infinite { .. }) => {
            Nan
        }
        (Infinite { .. }, _) | (_, Infinite { .. }) => Infinite { negative },
        (Zero { .. }, _) | (_, Zero { .. }) => Zero { negative },
        (Finite(a), Finite(b)) => Finite(Exact {
            negative,
            exponent: a.exponent + b.exponent,
            significand: a.significand * b.significand,
        }),
    }
}

/// a + b. The rounding decides the sign of an exact zero.
pub(super) fn add(a: Value, b: Value, rounding: Rounding) -> Value {
    use Value::*;
    let cancelled = Zero {
        negative: rounding == Rounding::TowardNegative,
    };
    match (a, b) {
        (Nan, _) | (_, Nan) => Nan,
        (Infinite { negative: x }, Infinite { negative: y }) if x != y => Nan,
        (Infinite { .. }, _) => a,
        (_, Infinite { .. }) => b,
        (Zero { negative: x }, Zero { negative: y }) => {
            if x == y {
                a
            } else {
                cancelled
            }
        }
        (Zero { .. }, Finite(_)) => b,
        (Finite(_), Zero { .. }) => a,
        (Finite(a), Finite(b)) => {
            let (a, b) = (lead_125(a), lead_125(b));
            let (high, low) = if a.exponent >= b.exponent {
                (a, b)
            } else {
                (b, a)
            };
            let distance = (high.exponent - low.exponent) as u32;
            let aligned = shift_right_sticky(low.significand, distance);
            let (negative, significand) = if high.negative == low.negative {
                (high.negative, high.significand + aligned)
            } else if high.significand >= aligned {
                (high.negative, high.significand - aligned)
            } else {
                (low.negative, aligned - high.significand)
            };
            if significand == 0 {
                return cancelled;
            }
            Finite(Exact {
                negative,
                exponent: high.exponent,
                significand,
            })
        }
    }
}

/// a / b.
pub(super) fn divide(a: Value, b: Value) -> Value {
    use Value::*;
    let negative = is_negative(a) != is_negative(b);
    match (a, b) {
        (Nan, _) | (_, Nan) | (Infinite { .. }, Infinite { .. }) | (Zero { .. }, Zero { .. }) => {
            Nan
        }
        (Infinite { .. }, _) | (_, Zero { .. }) => Infinite { negative },
        (Zero { .. }, _) | (_, Infinite { .. }) => Zero { negative },
        (Finite(a), Finite(b)) => {
            // Operands of at most 53 bits: the quotient has at least 72, and one is sticky.
            let a = lead_125(a);
            let (quotient, rest) = (a.significand / b.significand, a.significand % b.significand);
            Finite(Exact {
                negative,
                exponent: a.exponent - b.exponent - 1,
                significand: quotient << 1 | (rest != 0) as u128,
            })
        }
    }
}

/// √a.
pub(super) fn square_root(a: Value) -> Value {
    match a {
        Value::Nan | Value::Zero { .. } | Value::Infinite { negative: false } => a,
        Value::Infinite { negative: true } | Value::Finite(Exact { negative: true, .. }) => {
            Value::Nan
        }
        Value::Finite(a) => {
            let mut a = lead_125(a);
            if a.exponent % 2 != 0 {
                a = Exact {
                    exponent: a.exponent - 1,
                    significand: a.significand << 1,
                    ..a
                };
            }
            let root = a.significand.isqrt();
            Value::Finite(Exact {
                negative: false,
                exponent: a.exponent / 2 - 1,
                significand: root << 1 | (root * root != a.significand) as u128,
            })
        }
    }
}

/// The sign bit of a value; NaN counts as plus.
pub(super) fn is_negative(value: Value) -> bool {
    match value {
        Value::Nan => false,
        Value::Infinite { negative } | Value::Zero { negative } => negative,
        Value::Finite(exact) => exact.negative,
    }
}
