//! Kernels whose heads macros make: `KERNEL(scale)(float *x)`, `DEFINE_SCAN(float)`, `__global__ void k(ARGUMENTS)`.

use super::scan::{boundary, matching, split, window, words};
use super::{CudaText, Declared, MENTIONS, STATEMENT};

/// Macros that are looked at, at most.
const MACROS: usize = 64;

impl CudaText {
    /// The parameters of a kernel whose definition a macro makes, or whose name.
    pub(super) fn parameters_by_macro(&self, name: &str) -> Option<Vec<Declared>> {
        let makes = |body: &str| body.contains("__global__") || body.contains("##");
        let mut all: Vec<_> = self
            .macros
            .iter()
            .filter(|(_, (_, body))| makes(body))
            .collect();
        all.sort_unstable_by_key(|(name, _)| *name);
        all.into_iter()
            .take(MACROS)
            .find_map(|(called, (parameters, body))| {
                let mentions = words(&self.text, called).take(MENTIONS);
                mentions
                    .filter_map(|at| {
                        self.made_at(name, at, called, (&parameters[..], body.as_str()))
                    })
                    .next()
            })
    }

    /// The same where the macro stands at one place.
    fn made_at(
        &self,
        name: &str,
        at: usize,
        called: &str,
        (parameters, body): (&[String], &str),
    ) -> Option<Vec<Declared>> {
        let rest = &self.text[at + called.len()..];
        let open = rest.trim_start().strip_prefix('(')?;
        let open = window(open, STATEMENT);
        let inside = &open[..matching(open, '(', ')')?];
        let made = substituted(body, parameters, &split(inside));
        words(&made, name).next()?;
        let before = &self.text[..at];
        let before = &before[boundary(before, at.saturating_sub(STATEMENT))..];
        let head = before
            .rfind([';', '}', '{'])
            .map_or(before, |p| &before[p + 1..]);
        let tail = &open[inside.len() + 1..];
        // It has no macros of its own, so this ends.
        let one = CudaText::new(&format!("{head}{made}{tail}"), &[]);
        let line = self.line_of(at);
        let mut found = one.parameters(name)?;
        found.iter_mut().for_each(|declared| declared.line = line);
        Some(found)
    }

    /// A list of parameters with what macros stand for that are elements of it: `float *x, SIZES`.
    pub(super) fn with_lists(&self, inside: &str) -> String {
        let each = split(inside).into_iter().map(|part| {
            let value = self.constants.get(part.trim());
            value.map_or(part, |value| value.as_str())
        });
        each.collect::<Vec<_>>().join(",")
    }
}

/// What a macro stands for with these arguments; `##` joins what is beside it.
fn substituted(body: &str, parameters: &[String], arguments: &[&str]) -> String {
    let mut out = String::new();
    let mut rest = body;
    while let Some(start) = rest.find(|c: char| c.is_alphanumeric() || c == '_') {
        out.push_str(&rest[..start]);
        rest = &rest[start..];
        let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_');
        let word = &rest[..end.unwrap_or(rest.len())];
        let place = parameters.iter().position(|p| p == word);
        let argument = place.and_then(|place| arguments.get(place));
        out.push_str(argument.map_or(word, |argument| argument.trim()));
        rest = &rest[word.len()..];
        if out.len() > STATEMENT {
            break;
        }
    }
    out.push_str(rest);
    let parts: Vec<&str> = out.split("##").collect();
    let last = parts.len() - 1;
    let joined = parts.iter().enumerate().map(|(at, part)| {
        let part = if at > 0 { part.trim_start() } else { part };
        if at < last { part.trim_end() } else { part }
    });
    joined.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn macros_make_heads_and_names_and_lists() {
        let text = "#define KERNEL(name) __global__ void name(float *alpha, int beta)\n\
            #define DEFINE(T) __global__ void scan_##T(T *data, \\\n int count) { data[0] = count; }\n\
            #define NAME(x) x ## _f32\n#define SIZES int rows, int columns\n\
            KERNEL(first) { alpha[0] = beta; }\nDEFINE(float)\nextern \"C\" __global__ void NAME(copy)(float *to, const float *from) { }\n\
            __global__ void area(float *x, SIZES) { }\n";
        let text = CudaText::new(text, &[]);
        let names = |kernel: &str| {
            let all = text.parameters(kernel)?;
            Some(
                all.into_iter()
                    .map(|d| d.name)
                    .collect::<Vec<_>>()
                    .join(" "),
            )
        };
        assert_eq!(names("first").as_deref(), Some("alpha beta"));
        assert_eq!(names("scan_float").as_deref(), Some("data count"));
        assert_eq!(names("copy_f32").as_deref(), Some("to from"));
        assert_eq!(names("area").as_deref(), Some("x rows columns"));
        assert_eq!(names("absent"), None);
    }

    #[test]
    fn macros_of_themselves_end() {
        let text = "#define A(x) __global__ A(A(x)##x)\nA(k)(int n) {}\n";
        assert_eq!(CudaText::new(text, &[]).parameters("k"), None);
    }
}
