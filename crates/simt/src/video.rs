//! Video instructions (PTX ISA, "Video Instructions"): arithmetic on bytes and halves that the operands select, saturated, and then
//! accumulated or merged into a third operand.
//!
//! Forms whose results on an H200 are not those of the manual's pseudocode are not here: they are refused when a kernel is lowered. Of the
//! others, `tests/programs/recorded` has what an H200 gave.

use crate::alu::Row32;
use crate::slot::Slot;

/// A video instruction.
#[derive(Clone, Debug)]
pub struct VideoOp {
    /// What it computes in a lane.
    pub form: Form,
    /// Destination (a W row).
    pub d: Slot,
    /// `a`, `b`, `c` (W rows).
    pub s: [Slot; 3],
}

/// The part of a word that a selector names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pick {
    /// No selector: all of it.
    Word,
    /// `.b0` to `.b3`
    Byte(u8),
    /// `.h0`, `.h1`
    Half(u8),
}

/// Operations on one pair of values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Operation {
    Add,
    Sub,
    Average,
    AbsoluteDifference,
    Min,
    Max,
    /// `vshl`; whether the amount wraps, or else stops at 32.
    ShiftLeft {
        wrap: bool,
    },
    ShiftRight {
        wrap: bool,
    },
    /// 1 where the relation holds.
    Set(Relation),
}

/// Relations of `vset`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Relation {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
}

/// Which operands are signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signed {
    /// The destination.
    pub d: bool,
    /// The first source.
    pub a: bool,
    /// The second source.
    pub b: bool,
}

/// The families of video instructions.
#[derive(Clone, Debug, PartialEq)]
pub enum Form {
    /// "Scalar Video Instructions", without `vmad`.
    Scalar {
        /// The operation.
        operation: Operation,
        /// Signs.
        signed: Signed,
        /// Selectors of the sources.
        from: [Pick; 2],
        /// Where the result is merged into `c`, or the whole word.
        to: Pick,
        /// `.sat`
        saturate: bool,
        /// `.add`
        accumulates: bool,
    },
    /// `vmad`
    Mad {
        /// Signs of the sources; the destination's makes no difference.
        signed: Signed,
        /// Selectors of the sources.
        from: [Pick; 2],
        /// The product is negated.
        negates_product: bool,
        /// `c` is negated.
        negates_sum: bool,
        /// `.po`
        plus_one: bool,
    },
    /// "SIMD Video Instructions"
    Simd {
        /// The operation.
        operation: Operation,
        /// Signs.
        signed: Signed,
        /// Bits of an element: 16 or 8.
        bits: u32,
        /// For each element, which of the elements of `a`, then of `b`, it is.
        from: [[u8; 4]; 2],
        /// The elements that are written.
        mask: u8,
        /// `.sat`
        saturate: bool,
        /// `.add`
        accumulates: bool,
    },
}

/// A part of a word, extended.
fn part(word: u32, lowest: u32, bits: u32, signed: bool) -> i128 {
    let up = 64 - bits;
    let value = u64::from(word >> lowest) << up;
    match signed {
        true => i128::from(value as i64 >> up),
        false => i128::from(value >> up),
    }
}

impl Pick {
    fn place(self) -> (u32, u32) {
        match self {
            Pick::Word => (0, 32),
            Pick::Byte(k) => (8 * u32::from(k), 8),
            Pick::Half(k) => (16 * u32::from(k), 16),
        }
    }

    fn of(self, word: u32, signed: bool) -> i128 {
        let (lowest, bits) = self.place();
        part(word, lowest, bits, signed)
    }

    /// `word` with this part replaced.
    fn merged(self, word: u32, value: u32) -> u32 {
        let (lowest, bits) = self.place();
        let mask = (u64::from(u32::MAX) >> (32 - bits)) as u32;
        word & !(mask << lowest) | (value & mask) << lowest
    }
}

/// A value brought into the range of so many bits.
fn clamped(value: i128, bits: u32, signed: bool) -> i128 {
    match signed {
        true => value.clamp(-(1 << (bits - 1)), (1 << (bits - 1)) - 1),
        false => value.clamp(0, (1 << bits) - 1),
    }
}

impl Operation {
    fn of(self, a: i128, b: i128) -> i128 {
        match self {
            Operation::Add => a + b,
            Operation::Sub => a - b,
            // Towards positive infinity from zero up, else towards negative infinity.
            Operation::Average if a + b >= 0 => (a + b + 1) >> 1,
            Operation::Average => (a + b) >> 1,
            Operation::AbsoluteDifference => (a - b).abs(),
            Operation::Min => a.min(b),
            Operation::Max => a.max(b),
            Operation::ShiftLeft { wrap } => a << amount(b, wrap),
            Operation::ShiftRight { wrap } => a >> amount(b, wrap),
            Operation::Set(relation) => i128::from(match relation {
                Relation::Eq => a == b,
                Relation::Ne => a != b,
                Relation::Lt => a < b,
                Relation::Le => a <= b,
                Relation::Gt => a > b,
                Relation::Ge => a >= b,
            }),
        }
    }
}

fn amount(b: i128, wrap: bool) -> i128 {
    if wrap { b & 0x1f } else { b.clamp(0, 32) }
}

impl Form {
    /// The result in a lane.
    fn of(&self, a: u32, b: u32, c: u32) -> u32 {
        match *self {
            Form::Scalar {
                operation,
                signed,
                from,
                to,
                saturate,
                accumulates,
            } => {
                let value = operation.of(from[0].of(a, signed.a), from[1].of(b, signed.b));
                let value = match saturate {
                    true => clamped(value, to.place().1, signed.d),
                    false => value,
                } as u32;
                match accumulates {
                    true => value.wrapping_add(c),
                    false => to.merged(c, value),
                }
            }
            Form::Mad {
                signed,
                from,
                negates_product,
                negates_sum,
                plus_one,
            } => {
                let ends_signed = signed.a || signed.b || negates_product || negates_sum;
                let product = from[0].of(a, signed.a) * from[1].of(b, signed.b);
                let c = match ends_signed {
                    true => i128::from(c as i32),
                    false => i128::from(c),
                };
                let product = if negates_product { -product } else { product };
                let c = if negates_sum { -c } else { c };
                (product + c + i128::from(plus_one)) as u32
            }
            Form::Simd {
                operation,
                signed,
                bits,
                from,
                mask,
                saturate,
                accumulates,
            } => {
                let both = u64::from(b) << 32 | u64::from(a);
                let element =
                    |at: u8, signed| part((both >> (bits * u32::from(at))) as u32, 0, bits, signed);
                let ones = u32::MAX >> (32 - bits);
                let mut result = c;
                for k in 0..32 / bits {
                    if mask >> k & 1 == 0 {
                        continue;
                    }
                    let value = operation.of(
                        element(from[0][k as usize], signed.a),
                        element(from[1][k as usize], signed.b),
                    );
                    let value = match saturate {
                        true => clamped(value, bits, signed.d),
                        false => value,
                    } as u32;
                    if accumulates {
                        result = result.wrapping_add(value);
                    } else {
                        result = result & !(ones << (bits * k)) | (value & ones) << (bits * k);
                    }
                }
                result
            }
        }
    }

    /// The results of all lanes.
    pub(crate) fn row(&self, a: &Row32, b: &Row32, c: &Row32, d: &mut Row32) {
        for (l, to) in d.iter_mut().enumerate() {
            *to = self.of(a[l], b[l], c[l]);
        }
    }
}
