//! What a buffer holds at the start: a pattern, random numbers, or a file.

use crate::argument::{BufferSpec, Fill};
use crate::error::{Error, ErrorKind};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use session::buffer::ElementType;
use session::fill::Source;
use std::path::Path;

/// A regular file's bytes, of which no more than one too many are read.
fn file_bytes(path: &Path, needed: u64) -> std::io::Result<Vec<u8>> {
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

/// Random numbers of a seed: of integers those below the number of elements, so that they can serve as indices.
struct Seeded(Pcg64Mcg);

impl Source for Seeded {
    fn value(&self, _: &str) -> Option<i64> {
        None
    }

    fn range(&self, element: ElementType, length: u64) -> Option<(i64, i64)> {
        let most = match element.bytes() {
            1 => i64::from(i8::MAX),
            2 => i64::from(i16::MAX),
            _ => i64::from(i32::MAX),
        };
        (!element.is_float()).then_some((0, (length as i64 - 1).clamp(0, most)))
    }

    fn integer(&mut self, _: u64, low: i64, high: i64) -> i64 {
        self.0.random_range(low..=high)
    }

    fn fraction(&mut self, element: ElementType) -> f64 {
        match element {
            ElementType::F32 => f64::from(self.0.random::<f32>()),
            _ => self.0.random(),
        }
    }
}

/// The bytes that a buffer holds at the start, fewer where the rest is not written.
pub(crate) fn fill(spec: &BufferSpec, seed: u64) -> Result<Vec<u8>, Error> {
    let element = spec.element;
    let length = spec.length.unwrap_or(1);
    if let Fill::File(path) = &spec.fill {
        return of_file(path, element, length);
    }
    let mut source = Seeded(Pcg64Mcg::seed_from_u64(seed));
    let bytes = spec.fill.bytes(element, length, &mut source);
    let bytes = bytes.map_err(|error| Error::new(ErrorKind::Argument, error.to_string()))?;
    Ok(bytes.unwrap_or_default())
}

fn of_file(path: &Path, element: ElementType, length: u64) -> Result<Vec<u8>, Error> {
    let shown = path.display();
    let needed = length.saturating_mul(element.bytes() as u64);
    let content = file_bytes(path, needed).map_err(|error| {
        let what = format!("can't read `{shown}`: {error}");
        Error::new(ErrorKind::Argument, what)
            .help("give the path of a file with the buffer's bytes")
    })?;
    if content.len() as u64 != needed {
        let has = std::fs::metadata(path).map_or(content.len() as u64, |m| m.len());
        let name = element.name();
        let what = format!("`{shown}` has {has} bytes; {name}[{length}] needs {needed}");
        return Err(Error::new(ErrorKind::Argument, what)
            .help(format!("for the whole file: `{name}[]:@{shown}`")));
    }
    Ok(content)
}
