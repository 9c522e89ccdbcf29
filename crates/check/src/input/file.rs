//! Reads a file that somebody names: regular, of a size that is bounded, and text.

use crate::error::{Error, ErrorKind};
use ptx::ParseErrorKind;
use std::io;
use std::path::Path;

/// The file's bytes.
///
/// # Errors
///
/// It is not there, no regular file, or has more than `most` bytes.
pub fn read_bytes(path: &Path, shown: &str, most: u64) -> Result<Vec<u8>, Error> {
    let fail = |error: std::io::Error| {
        let failure = Error::new(
            ErrorKind::Input,
            format!("can't read `{shown}`: {}", reason(&error)),
        );
        match error.kind() {
            io::ErrorKind::NotFound => match neighbour(path) {
                Some(near) => failure.help(format!("did you mean `{near}`?")),
                None => failure.help("give the path of a `.cu` or `.ptx` file"),
            },
            _ => failure,
        }
    };
    let data = std::fs::metadata(path).map_err(fail)?;
    if data.is_dir() {
        return Err(
            Error::new(ErrorKind::Input, format!("`{shown}` is a folder"))
                .help("give a `.cu` or `.ptx` file in it"),
        );
    }
    if !data.is_file() {
        return Err(
            Error::new(ErrorKind::Input, format!("`{shown}` is not a regular file"))
                .help("give a `.cu` or `.ptx` file"),
        );
    }
    if data.len() > most {
        return Err(Error::new(
            ErrorKind::Input,
            format!(
                "`{shown}` has {} MiB; racetrap reads files of up to {} MiB",
                data.len() >> 20,
                most >> 20
            ),
        )
        .help("check one kernel at a time: compile it alone with `nvcc -ptx`"));
    }
    std::fs::read(path).map_err(fail)
}

/// What the system says, without its error number.
fn reason(error: &std::io::Error) -> String {
    let text = error.to_string();
    let end = text.find(" (os error").unwrap_or(text.len());
    text[..end].to_lowercase()
}

/// A file of the same folder whose name is nearly the same.
fn neighbour(path: &Path) -> Option<String> {
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty());
    let entries = std::fs::read_dir(folder.unwrap_or(Path::new("."))).ok()?;
    let names: Vec<String> = entries
        .take(10_000)
        .filter_map(|e| e.ok()?.file_name().into_string().ok())
        .filter(|n| n.ends_with(".cu") || n.ends_with(".ptx"))
        .collect();
    let wanted = path.file_name()?.to_str()?;
    let near = report::nearest(wanted, names.iter().map(String::as_str))?;
    Some(folder.map_or(near.to_string(), |f| f.join(near).display().to_string()))
}

/// The file's text.
///
/// # Errors
///
/// It is no text.
pub fn text_of(shown: &str, bytes: Vec<u8>) -> Result<String, Error> {
    let zero = bytes.contains(&0);
    let bytes = match String::from_utf8(bytes) {
        Ok(text) if !zero => return Ok(text),
        Ok(text) => text.into_bytes(),
        Err(error) => error.into_bytes(),
    };
    Err(match ptx::parse_bytes(&bytes).map_err(|error| error.kind) {
        // These say themselves what to do.
        Err(kind @ ParseErrorKind::Binary(_)) => {
            Error::new(ErrorKind::Input, format!("`{shown}`: {kind}"))
        }
        Err(kind) => no_ptx(shown, &kind.to_string()),
        Ok(_) => no_ptx(shown, "it is not UTF-8 text"),
    })
}

pub(super) fn no_ptx(shown: &str, why: &str) -> Error {
    Error::new(ErrorKind::Input, format!("`{shown}` is not PTX: {why}"))
        .help("give a `.ptx` file (`nvcc -ptx -lineinfo kernel.cu`) or the `.cu` file itself")
}
