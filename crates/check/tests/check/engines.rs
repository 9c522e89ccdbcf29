//! Every PTX file of the project on both engines ([`simt::Engine::Both`]): the catalogue's and all pinned ones, whatever they need and whatever is
//! found in them. A check whose launches end alike on both says anything but that they do not agree.
//!
//! Arguments are guessed, which is good enough to compare two runs. What runs with the right ones, whole programs included, is compared by
//! `ci/engines.sh`.

use check::{Checked, Kernels, Request, Schedules, Source, Unwatched, check_each};
use simt::Engine;
use std::path::{Path, PathBuf};
use std::time::Duration;

fn files(folder: &Path, all: &mut Vec<PathBuf>) {
    let hidden = |path: &Path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with('.') || name == "target"
    };
    let mut entries: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    entries.sort();
    for path in entries.into_iter().filter(|path| !hidden(path)) {
        if path.is_dir() && !path.is_symlink() {
            files(&path, all);
        } else if path.extension().is_some_and(|e| e == "ptx") {
            all.push(path);
        }
    }
}

/// How the engines differ in a file's kernels, and how many of these ran to their end.
fn differences(file: &Path) -> (Vec<String>, usize) {
    let mut request = Request::new(Source::File(file.to_owned()));
    request.engine = Engine::Both;
    request.schedules = Schedules::UpTo(1);
    request.inputs = 1;
    request.budgets.steps = 10_000;
    request.budgets.time = Some(Duration::from_secs(5));
    request.budgets.jobs = 1;
    let Ok(all) = check_each(&request, &Kernels::All, &Unwatched) else {
        return (Vec::new(), 0);
    };
    let said = |checked: &Checked| checked.check.summary.clone();
    let said: Vec<String> = all
        .iter()
        .filter_map(|(_, c)| c.as_ref().ok().map(said))
        .collect();
    let differ = said.iter().filter(|s| s.contains("do not agree"));
    (differ.cloned().collect(), said.len())
}

fn all_agree(of: usize) {
    let mut all = Vec::new();
    files(&testing::root(), &mut all);
    assert!(all.len() > 1000, "{} files", all.len());
    let mut ran = 0;
    for file in all.iter().step_by(of) {
        let (differ, kernels) = differences(file);
        assert!(differ.is_empty(), "{}: {differ:?}", file.display());
        ran += kernels;
    }
    assert!(ran > all.len() / of / 2, "only {ran} kernels were checked");
}

#[test]
fn some_ptx_files_run_alike_on_both_engines() {
    all_agree(37);
}

#[test]
fn every_ptx_file_runs_alike_on_both_engines() {
    all_agree(1);
}
