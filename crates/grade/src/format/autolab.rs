//! Autolab's autoresult: the last line that an autograder prints.
//!
//! Source: Autolab documentation, "Guide for Lab Authors" and "Formatted Feedback". The names of the problems are those that the course has
//! defined on Autolab; here they are the parts' ids. A part without points yet is left out.

use crate::result::State;
use crate::view::View;
use serde_json::{Map, Value, json};

/// What is printed: feedback for people, feedback in Autolab's form, and the scores last, each of the latter two on one line.
pub fn render(view: &View) -> String {
    let mut parts = Map::new();
    let mut scores = Map::new();
    for part in &view.parts {
        let mut one = json!({ "passed": part.state == State::Passed });
        if let Some(hint) = part.text.first() {
            one["hint"] = json!(super::cut(hint, 1000));
        }
        parts.insert(part.title.clone(), one);
        if let Some(earned) = part.earned {
            scores.insert(part.id.clone(), json!(earned));
        }
    }
    let feedback =
        json!({ "_presentation": "semantic", "stages": ["Parts"], "Parts": Value::Object(parts) });
    let scores = json!({ "scores": Value::Object(scores) });
    format!("{}\n{feedback}\n{scores}\n", super::text::render(view))
}
