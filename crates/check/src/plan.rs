//! What every parameter is set to, given or inferred.

use super::argument::{BufferSpec, FillSpec, Value, number_bytes};
use super::error::{Error, ErrorKind};
use super::parameters::{Kind, Parameter, Parameters};
use super::request::Argument;
use super::usage::Use;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use report::terminal::thousands;
use session::buffer::{ElementType, Elements};

/// Elements of a guessed buffer, at most; it grows when the kernel reaches further.
const GUESSED_ELEMENTS: u64 = 1 << 22;
/// Bytes of all guessed buffers together, at most: what needs more is reported as it is, with the guess as it was.
const GUESSED_BYTES: u64 = 768 << 20;
/// Rows of a guessed array of pointers, at first at most.
const GUESSED_ROWS: u64 = 64;
/// Bytes behind each row that belong to nobody.
const ROW_GAP: u64 = 64 << 10;
/// Bytes behind a buffer that belong to nobody, so that reaching too far is not taken for reaching into the next one.
pub const GAP: u64 = 1 << 20;

/// A parameter's value.
#[derive(Clone, Debug, PartialEq)]
pub struct Planned {
    /// The value.
    pub value: Value,
    /// Whether racetrap chose it.
    pub guessed: bool,
}

impl Planned {
    /// The integers among what racetrap chose.
    fn guessed_integers(&mut self, parameter: &Parameter) -> Vec<&mut String> {
        if !self.guessed || parameter.ty == "bool" {
            return Vec::new();
        }
        match (&mut self.value, parameter.kind) {
            (Value::Scalar(text, None), Kind::Scalar(element)) if !element.is_float() => vec![text],
            (Value::Fields(fields), _) => fields
                .iter_mut()
                .filter_map(|field| match field {
                    // Zeros are what nothing is known of.
                    Value::Scalar(text, Some(ty)) if !ty.is_float() && text != "0" => Some(text),
                    _ => None,
                })
                .collect(),
            _ => Vec::new(),
        }
    }

    /// Bytes of the buffers that racetrap chose.
    fn guessed_bytes(&self) -> u64 {
        fn bytes(value: &Value) -> u64 {
            let of = |spec: &BufferSpec| {
                let size = spec.element.bytes() as u64;
                spec.length.unwrap_or(1).saturating_mul(size)
            };
            match value {
                Value::Buffer(spec) => of(spec),
                Value::Rows(count, row) => count.saturating_mul(of(row).saturating_add(ROW_GAP)),
                Value::Fields(fields) => fields.iter().map(bytes).sum(),
                _ => 0,
            }
        }
        match self.guessed {
            true => bytes(&self.value),
            false => 0,
        }
    }
}

/// What guesses start from: how large the launch is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// Threads of the whole launch.
    pub threads: u64,
    /// What a number of elements is likely to be: the threads in x where the kernel works on a plane, all threads otherwise.
    pub count: u64,
    /// Where the kernel works on a plane, the threads in y.
    pub rows: Option<u64>,
}

impl Sizes {
    /// A launch of one dimension.
    pub fn linear(threads: u64) -> Sizes {
        Sizes {
            threads,
            count: threads,
            rows: None,
        }
    }
}

/// A buffer that a plan puts into memory.
#[derive(Clone, Debug, PartialEq)]
pub struct PlannedBuffer {
    /// Its name: the parameter's.
    pub name: String,
    /// The parameter.
    pub parameter: usize,
    /// Type of the elements.
    pub element: ElementType,
    /// Its size.
    pub bytes: u64,
    /// What lies at its start; the rest has not been written.
    pub initial: Option<Vec<u8>>,
    /// Bytes behind it that belong to nobody.
    pub gap: u64,
}

/// Where the buffers of a plan go: makes one, and returns its address.
pub type Place<'a> = dyn FnMut(PlannedBuffer) -> Result<u64, Error> + 'a;

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
    /// Reads `--arg`s and infers the rest for a launch of that size.
    ///
    /// # Errors
    ///
    /// An argument that names no parameter, names one twice, or does not fit it.
    pub fn new(
        parameters: Parameters,
        given: &[Argument],
        sizes: Sizes,
        seed: u64,
    ) -> Result<Plan, Error> {
        let mut values: Vec<Option<Planned>> = vec![None; parameters.0.len()];
        for argument in given {
            let name = &argument.parameter;
            let value = argument.value.clone();
            let index = parameters.find(name)?;
            fits(&value, &parameters, index)?;
            if values[index].is_some() {
                return Err(Error::new(
                    ErrorKind::Argument,
                    format!("`--arg {name}=…` is given twice"),
                ));
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
                    value: infer(parameter, sizes),
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

    /// Lets a guessed buffer have at least `bytes` bytes, with some room; false where it is no guess, or memory for guesses is
    /// used up.
    pub fn grow(&mut self, index: usize, buffer: &str, bytes: u64) -> bool {
        let length = |spec: &BufferSpec| spec.length.unwrap_or(1);
        let wanted = |now: u64, size: u64| {
            let wanted = now.max(bytes.div_ceil(size)).saturating_add(now);
            wanted.checked_next_power_of_two().unwrap_or(wanted)
        };
        let mut grown = self.values[index].clone();
        if !grown.guessed {
            return false;
        }
        let label = self.parameters.label(index);
        match &mut grown.value {
            Value::Buffer(spec) => {
                spec.length = Some(wanted(length(spec), spec.element.bytes() as u64));
            }
            Value::Rows(count, row) if buffer == label => {
                let _ = row;
                *count = wanted(*count, 8);
            }
            Value::Rows(_, row) => {
                row.length = Some(wanted(length(row), row.element.bytes() as u64));
            }
            Value::Fields(fields) => {
                let number = buffer[label.len()..].strip_prefix('.');
                let number = number.and_then(|n| n.parse().ok()).unwrap_or(0);
                let buffers = fields.iter_mut().filter_map(|field| match field {
                    Value::Buffer(spec) => Some(spec),
                    _ => None,
                });
                match buffers.into_iter().nth(number) {
                    Some(spec) => {
                        spec.length = Some(wanted(length(spec), spec.element.bytes() as u64));
                    }
                    None => return false,
                }
            }
            _ => return false,
        }
        let others = self.values.iter().enumerate().filter(|(i, _)| *i != index);
        let others: u64 = others.map(|(_, planned)| planned.guessed_bytes()).sum();
        if others.saturating_add(grown.guessed_bytes()) > GUESSED_BYTES {
            return false;
        }
        self.values[index] = grown;
        true
    }

    /// The same with other guessed integers.
    pub fn with_integers(&self, change: impl Fn(u64) -> u64) -> Plan {
        let mut plan = self.clone();
        for (planned, parameter) in plan.values.iter_mut().zip(&self.parameters.0) {
            for text in planned.guessed_integers(parameter) {
                if let Ok(value) = text.parse::<u64>() {
                    *text = change(value).to_string();
                }
            }
        }
        plan
    }

    /// The guessed integers, for messages: ``n` = 128`.
    pub fn integers(&self) -> Vec<String> {
        let mut all = Vec::new();
        for (index, (planned, parameter)) in self.values.iter().zip(&self.parameters.0).enumerate()
        {
            for text in planned.clone().guessed_integers(parameter) {
                all.push(format!("`{}` = {text}", self.parameters.label(index)));
            }
        }
        all
    }

    /// The value that all guessed integers have, if it is one.
    pub fn common_integer(&self) -> Option<u64> {
        let mut all = Vec::new();
        for (planned, parameter) in self.values.iter().zip(&self.parameters.0) {
            for text in planned.clone().guessed_integers(parameter) {
                all.push(text.parse::<u64>().ok()?);
            }
        }
        let first = *all.first()?;
        all.iter().all(|n| *n == first).then_some(first)
    }

    /// The parameters that are guessed buffers.
    pub fn guessed_buffers(&self) -> Vec<usize> {
        let of = |planned: &Planned| planned.guessed && matches!(planned.value, Value::Buffer(_));
        (0..self.values.len())
            .filter(|i| of(&self.values[*i]))
            .collect()
    }

    /// Sets the number of elements of a parameter's buffer.
    pub fn set_length(&mut self, index: usize, count: u64) {
        if let Value::Buffer(spec) = &mut self.values[index].value {
            spec.length = Some(count.max(1));
        }
    }

    /// Name of the type of a parameter's elements.
    pub fn element_of(&self, index: usize) -> &'static str {
        match &self.values[index].value {
            Value::Buffer(spec) | Value::Rows(_, spec) => spec.element.name(),
            _ => ElementType::I32.name(),
        }
    }

    /// The parameter that a buffer of this name belongs to: `data`, `args.1` (the second one of a struct), `rows[3]`.
    pub fn named(&self, name: &str) -> Option<usize> {
        (0..self.values.len()).find(|i| {
            let label = self.parameters.label(*i);
            let rest = name.strip_prefix(label.as_str());
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
        })
    }

    /// The parameter block; buffers are made in `memory`.
    ///
    /// # Errors
    ///
    /// Files that can't be read or have another size, memory that is full.
    pub fn encode(&self, place: &mut Place<'_>) -> Result<Vec<u8>, Error> {
        let mut block = vec![0; self.parameters.bytes() as usize];
        for (index, (parameter, planned)) in self.parameters.0.iter().zip(&self.values).enumerate()
        {
            let name = self.parameters.label(index);
            let mut encoder = Encoder {
                place,
                name: &name,
                index,
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

fn infer(parameter: &Parameter, sizes: Sizes) -> Value {
    match parameter.kind {
        Kind::Pointer(element) => Value::Buffer(guessed_buffer(element, &parameter.usage, sizes)),
        Kind::Rows(element) => {
            let row = guessed_buffer(element, &Use::default(), sizes);
            Value::Rows(sizes.count.clamp(1, GUESSED_ROWS), row)
        }
        Kind::Function => Value::Scalar("0".into(), None),
        Kind::Scalar(element) if element.is_float() => Value::Scalar("1.0".into(), None),
        Kind::Scalar(element) => {
            let name = parameter.name.as_deref().unwrap_or_default();
            let value = match parameter.ty == "bool" {
                true => 1,
                false => count(name, element.bytes(), sizes),
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
        fill: match used.communicates {
            true => FillSpec::Zeros,
            false => FillSpec::Random(None),
        },
    }
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

/// Whether a value can be passed to a parameter at all.
fn fits(value: &Value, parameters: &Parameters, index: usize) -> Result<(), Error> {
    let parameter = &parameters.0[index];
    let label = parameters.label(index);
    let wrong = |what: String| {
        Err(Error::new(
            ErrorKind::Argument,
            format!("`--arg {label}={value}`: {what}"),
        ))
    };
    match (value, parameter.kind) {
        (Value::Buffer(_) | Value::Rows(..), Kind::Pointer(_) | Kind::Rows(_)) => Ok(()),
        (Value::Buffer(_) | Value::Rows(..), _) if parameter.bytes == 8 && !parameter.by_value => {
            Ok(())
        }
        (Value::Buffer(_) | Value::Rows(..), _) => Err(Error::new(
            ErrorKind::Argument,
            format!(
                "`--arg {label}={value}`: parameter {index} is not a pointer but `{}` of {} bytes",
                parameter.ty, parameter.bytes
            ),
        )
        .help(match parameter.kind {
            Kind::Struct => format!("write its fields: `--arg {label}={{1, 2.5}}`"),
            _ => format!("give it a number: `--arg {label}=1`"),
        })),
        (Value::Scalar(text, None), Kind::Pointer(element) | Kind::Rows(element))
            if text != "0" =>
        {
            let element = element.unwrap_or(ElementType::I32).name();
            Err(Error::new(
                ErrorKind::Argument,
                format!(
                    "`--arg {label}={value}`: parameter {index} is a pointer, `{}`",
                    parameter.ty
                ),
            )
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
                "{} has {} bytes, but the parameter `{}` has {}",
                ty.name(),
                ty.bytes(),
                parameter.ty,
                parameter.bytes
            ))
        }
        (Value::Scalar(..), Kind::Struct) if parameter.bytes > 8 => Err(Error::new(
            ErrorKind::Argument,
            format!(
                "`--arg {label}={value}`: parameter {index} is a struct of {} bytes",
                parameter.bytes
            ),
        )
        .help(format!(
            "write its fields: `--arg {label}={{1, 2.5}}`, or its bytes: `--arg {label}=0x0100…`"
        ))),
        (Value::Bytes(bytes), _) if bytes.len() != parameter.bytes as usize => wrong(format!(
            "these are {} bytes, but the parameter has {}",
            bytes.len(),
            parameter.bytes
        )),
        (Value::Fields(_), Kind::Pointer(_) | Kind::Rows(_)) => {
            wrong("the parameter is a pointer, not a struct".into())
        }
        (Value::Fields(fields), _) => {
            let size = fields_layout(fields).map_err(|what| {
                Error::new(
                    ErrorKind::Argument,
                    format!("`--arg {label}={value}`: {what}"),
                )
            })?;
            match size == parameter.bytes as usize {
                true => Ok(()),
                false => Err(Error::new(ErrorKind::Argument, format!(
                    "`--arg {label}={value}`: these fields have {size} bytes, but the parameter `{}` has {}",
                    parameter.ty, parameter.bytes
                ))
                .help("integers and floats have 4 bytes unless you give a type: `{1:i64, 2.5:f64, 3:u8}`")),
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
fn with_length(value: Value) -> Result<Value, Error> {
    Ok(match value {
        Value::Buffer(BufferSpec {
            element,
            length: None,
            fill: FillSpec::File(path),
        }) => {
            let shown = path.display();
            let data = std::fs::metadata(&path).map_err(|_| {
                Error::new(ErrorKind::Argument, format!("can't read `{shown}`"))
                    .help("give the path of a file with the buffer's bytes")
            })?;
            let size = element.bytes() as u64;
            if !data.is_file() || data.len() == 0 || !data.len().is_multiple_of(size) {
                return Err(Error::new(
                    ErrorKind::Argument,
                    format!(
                        "`{shown}` has {} bytes: not a positive number of {} elements",
                        data.len(),
                        element.name()
                    ),
                ));
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
        Value::Buffer(_) | Value::Rows(..) => Some(ElementType::U64),
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

struct Encoder<'a, 'p> {
    place: &'a mut Place<'p>,
    name: &'a str,
    index: usize,
    seed: u64,
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
                number_bytes(text, ty).map_err(fail)
            }
            Value::Bytes(bytes) => Ok(bytes.clone()),
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
                    bytes: table.len() as u64,
                    initial: Some(table),
                    gap: GAP,
                })?;
                Ok(address.to_le_bytes().to_vec())
            }
            Value::Fields(fields) => {
                let mut out = Vec::new();
                let is_buffer = |f: &Value| matches!(f, Value::Buffer(_) | Value::Rows(..));
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

/// A regular file's bytes, of which no more than one too many are read.
fn file_bytes(path: &std::path::Path, needed: u64) -> std::io::Result<Vec<u8>> {
    use std::io::Read;
    if !std::fs::metadata(path)?.is_file() {
        return Err(std::io::Error::other("it is not a regular file"));
    }
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path)?;
    file.take(needed.saturating_add(1))
        .read_to_end(&mut bytes)?;
    Ok(bytes)
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
            FillSpec::Uninitialized => None,
            // There is no room for it anyway.
            _ if length > 1 << 32 => None,
            _ => Some(fill(spec, self.seed).map_err(BufferProblem::Other)?),
        };
        let planned = PlannedBuffer {
            name: name.to_owned(),
            parameter: self.index,
            element: spec.element,
            bytes: length,
            initial,
            gap,
        };
        (self.place)(planned).map_err(BufferProblem::Other)
    }
}

/// The bytes that a buffer holds at the start.
fn fill(spec: &BufferSpec, seed: u64) -> Result<Vec<u8>, Error> {
    let element = spec.element;
    let size = element.bytes();
    let length = spec.length.unwrap_or(1);
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    Ok(match &spec.fill {
        FillSpec::Zeros | FillSpec::Uninitialized => vec![0; length as usize * size],
        FillSpec::Iota => Elements::iota(length).to_bytes(element),
        FillSpec::Constant(number) => number_bytes(number, element)
            .map_err(|what| Error::new(ErrorKind::Argument, what))?
            .repeat(length as usize),
        FillSpec::Random(range) => {
            let most = match size {
                1 => i64::from(i8::MAX),
                2 => i64::from(i16::MAX),
                _ => i64::from(i32::MAX),
            };
            let (low, high) = range.unwrap_or((0, (length as i64 - 1).clamp(0, most)));
            let fractions = |draw: &mut dyn FnMut() -> f64| {
                Elements::Floats((0..length).map(|_| draw()).collect())
            };
            let elements = match element {
                ElementType::F32 if range.is_none() => {
                    fractions(&mut || f64::from(random.random::<f32>()))
                }
                ElementType::F64 if range.is_none() => fractions(&mut || random.random::<f64>()),
                _ => Elements::drawn(length, |_| random.random_range(low..=high)),
            };
            elements.to_bytes(element)
        }
        FillSpec::Bytes(bytes) => bytes.to_vec(),
        FillSpec::First(numbers) => {
            let mut bytes = Vec::new();
            for number in numbers.iter().take(length as usize) {
                let one = number_bytes(number, element);
                bytes.extend(one.map_err(|what| Error::new(ErrorKind::Argument, what))?);
            }
            bytes
        }
        FillSpec::File(path) => {
            let shown = path.display();
            let needed = length as usize * size;
            let content = file_bytes(path, needed as u64).map_err(|error| {
                Error::new(
                    ErrorKind::Argument,
                    format!("can't read `{shown}`: {error}"),
                )
                .help("give the path of a file with the buffer's bytes")
            })?;
            if content.len() != needed {
                return Err(Error::new(
                    ErrorKind::Argument,
                    format!(
                        "`{shown}` has {} bytes; {}[{length}] needs {needed}",
                        std::fs::metadata(path).map_or(content.len() as u64, |m| m.len()),
                        element.name(),
                    ),
                )
                .help(format!(
                    "for the whole file: `{}[]:@{shown}`",
                    element.name()
                )));
            }
            content
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

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

    fn plan(given: &[&str]) -> Result<Plan, Error> {
        let given: Result<Vec<Argument>, Error> =
            given.iter().map(|s| crate::argument::parse(s)).collect();
        Plan::new(parameters(), &given?, Sizes::linear(96), 1)
    }

    fn encode(given: &[&str]) -> Result<(Vec<u8>, Vec<PlannedBuffer>), Error> {
        let mut buffers = Vec::new();
        let block = plan(given)?.encode(&mut |buffer| {
            buffers.push(buffer);
            Ok(0x1000 * buffers.len() as u64)
        })?;
        Ok((block, buffers))
    }

    #[test]
    fn what_is_not_given_is_inferred() {
        let (block, buffers) = encode(&[]).unwrap();
        let made: Vec<_> = buffers.iter().map(|b| (b.name.as_str(), b.bytes)).collect();
        assert_eq!(made, [("0", 96 * 4), ("2", 96 * 4)]);
        assert_eq!(block.len(), 40);
        assert_eq!(block[..8], 0x1000u64.to_le_bytes());
        assert_eq!(block[8..12], 96u32.to_le_bytes());
        let first = buffers[0].initial.as_ref().unwrap();
        assert_ne!(
            first,
            buffers[1].initial.as_ref().unwrap(),
            "buffers differ"
        );
        assert_eq!(
            first,
            encode(&[]).unwrap().1[0].initial.as_ref().unwrap(),
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
            buffers[0].initial.as_deref(),
            Some(&[0, 0, 0xc0, 0x3f, 0, 0, 0xc0, 0x3f][..])
        );
        assert_eq!(
            buffers[1].initial.as_deref(),
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
                .to_string()
                .contains("twice")
        );
    }

    /// The plan for a kernel of one parameter `p`, and the buffers that it makes.
    fn guess(param: &str, body: &str) -> (Plan, Vec<PlannedBuffer>, Vec<u8>) {
        let ptx = format!(
            ".version 9.0\n.target sm_75\n.address_size 64\n.visible .entry k({param})\n{{ {body} ret; }}\n"
        );
        let parameters = Parameters::of(&ptx::parse(&ptx).unwrap(), "k", None);
        let plan = Plan::new(parameters, &[], Sizes::linear(96), 1).unwrap();
        let mut buffers = Vec::new();
        let block = plan.encode(&mut |buffer| {
            buffers.push(buffer);
            Ok(0x1000 * buffers.len() as u64)
        });
        (plan, buffers, block.unwrap())
    }

    #[test]
    fn pointers_in_structs_get_buffers() {
        let (plan, buffers, block) = guess(
            ".param .align 8 .b8 p[32]",
            "ld.param.u64 %rd1, [p]; st.global.f32 [%rd1], %f1; ld.param.u32 %r1, [p+12];
             ld.param.u64 %rd2, [p+16]; st.global.u8 [%rd2], %r2;",
        );
        let names: Vec<_> = buffers.iter().map(|b| (b.name.as_str(), b.bytes)).collect();
        assert_eq!(names, [("0.0", 96 * 4), ("0.1", 96)]);
        assert_eq!(
            plan.values[0].value.to_string(),
            "{f32[96]:random,0:u32,96:i32,u8[96]:random,0:u64}"
        );
        assert_eq!(block[..8], 0x1000u64.to_le_bytes());
        assert_eq!(block[12..16], 96u32.to_le_bytes());
        assert_eq!(block[16..24], 0x2000u64.to_le_bytes());
        // What is shown can be given.
        let shown = crate::argument::parse(&format!("0={}", plan.values[0].value)).unwrap();
        assert_eq!(shown.value, plan.values[0].value);
        let mut plan = plan;
        assert!(plan.grow(0, "0.1", 500));
        assert!(plan.values[0].value.to_string().contains("u8[1024]"));
    }

    #[test]
    fn pointers_to_pointers_get_rows() {
        let (mut plan, buffers, block) = guess(
            ".param .u64 p",
            "ld.param.u64 %rd1, [p]; ld.global.u64 %rd2, [%rd1+8]; ld.global.f32 %f1, [%rd2];",
        );
        assert_eq!(plan.values[0].value.to_string(), "f32[64][96]:random");
        assert_eq!(buffers.len(), 65);
        assert_eq!(
            buffers[64].initial.as_ref().unwrap()[8..16],
            0x2000u64.to_le_bytes()
        );
        assert_eq!(block, 0x41000u64.to_le_bytes());
        assert_eq!(plan.named("0[3]"), Some(0));
        assert!(plan.grow(0, "0[3]", 500) && plan.grow(0, "0", 800));
        assert_eq!(plan.values[0].value.to_string(), "f32[256][256]:random");
    }

    #[test]
    fn counters_start_at_zero() {
        let (plan, ..) = guess(
            ".param .u64 p",
            "ld.param.u64 %rd1, [p]; atom.global.add.u32 %r1, [%rd1], 1;",
        );
        assert_eq!(plan.values[0].value.to_string(), "i32[96]:zeros");
    }

    /// A guess is never the user's mistake: what needs more memory than guesses get stays as it is.
    #[test]
    fn guesses_have_a_budget() {
        let (mut plan, ..) = guess(
            ".param .u64 p",
            "ld.param.u64 %rd1, [p]; st.global.u32 [%rd1], %r1;",
        );
        let mut steps = 0;
        while plan.grow(0, "0", 0) {
            steps += 1;
        }
        assert!(steps < 64 && plan.values[0].guessed_bytes() <= GUESSED_BYTES);
    }

    #[test]
    fn guessed_buffers_grow() {
        let mut plan = plan(&["2=f32[4]"]).unwrap();
        assert!(plan.grow(0, "0", 1000));
        assert_eq!(plan.values[0].value.to_string(), "f32[512]:random");
        assert!(!plan.grow(1, "1", 1000) && !plan.grow(2, "2", 1000));
        assert_eq!((plan.named("0"), plan.named("x")), (Some(0), None));
    }
}
