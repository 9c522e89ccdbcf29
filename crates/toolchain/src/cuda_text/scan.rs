//! Finding one's way in source text: what is code, where words stand, which brackets belong together.

/// The same text with comments, string and character literals replaced by spaces, so that every
/// byte offset and line still holds.
pub(super) fn blank(text: &str) -> String {
    #[derive(PartialEq)]
    enum In {
        Code,
        Line,
        Block,
        Quote(u8),
    }
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut state = In::Code;
    let mut at = 0;
    while at < bytes.len() {
        let two = &bytes[at..bytes.len().min(at + 2)];
        let mut width = 1;
        let keep = match state {
            In::Code if two == b"//" => {
                state = In::Line;
                false
            }
            In::Code if two == b"/*" => {
                state = In::Block;
                width = 2;
                false
            }
            In::Code if bytes[at] == b'"' => {
                state = In::Quote(b'"');
                false
            }
            In::Code if bytes[at] == b'\'' && !out.last().is_some_and(u8::is_ascii_digit) => {
                state = In::Quote(b'\'');
                false
            }
            In::Code => true,
            In::Line => {
                if bytes[at] == b'\n' {
                    state = In::Code;
                }
                false
            }
            In::Block => {
                if two == b"*/" {
                    state = In::Code;
                    width = 2;
                }
                false
            }
            In::Quote(quote) => {
                if bytes[at] == b'\\' {
                    width = 2;
                } else if bytes[at] == quote || bytes[at] == b'\n' {
                    state = In::Code;
                }
                false
            }
        };
        for byte in &bytes[at..bytes.len().min(at + width)] {
            out.push(if keep || *byte == b'\n' { *byte } else { b' ' });
        }
        at += width;
    }
    String::from_utf8(out).unwrap_or_default()
}

/// The same text with preprocessor lines replaced by spaces.
pub(super) fn without_directives(text: &str) -> String {
    let mut continued = false;
    let mut out = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let directive = continued || line.trim_start().starts_with('#');
        continued = directive && line.trim_end().ends_with('\\');
        if directive {
            out.extend(line.chars().map(|c| if c == '\n' { c } else { ' ' }));
        } else {
            out.push_str(line);
        }
    }
    out
}

/// The same text with `<<<` and `>>>` where formatters have put white space between (`k << <grid, block >> > (x)`), as nvcc takes it.
pub(super) fn launch_brackets(text: &str) -> String {
    let mut out = text.as_bytes().to_vec();
    for bracket in [b'<', b'>'] {
        let mut at = 0;
        while at < out.len() {
            let from = at;
            at += 1;
            if out[from] != bracket {
                continue;
            }
            let mut places = vec![from];
            while let Some(byte) = out.get(at).filter(|_| places.len() < 3) {
                match *byte {
                    b if b == bracket => places.push(at),
                    b if b.is_ascii_whitespace() => {}
                    _ => break,
                }
                at += 1;
            }
            if let [_, _, last] = places[..] {
                let lines = out[from..=last].contains(&b'\n');
                if !lines && last > from + 2 {
                    out[from..from + 3].fill(bracket);
                    out[from + 3..=last].fill(b' ');
                }
            }
        }
    }
    String::from_utf8(out).unwrap_or_default()
}

/// The beginning of a text, of so many bytes at most.
pub(super) fn window(text: &str, bytes: usize) -> &str {
    &text[..boundary(text, bytes)]
}

/// The last place up to an offset at which a character begins, or the text ends.
pub(super) fn boundary(text: &str, offset: usize) -> usize {
    let mut at = offset.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// Offsets at which `word` stands as a word of its own.
pub(super) fn words<'a>(text: &'a str, word: &'a str) -> impl Iterator<Item = usize> + 'a {
    let part = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(word)
        .map(|(at, _)| at)
        .filter(move |at| {
            !word.is_empty()
                && !text[..*at].ends_with(part)
                && !text[at + word.len()..].starts_with(part)
        })
}

pub(super) fn identifier(text: &str) -> &str {
    let length = text
        .find(|c: char| !c.is_alphanumeric() && c != '_')
        .unwrap_or(text.len());
    &text[..length]
}

pub(super) fn last_identifier(text: &str) -> Option<&str> {
    let text = text.trim_end();
    let start = text
        .rfind(|c: char| !c.is_alphanumeric() && c != '_')
        .map_or(0, |p| {
            p + text[p..].chars().next().map_or(1, char::len_utf8)
        });
    let word = &text[start..];
    word.starts_with(|c: char| c.is_alphabetic() || c == '_')
        .then_some(word)
}

/// Length of the text before the bracket that closes one opened before it.
pub(super) fn matching(text: &str, open: char, close: char) -> Option<usize> {
    let mut depth = 1;
    for (at, c) in text.char_indices() {
        if c == open {
            depth += 1;
        } else if c == close {
            depth -= 1;
            if depth == 0 {
                return Some(at);
            }
        }
    }
    None
}

/// Splits at commas that are in no brackets.
pub(super) fn split(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut depth, mut start) = (0, 0);
    for (at, c) in text.char_indices() {
        match c {
            '(' | '[' | '{' | '<' => depth += 1,
            ')' | ']' | '}' | '>' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts
}
