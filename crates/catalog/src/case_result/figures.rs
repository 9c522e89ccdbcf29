//! The figures of performance notes, against those that a case demands.

use crate::case::{Case, PerfCounts, PerfRule};
use crate::plan::{Plan, evaluate};
use crate::simulate::LocatedFinding;
use detect::finding::{Detail, Finding};
use detect::rules::Rule;
use std::fmt;

/// The figures that a case asks of a rule's notes; `None` if it does not look for them.
pub(super) fn counts(case: &Case, rule: Rule) -> Option<&PerfCounts> {
    let name = match rule {
        Rule::BankConflict => PerfRule::BankConflict,
        Rule::UncoalescedAccess => PerfRule::UncoalescedAccess,
        Rule::DivergentBranch => PerfRule::DivergentBranch,
        _ => return None,
    };
    case.perf.get(&name)
}

pub(super) fn wrong_figures(
    counts: &PerfCounts,
    finding: &Finding,
    seen: &LocatedFinding,
    plan: &Plan,
) -> Option<String> {
    let pairs: Vec<(&str, &Option<_>, u64)> = match finding.detail {
        Detail::Banks {
            requests,
            wavefronts,
            degree,
        } => vec![
            ("requests", &counts.requests, requests),
            ("wavefronts", &counts.wavefronts, wavefronts),
            ("degree", &counts.degree, degree.into()),
        ],
        Detail::Sectors {
            requests,
            sectors,
            ideal,
        } => vec![
            ("requests", &counts.requests, requests),
            ("sectors", &counts.sectors, sectors),
            ("ideal", &counts.ideal, ideal),
        ],
        Detail::Branches {
            executed,
            divergent,
        } => vec![
            ("executed", &counts.executed, executed),
            ("divergent", &counts.divergent, divergent),
        ],
        _ => return None,
    };
    let line = seen
        .ends
        .first()
        .and_then(|end| end.lines.first())
        .copied()
        .unwrap_or(0);
    pairs.into_iter().find_map(|(what, expression, found)| {
        let expected = evaluate(what, expression.as_ref()?, &plan.sizes);
        let wrong = |expected: &dyn fmt::Display| {
            format!(
                "{} at line {line}: {found} {what}, expected {expected}",
                finding.rule
            )
        };
        match expected {
            Ok(expected) if u64::try_from(expected) == Ok(found) => None,
            Ok(expected) => Some(wrong(&expected)),
            Err(error) => Some(wrong(&error)),
        }
    })
}
