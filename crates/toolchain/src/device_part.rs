//! The part of a CUDA source that is compiled for the device, for a compiler that takes no other: NVRTC refuses host functions (NVRTC user
//! guide, "Execution space").
//!
//! A source is cut into what stands at namespace scope: functions, variables, types. Host functions, those whose declaration names
//! neither `__device__` nor `__global__` and is no `constexpr`, are blanked out, so that lines stay what they are. What else the compiler
//! refuses and does not belong to the device ([`HostParts::blank_at`]) can be blanked out, too: variables of types that only the host has.
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
        let on_line = |i: &&Item| i.range.start <= end && i.range.end > start && !i.device;
        let ranges: Vec<Range<usize>> = self
            .items
            .iter()
            .filter(on_line)
            .map(|i| i.range.clone())
            .collect();
        let before = self.text.clone();
        ranges.into_iter().for_each(|range| self.blank(range));
        self.text != before
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
    let ty = !function && words.iter().any(|w| TYPES.contains(w));
    Some(Item {
        range: range.start + skipped..range.end,
        device: marked || ty,
        function,
    })
}

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
