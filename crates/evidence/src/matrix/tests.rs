//! Over a small catalogue's worth of verdicts that are made up here: no GPU has said any of this.

use super::*;
use crate::{FORMAT, Observation};
use catalog::case_result::Settings;
use catalog::runner;
use device::job::DeviceInfo;

const RACE: &str = "scan/hillis_steele_shared/no-barrier-after-load";
const CORRECT: &str = "scan/hillis_steele_shared/correct";
const GLOBAL: &str = "histogram/global/plain-increment";
const SLOW: &str = "transpose/unpadded";

fn said(catalog: &Catalog, case: &str, detector: Detector, verdict: Verdict) -> Observation {
    let entry = catalog.find(case).unwrap();
    Observation {
        case: case.to_owned(),
        detector,
        verdict,
        reason: None,
        reports: Vec::new(),
        runs: 4,
        wrong: 0,
        error: None,
        hung: false,
        seconds: 0.5,
        of: Fingerprint::of(catalog, entry, (9, 0), detector),
    }
}

fn made_up(catalog: &Catalog) -> Evidence {
    use Detector::*;
    use Verdict::*;
    let mut observations: Vec<Observation> = [
        (RACE, Gpu, Caught),
        (CORRECT, Gpu, Clean),
        (RACE, Racecheck, Caught),
        (RACE, Synccheck, Missed),
        (RACE, Native, Missed),
        (GLOBAL, Racecheck, Missed),
        (GLOBAL, Memcheck, Inconclusive),
        (GLOBAL, Native, Caught),
        (CORRECT, Racecheck, Clean),
        (CORRECT, Synccheck, FalseAlarm),
        (CORRECT, Native, Clean),
    ]
    .into_iter()
    .map(|(case, detector, verdict)| said(catalog, case, detector, verdict))
    .collect();
    let mut stale = said(catalog, RACE, Initcheck, Caught);
    stale.of.source = "0000000000000000".to_owned();
    observations.push(stale);
    Evidence {
        format: FORMAT,
        device: DeviceInfo {
            name: "GPU of a test".to_owned(),
            driver: "1.2 (CUDA 3.4)".to_owned(),
            compute_capability: (9, 0),
        },
        sanitizer: Some("5.6.7".to_owned()),
        observations,
    }
}

fn matrix(evidence: bool) -> Matrix {
    let catalog = Catalog::embedded().unwrap();
    let names = [RACE, CORRECT, GLOBAL, SLOW].map(str::to_owned);
    let cases = catalog.select(&names).unwrap();
    let trials = runner::run(&catalog, &cases, &Settings::default(), 1, &|_| {});
    let evidence: Vec<Evidence> = evidence.then(|| made_up(&catalog)).into_iter().collect();
    Matrix::new(&catalog, &trials, &evidence)
}

#[test]
fn sums_count_present_verdicts_alone() {
    let matrix = matrix(true);
    assert!(matrix.rows.iter().all(|row| row.case != SLOW));
    let of = |detector: Detector| {
        let at = Detector::ALL.iter().position(|d| *d == detector).unwrap();
        matrix.totals[at]
    };
    let simulator = of(Detector::Simulator);
    assert_eq!(
        (simulator.caught, simulator.clean, simulator.untried),
        (2, 1, 0)
    );
    let racecheck = of(Detector::Racecheck);
    assert_eq!(
        (racecheck.caught, racecheck.missed, racecheck.clean),
        (1, 1, 1)
    );
    let synccheck = of(Detector::Synccheck);
    assert_eq!(
        (synccheck.missed, synccheck.false_alarms, synccheck.untried),
        (1, 1, 1)
    );
    assert_eq!(of(Detector::Memcheck).inconclusive, 1);
    let initcheck = of(Detector::Initcheck);
    assert_eq!(
        (initcheck.caught, initcheck.stale, initcheck.untried),
        (0, 1, 2)
    );
    for totals in matrix.totals {
        let all: usize = sums().iter().map(|(_, of)| of(&totals)).sum();
        assert_eq!(all + totals.clean, matrix.rows.len());
    }
}

#[test]
fn for_a_terminal() {
    insta::assert_snapshot!(terminal(&matrix(true), false, false));
}

#[test]
fn in_colour() {
    let plain = terminal(&matrix(true), true, false);
    let colour = terminal(&matrix(true), true, true);
    assert!(colour.contains("\u{1b}[31mmissed"), "{colour}");
    assert_eq!(anstream::adapter::strip_str(&colour).to_string(), plain);
}

#[test]
fn for_a_document() {
    insta::assert_snapshot!(markdown(&matrix(true), true));
}

#[test]
fn with_no_evidence() {
    insta::assert_snapshot!(terminal(&matrix(false), false, false));
}

#[test]
fn for_machines() {
    let json = serde_json::to_value(matrix(true)).unwrap();
    assert_eq!(json["detectors"][2], "racecheck");
    assert_eq!(json["rows"][0]["case"], GLOBAL);
    assert_eq!(json["rows"][0]["cells"][2]["says"], "missed");
    assert_eq!(json["rows"][2]["cells"][5]["stale"], "caught");
    assert_eq!(json["rows"][1]["cells"][4], "untried");
    assert_eq!(json["totals"][3]["false-alarms"], 1);
}
