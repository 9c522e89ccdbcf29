//! The part of a CUDA source that is compiled for the device, for a compiler that takes no other: NVRTC refuses host functions (NVRTC user
//! guide, "Execution space").
//!
//! A source is cut into what stands at namespace scope: functions, variables, types. Host functions, those whose declaration names
//! neither `__device__` nor `__global__` and is no `constexpr`, are blanked out, so that lines stay what they are. What else the compiler
//! refuses and does not belong to the device ([`HostParts::blank_at`]) can be blanked out, too: variables of types that only the host has,
//! host functions inside of types, and types that hold what only the host has.
//!
//! Limitations: preprocessor conditions are not evaluated, and a macro that makes a whole function is not seen as one.

use crate::cuda_text::blanked;
use std::ops::Range;

/// Something at namespace scope.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Item {
    range: Range<usize>,
    /// Whether it is marked for the device, or may be needed there: a type, a template of one, a constant expression.
    device: bool,
    /// Whether it is a function with a body.
    function: bool,
    /// The body of a type that nothing in it marks for the device.
    plain_type: Option<Range<usize>>,
}

/// A source whose host parts can be blanked out.
#[derive(Clone, Debug)]
pub struct HostParts {
    text: String,
    items: Vec<Item>,
}

impl HostParts {
    /// Reads a source.
    pub fn new(text: &str) -> HostParts {
        HostParts {
            text: text.to_owned(),
            items: items(&without_directives(&blanked(text))),
        }
    }

    /// The source as it is now.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Blanks all host functions out.
    pub fn blank_functions(&mut self) {
        let hosts = self.items.iter().filter(|i| i.function && !i.device);
        let ranges: Vec<Range<usize>> = hosts.map(|i| i.range.clone()).collect();
        ranges.into_iter().for_each(|range| self.blank(range));
    }

    /// Blanks out what is on a line, counted from 1, and does not belong to the device. Gives whether anything changed.
    pub fn blank_at(&mut self, line: u32) -> bool {
        let start: usize = self
            .text
            .split_inclusive('\n')
            .take(line.saturating_sub(1) as usize)
            .map(str::len)
            .sum();
        let rest = self.text.get(start..).unwrap_or_default();
        let end = start + rest.lines().next().map_or(0, str::len);
        let on_line = |i: &&Item| i.range.start <= end && i.range.end > start;
        let here: Vec<Item> = self.items.iter().filter(on_line).cloned().collect();
        let before = self.text.clone();
        for item in here {
            match &item.plain_type {
                Some(body) => self.blank_in_type(&item, body.clone(), start..end),
                None if !item.device => self.blank(item.range),
                None => {}
            }
        }
        self.text != before
    }

    /// Blanks the host functions of a type that are on a line, or the type, where the line has none.
    fn blank_in_type(&mut self, item: &Item, body: Range<usize>, line: Range<usize>) {
        let inside = items(&without_directives(&blanked(&self.text[body.clone()])));
        let moved = |range: Range<usize>| range.start + body.start..range.end + body.start;
        let functions: Vec<Range<usize>> = inside
            .into_iter()
            .filter(|i| i.function && !i.device)
            .map(|i| moved(i.range))
            .filter(|range| range.start <= line.end && range.end > line.start)
            .collect();
        match functions.is_empty() {
            true => self.blank(item.range.clone()),
            false => functions.into_iter().for_each(|range| self.blank(range)),
        }
    }

    /// Puts spaces in place of everything but line ends.
    fn blank(&mut self, range: Range<usize>) {
        let spaces: String = self.text[range.clone()]
            .chars()
            .map(|c| match c {
                '\n' => "\n".to_owned(),
                c => " ".repeat(c.len_utf8()),
            })
            .collect();
        self.text.replace_range(range, &spaces);
    }
}

/// Directives blanked out, with the lines that continue them.
fn without_directives(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut inside = false;
    for line in text.split_inclusive('\n') {
        let directive = inside || line.trim_start().starts_with('#');
        inside = directive && line.trim_end().ends_with('\\');
        match directive {
            true => out.extend(line.bytes().map(|b| if b == b'\n' { '\n' } else { ' ' })),
            false => out.push_str(line),
        }
    }
    out
}

/// What stands at namespace scope in a text without comments, strings and directives.
fn items(text: &str) -> Vec<Item> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    let mut start = 0;
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b';' => {
                found.extend(item(text, start..at + 1, None));
                (start, at) = (at + 1, at + 1);
            }
            b'{' => {
                let head = &text[start..at];
                if is_namespace(head) {
                    (start, at) = (at + 1, at + 1);
                    continue;
                }
                let mut end = closing(bytes, at);
                let function = is_function(head);
                if !function {
                    // A type or an initialiser goes on to its semicolon.
                    end += text[end..].find(';').map_or(0, |more| more + 1);
                }
                found.extend(item(text, start..end, Some(at)));
                (start, at) = (end, end);
            }
            // The end of a namespace.
            b'}' => (start, at) = (at + 1, at + 1),
            b'(' | b'[' => at = closing(bytes, at),
            _ => at += 1,
        }
    }
    found
}

fn item(text: &str, range: Range<usize>, body: Option<usize>) -> Option<Item> {
    let head = &text[range.start..body.unwrap_or(range.end)];
    let skipped = head.len() - head.trim_start().len();
    if head.trim().is_empty() {
        return None;
    }
    let function = body.is_some() && is_function(head);
    const MARKS: [&str; 6] = [
        "__device__",
        "__global__",
        "__constant__",
        "__shared__",
        "__managed__",
        "constexpr",
    ];
    const TYPES: [&str; 8] = [
        "struct",
        "class",
        "union",
        "enum",
        "using",
        "typedef",
        "template",
        "static_assert",
    ];
    let words: Vec<&str> = head
        .split(|c: char| !c.is_alphanumeric() && c != '_')
        .collect();
    let marked = words
        .iter()
        .any(|w| MARKS.contains(w) || w.ends_with("DEVICE") || w.ends_with("INLINE"));
    // A declaration of a function, or an instance of one, is no type, whatever its template's parameters are.
    let declared = without_parameters(head);
    let prototype = body.is_none() && declared.contains('(') && head.contains("template");
    let ty = !function && !prototype && words.iter().any(|w| TYPES.contains(w));
    let class = ty
        && words
            .iter()
            .any(|w| ["struct", "class", "union"].contains(w));
    let body = body.map(|at| at + 1..closing(text.as_bytes(), at).saturating_sub(1));
    let unmarked = |body: &Range<usize>| !MARKS[..5].iter().any(|m| text[body.clone()].contains(m));
    Some(Item {
        range: range.start + skipped..range.end,
        device: marked || ty,
        function,
        plain_type: body
            .filter(|body| class && !marked && body.start <= body.end && unmarked(body)),
    })
}

/// A declaration without the parameters of its template.
fn without_parameters(head: &str) -> &str {
    let rest = head.trim_start();
    let Some(list) = rest.strip_prefix("template").map(str::trim_start) else {
        return rest;
    };
    if !list.starts_with('<') {
        return list;
    }
    let mut depth = 0i32;
    for (at, c) in list.char_indices() {
        depth += i32::from(c == '<') - i32::from(c == '>');
        if depth == 0 {
            return &list[at + 1..];
        }
    }
    list
}

/// The templates that a source launches, with their arguments: `scale<float>` of `scale<float><<<1, 32>>>(p)`. Each once, in order.
pub fn instances(source: &str) -> Vec<String> {
    let text = blanked(source);
    let mut found: Vec<String> = Vec::new();
    for (at, _) in text.match_indices("<<<") {
        let before = text[..at].trim_end();
        if !before.ends_with('>') {
            continue;
        }
        let mut depth = 0i32;
        let mut open = None;
        for (index, c) in before.char_indices().rev().take(LONGEST) {
            depth += i32::from(c == '>') - i32::from(c == '<');
            match (c, depth) {
                ('<', 0) => {
                    open = Some(index);
                    break;
                }
                (';' | '{' | '}', _) => break,
                _ => {}
            }
        }
        let Some(open) = open else { continue };
        let name = before[..open].trim_end();
        let start = name.rfind(|c: char| !c.is_alphanumeric() && c != '_' && c != ':');
        let name = &name[start.map_or(0, |at| at + 1)..];
        let instance = format!("{name}{}", &before[open..]);
        let first = name.chars().next();
        if first.is_some_and(|c| c.is_alphabetic() || c == '_') && !found.contains(&instance) {
            found.push(instance);
        }
    }
    found
}

/// Characters that a template's arguments are looked for in.
const LONGEST: usize = 500;

fn is_namespace(head: &str) -> bool {
    let head = head.trim();
    let first = head.split_whitespace().next().unwrap_or_default();
    // The language of `extern "C" {` is blanked out with the other strings.
    let linkage = head
        .strip_prefix("extern")
        .is_some_and(|rest| rest.chars().all(|c| c.is_whitespace() || c == '"'));
    first == "namespace" || head.starts_with("inline namespace") || linkage
}

/// Whether a declaration in front of a brace is that of a function: it has parameters, and is no type and no initialiser.
fn is_function(head: &str) -> bool {
    let parameters = head.find('(');
    let assigned = head
        .find('=')
        .is_some_and(|at| Some(at) < parameters && !head.contains("operator"));
    let words = head
        .split(|c: char| !c.is_alphanumeric() && c != '_')
        .filter(|w| !w.is_empty());
    let mut after_template = words.skip_while(|w| ["template", "typename"].contains(w));
    let first = after_template.next().unwrap_or_default();
    let ty = ["struct", "class", "union", "enum"].contains(&first) && !head.contains(')');
    parameters.is_some() && !assigned && !ty
}

/// Where the bracket that opens at `at` is closed, one behind it; the end where it is not.
fn closing(bytes: &[u8], at: usize) -> usize {
    let mut depth = 0usize;
    for (offset, byte) in bytes[at..].iter().enumerate() {
        match byte {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            return at + offset + 1;
        }
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = r#"#include <vector>
#define CHECK(call) do { if (call) abort(); } \
    while (0)
namespace own {
__device__ int twice(int x) { return 2 * x; }
constexpr int SIZE = 4;
template <class T> struct Pair { T a, b; };
}
extern "C" __global__ void k(int *p) { p[0] = own::twice(p[1]); } // not } this
template <class T> void show(const T &t) { printf("{%d", t); }
static std::vector<int> numbers = {1, 2};
int main()
{
    int *p;
    CHECK(cudaMalloc(&p, 8));
    k<<<1, 1>>>(p);
}
"#;

    #[test]
    fn host_functions_are_blanked_out_and_lines_stay() {
        let mut parts = HostParts::new(SOURCE);
        parts.blank_functions();
        let text = parts.text().to_owned();
        assert_eq!(text.lines().count(), SOURCE.lines().count());
        for kept in [
            "int twice(int x) { return",
            "SIZE = 4",
            "struct Pair",
            "void k(int *p) {",
            "#define CHECK",
            "numbers",
        ] {
            assert!(text.contains(kept), "{kept}: {text}");
        }
        for gone in ["main", "cudaMalloc", "show"] {
            assert!(!text.contains(gone), "{gone}: {text}");
        }
        assert!(parts.blank_at(11) && !parts.text().contains("numbers"));
        assert!(!parts.blank_at(9) && parts.text().contains("void k"));
    }

    #[test]
    fn templates_that_are_launched_are_found() {
        let source = "k<16><<<1, 2>>>(p); own::k<Pair<int, 2>, T> <<<g, b>>>(p); plain<<<1, 1>>>(); k<16><<<3, 2>>>(p); // k<8><<<1, 1>>>\n\
                      x = a < b; >><<<";
        assert_eq!(instances(source), ["k<16>", "own::k<Pair<int, 2>, T>"]);
    }

    #[test]
    fn host_templates_are_blanked_out() {
        let source = "template <class T> void run(int n);\ntemplate void run<int>(int n);\ntemplate <class T> struct Both { T x; };\n\
                      template __global__ void k<int>(int *);\n";
        let mut parts = HostParts::new(source);
        assert!(parts.blank_at(1) && parts.blank_at(2) && !parts.blank_at(4));
        assert!(!parts.text().contains("run") && parts.text().contains("k<int>"));
    }

    #[test]
    fn host_parts_of_types_are_blanked_out() {
        let source = "struct Buffer {\n    float *data;\n    Buffer() { cudaMalloc(&data, 4); }\n    ~Buffer() {}\n};\n\
                      struct Clock {\n    std::chrono::seconds start;\n};\n\
                      struct Both {\n    __device__ int get() { return 1; }\n    void show() { puts(0); }\n};\n";
        let mut parts = HostParts::new(source);
        assert!(parts.blank_at(3));
        assert!(!parts.text().contains("cudaMalloc") && parts.text().contains("~Buffer() {}"));
        assert!(parts.text().contains("float *data;"));
        assert!(parts.blank_at(7));
        assert!(!parts.text().contains("Clock"));
        // What is marked for the device stays.
        assert!(!parts.blank_at(10) && parts.text().contains("__device__ int get()"));
        assert_eq!(parts.text().lines().count(), source.lines().count());
    }

    #[test]
    fn any_text_is_cut_up() {
        for text in [
            "",
            "}",
            "{",
            "int f(",
            "x = {",
            "#",
            "\\",
            "é{é}é;",
            "int f() {",
        ] {
            let mut parts = HostParts::new(text);
            parts.blank_functions();
            for line in 0..4 {
                let _ = parts.blank_at(line);
            }
            assert_eq!(parts.text().len(), text.len());
        }
    }
}
