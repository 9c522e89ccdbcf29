//! What services read has the shape that they document, and does not change unnoticed.

use crate::course::{one, open};
use racetrap_grade::Graded;
use racetrap_grade::class::Override;
use racetrap_grade::course::Course;
use racetrap_grade::format::classroom50::Origin;
use racetrap_grade::format::table::{self, Roster};
use racetrap_grade::format::{
    autolab, classroom50, gradescope, html, json, junit, prairielearn, text,
};
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

/// What does not fit what a service documents, as a schema in `tests/services`, which names its source.
fn misfits(service: &str, value: &Value) -> Vec<String> {
    let path = testing::root().join(format!("crates/grade/tests/services/{service}.schema.json"));
    let schema: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    crate::schema::errors(&schema, value)
}

/// Checks a document against what its service documents.
fn fits(service: &str, value: &Value) {
    let errors = misfits(service, value);
    assert!(
        errors.is_empty(),
        "{service}: {}\n{value:#}",
        errors.join("\n")
    );
}

/// Each of these is a document that the service would refuse, or show otherwise than meant.
#[test]
fn what_a_service_would_refuse_does_not_fit() {
    let course = open("reduction");
    let graded = &sample(&course)[0].1;
    let seen = view(graded, &course.assignment, When::BeforeDue);
    let origin = Origin::of(|_| Some("submit/x".into()), "2026-11-22T12:00:00Z".into());
    let autolab = autolab::render(&seen);
    let documents = [
        ("gradescope", gradescope::render(graded, &course.assignment)),
        ("prairielearn", prairielearn::render(&seen, false)),
        ("autolab", autolab.lines().last().unwrap().to_owned()),
        ("classroom50", classroom50::render(&seen, &origin)),
    ];
    for (service, text) in &documents {
        fits(service, &serde_json::from_str(text).unwrap());
    }
    let spoiled: [(usize, &str, Value); 13] = [
        (0, "/tests/0/status", "partial".into()),
        (0, "/tests/0/visibility", "after_due".into()),
        (0, "/tests/0/score", "5".into()),
        (0, "/tests/0/output_format", "markdown".into()),
        (0, "/tests/0/tags", "races".into()),
        (0, "/execution_time", "1 s".into()),
        (1, "/score", 1.5.into()),
        (1, "/tests/0/points", Value::Null),
        (1, "/gradable", false.into()),
        (2, "/scores/races", "10".into()),
        (3, "/score", 40.5.into()),
        (3, "/submission", "main".into()),
        (3, "/datetime", "2026-11-22 12:00".into()),
    ];
    for (index, at, wrong) in spoiled {
        let (service, text) = &documents[index];
        let mut value: Value = serde_json::from_str(text).unwrap();
        *value
            .pointer_mut(at)
            .unwrap_or_else(|| panic!("{service}{at}")) = wrong;
        assert!(!misfits(service, &value).is_empty(), "{service}{at}");
    }
    for (index, key) in [
        (0, "grade"),
        (1, "max_score"),
        (2, "total"),
        (3, "usernames"),
    ] {
        let (service, text) = &documents[index];
        let mut value: Value = serde_json::from_str(text).unwrap();
        value[key] = "more".into();
        assert!(!misfits(service, &value).is_empty(), "{service}: {key}");
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

/// What the documentation says, and that no test has more points than it can have.
fn gradescope_shape(value: &Value) {
    fits("gradescope", value);
    for test in value["tests"].as_array().unwrap() {
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
        fits("prairielearn", &value);
        assert_eq!(value["gradable"].as_bool().unwrap(), name != "refused");
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
        fits("autolab", &last);
        let sum: f64 = last["scores"]
            .as_object()
            .unwrap()
            .values()
            .map(|s| s.as_f64().unwrap())
            .sum();
        assert!((sum - graded.points).abs() < 1e-6);
        let feedback: Value = serde_json::from_str(text.lines().rev().nth(1).unwrap()).unwrap();
        fits("autolab", &feedback);
        for stage in feedback["stages"].as_array().unwrap() {
            assert!(feedback[stage.as_str().unwrap()].is_object());
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
        fits("classroom50", &value);
        // What a schema can't say.
        assert!(value["score"].as_i64().unwrap() <= value["max-score"].as_i64().unwrap());
        for test in value["tests"].as_array().unwrap() {
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
    for node in document.descendants().filter(|n| n.is_element()) {
        junit_shape(node);
    }
}

/// What may stand where, by the collected conventions of the format (testmoapp/junitxml) and the schema of Jenkins's xUnit plugin.
fn junit_shape(node: roxmltree::Node<'_, '_>) {
    let name = node.tag_name().name();
    let parent = node
        .parent_element()
        .map(|p| p.tag_name().name().to_owned());
    let (inside, known, required): (Option<&str>, &[&str], &[&str]) = match name {
        "testsuites" => (
            None,
            &[
                "name", "time", "tests", "failures", "disabled", "errors", "skipped",
            ],
            &[],
        ),
        "testsuite" => (
            Some("testsuites"),
            &[
                "name",
                "tests",
                "failures",
                "errors",
                "time",
                "disabled",
                "skipped",
                "timestamp",
                "hostname",
                "id",
                "package",
            ],
            &["name"],
        ),
        "testcase" => (
            Some("testsuite"),
            &["name", "time", "classname", "group"],
            &["name"],
        ),
        "failure" | "skipped" => (Some("testcase"), &["type", "message"], &["message"]),
        other => panic!("`{other}` has no place in JUnit's format"),
    };
    assert_eq!(parent.as_deref(), inside, "{name}");
    for attribute in node.attributes() {
        let (key, value) = (attribute.name(), attribute.value());
        assert!(known.contains(&key), "{name} {key}");
        if ["tests", "failures", "errors", "disabled", "skipped"].contains(&key) {
            let whole: usize = value.parse().unwrap();
            let cases = node.descendants().filter(|n| n.has_tag_name("testcase"));
            let of = |tag: &str| {
                let all = node.descendants();
                all.filter(|n| n.has_tag_name(tag)).count()
            };
            match key {
                "tests" => assert_eq!(whole, cases.count()),
                "failures" => assert_eq!(whole, of("failure")),
                "errors" => assert_eq!(whole, 0),
                _ => assert_eq!(whole, of("skipped")),
            }
        }
    }
    for key in required {
        assert!(node.has_attribute(*key), "{name} without {key}");
    }
}

#[test]
fn json_fits_its_own_schema() {
    let course = open("reduction");
    let all: Vec<Graded> = sample(&course).into_iter().map(|(_, g)| g).collect();
    let schema = json::schema();
    let documents: Value = serde_json::from_str(&json::render(&all)).unwrap();
    for document in documents.as_array().unwrap() {
        let errors = crate::schema::errors(&schema, document);
        assert!(errors.is_empty(), "{}", errors.join("\n"));
    }
    // It reads what it writes, and a schema that takes everything is none.
    let again: Vec<Graded> = serde_json::from_value(documents.clone()).unwrap();
    assert_eq!(again, all);
    for (at, wrong) in [
        ("/points", Value::from("40")),
        ("/parts/0/state", "partly".into()),
        ("/causes/0/rule", "no-such-rule".into()),
        ("/causes/0/lines/0/line", (-1).into()),
        ("/inputs/0/draws/0/outcome/is", "perhaps".into()),
    ] {
        let mut spoiled = documents[0].clone();
        *spoiled.pointer_mut(at).unwrap_or_else(|| panic!("{at}")) = wrong;
        assert!(!crate::schema::errors(&schema, &spoiled).is_empty(), "{at}");
    }
}

/// RFC 4180: quotes around what has commas, quotes or line breaks, and every line of the same length.
#[test]
fn csv_is_read_again_as_it_was_meant() {
    let course = open("reduction");
    let mut all: Vec<Graded> = sample(&course).into_iter().map(|(_, g)| g).collect();
    let evil = "=1+1, \"quoted\"\nand a second line";
    all[1].submission.name = evil.into();
    let roster = Roster::read(
        "name,login\n\"Lovelace, \"\"Ada\"\"\",racy\n",
        Some("login"),
    )
    .unwrap();
    let text = table::render(&all, &course.assignment, Some(&roster), &BTreeMap::new());
    let mut reader = csv::ReaderBuilder::new()
        .flexible(false)
        .from_reader(text.as_bytes());
    let head: Vec<String> = reader
        .headers()
        .unwrap()
        .iter()
        .map(str::to_owned)
        .collect();
    assert_eq!(head[..3], ["name", "login", "points"]);
    let rows: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
    assert_eq!(rows.len(), all.len());
    let row = rows
        .iter()
        .find(|row| &row[0] == "Lovelace, \"Ada\"")
        .unwrap();
    let points: f64 = row[2].parse().unwrap();
    assert_eq!(points, all[0].points);
    // A table is not a program: what spreadsheets would run as a formula is text.
    assert!(
        rows.iter().flatten().all(|cell| !cell.starts_with('=')),
        "{text}"
    );
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
        // One script, of the skeleton, which the policy allows by its hash.
        assert_eq!(text.matches("<script").count(), 1, "{file}");
        assert!(
            !text.contains("alert(1)</script>") && !text.contains("src=\"http"),
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

/// What a student writes turns no direction and commands nothing, wherever staff read it.
#[test]
fn nothing_of_a_student_commands_a_reader() {
    let course = open("reduction");
    let mut all: Vec<Graded> = sample(&course).into_iter().map(|(_, g)| g).collect();
    let evil = "a\u{202e}b\u{1b}[2J\u{9b}c\u{2066}";
    for graded in &mut all {
        graded.submission.name += evil;
        graded.submission.ignored.push(evil.to_owned());
        for review in &mut graded.review {
            review.why += evil;
        }
        for cause in &mut graded.causes {
            for line in &mut cause.lines {
                line.text = Some(evil.to_owned());
            }
        }
    }
    let none = BTreeMap::new();
    let mut texts = vec![
        json::render(&all),
        table::render(&all, &course.assignment, None, &none),
    ];
    let pages = html::pages(
        &all,
        &[(evil.into(), evil.into())],
        &course.assignment,
        &none,
    );
    texts.extend(pages.into_iter().map(|(_, page)| page));
    for text in &texts {
        let commands = ['\u{202e}', '\u{2066}', '\u{1b}', '\u{9b}'];
        assert!(!text.contains(commands), "{text:?}");
    }
    // It is the same to who reads the data.
    let read: Vec<Graded> = serde_json::from_str(&texts[0]).unwrap();
    assert_eq!(read[0].submission.name, all[0].submission.name);
}
