//! Arguments: numbers, and buffers of them.

use ::check::argument::{BufferSpec, Fill, Value};
use session::buffer::ElementType;
use std::ops::RangeInclusive;

/// What a kernel's parameter is set to: a number, or the address of a [`Buffer`].
///
/// Numbers take the parameter's type. Slices, arrays and vectors become buffers with that content.
#[derive(Clone, Debug, PartialEq)]
pub struct Argument(pub(super) Value);

/// Global memory that an argument points at.
///
/// ```
/// use racetrap::{Argument, Buffer};
///
/// let inputs: [Argument; 5] = [
///     Buffer::random::<f32>(1000).into(),          // from 0 to below 1
///     Buffer::random_in::<i32>(1000, -9..=9).into(),
///     Buffer::zeros::<u32>(256).into(),
///     Buffer::uninitialized::<f64>(64).into(),     // reading it before it is written is a finding
///     vec![1u8, 2, 3].into(),
/// ];
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Buffer(BufferSpec);

impl Buffer {
    fn filled<T: Element>(length: u64, fill: Fill) -> Buffer {
        Buffer(BufferSpec {
            element: T::TYPE,
            length: Some(length.max(1)),
            fill,
        })
    }

    /// Random numbers: floating-point ones from 0 to below 1, integers from 0 to below the number of elements.
    pub fn random<T: Element>(length: u64) -> Buffer {
        Buffer::filled::<T>(length, Fill::Random(None))
    }

    /// Random integers of a range.
    pub fn random_in<T: Element>(length: u64, range: RangeInclusive<i64>) -> Buffer {
        let (low, high) = range.into_inner();
        Buffer::filled::<T>(length, Fill::random_in(low, high.max(low)))
    }

    /// 0, 1, 2 …
    pub fn iota<T: Element>(length: u64) -> Buffer {
        Buffer::filled::<T>(length, Fill::Iota)
    }

    /// All zero.
    pub fn zeros<T: Element>(length: u64) -> Buffer {
        Buffer::filled::<T>(length, Fill::Zeros)
    }

    /// Nothing has been written yet: reading it is a finding.
    pub fn uninitialized<T: Element>(length: u64) -> Buffer {
        Buffer::filled::<T>(length, Fill::Uninitialized)
    }
}

impl From<Buffer> for Argument {
    fn from(buffer: Buffer) -> Argument {
        Argument(Value::Buffer(buffer.0))
    }
}

impl<T: Element> From<&[T]> for Buffer {
    fn from(values: &[T]) -> Buffer {
        let mut bytes = Vec::with_capacity(std::mem::size_of_val(values));
        values.iter().for_each(|value| value.write(&mut bytes));
        if values.is_empty() {
            return Buffer::uninitialized::<T>(1);
        }
        Buffer::filled::<T>(values.len() as u64, Fill::Bytes(bytes.into()))
    }
}

impl<T: Element> From<&[T]> for Argument {
    fn from(values: &[T]) -> Argument {
        Buffer::from(values).into()
    }
}

impl<T: Element> From<Vec<T>> for Argument {
    fn from(values: Vec<T>) -> Argument {
        Buffer::from(values.as_slice()).into()
    }
}

impl<T: Element> From<&Vec<T>> for Argument {
    fn from(values: &Vec<T>) -> Argument {
        Buffer::from(values.as_slice()).into()
    }
}

impl<T: Element, const N: usize> From<[T; N]> for Argument {
    fn from(values: [T; N]) -> Argument {
        Buffer::from(values.as_slice()).into()
    }
}

impl From<bool> for Argument {
    fn from(value: bool) -> Argument {
        Argument(Value::Scalar(value.to_string(), None))
    }
}

/// A number that buffers hold and parameters take.
pub trait Element: Copy + sealed::Number {
    #[doc(hidden)]
    const TYPE: ElementType;
}

mod sealed {
    pub trait Number: Sized {
        fn write(self, to: &mut Vec<u8>);
        fn read(bytes: &[u8]) -> Vec<Self>;
    }
}

macro_rules! elements {
    ($($type:ident $element:ident,)*) => {$(
        impl Element for $type {
            const TYPE: ElementType = ElementType::$element;
        }
        impl sealed::Number for $type {
            fn write(self, to: &mut Vec<u8>) {
                to.extend(self.to_le_bytes());
            }
            fn read(bytes: &[u8]) -> Vec<$type> {
                bytes.as_chunks().0.iter().map(|chunk| $type::from_le_bytes(*chunk)).collect()
            }
        }
        impl From<$type> for Argument {
            fn from(value: $type) -> Argument {
                // As `NaN` is written elsewhere.
                Argument(Value::Scalar(format!("{value:?}").to_ascii_lowercase(), None))
            }
        }
    )*};
}

elements! {
    i8 I8, u8 U8, i16 I16, u16 U16, i32 I32, u32 U32, i64 I64, u64 U64, f32 F32, f64 F64,
}
