//! Buffers of device memory in host code: how large they are made and what is put into them.

use super::CudaText;
use super::function::{Place, Variable};
use super::host::{Content, HostBuffer, strip_casts};
use super::scan::{boundary, identifier, matching, split, window, words};
use super::unknown::{How, Number};

/// Functions that allocate device memory, as `f(&pointer, bytes, …)`.
const ALLOCATE: [&str; 3] = ["cudaMalloc", "cudaMallocManaged", "cudaMallocAsync"];
/// Functions that copy, as `f(to, from, bytes, …)`.
const COPY: [&str; 2] = ["cudaMemcpy", "cudaMemcpyAsync"];
/// Functions that fill, as `f(to, byte, bytes, …)`.
const FILL: [&str; 2] = ["cudaMemset", "cudaMemsetAsync"];
/// Functions that neither read nor write what they are given.
const HARMLESS: [&str; 9] = [
    "cudaMemPrefetchAsync",
    "cudaMemAdvise",
    "assert",
    "if",
    "while",
    "printf",
    "free",
    "cudaFree",
    "sizeof",
];

/// Mentions of a buffer that are looked at, and bytes of a statement.
const MENTIONS: usize = 100;
const STATEMENT: usize = 4096;

/// A call in the text.
struct Call<'a> {
    name: &'a str,
    arguments: Vec<&'a str>,
}

impl CudaText {
    /// The buffer that an expression points to, at the place where it is passed.
    pub(super) fn buffer(&self, written: &str, place: Place, how: How<'_>) -> Option<HostBuffer> {
        let written = pointer(written);
        let before = self.before(place);
        let allocated = ALLOCATE
            .iter()
            .flat_map(|name| words(before, name))
            .filter_map(|at| {
                let (call, length) = call_at(before, at)?;
                let [target, bytes, ..] = call.arguments.as_slice() else {
                    return None;
                };
                let target = strip_casts(target).strip_prefix('&')?;
                (same(target, written)).then_some((at, at + length, *bytes))
            })
            .max_by_key(|(at, ..)| *at);
        let Some((at, end, bytes)) = allocated else {
            // A pointer that is a parameter, or another name for a buffer.
            if identifier(written) != written {
                return None;
            }
            let (value, there) = match self.variable_at(place, written) {
                Variable::Is(value, there) => (value, there),
                Variable::Absent => return self.global_buffer(written, place, how),
                Variable::Changes => return None,
            };
            if same(&value, written) && there == place {
                return None;
            }
            let value = pointer(&value).to_owned();
            let simple = value
                .chars()
                .all(|c| c.is_alphanumeric() || "_.->[]&*() ".contains(c));
            return match simple && there != place {
                true => self.buffer(&value, there, how),
                false => None,
            };
        };
        let here = Place {
            at: place.at - before.len() + at,
            ..place
        };
        let size = self.number(bytes, Some(here), how)?.integer();
        let size = u64::try_from(size).ok().filter(|b| *b > 0)?;
        Some(HostBuffer {
            bytes: size,
            content: self.content(
                written,
                &before[end..],
                (size, Content::Untouched),
                place,
                how.quiet(),
            ),
            line: self.line_of(here.at),
        })
    }

    /// A buffer at file scope that another function allocates. Which function runs first is not known, so only what is done to it
    /// here counts.
    fn global_buffer(&self, name: &str, place: Place, how: How<'_>) -> Option<HostBuffer> {
        let before = self.before(place);
        let declared_here = words(before, name).any(|at| {
            let head = before[..at].trim_end();
            let ty = head.trim_end_matches('*').trim_end();
            head.ends_with('*') && ty.ends_with(|c: char| c.is_alphanumeric())
        });
        if declared_here {
            return None;
        }
        let mut all = ALLOCATE
            .iter()
            .flat_map(|function| words(&self.text, function))
            .filter_map(|at| {
                let (call, _) = call_at(&self.text, at)?;
                let [target, bytes, ..] = call.arguments.as_slice() else {
                    return None;
                };
                let target = strip_casts(target).strip_prefix('&')?;
                same(target, name).then_some((at, *bytes))
            });
        let (at, bytes) = all.next()?;
        if all.next().is_some() {
            return None;
        }
        let there = Place {
            callers: place.deeper()?.callers,
            ..self.place(at)?
        };
        let size = self.number(bytes, Some(there), how)?.integer();
        let size = u64::try_from(size).ok().filter(|b| *b > 0)?;
        Some(HostBuffer {
            bytes: size,
            content: self.content(name, before, (size, Content::Unknown), place, how.quiet()),
            line: self.line_of(at),
        })
    }

    /// What the text between an allocation and a launch puts into a buffer of so many bytes that holds something already.
    fn content(
        &self,
        name: &str,
        between: &str,
        (bytes, mut content): (u64, Content),
        place: Place,
        how: How<'_>,
    ) -> Content {
        let word = identifier(name);

        for (number, at) in words(between, word).enumerate() {
            if number >= MENTIONS {
                return Content::Unknown;
            }
            let rest = &between[at..];
            if !same(rest.get(..name.len()).unwrap_or_default(), name) {
                // Another member of the same thing.
                continue;
            }
            content = match enclosing_call(between, at) {
                Some(call) if HARMLESS.contains(&call.name) => content,
                Some(call) if FILL.contains(&call.name) => {
                    match (call.arguments.as_slice(), content) {
                        ([to, value, size, ..], before) if same(strip_casts(to), name) => {
                            let value = self.number(value, Some(place), how);
                            let value = value.map(|value| Content::Bytes(value.integer() as u8));
                            match before {
                                // Part of a buffer of zeros gets another value: few kernels care.
                                Content::Bytes(0) if !self.covers(size, bytes, place, how) => {
                                    before
                                }
                                _ => self.overwritten(value, size, bytes, before, place, how),
                            }
                        }
                        _ => Content::Unknown,
                    }
                }
                Some(call) if COPY.contains(&call.name) => match call.arguments.as_slice() {
                    [to, from, size, ..] if same(pointer(to), name) => {
                        let array = self.host_array(pointer(from), place, how, 0);
                        self.overwritten(Some(array), size, bytes, content, place, how)
                    }
                    // It is copied from.
                    [_, from, ..] if same(pointer(from), name) => content,
                    _ => Content::Unknown,
                },
                _ => {
                    let fills = self.fills(between, name, place, how);
                    return fills.unwrap_or(Content::Unknown);
                }
            };
        }
        content
    }

    /// What a buffer of so many bytes holds that held `before` when `new` is written to the first `size` bytes.
    fn overwritten(
        &self,
        new: Option<Content>,
        size: &str,
        bytes: u64,
        before: Content,
        place: Place,
        how: How<'_>,
    ) -> Content {
        let size = self.number(size, Some(place), how).map(Number::integer);
        let size = size.and_then(|size| u64::try_from(size).ok());
        match (new, size, before) {
            (Some(new), Some(size), _) if size >= bytes => new,
            (Some(new), Some(size @ 1..), Content::Untouched) => Content::Part(size, Box::new(new)),
            _ => Content::Unknown,
        }
    }

    fn covers(&self, size: &str, bytes: u64, place: Place, how: How<'_>) -> bool {
        let size = self.number(size, Some(place), how).map(Number::integer);
        size.and_then(|s| u64::try_from(s).ok())
            .is_some_and(|s| s >= bytes)
    }

    /// What a host array holds before a place.
    fn host_array(&self, name: &str, place: Place, how: How<'_>, depth: u32) -> Content {
        let before = self.before(place);
        let word = identifier(name);
        if word != name || word.is_empty() || depth > 3 {
            return Content::Unknown;
        }
        let function_parameter = !before.contains(word)
            || matches!(self.variable_at(place, word), Variable::Is(..))
                && words(before, word).next().is_none();
        if function_parameter {
            return match self.variable_at(place, word) {
                Variable::Is(value, there) if there != place => {
                    self.host_array(pointer(&value), there, how, depth + 1)
                }
                _ => Content::Unknown,
            };
        }
        if let Some(content) = self.fills(before, name, place, how) {
            return content;
        }
        let declared = self.declared_with(before, name, place, how);
        // An array at file scope that another function fills.
        let elsewhere = || match self.variable_at(place, name) {
            Variable::Absent => self.fills(&self.text, name, place, how),
            _ => None,
        };
        declared.or_else(elsewhere).unwrap_or(Content::Unknown)
    }

    /// What a declaration puts into an array: a list, `calloc`, `vector<int> v(n, value)`.
    fn declared_with(
        &self,
        before: &str,
        name: &str,
        place: Place,
        how: How<'_>,
    ) -> Option<Content> {
        let list = |inside: &str| {
            let all: Vec<String> = split(inside)
                .into_iter()
                .filter(|p| !p.trim().is_empty())
                .map(|p| {
                    p.trim()
                        .trim_end_matches(['f', 'F', 'u', 'U', 'l', 'L'])
                        .to_owned()
                })
                .collect();
            let numbers = all.len() <= 4096 && all.iter().all(|n| n.parse::<f64>().is_ok());
            numbers.then_some(Content::List(all))
        };
        words(before, name).find_map(|at| {
            let head = before[..at].trim_end();
            let rest = before[at + name.len()..].trim_start();
            if head.ends_with('>') && head.contains("vector") {
                if let Some(inside) = rest.strip_prefix('(') {
                    let parts = split(&inside[..matching(inside, '(', ')')?]);
                    return match parts.get(1) {
                        Some(value) => self.constant(value, place, how),
                        None => Some(Content::Bytes(0)),
                    };
                }
                let rest = rest.strip_prefix('=').map_or(rest, str::trim_start);
                let inside = rest.strip_prefix('{')?;
                return list(&inside[..matching(inside, '{', '}')?]);
            }
            let rest = match rest.strip_prefix('[') {
                Some(dims) => behind_dimensions(dims)?,
                None => rest,
            };
            let value = rest.strip_prefix('=')?.trim_start();
            if let Some(inside) = value.strip_prefix('{') {
                return list(&inside[..matching(inside, '{', '}')?]);
            }
            let value = strip_casts(&value[..value.find(';')?]);
            value.starts_with("calloc").then_some(Content::Bytes(0))
        })
    }

    /// What assignments, `memset`, `std::fill` and functions of the text put into an array; `None` where there are none.
    fn fills(&self, text: &str, name: &str, place: Place, how: How<'_>) -> Option<Content> {
        let mut found: Vec<Content> = Vec::new();
        for (number, at) in words(text, identifier(name)).enumerate() {
            if number >= MENTIONS {
                return Some(Content::Unknown);
            }
            let rest = window(&text[at..], STATEMENT);
            if !same(rest.get(..name.len()).unwrap_or_default(), name) {
                continue;
            }
            let rest = rest[name.len()..].trim_start();
            if let Some(inside) = rest.strip_prefix('[') {
                let Some(close) = matching(inside, '[', ']') else {
                    continue;
                };
                let value = inside[close + 1..].trim_start();
                if value.starts_with('[') {
                    found.push(Content::Unknown);
                    continue;
                }
                if value.starts_with(['+', '-', '*', '|', '^']) && !value.starts_with("==") {
                    let changed = value[1..].starts_with(['=', '+', '-']);
                    found.extend(changed.then_some(Content::Unknown));
                }
                let Some(value) = value.strip_prefix('=').filter(|v| !v.starts_with('=')) else {
                    continue;
                };
                if value.trim_start().starts_with('{') {
                    // A declaration.
                    continue;
                }
                let Some(end) = value.find(';') else { continue };
                found.push(self.assigned(&inside[..close], &value[..end], place, how));
                continue;
            }
            let Some(call) = enclosing_call(text, at) else {
                continue;
            };
            let first = call
                .arguments
                .first()
                .is_some_and(|a| same(pointer(a), name));
            found.extend(match (call.name, call.arguments.as_slice()) {
                ("memset", [_, value, ..]) if first => {
                    let value = self.number(value, Some(place), how);
                    Some(value.map_or(Content::Unknown, |v| Content::Bytes(v.integer() as u8)))
                }
                ("fill", [_, _, value]) | ("fill_n", [_, _, value]) => {
                    Some(self.constant(value, place, how).unwrap_or(Content::Unknown))
                }
                ("iota", [_, _, start]) => match self.evaluate(start) {
                    Some(0) => Some(Content::Iota),
                    _ => Some(Content::Unknown),
                },
                ("generate" | "shuffle" | "random_shuffle" | "memcpy" | "fread" | "copy", _) => {
                    Some(Content::Unknown)
                }
                (function, arguments) => self.filled_by(function, arguments, name, how),
            });
        }
        let first = found.first()?.clone();
        // Zeros first and something else later: what is written later counts.
        let later = found
            .iter()
            .find(|c| **c != Content::Bytes(0) && **c != Content::Integer(0));
        let told = later.cloned().unwrap_or(first);
        let agree = found
            .iter()
            .all(|c| *c == told || matches!(c, Content::Bytes(0) | Content::Integer(0)));
        Some(match agree {
            true => told,
            false => Content::Unknown,
        })
    }

    /// What a function of this text puts into the array that it is given.
    fn filled_by(
        &self,
        function: &str,
        arguments: &[&str],
        name: &str,
        how: How<'_>,
    ) -> Option<Content> {
        let index = arguments.iter().position(|a| same(pointer(a), name))?;
        let at = self.functions.iter().position(|f| f.name == function)?;
        let parameter = self.functions[at].parameters.get(index)?;
        if parameter.is_empty() {
            return Some(Content::Unknown);
        }
        let body = &self.functions[at].body;
        let place = self.place(body.end.saturating_sub(1))?;
        let text = &self.text[body.clone()];
        // One function deep: nothing that it calls itself is followed.
        let calls_others = words(text, parameter).any(|at| {
            enclosing_call(text, at).is_some_and(|c| {
                c.arguments.iter().any(|a| a.trim() == parameter)
                    && self.functions.iter().any(|f| f.name == c.name)
            })
        });
        match calls_others {
            true => Some(Content::Unknown),
            false => self.fills(text, parameter, place, how),
        }
    }

    fn constant(&self, value: &str, place: Place, how: How<'_>) -> Option<Content> {
        Some(match self.number(value, Some(place), how)? {
            Number::Integer(value) => Content::Integer(value),
            Number::Float(value) => Content::Float(value),
        })
    }

    /// What `array[index] = value` puts into an array, in a loop over the index.
    fn assigned(&self, index: &str, value: &str, place: Place, how: How<'_>) -> Content {
        let (index, value) = (index.trim(), strip_casts(value.trim()));
        // `(float)i` and `static_cast<float>(i)`, too.
        let plain = match value.strip_prefix('(').and_then(|v| v.split_once(')')) {
            Some((ty, rest)) if super::scalar_bytes(ty).is_some() => rest.trim(),
            _ => value,
        };
        if plain == index && identifier(index) == index && !index.is_empty() {
            return Content::Iota;
        }
        if value.contains("RAND_MAX") || value.contains("drand48") {
            let product = value.contains('*') || value.contains('+');
            return match product {
                true => Content::Unknown,
                false => Content::Fractions,
            };
        }
        let most = |modulus: &str| {
            let modulus = self.number(modulus, Some(place), how)?.integer();
            (modulus > 0).then(|| modulus - 1)
        };
        if let Some((left, right)) = plain.split_once('%') {
            let left = left.trim().trim_start_matches('(');
            let (modulus, more) = match right.split_once('+') {
                Some((modulus, more)) => (modulus, self.number(more, Some(place), how)),
                None => (right, Some(Number::Integer(0))),
            };
            let modulus = modulus.trim().trim_end_matches(')');
            let known = left.starts_with("rand") || left.starts_with("std::rand") || left == index;
            if let (true, Some(most), Some(more)) = (known, most(modulus), more) {
                let more = more.integer();
                return Content::Range(more, most.saturating_add(more));
            }
            return Content::Unknown;
        }
        self.constant(value, place, how).unwrap_or(Content::Unknown)
    }
}

/// What follows the dimensions of an array, from behind the first `[`.
fn behind_dimensions(text: &str) -> Option<&str> {
    let mut rest = text;
    loop {
        rest = rest[matching(rest, '[', ']')? + 1..].trim_start();
        match rest.strip_prefix('[') {
            Some(inner) => rest = inner,
            None => return Some(rest),
        }
    }
}

/// The pointer's own name: without casts, `.data()`, `&v[0]`, `.begin()`, `raw_pointer_cast(…)`.
fn pointer(expression: &str) -> &str {
    let mut rest = strip_casts(expression);
    for prefix in ["thrust::raw_pointer_cast(", "raw_pointer_cast("] {
        rest = rest
            .strip_prefix(prefix)
            .map_or(rest, |r| strip_casts(r.trim_end_matches(')')));
    }
    for suffix in [".data()", ".begin()", ".get()"] {
        rest = rest.strip_suffix(suffix).unwrap_or(rest);
    }
    if let Some(first) = rest.strip_prefix('&').and_then(|r| r.strip_suffix("[0]")) {
        rest = first;
    }
    rest.trim()
}

/// Whether two expressions are the same but for white space.
fn same(one: &str, other: &str) -> bool {
    one.chars()
        .filter(|c| !c.is_whitespace())
        .eq(other.chars().filter(|c| !c.is_whitespace()))
        && !one.trim().is_empty()
}

/// The call whose name stands at an offset, and its length.
fn call_at(text: &str, at: usize) -> Option<(Call<'_>, usize)> {
    let name = identifier(&text[at..]);
    let text = &text[..boundary(text, at.saturating_add(STATEMENT))];
    let mut rest = text[at + name.len()..].trim_start();
    if rest.starts_with('<') && !rest.starts_with("<<") {
        rest = rest[rest.find('>')? + 1..].trim_start();
    }
    let inner = rest.strip_prefix('(')?;
    let inside = &inner[..matching(inner, '(', ')')?];
    let end = text.len() - inner.len() + inside.len() + 1;
    let arguments = split(inside);
    Some((Call { name, arguments }, end - at))
}

/// The innermost call, with a name, that an offset is an argument of; looks back within the statement.
fn enclosing_call(text: &str, at: usize) -> Option<Call<'_>> {
    let mut depth = 0;
    for (open, c) in text[..at].char_indices().rev().take(2000) {
        match c {
            ')' => depth += 1,
            '(' if depth > 0 => depth -= 1,
            '(' => {
                let head = text[..open].trim_end();
                let length = head
                    .chars()
                    .rev()
                    .take_while(|c| c.is_alphanumeric() || *c == '_')
                    .map(char::len_utf8)
                    .sum::<usize>();
                if length > 0 {
                    return call_at(text, head.len() - length).map(|(call, _)| call);
                }
            }
            ';' | '{' | '}' => return None,
            _ => {}
        }
    }
    None
}
