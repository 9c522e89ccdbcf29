//! Gradescope's `results.json`.
//!
//! Source: Gradescope Autograder Documentation, "Autograder Specifications", "Output Format". A test without a score is
//! informational, and its status is given; the sum of the tests' scores is the submission's. Whatever is told only after the due date
//! is a test of its own, which Gradescope shows then.

use crate::assignment::Assignment;
use crate::result::{Graded, PartResult, State};
use crate::view::{PartView, When, part_view, view};
use serde_json::{Value, json};

/// The file's text. It is whole at any time, also of a grade that is still being made.
pub fn render(graded: &Graded, assignment: &Assignment) -> String {
    let mut tests: Vec<Value> = Vec::new();
    for (index, part) in graded.parts.iter().enumerate() {
        let before = part_view(graded, assignment, part, When::BeforeDue);
        let after = part_view(graded, assignment, part, When::AfterDue);
        let number = (index + 1).to_string();
        tests.push(test(part, &before, &number));
        if after.text != before.text && !after.text.is_empty() {
            tests.push(json!({
                "name": format!("{}: more", part.title),
                "number": format!("{number}.1"),
                "status": status(part),
                "output": super::cut(&after.text.join("\n\n"), super::OUTPUT),
                "output_format": "text",
                "visibility": "after_due_date",
            }));
        }
    }
    let seen = view(graded, assignment, When::BeforeDue);
    let output = match seen.provisional {
        true => "Some parts have no points yet: a person decides.",
        false => "",
    };
    let document = json!({
        "execution_time": graded.provenance.seconds.ceil(),
        "output": output,
        "output_format": "text",
        "test_output_format": "text",
        "stdout_visibility": "hidden",
        "extra_data": {
            "sha256": graded.submission.sha256,
            "assignment": graded.provenance.assignment,
            "racetrap": graded.provenance.racetrap,
        },
        "tests": tests,
    });
    format!("{document:#}\n")
}

/// What is there before anything is known, and where grading failed for a reason of the machine: students see that it is not their fault, and
/// those who teach see why.
pub fn failed(why: &str) -> String {
    let document = json!({
        "output": "The autograder failed. This is not your fault: ask the staff to look at it.",
        "stdout_visibility": "hidden",
        "tests": [
            {
                "name": "Autograder",
                "status": "failed",
                "score": 0,
                "max_score": 0,
                "output": "The autograder failed.",
                "visibility": "visible",
            },
            {
                "name": "Autograder: why",
                "status": "failed",
                "output": super::cut(why, super::OUTPUT),
                "visibility": "hidden",
            },
        ],
    });
    format!("{document:#}\n")
}

fn test(part: &PartResult, shown: &PartView, number: &str) -> Value {
    let mut test = json!({
        "name": part.title,
        "number": number,
        "status": status(part),
        "output": super::cut(&shown.text.join("\n\n"), super::OUTPUT),
        "output_format": "text",
        "visibility": part.visibility,
        "tags": [part.id],
    });
    if let Some(earned) = part.earned {
        test["score"] = json!(earned);
        test["max_score"] = json!(part.of);
    }
    test
}

fn status(part: &PartResult) -> &'static str {
    match part.state == State::Passed {
        true => "passed",
        false => "failed",
    }
}
