//! Typed memory: the types of a buffer's elements, what it holds at the start, and how it gets onto a device.
//!
//! Everything that launches kernels describes its buffers in these terms: cases of the catalogue, kernels of one's own, the
//! public API.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use simt::Device;
use simt::memory::MemoryError;
use std::fmt;

/// The type of a buffer's elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs, reason = "the names say it")]
pub enum ElementType {
    I8,
    U8,
    I16,
    U16,
    I32,
    U32,
    I64,
    U64,
    F32,
    F64,
}

impl ElementType {
    /// All of them.
    pub const ALL: [ElementType; 10] = [
        ElementType::I8,
        ElementType::U8,
        ElementType::I16,
        ElementType::U16,
        ElementType::I32,
        ElementType::U32,
        ElementType::I64,
        ElementType::U64,
        ElementType::F32,
        ElementType::F64,
    ];

    /// Its name: `i32`.
    pub fn name(self) -> &'static str {
        match self {
            ElementType::I8 => "i8",
            ElementType::U8 => "u8",
            ElementType::I16 => "i16",
            ElementType::U16 => "u16",
            ElementType::I32 => "i32",
            ElementType::U32 => "u32",
            ElementType::I64 => "i64",
            ElementType::U64 => "u64",
            ElementType::F32 => "f32",
            ElementType::F64 => "f64",
        }
    }

    /// The type of that name; `int`, `float` and `double` are names too.
    pub fn named(name: &str) -> Option<ElementType> {
        let same = match name {
            "int" => "i32",
            "float" => "f32",
            "double" => "f64",
            other => other,
        };
        ElementType::ALL.into_iter().find(|t| t.name() == same)
    }

    /// The bytes of an integer as this type holds it, little end first; `None` where it does not fit. A bit pattern such as
    /// `0xffff_ffff` fits signed types, too.
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_precision_loss,
        reason = "floating-point types round"
    )]
    pub fn integer_bytes(self, value: i128) -> Option<Vec<u8>> {
        match self {
            ElementType::F32 => return Some((value as f32).to_le_bytes().to_vec()),
            ElementType::F64 => return Some((value as f64).to_le_bytes().to_vec()),
            _ => {}
        }
        let bits = self.bytes() as u32 * 8;
        let low = if self.is_unsigned() {
            0
        } else {
            -(1i128 << (bits - 1))
        };
        let high = (1i128 << bits) - 1;
        let fits = (low..=high).contains(&value);
        fits.then(|| value.to_le_bytes()[..self.bytes()].to_vec())
    }

    /// Bytes of an element.
    pub fn bytes(self) -> usize {
        match self {
            ElementType::I8 | ElementType::U8 => 1,
            ElementType::I16 | ElementType::U16 => 2,
            ElementType::I32 | ElementType::U32 | ElementType::F32 => 4,
            ElementType::I64 | ElementType::U64 | ElementType::F64 => 8,
        }
    }
    /// Whether it is an unsigned integer type.
    pub fn is_unsigned(self) -> bool {
        use ElementType::{U8, U16, U32, U64};
        matches!(self, U8 | U16 | U32 | U64)
    }
    /// Whether it is a floating-point type.
    pub fn is_float(self) -> bool {
        matches!(self, ElementType::F32 | ElementType::F64)
    }
}

/// A literal number of any type.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Number {
    /// An integer.
    Integer(i64),
    /// An integer that only an unsigned type holds.
    Unsigned(u64),
    /// A number with a fraction or an exponent.
    Float(f64),
}

/// Equal where they are written alike: not-a-number equals itself.
impl PartialEq for Number {
    fn eq(&self, other: &Number) -> bool {
        match (self, other) {
            (Number::Integer(a), Number::Integer(b)) => a == b,
            (Number::Unsigned(a), Number::Unsigned(b)) => a == b,
            (Number::Float(a), Number::Float(b)) => a == b || a.is_nan() && b.is_nan(),
            _ => false,
        }
    }
}

impl Number {
    /// Reads a number: decimal or hexadecimal (`0x40`), with a fraction, an exponent or an `f` behind it, `inf`, `-inf`, `nan`, `true`
    /// or `false`. `None` where it is none, or beyond 64 bits.
    pub fn parse(text: &str) -> Option<Number> {
        match text {
            "true" => return Some(Number::Integer(1)),
            "false" => return Some(Number::Integer(0)),
            "inf" | "-inf" | "nan" => return text.parse().ok().map(Number::Float),
            _ => {}
        }
        if let Some(value) = integer(text) {
            let unsigned = || u64::try_from(value).ok().map(Number::Unsigned);
            return i64::try_from(value)
                .ok()
                .map(Number::Integer)
                .or_else(unsigned);
        }
        let digits = text.strip_suffix(['f', 'F']).unwrap_or(text);
        let is_number = digits.starts_with(|c: char| c.is_ascii_digit() || "+-.".contains(c));
        let value = digits.parse().ok().filter(|_| is_number);
        value.filter(|x: &f64| x.is_finite()).map(Number::Float)
    }

    /// Its bytes as this type holds it, little end first; `None` where it does not fit.
    #[allow(
        clippy::cast_possible_truncation,
        reason = "floating-point types round"
    )]
    pub fn bytes(self, element: ElementType) -> Option<Vec<u8>> {
        match (self, element) {
            (Number::Integer(n), _) => element.integer_bytes(n.into()),
            (Number::Unsigned(n), _) => element.integer_bytes(n.into()),
            (Number::Float(x), ElementType::F32) => Some((x as f32).to_le_bytes().to_vec()),
            (Number::Float(x), ElementType::F64) => Some(x.to_le_bytes().to_vec()),
            (Number::Float(_), _) => None,
        }
    }

    fn as_float(self) -> f64 {
        match self {
            Number::Integer(n) => n as f64,
            Number::Unsigned(n) => n as f64,
            Number::Float(x) => x,
        }
    }
}

/// A decimal or hexadecimal integer, with `_` between digits where somebody likes that.
pub fn integer(text: &str) -> Option<i128> {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text),
    };
    let value = match digits
        .strip_prefix("0x")
        .or_else(|| digits.strip_prefix("0X"))
    {
        Some(hex) => i128::from_str_radix(hex, 16).ok()?,
        None if digits.starts_with(['+', '-']) => return None,
        None => digits.replace('_', "").parse().ok()?,
    };
    Some(sign * value)
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Number::Integer(n) => write!(f, "{n}"),
            Number::Unsigned(n) => write!(f, "{n}"),
            Number::Float(x) => write!(f, "{x}"),
        }
    }
}

/// The elements of a buffer, or of a result.
#[derive(Clone, Debug, PartialEq)]
pub enum Elements {
    /// Integers; unsigned 64-bit ones by their bits.
    Integers(Vec<i64>),
    /// Floating-point numbers.
    Floats(Vec<f64>),
}

impl Elements {
    /// 0, 1, 2 …
    pub fn iota(length: u64) -> Elements {
        Elements::drawn(length, |i| i as i64)
    }

    /// All zero.
    pub fn zeros(length: u64) -> Elements {
        Elements::Integers(vec![0; length as usize])
    }

    /// One number everywhere.
    pub fn constant(length: u64, number: Number) -> Elements {
        Elements::of(vec![number; length as usize])
    }

    /// An integer for each index.
    pub fn drawn(length: u64, draw: impl FnMut(u64) -> i64) -> Elements {
        Elements::Integers((0..length).map(draw).collect())
    }

    /// How many.
    pub fn len(&self) -> usize {
        match self {
            Elements::Integers(v) => v.len(),
            Elements::Floats(v) => v.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The elements of a buffer's bytes.
    pub fn from_bytes(element: ElementType, bytes: &[u8]) -> Elements {
        fn each<const N: usize, T>(bytes: &[u8], convert: impl Fn([u8; N]) -> T) -> Vec<T> {
            bytes
                .as_chunks::<N>()
                .0
                .iter()
                .map(|chunk| convert(*chunk))
                .collect()
        }
        use ElementType::*;
        match element {
            I8 => Elements::Integers(each(bytes, |b| i8::from_le_bytes(b).into())),
            U8 => Elements::Integers(each(bytes, |b| u8::from_le_bytes(b).into())),
            I16 => Elements::Integers(each(bytes, |b| i16::from_le_bytes(b).into())),
            U16 => Elements::Integers(each(bytes, |b| u16::from_le_bytes(b).into())),
            I32 => Elements::Integers(each(bytes, |b| i32::from_le_bytes(b).into())),
            U32 => Elements::Integers(each(bytes, |b| u32::from_le_bytes(b).into())),
            I64 | U64 => Elements::Integers(each(bytes, i64::from_le_bytes)),
            F32 => Elements::Floats(each(bytes, |b| f32::from_le_bytes(b).into())),
            F64 => Elements::Floats(each(bytes, f64::from_le_bytes)),
        }
    }

    /// The bytes of a buffer that holds these elements, integers cut to its type.
    #[allow(clippy::cast_possible_truncation, reason = "cutting is what it does")]
    pub fn to_bytes(&self, element: ElementType) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.len() * element.bytes());
        for index in 0..self.len() {
            match self.get(index) {
                Number::Integer(n) if element == ElementType::F32 => {
                    bytes.extend((n as f32).to_le_bytes());
                }
                Number::Integer(n) if element == ElementType::F64 => {
                    bytes.extend((n as f64).to_le_bytes());
                }
                Number::Integer(n) => bytes.extend(&n.to_le_bytes()[..element.bytes()]),
                Number::Unsigned(n) => bytes.extend(&n.to_le_bytes()[..element.bytes()]),
                Number::Float(x) if element == ElementType::F32 => {
                    bytes.extend((x as f32).to_le_bytes());
                }
                Number::Float(x) if element == ElementType::F64 => bytes.extend(x.to_le_bytes()),
                Number::Float(x) => bytes.extend(&(x as i64).to_le_bytes()[..element.bytes()]),
            }
        }
        bytes
    }

    /// One of them. Panics where there is none, as an index does.
    pub fn get(&self, index: usize) -> Number {
        match self {
            Elements::Integers(v) => Number::Integer(v[index]),
            Elements::Floats(v) => Number::Float(v[index]),
        }
    }

    /// These numbers: integers, unless one has a fraction.
    pub fn of(numbers: Vec<Number>) -> Elements {
        let integers: Option<Vec<i64>> = numbers
            .iter()
            .map(|number| match number {
                Number::Integer(n) => Some(*n),
                Number::Unsigned(n) => Some(n.cast_signed()),
                Number::Float(_) => None,
            })
            .collect();
        integers.map_or_else(
            || Elements::Floats(numbers.iter().map(|n| n.as_float()).collect()),
            Elements::Integers,
        )
    }

    /// The first so many.
    pub fn first(&self, length: usize) -> Elements {
        match self {
            Elements::Integers(v) => Elements::Integers(v.iter().take(length).copied().collect()),
            Elements::Floats(v) => Elements::Floats(v.iter().take(length).copied().collect()),
        }
    }
}

/// A buffer to be made on a device.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Placement<'a> {
    /// Its name, for findings.
    pub name: &'a str,
    /// Its size.
    pub bytes: u64,
    /// What lies at its start; the bytes behind are uninitialised.
    pub initial: Option<&'a [u8]>,
    /// Bytes behind it that belong to nobody, so that what reaches too far does not land in the next buffer.
    pub gap: u64,
    /// Whether it is memory of the host that the device can address.
    pub of_host: bool,
}

impl Placement<'_> {
    /// Makes it, and returns its address.
    ///
    /// # Errors
    ///
    /// The device is full.
    pub fn place(&self, device: &mut Device) -> Result<u64, MemoryError> {
        let address = match self.of_host {
            true => device.alloc_host(self.bytes, self.name)?,
            false => device.alloc(self.bytes, self.name)?,
        };
        if let Some(initial) = self.initial {
            device.write(address, initial)?;
        }
        if self.gap > 0 {
            let gap = device.alloc(self.gap, simt::memory::GAP_NAME)?;
            device.free(gap)?;
        }
        Ok(address)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_have_names() {
        for element in ElementType::ALL {
            assert_eq!(ElementType::named(element.name()), Some(element));
        }
        assert_eq!(ElementType::named("double"), Some(ElementType::F64));
        assert_eq!(ElementType::named("i31"), None);
    }

    #[test]
    fn integers_fit_or_are_refused() {
        use ElementType::{F64, I8, U8};
        assert_eq!(I8.integer_bytes(-128), Some(vec![0x80]));
        assert_eq!(I8.integer_bytes(255), Some(vec![0xff]));
        assert_eq!(I8.integer_bytes(256), None);
        assert_eq!(U8.integer_bytes(-1), None);
        assert_eq!(F64.integer_bytes(2), Some(2f64.to_le_bytes().to_vec()));
    }

    #[test]
    fn elements_survive_their_bytes() {
        for element in ElementType::ALL {
            let iota = Elements::iota(5);
            let bytes = iota.to_bytes(element);
            assert_eq!(bytes.len(), 5 * element.bytes());
            let again = Elements::from_bytes(element, &bytes).to_bytes(element);
            assert_eq!(again, bytes);
        }
    }

    #[test]
    fn what_is_behind_the_initial_bytes_is_uninitialised() {
        let mut device = Device::new(1 << 20);
        let buffer = Placement {
            name: "b",
            bytes: 8,
            initial: Some(&[1, 2, 3, 4]),
            gap: 64,
            of_host: false,
        };
        let address = buffer.place(&mut device).unwrap();
        let written = device.written(address, 8).unwrap();
        assert_eq!(
            written,
            [true, true, true, true, false, false, false, false]
        );
    }
}
