//! Looks for texts that an assignment forbids, in code rather than in comments and strings.
//!
//! It reads what stands in the file: a name that macros paste together is not seen.

/// The first text of `all` that stands in the code, with its line.
///
/// A word (`asm`) is found as a whole; in other texts (`thrust/`) blanks do not count.
pub fn forbidden(source: &str, all: &[String]) -> Option<(usize, String)> {
    let code = without_comments(source);
    let found = all.iter().filter_map(|text| {
        let is_word = text.chars().all(is_word_part);
        let at = match is_word {
            true => word(&code, text),
            false => blankless(&code, text),
        }?;
        let line = code[..at].iter().filter(|c| **c == '\n').count() + 1;
        Some((line, text.clone()))
    });
    found.min_by_key(|(line, _)| *line)
}

fn is_word_part(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn word(code: &[char], text: &str) -> Option<usize> {
    let text: Vec<char> = text.chars().filter(|c| !c.is_whitespace()).collect();
    if text.is_empty() {
        return None;
    }
    let ends = |at: Option<usize>| {
        at.and_then(|at| code.get(at))
            .is_none_or(|c| !is_word_part(*c))
    };
    let fits = |at: &usize| {
        code[*at..].starts_with(&text) && ends(at.checked_sub(1)) && ends(Some(at + text.len()))
    };
    (0..code.len()).find(fits)
}

fn blankless(code: &[char], text: &str) -> Option<usize> {
    let text: Vec<char> = text.chars().filter(|c| !c.is_whitespace()).collect();
    if text.is_empty() {
        return None;
    }
    let (places, rest): (Vec<usize>, Vec<char>) = code
        .iter()
        .enumerate()
        .filter(|(_, c)| !c.is_whitespace())
        .unzip();
    let at = rest.windows(text.len()).position(|w| w == text)?;
    Some(places[at])
}

/// The code with blanks for comments and for what strings hold; lines stay where they are. Names in `#include` stay, and lines that
/// are continued count as one.
fn without_comments(source: &str) -> Vec<char> {
    let spliced = source.replace("\r\n", "\n");
    let text: Vec<char> = spliced.chars().collect();
    let mut out: Vec<char> = Vec::with_capacity(text.len());
    let (mut at, mut owed, mut directive) = (0, 0, false);
    while at < text.len() {
        let next = text.get(at + 1).copied();
        match (text[at], next) {
            ('\\', Some('\n')) => {
                owed += 1;
                at += 2;
            }
            ('/', Some('/')) => {
                while at < text.len() && (text[at] != '\n' || text[at - 1] == '\\') {
                    owed += usize::from(text[at] == '\n');
                    at += 1;
                }
            }
            ('/', Some('*')) => {
                let end = text[at + 2..].windows(2).position(|w| w == ['*', '/']);
                let end = end.map_or(text.len(), |e| at + 2 + e + 2);
                out.push(' ');
                out.extend(text[at..end].iter().filter(|c| **c == '\n'));
                at = end;
            }
            (quote @ ('"' | '\''), _) if !directive => {
                out.push(quote);
                at += 1;
                while at < text.len() && text[at] != quote && text[at] != '\n' {
                    at += if text[at] == '\\' { 2 } else { 1 };
                }
                if text.get(at) == Some(&quote) {
                    out.push(quote);
                    at += 1;
                }
            }
            (c, _) => {
                if c == '\n' {
                    out.extend(std::iter::repeat_n('\n', owed));
                    owed = 0;
                    directive = false;
                } else if c == '#' {
                    directive = true;
                }
                out.push(c);
                at += 1;
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("int a; // asm", "asm", None)]
    #[case("/* asm\n */ char *s = \"asm\";", "asm", None)]
    #[case("int plasma;", "asm", None)]
    #[case("\n asm volatile (\"\");", "asm", Some(2))]
    #[case("a\\\nsm(\"\");", "asm", Some(1))]
    #[case("/* x\ny */\n__asm(\"\")", "__asm", Some(3))]
    #[case("#include <thrust/scan.h>", "thrust/", Some(1))]
    #[case("# include \"cub / cub.cuh\"", "cub/", Some(1))]
    #[case("'\"' asm", "asm", Some(1))]
    fn texts_are_found_in_code(
        #[case] source: &str,
        #[case] text: &str,
        #[case] line: Option<usize>,
    ) {
        let found = forbidden(source, &[text.to_owned()]);
        assert_eq!(found.map(|(line, _)| line), line);
    }
}
