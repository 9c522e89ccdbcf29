//! Runs the program and shows what a user would see.

use std::path::Path;
use std::process::{Command, Stdio};

/// What a command printed and how it ended, with what differs between machines replaced.
pub fn racetrap(folder: &Path, arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_racetrap"))
        .args(arguments)
        .current_dir(folder)
        .env("NO_COLOR", "1")
        .stdin(Stdio::null())
        .output()
        .expect("the program starts");
    let text = |bytes: &[u8]| {
        String::from_utf8_lossy(bytes).replace(&folder.display().to_string(), "[FOLDER]")
    };
    let mut shown = format!("$ racetrap {}\n", arguments.join(" "));
    for (name, bytes) in [("stdout", &output.stdout), ("stderr", &output.stderr)] {
        if !bytes.is_empty() {
            shown += &format!("--- {name}\n{}", text(bytes));
        }
    }
    match output.status.code() {
        Some(code) => shown + &format!("--- exit status {code}\n"),
        None => shown + "--- killed\n",
    }
}

/// Whether a text has a word to itself. The words of paths, which depend on where this checkout lies, do not count.
pub fn says(text: &str, word: &str) -> bool {
    let text = text.replace(env!("CARGO_MANIFEST_DIR"), "[ROOT]");
    text.split_whitespace()
        .any(|w| w.trim_matches(|c: char| c.is_ascii_punctuation()) == word)
}

#[test]
fn a_word_of_a_path_is_not_said() {
    let root = env!("CARGO_MANIFEST_DIR");
    assert!(says("example/reverse: clean on a GPU", "clean"));
    assert!(!says(&format!("{root}/clean/kernel.cu: no GPU"), "clean"));
    assert!(!says("unclean, /a/clean: cleaner", "clean"));
}
