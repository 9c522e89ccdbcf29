//! What services read has the shape that they document, and does not change unnoticed.

use crate::course::{one, open};
use racetrap_grade::Graded;
use racetrap_grade::class::Override;
use racetrap_grade::course::Course;
use racetrap_grade::format::classroom50::Origin;
use racetrap_grade::format::{autolab, classroom50, gradescope, html, junit, prairielearn, text};
use racetrap_grade::grade::grade_files;
use racetrap_grade::result::{Loss, Review, State};
use racetrap_grade::view::{When, view};
use serde_json::Value;
use std::collections::BTreeMap;

/// The solution without the barrier in its loop, the solution, and what does not compile; and one that a person has to look at.
fn sample(course: &Course) -> Vec<(&'static str, Graded)> {
    let racy = crate::corpus::reductions()
        .into_iter()
        .find(|(name, ..)| *name == "volatile-tail")
        .unwrap()
        .2;
    let right = crate::corpus::reductions()
        .into_iter()
        .find(|(name, ..)| *name == "halves")
        .unwrap()
        .2;
    let refused = crate::corpus::reductions()
        .into_iter()
        .find(|(name, ..)| *name == "syntax")
        .unwrap()
        .2;
    let grade = |name: &str, text: &str| {
        let mut graded =
            grade_files(course, &one("reduction.cu", text), name, &mut |_| {}).unwrap();
        graded.provenance.seconds = 1.5;
        graded.provenance.nvcc = None;
        graded.provenance.assignment = "0".repeat(64);
        graded
    };
    let mut open = grade("open", &right);
    let part = &mut open.parts[2];
    (part.earned, part.state) = (None, State::NeedsReview);
    part.losses = vec![Loss::Undecided {
        input: Some("drawn".into()),
        why: "`wgmma` is not implemented".into(),
    }];
    open.points -= open.parts[2].of;
    open.review = vec![Review {
        part: "races".into(),
        why: "`wgmma` is not implemented".into(),
    }];
    vec![
        ("racy", grade("racy", &racy)),
        ("right", grade("right", &right)),
        ("refused", grade("refused", &refused)),
        ("open", open),
    ]
}

fn keys_are(value: &Value, known: &[&str]) {
    for key in value.as_object().unwrap().keys() {
        assert!(known.contains(&key.as_str()), "`{key}` is not documented");
    }
}

#[test]
fn gradescope_has_its_shape() {
    let course = open("reduction");
    for (name, graded) in sample(&course) {
        let text = gradescope::render(&graded, &course.assignment);
        insta::assert_snapshot!(format!("gradescope-{name}"), text);
        let value: Value = serde_json::from_str(&text).unwrap();
        gradescope_shape(&value);
        let sum: f64 = value["tests"]
            .as_array()
            .unwrap()
            .iter()
            .filter_map(|t| t["score"].as_f64())
            .sum();
        assert!((sum - graded.points).abs() < 1e-6);
    }
    gradescope_shape(&serde_json::from_str(&gradescope::failed("no room on the disk")).unwrap());
}

/// Gradescope Autograder Documentation, "Output Format".
fn gradescope_shape(value: &Value) {
    keys_are(
        value,
        &[
            "score",
            "execution_time",
            "output",
            "output_format",
            "test_output_format",
            "test_name_format",
            "visibility",
            "stdout_visibility",
            "extra_data",
            "tests",
            "leaderboard",
        ],
    );
    let visibilities = ["hidden", "after_due_date", "after_published", "visible"];
    for test in value["tests"].as_array().unwrap() {
        keys_are(
            test,
            &[
                "score",
                "max_score",
                "status",
                "name",
                "name_format",
                "number",
                "output",
                "output_format",
                "tags",
                "visibility",
                "extra_data",
            ],
        );
        assert!(visibilities.contains(&test["visibility"].as_str().unwrap()));
        assert!(["passed", "failed"].contains(&test["status"].as_str().unwrap()));
        assert!(test["name"].is_string() && test["output"].is_string());
        assert_eq!(test.get("score").is_some(), test.get("max_score").is_some());
        if let Some(score) = test.get("score") {
            assert!(score.as_f64().unwrap() <= test["max_score"].as_f64().unwrap());
        }
    }
}

#[test]
fn gradescope_is_whole_at_every_step() {
    let course = open("reduction");
    let right = crate::corpus::reductions().remove(0).2;
    let mut steps = Vec::new();
    let graded = grade_files(&course, &one("reduction.cu", &right), "ada", &mut |known| {
        let value: Value =
            serde_json::from_str(&gradescope::render(known, &course.assignment)).unwrap();
        gradescope_shape(&value);
        steps.push((known.points, known.review.len()));
    })
    .unwrap();
    assert_eq!(steps.len(), course.drawn.len() + 1);
    // Points for what is known, none for what is not, and never all of them before the end.
    assert_eq!(steps[0].0, 5.0);
    assert!(
        steps
            .windows(2)
            .all(|w| w[0].0 <= w[1].0 && w[0].1 >= w[1].1),
        "{steps:?}"
    );
    assert!(
        steps[..steps.len() - 1]
            .iter()
            .all(|(points, review)| *points < 100.0 && *review > 0),
        "{steps:?}"
    );
    assert_eq!(graded.points, 100.0);
}

#[test]
fn prairielearn_has_its_shape() {
    let course = open("reduction");
    for (name, graded) in sample(&course) {
        let text = prairielearn::render(
            &view(&graded, &course.assignment, When::BeforeDue),
            graded.refused.is_some(),
        );
        insta::assert_snapshot!(format!("prairielearn-{name}"), text);
        let value: Value = serde_json::from_str(&text).unwrap();
        keys_are(
            &value,
            &[
                "gradable",
                "score",
                "message",
                "output",
                "images",
                "tests",
                "format_errors",
            ],
        );
        assert!((0.0..=1.0).contains(&value["score"].as_f64().unwrap()));
        assert_eq!(value["gradable"].as_bool().unwrap(), name != "refused");
        for test in value["tests"].as_array().into_iter().flatten() {
            keys_are(
                test,
                &[
                    "name",
                    "description",
                    "points",
                    "max_points",
                    "message",
                    "output",
                    "images",
                ],
            );
            assert!(test["points"].is_number() && test["max_points"].is_number());
        }
        assert!(text.len() < 1_000_000);
    }
}

#[test]
fn autolab_ends_with_the_scores() {
    let course = open("reduction");
    for (name, graded) in sample(&course) {
        let text = autolab::render(&view(&graded, &course.assignment, When::BeforeDue));
        insta::assert_snapshot!(format!("autolab-{name}"), text);
        let last: Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
        keys_are(&last, &["scores", "scoreboard"]);
        let sum: f64 = last["scores"]
            .as_object()
            .unwrap()
            .values()
            .map(|s| s.as_f64().unwrap())
            .sum();
        assert!((sum - graded.points).abs() < 1e-6);
        let feedback: Value = serde_json::from_str(text.lines().rev().nth(1).unwrap()).unwrap();
        assert_eq!(feedback["_presentation"], "semantic");
        for stage in feedback["stages"].as_array().unwrap() {
            for test in feedback[stage.as_str().unwrap()]
                .as_object()
                .unwrap()
                .values()
            {
                keys_are(test, &["passed", "hint"]);
            }
        }
    }
}

#[test]
fn classroom50_has_its_shape() {
    let course = open("reduction");
    let variables = |name: &str| {
        let value = match name {
            "CLASSROOM" => "parallel",
            "ASSIGNMENT" => "reduction",
            "MODE" => "individual",
            "USERNAME" => "ada",
            "SUBMISSION_TAG" => "submit/1",
            _ => "https://example.org/x",
        };
        Some(value.to_owned())
    };
    let origin = Origin::of(variables, "2026-11-22T12:00:00Z".into());
    for (name, graded) in sample(&course) {
        let text =
            classroom50::render(&view(&graded, &course.assignment, When::BeforeDue), &origin);
        insta::assert_snapshot!(format!("classroom50-{name}"), text);
        let value: Value = serde_json::from_str(&text).unwrap();
        // foundation50/classroom50, schemas/result-v1.schema.json: required, and nothing else.
        let required = [
            "schema",
            "classroom",
            "assignment",
            "assignment_type",
            "owner",
            "submission",
            "commit",
            "release",
            "review",
            "datetime",
            "score",
            "max-score",
            "tests",
        ];
        keys_are(&value, &required);
        assert!(required.iter().all(|key| value.get(key).is_some()));
        assert_eq!(value["schema"], "classroom50/result/v1");
        assert!(value["submission"].as_str().unwrap().starts_with("submit"));
        assert!(value["score"].as_i64().unwrap() <= value["max-score"].as_i64().unwrap());
        for test in value["tests"].as_array().unwrap() {
            assert!(test["test-name"].is_string() && test["passed"].is_boolean());
            assert!(test["score"].as_i64().unwrap() <= test["max-score"].as_i64().unwrap());
        }
    }
}

#[test]
fn junit_is_xml() {
    let course = open("reduction");
    let views: Vec<_> = sample(&course)
        .iter()
        .map(|(_, g)| view(g, &course.assignment, When::BeforeDue))
        .collect();
    let text = junit::render(&views);
    let document = roxmltree::Document::parse(&text).unwrap();
    let count = |tag: &str| {
        document
            .descendants()
            .filter(|n| n.has_tag_name(tag))
            .count()
    };
    assert_eq!((count("testsuite"), count("testcase")), (4, 24));
    assert_eq!(count("skipped"), 1);
    assert!(count("failure") > 5);
}

#[test]
fn text_is_what_students_read() {
    let course = open("reduction");
    for (name, graded) in sample(&course) {
        insta::assert_snapshot!(
            format!("text-{name}"),
            text::render(&view(&graded, &course.assignment, When::BeforeDue))
        );
    }
}

#[test]
fn pages_show_the_class_and_run_nothing() {
    let course = open("reduction");
    let mut all: Vec<Graded> = sample(&course)
        .into_iter()
        .map(|(_, graded)| graded)
        .collect();
    let evil = "<script>alert(1)</script>\"'&";
    all[0].causes[0].lines[0].text = Some(evil.into());
    all[0].causes[0].seen[0].notes.push(evil.into());
    all[2].refused.as_mut().unwrap().messages = evil.into();
    all[3].submission.ignored.push(evil.into());
    let overrides = BTreeMap::from([(
        "right".to_owned(),
        Override {
            points: 90.0,
            reason: evil.into(),
        },
    )]);
    let failed = [(evil.to_owned(), evil.to_owned())];
    let pages = html::pages(&all, &failed, &course.assignment, &overrides);
    assert_eq!(pages.len(), 5);
    for (file, text) in &pages {
        assert!(
            !text.contains("<script") && !text.contains("src=\"http"),
            "{file}"
        );
    }
    let class = &pages[0].1;
    assert_eq!(pages[0].0, html::INDEX);
    // What a person has to decide comes before all else.
    let at = |text: &str| {
        class
            .find(text)
            .unwrap_or_else(|| panic!("no {text} in {class}"))
    };
    assert!(at("To look at") < at("Not graded") && at("Not graded") < at("Submissions"));
    assert!(class.contains("submission-racy.html") && class.contains("(was 100)"));
    let racy = &pages[1].1;
    for said in [
        "lockstep-assumption",
        "racetrap check reduction.cu",
        "seed 1",
        "--overrides",
        "fix: ",
        "hidden",
    ] {
        assert!(racy.contains(said), "{said}");
    }
}
