//! `ci/gpu-run.sh`, with a stand-in for nextest: what an earlier run left is gone before the next one begins.
#![cfg(unix)]

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

/// Says what it finds in the results folder, and leaves a recording.
const NEXTEST: &str = "\
#!/usr/bin/env bash
find \"$RACETRAP_RECORDINGS\" \"$RACETRAP_RECEIPT_DIR\" -type f 2>/dev/null | sort
mkdir -p \"$RACETRAP_RECORDINGS/1.0/racecheck/new\"
touch \"$RACETRAP_RECORDINGS/1.0/racecheck/new/run.json\"
";

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

#[test]
fn an_earlier_run_leaves_nothing_to_the_next() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    write(&at.join("tests.tar.zst"), "");
    write(&at.join("revision.txt"), "none\n");
    write(&at.join("cargo-nextest"), NEXTEST);
    fs::set_permissions(at.join("cargo-nextest"), fs::Permissions::from_mode(0o755)).unwrap();
    let results = at.join("results");
    let old = [
        "recordings/1.0/racecheck/scan/old/run.json",
        "recordings/1.0/memcheck/scan/other-profile/run.json",
        "receipts/racecheck/old.json",
        "receipts/gpu/other-profile.json",
    ];
    for name in old {
        write(&results.join(name), "{}");
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("ci/gpu-run.sh");
    let output = Command::new("bash")
        .arg(script)
        .arg(at)
        .arg("racecheck")
        .env_remove("RACETRAP_RESULTS")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}");
    let log = fs::read_to_string(results.join("racecheck.log")).unwrap();
    assert!(!log.contains("/old"), "{log}");
    assert!(log.contains("other-profile/run.json"), "{log}");
    let left = |name: &str| results.join(name).exists();
    assert!(!left(old[0]) && left(old[1]) && !left(old[2]) && left(old[3]));
    assert!(left("recordings/1.0/racecheck/new/run.json"));
}
