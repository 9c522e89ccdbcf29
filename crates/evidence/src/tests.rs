//! Over recordings and receipts that are made up here: no tool has written any of this.

use super::merge::{MergeError, merge};
use super::*;
use crate::sanitizer::recording::Run;
use crate::sanitizer::{Kind, Recording, Severity, Tool};
use catalog::load::Catalog;
use device::receipt::Receipt;
use report::Verdict;
use std::fs;
use tempfile::TempDir;

const RACE: &str = "scan/hillis_steele_shared/no-barrier-after-load";
const CORRECT: &str = "scan/hillis_steele_shared/correct";

const ONE_RACE: &str = "<ComputeSanitizerOutput><record><kind>Analysis</kind><level>Error</level><what>\
    <source><direction>Write</direction><where><path>kernels/scan/hillis_steele_shared.cu</path><line>19</line></where></source>\
    <destination><direction>Read</direction><where><path>kernels/scan/hillis_steele_shared.cu</path><line>27</line></where>\
    <count>8</count></destination></what></record></ComputeSanitizerOutput>";

fn receipt(case: &str, tool: Option<Tool>) -> Receipt {
    Receipt {
        tool: tool.map(|tool| tool.name().to_owned()),
        device: Some(DeviceInfo {
            name: "NVIDIA Test 1-x".to_owned(),
            driver: "580.1 (CUDA 13.0)".to_owned(),
            compute_capability: (9, 0),
        }),
        runs: 4,
        seconds: 0.5,
        ..Receipt::blank(case)
    }
}

fn recording(case: &str, records: &str, summary: &str, status: i32) -> Recording {
    Recording {
        records: Some(records.to_owned()),
        log: Some(format!(
            "========= COMPUTE-SANITIZER\n========= RACECHECK SUMMARY: {summary}\n"
        )),
        receipt: Some(serde_json::to_string(&receipt(case, Some(Tool::Racecheck))).unwrap()),
        run: Run {
            status,
            time_limit: 200,
            seconds: None,
            version: Some("1.2.3".to_owned()),
        },
    }
}

/// A race caught by racecheck, a plain run with a wrong result, and a plain run of a correct kernel.
fn left_behind() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    recording(
        RACE,
        ONE_RACE,
        "1 hazard displayed (1 error, 0 warnings)",
        86,
    )
    .keep(&folder.path().join("recordings"), Tool::Racecheck, RACE)
    .unwrap();
    let receipts = folder.path().join("receipts");
    let wrong = Receipt {
        wrong: 1,
        ..receipt(RACE, None)
    };
    wrong.write(&receipts.join("a.json")).unwrap();
    receipt(CORRECT, None)
        .write(&receipts.join("b.json"))
        .unwrap();
    folder
}

fn merged(folder: &TempDir) -> Result<Evidence, MergeError> {
    merge(&Catalog::embedded().unwrap(), &[folder.path().to_owned()])
}

#[test]
fn recordings_and_receipts_become_evidence() {
    let folder = left_behind();
    let evidence = merged(&folder).unwrap();
    assert_eq!(evidence.file_name(), "nvidia-test-1-x-cuda13.0.json");
    assert_eq!(evidence.sanitizer.as_deref(), Some("1.2.3"));
    let verdicts: Vec<_> = evidence
        .observations
        .iter()
        .map(|seen| (seen.case.as_str(), seen.detector, seen.verdict))
        .collect();
    assert_eq!(
        verdicts,
        [
            (CORRECT, Detector::Native, Verdict::Clean),
            (RACE, Detector::Racecheck, Verdict::Caught),
            (RACE, Detector::Native, Verdict::Caught),
        ]
    );
    let seen = &evidence.find(RACE, Detector::Racecheck).unwrap().reports;
    assert_eq!(
        *seen,
        [ToolReport {
            kind: Kind::Race,
            severity: Severity::Error,
            lines: vec![19, 27],
            count: 8,
            hits: vec!["data-race#1".to_owned()],
        }]
    );
    assert_eq!(Evidence::parse("e", &evidence.text()).unwrap(), evidence);
    let again = merged(&folder).unwrap();
    assert_eq!(again.text(), evidence.text());
}

#[test]
fn what_is_not_measured_again_is_kept() {
    let catalog = Catalog::embedded().unwrap();
    let older = merged(&left_behind()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    receipt(RACE, None)
        .write(&folder.path().join("a.json"))
        .unwrap();
    let mut newer = merged(&folder).unwrap();
    assert_eq!(newer.keep(older.clone(), &catalog), 2);
    assert_eq!(
        newer.find(RACE, Detector::Native).unwrap().verdict,
        Verdict::Missed
    );
    assert_eq!(newer.sanitizer.as_deref(), Some("1.2.3"));
    let mut other = older.clone();
    other.device.driver = "581".to_owned();
    assert_eq!(merged(&folder).unwrap().keep(other, &catalog), 0);
}

#[test]
fn the_order_of_folders_is_that_of_names() {
    let folder = left_behind();
    let recordings = folder.path().join("recordings/1.2.3/racecheck");
    let receipts = folder.path().join("receipts");
    let catalog = Catalog::embedded().unwrap();
    let all = merge(&catalog, &[receipts, recordings]).unwrap();
    assert_eq!(all, merged(&folder).unwrap());
}

#[test]
fn a_kernel_that_hangs_and_one_that_was_not_tried() {
    let folder = tempfile::tempdir().unwrap();
    let mut hangs = recording(
        RACE,
        ONE_RACE,
        "0 hazards displayed (0 errors, 0 warnings)",
        1,
    );
    let receipt_of = Receipt {
        hung: true,
        ..receipt(RACE, Some(Tool::Racecheck))
    };
    hangs.receipt = Some(serde_json::to_string(&receipt_of).unwrap());
    hangs.keep(folder.path(), Tool::Racecheck, RACE).unwrap();
    let refused = Receipt {
        runs: 0,
        error: Some("CUDA_ERROR_NO_DEVICE".to_owned()),
        ..receipt(CORRECT, None)
    };
    refused.write(&folder.path().join("b.json")).unwrap();
    let evidence = merged(&folder).unwrap();
    let hung = evidence.find(RACE, Detector::Racecheck).unwrap();
    assert_eq!((hung.verdict, hung.hung), (Verdict::Unsupported, true));
    let native = evidence.find(CORRECT, Detector::Native).unwrap();
    assert_eq!(native.verdict, Verdict::Inconclusive);
    assert_eq!(native.reason.as_deref(), Some("CUDA_ERROR_NO_DEVICE"));
}

#[test]
fn what_does_not_belong_together_is_refused() {
    let folder = left_behind();
    let receipts = folder.path().join("receipts");
    let path = receipts.join("c.json");
    let mut other = receipt("scan/warp/plain-pointer", None);
    other.device.as_mut().unwrap().name = "another".to_owned();
    other.write(&path).unwrap();
    assert!(matches!(merged(&folder), Err(MergeError::Mixed { .. })));
    receipt(RACE, None).write(&path).unwrap();
    assert!(matches!(merged(&folder), Err(MergeError::Twice { .. })));
    receipt("no/such/case", None).write(&path).unwrap();
    assert!(matches!(
        merged(&folder),
        Err(MergeError::UnknownCase { .. })
    ));
    fs::write(&path, "{}").unwrap();
    assert!(matches!(merged(&folder), Err(MergeError::Stranger { .. })));
    fs::remove_file(&path).unwrap();
    fs::write(receipts.join("run.json"), "{}").unwrap();
    assert!(matches!(merged(&folder), Err(MergeError::Misplaced { .. })));
    assert!(matches!(
        merged(&tempfile::tempdir().unwrap()),
        Err(MergeError::NoDevice)
    ));
}

fn native(catalog: &Catalog, entry: &catalog::load::Entry, capability: (u32, u32)) -> Fingerprint {
    Fingerprint::of(catalog, entry, capability, Detector::Native)
}

#[test]
fn a_fingerprint_of_checks_has_their_ptx() {
    let mut catalog = Catalog::embedded().unwrap();
    let entry = catalog.find(RACE).unwrap().clone();
    let of = |catalog: &Catalog, detector| Fingerprint::of(catalog, &entry, (9, 0), detector);
    let (with, without) = (of(&catalog, Detector::Gpu), of(&catalog, Detector::Native));
    assert_eq!(without.checks, None);
    assert!(with.checks.is_some());
    let pin = catalog::pinned::Pin::new(&entry.case, "sm_90").ptx;
    let text = catalog.tree.files.get_mut(&pin).unwrap().to_mut();
    *text = text.replacen("ret;", "membar.gl;\n\tret;", 1);
    assert_ne!(of(&catalog, Detector::Gpu).checks, with.checks);
}

#[test]
fn a_fingerprint_changes_with_what_runs_and_with_nothing_else() {
    let mut catalog = Catalog::embedded().unwrap();
    let entry = catalog.find(RACE).unwrap().clone();
    let before = native(&catalog, &entry, (9, 0));
    assert_ne!(native(&catalog, &entry, (8, 9)), before);
    let mut reworded = entry.clone();
    reworded.case.title.push('!');
    reworded.case.expect.racecheck = None;
    assert_eq!(native(&catalog, &reworded, (9, 0)), before);
    let mut other = entry.clone();
    other.case.buffers.clear();
    assert_ne!(native(&catalog, &other, (9, 0)), before);
    let source = catalog.tree.files.get_mut(&entry.kernel_file()).unwrap();
    source.to_mut().push_str("// more\n");
    assert_ne!(native(&catalog, &entry, (9, 0)).source, before.source);
}

#[test]
fn the_evidence_inside_the_binary_can_be_read() {
    let all = Evidence::embedded().unwrap();
    let newest_first = all
        .windows(2)
        .all(|pair| numbers(pair[0].sanitizer.as_deref()) >= numbers(pair[1].sanitizer.as_deref()));
    assert!(newest_first);
}

#[test]
fn other_formats_are_refused() {
    let evidence = merged(&left_behind()).unwrap();
    let text = evidence.text().replace("\"format\": 1", "\"format\": 2");
    assert!(matches!(
        Evidence::parse("e", &text),
        Err(EvidenceError::Format { found: 2, .. })
    ));
    assert!(matches!(
        Evidence::parse("e", "{}"),
        Err(EvidenceError::Syntax { .. })
    ));
}
