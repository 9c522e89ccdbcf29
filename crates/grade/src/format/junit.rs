//! JUnit XML: a suite a submission, a case a part.

use crate::result::State;
use crate::view::View;
use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};

/// The document.
pub fn render(all: &[View]) -> String {
    let mut report = Report::new("racetrap grade");
    for view in all {
        let mut suite = TestSuite::new(plain(&view.submission));
        for part in &view.parts {
            let mut status = match part.state {
                State::Passed => TestCaseStatus::success(),
                State::NeedsReview | State::Manual => TestCaseStatus::skipped(),
                _ => TestCaseStatus::non_success(NonSuccessKind::Failure),
            };
            let earned = part.earned.map_or("?".to_owned(), crate::view::number);
            status.set_message(format!(
                "{earned} of {} points",
                crate::view::number(part.of)
            ));
            status.set_description(plain(&part.text.join("\n\n")));
            suite.add_test_case(TestCase::new(plain(&part.title), status));
        }
        report.add_test_suite(suite);
    }
    report.to_string().unwrap_or_default()
}

/// Text that XML can hold.
fn plain(text: &str) -> String {
    text.chars()
        .filter(|c| !c.is_control() || "\n\t".contains(*c))
        .collect()
}
