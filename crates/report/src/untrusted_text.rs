//! Text from strangers in front of readers: names of files and kernels, source lines, what kernels print. None of it commands a terminal
//! or a log, or turns the direction of what stands around it.

use std::borrow::Cow;

/// A character as it is, or a sign for one that changes how text around it looks: control characters, and those that turn its
/// direction.
pub fn visible(c: char) -> char {
    match c {
        '\t' => c,
        c if c.is_control() => '\u{fffd}',
        '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => '\u{fffd}',
        c => c,
    }
}

/// A text whose characters are all [`visible`], but for ends of lines and colours (ECMA-48, "Select Graphic Rendition"), which are
/// racetrap's own or harmless.
///
/// ```
/// use racetrap_report::safe;
/// assert_eq!(safe("\x1b[1;31merror\x1b[0m: a\tb\n"), "\x1b[1;31merror\x1b[0m: a\tb\n");
/// assert_eq!(safe("x\x1b[2J\x1b]0;mine\x07.cu"), "x\u{fffd}[2J\u{fffd}]0;mine\u{fffd}.cu");
/// ```
pub fn safe(text: &str) -> Cow<'_, str> {
    if text.chars().all(|c| c == '\n' || visible(c) == c) {
        return text.into();
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        let colour = match c {
            '\x1b' => rest.as_str().strip_prefix('[').and_then(|inside| {
                let end = inside.find(|c: char| !c.is_ascii_digit() && c != ';')?;
                inside[end..].starts_with('m').then(|| &inside[..end])
            }),
            _ => None,
        };
        match colour {
            Some(numbers) => {
                out.push_str("\x1b[");
                out.push_str(numbers);
                out.push('m');
                rest = rest.as_str()[numbers.len() + 2..].chars();
            }
            None if c == '\n' => out.push(c),
            None => out.push(visible(c)),
        }
    }
    out.into()
}
