//! From PTX back to the source that it was compiled from.
//!
//! A `.loc` (PTX ISA, "Debugging Directives: .loc") gives file, line and column of
//! the instructions that follow. For inlined code it also gives the inlined
//! function's name, as a label in `.debug_str`, and the position of the call. That
//! call may stand in inlined code itself; compilers then write a `.loc` for the call
//! first, so the chain continues at the nearest earlier `.loc` of the function that
//! has exactly the call's position:
//!
//! ```text
//! .loc 1 9 103, function_name $L__info_string0, inlined_at 1 15 3
//! .loc 1 6 3, function_name $L__info_string1, inlined_at 1 9 103
//! .loc 1 2 3, function_name $L__info_string2, inlined_at 1 6 3
//! ```
//!
//! says that line 2 was inlined into line 6, that into line 9, and that into line 15
//! of the kernel.
//!
//! Blind spot: compilers write the `.loc` of a call once. Where two inlined copies
//! of the same function are interleaved, code that returns to the first copy is
//! attributed to the callers of the second. The innermost line is always right.

use std::collections::{BTreeMap, HashMap};

use super::ast::*;

/// A line of source code.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SourceLine {
    /// The path as the compiler wrote it; empty where the file is not known.
    pub file: String,
    /// From 1; 0 where the compiler had none.
    pub line: u32,
    /// From 1; 0 where the compiler had none.
    pub column: u32,
    /// The function that the line belongs to, demangled, where known.
    pub function: Option<String>,
}

/// The source locations of a module.
#[derive(Clone, Debug, Default)]
pub struct SourceMap {
    files: BTreeMap<u32, String>,
    /// Every `.loc`, in textual order.
    locs: Vec<Place>,
    /// The index in `locs` of the `.loc` that starts at a byte of the text.
    by_start: HashMap<u32, usize>,
    /// The first of equal `.loc`s, for those that carry no place in the text.
    by_value: HashMap<Loc, usize>,
    names: Vec<String>,
}

/// A `.loc` and what it means.
#[derive(Clone, Debug)]
struct Place {
    loc: Loc,
    /// Index in `names` of the function that the line belongs to.
    function: Option<usize>,
    /// Index in `locs` of the call that was inlined.
    caller: Option<usize>,
}

impl SourceMap {
    /// The locations of `module`.
    pub fn of(module: &Module) -> SourceMap {
        let strings = DebugStrings::of(module);
        let mut map = SourceMap::default();
        let mut names = Names::default();
        for item in &module.items {
            match item {
                Item::File(file) => {
                    map.files.insert(file.index, unescape(&file.name));
                }
                Item::Function(function) => {
                    let name = names.index(&function.name);
                    let body = function.body.as_deref().unwrap_or_default();
                    let mut calls = HashMap::new();
                    let mut add = |loc: &Loc| map.add(loc, name, &mut calls, &strings, &mut names);
                    each_loc(body, &mut add);
                }
                _ => {}
            }
        }
        map.names = names.demangled;
        map
    }

    /// The file that `.file index` names.
    pub fn file(&self, index: u32) -> Option<&str> {
        self.files.get(&index).map(String::as_str)
    }

    /// All files, by index.
    pub fn files(&self) -> impl Iterator<Item = (u32, &str)> {
        self.files
            .iter()
            .map(|(index, name)| (*index, name.as_str()))
    }

    /// Where the code under `loc` comes from: its own line first, then the line of
    /// the call that it was inlined into, and so on out to the function's own
    /// code. Never empty. Where the module has several equal `.loc`s, the span tells
    /// which is meant.
    pub fn chain(&self, loc: &Loc) -> Vec<SourceLine> {
        let start = self.by_start.get(&loc.span.start).copied();
        let exact = start.filter(|&index| self.locs[index].loc == *loc);
        let Some(first) = exact.or_else(|| self.by_value.get(loc).copied()) else {
            return vec![self.line((loc.file, loc.line, loc.column), None)];
        };
        let mut lines = Vec::new();
        let mut seen: Vec<&Loc> = Vec::new();
        let mut next = Some(first);
        while let Some(index) = next {
            let Place {
                loc,
                function,
                caller,
            } = &self.locs[index];
            // Positions that repeat would only lead around in a circle.
            if seen.contains(&loc) {
                break;
            }
            seen.push(loc);
            lines.push(self.line((loc.file, loc.line, loc.column), *function));
            if let (None, Some(at)) = (caller, &loc.inlined) {
                lines.push(self.line((at.file, at.line, at.column), None));
            }
            next = *caller;
        }
        lines
    }

    /// The line of `loc` itself: the first of [`SourceMap::chain`].
    pub fn innermost(&self, loc: &Loc) -> SourceLine {
        self.chain(loc).swap_remove(0)
    }

    fn line(&self, (file, line, column): (u32, u32, u32), function: Option<usize>) -> SourceLine {
        SourceLine {
            file: self.file(file).unwrap_or_default().to_owned(),
            line,
            column,
            function: function.map(|index| self.names[index].clone()),
        }
    }

    /// Adds a `.loc` of the function with the name `own`. `calls` has the
    /// function's earlier ones by position, the latest last.
    fn add(
        &mut self,
        loc: &Loc,
        own: usize,
        calls: &mut HashMap<(u32, u32, u32), Vec<usize>>,
        strings: &DebugStrings,
        names: &mut Names,
    ) {
        let index = self.locs.len();
        let (function, caller) = match &loc.inlined {
            None => (Some(own), None),
            Some(at) => {
                let earlier = calls.get(&(at.file, at.line, at.column));
                let caller = earlier.and_then(|earlier| {
                    earlier
                        .iter()
                        .rev()
                        .copied()
                        .find(|&call| self.locs[call].loc != *loc)
                });
                let name = strings.get(&at.function, at.offset);
                (name.map(|name| names.index(&name)), caller)
            }
        };
        self.by_start.insert(loc.span.start, index);
        self.by_value.entry(loc.clone()).or_insert(index);
        let earlier = calls.entry((loc.file, loc.line, loc.column)).or_default();
        // Each value once, the latest last: positions have few.
        earlier.retain(|&call| self.locs[call].loc != *loc);
        earlier.push(index);
        self.locs.push(Place {
            loc: loc.clone(),
            function,
            caller,
        });
    }
}

/// Calls `visit` for every `.loc` in textual order.
fn each_loc(statements: &[Stmt], visit: &mut impl FnMut(&Loc)) {
    for statement in statements {
        match statement {
            Stmt::Loc(loc) => visit(loc),
            Stmt::Block(inner) => each_loc(inner, visit),
            _ => {}
        }
    }
}

/// Demangled names, each once.
#[derive(Default)]
struct Names {
    index: HashMap<String, usize>,
    demangled: Vec<String>,
}

impl Names {
    fn index(&mut self, name: &str) -> usize {
        if let Some(&index) = self.index.get(name) {
            return index;
        }
        let index = self.demangled.len();
        self.demangled.push(super::names::demangle(name));
        self.index.insert(name.to_owned(), index);
        index
    }
}

/// The bytes of `.debug_str`, and where its labels point.
#[derive(Default)]
struct DebugStrings {
    bytes: Vec<u8>,
    labels: HashMap<String, usize>,
}

impl DebugStrings {
    fn of(module: &Module) -> DebugStrings {
        let mut strings = DebugStrings::default();
        for item in &module.items {
            if let Item::Section(section) = item
                && section.name == ".debug_str"
            {
                section.lines.iter().for_each(|line| strings.line(line));
            }
        }
        strings
    }

    /// A label, or `.b8` with numbers, characters or a string.
    fn line(&mut self, line: &str) {
        if let Some(label) = line.strip_suffix(':') {
            self.labels.insert(label.to_owned(), self.bytes.len());
        } else if let Some(values) = line.strip_prefix(".b8") {
            self.bytes.extend(
                values
                    .split(',')
                    .filter_map(|value| value.trim().parse::<u8>().ok()),
            );
        }
    }

    /// The string that starts `offset` bytes behind `label`.
    fn get(&self, label: &str, offset: u32) -> Option<String> {
        let start = self.labels.get(label)?.checked_add(offset as usize)?;
        let bytes = self.bytes.get(start..)?;
        let length = bytes.iter().position(|&byte| byte == 0)?;
        Some(String::from_utf8_lossy(&bytes[..length]).into_owned())
    }
}

/// A file name without the backslashes that quoting put into it: `\\`, `\"`, and three octal digits for each byte that is not ASCII.
fn unescape(quoted: &str) -> String {
    let mut name = Vec::with_capacity(quoted.len());
    let mut rest = quoted.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        match (byte, after) {
            (b'\\', [escaped @ (b'\\' | b'"'), after @ ..]) => {
                name.push(*escaped);
                rest = after;
            }
            (
                b'\\',
                [
                    a @ b'0'..=b'3',
                    b @ b'0'..=b'7',
                    c @ b'0'..=b'7',
                    after @ ..,
                ],
            ) => {
                name.push((a - b'0') << 6 | (b - b'0') << 3 | (c - b'0'));
                rest = after;
            }
            _ => name.push(byte),
        }
    }
    String::from_utf8_lossy(&name).into_owned()
}
