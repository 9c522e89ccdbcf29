//! What a buffer holds at the start: a pattern, random numbers, or a file.

use crate::argument::{BufferSpec, FillSpec, number_bytes};
use crate::error::{Error, ErrorKind};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use session::buffer::{ElementType, Elements};

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

/// The bytes that a buffer holds at the start.
pub(crate) fn fill(spec: &BufferSpec, seed: u64) -> Result<Vec<u8>, Error> {
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
