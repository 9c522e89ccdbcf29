//! `ci/which-tools.sh`: a missing compiler is told before the tests, and fails them where it is required.
#![cfg(unix)]

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

/// What the script prints on a machine whose programs lie in `folder/bin`, and its exit status.
fn said(folder: &Path, required: bool) -> (String, Option<i32>) {
    let output = Command::new("/bin/bash")
        .arg(testing::root().join("ci/which-tools.sh"))
        .current_dir(folder)
        .env_clear()
        .env("PATH", folder.join("bin"))
        .env("HOME", folder)
        .env("RACETRAP_REQUIRE_TOOLS", if required { "1" } else { "0" })
        .output()
        .unwrap();
    let text = [output.stdout, output.stderr].concat();
    (String::from_utf8(text).unwrap(), output.status.code())
}

fn program(path: &Path) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, "#!/bin/sh\n").unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn a_missing_compiler_is_told() {
    if ["/usr/local/cuda", "/opt/cuda"].map(|f| Path::new(f).exists()) != [false, false] {
        testing::skip("this machine has a CUDA toolkit in its usual place");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let (text, code) = said(at, false);
    assert!(
        text.starts_with("SKIPPED: the tests that need nvcc ptxas,"),
        "{text}"
    );
    assert_eq!(code, Some(0));
    let (text, code) = said(at, true);
    assert!(text.starts_with("error: not found: nvcc ptxas;"), "{text}");
    assert_eq!(code, Some(1));

    program(&at.join("bin/ptxas"));
    let (text, _) = said(at, false);
    assert!(
        text.starts_with("SKIPPED: the tests that need nvcc,"),
        "{text}"
    );
    program(&at.join(".toolchain/cuda/bin/nvcc"));
    assert_eq!(said(at, true), (String::new(), Some(0)));
}
