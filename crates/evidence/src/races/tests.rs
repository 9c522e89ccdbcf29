//! Over reports that are made up here: no GPU has said any of this.

use super::*;
use crate::sanitizer::recording::Run;
use catalog::load::Catalog;

const RACE: &str = "scan/hillis_steele_shared/no-barrier-after-load";
const CORRECT: &str = "scan/hillis_steele_shared/correct";
const FILE: &str = "kernels/scan/hillis_steele_shared.cu";

fn report(verdict: &str, rule: &str, lines: &[u32]) -> String {
    let places: Vec<_> = lines
        .iter()
        .map(|line| serde_json::json!({"file": FILE, "line": line, "role": "guilty"}))
        .collect();
    let findings = match rule {
        "" => serde_json::json!([]),
        rule => serde_json::json!([{"rule": rule, "level": "error", "count": 3, "places": places}]),
    };
    serde_json::json!({"checks": [{"verdict": verdict, "summary": "s", "findings": findings}]})
        .to_string()
}

fn recording(case: &str, report: &str) -> Recording {
    let receipt = Receipt {
        tool: Some("races".to_owned()),
        runs: 4,
        ..Receipt::blank(case)
    };
    Recording {
        records: Some(report.to_owned()),
        log: None,
        receipt: Some(serde_json::to_string(&receipt).unwrap()),
        run: Run {
            status: 0,
            time_limit: 60,
            seconds: Some(1),
            version: None,
        },
    }
}

fn judged(case: &str, report: &str) -> (Verdict, Option<bool>, Vec<String>) {
    let catalog = Catalog::embedded().unwrap();
    let entry = catalog.find(case).unwrap();
    let judgement = judge(entry, &recording(case, report)).unwrap();
    let hits = judgement.reports.iter().flat_map(|r| r.hits.clone());
    let expected = Under::Races.is_expected(&judgement, entry);
    (judgement.verdict, expected, hits.collect())
}

#[test]
fn a_race_counts_at_its_lines_alone_and_by_its_rule() {
    let hit = judged(RACE, &report("findings", "data-race", &[19, 27]));
    assert_eq!(
        hit,
        (Verdict::Caught, Some(true), vec!["data-race#1".to_owned()])
    );
    for report in [
        report("findings", "data-race", &[19, 5]),
        report("findings", "insufficient-scope", &[19, 27]),
    ] {
        let astray = judged(RACE, &report);
        assert_eq!((astray.0, astray.1), (Verdict::FalseAlarm, Some(false)));
    }
    let missed = judged(RACE, &report("clean", "", &[]));
    assert_eq!((missed.0, missed.1), (Verdict::Missed, Some(false)));
}

/// The GPU compares no values that are computed.
#[test]
fn a_race_between_values_that_came_out_equal_is_the_planted_one() {
    let catalog = Catalog::embedded().unwrap();
    let entry = catalog.find("same_value/all-lanes").unwrap();
    let told = report("findings", "data-race", &[16, 16])
        .replace(FILE, "kernels/same_value/butterfly.cu");
    let judgement = judge(entry, &recording(&entry.id, &told)).unwrap();
    assert_eq!(judgement.verdict, Verdict::Caught);
    assert_eq!(judgement.reports[0].hits, ["same-value-write#1"]);
}

#[test]
fn a_correct_kernel_is_clean_only_where_all_was_watched() {
    let clean = judged(CORRECT, &report("clean", "", &[]));
    assert_eq!((clean.0, clean.1), (Verdict::Clean, Some(true)));
    let unsure = judged(CORRECT, &report("inconclusive", "", &[]));
    assert_eq!((unsure.0, unsure.1), (Verdict::Unsupported, Some(false)));
    let alarm = judged(CORRECT, &report("findings", "data-race", &[19, 27]));
    assert_eq!((alarm.0, alarm.1), (Verdict::FalseAlarm, Some(false)));
}

#[test]
fn what_did_not_run_to_its_end_says_nothing() {
    let catalog = Catalog::embedded().unwrap();
    let entry = catalog.find(CORRECT).unwrap();
    let good = recording(CORRECT, &report("clean", "", &[]));
    let trouble = |change: fn(&mut Recording)| {
        let mut changed = good.clone();
        change(&mut changed);
        judge(entry, &changed).unwrap_err()
    };
    let none = trouble(|r| r.records = None);
    assert!(matches!(none, RacesError::NoReport { .. }));
    let other = trouble(|r| r.records = Some("{}".to_owned()));
    assert!(matches!(other, RacesError::BadReport(_)));
    let receipt = trouble(|r| r.receipt = None);
    assert!(matches!(receipt, RacesError::NoReceipt { .. }));
    let elsewhere = trouble(|r| r.receipt = r.receipt.as_ref().map(|t| t.replace("races", "x")));
    assert!(matches!(elsewhere, RacesError::NoReceipt { .. }));
    let idle = trouble(|r| {
        r.receipt = r
            .receipt
            .as_ref()
            .map(|t| t.replace("\"runs\":4", "\"runs\":0"))
    });
    assert!(matches!(idle, RacesError::NoRuns { .. }));
    let late = trouble(|r| (r.run.status, r.run.seconds) = (124, Some(60)));
    assert!(matches!(late, RacesError::TimedOut { seconds: 60 }));
}
