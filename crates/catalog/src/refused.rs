//! Kernels that must not compile: the compiler's messages, pinned like PTX, compared with what the case expects.
//!
//! The messages of nvcc are stored beside the kernel, for example in
//! `kernels/reduce/cooperative.BUG_GROUP_UNDECLARED.sm_90.diagnostics`, with the same header as pinned PTX
//! ([`super::pinned`]). So such a case can be judged without a compiler, and an edit of either file is detected. If a compiler
//! is installed, a test recreates the messages.
//!
//! Matching is two-way, as with findings. The case must name every error, and the kernel must tag its line (if it has one)
//! with `compile-error`; every named error and every tagged line must occur. Warnings are ignored.

use super::annotation::Fault;
use super::case::Case;
use super::entry::{Catalog, Entry};
use super::pinned::Pin;
use super::tree::Tree;
use report::Verdict;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// The file with the compiler's messages for a case, and its inputs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostics {
    /// The source, the defines and the target.
    pub pin: Pin,
    /// The file: `kernels/scan/naive_global.BUG_SWAP_UNDECLARED.sm_90.diagnostics`.
    pub file: String,
}

impl Diagnostics {
    /// The inputs for a case. One target is enough, because the compiler's front end does not depend on it.
    pub fn new(case: &Case) -> Diagnostics {
        let pin = Pin::new(case, case.simulated());
        let file = format!("{}.diagnostics", pin.ptx.trim_end_matches(".ptx"));
        Diagnostics { pin, file }
    }

    /// The text of the file: header, compiler version (as printed by `nvcc --version`) and messages without absolute paths.
    pub fn text(&self, tree: &Tree, version: &str, messages: &str, root: &str) -> String {
        let body = format!(
            "// Cuda compilation tools, {version}\n{}\n",
            with_relative_paths(messages, root)
        );
        self.pin.file(tree, &body, root)
    }
}

/// The messages files that the catalogue needs, by name, each with a case that needs it.
pub fn diagnostics(catalog: &Catalog) -> BTreeMap<String, (Diagnostics, &Entry)> {
    let mut needed = BTreeMap::new();
    for entry in &catalog.cases {
        if entry.case.refusal().is_some() {
            let of = Diagnostics::new(&entry.case);
            needed.entry(of.file.clone()).or_insert((of, entry));
        }
    }
    needed
}

/// A compiler error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompilerError {
    /// The file and its line, counted from 1; `None` for an error at the end of the source.
    pub place: Option<(String, u32)>,
    /// The compiler's message.
    pub message: String,
}

impl fmt::Display for CompilerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.place {
            Some((file, line)) => write!(f, "{file}:{line}: {}", self.message),
            None => write!(f, "at the end of the source: {}", self.message),
        }
    }
}

/// The errors in nvcc's output: lines such as `kernels/a.cu(12): error: identifier "g" is undefined`, some with a number
/// after the word (`error #20:`), or `At end of source: error: expected a "}"`. The last line states their number. `None` if
/// the numbers differ, so that no error in an unknown format is overlooked.
pub fn errors(said: &str) -> Option<Vec<CompilerError>> {
    let error = |line: &str| -> Option<CompilerError> {
        let (place, rest) = line.split_once(": error")?;
        let (code, message) = rest.split_once(": ")?;
        let place = match place.strip_suffix(')') {
            Some(place) => {
                let (file, number) = place.rsplit_once('(')?;
                Some((file.to_owned(), number.parse().ok()?))
            }
            None if place == "At end of source" => None,
            None => return None,
        };
        let coded = code.is_empty() || code.starts_with(" #");
        coded.then_some(CompilerError {
            place,
            message: message.trim_end().to_owned(),
        })
    };
    let errors: Vec<_> = said.lines().filter_map(error).collect();
    let counted = said.lines().rev().find_map(|line| {
        let (number, _) = line.split_once(" error")?;
        line.contains(" detected in the compilation of ")
            .then(|| number.parse::<usize>().ok())?
    })?;
    (counted == errors.len()).then_some(errors)
}

/// The result of a case: the verdict, its reason in one line and the compiler's messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judged {
    /// `caught` if all errors are as expected, `missed` if one is absent, `false-alarm` if there is an additional one.
    pub verdict: Verdict,
    /// The reason.
    pub summary: String,
    /// The compiler's messages.
    pub said: String,
}

/// Judges a case by its pinned compiler messages.
pub fn judge(catalog: &Catalog, entry: &Entry) -> Judged {
    let file = Diagnostics::new(&entry.case).file;
    let text = catalog.tree.text(&file).unwrap_or_default();
    // The header has three lines and the version one.
    let said: String = text.split_inclusive('\n').skip(4).collect();
    let (verdict, summary) = match errors(&said) {
        None => (
            Verdict::Inconclusive,
            format!("`{file}` does not contain compiler errors"),
        ),
        Some(errors) => compare(entry, &errors),
    };
    Judged {
        verdict,
        summary,
        said: said.trim_end().to_owned(),
    }
}

fn compare(entry: &Entry, errors: &[CompilerError]) -> (Verdict, String) {
    let expected = entry.case.refusal().map_or(&[][..], |r| &r.errors);
    let kernel = entry.kernel_file();
    let lines: BTreeSet<u32> = entry
        .tags
        .iter()
        .filter(|tag| tag.fault == Fault::CompileError)
        .map(|tag| tag.line)
        .collect();
    let tagged = |(file, line): &(String, u32)| *file == kernel && lines.contains(line);
    let known =
        |e: &&CompilerError| expected.contains(&e.message) && e.place.as_ref().is_none_or(tagged);
    if let Some(other) = errors.iter().find(|e| !known(e)) {
        let untagged = match expected.contains(&other.message) {
            true => ", on a line without the tag `compile-error`",
            false => "",
        };
        let summary = format!("unexpected compiler error: {other}{untagged}");
        return (Verdict::FalseAlarm, summary);
    }
    if let Some(missing) = expected
        .iter()
        .find(|message| !errors.iter().any(|e| e.message == **message))
    {
        let summary = format!("the compiler does not report `{missing}`");
        return (Verdict::Missed, summary);
    }
    let found = |line: &u32| {
        errors
            .iter()
            .any(|e| e.place.as_ref().is_some_and(|p| p.1 == *line))
    };
    if let Some(line) = lines.iter().find(|line| !found(line)) {
        let summary = format!("the compiler reports no error at line {line} of {kernel}");
        return (Verdict::Missed, summary);
    }
    let mut summary = "refused by the compiler".to_owned();
    if let Some(first) = errors.first() {
        summary += &format!(": {first}");
    }
    if errors.len() > 1 {
        summary += &format!(", and {} more", errors.len() - 1);
    }
    (Verdict::Caught, summary)
}

/// Makes paths below `root` relative, and rewrites those of toolkit headers to `cuda/include/…`.
fn with_relative_paths(messages: &str, root: &str) -> String {
    let root = format!("{}/", root.trim_end_matches('/'));
    let ends = |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '(' | ')' | ',');
    let mut text = String::with_capacity(messages.len());
    for line in messages.trim().lines() {
        for piece in line.split_inclusive(ends) {
            let path = piece.trim_end_matches(ends);
            let end = &piece[path.len()..];
            let path = match (path.strip_prefix(&root), path.rsplit_once("/include/")) {
                (Some(inside), _) => inside.to_owned(),
                (None, Some((_, header))) if path.starts_with('/') => {
                    format!("cuda/include/{header}")
                }
                _ => path.to_owned(),
            };
            text.push_str(&path);
            text.push_str(end);
        }
        text.truncate(text.trim_end_matches([' ', '\t']).len());
        text.push('\n');
    }
    text.truncate(text.trim_end().len());
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAID: &str = "kernels/a.cu(3): error: identifier \"g\" is undefined\n      g.sync();\n      ^\n\n\
        kernels/a.cu(5): warning #177-D: variable \"i\" was declared but never referenced\n\n\
        kernels/a.cu(7): error #20: identifier \"h\" is undefined\n\n\
        2 errors detected in the compilation of \"kernels/a.cu\".\n";

    /// What is made of the compiler's errors where these are expected, on these lines.
    fn compared(expected: &[&str], lines: &[u32], errors: &[CompilerError]) -> (Verdict, String) {
        let kernel: String = (1..10)
            .map(|line| match lines.contains(&line) {
                true => "x //~[b] compile-error\n",
                false => "x\n",
            })
            .collect();
        let refused = format!(
            "title: t\nkernel: a.cu\ndefines: {{B: }}\ntwin: c\nexpect: {{compiler: {{errors: {expected:?}}}}}"
        );
        let twin =
            "title: t\nkernel: a.cu\nlaunches: [{entry: k}]\nprints: x\nexpect: {simulator: clean}";
        let mut tree = Tree::default();
        for (name, text) in [
            ("kernels/a.cu", kernel),
            ("cases/a/b.yaml", refused),
            ("cases/a/c.yaml", twin.to_owned()),
        ] {
            tree.files.insert(name.to_owned(), text.into());
        }
        let catalog = Catalog::without_ptx(tree, std::path::Path::new("test")).unwrap();
        compare(catalog.find("a/b").unwrap(), errors)
    }

    fn judged(errors: &[&str], lines: &[u32]) -> (Verdict, String) {
        compared(errors, lines, &super::errors(SAID).unwrap())
    }

    const G: &str = "identifier \"g\" is undefined";
    const H: &str = "identifier \"h\" is undefined";

    #[test]
    fn reads_errors_and_no_warnings() {
        let read = errors(SAID).unwrap();
        let read: Vec<_> = read.iter().map(ToString::to_string).collect();
        assert_eq!(
            read,
            [
                format!("kernels/a.cu:3: {G}"),
                format!("kernels/a.cu:7: {H}")
            ]
        );
    }

    #[test]
    fn an_error_that_it_cannot_read_is_not_overlooked() {
        assert_eq!(errors(&SAID.replace("error #20:", "ERROR:")), None);
        assert_eq!(errors("nvcc fatal: no such file"), None);
        assert_eq!(errors(""), None);
    }

    #[test]
    fn what_is_expected_is_caught() {
        let (verdict, summary) = judged(&[G, H], &[3, 7]);
        assert_eq!(verdict, Verdict::Caught);
        assert_eq!(
            summary,
            format!("refused by the compiler: kernels/a.cu:3: {G}, and 1 more")
        );
    }

    #[test]
    fn the_end_of_the_source_is_no_line_to_tag() {
        let said = "At end of source: error: expected a \"}\"\n1 error detected in the compilation of \"kernels/a.cu\".";
        let errors = errors(said).unwrap();
        let judged = |expected: &str| compared(&[expected], &[], &errors).0;
        assert_eq!(judged("expected a \"}\""), Verdict::Caught);
        assert_eq!(judged("expected a \";\""), Verdict::FalseAlarm);
    }

    #[test]
    fn other_errors_are_no_catch() {
        assert_eq!(judged(&[G], &[3, 7]).0, Verdict::FalseAlarm);
        assert_eq!(judged(&[G, H], &[3, 8]).0, Verdict::FalseAlarm);
    }

    #[test]
    fn what_is_left_out_is_a_miss() {
        let missing = judged(&[G, H, "expected a \";\""], &[3, 7]);
        assert_eq!(missing.0, Verdict::Missed);
        assert_eq!(missing.1, "the compiler does not report `expected a \";\"`");
        assert_eq!(judged(&[G, H], &[3, 7, 9]).0, Verdict::Missed);
    }

    #[test]
    fn paths_are_the_same_on_every_machine() {
        let said = "/home/me/repo/kernels/a.cu(3): error: x is a/b (declared at line 7 of /opt/x/bin/..//include/cg/h.h)  \n\n1 error detected in the compilation of \"/home/me/repo/kernels/a.cu\".\n";
        assert_eq!(
            with_relative_paths(said, "/home/me/repo"),
            "kernels/a.cu(3): error: x is a/b (declared at line 7 of cuda/include/cg/h.h)\n\n1 error detected in the compilation of \"kernels/a.cu\"."
        );
    }
}
