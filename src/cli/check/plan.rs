//! What every parameter is set to, given or inferred.

use super::argument::{BufferSpec, FillSpec, Value, number_bytes, type_name};
use super::parameters::{Kind, Parameter, Parameters};
use catalog::values::ElementType;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use report::Failure;
use report::terminal::thousands;

/// Elements of a guessed buffer, at most; it grows when the kernel reaches further.
const GUESSED_ELEMENTS: u64 = 1 << 22;

/// A parameter's value.
#[derive(Clone, Debug, PartialEq)]
pub struct Planned {
    /// The value.
    pub value: Value,
    /// Whether racetrap chose it.
    pub guessed: bool,
}

/// Where the buffers of a plan go.
pub trait Memory {
    /// Makes a buffer and returns its address. `bytes` is `None` for memory that nothing has
    /// written, which then has `length` bytes.
    fn buffer(
        &mut self,
        name: &str,
        guessed: bool,
        length: u64,
        bytes: Option<Vec<u8>>,
    ) -> Result<u64, Failure>;
}

/// The arguments of a launch.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// What is known of the parameters.
    pub parameters: Parameters,
    /// Their values, in order.
    pub values: Vec<Planned>,
    /// Seed of the random fills.
    pub seed: u64,
}

impl Plan {
    /// Reads `--arg`s and infers the rest for a launch of so many threads.
    ///
    /// # Errors
    ///
    /// An argument that names no parameter, names one twice, or does not fit it.
    pub fn new(
        parameters: Parameters,
        given: &[String],
        threads: u64,
        seed: u64,
    ) -> Result<Plan, Failure> {
        let mut values: Vec<Option<Planned>> = vec![None; parameters.0.len()];
        for argument in given {
            let (name, value) = super::argument::parse(argument)?;
            let index = parameters.find(&name)?;
            fits(&value, &parameters, index)?;
            if values[index].is_some() {
                return Err(Failure::usage(format!("`--arg {name}=…` is given twice")));
            }
            let value = with_length(value)?;
            values[index] = Some(Planned {
                value,
                guessed: false,
            });
        }
        let values = values
            .into_iter()
            .zip(&parameters.0)
            .map(|(value, parameter)| {
                value.unwrap_or_else(|| Planned {
                    value: infer(parameter, threads),
                    guessed: true,
                })
            })
            .collect();
        Ok(Plan {
            parameters,
            values,
            seed,
        })
    }

    /// Lets a guessed buffer reach at least `bytes` further than now; false where it is none.
    pub fn grow(&mut self, index: usize, bytes: u64) -> bool {
        match &mut self.values[index] {
            Planned {
                value: Value::Buffer(spec),
                guessed: true,
            } => {
                let size = spec.element.bytes() as u64;
                let length = spec.length.unwrap_or(1);
                let wanted = length.max(bytes.div_ceil(size)).saturating_add(length);
                spec.length = Some(wanted.checked_next_power_of_two().unwrap_or(wanted));
                true
            }
            _ => false,
        }
    }

    /// The parameter whose buffer has this name.
    pub fn named(&self, name: &str) -> Option<usize> {
        (0..self.values.len()).find(|i| self.parameters.label(*i) == name)
    }

    /// The parameter block; buffers are made in `memory`.
    ///
    /// # Errors
    ///
    /// Files that can't be read or have another size, memory that is full.
    pub fn encode(&self, memory: &mut impl Memory) -> Result<Vec<u8>, Failure> {
        let mut block = vec![0; self.parameters.bytes() as usize];
        for (index, (parameter, planned)) in self.parameters.0.iter().zip(&self.values).enumerate()
        {
            let name = self.parameters.label(index);
            let mut encoder = Encoder {
                memory,
                name: &name,
                guessed: planned.guessed,
                seed: self
                    .seed
                    .wrapping_mul(0x9e37_79b9_7f4a_7c15)
                    .wrapping_add(index as u64),
            };
            let bytes = encoder.parameter(&planned.value, parameter)?;
            let offset = parameter.offset as usize;
            block[offset..offset + bytes.len()].copy_from_slice(&bytes);
        }
        Ok(block)
    }
}

fn infer(parameter: &Parameter, threads: u64) -> Value {
    match parameter.kind {
        Kind::Pointer(element) => Value::Buffer(BufferSpec {
            element: element.unwrap_or(ElementType::I32),
            length: Some(threads.clamp(1, GUESSED_ELEMENTS)),
            fill: FillSpec::Random(None),
        }),
        Kind::Scalar(element) if element.is_float() => Value::Scalar("1.0".into(), None),
        Kind::Scalar(element) => {
            let most = (1u128 << (element.bytes() * 8 - 1)) - 1;
            let bool = parameter.ty == "bool";
            let value = if bool {
                1
            } else {
                u128::from(threads).min(most)
            };
            Value::Scalar(value.to_string(), None)
        }
        Kind::Struct => Value::Bytes(vec![0; parameter.bytes as usize]),
    }
}

/// Whether a value can be passed to a parameter at all.
fn fits(value: &Value, parameters: &Parameters, index: usize) -> Result<(), Failure> {
    let parameter = &parameters.0[index];
    let label = parameters.label(index);
    let wrong = |what: String| Err(Failure::usage(format!("`--arg {label}={value}`: {what}")));
    match (value, parameter.kind) {
        (Value::Buffer(_), Kind::Pointer(_)) => Ok(()),
        (Value::Buffer(_), _) if parameter.bytes == 8 && !parameter.by_value => Ok(()),
        (Value::Buffer(_), _) => Err(Failure::usage(format!(
            "`--arg {label}={value}`: parameter {index} is no pointer but `{}` of {} bytes",
            parameter.ty, parameter.bytes
        ))
        .help(match parameter.kind {
            Kind::Struct => format!("write its fields: `--arg {label}={{1, 2.5}}`"),
            _ => format!("give it a number: `--arg {label}=1`"),
        })),
        (Value::Scalar(text, None), Kind::Pointer(element)) if text != "0" => {
            let element = type_name(element.unwrap_or(ElementType::I32));
            Err(Failure::usage(format!(
                "`--arg {label}={value}`: parameter {index} is a pointer, `{}`",
                parameter.ty
            ))
            .help(format!(
                "give it a buffer: `--arg {label}={element}[1024]:random` (or 0, the null pointer)"
            )))
        }
        (Value::Scalar(text, None), Kind::Scalar(element)) => {
            match number_bytes(text, untyped(text, element, parameter)) {
                Ok(_) => Ok(()),
                Err(what) => wrong(what),
            }
        }
        (Value::Scalar(_, Some(ty)), Kind::Scalar(_)) if ty.bytes() as u32 != parameter.bytes => {
            wrong(format!(
                "{} has {} bytes, the parameter `{}` has {}",
                type_name(*ty),
                ty.bytes(),
                parameter.ty,
                parameter.bytes
            ))
        }
        (Value::Scalar(..), Kind::Struct) if parameter.bytes > 8 => Err(Failure::usage(format!(
            "`--arg {label}={value}`: parameter {index} is a struct of {} bytes",
            parameter.bytes
        ))
        .help(format!(
            "write its fields: `--arg {label}={{1, 2.5}}`, or its bytes: `--arg {label}=0x0100…`"
        ))),
        (Value::Bytes(bytes), _) if bytes.len() != parameter.bytes as usize => wrong(format!(
            "these are {} bytes, the parameter has {}",
            bytes.len(),
            parameter.bytes
        )),
        (Value::Fields(_), Kind::Pointer(_)) => {
            wrong("the parameter is a pointer, not a struct".into())
        }
        (Value::Fields(fields), _) => {
            let size = fields_layout(fields)
                .map_err(|what| Failure::usage(format!("`--arg {label}={value}`: {what}")))?;
            match size == parameter.bytes as usize {
                true => Ok(()),
                false => Err(Failure::usage(format!(
                    "`--arg {label}={value}`: these fields make {size} bytes, the parameter `{}` has {}",
                    parameter.ty, parameter.bytes
                ))
                .help("integers and floats count 4 bytes; name other types: `{1:i64, 2.5:f64, 3:u8}`")),
            }
        }
        _ => Ok(()),
    }
}

/// The type of a number without a suffix: the parameter's, but a float where it is written as one
/// and only the size of the parameter is known.
fn untyped(text: &str, element: ElementType, parameter: &Parameter) -> ElementType {
    let written_as_float = text.contains(['.'])
        || text.parse::<i128>().is_err() && text.contains('e') && !text.starts_with("0x");
    match (
        written_as_float && parameter.ty.ends_with(" bytes"),
        parameter.bytes,
    ) {
        (true, 4) => ElementType::F32,
        (true, 8) => ElementType::F64,
        _ => element,
    }
}

/// A buffer read from a file without a length gets it from the file.
fn with_length(value: Value) -> Result<Value, Failure> {
    Ok(match value {
        Value::Buffer(BufferSpec {
            element,
            length: None,
            fill: FillSpec::File(path),
        }) => {
            let shown = path.display();
            let data = std::fs::metadata(&path).map_err(|_| {
                Failure::usage(format!("can't read `{shown}`"))
                    .help("give the path of a file with the buffer's bytes")
            })?;
            let size = element.bytes() as u64;
            if !data.is_file() || data.len() == 0 || !data.len().is_multiple_of(size) {
                return Err(Failure::usage(format!(
                    "`{shown}` has {} bytes: not a positive number of {} elements",
                    data.len(),
                    type_name(element)
                )));
            }
            Value::Buffer(BufferSpec {
                element,
                length: Some(data.len() / size),
                fill: FillSpec::File(path),
            })
        }
        Value::Fields(fields) => Value::Fields(
            fields
                .into_iter()
                .map(with_length)
                .collect::<Result<_, _>>()?,
        ),
        other => other,
    })
}

/// Size and alignment of a struct's field where it has no suffix: 4 bytes for numbers, 8 for buffers.
fn field_type(field: &Value) -> Option<ElementType> {
    match field {
        Value::Scalar(_, Some(ty)) => Some(*ty),
        Value::Scalar(text, None) if text.contains('.') => Some(ElementType::F32),
        Value::Scalar(text, None) if number_bytes(text, ElementType::I32).is_ok() => {
            Some(ElementType::I32)
        }
        Value::Scalar(..) => Some(ElementType::F32),
        Value::Buffer(_) => Some(ElementType::U64),
        Value::Fields(_) | Value::Bytes(_) => None,
    }
}

fn alignment(field: &Value) -> usize {
    match (field, field_type(field)) {
        (_, Some(ty)) => ty.bytes(),
        (Value::Fields(fields), _) => fields.iter().map(alignment).max().unwrap_or(1),
        _ => 1,
    }
}

/// Bytes of a struct laid out as C++ does.
fn fields_layout(fields: &[Value]) -> Result<usize, String> {
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
            _ => 0,
        };
    }
    let align = fields.iter().map(alignment).max().unwrap_or(1);
    Ok(end.next_multiple_of(align))
}

struct Encoder<'a, M> {
    memory: &'a mut M,
    name: &'a str,
    guessed: bool,
    seed: u64,
}

impl<M: Memory> Encoder<'_, M> {
    fn parameter(&mut self, value: &Value, parameter: &Parameter) -> Result<Vec<u8>, Failure> {
        let fail = |what: String| Failure::usage(format!("`--arg {}={value}`: {what}", self.name));
        match (value, parameter.kind) {
            (Value::Scalar(text, None), Kind::Scalar(element)) => {
                number_bytes(text, untyped(text, element, parameter)).map_err(fail)
            }
            (Value::Scalar(text, None), _) => {
                let mut bytes = number_bytes(text, ElementType::I64).map_err(fail)?;
                bytes.resize(parameter.bytes as usize, 0);
                Ok(bytes)
            }
            _ => self.field(value),
        }
    }

    fn field(&mut self, value: &Value) -> Result<Vec<u8>, Failure> {
        let fail = |what: String| Failure::usage(format!("`--arg {}={value}`: {what}", self.name));
        match value {
            Value::Scalar(text, _) => {
                let ty = field_type(value).unwrap_or(ElementType::I32);
                number_bytes(text, ty).map_err(fail)
            }
            Value::Bytes(bytes) => Ok(bytes.clone()),
            Value::Buffer(spec) => {
                let elements = spec.length.unwrap_or(1);
                let length = elements
                    .checked_mul(spec.element.bytes() as u64)
                    .filter(|l| *l <= 1 << 40);
                let length = length.ok_or_else(|| {
                    fail(format!(
                        "{} elements are more than a GPU holds",
                        thousands(elements)
                    ))
                })?;
                let content = |memory: &mut M| memory.buffer(self.name, self.guessed, length, None);
                let address = match &spec.fill {
                    FillSpec::Uninitialized => content(self.memory)?,
                    _ if length > 1 << 32 => content(self.memory)?,
                    _ => {
                        let bytes = fill(spec, self.seed)?;
                        self.memory
                            .buffer(self.name, self.guessed, length, Some(bytes))?
                    }
                };
                Ok(address.to_le_bytes().to_vec())
            }
            Value::Fields(fields) => {
                let mut out = Vec::new();
                for field in fields {
                    out.resize(out.len().next_multiple_of(alignment(field)), 0);
                    self.seed = self.seed.wrapping_add(1 << 32);
                    out.extend(self.field(field)?);
                }
                let align = fields.iter().map(alignment).max().unwrap_or(1);
                out.resize(out.len().next_multiple_of(align), 0);
                Ok(out)
            }
        }
    }
}

/// The bytes of a buffer.
fn fill(spec: &BufferSpec, seed: u64) -> Result<Vec<u8>, Failure> {
    let element = spec.element;
    let size = element.bytes();
    let length = spec.length.unwrap_or(1) as usize;
    let mut bytes = vec![0u8; length * size];
    let integer = |value: i64| match element {
        ElementType::F32 => (value as f32).to_le_bytes().to_vec(),
        ElementType::F64 => (value as f64).to_le_bytes().to_vec(),
        _ => value.to_le_bytes()[..size].to_vec(),
    };
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    match &spec.fill {
        FillSpec::Zeros | FillSpec::Uninitialized => {}
        FillSpec::Iota => {
            for (i, chunk) in bytes.chunks_mut(size).enumerate() {
                chunk.copy_from_slice(&integer(i as i64));
            }
        }
        FillSpec::Constant(number) => {
            let one = number_bytes(number, element).map_err(Failure::usage)?;
            bytes
                .chunks_mut(size)
                .for_each(|chunk| chunk.copy_from_slice(&one));
        }
        FillSpec::Random(range) => {
            let most = match size {
                1 => i64::from(i8::MAX),
                2 => i64::from(i16::MAX),
                _ => i64::from(i32::MAX),
            };
            let (low, high) = range.unwrap_or((0, (length as i64 - 1).clamp(0, most)));
            for chunk in bytes.chunks_mut(size) {
                let value = match element {
                    ElementType::F32 if range.is_none() => {
                        random.random::<f32>().to_le_bytes().to_vec()
                    }
                    ElementType::F64 if range.is_none() => {
                        random.random::<f64>().to_le_bytes().to_vec()
                    }
                    _ => integer(random.random_range(low..=high)),
                };
                chunk.copy_from_slice(&value);
            }
        }
        FillSpec::File(path) => {
            let shown = path.display();
            let content = std::fs::read(path).map_err(|error| {
                Failure::usage(format!("can't read `{shown}`: {error}"))
                    .help("give the path of a file with the buffer's bytes")
            })?;
            if content.len() != bytes.len() {
                return Err(Failure::usage(format!(
                    "`{shown}` has {} bytes; {}[{length}] needs {}",
                    content.len(),
                    type_name(element),
                    bytes.len()
                ))
                .help(format!(
                    "for the whole file: `{}[]:@{shown}`",
                    type_name(element)
                )));
            }
            bytes = content;
        }
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Name, guessed, length, content.
    type Buffer = (String, bool, u64, Option<Vec<u8>>);

    #[derive(Debug, Default)]
    struct Buffers(Vec<Buffer>);

    impl Memory for Buffers {
        fn buffer(
            &mut self,
            name: &str,
            guessed: bool,
            length: u64,
            bytes: Option<Vec<u8>>,
        ) -> Result<u64, Failure> {
            self.0.push((name.into(), guessed, length, bytes));
            Ok(0x1000 * self.0.len() as u64)
        }
    }

    fn parameters() -> Parameters {
        let ptx = "
.version 9.0
.target sm_75
.address_size 64
.visible .entry _Z1kPfiS_1P(.param .u64 a, .param .u32 b, .param .u64 c, .param .align 8 .b8 d[16])
{ ret; }
";
        Parameters::of(&ptx::parse(ptx).unwrap(), "_Z1kPfiS_1P", None)
    }

    fn encode(given: &[&str]) -> Result<(Vec<u8>, Buffers), Failure> {
        let given: Vec<String> = given.iter().map(|s| s.to_string()).collect();
        let plan = Plan::new(parameters(), &given, 96, 1)?;
        let mut buffers = Buffers::default();
        Ok((plan.encode(&mut buffers)?, buffers))
    }

    #[test]
    fn what_is_not_given_is_inferred() {
        let (block, buffers) = encode(&[]).unwrap();
        let made: Vec<_> = buffers.0.iter().map(|b| (b.0.as_str(), b.1, b.2)).collect();
        assert_eq!(made, [("0", true, 96 * 4), ("2", true, 96 * 4)]);
        assert_eq!(block.len(), 40);
        assert_eq!(block[..8], 0x1000u64.to_le_bytes());
        assert_eq!(block[8..12], 96u32.to_le_bytes());
        let first = buffers.0[0].3.as_ref().unwrap();
        assert_ne!(first, buffers.0[1].3.as_ref().unwrap(), "buffers differ");
        assert_eq!(
            first,
            encode(&[]).unwrap().1.0[0].3.as_ref().unwrap(),
            "runs do not"
        );
    }

    #[test]
    fn what_is_given_is_passed() {
        let (block, buffers) = encode(&[
            "0=f32[2]:const:1.5",
            "1=-7",
            "2=0",
            "3={1, 2.5, i32[3]:iota}",
        ])
        .unwrap();
        assert_eq!(block[8..12], (-7i32).to_le_bytes());
        assert_eq!(block[16..24], [0; 8]);
        assert_eq!(block[24..28], 1i32.to_le_bytes());
        assert_eq!(block[28..32], 2.5f32.to_le_bytes());
        assert_eq!(block[32..40], 0x2000u64.to_le_bytes());
        assert_eq!(
            buffers.0[0].3.as_deref(),
            Some(&[0, 0, 0xc0, 0x3f, 0, 0, 0xc0, 0x3f][..])
        );
        assert_eq!(
            buffers.0[1].3.as_deref(),
            Some(&[0, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0][..])
        );
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let messages: Vec<String> = [
            "0=5",
            "1=i32[4]",
            "1=5000000000",
            "1=1.5",
            "1=3:i64",
            "3=7",
            "3={1,2}",
            "3=0x000102030405060708",
            "0={1}",
        ]
        .iter()
        .map(|a| encode(&[a]).map(|_| ()).unwrap_err().render(false))
        .collect();
        insta::assert_snapshot!(messages.concat());
        assert!(
            encode(&["1=1", "1=2"])
                .unwrap_err()
                .message
                .contains("twice")
        );
    }

    #[test]
    fn guessed_buffers_grow() {
        let mut plan = Plan::new(parameters(), &["2=f32[4]".into()], 96, 1).unwrap();
        assert!(plan.grow(0, 1000));
        assert_eq!(plan.values[0].value.to_string(), "f32[512]:random");
        assert!(!plan.grow(1, 1000) && !plan.grow(2, 1000));
        assert_eq!((plan.named("0"), plan.named("x")), (Some(0), None));
    }
}
