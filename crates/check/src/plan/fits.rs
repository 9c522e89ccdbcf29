//! Whether a value that was given can be passed to a parameter, and what is wrong with it otherwise.

use super::layout::fields_layout;
use crate::argument::{BufferSpec, Fill, Value};
use crate::error::{Error, ErrorKind};
use crate::number::number_bytes;
use crate::parameters::{Kind, Parameter, Parameters};
use crate::tensor::Contents;
use session::buffer::ElementType;
use simt::tensor_map;

/// Whether a value can be passed to a parameter.
pub(crate) fn accepts(value: &Value, parameters: &Parameters, index: usize) -> bool {
    fits(value, parameters, index).is_ok()
}

/// Whether a buffer of elements of a type is what a pointer to elements of another type is for: an `int *` may well lead to unsigned
/// numbers, but floating-point numbers are no integers. Bytes may be anything, and so may what a pointer without a type leads to.
fn holds(parameter: &Parameter, declared: ElementType, given: ElementType) -> bool {
    let bytes = |ty: ElementType| ty.bytes() == 1;
    let alike = declared.is_float() == given.is_float() && declared.bytes() == given.bytes();
    !parameter.names_element() || alike || bytes(declared) || bytes(given)
}

/// Whether a value can be passed to a parameter at all.
pub(super) fn fits(value: &Value, parameters: &Parameters, index: usize) -> Result<(), Error> {
    let parameter = &parameters.0[index];
    let label = parameters.label(index);
    let wrong = |what: String| {
        Err(Error::new(
            ErrorKind::Argument,
            format!("`--arg {label}={value}`: {what}"),
        ))
    };
    match (value, parameter.kind) {
        (Value::Function(_), _) => match parameter.bytes == 8 && !parameter.by_value {
            true => Ok(()),
            false => wrong(format!(
                "a function's address has 8 bytes, but the parameter has {}",
                parameter.bytes
            )),
        },
        (Value::Same(name), _) => {
            let other = parameters.find(name)?;
            let other_parameter = &parameters.0[other];
            let word = |p: &Parameter| p.bytes <= 8 && !p.by_value;
            let alike = parameter.bytes == other_parameter.bytes;
            match other != index && alike && word(parameter) && word(other_parameter) {
                true => Ok(()),
                false => wrong(
                    "only another parameter of the same size can be passed again: an address or a number"
                        .into(),
                ),
            }
        }
        (Value::Tensor(tensor), _) => {
            let whole = parameter.bytes as usize == tensor_map::BYTES && parameter.by_value;
            if !whole {
                return wrong(format!(
                    "a tensor map has {} bytes, but the parameter is `{}` of {}",
                    tensor_map::BYTES,
                    parameter.ty,
                    parameter.bytes
                ));
            }
            let Contents::Of(name) = &tensor.contents else {
                return Ok(());
            };
            let other = &parameters.0[parameters.find(name)?];
            match other.bytes == 8 && !other.by_value {
                true => Ok(()),
                false => wrong(format!("`{name}` is not a buffer")),
            }
        }
        // What a pointer to pointers leads to are addresses.
        (Value::Buffer(spec), Kind::Rows(_))
            if spec.element.bytes() == 8 && !spec.element.is_float() =>
        {
            Ok(())
        }
        (
            Value::Buffer(spec) | Value::Rows(_, spec),
            Kind::Pointer(Some(element)) | Kind::Rows(Some(element)),
        ) if !holds(parameter, element, spec.element) => {
            let (given, taken) = (spec.element.name(), element.name());
            let ty = &parameter.ty;
            let what = format!(
                "`--arg {label}={value}`: the parameter is `{ty}`, whose elements are {taken}, not {given}"
            );
            let mut same = value.clone();
            if let Value::Buffer(spec) | Value::Rows(_, spec) = &mut same {
                spec.element = element;
            }
            Err(Error::new(ErrorKind::Argument, what).help(format!(
                "write `--arg {label}={same}`; bytes of any meaning are u8: `--arg {label}=u8[]:@FILE`"
            )))
        }
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
                Err(error) => wrong(error.to_string()),
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
pub(super) fn untyped(text: &str, element: ElementType, parameter: &Parameter) -> ElementType {
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
pub(crate) fn with_length(value: Value) -> Result<Value, Error> {
    Ok(match value {
        Value::Buffer(BufferSpec {
            element,
            length: None,
            fill: Fill::File(path),
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
                fill: Fill::File(path),
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
