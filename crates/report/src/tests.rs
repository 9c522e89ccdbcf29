//! Every renderer, on the same reports.

use super::*;
use anstyle::Style;

#[test]
fn text() {
    insta::assert_snapshot!(render(&samples::report(), Format::Text));
}

#[test]
fn text_in_colour() {
    let colour = terminal::diagnostic(&samples::race(), true);
    let stripped = anstream::adapter::strip_str(&colour).to_string();
    assert_eq!(stripped, terminal::diagnostic(&samples::race(), false));
    insta::assert_snapshot!(colour.replace('\u{1b}', "␛"));
}

#[test]
fn json() {
    let text = render(&samples::report(), Format::Json);
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(value["version"], json::VERSION);
    assert_eq!(value["totals"]["errors"], 4);
    insta::assert_snapshot!(text.replace(env!("CARGO_PKG_VERSION"), "VERSION"));
}

#[test]
fn github() {
    let text = render(&samples::report(), Format::Github);
    assert!(text.lines().all(|line| line.starts_with("::")));
    insta::assert_snapshot!(text);
}

#[test]
fn sarif() {
    let text = render(&samples::report(), Format::Sarif);
    let mut value: serde_json::Value = serde_json::from_str(&text).unwrap();
    let rules = value["runs"][0]["tool"]["driver"]["rules"].take();
    let results = value["runs"][0]["results"].as_array().unwrap();
    for result in results {
        let index = result["ruleIndex"].as_u64().unwrap() as usize;
        assert_eq!(rules[index]["id"], result["ruleId"]);
    }
    let text = serde_json::to_string_pretty(&value).unwrap();
    insta::assert_snapshot!(text.replace(env!("CARGO_PKG_VERSION"), "VERSION"));
}

/// Nobody else has a listing of PTX: what marks a line marks one of the project, if there is one.
#[test]
fn annotations_stand_in_files_of_the_project() {
    let mut report = samples::report();
    report.checks.retain(|c| {
        c.diagnostics
            .iter()
            .any(|d| d.counts() && d.labels.len() == 2)
    });
    report.checks.truncate(1);
    let of = &mut report.checks[0].diagnostics;
    of.retain(|d| d.counts() && d.labels.len() == 2);
    of.truncate(1);
    let listing = |label: &mut Label| {
        let path = SourceFile::listing(&label.source.path, "unoptimised");
        label.source = Arc::new(SourceFile::new(path, label.source.text.clone()));
    };
    listing(&mut of[0].labels[0]);
    let other = format!(
        "{},line={},",
        of[0].labels[1].source.path, of[0].labels[1].line
    );
    let annotation = render(&report, Format::Github);
    assert!(
        annotation.starts_with(&format!("::error file={other}")),
        "{annotation}"
    );
    let log: serde_json::Value = serde_json::from_str(&render(&report, Format::Sarif)).unwrap();
    let first = log["runs"][0]["results"][0]["locations"][0].to_string();
    assert!(!first.contains("PTX"), "{first}");
    listing(&mut report.checks[0].diagnostics[0].labels[1]);
    let annotation = render(&report, Format::Github);
    assert!(annotation.starts_with("::error title="), "{annotation}");
}

/// A service takes one run for each tool and category.
#[test]
fn several_logs_become_one_with_one_run() {
    let logs = [
        sarif::render(&samples::report()),
        sarif::render(&samples::report()),
    ];
    let count = |log: &str, key: &str| -> usize {
        let log: serde_json::Value = serde_json::from_str(log).unwrap();
        let runs = log["runs"].as_array().unwrap();
        assert_eq!(runs.len(), 1);
        runs[0][key].as_array().unwrap().len()
    };
    let merged = sarif::merge(&logs, "job-3").unwrap();
    for key in ["results", "invocations"] {
        assert_eq!(count(&merged, key), 2 * count(&logs[0], key));
    }
    let merged: serde_json::Value = serde_json::from_str(&merged).unwrap();
    assert_eq!(merged["runs"][0]["automationDetails"]["id"], "job-3/");
    let foreign = logs[1].replace("\"racetrap\"", "\"other\"");
    let wrong = sarif::merge(&[logs[0].clone(), foreign], "").unwrap_err();
    assert_eq!(wrong, (1, sarif::MergeError::Foreign));
    assert!(sarif::merge(&["{".to_owned()], "").is_err());
    assert!(sarif::merge(&["[]".to_owned()], "").is_err());
}

#[test]
fn backticks_are_code_on_a_page() {
    let markup = |text| html::prose(text).into_string();
    assert_eq!(
        markup("put `a<b>` there"),
        "put <code>a&lt;b&gt;</code> there"
    );
    assert_eq!(markup("one ` too many"), "one ` too many");
    assert_eq!(markup("`x` and ` more"), "<code>x</code> and ` more");
}

#[test]
fn junit() {
    insta::assert_snapshot!(render(&samples::report(), Format::Junit));
}

#[test]
fn concise() {
    insta::assert_snapshot!(render(&samples::report(), Format::Concise));
}

#[test]
fn markdown() {
    insta::assert_snapshot!(render(&samples::report(), Format::Markdown));
}

/// Names and sources come from strangers: nothing of them becomes an element.
#[test]
fn html_is_text_where_strangers_wrote_it() {
    const EVIL: &str = "</script></style><img src=x onerror=alert(1)>\"'&";
    let mut report = samples::report();
    for check in &mut report.checks {
        check.name = EVIL.into();
        check.summary = EVIL.into();
        check.output = EVIL.into();
        for diagnostic in &mut check.diagnostics {
            diagnostic.title = EVIL.into();
            diagnostic.notes = vec![EVIL.into()];
            diagnostic.help = Some(EVIL.into());
            diagnostic.replay = Some(EVIL.into());
            diagnostic.about.kernel = Some(EVIL.into());
            for label in &mut diagnostic.labels {
                let text = label.source.text.replace('\n', &format!("{EVIL}\n"));
                label.source = Arc::new(SourceFile::new(EVIL.into(), text));
                label.text = EVIL.into();
            }
        }
    }
    let page = render(&report, Format::Html);
    assert!(!page.contains("<img"));
    let count = |what: &str| page.matches(what).count();
    assert_eq!((count("<script"), count("</script")), (1, 1));
    assert_eq!((count("<style"), count("</style")), (1, 1));
    assert!(count("&lt;img src=x onerror=alert(1)&gt;") > 20);
}

#[test]
fn html_has_each_finding_with_its_lines_and_a_picture() {
    let page = render(&samples::report(), Format::Html);
    assert_eq!(page.matches("<article").count(), 7);
    assert!(page.contains("src/reverse.cu") && page.contains("<svg"));
    for outside in ["http://", "https://", "src=", "href=\"/", "url(", "@import"] {
        assert!(!page.contains(outside), "{outside}");
    }
}

#[test]
fn colours_tell_what_needs_attention() {
    let style = |verdict, ok| terminal::verdict_style(verdict, ok);
    assert_ne!(style(Verdict::Clean, true), style(Verdict::Findings, false));
    assert_ne!(
        style(Verdict::Inconclusive, false),
        style(Verdict::Clean, true)
    );
    assert_ne!(style(Verdict::Clean, true), Style::new());
}

#[test]
fn findings_of_two_builds_become_one() {
    let build = |name: &str, diagnostic: Diagnostic| Diagnostic {
        builds: vec![name.into()],
        ..diagnostic
    };
    let mut all = Vec::new();
    merge(&mut all, [build("optimised", samples::race())]);
    let other = build("unoptimised", samples::race());
    merge(
        &mut all,
        [
            other.clone(),
            other,
            build("unoptimised", samples::one_line()),
        ],
    );
    let seen: Vec<_> = all.iter().map(|d| (d.count, d.builds.join("+"))).collect();
    assert_eq!(
        seen,
        [
            (3 * 12345, "optimised+unoptimised".into()),
            (1, "unoptimised".into())
        ]
    );
}
