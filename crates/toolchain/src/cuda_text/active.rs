//! Which lines of a source the preprocessor keeps, as far as that can be told without one.
//!
//! `#if` and its kin are followed for what defines given on the command line and in the text decide: `#ifdef`, `#ifndef`,
//! `defined(X)`, `X`, a number, each negated or joined by `&&` and `||`. What stays unknown (`__CUDA_ARCH__`, comparisons, headers) is
//! taken to hold, so that its first alternative is kept.

use super::scan::identifier;
use std::collections::HashMap;

/// The same text, every offset unchanged, with directives and the lines that they leave out replaced by spaces.
pub(super) fn active(text: &str, defines: &[String]) -> String {
    let mut known: HashMap<String, String> = HashMap::new();
    for define in defines {
        let (name, value) = define.split_once('=').unwrap_or((define, "1"));
        known.insert(name.to_owned(), value.to_owned());
    }
    let mut out = String::with_capacity(text.len());
    // For each open `#if`: whether its present part is kept, and whether one has been.
    let mut open: Vec<(bool, bool)> = Vec::new();
    let mut continued = false;
    for line in text.split_inclusive('\n') {
        let code = line.trim();
        let directive = code.strip_prefix('#').map(str::trim_start);
        let kept = open.iter().all(|(kept, _)| *kept);
        let was_continued = continued;
        continued = (directive.is_some() || continued) && code.ends_with('\\');
        if let (Some(directive), false) = (directive, was_continued) {
            let word = identifier(directive);
            let rest = directive[word.len()..].trim();
            match word {
                "if" | "ifdef" | "ifndef" => {
                    let holds = match word {
                        "ifdef" => known.contains_key(identifier(rest)),
                        "ifndef" => !known.contains_key(identifier(rest)),
                        _ => holds(rest, &known, 0).unwrap_or(true),
                    };
                    open.push((holds, holds));
                }
                "elif" => {
                    if let Some((kept, done)) = open.last_mut() {
                        *kept = !*done && holds(rest, &known, 0).unwrap_or(true);
                        *done |= *kept;
                    }
                }
                "else" => {
                    if let Some((kept, done)) = open.last_mut() {
                        *kept = !*done;
                        *done = true;
                    }
                }
                "endif" => {
                    open.pop();
                }
                "define" if kept => {
                    let name = identifier(rest);
                    let value = rest[name.len()..].trim();
                    known.entry(name.to_owned()).or_insert(value.to_owned());
                }
                "undef" if kept => {
                    known.remove(identifier(rest));
                }
                _ => {}
            }
        }
        match directive.is_some() || was_continued || !kept {
            true => out.extend(line.bytes().map(|b| if b == b'\n' { '\n' } else { ' ' })),
            false => out.push_str(line),
        }
    }
    out
}

/// Alternatives and negations that are followed.
const DEPTH: u32 = 16;

/// Whether a condition of the preprocessor holds; `None` where that is unknown.
fn holds(condition: &str, known: &HashMap<String, String>, depth: u32) -> Option<bool> {
    let text = condition.trim();
    if depth > DEPTH {
        return None;
    }
    let inner = |part: &str| holds(part, known, depth + 1);
    if let Some((left, right)) = text.split_once("||") {
        return match (inner(left), inner(right)) {
            (Some(true), _) | (_, Some(true)) => Some(true),
            (left, right) => left.zip(right).map(|(a, b)| a || b),
        };
    }
    if let Some((left, right)) = text.split_once("&&") {
        return match (inner(left), inner(right)) {
            (Some(false), _) | (_, Some(false)) => Some(false),
            (left, right) => left.zip(right).map(|(a, b)| a && b),
        };
    }
    if let Some(rest) = text.strip_prefix('!').filter(|r| !r.starts_with('=')) {
        return inner(rest).map(|b| !b);
    }
    if let Some(rest) = text.strip_prefix("defined") {
        let name = rest.trim().trim_matches(['(', ')', ' ']);
        return (identifier(name) == name).then(|| known.contains_key(name));
    }
    if let Ok(number) = text.parse::<i64>() {
        return Some(number != 0);
    }
    // A name that nobody defines is 0 (C++, "Conditional inclusion"), except those of compilers.
    (identifier(text) == text && !text.is_empty() && !text.starts_with("__"))
        .then(|| known.get(text).map_or(Some(false), |value| inner(value)))?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_are_left_out_are_blank() {
        let text = "#define A 1\n#ifdef A\none\n#else\ntwo\n#endif\n#if !defined(B) && A\nthree\n#endif\n#if __CUDA_ARCH__ > 7\nfour\n#else\nfive\n#endif\n#ifndef BUG\nsix\n#endif\n#if 0\nseven\n#elif B\neight\n#else\nnine\n#endif\n";
        let of = |defines: &[&str]| {
            let defines: Vec<String> = defines.iter().map(|d| (*d).to_owned()).collect();
            let out = active(text, &defines);
            assert_eq!(out.len(), text.len());
            out.split_whitespace()
                .map(str::to_owned)
                .collect::<Vec<_>>()
        };
        assert_eq!(of(&[]), ["one", "three", "four", "six", "nine"]);
        assert_eq!(of(&["BUG", "B"]), ["one", "four", "eight"]);
    }
}
