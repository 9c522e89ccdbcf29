//! Constants as a function for the GPU knows them.
//!
//! `constexpr int TILE = 32;` in one kernel says nothing of another one, whose own `TILE` may be 128, and a template's parameters have
//! the values that its name tells: `sgemm<128, 8>`. So names are looked up in the function first and in the file then.

use super::CudaText;
use super::assume::How;
use super::expression::{BUDGET, Number, Scope};
use super::function::{CALLERS, Place};
use super::scan::{matching, split};
use std::cell::Cell;
use std::collections::BTreeMap;

/// Functions whose constants are read for one kernel, at most.
const CALLED: usize = 32;
/// Words of a function whose definitions are looked at, at most.
const WORDS: usize = 2000;

/// The name of a function, and the integers among its template's arguments: `("sgemm", [Some(128), None])` of `sgemm<128, float>`.
fn parts(function: &str) -> (&str, Vec<Option<i64>>) {
    let Some((name, rest)) = function.split_once('<') else {
        return (function, Vec::new());
    };
    let inside = &rest[..matching(rest, '<', '>').unwrap_or(rest.len())];
    (
        name.trim(),
        split(inside).into_iter().map(integer).collect(),
    )
}

/// An integer as demanglers write one: `128`, `(int)128`, `8u`, `true`.
fn integer(text: &str) -> Option<i64> {
    let text = text.trim();
    let text = match text.strip_prefix('(') {
        Some(rest) => rest.split_once(')')?.1.trim(),
        None => text,
    };
    match text {
        "true" => Some(1),
        "false" => Some(0),
        number => number.trim_end_matches(['u', 'U', 'l', 'L']).parse().ok(),
    }
}

impl CudaText {
    /// The named integers that a function (without its namespace, with its template arguments) and those that it calls know.
    /// `None` where the text has no such function for the GPU.
    pub fn compiled_integers_of(&self, function: &str) -> Option<Vec<(&str, i64)>> {
        let (first, arguments) = parts(function);
        let mut found: BTreeMap<&str, i64> = BTreeMap::new();
        let mut open = vec![first];
        let mut seen: Vec<&str> = Vec::new();
        while let Some(name) = open.pop() {
            if seen.contains(&name) || seen.len() >= CALLED {
                continue;
            }
            seen.push(name);
            let given = if name == first { &arguments[..] } else { &[] };
            for index in self.of_name(name) {
                let one = &self.functions[index];
                let hides = |word: &&str| one.parameters.iter().any(|p| p == word);
                let body = self.text.get(one.body.clone()).unwrap_or_default();
                let mut words: Vec<&str> = body
                    .split(|c: char| !c.is_alphanumeric() && c != '_')
                    .filter(|word| !word.is_empty() && !hides(word))
                    .collect();
                words.sort_unstable();
                words.dedup();
                let mut at = 0;
                while let Some(&word) = words.get(at) {
                    at += 1;
                    // What a constant is made of counts as well.
                    if let Some(value) = self.constants.get(word).filter(|_| at < WORDS) {
                        let inner = value.split(|c: char| !c.is_alphanumeric() && c != '_');
                        let new: Vec<&str> = inner
                            .filter(|w| self.constants.contains_key(*w) && !words.contains(w))
                            .collect();
                        words.extend(new);
                    }
                    let of_template = one.template.iter().any(|p| p == word);
                    if of_template || self.constants.contains_key(word) {
                        if let Some(Number::Integer(value)) = self.number_in(index, given, word) {
                            found.entry(word).or_insert(value);
                        }
                    } else {
                        let called = self.of_name(word).next();
                        open.extend(called.map(|at| self.functions[at].name.as_str()));
                    }
                }
            }
        }
        let known = self.of_name(first).next();
        known.map(|_| found.into_iter().collect())
    }

    /// Value of a constant integer expression in a function (without its namespace, with its template arguments).
    pub fn evaluate_in(&self, function: &str, expression: &str) -> Option<i64> {
        let (name, arguments) = parts(function);
        let mut all = self.of_name(name);
        match all.find_map(|index| self.number_in(index, &arguments, expression))? {
            Number::Integer(value) => Some(value),
            Number::Float(_) => None,
        }
    }

    /// The functions for the GPU of that name.
    fn of_name(&self, name: &str) -> impl Iterator<Item = usize> {
        let all = self.functions.iter().enumerate();
        all.filter(move |(_, f)| f.device && f.name == name)
            .map(|(index, _)| index)
    }

    /// Value of an expression at the end of a function, as its template's arguments make it.
    fn number_in(
        &self,
        index: usize,
        arguments: &[Option<i64>],
        expression: &str,
    ) -> Option<Number> {
        let function = &self.functions[index];
        let value = |at: usize| arguments.get(at).copied().flatten().map(Number::Integer);
        let names = function.template.iter().enumerate();
        let template: Vec<(String, Option<Number>)> =
            names.map(|(at, name)| (name.clone(), value(at))).collect();
        let budget = Cell::new(BUDGET);
        let scope = Scope {
            text: self,
            place: Some(Place {
                function: index,
                at: function.body.end,
                // What callers pass is no constant.
                callers: CALLERS,
                via: None,
            }),
            how: How::default(),
            template: &template,
            locals: &[],
            budget: &budget,
            depth: 0,
        };
        scope.evaluate(expression)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "
#define WARP 32
constexpr int THREADS = 256, WARPS = THREADS / WARP;
__device__ float all(float x) { const int LANES = WARP; return x * LANES; }
__global__ void small(float *a, int TM) { constexpr int BM = 32; __shared__ float s[BM][BM]; s[0][TM] = all(a[0]); }
__global__ void large(float *a) { constexpr int BM = 128; const int TM = 8, EACH = BM / TM; __shared__ float s[BM][EACH]; }
template <const int BM, typename T, int TM = 4> __global__ void any(T *a) { const int EACH = BM / TM; __shared__ T s[BM * EACH]; }
__global__ void warps(float *a) { __shared__ float s[WARPS]; }
int main() { const int BM = 7; }
";

    #[test]
    fn each_function_has_its_own_constants() {
        let text = CudaText::new(TEXT, &[]);
        let of = |function| text.compiled_integers_of(function);
        assert_eq!(
            of("small"),
            Some(vec![("BM", 32), ("LANES", 32), ("WARP", 32)])
        );
        assert_eq!(
            of("large"),
            Some(vec![("BM", 128), ("EACH", 16), ("TM", 8)])
        );
        assert_eq!(
            of("any<(int)64, float, 2>"),
            Some(vec![("BM", 64), ("EACH", 32), ("TM", 2)])
        );
        assert_eq!(
            of("warps"),
            Some(vec![("THREADS", 256), ("WARP", 32), ("WARPS", 8)])
        );
        assert_eq!(of("main"), None);
        assert_eq!(text.evaluate_in("large", "BM * 2"), Some(256));
        assert_eq!(
            text.evaluate_in("any<64u, float, 2>", "BM * EACH"),
            Some(2048)
        );
        assert_eq!(text.evaluate_in("any<float>", "BM"), None);
    }

    #[test]
    fn arguments_of_templates_are_read() {
        let said = parts("k<(int)128, A<3, 4>, true, -5, 8ul>");
        assert_eq!(
            said,
            ("k", vec![Some(128), None, Some(1), Some(-5), Some(8)])
        );
        assert_eq!(parts("k"), ("k", vec![]));
    }
}
