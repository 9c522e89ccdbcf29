//! Variables of a module (`__device__`, `__constant__`) that are set before the launch, as a host program does with
//! `cudaMemcpyToSymbol`.

use super::argument::{Argument, Value};
use super::error::{Error, ErrorKind};
use super::number::{NumberError, number_bytes};
use super::plan::{contents, with_length};
use ptx::matches_entry;
use report::suggest;
use session::buffer::ElementType;
use simt::program::GlobalVariable;
use simt::{Device, Program};

/// Sets variables of a program that is not running yet.
///
/// # Errors
///
/// A variable that the program does not have, or a value that does not fit it.
pub fn set(
    device: &mut Device,
    program: &Program,
    all: &[Argument],
    seed: u64,
) -> Result<(), Error> {
    if all.is_empty() {
        return Ok(());
    }
    let full = |error: simt::memory::MemoryError| {
        Error::new(
            ErrorKind::Memory,
            format!("the variables do not fit in the device: {error}"),
        )
    };
    device.load(program).map_err(full)?;
    for one in all {
        let variable = find(program, &one.parameter)?;
        let wrong = |what: String| {
            Error::new(
                ErrorKind::Argument,
                format!("`--set {}={}`: {what}", one.parameter, one.value),
            )
        };
        let bytes = bytes(&one.value, variable.bytes, seed).map_err(|problem| match problem {
            Problem::Value(what) => wrong(what),
            Problem::Other(error) => error,
        })?;
        if bytes.len() as u64 > variable.bytes {
            return Err(wrong(format!(
                "these are {} bytes, but the variable has {}",
                bytes.len(),
                variable.bytes
            )));
        }
        if let Some(address) = device.variable_of(program.module, &variable.name) {
            device.write(address, &bytes).map_err(full)?;
        }
    }
    Ok(())
}

fn find<'p>(program: &'p Program, name: &str) -> Result<&'p GlobalVariable, Error> {
    let variables = || program.globals.iter();
    let exact = variables().find(|v| v.name == name);
    let found = exact.or_else(|| variables().find(|v| matches_entry(&v.name, name)));
    found.ok_or_else(|| {
        let failure = Error::new(
            ErrorKind::Argument,
            format!("`--set {name}=…`: the kernel uses no variable `{name}`"),
        );
        let names: Vec<String> = variables().map(|v| ptx::demangle(&v.name)).collect();
        let near = suggest(name, names.iter().map(String::as_str));
        match (near, names.is_empty()) {
            (Some(near), _) => failure.help(near),
            (None, true) => failure.help("it uses no `__device__` and no `__constant__` variable"),
            (None, false) => failure.help(format!("its variables are {}", names.join(", "))),
        }
    })
}

enum Problem {
    Value(String),
    Other(Error),
}

impl From<NumberError> for Problem {
    fn from(error: NumberError) -> Problem {
        Problem::Value(error.to_string())
    }
}

fn bytes(value: &Value, size: u64, seed: u64) -> Result<Vec<u8>, Problem> {
    let number = |text: &str, ty: ElementType| number_bytes(text, ty).map_err(Problem::from);
    match value {
        Value::Scalar(text, Some(ty)) => number(text, *ty),
        // A number takes the variable's size; a fraction is a floating-point number.
        Value::Scalar(text, None) => {
            let fraction = text.contains('.') && !text.starts_with("0x");
            let ty = match (size, fraction) {
                (4, true) => ElementType::F32,
                (8, true) => ElementType::F64,
                (_, true) => ElementType::F32,
                (1, _) => ElementType::U8,
                (2, _) => ElementType::I16,
                (8, _) => ElementType::I64,
                _ => ElementType::I32,
            };
            match (ty, number_bytes(text, ty)) {
                (ElementType::I16, Err(_)) => number(text, ElementType::U16),
                (ElementType::I32, Err(_)) => number(text, ElementType::U32),
                (ElementType::I64, Err(_)) => number(text, ElementType::U64),
                (_, bytes) => bytes.map_err(Problem::from),
            }
        }
        Value::Fields(fields) => {
            let mut out = Vec::new();
            for field in fields {
                let one = bytes(field, 4, seed)?;
                // As C++ lays a struct out.
                out.resize(out.len().next_multiple_of(one.len().clamp(1, 8)), 0);
                out.extend(one);
            }
            Ok(out)
        }
        Value::Bytes(all) => Ok(all.clone()),
        Value::Buffer(_) => match with_length(value.clone()).map_err(Problem::Other)? {
            Value::Buffer(spec) => {
                let wanted = spec
                    .length
                    .unwrap_or(1)
                    .saturating_mul(spec.element.bytes() as u64);
                if wanted > size {
                    return Err(Problem::Value(format!(
                        "these are {wanted} bytes, but the variable has {size}"
                    )));
                }
                contents(&spec, seed).map_err(Problem::Other)
            }
            _ => Ok(Vec::new()),
        },
        Value::Rows(..) | Value::Same(_) | Value::Function(_) | Value::Tensor(_) => {
            Err(Problem::Value(
                "a variable is set to numbers: `7`, `1.5`, `{1, 2}`, `f32[16]:random`".into(),
            ))
        }
    }
}
