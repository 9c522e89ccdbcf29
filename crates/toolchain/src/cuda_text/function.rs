//! The functions of a text, and what the variables of a host function are set to.
//!
//! A variable has a known value where it is set exactly once. A parameter has the value that the one caller passes. Branches are not
//! followed; what is taken from the command line (`argv`) is taken to be absent.

use super::CudaText;
use super::scan::{identifier, last_identifier, matching, split, window, words};
use std::ops::Range;

/// A function with a body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FunctionText {
    pub(super) name: String,
    /// Names of its parameters, in order; empty where a parameter has none.
    pub(super) parameters: Vec<String>,
    /// Names of its template parameters, in order; empty where one has none.
    pub(super) template: Vec<String>,
    pub(super) body: Range<usize>,
    /// Whether it runs on the GPU.
    pub(super) device: bool,
}

/// A place in a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// Which of the text's functions.
    pub(super) function: usize,
    /// Offset in the text: what is set behind it does not count.
    pub(super) at: usize,
    /// How many callers, and sizes of other launches, have been followed.
    pub(super) callers: u32,
    /// The call of this function that counts, by its offset, if not the first.
    pub(super) via: Option<usize>,
}

impl Place {
    /// The same, one step further from where reading began; `None` where that is too far.
    pub(super) fn deeper(self) -> Option<Place> {
        (self.callers < CALLERS).then_some(Place {
            callers: self.callers + 1,
            ..self
        })
    }
}

/// What is known of a variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Variable {
    /// It is set to this expression, as read at this place.
    Is(String, Place),
    /// It is set more than once, or by something that is not followed.
    Changes,
    /// The function has no variable of this name.
    Absent,
}

/// `int bits = 0; while ((1 << bits) < n) bits++;`
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CountingLoop {
    /// The first value, and where it is set.
    pub(super) first: (String, Place),
    /// For how long it goes on.
    pub(super) condition: String,
    /// A binary operator and what it takes, at each round.
    pub(super) step: (&'static str, String),
    /// Where the loop stands.
    pub(super) place: Place,
}

/// Mentions of a variable that are looked at.
const MENTIONS: usize = 200;
/// Callers that are followed, one of another.
pub(super) const CALLERS: u32 = 6;

/// The functions of a text without comments and directives.
pub(super) fn functions(text: &str) -> Vec<FunctionText> {
    let mut found = Vec::new();
    let mut at = 0;
    // Where the declaration begins that the next brace may belong to.
    let mut from = 0;
    while let Some(next) = text[at..].find([';', '{', '}']) {
        let here = at + next;
        at = here + 1;
        if text.as_bytes()[here] != b'{' {
            from = at;
            continue;
        }
        let head = text[from..here].trim_end();
        let first = identifier(head.trim_start());
        let transparent = first == "namespace" || (first == "extern" && !head.contains('('));
        if transparent {
            from = at;
            continue;
        }
        let Some(length) = matching(&text[at..], '{', '}') else {
            break;
        };
        if let Some((name, parameters)) = signature(head) {
            found.push(FunctionText {
                name,
                parameters,
                template: template(head),
                body: at..at + length,
                device: head.contains("__global__") || head.contains("__device__"),
            });
        }
        at += length + 1;
        from = at;
    }
    found
}

/// The template parameters of a function whose head this is: `template <int N, typename T = float>`.
fn template(head: &str) -> Vec<String> {
    let inside = head.trim_start().strip_prefix("template");
    let inside = inside.and_then(|rest| rest.trim_start().strip_prefix('<'));
    let Some(inside) = inside.and_then(|rest| Some(&rest[..matching(rest, '<', '>')?])) else {
        return Vec::new();
    };
    let name = |part: &str| {
        let part = part.split('=').next().unwrap_or_default();
        last_identifier(part).unwrap_or_default().to_owned()
    };
    split(inside).into_iter().map(name).collect()
}

/// Name and parameters of `template <…> T name(int a, int b) const`.
pub(super) fn signature(head: &str) -> Option<(String, Vec<String>)> {
    for (open, _) in head.match_indices('(') {
        let name = last_identifier(&head[..open]);
        let Some(name) =
            name.filter(|n| !["__launch_bounds__", "alignas", "__align__"].contains(n))
        else {
            continue;
        };
        let inside = &head[open + 1..];
        let inside = &inside[..matching(inside, '(', ')')?];
        let parameter = |part: &str| {
            let part = part.split(['=', '[']).next().unwrap_or_default();
            last_identifier(part).unwrap_or_default().to_owned()
        };
        let parameters = match inside.trim() {
            "" | "void" => Vec::new(),
            all => split(all).into_iter().map(parameter).collect(),
        };
        return Some((name.to_owned(), parameters));
    }
    None
}

impl CudaText {
    /// The place in the function around an offset.
    pub(super) fn place(&self, at: usize) -> Option<Place> {
        let function = self.functions.iter().position(|f| f.body.contains(&at))?;
        Some(Place {
            function,
            at,
            callers: 0,
            via: None,
        })
    }

    /// The text of a place's function before it.
    pub(super) fn before(&self, place: Place) -> &str {
        &self.text[self.functions[place.function].body.start..place.at]
    }

    /// What a name stands for at a place.
    pub(super) fn variable_at(&self, place: Place, name: &str) -> Variable {
        let function = &self.functions[place.function];
        let start = function.body.start;
        let mut set: Vec<(String, usize)> = Vec::new();
        let mut seen = false;
        for (number, at) in words(self.before(place), name).enumerate() {
            let at = start + at;
            seen = true;
            if number >= MENTIONS {
                return Variable::Changes;
            }
            match self.write(at, name) {
                Write::Sets(value) => {
                    // A program that is started without arguments keeps its defaults.
                    if !value.contains("argv") || value.contains('?') {
                        set.push((value, at));
                    }
                }
                Write::Changes => return Variable::Changes,
                Write::Reads => {}
            }
        }
        match set.as_slice() {
            [(value, at)] => Variable::Is(value.clone(), Place { at: *at, ..place }),
            [] => match function.parameters.iter().position(|p| p == name) {
                Some(index) => self.passed(place, index),
                None => self.global(place, name, seen),
            },
            _ => Variable::Changes,
        }
    }

    /// The first value of a variable that is changed later, where it is set, and whether the head of a `for` does so.
    pub(super) fn first_value(&self, place: Place, name: &str) -> Option<(String, Place, bool)> {
        let start = self.functions.get(place.function)?.body.start;
        words(self.before(place), name)
            .take(MENTIONS)
            .find_map(|at| {
                let at = start + at;
                let Write::Sets(value) = self.write(at, name) else {
                    return None;
                };
                let from = self.text[..at].rfind([';', '{', '}']).map_or(0, |p| p + 1);
                let head = self.text[from..at].trim_start();
                let looped = identifier(head) == "for" && head[3..].trim_start().starts_with('(');
                (!value.contains("argv")).then_some((value, Place { at, ..place }, looped))
            })
    }

    /// The loop before a place that does nothing but change a variable from its only value on.
    pub(super) fn counting_loop(&self, place: Place, name: &str) -> Option<CountingLoop> {
        let start = self.functions.get(place.function)?.body.start;
        let mut first = None;
        let mut change = None;
        for at in words(self.before(place), name).take(MENTIONS) {
            let at = start + at;
            match (self.write(at, name), &first, change) {
                (Write::Sets(value), None, None) => first = Some((value, Place { at, ..place })),
                (Write::Changes, Some(_), None) => change = Some(at),
                (Write::Reads, ..) => {}
                _ => return None,
            }
        }
        let (first, at) = (first?, change?);
        let rest = self.text[at + name.len()..].trim_start();
        let end = rest.find(';')?;
        let update = rest[..end].trim();
        let mut head = self.text[start..at].trim_end();
        let step = match update {
            "++" => ("+", "1"),
            "--" => ("-", "1"),
            "" if head.ends_with("++") => ("+", "1"),
            "" if head.ends_with("--") => ("-", "1"),
            _ => {
                let operators = ["<<", ">>", "+", "-", "*", "/"];
                let of = |op: &&'static str| update.strip_prefix(*op)?.strip_prefix('=');
                let op = operators.iter().find(|op| of(op).is_some())?;
                (*op, of(op)?.trim())
            }
        };
        if update.is_empty() {
            head = head[..head.len() - 2].trim_end();
        }
        if let Some(outside) = head.strip_suffix('{') {
            // The braces hold nothing else.
            rest[end + 1..]
                .trim_start()
                .starts_with('}')
                .then_some(())?;
            head = outside.trim_end();
        }
        let inside = head.strip_suffix(')')?;
        let mut depth = 1;
        let (open, _) = inside.char_indices().rev().find(|(_, c)| {
            depth += i32::from(*c == ')') - i32::from(*c == '(');
            depth == 0
        })?;
        let before = inside[..open].trim_end();
        (last_identifier(before) == Some("while")).then(|| CountingLoop {
            first,
            condition: inside[open + 1..].to_owned(),
            step: (step.0, step.1.to_owned()),
            place: Place { at, ..place },
        })
    }

    /// What the first caller passes.
    fn passed(&self, place: Place, index: usize) -> Variable {
        let function = &self.functions[place.function];
        if place.callers >= CALLERS {
            return Variable::Changes;
        }
        let calls = words(&self.text, &function.name)
            .take(MENTIONS)
            .filter(|at| place.via.is_none_or(|via| via == *at))
            .filter_map(|at| {
                let rest = window(&self.text[at + function.name.len()..], 4096).trim_start();
                let rest = match rest.strip_prefix('<') {
                    Some(types) => &types[matching(types, '<', '>')? + 1..],
                    None => rest,
                };
                let inner = rest.trim_start().strip_prefix('(')?;
                let inside = &inner[..matching(inner, '(', ')')?];
                let caller = self.place(at).filter(|p| p.function != place.function)?;
                Some((split(inside).get(index)?.trim().to_owned(), caller))
            });
        let first = calls.map(|(value, caller)| {
            let callers = place.callers + 1;
            Variable::Is(value, Place { callers, ..caller })
        });
        first.take(1).next().unwrap_or(Variable::Changes)
    }

    /// A variable at file scope that is set once, where it is declared.
    fn global(&self, place: Place, name: &str, seen: bool) -> Variable {
        let inside = |at: usize| self.functions.iter().any(|f| f.body.contains(&at));
        let mut all = words(&self.text, name).map(|at| (at, self.write(at, name)));
        let mut value = None;
        for (at, write) in all.by_ref().take(MENTIONS) {
            match (write, inside(at)) {
                (Write::Sets(text), false) => value = Some(text),
                // Another function's own variable, or a change.
                (Write::Sets(_) | Write::Changes, true) if seen => return Variable::Absent,
                _ => {}
            }
        }
        match value {
            Some(value) => Variable::Is(value, place),
            None => Variable::Absent,
        }
    }

    /// What happens to a name where it stands.
    fn write(&self, at: usize, name: &str) -> Write {
        let before = self.text[..at].trim_end();
        let rest = &self.text[at + name.len()..];
        let rest = rest.trim_start();
        if before.ends_with('.') || before.ends_with("->") || before.ends_with("::") {
            return Write::Reads;
        }
        if before.ends_with("++") || before.ends_with("--") || rest.starts_with("++") {
            return Write::Changes;
        }
        // `int n(5)` and `int n{5}` are left to others; `&n` may change it, and so may `>> n`.
        if before.ends_with('&') && !before.ends_with("&&") || before.ends_with(">>") {
            let taken = before.trim_end_matches('&').trim_end();
            if taken.ends_with(['(', ',', '=', '>']) && !in_braces(taken) {
                return Write::Changes;
            }
        }
        let operator = [
            "+=", "-=", "*=", "/=", "%=", "<<=", ">>=", "|=", "&=", "^=", "--",
        ];
        if operator.iter().any(|op| rest.starts_with(op)) {
            return Write::Changes;
        }
        let Some(value) = rest.strip_prefix('=').filter(|r| !r.starts_with('=')) else {
            return Write::Reads;
        };
        let mut depth = 0;
        let end = value.char_indices().take(4096).find(|(_, c)| {
            match c {
                '(' | '[' | '{' => depth += 1,
                ')' | ']' | '}' => depth -= 1,
                _ => {}
            }
            depth < 0 || depth == 0 && matches!(c, ';' | ',')
        });
        match end {
            Some((end, _)) => Write::Sets(value[..end].trim().to_owned()),
            None => Write::Changes,
        }
    }

    /// Parameters and value of a function-like macro, or of a function that does nothing but return a value.
    pub(super) fn callable(&self, name: &str) -> Option<(Vec<String>, String)> {
        if let Some((parameters, body)) = self.macros.get(name) {
            return Some((parameters.clone(), body.clone()));
        }
        let function = self.functions.iter().find(|f| f.name == name)?;
        let body = self.text[function.body.clone()].trim();
        let value = body.strip_prefix("return")?.strip_suffix(';')?;
        (!value.contains(';')).then(|| (function.parameters.clone(), value.trim().to_owned()))
    }

    /// Bytes of a type: a scalar, a vector, a pointer, or a struct of such.
    pub(super) fn bytes_of(&self, ty: &str) -> Option<i64> {
        self.size_and_alignment(ty, 0).map(|(size, _)| size)
    }

    fn size_and_alignment(&self, ty: &str, depth: u32) -> Option<(i64, i64)> {
        if depth > 4 {
            return None;
        }
        let ty = ty.trim();
        if ty.ends_with('*') {
            return Some((8, 8));
        }
        if let Some(bytes) = super::scalar_bytes(ty) {
            let align = match bytes {
                12 => 4,
                16 if ty.contains("int4") || ty.contains("float4") => 16,
                8 if ty.contains('2') && !ty.contains("64") => 8,
                other => other,
            };
            return Some((i64::from(bytes), i64::from(align)));
        }
        let fields = self.fields_at(ty, depth)?;
        let widest = fields.iter().map(|f| f.align).max().unwrap_or(1);
        let end = fields
            .last()
            .map_or(Some(0), |f| f.offset.checked_add(f.bytes));
        Some((round_up(end?, widest)?, widest))
    }

    /// Bytes of a type, as [`CudaText::fields`] has it.
    pub fn bytes(&self, ty: &str) -> Option<i64> {
        self.bytes_of(ty)
    }

    /// The fields of a structure, or of a vector such as `float4`, in order: those that all have a name and a size that can be told.
    pub fn fields(&self, ty: &str) -> Option<Vec<Field>> {
        let ty = ty.trim();
        let scalar = ty.trim_end_matches(['2', '3', '4']);
        let vector = ty.strip_prefix(scalar).filter(|n| n.len() == 1);
        if let (Some(count), Some(bytes)) = (vector, super::scalar_bytes(ty)) {
            let count: i64 = count.parse().ok()?;
            let each = i64::from(bytes) / count;
            let one = |(name, k): (&str, i64)| Field {
                name: name.to_owned(),
                offset: k * each,
                bytes: each,
                align: each,
                count: 1,
            };
            return Some(
                ["x", "y", "z", "w"]
                    .into_iter()
                    .zip(0..count)
                    .map(one)
                    .collect(),
            );
        }
        self.fields_at(ty, 0)
    }

    fn fields_at(&self, ty: &str, depth: u32) -> Option<Vec<Field>> {
        let name = ty.strip_prefix("struct").map_or(ty, str::trim_start);
        if name.is_empty() || identifier(name) != name {
            return None;
        }
        let body = words(&self.text, name).find_map(|at| {
            let before = self.text[..at].trim_end();
            let rest = self.text[at + name.len()..].trim_start();
            if (before.ends_with("struct") || before.ends_with("class")) && rest.starts_with('{') {
                return Some(&rest[1..1 + matching(&rest[1..], '{', '}')?]);
            }
            // `typedef struct { … } Name;`
            let inside = before.strip_suffix('}')?;
            if !rest.starts_with(';') {
                return None;
            }
            let open = inside.rfind('{')?;
            inside[..open]
                .contains("struct")
                .then(|| &inside[open + 1..])
        })?;
        let mut size = 0i64;
        let mut fields = Vec::new();
        for field in body.split(';').filter(|f| !f.trim().is_empty()) {
            if field.contains(['(', '{', '}', '=']) {
                return None;
            }
            let declarators = split(field);
            let first = self.declared(declarators[0], 0)?;
            for (index, declarator) in declarators.iter().enumerate() {
                let one = match index {
                    0 => first.clone(),
                    _ => self.declared(&format!("{} {declarator}", first.ty), 0)?,
                };
                let (bytes, align) = self.size_and_alignment(&one.ty, depth + 1)?;
                let mut count = 1i64;
                for dim in &one.dims {
                    count = count.checked_mul(self.evaluate(dim)?)?;
                }
                let offset = round_up(size, align)?;
                let bytes = bytes.checked_mul(count)?;
                size = offset.checked_add(bytes)?;
                fields.push(Field {
                    name: one.name,
                    offset,
                    bytes,
                    align,
                    count,
                });
            }
        }
        Some(fields)
    }
}

/// A field of a structure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// Its name.
    pub name: String,
    /// Bytes from the structure's beginning.
    pub offset: i64,
    /// Its bytes, all elements of an array together.
    pub bytes: i64,
    /// Its alignment.
    pub(super) align: i64,
    /// Elements, where it is an array.
    pub count: i64,
}

fn round_up(size: i64, align: i64) -> Option<i64> {
    match size.checked_rem(align)? {
        0 => Some(size),
        over => size.checked_add(align - over),
    }
}

/// Whether the end of a text is in a list of braces, as the arguments of `cudaLaunchKernel` are: `{&a, &n`.
fn in_braces(text: &str) -> bool {
    let mut depth = 0;
    let open = text.chars().rev().take(1000).find(|c| {
        depth += i32::from(")}".contains(*c)) - i32::from("({".contains(*c));
        depth < 0 || *c == ';'
    });
    open == Some('{')
}

/// What a statement does to a name.
enum Write {
    Sets(String),
    Changes,
    Reads,
}
