//! Decided claims as people and programs read them, one renderer a file.

mod document;
mod json;
mod terminal;

pub use document::document;
pub use json::json;
pub use terminal::terminal;

use super::claim::Ruling;
use super::decide::{Decided, Looked};

/// `27 claims: 10 confirmed, 8 refuted, 9 depend`
pub fn sums(all: &[Decided]) -> String {
    let count = |ruling| all.iter().filter(|d| d.ruling == ruling).count();
    let undecided = match count(Ruling::Undecided) {
        0 => String::new(),
        n => format!(", {n} undecided"),
    };
    let plural = if all.len() == 1 { "" } else { "s" };
    format!(
        "{} claim{plural}: {} confirmed, {} refuted, {} depend on something{undecided}",
        all.len(),
        count(Ruling::Confirmed),
        count(Ruling::Refuted),
        count(Ruling::Depends)
    )
}

fn word(looked: &Looked) -> &'static str {
    match looked.holds {
        Some(true) => "yes",
        Some(false) => "no",
        None => "?",
    }
}

fn one_line(text: &str) -> String {
    let words: Vec<_> = text.split_whitespace().collect();
    words.join(" ").replace('|', "\\|")
}
