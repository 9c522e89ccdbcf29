//! What the simulator counts against what hardware counted: no GPU is needed for the recording.

use crate::common::racetrap;
use std::path::Path;

#[test]
fn the_simulator_counts_what_an_h200_counted() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let shown = racetrap(root, &["dev", "counters", "compare"]);
    assert!(shown.ends_with("--- exit status 0\n"), "{shown}");
    assert!(shown.contains(" 0 different, 0 unknown"), "{shown}");
}

/// A figure that is off is told, and so is a run that is not the recorded one any more.
#[test]
fn differences_are_told() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let recorded =
        std::fs::read_to_string(root.join("sanitizer/counters/nvidia-h200.json")).unwrap();
    let mut value: serde_json::Value = serde_json::from_str(&recorded).unwrap();
    let case = &mut value["cases"]["transpose/stride-32"];
    assert!(case.is_object(), "the recording has transposes");
    case["counts"]["shared-load-wavefronts"] = 7.into();
    value["cases"]["transpose/padded"]["job"] = "of another kernel".into();
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("counters.json");
    std::fs::write(&file, value.to_string()).unwrap();
    let shown = racetrap(
        root,
        &["dev", "counters", "compare", &file.display().to_string()],
    );
    assert!(shown.ends_with("--- exit status 1\n"), "{shown}");
    assert!(
        shown.contains("different    transpose/stride-32: 7 shared load wavefronts, "),
        "{shown}"
    );
    assert!(shown.contains("stale        transpose/padded: "), "{shown}");
}
