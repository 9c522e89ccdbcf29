//! Classroom 50's `result.json`.
//!
//! Source: foundation50/classroom50, `schemas/result-v1.schema.json` and the documentation "Autograders". What says who submitted what comes
//! from the runner's environment; scores are whole numbers.

use crate::result::State;
use crate::view::View;
use serde_json::{Value, json};

/// What the runner says of a submission.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// `CLASSROOM`
    pub classroom: String,
    /// `ASSIGNMENT`
    pub assignment: String,
    /// `MODE`: `individual` or `group`.
    pub mode: String,
    /// `USERNAME`
    pub owner: String,
    /// `SUBMISSION_TAG`: `submit/…`.
    pub submission: String,
    /// `COMMIT_URL`
    pub commit: String,
    /// `RELEASE_URL`
    pub release: String,
    /// `REVIEW_URL`
    pub review: String,
    /// When: `2026-11-22T12:00:00Z`.
    pub datetime: String,
}

impl Origin {
    /// What the environment says; `get` gives a variable.
    pub fn of(get: impl Fn(&str) -> Option<String>, datetime: String) -> Origin {
        let get = |name: &str| get(name).unwrap_or_default();
        Origin {
            classroom: get("CLASSROOM"),
            assignment: get("ASSIGNMENT"),
            mode: match get("MODE").as_str() {
                "group" => "group".into(),
                _ => "individual".into(),
            },
            owner: get("USERNAME"),
            submission: get("SUBMISSION_TAG"),
            commit: get("COMMIT_URL"),
            release: get("RELEASE_URL"),
            review: get("REVIEW_URL"),
            datetime,
        }
    }
}

/// The file's text.
pub fn render(view: &View, origin: &Origin) -> String {
    let tests: Vec<Value> = view
        .parts
        .iter()
        .map(|part| {
            json!({
                "test-name": part.title,
                "passed": part.state == State::Passed,
                "score": part.earned.unwrap_or(0.0).round() as i64,
                "max-score": part.of.round() as i64,
                "needs-review": part.earned.is_none(),
                "output": super::cut(&part.text.join("\n\n"), super::OUTPUT),
            })
        })
        .collect();
    let sum = |key: &str| tests.iter().filter_map(|t| t[key].as_i64()).sum::<i64>();
    let document = json!({
        "schema": "classroom50/result/v1",
        "classroom": origin.classroom,
        "assignment": origin.assignment,
        "assignment_type": origin.mode,
        "owner": origin.owner,
        "submission": origin.submission,
        "commit": origin.commit,
        "release": origin.release,
        "review": origin.review,
        "datetime": origin.datetime,
        "score": sum("score"),
        "max-score": sum("max-score"),
        "tests": tests,
    });
    format!("{document:#}\n")
}
