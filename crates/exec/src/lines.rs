//! Lines of the host program: from return addresses to source, by the debug information of its objects (DWARF).

use addr2line::Loader;
use context::record::{Call, Frame, Script};
use object::{Object as _, ObjectSegment as _};
use report::source::statement;
use report::{SourceFile, Sources};
use std::collections::HashMap;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

/// The file of calls whose place is not known.
pub const NOWHERE: &str = "host program";

/// Where a call stands.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// The text.
    pub source: Arc<SourceFile>,
    /// Its line, from 1.
    pub line: u32,
    /// Bytes of the line.
    pub columns: Range<u32>,
}

/// Objects that were read, and the texts that they name.
#[derive(Default)]
pub struct Lines {
    objects: HashMap<String, Option<(Loader, u64)>>,
    /// The texts.
    pub sources: Sources,
    /// Objects are not read.
    blind: bool,
}

impl Lines {
    /// Lines of programs whose files are not to be read.
    pub fn without_objects() -> Lines {
        Lines {
            blind: true,
            ..Lines::default()
        }
    }

    /// The line of the program itself that a call comes from: the innermost frame that is neither of the toolkit nor written by nvcc.
    /// Where no line is known, the function's name stands for it.
    pub fn line(&mut self, call: &Call) -> Line {
        let kernel = call.kernel.as_deref();
        let found = call
            .frames
            .iter()
            .find_map(|frame| self.frame(frame, kernel));
        let found = found.or_else(|| self.script(call.script.as_ref()?));
        found.unwrap_or_else(|| self.unknown(call))
    }

    /// A line of a Python program. Where its text is not to be had (`python -c`), its number stands for it.
    fn script(&mut self, script: &Script) -> Option<Line> {
        if self.blind {
            return None;
        }
        let here = std::env::current_dir().ok();
        let full = Path::new(&script.file);
        let file = here.as_ref().and_then(|h| full.strip_prefix(h).ok());
        let file = file.unwrap_or(full).display().to_string();
        let source = self.sources.find(&file);
        let text = source.as_ref().and_then(|s| s.line(script.line));
        Some(match (&source, text) {
            (Some(source), Some(text)) => {
                let start = text.len() - text.trim_start().len();
                let columns = start as u32..text.trim_end().len() as u32;
                Line {
                    source: source.clone(),
                    line: script.line,
                    columns,
                }
            }
            _ => {
                let text = format!("at line {} of it", script.line);
                let columns = 0..text.len() as u32;
                Line {
                    source: Arc::new(SourceFile::new(file, text)),
                    line: 1,
                    columns,
                }
            }
        })
    }

    fn frame(&mut self, frame: &Frame, kernel: Option<&str>) -> Option<Line> {
        let (loader, base) = self.object(&frame.object)?;
        let address = frame.offset + base;
        let function = loader.find_symbol(address).unwrap_or_default();
        if is_stub(function) || kernel.is_some_and(|k| context::module::demangled(function) == k) {
            return None;
        }
        let mut frames = loader.find_frames(address).ok()?;
        let mut places = Vec::new();
        while let Ok(Some(one)) = frames.next() {
            if let Some(at) = one.location
                && let (Some(file), Some(line)) = (at.file, at.line)
            {
                places.push((file.to_owned(), line, u64::from(at.column.unwrap_or(0))));
            }
        }
        places.into_iter().find_map(|(file, line, column)| {
            let generated = file.contains("tmpxft_") || file.contains(".cudafe1.");
            if generated || line == 0 || report::of_toolkit(&file) {
                return None;
            }
            let source = self.sources.find(&file)?;
            let text = source.line(line)?;
            let columns = statement(text, beginning(text, column));
            Some(Line {
                source,
                line,
                columns,
            })
        })
    }

    /// A text of one line that names the function.
    fn unknown(&mut self, call: &Call) -> Line {
        let mut named = call.frames.iter().filter_map(|frame| {
            let (loader, base) = self.object(&frame.object)?;
            let symbol = loader.find_symbol(frame.offset + base)?;
            (!is_stub(symbol)).then(|| (frame.object.clone(), ptx_name(symbol), frame.offset))
        });
        let first = named.next();
        drop(named);
        let (path, text) = match (first, call.frames.first()) {
            (None, _) if self.blind => {
                (NOWHERE.to_owned(), format!("a call of `{}`", call.function))
            }
            (Some((object, symbol, _)), _) => (
                object,
                format!("in `{symbol}` (compile with `-g` for its line)"),
            ),
            (None, Some(frame)) => (frame.object.clone(), format!("at {:#x}", frame.offset)),
            (None, None) => (NOWHERE.to_owned(), "an unknown place".to_owned()),
        };
        let length = text.len() as u32;
        let path = Path::new(&path);
        let here = std::env::current_dir().ok();
        let path = here
            .as_ref()
            .and_then(|h| path.strip_prefix(h).ok())
            .unwrap_or(path);
        Line {
            source: Arc::new(SourceFile::new(path.display().to_string(), text)),
            line: 1,
            columns: 0..length,
        }
    }

    /// The object's debug information, and what its addresses begin with.
    fn object(&mut self, path: &str) -> Option<(&Loader, u64)> {
        if self.blind {
            return None;
        }
        let read = || {
            let loader = Loader::new(path).ok()?;
            let data = std::fs::read(path).ok()?;
            let file = object::File::parse(&*data).ok()?;
            let base = file.segments().map(|s| s.address()).min().unwrap_or(0);
            Some((loader, base & !0xfff))
        };
        let known = self.objects.entry(path.to_owned()).or_insert_with(read);
        known.as_ref().map(|(loader, base)| (loader, *base))
    }
}

/// Whether a function is one of those that nvcc writes around a launch.
fn is_stub(symbol: &str) -> bool {
    symbol.contains("device_stub") || symbol.contains("__sti__")
}

/// The column (from 1) at which the statement of a column begins.
fn beginning(text: &str, column: u64) -> u32 {
    let end = (column as usize).saturating_sub(1).min(text.len());
    // The place may be the statement's end.
    let before = text
        .get(..end)
        .unwrap_or_default()
        .trim_end_matches([';', ' ']);
    let start = before.rfind([';', '{', '}']).map_or(0, |at| at + 1);
    let blanks = text[start..].len() - text[start..].trim_start().len();
    (start + blanks) as u32 + 1
}

/// A symbol for the reader, without its parameters.
fn ptx_name(symbol: &str) -> String {
    let full = context::module::demangled(symbol);
    full.split('(').next().unwrap_or(&full).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_shown_with_its_statement() {
        let line = "    int *p; check(cudaMalloc(&p, 4)); more();";
        let column = line.find("(&p").unwrap() as u64 + 1;
        let columns = statement(line, beginning(line, column));
        let (start, end) = (columns.start as usize, columns.end as usize);
        assert_eq!(&line[start..end], "check(cudaMalloc(&p, 4))");
        let launch = "    f<<<1, 2>>>(p);";
        assert_eq!(beginning(launch, launch.len() as u64 + 1), 5);
        assert_eq!(beginning("x", 0), 1);
    }
}
