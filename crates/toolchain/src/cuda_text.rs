//! What can be read out of CUDA source text without a compiler: names of kernel
//! parameters, declarations of arrays, [launches](host) with what they pass.
//!
//! It is used for names and guesses alone, never for a verdict: a macro or a
//! template that it cannot see through yields `None`. Comments, strings and
//! preprocessor branches are not evaluated beyond blanking comments and strings out.

mod active;
mod agreement;
mod assume;
mod buffers;
mod device_constants;
mod expression;
mod function;
mod host;
mod indirect;
mod macros;
mod scan;
mod statements;
mod unknown;

pub use agreement::{Agreement, Agreements};
pub use assume::{depends, has_shape};
pub use expression::scalar_bytes;
pub use host::{Content, HostArgument, HostBuffer, HostLaunch};
pub use unknown::{Assumed, Missing, Takes, Unknown};

pub use function::Field;
use function::{FunctionText, functions};
use scan::{
    blank, boundary, identifier, last_identifier, launch_brackets, matching, split, window,
    without_directives, words,
};
pub use statements::{Kind, Statement, StatementId, Statements};
use std::collections::{HashMap, HashSet};

/// A declared kernel parameter or array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Declared {
    /// Its type as written, without qualifiers of space: `const float*`, `int`.
    pub ty: String,
    /// Its name.
    pub name: String,
    /// Array dimensions as written.
    pub dims: Vec<String>,
    /// Line of the declaration, from 1.
    pub line: u32,
}

/// Bytes of a statement, at most: what is longer is nothing that we look for, and looking for its end takes quadratic time.
const STATEMENT: usize = 4096;
/// Mentions of a name that are looked at.
const MENTIONS: usize = 1000;

/// A text with comments, string and character literals replaced by spaces: offsets and lines stay.
pub(crate) fn blanked(text: &str) -> String {
    blank(text)
}

/// A source text, comments and strings blanked out, with its constants.
#[derive(Clone, Debug, Default)]
pub struct CudaText {
    text: String,
    constants: HashMap<String, String>,
    /// Function-like macros: parameters and value.
    macros: HashMap<String, (Vec<String>, String)>,
    functions: Vec<FunctionText>,
    /// The constants that are compiled into code for the GPU, which nobody can change.
    compiled: HashSet<String>,
    /// Where it consists of several files: how many lines come before each but the first, and its name.
    files: Vec<(u32, String)>,
}

/// The constants that functions for the GPU mention, by themselves or through others.
fn compiled(
    text: &str,
    functions: &[FunctionText],
    constants: &HashMap<String, String>,
    macros: &HashMap<String, (Vec<String>, String)>,
) -> HashSet<String> {
    let names = |text: &str| -> Vec<String> {
        text.split(|c: char| !c.is_alphanumeric() && c != '_')
            .filter(|word| constants.contains_key(*word) || macros.contains_key(*word))
            .map(str::to_owned)
            .collect()
    };
    let mut found = HashSet::new();
    let mut open: Vec<String> = Vec::new();
    for function in functions.iter().filter(|f| f.device) {
        let body = names(text.get(function.body.clone()).unwrap_or_default());
        // A parameter of the name hides the constant.
        open.extend(
            body.into_iter()
                .filter(|n| !function.parameters.contains(n)),
        );
    }
    while let Some(name) = open.pop() {
        let value = constants
            .get(&name)
            .or(macros.get(&name).map(|(_, value)| value));
        open.extend(
            value
                .map_or(Vec::new(), |value| names(value))
                .into_iter()
                .filter(|inner| !found.contains(inner) && *inner != name),
        );
        found.insert(name);
    }
    found
}

impl CudaText {
    /// Reads several files of a program as one text. The first one's lines are those of the text.
    pub fn of_files(files: &[(String, String)], defines: &[String]) -> CudaText {
        let mut text = String::new();
        let mut starts = Vec::new();
        for (name, one) in files {
            if !text.is_empty() {
                text.push('\n');
                starts.push((text.matches('\n').count() as u32, name.clone()));
            }
            text.push_str(one);
        }
        CudaText {
            files: starts,
            ..CudaText::new(&text, defines)
        }
    }

    /// The file of a line of the text, unless it is the first one, and the line in it.
    pub fn file_of(&self, line: u32) -> (Option<&str>, u32) {
        match self.files.iter().rev().find(|(before, _)| line > *before) {
            Some((before, name)) => (Some(name), line - before),
            None => (None, line),
        }
    }

    /// Reads a text. `defines` are `NAME` or `NAME=VALUE` as given to the compiler.
    pub fn new(text: &str, defines: &[String]) -> CudaText {
        let text = blank(text);
        let mut constants = HashMap::new();
        let mut macros = HashMap::new();
        // A definition goes on behind a backslash.
        for line in text.replace("\\\n", "  ").lines() {
            if let Some(rest) = line.trim_start().strip_prefix('#')
                && let Some(rest) = rest.trim_start().strip_prefix("define")
                && rest.starts_with(char::is_whitespace)
            {
                let rest = rest.trim();
                let name = identifier(rest);
                let value = &rest[name.len()..];
                match value.strip_prefix('(').and_then(|v| v.split_once(')')) {
                    Some((parameters, value)) => {
                        let parameters = split(parameters).into_iter().map(|p| p.trim().to_owned());
                        macros.insert(
                            name.to_owned(),
                            (parameters.collect(), value.trim().to_owned()),
                        );
                    }
                    None if value.starts_with(char::is_whitespace) => {
                        constants.insert(name.to_owned(), value.trim().to_owned());
                    }
                    None => {}
                }
            }
        }
        let text = launch_brackets(&without_directives(&text));
        for keyword in ["constexpr", "const"] {
            for at in words(&text, keyword) {
                let Some(end) = window(&text[at..], STATEMENT).find([';', '{', ')']) else {
                    continue;
                };
                let statement = &text[at..at + end];
                if statement.contains('(') {
                    continue;
                }
                // `const int rows = 64, columns = 32;`
                for declared in split(statement) {
                    if let Some((left, value)) = declared.split_once('=')
                        && let Some(name) = last_identifier(left)
                    {
                        constants
                            .entry(name.to_string())
                            .or_insert_with(|| value.trim().to_string());
                    }
                }
            }
        }
        for define in defines {
            let (name, value) = define.split_once('=').unwrap_or((define, "1"));
            constants.insert(name.to_string(), value.to_string());
        }
        let functions = functions(&text);
        CudaText {
            compiled: compiled(&text, &functions, &constants, &macros),
            functions,
            text,
            constants,
            macros,
            files: Vec::new(),
        }
    }

    /// The parameters of the kernel `name` (without its namespace), if its definition or
    /// declaration can be read.
    pub fn parameters(&self, name: &str) -> Option<Vec<Declared>> {
        // A prototype may well leave the names out.
        let mut prototype = None;
        for at in words(&self.text, name).take(MENTIONS) {
            let before = &self.text[..at];
            let before = &before[boundary(before, at.saturating_sub(STATEMENT))..];
            let head = before
                .rfind([';', '}', '{'])
                .map_or(before, |p| &before[p..]);
            let Some(open) = self.text[at + name.len()..].trim_start().strip_prefix('(') else {
                continue;
            };
            if words(head, "__global__").next().is_none() {
                continue;
            }
            let start = self.text.len() - open.len();
            let inside = &self.text[start..start + matching(open, '(', ')')?];
            let behind = self.text[start + inside.len() + 1..].trim_start();
            let declared = match inside.trim() {
                "" | "void" => Some(Vec::new()),
                _ => split(&self.with_lists(inside))
                    .into_iter()
                    .map(|part| self.parameter(part, start))
                    .collect(),
            };
            match (behind.starts_with('{'), declared) {
                (true, declared) => return declared.or(prototype),
                (false, declared) => prototype = prototype.or(declared),
            }
        }
        prototype.or_else(|| self.parameters_by_macro(name))
    }

    /// A parameter in a list of them; its name is empty where it has none.
    fn parameter(&self, text: &str, start: usize) -> Option<Declared> {
        const QUALIFIERS: [&str; 6] = ["const", "volatile", "unsigned", "signed", "long", "short"];
        const TYPES: [&str; 7] = ["bool", "char", "short", "int", "long", "float", "double"];
        // The last word of `unsigned int` is no name.
        let is_type = |d: &Declared| {
            let mut words = d.ty.split_whitespace();
            let type_word = TYPES.contains(&d.name.as_str()) || d.name.ends_with("_t");
            type_word && words.all(|w| QUALIFIERS.contains(&w))
        };
        if let Some((ty, name)) = through_pointer(text) {
            return Some(Declared {
                ty,
                name,
                dims: Vec::new(),
                line: self.line_of(start),
            });
        }
        let named = self.declared(text, start).filter(|d| !is_type(d));
        named.or_else(|| {
            let ty = text.split('=').next()?.trim();
            let plain = |c: char| c.is_alphanumeric() || "_:<>,*& ".contains(c);
            (!ty.is_empty() && ty.chars().all(plain)).then(|| Declared {
                ty: ty.replace(" *", "*"),
                name: String::new(),
                dims: Vec::new(),
                line: self.line_of(start),
            })
        })
    }

    /// The text without comments.
    pub fn code(&self) -> &str {
        &self.text
    }

    /// The array or variable `name` that is declared `__shared__`, `__device__` or `__constant__`.
    pub fn variable(&self, name: &str) -> Option<Declared> {
        let mut all = words(&self.text, name).take(MENTIONS);
        all.find_map(|at| self.variable_declared(at, name))
    }

    /// The same, in the body of a function of that name (without its namespace). `None` where the text has no such body;
    /// `Some(None)` where none declares it.
    pub fn variable_in(&self, function: &str, name: &str) -> Option<Option<Declared>> {
        let function = function.split('<').next().unwrap_or_default().trim();
        let bodies = self.bodies(function);
        if bodies.is_empty() {
            return None;
        }
        let mut all = words(&self.text, name)
            .filter(|at| bodies.iter().any(|body| body.contains(at)))
            .take(MENTIONS);
        Some(all.find_map(|at| self.variable_declared(at, name)))
    }

    /// Where the bodies of a function stand: there may be several, for other types of parameters.
    fn bodies(&self, function: &str) -> Vec<std::ops::Range<usize>> {
        let all = words(&self.text, function).take(MENTIONS);
        let body = |at: usize| {
            let open = self.text[at + function.len()..]
                .trim_start()
                .strip_prefix('(')?;
            let start = self.text.len() - open.len();
            let behind = self.text[start + matching(open, '(', ')')? + 1..].trim_start();
            let inside = behind.strip_prefix('{')?;
            let start = self.text.len() - inside.len();
            Some(start..start + matching(inside, '{', '}')?)
        };
        all.filter_map(body).collect()
    }

    /// The array or variable that is declared where its name stands, if it is.
    fn variable_declared(&self, at: usize, name: &str) -> Option<Declared> {
        let near = boundary(&self.text, at.saturating_sub(STATEMENT));
        let from = self.text[near..at].rfind([';', '}', '{']);
        let from = from.map_or(near, |p| near + p + 1);
        let end = at + window(&self.text[at..], STATEMENT).find([';', '=', ',', ')'])?;
        let head = without_attributes(&self.text[from..at]);
        let spaces = ["__shared__", "__device__", "__constant__", "__managed__"];
        if !spaces.iter().any(|s| words(&head, s).next().is_some()) || head.contains('(') {
            return None;
        }
        let statement = without_attributes(&self.text[from..end]);
        let declarators = split(&statement);
        let mut declared = self.declared(declarators[0], from)?;
        if let [_, .., last] = declarators[..] {
            // `float a[2], b[3]`: the type is said once.
            declared = self.declared(&format!("{} {last}", declared.ty), from)?;
        }
        declared.line = self.line_of(at);
        (declared.name == name).then_some(declared)
    }

    fn line_of(&self, at: usize) -> u32 {
        self.text[..at].matches('\n').count() as u32 + 1
    }

    fn declared(&self, text: &str, start: usize) -> Option<Declared> {
        let text = text.split('=').next()?;
        let (left, dims) = match text.find('[') {
            Some(at) => (&text[..at], &text[at..]),
            None => (text, ""),
        };
        let name = last_identifier(left)?;
        let ty = &left[..left.trim_end().len() - name.len()];
        // It may stand directly behind the `*`.
        let ty = ty.replace("__restrict__", " ");
        let kept: Vec<&str> = ty
            .split_whitespace()
            .filter(|w| !w.starts_with("__") && *w != "extern" && *w != "static")
            .filter(|w| !w.starts_with("alignas"))
            .collect();
        let dims = dims
            .split('[')
            .skip(1)
            .map(|d| d.split(']').next().unwrap_or("").trim().to_string())
            .collect();
        (!kept.is_empty()).then(|| Declared {
            ty: kept.join(" ").replace(" *", "*"),
            name: name.to_string(),
            dims,
            line: self.line_of(start),
        })
    }
}

/// Type and name of a pointer to an array or a function, whose name stands in the middle: `float (*rows)[256]`, `int (*f)(int)`.
fn through_pointer(text: &str) -> Option<(String, String)> {
    let open = text.find('(')?;
    let inside = text[open + 1..].trim_start().strip_prefix('*')?;
    let close = inside.find(')')?;
    let name = last_identifier(&inside[..close])?;
    let ty = format!("{}(*){}", &text[..open], &inside[close + 1..]);
    let is_name = !name.starts_with("__") && name != "const";
    is_name.then(|| (ty.trim().to_owned(), name.to_owned()))
}

/// A declaration without `__align__(16)`, `alignas(16)` and the like.
fn without_attributes(text: &str) -> String {
    let mut out = text.to_owned();
    for name in ["__align__", "alignas", "__attribute__", "__declspec"] {
        loop {
            let first = words(&out, name).next();
            let Some(at) = first else { break };
            let rest = &out[at + name.len()..];
            let mut depth = 0;
            let close = rest.char_indices().find(|(_, c)| {
                depth += i32::from(*c == '(') - i32::from(*c == ')');
                *c == ')' && depth == 0
            });
            let Some((close, _)) = close else { return out };
            out.replace_range(at..=at + name.len() + close, "");
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"
#define TILE 32 // lanes
constexpr int PAD = TILE + 1;
/* __global__ void scale(int wrong) {} */
struct P { int a; };
extern "C" __global__ void scale(float* __restrict__ data, const P p,
                                 unsigned int n = 3) {
    __shared__ float tile[TILE][PAD], edge[2][TILE];
    extern __shared__ int dyn[];
    const char* s = "scale(";
}
template <int N, typename T>
__global__ __launch_bounds__(256) void reduce(T* in, T (&out)[4]);
int main() {
    dim3 grid(4, 2), block(TILE, 8);
    scale<<<grid, block, 4 * sizeof(float)>>>(d, p, 3);
    scale<<<dim3{2, 2, 2}, 64>>>(d, p, 3);
    scale<<<n / 64, 64>>>(d, p, 3);
    reduce<3, int><<<1, PAD>>>(x);
}
"#;

    #[test]
    fn parameters_may_have_no_name() {
        let text = "__global__ void k(float *map, float /*unused*/, unsigned int, const uint32_t, unsigned n, float *) { }";
        let all = CudaText::new(text, &[]).parameters("k").unwrap();
        let said: Vec<_> = all
            .iter()
            .map(|d| (d.ty.as_str(), d.name.as_str()))
            .collect();
        assert_eq!(
            said,
            [
                ("float*", "map"),
                ("float", ""),
                ("unsigned int", ""),
                ("const uint32_t", ""),
                ("unsigned", "n"),
                ("float*", "")
            ]
        );
    }

    #[test]
    fn each_function_has_its_own_arrays() {
        let text = CudaText::new(
            "__global__ void a(int *x) { __shared__ float s[32]; } template <class T> __global__ void b() { __shared__ T s[64]; } void b(int); __global__ void c() { }",
            &[],
        );
        let of = |function| Some(text.variable_in(function, "s")??.ty);
        assert_eq!(
            (of("a").as_deref(), of("b").as_deref()),
            (Some("float"), Some("T"))
        );
        assert_eq!(text.variable_in("c", "s"), Some(None));
        assert_eq!(text.variable_in("d", "s"), None);
    }

    #[test]
    fn declarations_may_be_aligned() {
        let text = CudaText::new(
            "__global__ void k() { __shared__ __align__(16) float a[64 * 4]; alignas(2 * (4 + 4)) __shared__ int b[2]; }",
            &[],
        );
        let a = text.variable("a").unwrap();
        assert_eq!(
            (a.ty.as_str(), &a.dims[..]),
            ("float", &["64 * 4".to_string()][..])
        );
        assert_eq!(text.variable("b").unwrap().ty, "int");
    }

    #[test]
    fn parameters_have_names_and_types() {
        let text = CudaText::new(TEXT, &[]);
        let all = text.parameters("scale").unwrap();
        let seen: Vec<_> = all
            .iter()
            .map(|p| (p.ty.as_str(), p.name.as_str()))
            .collect();
        assert_eq!(
            seen,
            [("float*", "data"), ("const P", "p"), ("unsigned int", "n")]
        );
        assert_eq!(text.parameters("absent"), None);
    }

    #[test]
    fn names_stand_in_the_middle_of_types() {
        let text = "__global__ void k(float (*rows)[256], int (*f)(int, float), const int *__restrict__ x) { }";
        let all = CudaText::new(text, &[]).parameters("k").unwrap();
        let said: Vec<_> = all
            .iter()
            .map(|d| (d.ty.as_str(), d.name.as_str()))
            .collect();
        let wanted = [
            ("float (*)[256]", "rows"),
            ("int (*)(int, float)", "f"),
            ("const int*", "x"),
        ];
        assert_eq!(said, wanted);
    }

    #[test]
    fn prototypes_leave_names_out() {
        let text =
            "__global__ void k(float *, int);\nint n;\n__global__ void k(float *a, int n) {}\n";
        let all = CudaText::new(text, &[]).parameters("k").unwrap();
        let names: Vec<_> = all.iter().map(|p| p.name.as_str()).collect();
        assert_eq!(names, ["a", "n"]);
    }

    #[test]
    fn arrays_have_dimensions() {
        let text = CudaText::new(TEXT, &["TILE=16".into()]);
        let tile = text.variable("tile").unwrap();
        assert_eq!((tile.ty.as_str(), tile.line), ("float", 8));
        let dims: Vec<_> = tile.dims.iter().map(|d| text.evaluate(d)).collect();
        assert_eq!(dims, [Some(16), Some(17)]);
        let edge = text.variable("edge").unwrap();
        assert_eq!(
            (edge.ty.as_str(), &edge.dims[..]),
            ("float", &["2".to_string(), "TILE".into()][..])
        );
        assert_eq!(text.variable("dyn").unwrap().dims, [""]);
        assert_eq!(text.variable("data"), None);
    }

    #[test]
    fn one_statement_declares_several_constants() {
        let text = CudaText::new(
            "const int rows = 64, columns = rows / 2;\nconst int t[2] = {1, 2};\n",
            &[],
        );
        assert_eq!(
            ["rows", "columns"].map(|name| text.evaluate(name)),
            [Some(64), Some(32)]
        );
    }

    #[test]
    fn constants_that_refer_to_themselves_are_refused() {
        let text = CudaText::new("#define A B\n#define B A\n", &[]);
        assert_eq!(text.evaluate("A + 1"), None);
        assert_eq!(text.evaluate("(2 + 3) * 4 << 1"), Some(40));
        // Each twice the one before: 2⁶⁰ names.
        let doubled: String = (0..60)
            .map(|i| format!("#define M{i} M{0}+M{0}\n", i + 1))
            .collect();
        assert_eq!(CudaText::new(&doubled, &[]).evaluate("M0"), None);
        assert_eq!(text.evaluate("1 / 0"), None);
        assert_eq!(text.evaluate(""), None);
    }

    #[test]
    fn rubbish_does_no_harm() {
        for text in [
            "",
            "__global__ void scale(",
            "scale<<<",
            "\"",
            "/*",
            "scale<<<1,",
            "'\\",
            "é\"é",
        ] {
            let text = CudaText::new(text, &[]);
            assert_eq!(text.parameters("scale"), None);
            assert!(text.launches("scale", 0).is_empty());
            assert_eq!(text.variable("scale"), None);
        }
    }
}
