//! The statements of the functions of a CUDA source as a tree, with offsets into the text: which blocks, branches and loops a place is
//! in. By recursive descent over what the preprocessor keeps ([`active`]); expressions are not parsed.
//!
//! Not seen: what macros expand to; a function whose braces do not match has no statements. What it is used for is where to put
//! something into the source, never a verdict.

use super::active::active;
use super::scan::{blank, identifier, matching};
use std::ops::Range;

/// Which statement of a [`Statements`].
pub type StatementId = usize;

/// What a statement is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The body of a function; its `head` is the whole signature.
    Function,
    /// `{ … }`.
    Block,
    /// `if (…) … else …`; its `head` is the condition.
    If,
    /// `for (…) …`; its `head` is what the brackets hold.
    For,
    /// `while (…) …`.
    While,
    /// `do … while (…);`.
    Do,
    /// `switch (…) …`.
    Switch,
    /// `case x:`, `default:`, `name:`.
    Label,
    /// Anything else: an expression, a declaration, `return`.
    Simple,
}

impl Kind {
    /// Whether its body may run several times.
    pub fn is_loop(self) -> bool {
        matches!(self, Kind::For | Kind::While | Kind::Do)
    }
}

/// A statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statement {
    /// What it is.
    pub kind: Kind,
    /// Where it stands, with its semicolon or brace.
    pub span: Range<usize>,
    /// Its condition, or whatever its kind says; empty where it has none.
    pub head: Range<usize>,
    /// The statement that it is a part of.
    pub parent: Option<StatementId>,
    /// Its parts in order: of an `if` what it does, and what it does otherwise.
    pub parts: Vec<StatementId>,
}

/// The statements of a source.
#[derive(Clone, Debug, Default)]
pub struct Statements {
    /// The text without comments, literals, directives and what these leave out; offsets are those of the source.
    pub code: String,
    /// All statements.
    pub all: Vec<Statement>,
    /// The functions.
    pub functions: Vec<StatementId>,
    /// Where lines begin.
    lines: Vec<usize>,
}

/// Statements within each other, at most.
const DEPTH: u32 = 100;
/// Statements of a source, at most.
const MOST: usize = 100_000;
/// Bytes of a source, at most.
const BYTES: usize = 4 << 20;

/// The head of a declaration without the attributes that have brackets: `struct alignas(16) Tile` is no function.
fn without_attributes(head: &str) -> String {
    let mut left = head.to_owned();
    for word in ["alignas", "__align__", "__attribute__", "__declspec"] {
        while let Some(at) = left.find(word) {
            let behind = at + word.len();
            let open = behind + left[behind..].len() - left[behind..].trim_start().len();
            let length = left[open..]
                .strip_prefix('(')
                .and_then(|inside| matching(inside, '(', ')'));
            let end = length.map_or(behind, |length| open + length + 2);
            left.replace_range(at..end, "");
        }
    }
    left
}

impl Statements {
    /// Reads a source as it is compiled with `defines` (`NAME` or `NAME=VALUE`).
    pub fn of(text: &str, defines: &[String]) -> Statements {
        let mut lines = vec![0];
        lines.extend(
            text.bytes()
                .enumerate()
                .filter(|(_, b)| *b == b'\n')
                .map(|(at, _)| at + 1),
        );
        let mut read = Statements {
            lines,
            ..Statements::default()
        };
        // Literals and comments of other characters than ASCII keep their lengths, but not their boundaries.
        let code = active(&blank(text), defines);
        if code.len() != text.len() || text.len() > BYTES {
            return read;
        }
        read.code = code;
        read.read_functions();
        read
    }

    fn read_functions(&mut self) {
        let (mut at, mut from) = (0, 0);
        while let Some(next) = self.code[at..].find([';', '{', '}']) {
            let here = at + next;
            at = here + 1;
            if self.code.as_bytes()[here] != b'{' {
                from = at;
                continue;
            }
            let head = self.code[from..here].trim();
            let first = identifier(head);
            let is_type = ["struct", "class", "union", "namespace"]
                .iter()
                .any(|word| {
                    head.split(|c: char| !c.is_alphanumeric() && c != '_')
                        .any(|w| w == *word)
                });
            if first == "namespace"
                || (is_type && !without_attributes(head).contains('('))
                || (first == "extern" && !head.contains('('))
            {
                from = at;
                continue;
            }
            let Some(length) = matching(&self.code[at..], '{', '}') else {
                break;
            };
            let end = at + length + 1;
            if head.contains('(') {
                let before = (self.all.len(), self.functions.len());
                let signature = from..here;
                let id = self.add(Kind::Function, here..end, signature, None);
                match self.statement(here, id, 0) {
                    Some(found) if found == end => self.functions.push(id),
                    _ => {
                        self.all.truncate(before.0);
                        self.functions.truncate(before.1);
                    }
                }
            }
            at = end;
            from = at;
        }
    }

    fn add(
        &mut self,
        kind: Kind,
        span: Range<usize>,
        head: Range<usize>,
        parent: Option<StatementId>,
    ) -> StatementId {
        let id = self.all.len();
        self.all.push(Statement {
            kind,
            span,
            head,
            parent,
            parts: Vec::new(),
        });
        if let Some(parent) = parent {
            self.all[parent].parts.push(id);
        }
        id
    }

    fn skip_space(&self, at: usize) -> usize {
        let rest = &self.code[at..];
        at + rest.len() - rest.trim_start().len()
    }

    /// The brackets behind a keyword: what they hold, and the offset behind them.
    fn head(&self, at: usize) -> Option<(Range<usize>, usize)> {
        let mut open = self.skip_space(at);
        if identifier(&self.code[open..]) == "constexpr" {
            open = self.skip_space(open + "constexpr".len());
        }
        let rest = self.code[open..].strip_prefix('(')?;
        let length = matching(rest, '(', ')')?;
        Some((open + 1..open + 1 + length, open + length + 2))
    }

    /// Reads the statement at an offset: the offset behind it.
    fn statement(&mut self, at: usize, parent: StatementId, depth: u32) -> Option<usize> {
        if depth > DEPTH || self.all.len() > MOST {
            return None;
        }
        let start = self.skip_space(at);
        if self.code[start..].starts_with('{') {
            let id = self.add(Kind::Block, start..start, start..start, Some(parent));
            let mut at = start + 1;
            loop {
                at = self.skip_space(at);
                match self.code.as_bytes().get(at)? {
                    b'}' => break,
                    _ => at = self.statement(at, id, depth + 1)?,
                }
            }
            self.all[id].span.end = at + 1;
            return Some(at + 1);
        }
        let word = identifier(&self.code[start..]).to_owned();
        let kind = match word.as_str() {
            "if" => Kind::If,
            "for" => Kind::For,
            "while" => Kind::While,
            "do" => Kind::Do,
            "switch" => Kind::Switch,
            "else" => return None,
            _ => return self.simple(start, &word, parent),
        };
        let behind = start + word.len();
        if kind == Kind::Do {
            let id = self.add(kind, start..start, start..start, Some(parent));
            let at = self.statement(behind, id, depth + 1)?;
            let at = self.skip_space(at);
            (identifier(&self.code[at..]) == "while").then_some(())?;
            let (head, at) = self.head(at + "while".len())?;
            let at = self.skip_space(at);
            self.code[at..].starts_with(';').then_some(())?;
            self.all[id].head = head;
            self.all[id].span.end = at + 1;
            return Some(at + 1);
        }
        let (head, at) = self.head(behind)?;
        let id = self.add(kind, start..start, head, Some(parent));
        let mut end = self.statement(at, id, depth + 1)?;
        let next = self.skip_space(end);
        if kind == Kind::If && identifier(&self.code[next..]) == "else" {
            end = self.statement(next + "else".len(), id, depth + 1)?;
        }
        self.all[id].span.end = end;
        Some(end)
    }

    fn simple(&mut self, start: usize, word: &str, parent: StatementId) -> Option<usize> {
        let mut depth = 0;
        let label = ["case", "default"].contains(&word) || {
            let rest = self.code[start + word.len()..].trim_start();
            !word.is_empty() && rest.starts_with(':') && !rest.starts_with("::")
        };
        let bytes = self.code.as_bytes();
        let mut at = start;
        loop {
            match bytes.get(at)? {
                b'(' | b'[' | b'{' => depth += 1,
                b')' | b']' => depth -= 1,
                b'}' if depth > 0 => depth -= 1,
                // A macro that ends its statement itself.
                b'}' => {
                    let id = self.add(Kind::Simple, start..at, at..at, Some(parent));
                    self.all[id].span.end = start + self.code[start..at].trim_end().len();
                    return Some(at);
                }
                b';' if depth <= 0 => break,
                b':' if label && depth == 0 => {
                    let other = |o: Option<&u8>| o == Some(&b':');
                    if !other(bytes.get(at + 1)) && !other(bytes.get(at.wrapping_sub(1))) {
                        self.add(Kind::Label, start..at + 1, at..at, Some(parent));
                        return Some(at + 1);
                    }
                }
                _ => {}
            }
            at += 1;
        }
        self.add(Kind::Simple, start..at + 1, at..at, Some(parent));
        Some(at + 1)
    }

    /// A statement.
    pub fn get(&self, id: StatementId) -> &Statement {
        &self.all[id]
    }

    /// The code of a range.
    pub fn text(&self, range: &Range<usize>) -> &str {
        self.code.get(range.clone()).unwrap_or_default()
    }

    /// The line of an offset, from 1.
    pub fn line_of(&self, offset: usize) -> u32 {
        self.lines.partition_point(|start| *start <= offset) as u32
    }

    /// The offset of a line (from 1) and a column (from 0).
    pub fn offset(&self, line: u32, column: u32) -> Option<usize> {
        let start = *self.lines.get(line.checked_sub(1)? as usize)?;
        let end = self
            .lines
            .get(line as usize)
            .copied()
            .unwrap_or(self.code.len());
        Some((start + column as usize).min(end.saturating_sub(1).max(start)))
    }

    /// The innermost statement at an offset, if it is in a function.
    pub fn at(&self, offset: usize) -> Option<StatementId> {
        let inside = |id: &&StatementId| self.all[**id].span.contains(&offset);
        let mut id = *self.functions.iter().find(inside)?;
        while let Some(part) = self.all[id].parts.iter().find(inside) {
            id = *part;
        }
        Some(id)
    }

    /// A statement and all that it is a part of, from inside out.
    pub fn around(&self, id: StatementId) -> impl Iterator<Item = StatementId> + '_ {
        std::iter::successors(Some(id), |id| self.all[*id].parent)
    }

    /// The function that a statement is in.
    pub fn function_of(&self, id: StatementId) -> StatementId {
        self.around(id).last().unwrap_or(id)
    }

    /// The innermost loop around a statement.
    pub fn loop_of(&self, id: StatementId) -> Option<StatementId> {
        self.around(id)
            .skip(1)
            .find(|id| self.all[*id].kind.is_loop())
    }

    /// A statement and all of its parts.
    pub fn below(&self, id: StatementId) -> Vec<StatementId> {
        let mut found = vec![id];
        let mut at = 0;
        while let Some(next) = found.get(at) {
            found.extend(&self.all[*next].parts);
            at += 1;
        }
        found
    }

    /// The name of a function, without its namespace, and the names of its parameters.
    pub fn signature(&self, function: StatementId) -> Option<(String, Vec<String>)> {
        super::function::signature(self.text(&self.all[function].head))
    }

    /// Whether a function is a kernel.
    pub fn is_kernel(&self, function: StatementId) -> bool {
        self.text(&self.all[function].head).contains("__global__")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
namespace a {
template <int N> __device__ void f(int *x) {
    for (int i = 0; i < N; i++)
        if (i) x[i] = 1; // ;
        else { x[0] = 2; }
    do { x[1]++; } while (x[1] < 3);
    switch (N) { case 1: x[2] = 0; break; default: break; }
    auto g = [&](int k) { return k; };
}
}
struct S { int a; __device__ int b() { return a; } };
";

    #[test]
    fn places_are_in_statements() {
        let read = Statements::of(TEXT, &[]);
        let kinds = |line: u32, column: u32| -> Vec<Kind> {
            let at = read.at(read.offset(line, column).unwrap()).unwrap();
            read.around(at).map(|id| read.get(id).kind).collect()
        };
        use Kind::*;
        assert_eq!(read.functions.len(), 2);
        assert_eq!(kinds(4, 15), [Simple, If, For, Block, Function]);
        assert_eq!(kinds(5, 15), [Simple, Block, If, For, Block, Function]);
        assert_eq!(kinds(6, 9), [Simple, Block, Do, Block, Function]);
        assert_eq!(kinds(7, 26), [Simple, Block, Switch, Block, Function]);
        assert_eq!(kinds(8, 5), [Simple, Block, Function]);
        assert_eq!(read.signature(read.functions[0]).unwrap().0, "f");
        assert_eq!(read.at(read.offset(1, 0).unwrap()), None);
    }

    #[test]
    fn members_of_an_aligned_type_are_functions() {
        let text = "template <int N> struct alignas(16 * (N)) A {\n int x;\n __device__ void f() { x = 1; }\n};\nstruct A<1> g(int n) { return {n}; }";
        let read = Statements::of(text, &[]);
        let heads = read
            .functions
            .iter()
            .map(|f| read.text(&read.get(*f).head).trim());
        assert_eq!(
            heads.collect::<Vec<_>>(),
            ["__device__ void f()", "struct A<1> g(int n)"]
        );
    }

    #[test]
    fn rubbish_has_no_statements() {
        for text in [
            "",
            "void f() { if (",
            "void f() { else; }",
            "void f() { (]; }",
            "void f() {é}",
            "\"é\" void f() { x }",
        ] {
            let read = Statements::of(text, &[]);
            let _ = read.at(text.len() / 2);
        }
        let deep = format!("void f() {{ {} {} }}", "{".repeat(500), "}".repeat(500));
        assert_eq!(Statements::of(&deep, &[]).functions.len(), 0);
    }
}
