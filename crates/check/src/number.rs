//! Numbers as they are written in arguments, and their bytes.

use session::buffer::{ElementType, integer};

/// Why a text is no number of a type.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NumberError {
    /// It is no number at all.
    #[error("`{text}` is not a number")]
    NoNumber {
        /// What was written.
        text: String,
    },
    /// The type has integers only.
    #[error("`{text}` is not an integer, but the type is {}", ty.name())]
    NoInteger {
        /// What was written.
        text: String,
        /// The type.
        ty: ElementType,
    },
    /// The type does not go so far.
    #[error("{text} does not fit in {}", ty.name())]
    TooLarge {
        /// What was written.
        text: String,
        /// The type.
        ty: ElementType,
    },
}

/// The bytes of a number of a type, little end first.
///
/// # Errors
///
/// It is no number, or does not fit.
pub fn number_bytes(text: &str, ty: ElementType) -> Result<Vec<u8>, NumberError> {
    let written = || text.to_owned();
    if ty.is_float() {
        let digits = text.trim_end_matches(['f', 'F']);
        let value = match (text, integer(text)) {
            ("inf" | "-inf" | "nan", _) => text.parse::<f64>().ok(),
            (_, Some(value)) => Some(value as f64),
            _ => digits.parse::<f64>().ok(),
        };
        let value = value.ok_or_else(|| NumberError::NoNumber { text: written() })?;
        return Ok(match ty {
            ElementType::F32 => (value as f32).to_le_bytes().to_vec(),
            _ => value.to_le_bytes().to_vec(),
        });
    }
    let value = match text {
        "true" => Some(1),
        "false" => Some(0),
        _ => integer(text),
    };
    let value = value.ok_or_else(|| NumberError::NoInteger {
        text: written(),
        ty,
    })?;
    ty.integer_bytes(value)
        .ok_or_else(|| NumberError::TooLarge {
            text: written(),
            ty,
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_their_types_bytes() {
        assert_eq!(number_bytes("-1", ElementType::I16).unwrap(), [255, 255]);
        assert_eq!(
            number_bytes("0xffffffff", ElementType::I32).unwrap(),
            [255; 4]
        );
        assert_eq!(
            number_bytes("1.5", ElementType::F32).unwrap(),
            1.5f32.to_le_bytes()
        );
        assert_eq!(
            number_bytes("2", ElementType::F64).unwrap(),
            2f64.to_le_bytes()
        );
        assert!(matches!(
            number_bytes("1.5", ElementType::I32),
            Err(NumberError::NoInteger { .. })
        ));
        assert!(matches!(
            number_bytes("300", ElementType::U8),
            Err(NumberError::TooLarge { .. })
        ));
    }
}
