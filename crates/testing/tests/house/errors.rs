//! Errors say what went wrong as data: an enum or a struct that implements `Error`, never a `String`, whose words nobody can match on. What
//! tests alone use is not looked at.

use racetrap_testing::root;
use std::path::{Path, PathBuf};

#[test]
fn errors_are_no_strings() {
    let mut found = Vec::new();
    let mut files = Vec::new();
    for folder in std::fs::read_dir(root().join("crates")).unwrap() {
        sources(&folder.unwrap().path().join("src"), &mut files);
    }
    sources(&root().join("src"), &mut files);
    assert!(files.len() > 300, "{}", files.len());
    for file in &files {
        let text = std::fs::read_to_string(file).unwrap();
        let product = text.split("\n#[cfg(test)]\nmod ").next();
        let bad = with_string_errors(product.unwrap_or_default());
        found.extend(bad.into_iter().map(|line| (file, line)));
    }
    assert!(found.is_empty(), "errors without data: {found:#?}");
}

/// The sources of a product below a folder.
fn sources(folder: &Path, files: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return;
    };
    for entry in entries {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, files);
        } else if path.extension().is_some_and(|e| e == "rs") && !path.ends_with("tests.rs") {
            files.push(path);
        }
    }
}

/// The lines that name a `Result` whose error is a `String`.
fn with_string_errors(text: &str) -> Vec<usize> {
    let mut lines = Vec::new();
    for (at, name) in text.match_indices("Result<") {
        let inside = &text[at + name.len()..];
        let mut depth = 0;
        let (mut comma, mut end) = (None, None);
        for (at, c) in inside.char_indices() {
            match c {
                '<' | '(' | '[' => depth += 1,
                // That of an arrow closes nothing.
                '>' if inside[..at].ends_with('-') => {}
                '>' if depth == 0 => {
                    end = Some(at);
                    break;
                }
                '>' | ')' | ']' => depth -= 1,
                ',' if depth == 0 => {
                    comma.get_or_insert(at);
                }
                _ => {}
            }
        }
        let error = comma
            .zip(end)
            .and_then(|(from, to)| inside.get(from + 1..to));
        let error = error.unwrap_or_default().trim().trim_end_matches(',');
        if error == "String" {
            lines.push(text[..at].matches('\n').count() + 1);
        }
    }
    lines
}

#[test]
fn errors_that_are_strings_are_seen() {
    let text = "fn a() -> Result<u8, String> {}\nfn b() -> Result<Vec<(u8, String)>, Error> {}\ntype C = Result<\n    fn() -> u8,\n    String,\n>;\n";
    assert_eq!(with_string_errors(text), [1, 3]);
}
