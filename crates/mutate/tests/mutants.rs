//! The mutants of the catalogue's correct kernels, one test a case: each is noticed, or the case explains why nothing can be
//! noticed; and each explanation is of a mutant that is not.
//!
//! This tests the detectors, as much as the cases: a barrier that is needed, and whose removal nobody notices, is a bug that
//! would be missed. `racetrap mutate CASE -v` shows the same.

extern crate racetrap_mutate as mutate;

use catalog::load::{Catalog, Entry};
use libtest_mimic::{Arguments, Failed, Trial};
use mutate::case::{Settings, judge};
use std::process::ExitCode;
use std::sync::Arc;

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let catalog = match Catalog::embedded() {
        Ok(catalog) => Arc::new(catalog),
        Err(errors) => {
            eprintln!("{errors}");
            return ExitCode::FAILURE;
        }
    };
    let correct = |e: &Entry| !e.case.is_meant_buggy();
    let trials = (0..catalog.cases.len())
        .filter(|index| correct(&catalog.cases[*index]))
        .map(|index| {
            let shared = Arc::clone(&catalog);
            let name = shared.cases[index].id.clone();
            Trial::test(name, move || test(&shared, &shared.cases[index]))
        });
    libtest_mimic::run(&arguments, trials.collect()).exit_code()
}

fn test(catalog: &Catalog, entry: &Entry) -> Result<(), Failed> {
    let subject = judge(catalog, entry, &Settings::default());
    let problems = subject.problems();
    match problems.is_empty() {
        true => Ok(()),
        false => Err(problems.join("\n").into()),
    }
}
