//! What is accepted, what is told, and what becomes of verdicts.

use super::*;
use crate::samples;
use baseline::Changes;
use detect::rules::Rule;

/// A report of one check with these findings, as `check` makes it.
fn report(diagnostics: Vec<Diagnostic>, doubt: Option<Verdict>) -> Report {
    let all = samples::report().checks;
    let of = all.into_iter().find(|c| c.verdict == Verdict::Findings);
    Report {
        checks: vec![Check {
            diagnostics,
            judged: Judged {
                file: "reverse.cu".into(),
                kernels: Some(vec!["reverse".into()]),
                doubt,
                warnings_fail: false,
                otherwise: None,
            },
            ..of.unwrap()
        }],
    }
}

fn with(baseline: &Baseline) -> Acceptance<'_> {
    Acceptance {
        baseline: Some(baseline),
        comments: true,
        complete: true,
        ..Acceptance::default()
    }
}

fn made(of: &Report) -> Baseline {
    Baseline::default().updated(of).0
}

#[test]
fn a_baseline_reads_well_and_survives_its_file() {
    let found = report(vec![samples::race(), samples::ptx_only()], None);
    let baseline = made(&found);
    insta::assert_snapshot!(baseline.render());
    assert_eq!(Baseline::parse(&baseline.render()).unwrap(), baseline);
    for wrong in [
        "",
        "[]",
        "{\"version\": 2, \"findings\": []}",
        "{\"version\": 1, \"findings\": [{}]}",
    ] {
        assert!(Baseline::parse(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn known_findings_do_not_count_and_new_ones_do() {
    let mut found = report(vec![samples::race()], None);
    let baseline = made(&found);
    assert_eq!(accept(&mut found, &with(&baseline)), []);
    let check = &found.checks[0];
    assert!(check.ok && check.count(Level::Error) == 0);
    assert_eq!(check.verdict, Verdict::Findings);
    assert!(
        check.summary.ends_with("accepted: 1 by the baseline"),
        "{}",
        check.summary
    );

    let mut more = report(vec![samples::race(), samples::one_line()], None);
    assert_eq!(accept(&mut more, &with(&baseline)), []);
    assert!(!more.checks[0].ok);
    assert_eq!(more.checks[0].count(Level::Error), 1);
    // The same finding twice is one more than is known.
    let mut twice = report(vec![samples::race(), samples::race()], None);
    accept(&mut twice, &with(&baseline));
    assert!(!twice.checks[0].ok);
}

/// What moves a line, indents it or edits its comment leaves the finding known; what changes the code does not.
#[test]
fn a_baseline_survives_edits_elsewhere() {
    let baseline = made(&report(vec![samples::race()], None));
    let edited = |edit: &dyn Fn(&str) -> String| {
        let mut race = samples::race();
        let text = edit(&race.labels[0].source.text);
        let source = Arc::new(SourceFile::new("elsewhere/reverse.cu".into(), text));
        for label in &mut race.labels {
            label.line += 1;
            label.source = source.clone();
        }
        let mut found = report(vec![race], None);
        accept(&mut found, &with(&baseline));
        found.checks[0].ok
    };
    assert!(edited(&|t| format!("// new\n{t}")
        .replace("    tile[t] =", "\ttile[t]  =")
        .replace("// ü", "// u")));
    assert!(!edited(
        &|t| format!("// new\n{t}").replace("tile[t] = data[t]", "tile[t] = data[t + 1]")
    ));
}

#[test]
fn entries_that_accept_nothing_are_told_and_dropped() {
    let both = report(vec![samples::race(), samples::one_line()], None);
    let baseline = made(&both);
    let mut found = report(vec![samples::race()], None);
    let told = accept(&mut found, &with(&baseline));
    assert_eq!(told.len(), 1);
    insta::assert_snapshot!(told[0].render(false));
    let (updated, changes) = baseline.updated(&found);
    let want = Changes {
        findings: 1,
        added: 0,
        dropped: 1,
    };
    assert_eq!(
        (updated, changes),
        (made(&report(vec![samples::race()], None)), want)
    );

    // Nothing is said of kernels that did not run, nor by a check that did not come to its end.
    let mut other = report(vec![], None);
    other.checks[0].judged.kernels = Some(vec!["other".into()]);
    assert_eq!(accept(&mut other, &with(&baseline)), []);
    assert_eq!(baseline.updated(&other).0, baseline);
    let mut stopped = report(vec![], Some(Verdict::Inconclusive));
    assert_eq!(accept(&mut stopped, &with(&baseline)), []);
    assert_eq!(baseline.updated(&stopped).0, baseline);
}

#[test]
fn reasons_stay_when_the_file_is_renewed() {
    let found = report(vec![samples::race()], None);
    let text = made(&found).render();
    let text = text.replace(
        "\"count\": 1",
        "\"count\": 1, \"reason\": \"known since 2019\"",
    );
    let baseline = Baseline::parse(&text).unwrap();
    assert!(
        baseline
            .updated(&found)
            .0
            .render()
            .contains("known since 2019")
    );
}

/// A check that was stopped is not clean because what it found before is accepted.
#[test]
fn a_check_without_a_verdict_does_not_get_a_good_one() {
    for doubt in [Verdict::Inconclusive, Verdict::Unsupported] {
        let mut found = report(vec![samples::race()], Some(doubt));
        let baseline = made(&found);
        accept(&mut found, &with(&baseline));
        assert_eq!(
            (found.checks[0].verdict, found.checks[0].ok),
            (doubt, false)
        );
    }
}

/// The sample's race with a comment behind the line that reads.
fn commented(comment: &str) -> Diagnostic {
    let mut race = samples::race();
    let text = race.labels[0].source.text.replace("// ü", comment);
    let source = Arc::new(SourceFile::new("src/reverse.cu".into(), text));
    for label in &mut race.labels {
        label.source = source.clone();
    }
    race
}

#[test]
fn a_comment_accepts_its_rule_on_its_line() {
    let none = Baseline::default();
    let try_one = |comment: &str| {
        let mut found = report(vec![commented(comment)], None);
        let told = accept(&mut found, &with(&none));
        let told: Vec<String> = told.iter().map(|t| t.render(false)).collect();
        (found.checks.remove(0), told.concat())
    };
    let (check, told) = try_one("// racetrap: allow(data-race): checked by hand");
    assert!(check.ok && told.is_empty(), "{told}");
    assert!(check.summary.ends_with("accepted: 1 by a comment"));
    let reason = "checked by hand".to_owned();
    assert_eq!(
        check.diagnostics[0].accepted,
        Some(Accepted::Comment { reason })
    );

    let (check, told) = try_one("// racetrap: allow(data-race)");
    assert!(!check.ok);
    insta::assert_snapshot!(told);
    let (check, told) = try_one("// racetrap: allow(out-of-bounds): why not");
    assert!(
        !check.ok && told.contains("allows `out-of-bounds`, which was not found"),
        "{told}"
    );
}

#[test]
fn comments_count_only_where_they_are_obeyed() {
    let none = Baseline::default();
    let mut found = report(vec![commented("// racetrap: allow(data-race): mine")], None);
    let strict = Acceptance {
        comments: false,
        ..with(&none)
    };
    assert_eq!(accept(&mut found, &strict), []);
    assert!(!found.checks[0].ok);
}

#[test]
fn accepted_findings_stay_in_reports_for_machines() {
    let mut found = report(
        vec![
            commented("// racetrap: allow(data-race): by hand"),
            samples::one_line(),
        ],
        None,
    );
    let baseline = made(&report(vec![samples::one_line()], None));
    accept(&mut found, &with(&baseline));
    let read = |format| -> serde_json::Value {
        serde_json::from_str(&crate::render(&found, format)).unwrap()
    };
    let json = read(crate::Format::Json);
    assert_eq!(json["totals"]["errors"], 0);
    assert_eq!(json["totals"]["accepted"], 2);
    assert_eq!(
        json["checks"][0]["findings"][0]["accepted"]["reason"],
        "by hand"
    );
    let sarif = read(crate::Format::Sarif);
    let kind = |at: usize| sarif["runs"][0]["results"][at]["suppressions"][0]["kind"].clone();
    assert_eq!((kind(1), kind(0)), ("external".into(), "inSource".into()));
    let text = crate::render(&found, crate::Format::Text);
    assert!(!text.contains("error["), "{text}");
    assert_eq!(crate::render(&found, crate::Format::Github), "");
    assert!(!crate::render(&found, crate::Format::Junit).contains("<failure"));
}

#[test]
fn notes_and_warnings_count_as_the_command_says() {
    let mut warned = samples::ptx_only();
    warned.rule = Rule::SameValueWrite;
    warned.level = Level::Warning;
    let mut found = report(vec![samples::race(), warned.clone()], None);
    let baseline = made(&report(vec![samples::race()], None));
    accept(&mut found, &with(&baseline));
    assert!(found.checks[0].ok);
    let mut found = report(vec![samples::race(), warned], None);
    found.checks[0].judged.warnings_fail = true;
    accept(&mut found, &with(&baseline));
    assert!(!found.checks[0].ok);
}

#[test]
fn files_of_one_name_are_told_apart_by_their_paths() {
    let named = |path: &str| path_from(path, Path::new("/home/me/project"));
    for (path, name) in [
        ("k.cu", "k.cu"),
        ("./k.cu", "k.cu"),
        ("a/k.cu", "a/k.cu"),
        ("a/./b/../k.cu", "a/k.cu"),
        ("/home/me/project/a/k.cu", "a/k.cu"),
        ("/home/me/other/k.cu", "/home/me/other/k.cu"),
        ("../other/k.cu", "../other/k.cu"),
    ] {
        assert_eq!(named(path), name, "{path}");
    }
}
