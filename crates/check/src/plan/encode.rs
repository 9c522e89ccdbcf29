//! Writes the parameter block of a launch, and asks for the buffers that it points to.

use super::fill::fill;
use super::fits::untyped;
use super::layout::{alignment, field_type};
use super::{Origin, Place, Plan, PlannedBuffer};
use crate::argument::{BufferSpec, Fill, Value};
use crate::error::{Error, ErrorKind};
use crate::number::number_bytes;
use crate::parameters::{Kind, Parameter};
use crate::tensor::{Contents, TensorSpec};
use report::terminal::thousands;
use session::buffer::ElementType;
use simt::tensor_map;

/// Bytes behind each row that belong to nobody.
pub(super) const ROW_GAP: u64 = 64 << 10;
/// Bytes behind a buffer that belong to nobody, so that reaching too far is not taken for reaching into the next one.
pub const GAP: u64 = 1 << 20;

impl Plan {
    /// The parameter block; `place` makes the buffers, and `functions` gives the addresses of device functions.
    ///
    /// # Errors
    ///
    /// Files that can't be read or have another size, memory that is full, functions that are not there.
    pub fn encode(
        &self,
        place: &mut Place<'_>,
        functions: &dyn Fn(&str) -> Option<u64>,
    ) -> Result<Vec<u8>, Error> {
        let mut block = vec![0; self.parameters.bytes() as usize];
        let all = self.parameters.0.iter().zip(&self.values);
        for (index, (parameter, planned)) in all.clone().enumerate() {
            if matches!(planned.value, Value::Same(_)) || tensor_of(&planned.value).is_some() {
                continue;
            }
            if let Value::Function(name) = &planned.value {
                let label = self.parameters.label(index);
                let address = functions(name).ok_or_else(|| no_function(&label, name))?;
                let offset = parameter.offset as usize;
                match block
                    .get_mut(offset..offset + 8)
                    .filter(|_| parameter.bytes >= 8)
                {
                    Some(room) => room.copy_from_slice(&address.to_le_bytes()),
                    None => {
                        let message = format!(
                            "`--arg {label}=fn:{name}`: an address has 8 bytes, but the parameter has {}",
                            parameter.bytes
                        );
                        return Err(Error::new(ErrorKind::Argument, message));
                    }
                }
                continue;
            }
            let name = self.parameters.label(index);
            let mut encoder = Encoder {
                place,
                name: &name,
                index,
                seed: self
                    .seed
                    .wrapping_mul(0x9e37_79b9_7f4a_7c15)
                    .wrapping_add(index as u64),
                typed: planned.origin == Origin::Given || parameter.says_element(),
            };
            let bytes = encoder.parameter(&planned.value, parameter)?;
            let offset = parameter.offset as usize;
            let room = block.get_mut(offset..offset + bytes.len());
            match room.filter(|_| bytes.len() <= parameter.bytes as usize) {
                Some(room) => room.copy_from_slice(&bytes),
                None => {
                    let message = format!(
                        "`--arg {name}={}` has {} bytes, but the parameter has {}",
                        planned.value,
                        bytes.len(),
                        parameter.bytes
                    );
                    return Err(Error::new(ErrorKind::Argument, message));
                }
            }
        }
        // The address that another parameter got.
        for (parameter, planned) in all {
            if let Some((tensor, name)) = tensor_of(&planned.value) {
                let other = self.parameters.0[self.parameters.find(name)?].offset as usize;
                let address = block.get(other..).and_then(|b| b.first_chunk().copied());
                let map = tensor.map(u64::from_le_bytes(address.unwrap_or_default()));
                let map = map.map_err(|what| {
                    let message = format!("`{}`: {what}", planned.value);
                    Error::new(ErrorKind::Argument, message)
                })?;
                let offset = parameter.offset as usize;
                if let Some(room) = block.get_mut(offset..offset + tensor_map::BYTES) {
                    room.copy_from_slice(&map.to_bytes());
                }
            }
            if let Value::Same(name) = &planned.value {
                let other = self.parameters.0[self.parameters.find(name)?].offset as usize;
                let offset = parameter.offset as usize;
                let bytes = (parameter.bytes as usize).min(8);
                if other + bytes <= block.len() {
                    block.copy_within(other..other + bytes, offset);
                }
            }
        }
        Ok(block)
    }
}

/// A tensor in another parameter's buffer, and that parameter.
fn tensor_of(value: &Value) -> Option<(&TensorSpec, &str)> {
    match value {
        Value::Tensor(tensor) => match &tensor.contents {
            Contents::Of(name) => Some((tensor, name)),
            Contents::Own(_) => None,
        },
        _ => None,
    }
}

fn no_function(label: &str, name: &str) -> Error {
    Error::new(
        ErrorKind::Argument,
        format!("`--arg {label}=fn:{name}`: the program has no device function of this name whose address it takes"),
    )
    .help("a variable that holds the address keeps the function in the PTX: `__device__ op_t pointer = name;`")
}

struct Encoder<'a, 'p> {
    place: &'a mut Place<'p>,
    name: &'a str,
    index: usize,
    seed: u64,
    /// Whether the types of elements are what the user or the source says.
    typed: bool,
}

impl Encoder<'_, '_> {
    fn parameter(&mut self, value: &Value, parameter: &Parameter) -> Result<Vec<u8>, Error> {
        let fail = |what: String| {
            Error::new(
                ErrorKind::Argument,
                format!("`--arg {}={value}`: {what}", self.name),
            )
        };
        match (value, parameter.kind) {
            (Value::Scalar(text, None), Kind::Scalar(element)) => {
                number_bytes(text, untyped(text, element, parameter))
                    .map_err(|e| fail(e.to_string()))
            }
            (Value::Scalar(text, None), _) => {
                let mut bytes =
                    number_bytes(text, ElementType::I64).map_err(|e| fail(e.to_string()))?;
                bytes.resize(parameter.bytes as usize, 0);
                Ok(bytes)
            }
            _ => self.field(value),
        }
    }

    fn field(&mut self, value: &Value) -> Result<Vec<u8>, Error> {
        let fail = |what: String| {
            Error::new(
                ErrorKind::Argument,
                format!("`--arg {}={value}`: {what}", self.name),
            )
        };
        match value {
            Value::Scalar(text, _) => {
                let ty = field_type(value).unwrap_or(ElementType::I32);
                number_bytes(text, ty).map_err(|e| fail(e.to_string()))
            }
            Value::Bytes(bytes) => Ok(bytes.clone()),
            Value::Same(_) | Value::Function(_) => {
                Err(fail("only a whole parameter can be an address".into()))
            }
            Value::Tensor(tensor) => {
                let Some((element, length, fill)) = tensor.buffer() else {
                    return Err(fail("a tensor in a struct has a buffer of its own".into()));
                };
                let spec = BufferSpec {
                    element,
                    length: Some(length),
                    fill: fill.clone(),
                };
                let address = self
                    .buffer(&spec, self.name, GAP)
                    .map_err(fail_with(value, self.name))?;
                let map = tensor.map(address).map_err(|what| {
                    let message = format!("`--arg {}={value}`: {what}", self.name);
                    Error::new(ErrorKind::Argument, message)
                })?;
                Ok(map.to_bytes().to_vec())
            }
            Value::Buffer(spec) => {
                let address = self
                    .buffer(spec, self.name, GAP)
                    .map_err(fail_with(value, self.name))?;
                Ok(address.to_le_bytes().to_vec())
            }
            Value::Rows(count, row) => {
                let mut table = Vec::new();
                for number in 0..*count {
                    self.seed = self.seed.wrapping_add(1 << 32);
                    let name = format!("{}[{number}]", self.name);
                    let address = self.buffer(row, &name, ROW_GAP);
                    let address = address.map_err(fail_with(value, self.name))?;
                    table.extend(address.to_le_bytes());
                }
                let address = (self.place)(PlannedBuffer {
                    name: self.name.to_owned(),
                    parameter: self.index,
                    element: ElementType::U64,
                    typed: false,
                    bytes: table.len() as u64,
                    initial: Some(table),
                    gap: GAP,
                })?;
                Ok(address.to_le_bytes().to_vec())
            }
            Value::Fields(fields) => {
                let mut out = Vec::new();
                let is_buffer =
                    |f: &Value| matches!(f, Value::Buffer(_) | Value::Rows(..) | Value::Tensor(_));
                let several = fields.iter().filter(|f| is_buffer(f)).count() > 1;
                let mut number = 0;
                for field in fields {
                    out.resize(out.len().next_multiple_of(alignment(field)), 0);
                    self.seed = self.seed.wrapping_add(1 << 32);
                    if several && is_buffer(field) {
                        let name = format!("{}.{number}", self.name);
                        number += 1;
                        let mut inner = Encoder {
                            place: self.place,
                            name: &name,
                            index: self.index,
                            seed: self.seed,
                            typed: self.typed,
                        };
                        out.extend(inner.field(field)?);
                        continue;
                    }
                    out.extend(self.field(field)?);
                }
                let align = fields.iter().map(alignment).max().unwrap_or(1);
                out.resize(out.len().next_multiple_of(align), 0);
                Ok(out)
            }
        }
    }
}

/// Words an error about a value.
fn fail_with(value: &Value, name: &str) -> impl Fn(BufferProblem) -> Error {
    let head = format!("`--arg {name}={value}`");
    move |problem| match problem {
        BufferProblem::TooLarge(what) => Error::new(ErrorKind::Argument, format!("{head}: {what}")),
        BufferProblem::Other(error) => error,
    }
}

/// Why a buffer can't be made.
enum BufferProblem {
    TooLarge(String),
    Other(Error),
}

impl Encoder<'_, '_> {
    /// Makes a buffer, and returns its address.
    fn buffer(&mut self, spec: &BufferSpec, name: &str, gap: u64) -> Result<u64, BufferProblem> {
        let elements = spec.length.unwrap_or(1);
        let length = elements
            .checked_mul(spec.element.bytes() as u64)
            .filter(|l| *l <= 1 << 40);
        let length = length.ok_or_else(|| {
            BufferProblem::TooLarge(format!(
                "{} elements exceed the memory of any GPU",
                thousands(elements)
            ))
        })?;
        let initial = match &spec.fill {
            Fill::Uninitialized => None,
            // There is no room for it anyway.
            _ if length > 1 << 32 => None,
            _ => Some(fill(spec, self.seed).map_err(BufferProblem::Other)?),
        };
        let planned = PlannedBuffer {
            name: name.to_owned(),
            parameter: self.index,
            element: spec.element,
            typed: self.typed,
            bytes: length,
            initial,
            gap,
        };
        (self.place)(planned).map_err(BufferProblem::Other)
    }
}
