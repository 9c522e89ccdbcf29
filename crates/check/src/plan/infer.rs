//! What racetrap sets a parameter to where nobody says: buffers of as many elements as there are threads, the number of
//! threads for integers, the first value for indices, buffers and numbers for the parts of a struct that the kernel reads.

use super::Sizes;
use super::layout::fields_layout;
use crate::argument::{BufferSpec, Fill, Value};
use crate::parameters::{Kind, Parameter};
use crate::roles::is_exponent;
use crate::usage::Use;
use session::buffer::ElementType;
use session::expression::Expression;

/// Elements of a guessed buffer, at most; it grows when the kernel reaches further.
const GUESSED_ELEMENTS: u64 = 1 << 22;
/// Rows of a guessed array of pointers, at first at most.
const GUESSED_ROWS: u64 = 64;
/// Elements of each row of a sparse matrix, or a graph: a loop along a row goes round as often.
const ROW: u64 = 3;

pub(super) fn infer(parameter: &Parameter, sizes: Sizes) -> Value {
    match parameter.kind {
        Kind::Pointer(element) => {
            let mut spec = guessed_buffer(element, &parameter.usage, sizes);
            if spec.fill == Fill::Random(None) && is_bool(parameter) {
                spec.fill = Fill::random_in(0, 1);
            }
            Value::Buffer(spec)
        }
        Kind::Rows(element) => {
            let row = guessed_buffer(element, &Use::default(), sizes);
            Value::Rows(sizes.count.clamp(1, GUESSED_ROWS), row)
        }
        Kind::Function => Value::Scalar("0".into(), None),
        Kind::Scalar(element) if element.is_float() => Value::Scalar("1.0".into(), None),
        Kind::Scalar(element) => {
            let name = parameter.name.as_deref().unwrap_or_default();
            let value = match (parameter.ty == "bool", parameter.index) {
                (true, _) => 1,
                (false, Some(index)) => u128::from(index.start),
                (false, None) => count(name, element.bytes(), sizes),
            };
            Value::Scalar(value.to_string(), None)
        }
        Kind::Struct => structure(parameter, sizes),
    }
}

/// What an integer of that name and size is likely to be: a number of elements, or of rows.
fn count(name: &str, bytes: usize, sizes: Sizes) -> u128 {
    let most = (1u128 << (bytes * 8 - 1)) - 1;
    let name = name.to_ascii_lowercase();
    let vertical = ["h", "height", "rows", "nrows", "ny", "num_rows", "numrows"];
    let value = match sizes.rows {
        _ if is_exponent(&name) => u64::from(sizes.count.max(1).ilog2()),
        Some(rows) if vertical.contains(&name.as_str()) => rows,
        _ => sizes.count,
    };
    u128::from(value).min(most)
}

/// A buffer of as many elements as there are threads. What threads count or wait for starts at zero, as counters and flags do.
fn guessed_buffer(element: Option<ElementType>, used: &Use, sizes: Sizes) -> BufferSpec {
    BufferSpec {
        element: element.unwrap_or(ElementType::I32),
        length: Some(sizes.threads.clamp(1, GUESSED_ELEMENTS)),
        fill: match (used.communicates, used.rows) {
            (true, _) => Fill::Zeros,
            (false, true) => rows(),
            (false, false) => Fill::Random(None),
        },
    }
}

/// Where rows of a few elements begin, one behind the other: with random numbers rows would share elements, which they never do.
fn rows() -> Fill {
    let each = Expression::parse(&format!("{ROW} * i"));
    each.map_or(Fill::Iota, Fill::Each)
}

/// Whether a parameter points at truth values, which are nothing but 0 and 1.
fn is_bool(parameter: &Parameter) -> bool {
    let ty = parameter.ty.trim_start_matches("const ").trim_start();
    ty.starts_with("bool") && ty[4..].trim_start().starts_with(['*', 'c'])
}

/// A struct from the parts that the kernel reads: buffers for addresses, numbers for numbers, zeros for the rest.
fn structure(parameter: &Parameter, sizes: Sizes) -> Value {
    let zeros = || Value::Bytes(vec![0; parameter.bytes as usize]);
    if !parameter.parts.iter().any(|(_, part)| part.address) {
        return zeros();
    }
    let mut fields = Vec::new();
    let mut end = 0;
    for (at, part) in &parameter.parts {
        // Read once as a whole and once by halves: the first reading counts.
        if *at < end || at + part.bytes > parameter.bytes || !at.is_multiple_of(part.bytes) {
            continue;
        }
        fields.extend(padding(end, *at));
        let number = |element: ElementType| {
            Value::Scalar(
                match element.is_float() {
                    true => "1.0".into(),
                    false => count("", part.bytes as usize, sizes).to_string(),
                },
                Some(element),
            )
        };
        fields.push(match (part.bytes, part.float) {
            (8, _) if part.address => Value::Buffer(guessed_buffer(part.element, part, sizes)),
            (4, true) => number(ElementType::F32),
            (8, true) => number(ElementType::F64),
            (1, _) => number(ElementType::U8),
            (2, _) => number(ElementType::U16),
            (4, _) => number(ElementType::I32),
            (8, _) => number(ElementType::I64),
            _ => continue,
        });
        end = at + part.bytes;
    }
    fields.extend(padding(end, parameter.bytes));
    match fields_layout(&fields) {
        Ok(size) if size == parameter.bytes as usize => Value::Fields(fields),
        _ => zeros(),
    }
}

/// Zeros from one byte of a struct to another.
fn padding(mut from: u32, to: u32) -> Vec<Value> {
    let mut fields = Vec::new();
    if to - from > 64 {
        return vec![Value::Bytes(vec![0; (to - from) as usize])];
    }
    while from < to {
        let sizes = [
            (8, ElementType::U64),
            (4, ElementType::U32),
            (2, ElementType::U16),
            (1, ElementType::U8),
        ];
        let fits = |(size, _): &(u32, ElementType)| from.is_multiple_of(*size) && from + size <= to;
        let Some((size, element)) = sizes.into_iter().find(fits) else {
            break;
        };
        fields.push(Value::Scalar("0".into(), Some(element)));
        from += size;
    }
    fields
}
