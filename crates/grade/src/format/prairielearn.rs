//! PrairieLearn's `/grade/results/results.json`.
//!
//! Source: PrairieLearn documentation, "External grading", "Grading result". The score is a share from 0 to 1; what could not be graded at
//! all costs the student no attempt (`gradable: false`). At most 1 MB.

use crate::view::View;
use serde_json::{Value, json};

/// The file's text; `refused` is whether the submission could not be built.
pub fn render(view: &View, refused: bool) -> String {
    let texts = |part: &crate::view::PartView| super::cut(&part.text.join("\n\n"), super::OUTPUT);
    if refused {
        let errors: Vec<String> = view
            .parts
            .iter()
            .map(texts)
            .filter(|t| !t.is_empty())
            .take(1)
            .collect();
        let document = json!({ "gradable": false, "score": 0.0, "format_errors": errors });
        return format!("{document:#}\n");
    }
    let tests: Vec<Value> = view
        .parts
        .iter()
        .map(|part| {
            // Points of all tests, or PrairieLearn shows those of none.
            json!({
                "name": part.title,
                "points": part.earned.unwrap_or(0.0),
                "max_points": if part.earned.is_some() { part.of } else { 0.0 },
                "message": super::text::word(part.state),
                "output": texts(part),
            })
        })
        .collect();
    let message = match view.provisional {
        true => "Some parts have no points yet: a person decides.",
        false => "",
    };
    let share = if view.of > 0.0 {
        view.points / view.of
    } else {
        0.0
    };
    let document = json!({
        "gradable": true,
        "score": share.clamp(0.0, 1.0),
        "message": message,
        "tests": tests,
    });
    format!("{document:#}\n")
}
