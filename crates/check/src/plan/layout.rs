//! The layout of a struct that is given field by field: sizes and alignments as C++ has them.

use crate::argument::Value;
use crate::number::{NumberError, number_bytes};
use session::buffer::ElementType;
use simt::tensor_map;

/// Size and alignment of a struct's field where it has no suffix: 4 bytes for numbers, 8 for buffers.
pub(super) fn field_type(field: &Value) -> Option<ElementType> {
    match field {
        Value::Scalar(_, Some(ty)) => Some(*ty),
        Value::Scalar(text, None) if text.contains('.') => Some(ElementType::F32),
        Value::Scalar(text, None) if number_bytes(text, ElementType::I32).is_ok() => {
            Some(ElementType::I32)
        }
        Value::Scalar(..) => Some(ElementType::F32),
        Value::Buffer(_) | Value::Rows(..) | Value::Same(_) | Value::Function(_) => {
            Some(ElementType::U64)
        }
        Value::Fields(_) | Value::Bytes(_) | Value::Tensor(_) => None,
    }
}

pub(super) fn alignment(field: &Value) -> usize {
    match (field, field_type(field)) {
        (_, Some(ty)) => ty.bytes(),
        (Value::Fields(fields), _) => fields.iter().map(alignment).max().unwrap_or(1),
        (Value::Tensor(_), _) => tensor_map::ALIGNMENT as usize,
        _ => 1,
    }
}

/// Bytes of a struct laid out as C++ does.
pub(super) fn fields_layout(fields: &[Value]) -> Result<usize, NumberError> {
    let mut end = 0usize;
    for field in fields {
        end = end.next_multiple_of(alignment(field));
        end += match (field, field_type(field)) {
            (Value::Scalar(text, _), Some(ty)) => {
                number_bytes(text, ty)?;
                ty.bytes()
            }
            (_, Some(ty)) => ty.bytes(),
            (Value::Fields(inner), _) => fields_layout(inner)?,
            (Value::Bytes(bytes), _) => bytes.len(),
            (Value::Tensor(_), _) => tensor_map::BYTES,
            _ => 0,
        };
    }
    let align = fields.iter().map(alignment).max().unwrap_or(1);
    Ok(end.next_multiple_of(align))
}
