//! Mistakes in inline assembly.
//!
//! nvcc copies the text of an `asm` into its PTX without reading it, between two comments. `ptxas` would refuse it there; so does
//! racetrap, and shows the line of the source.

use crate::Error;
use report::Sources;

const BEGIN: &str = "// begin inline asm";
const END: &str = "// end inline asm";

/// Whether PTX holds inline assembly.
pub(super) fn is_in(text: &str) -> bool {
    text.contains(BEGIN)
}

/// Whether a byte of a text lies in inline assembly.
pub(super) fn holds(text: &str, at: usize) -> bool {
    let before = text.get(..at).unwrap_or_default();
    before.rfind(BEGIN) > before.rfind(END)
}

/// An error at a place of compiled PTX, told as one of the `asm` that it lies in; where it lies in none, of the last one before: what
/// the compiler itself wrote is valid.
pub(super) fn in_source(mut error: Error, sources: &mut Sources) -> Error {
    let Some(place) = error.failure.place.as_deref() else {
        return error;
    };
    let text = place.source.text.clone();
    let before = text.get(..place.span.start).unwrap_or_default();
    let Some(begin) = before.rfind(BEGIN) else {
        return error;
    };
    let start = before.rfind('\n').map_or(0, |at| at + 1);
    let ptx = text[start..].lines().next().unwrap_or_default().trim();
    let help = format!(
        "`ptxas` refuses it as well: what it reads of the `asm` is `{}`",
        ptx::shortened(ptx)
    );
    let label = place.label.clone();
    let found = location(&text, begin);
    let found = found.and_then(|(file, line)| Some((sources.find(&file)?, line)));
    if let Some((file, line)) = found {
        error.failure.message = format!("inline assembly in `{}` is not valid PTX", file.path);
        let span = file.range(line, &(0..u32::MAX));
        error = error.at(file, span, label);
    }
    error.help(help)
}

/// File and line of the last `.loc` before a byte (PTX ISA, "Debugging Directives: .loc"). `.file` directives stand anywhere.
fn location(text: &str, at: usize) -> Option<(String, u32)> {
    let directive =
        |line: &str, name: &str| Some(line.trim().strip_prefix(name)?.trim().to_owned());
    let loc = text[..at]
        .lines()
        .rev()
        .find_map(|line| directive(line, ".loc"))?;
    let mut numbers = loc.split_whitespace();
    let (file, line) = (numbers.next()?, numbers.next()?.parse().ok()?);
    let name = text.lines().find_map(|line| {
        let rest = directive(line, ".file")?;
        let (number, name) = rest.split_once(char::is_whitespace)?;
        (number == file).then(|| name.trim().trim_matches('"').to_owned())
    });
    Some((name?, line))
}
