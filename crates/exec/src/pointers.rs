//! The host program's names for its allocations: a launch's process knows them by number alone ("allocation 3"), the line of the call that made one
//! names the pointer.
//!
//! The first argument of the call is read out of the text of its statement: `cudaMalloc((void **)&a->data, n)` makes `a->data`. Where it
//! is no name, as inside of a library, the line stands for it.

use crate::lines::Line;
use context::memory::nameless_in;
use context::record::Call;
use report::Diagnostic;
use std::collections::HashMap;

/// An allocation, as the host program has it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Pointer {
    /// The pointer.
    name: Option<String>,
    /// `main.cu:12`
    place: String,
}

impl Pointer {
    /// The pointer that a call of the library at a line fills in.
    pub fn of(call: &Call, at: &Line) -> Pointer {
        let text = at.source.line(at.line).unwrap_or_default();
        let columns = at.columns.start as usize..at.columns.end as usize;
        Pointer {
            name: name(text.get(columns).unwrap_or(text), &call.function),
            place: format!("{}:{}", at.source.path, at.line),
        }
    }
}

/// The pointers of a process, by the numbers of the allocations.
#[derive(Debug, Default)]
pub(crate) struct Pointers(pub HashMap<usize, Pointer>);

impl Pointers {
    /// Calls allocations by the host's names.
    pub fn rename(&self, diagnostic: &mut Diagnostic) {
        if self.0.is_empty() {
            return;
        }
        let labels = diagnostic.labels.iter_mut().map(|l| &mut l.text);
        let texts = labels
            .chain(&mut diagnostic.notes)
            .chain(&mut diagnostic.help);
        let texts = texts
            .chain([&mut diagnostic.title])
            .chain(&mut diagnostic.about.memory);
        for text in texts {
            *text = self.renamed(text);
        }
    }

    fn renamed(&self, text: &str) -> String {
        let mut out = String::new();
        let mut done = 0;
        for (number, at) in nameless_in(text) {
            let Some(pointer) = self.0.get(&number) else {
                continue;
            };
            let before = &text[done..at.start];
            let quoted = text[..at.start].ends_with('`');
            out += before;
            let rest = &text[at.end..];
            done = at.end;
            match (&pointer.name, quoted || at.start == 0) {
                (Some(name), true) => out += name,
                (Some(name), false) => out += &format!("`{name}`"),
                (None, _) => out += &text[at],
            }
            // `allocation 3 (256 bytes)`
            if let Some(bytes) = rest.strip_prefix(" (").and_then(|r| r.split(')').next())
                && bytes.ends_with(" bytes")
            {
                out += &format!(" ({bytes}, allocated at {})", pointer.place);
                done += bytes.len() + 3;
            }
        }
        out + &text[done..]
    }
}

/// The pointer in the first argument of a call: without casts and `&`.
fn name(statement: &str, function: &str) -> Option<String> {
    // Of several calls, as in `CHECK(cudaMalloc(&a, n)); CHECK(cudaMalloc(&b, n));`, nobody knows which it was.
    if statement.matches(function).count() > 1 {
        return None;
    }
    let after = &statement[statement.find(function)? + function.len()..];
    let after = match after.trim_start().strip_prefix('<') {
        Some(template) => &template[template.find('>')? + 1..],
        None => after,
    };
    let arguments = after.trim_start().strip_prefix('(')?;
    let mut depth = 0;
    let end = arguments.find(|c: char| {
        depth += i32::from(matches!(c, '(' | '[' | '{')) - i32::from(matches!(c, ')' | ']' | '}'));
        depth < 0 || depth == 0 && c == ','
    })?;
    let mut name = arguments[..end].trim();
    loop {
        let plain = name.strip_prefix('&').map(str::trim_start);
        let plain = plain.or_else(|| without_cast(name));
        match plain {
            Some(plain) => name = plain,
            None => break,
        }
    }
    let known = |c: char| c.is_alphanumeric() || "_.->[]:+* ".contains(c);
    let begins = name.starts_with(|c: char| c.is_alphabetic() || c == '_');
    let fine = begins && name.len() <= 40 && name.chars().all(known);
    fine.then(|| name.to_owned())
}

/// `(void **)p`, `reinterpret_cast<void **>(&p)`, `(p)`: what is inside or behind.
fn without_cast(text: &str) -> Option<&str> {
    if let Some((cast, rest)) = text.split_once('<')
        && cast.ends_with("_cast")
    {
        let inside = rest[rest.find('>')? + 1..].trim().strip_prefix('(')?;
        return inside.strip_suffix(')').map(str::trim);
    }
    let inside = text.strip_prefix('(')?;
    let close = inside.find(')')?;
    let rest = inside[close + 1..].trim();
    match rest.is_empty() {
        true => Some(inside[..close].trim()),
        false => Some(rest),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_argument_is_the_pointer() {
        for (text, pointer) in [
            ("cudaMalloc(&p, 4096)", Some("p")),
            (
                "check(cudaMalloc((void **) &a->data[i], n * sizeof(int)), __LINE__)",
                Some("a->data[i]"),
            ),
            ("cudaMalloc(reinterpret_cast<void **>(&p), 4)", Some("p")),
            ("cudaMalloc<float>(&p, 4)", Some("p")),
            ("cudaMalloc((void**)(&p), 4)", Some("p")),
            ("cudaMalloc(out, 4)", Some("out")),
            ("cudaMalloc(&(p), 4)", Some("p")),
            ("CHECK(cudaMalloc(&a, 4)); CHECK(cudaMalloc(&b, 4));", None),
            ("cudaMalloc(&pick(a, b), 4)", None),
            ("make(p)", None),
        ] {
            assert_eq!(name(text, "cudaMalloc").as_deref(), pointer, "{text}");
        }
    }

    #[test]
    fn allocations_have_the_names_of_the_host() {
        let pointer = |name: Option<&str>| Pointer {
            name: name.map(str::to_owned),
            place: "main.cu:12".to_owned(),
        };
        let all = Pointers(HashMap::from([
            (3, pointer(Some("d_in"))),
            (14, pointer(None)),
        ]));
        for (text, renamed) in [
            (
                "unordered writes of `allocation 3[5]` in global memory",
                "unordered writes of `d_in[5]` in global memory",
            ),
            (
                "it lies in allocation 3 (256 bytes), device memory",
                "it lies in `d_in` (256 bytes, allocated at main.cu:12), device memory",
            ),
            (
                "it lies in allocation 14 (8 bytes)",
                "it lies in allocation 14 (8 bytes, allocated at main.cu:12)",
            ),
            ("allocation 3", "d_in"),
            (
                "`allocation 31[0]`, allocation 3",
                "`allocation 31[0]`, `d_in`",
            ),
        ] {
            assert_eq!(all.renamed(text), renamed);
        }
    }
}
