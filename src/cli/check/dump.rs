//! `--dump BUFFER[=FILE]`: what the kernel left in its buffers, after the first schedule of the first build.

use check::Checked;
use report::{Failure, suggest};
use session::buffer::{ElementType, Elements};
use std::fmt::Write as _;

/// Elements that are printed, and elements of a line.
const SHOWN: usize = 256;
const LINE: usize = 8;

/// Writes the files that were asked for; returns what is to be printed.
///
/// # Errors
///
/// A buffer that the kernel does not have, a file that can't be written, or a format that has no place for it.
pub fn dump(checked: &Checked, wanted: &[String], text: bool) -> Result<String, Failure> {
    let mut out = String::new();
    for one in wanted {
        let (name, file) = match one.split_once('=') {
            Some((name, file)) => (name, Some(file)),
            None => (one.as_str(), None),
        };
        let all = checked.memory.buffers();
        let buffer = all.iter().find(|b| b.name == name);
        let Some(buffer) = buffer else {
            let names: Vec<&str> = all.iter().map(|b| b.name.as_str()).collect();
            let failure = Failure::usage(format!("`--dump {one}`: there is no buffer `{name}`"));
            return Err(match suggest(name, names.iter().copied()) {
                Some(near) => failure.help(near),
                None => failure.help(format!("the buffers are {}", names.join(", "))),
            });
        };
        let Some((bytes, written)) = checked.memory.read(buffer) else {
            return Err(Failure::usage(format!(
                "`--dump {one}`: no run of the kernel came to its end"
            )));
        };
        match file {
            Some(file) => std::fs::write(file, bytes)
                .map_err(|error| Failure::usage(format!("can't write `{file}`: {error}")))?,
            None if text => {
                let _ = writeln!(
                    out,
                    "\n{name} = {}",
                    shown(&bytes, &written, buffer.element)
                );
            }
            None => {
                return Err(Failure::usage(format!(
                    "`--dump {one}` prints text, which `--format` has no place for"
                ))
                .help(format!("write it to a file: `--dump {name}=FILE`")));
            }
        }
    }
    Ok(out)
}

/// `i32[4]: 1 2 3 ?`, a question mark for what nobody has written.
fn shown(bytes: &[u8], written: &[bool], element: ElementType) -> String {
    let size = element.bytes();
    let count = bytes.len() / size;
    let mut out = format!("{}[{count}]:", element.name());
    let elements = bytes.chunks_exact(size).zip(written.chunks_exact(size));
    for (index, (value, written)) in elements.take(SHOWN).enumerate() {
        if count > LINE && index % LINE == 0 {
            let _ = write!(out, "\n  {index:>6}:");
        }
        match written.iter().all(|w| *w) {
            true => {
                let _ = write!(out, " {}", Elements::from_bytes(element, value).get(0));
            }
            false => out.push_str(" ?"),
        }
    }
    if count > SHOWN {
        let _ = write!(out, "\n  … and {} more", count - SHOWN);
    }
    out
}
