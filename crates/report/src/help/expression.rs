//! What a statement or an expression of the source says, by its words: which names it has, declares and changes. Nothing is parsed.
//!
//! Used for where an edit goes and what it says; whether that is right is found out by making it ([`crate::proof`]).

/// The identifiers of a text.
pub(super) fn identifiers(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_')
        .filter(|word| word.starts_with(|c: char| c.is_alphabetic() || c == '_'))
}

/// The name that a statement declares, if it is a declaration: two words in a row.
pub(super) fn declared(statement: &str) -> Option<&str> {
    let left = statement.split(['=', ';', '[', '(']).next()?.trim();
    let name = left
        .rsplit(|c: char| !c.is_alphanumeric() && c != '_')
        .next()?;
    let ty = left[..left.len() - name.len()].trim();
    let is_type =
        ty.ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == '*' || c == '>' || c == '&');
    (!name.is_empty() && is_type && !["return", "delete", "goto"].contains(&ty)).then_some(name)
}

/// The names that a text changes, or may.
pub(super) fn assigned(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut at = 0;
    for name in identifiers(text) {
        let Some(next) = text[at..].find(name) else {
            break;
        };
        at += next + name.len();
        let rest = text[at..].trim_start();
        let before = text[..at - name.len()].trim_end();
        let sets = rest.starts_with('=') && !rest.starts_with("==");
        let operators = [
            "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>=", "++", "--",
        ];
        if sets
            || operators.iter().any(|o| rest.starts_with(o))
            || before.ends_with("++")
            || before.ends_with("--")
            || before.ends_with('&')
        {
            found.push(name);
        }
    }
    found
}

/// Whether a text leaves its function or loop.
pub(super) fn leaves(text: &str) -> bool {
    identifiers(text).any(|word| ["return", "break", "continue", "goto"].contains(&word))
}

/// Whether an expression may be computed twice: it calls nothing, reads no memory and changes nothing.
pub(super) fn is_pure(text: &str) -> bool {
    let calls = text.char_indices().any(|(at, c)| {
        c == '('
            && text[..at]
                .trim_end()
                .ends_with(|c: char| c.is_alphanumeric() || c == '_')
    });
    !calls && !text.contains(['[', '"']) && assigned(text).is_empty() && !text.contains("->")
}

/// Target, operator and value of `x[i] += y`.
pub(super) fn update(text: &str) -> Option<(&str, &str, &str)> {
    let mut depth = 0;
    let bytes = text.as_bytes();
    for (at, c) in text.char_indices() {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth -= 1,
            '=' if depth == 0 && at > 0 => {
                if bytes.get(at + 1) == Some(&b'=')
                    || b"=!<>".contains(&bytes[at - 1]) && !text[..at].ends_with("<<")
                {
                    return None;
                }
                let operator = match bytes[at - 1] {
                    b'+' | b'-' | b'*' | b'/' | b'%' | b'&' | b'|' | b'^' => at - 1,
                    _ => at,
                };
                let value = text[at + 1..].trim();
                return Some((text[..operator].trim(), &text[operator..=at], value));
            }
            _ => {}
        }
    }
    None
}
