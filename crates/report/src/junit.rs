//! Renders JUnit XML with one test case for each check.

use super::{Report, Verdict, terminal};
use quick_junit::{NonSuccessKind, Report as Xml, TestCase, TestCaseStatus, TestSuite};

/// Renders one suite. A check with its expected verdict passes, findings fail, and a check without a verdict is an error.
pub fn render(report: &Report) -> String {
    let mut suite = TestSuite::new("racetrap");
    for check in &report.checks {
        let mut status = match check.verdict {
            _ if check.ok => TestCaseStatus::success(),
            Verdict::Inconclusive | Verdict::Unsupported => {
                TestCaseStatus::non_success(NonSuccessKind::Error)
            }
            _ => TestCaseStatus::non_success(NonSuccessKind::Failure),
        };
        let text: String = check
            .diagnostics
            .iter()
            .filter(|d| d.counts())
            .map(|d| terminal::diagnostic(d, false))
            .collect();
        if !check.ok {
            status
                .set_message(check.summary.as_str())
                .set_type(check.verdict.name());
            if !text.is_empty() {
                status.set_description(text.as_str());
            }
        }
        let mut case = TestCase::new(check.name.as_str(), status);
        case.set_classname("racetrap").set_time(check.time);
        if check.ok && !text.is_empty() {
            case.set_system_err(text.as_str());
        }
        if !check.output.is_empty() {
            case.set_system_out(check.output.as_str());
        }
        suite.add_test_case(case);
    }
    let mut xml = Xml::new("racetrap");
    xml.add_test_suite(suite);
    xml.to_string().expect("writing to memory does not fail")
}
