//! Counterexamples of programs: what happened in the order of time, on the smallest input, and the command that repeats it.

use super::course;
use super::row_sums::racy;
use crate::judge::shown;
use racetrap_grade::format::{html, text};
use racetrap_grade::grade::grade;
use racetrap_grade::view::{When, view};
use report::trace::{Trace, What};
use std::collections::BTreeMap;

#[test]
fn a_race_of_a_program_is_shown_step_by_step_on_a_small_input() {
    let Some(course) = course("row-sums") else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("rowsums.cu"), racy()).unwrap();
    let graded = grade(&course, folder.path()).unwrap();
    let cause = graded
        .causes
        .first()
        .unwrap_or_else(|| panic!("{}", shown(&graded)));
    // Both lines, the write first, in the order of time.
    let seen = &cause.seen[0];
    let Some(Trace::Location { steps, .. }) = &seen.trace else {
        panic!("{seen:?}");
    };
    let at = |end| steps.iter().position(|step| step.end == Some(end));
    let (later, earlier) = (at(0).unwrap(), at(1).unwrap());
    assert!(earlier < later, "{steps:?}");
    assert!(
        steps
            .iter()
            .any(|step| step.what == What::Write && step.after.is_some())
    );
    let lines = |at: usize| steps[at].place.as_ref().map(|p| (p.file.as_str(), p.line));
    let guilty: Vec<(&str, u32)> = cause
        .lines
        .iter()
        .map(|l| (l.file.as_str(), l.line))
        .collect();
    assert_eq!(lines(earlier), Some(guilty[0]));
    assert_eq!(lines(later), guilty.last().copied());
    // One row is enough, and less columns than the first input has.
    let smallest = cause.smallest.as_ref().unwrap();
    assert_eq!(smallest.sizes["rows"], 1);
    assert!(smallest.sizes["columns"] < 64);
    assert_eq!(
        smallest.replay,
        format!(
            "racetrap exec rowsums.cu -- matrix.bin 1 {} sums.bin",
            smallest.sizes["columns"]
        )
    );
    // Students read it, and the page draws it.
    let said = text::render(&view(&graded, &course.assignment, When::BeforeDue));
    let less = format!(
        "With less (columns = {}, rows = 1)",
        smallest.sizes["columns"]
    );
    assert!(
        said.contains(&less) && said.contains("in the order of time"),
        "{said}"
    );
    assert!(
        said.contains("(with the files of input \"small\"): racetrap exec rowsums.cu"),
        "{said}"
    );
    let pages = html::pages(
        std::slice::from_ref(&graded),
        &[],
        &course.assignment,
        &BTreeMap::new(),
    );
    let command = format!(
        "racetrap grade assignment.yaml --write-input small . --sizes columns={},rows=1 &amp;&amp; {}",
        smallest.sizes["columns"], smallest.replay
    );
    assert!(pages[1].1.contains(&command), "{}", pages[1].1);
    assert!(
        pages[1].1.contains("<svg") && pages[1].1.contains("All accesses of the location"),
        "{}",
        pages[1].1
    );
}
