//! Launches that don't name their kernel where they stand: through function pointers, tables of them, parameters of functions and
//! templates, and macros.
//!
//! A launch through a parameter is one launch for each caller that passes the kernel: what else that caller passes belongs to it
//! ([`Place::via`]).

use super::CudaText;
use super::function::Place;
use super::host::{Written, parts, strip_casts};
use super::scan::{identifier, last_identifier, matching, split, window, words};

/// Places that are looked at, and bytes of a statement.
const MENTIONS: usize = 200;
const STATEMENT: usize = 4096;
/// How many variables and callers are followed, one of another.
const DEPTH: u32 = 3;

impl CudaText {
    /// The launches that may be of the kernel `name`, though another name stands there.
    pub(super) fn indirect(&self, name: &str) -> Vec<Written> {
        let mut found = Vec::new();
        for (at, _) in self.text.match_indices("<<<").take(MENTIONS) {
            let Some((start, callee)) = callee(&self.text[..at]) else {
                continue;
            };
            let Some(place) = self.place(at).filter(|_| callee != name) else {
                continue;
            };
            let Some((geometry, passed)) = parts(&self.text[at..]) else {
                continue;
            };
            for via in self.leads_to(place, callee, name, 0) {
                let mut launch = self.launch(start, &geometry, &passed, false);
                launch.via = via;
                found.push(launch);
            }
        }
        found
    }

    /// The launches of the kernel `name` by function-like macros.
    pub(super) fn through_macros(&self, name: &str) -> Vec<Written> {
        let mut found = Vec::new();
        let launching = self
            .macros
            .iter()
            .filter(|(_, (_, value))| value.contains("<<<"));
        for (called, (parameters, value)) in launching {
            for at in words(&self.text, called).take(MENTIONS) {
                let launch = || {
                    let rest = window(&self.text[at + called.len()..], STATEMENT).trim_start();
                    let rest = rest.strip_prefix('(')?;
                    let given = split(&rest[..matching(rest, '(', ')')?]);
                    let text = expanded(parameters, value, &given);
                    let open = text.find("<<<")?;
                    let (_, callee) = callee(&text[..open])?;
                    let (geometry, passed) = parts(&text[open..])?;
                    (callee == name).then(|| self.launch(at, &geometry, &passed, false))
                };
                found.extend(launch());
            }
        }
        found
    }

    /// By which calls a name may stand for the kernel at a place; `None` where that needs no certain one. Empty if it does not.
    fn leads_to(&self, place: Place, variable: &str, name: &str, depth: u32) -> Vec<Option<usize>> {
        if depth > DEPTH {
            return Vec::new();
        }
        let is_kernel = |value: &str| words(value, name).next().is_some();
        for at in words(&self.text, variable).take(MENTIONS) {
            let near = self.place(at).is_none_or(|p| p.function == place.function);
            let Some(value) = near
                .then(|| set_to(&self.text[at + variable.len()..]))
                .flatten()
            else {
                continue;
            };
            // `table[i]` of another table.
            let other = last_identifier(value.split(['[', '.', '-']).next().unwrap_or_default());
            let further = other.filter(|other| *other != variable && !is_kernel(value));
            let further = further
                .is_some_and(|other| !self.leads_to(place, other, name, depth + 1).is_empty());
            if is_kernel(value) || further {
                return vec![None];
            }
        }
        let function = &self.functions[place.function];
        let index = function.parameters.iter().position(|p| p == variable);
        let calls = words(&self.text, &function.name).take(MENTIONS);
        let calls = calls.filter(|at| {
            let rest = window(&self.text[at + function.name.len()..], STATEMENT).trim_start();
            let close = rest
                .strip_prefix('<')
                .and_then(|inner| matching(inner, '<', '>'));
            let types = close.map_or("", |close| &rest[1..1 + close]);
            let rest = close.map_or(rest, |close| rest[close + 2..].trim_start());
            let Some(caller) = self.place(*at).filter(|p| p.function != place.function) else {
                return false;
            };
            let passed = || {
                let inner = rest.strip_prefix('(')?;
                let inside = &inner[..matching(inner, '(', ')')?];
                Some(split(inside).get(index?)?.trim())
            };
            match passed() {
                Some(passed) if is_kernel(passed) => true,
                Some(passed) => {
                    let passed = identifier(strip_casts(passed));
                    !passed.is_empty() && !self.leads_to(caller, passed, name, depth + 1).is_empty()
                }
                None => index.is_none() && rest.starts_with('(') && is_kernel(types),
            }
        });
        calls.map(Some).collect()
    }

    /// Whether template arguments as they are written may be those of the kernel: `256`, `BLOCK`, `float`.
    pub(super) fn may_be_template(&self, written: &str, wanted: &[&str]) -> bool {
        let differs = |(written, wanted): (&str, &&str)| {
            let wanted = match wanted.strip_prefix('(').and_then(|w| w.split_once(')')) {
                Some((_, number)) => number,
                None => wanted,
            };
            let wanted = wanted.trim();
            let number = match wanted {
                "true" => Some(1),
                "false" => Some(0),
                _ => wanted
                    .trim_end_matches(['u', 'l', 'U', 'L'])
                    .parse::<i64>()
                    .ok(),
            };
            let known = match written.trim() {
                "true" => Some(1),
                "false" => Some(0),
                other => self.evaluate(other),
            };
            let is_type = |text: &str| super::scalar_bytes(text).is_some();
            match (number, known) {
                (Some(wanted), Some(known)) => wanted != known,
                (None, None) if is_type(wanted) && is_type(written.trim()) => {
                    wanted != written.trim()
                }
                _ => false,
            }
        };
        !split(written).into_iter().zip(wanted).any(differs)
    }
}

/// Where the expression before `<<<` begins, and the name in it that says which kernel: `(*f)`, `table[i].run`, `kernel<T>`.
fn callee(before: &str) -> Option<(usize, &str)> {
    let mut text = window_back(before);
    loop {
        text = text.trim_end();
        text = match text.chars().next_back()? {
            '>' => &text[..opening(text, '<', '>')?],
            ']' => &text[..opening(text, '[', ']')?],
            ')' => {
                let inside = &text[opening(text, '(', ')')? + 1..text.len() - 1];
                let start = inside.find(|c: char| c.is_alphabetic() || c == '_')?;
                &text[..text.len() - 1 - inside.len() + start + identifier(&inside[start..]).len()]
            }
            _ => {
                let name = last_identifier(text)?;
                let outer = text[..text.len() - name.len()].trim_end();
                match outer.strip_suffix("->").or(outer.strip_suffix('.')) {
                    Some(outer) => outer,
                    None => {
                        let end = before.len() - (window_back(before).len() - text.len());
                        return Some((end - name.len(), name));
                    }
                }
            }
        };
    }
}

/// The end of a text, which is all that a launch's expression needs.
fn window_back(text: &str) -> &str {
    let from = super::scan::boundary(text, text.len().saturating_sub(STATEMENT));
    &text[from..]
}

/// Where the bracket opens that the text ends with.
fn opening(text: &str, open: char, close: char) -> Option<usize> {
    let mut depth = 0;
    let found = text.char_indices().rev().find(|(_, c)| {
        depth += i32::from(*c == close) - i32::from(*c == open);
        depth == 0
    });
    found.map(|(at, _)| at)
}

/// What stands behind a variable's name and `=`: `)(int) = k;`, `[] = {k, l};`, `.run = k;`
fn set_to(rest: &str) -> Option<&str> {
    let mut rest = window(rest, STATEMENT);
    let mut brackets = String::new();
    loop {
        rest = rest.trim_start();
        let next = rest.chars().next()?;
        if matches!(next, ')' | '(') {
            brackets.push(next);
        }
        rest = match next {
            ')' => &rest[1..],
            '[' => &rest[matching(&rest[1..], '[', ']')? + 2..],
            '(' => &rest[matching(&rest[1..], '(', ')')? + 2..],
            '.' => {
                let name = rest[1..].trim_start();
                &name[identifier(name).len()..]
            }
            '=' if !rest.starts_with("==") => break,
            // `F f{k};`, `Entry table[] {{k, 1}};`, `void (*f)(int){k};`: but behind `f(int)` or `int f)` stands a function's body.
            '{' if brackets.is_empty() || brackets == ")(" => break,
            _ => return None,
        };
    }
    let value = rest.strip_prefix('=').unwrap_or(rest).trim_start();
    let end = match value.strip_prefix('{') {
        Some(inner) => matching(inner, '{', '}')? + 2,
        None => value.find(';')?,
    };
    Some(&value[..end])
}

/// A macro's value with what it is given in place of its parameters.
fn expanded(parameters: &[String], value: &str, given: &[&str]) -> String {
    let mut out = String::with_capacity(value.len());
    let mut rest = value;
    while let Some(first) = rest.chars().next() {
        let word = identifier(rest);
        let length = word.len().max(first.len_utf8());
        let parameter = parameters.iter().position(|p| p == word);
        match (parameter, parameters.iter().position(|p| p == "...")) {
            (Some(index), _) => out += given.get(index).copied().unwrap_or_default().trim(),
            (None, Some(index)) if word == "__VA_ARGS__" => {
                out += &given.get(index..).unwrap_or_default().join(",");
            }
            _ => out += &rest[..length],
        }
        rest = &rest[length..];
    }
    out
}

#[cfg(test)]
mod tests {
    use crate::cuda_text::{CudaText, HostArgument};

    /// Grid and block of the launches of a kernel, and the integers that they pass.
    type Seen = Vec<(Option<[u32; 3]>, Option<[u32; 3]>, Vec<i64>)>;

    fn launches(text: &str, name: &str) -> Seen {
        let all = CudaText::new(text, &[]).launches(name, 0);
        let integers = |all: &[HostArgument]| {
            let all = all.iter().filter_map(|argument| match argument {
                HostArgument::Integer(value) => Some(*value),
                _ => None,
            });
            all.collect()
        };
        all.iter()
            .map(|l| (l.grid, l.block, integers(&l.arguments)))
            .collect()
    }

    const KERNELS: &str =
        "__global__ void one(float *x, int n) {} __global__ void two(float *x, int n) {}\n";

    fn seen(host: &str) -> [Seen; 2] {
        let text = format!("{KERNELS}{host}");
        ["one", "two"].map(|name| launches(&text, name))
    }

    fn flat(grid: u32, block: u32, n: i64) -> Seen {
        vec![(Some([grid, 1, 1]), Some([block, 1, 1]), vec![n])]
    }

    #[test]
    fn pointers_and_tables() {
        for host in [
            "int main() { void (*f)(float *, int) = one; f<<<2, 64>>>(x, 100); }",
            "typedef void (*F)(float *, int); int main() { F f; f = &one; (*f)<<<2, 64>>>(x, 100); }",
            "void (*const all[])(float *, int) = {one}; int main() { for (int i = 0; i < 1; i++) all[i]<<<2, 64>>>(x, 100); }",
            "struct E { int id; F run; } all[] = {{1, one}}; int main() { all[0].run<<<2, 64>>>(x, 100); }",
            "F all[] = {one}; int main() { F f = all[0]; f<<<2, 64>>>(x, 100); }",
        ] {
            assert_eq!(seen(host), [flat(2, 64, 100), vec![]], "{host}");
        }
    }

    #[test]
    fn bodies_of_functions_are_no_values() {
        // `x` is a parameter of all three; what launches `two` says nothing of `one`.
        let text = "__global__ void one(float *x, int n) { x[n] = 0; }
            __global__ void two(float *x) { x[0] = 1; }
            void run(float *x) { two<<<1, 1000>>>(x); one<<<2, 64>>>(x, 100); }";
        assert_eq!(launches(text, "one"), flat(2, 64, 100));
    }

    #[test]
    fn formatters_put_white_space_into_brackets() {
        let text = "int main() { one << <2, 64 >> > (x, 100); two< < <3, 32> > >(x, 96); A<B<C<int> > > a; }";
        assert_eq!(seen(text), [flat(2, 64, 100), flat(3, 32, 96)]);
    }

    #[test]
    fn each_caller_passes_its_own() {
        for host in [
            "void run(F f, int b, int n) { f<<<n / b, b>>>(x, n); } int main() { run(one, 64, 128); run(two, 32, 96); }",
            "template <F f> void run(int b, int n) { f<<<n / b, b>>>(x, n); } int main() { run<one>(64, 128); run<two>(32, 96); }",
            "template <typename F> void run(F f, int b, int n) { f<<<n / b, b>>>(x, n); } int main() { run(one, 64, 128); F g = two; run(g, 32, 96); }",
        ] {
            let [one, two] = seen(host);
            assert_eq!(one, flat(2, 64, 128), "{host}");
            assert_eq!(two, flat(3, 32, 96), "{host}");
        }
    }

    #[test]
    fn macros_launch() {
        let text = "#define RUN(kernel, blocks, ...) do { \\\n  kernel<<<blocks, 64>>>(__VA_ARGS__); \\\n } while (0)\n";
        let text = format!("{text}{KERNELS}int main() {{\n RUN(one, 2, x, 100);\n}}");
        assert_eq!(launches(&text, "one"), flat(2, 64, 100));
        assert_eq!(launches(&text, "two"), vec![]);
    }

    #[test]
    fn template_arguments_tell_instances_apart() {
        let text = "template <int B> __global__ void k(float *x, int n) {}
            int main() { switch (b) { case 64: k<64><<<2, 64>>>(x, 1); break; case 32: k<32><<<4, 32>>>(x, 2); } }";
        assert_eq!(launches(text, "k<32>"), flat(4, 32, 2));
        assert_eq!(launches(text, "k<(int)64>"), flat(2, 64, 1));
        assert_eq!(launches(text, "k<128>"), vec![]);
        assert_eq!(launches(text, "k").len(), 2);
        let types = "int main() { k<float><<<2, 64>>>(x, 1); k<double><<<4, 32>>>(x, 2); }";
        assert_eq!(launches(types, "k<double>"), flat(4, 32, 2));
    }

    #[test]
    fn rubbish_ends() {
        for text in [
            "<<<",
            ")<<<",
            "]<<<1,1>>>()",
            "int main() { f = f; f<<<1, 1>>>(f); }",
            "int main() { ><<<1,1>>>(); }",
        ] {
            assert_eq!(launches(text, "one"), vec![], "{text}");
        }
        let circle =
            "int main() { a = b; b = a; a<<<1, 1>>>(); } void g(F f) { g(f); f<<<1, 1>>>(); }";
        assert_eq!(launches(circle, "one"), vec![]);
    }
}
