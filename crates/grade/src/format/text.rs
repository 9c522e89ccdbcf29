//! A grade as text: what the student sees.

use crate::result::State;
use crate::view::{PartView, View, number};
use std::fmt::Write;

/// A grade in words.
pub fn render(view: &View) -> String {
    let mut out = format!("{}: {}\n\n", view.submission, view.title);
    let width = view
        .parts
        .iter()
        .map(|p| p.title.chars().count())
        .max()
        .unwrap_or(0);
    for part in &view.parts {
        let _ = writeln!(
            out,
            "{:>12}  {:width$}  {}",
            points(part),
            part.title,
            word(part.state)
        );
        for paragraph in &part.text {
            for (index, line) in paragraph.lines().enumerate() {
                let mark = if index == 0 { "- " } else { "  " };
                let _ = writeln!(out, "{:14}{mark}{line}", "");
            }
        }
    }
    let more = match view.provisional {
        true => ", and what a person still has to decide",
        false => "",
    };
    let _ = writeln!(
        out,
        "\n{:>12}  in total{more}",
        format!("{} / {}", number(view.points), number(view.of))
    );
    out
}

fn points(part: &PartView) -> String {
    match part.earned {
        Some(earned) => format!("{} / {}", number(earned), number(part.of)),
        None => format!("? / {}", number(part.of)),
    }
}

/// A state in words.
pub fn word(state: State) -> &'static str {
    match state {
        State::Passed => "passed",
        State::Partial => "partly",
        State::Failed => "failed",
        State::Skipped => "skipped",
        State::NeedsReview => "needs review",
        State::Manual => "read by a person",
    }
}
