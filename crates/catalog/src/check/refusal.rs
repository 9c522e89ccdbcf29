//! A case whose kernel the compiler is to refuse.

use super::Check;
use crate::annotation::Fault;
use crate::case::CaseLimits;
use crate::entry::Entry;
use crate::locate::Step;
use std::collections::BTreeSet;

impl Check<'_> {
    /// A kernel that the compiler is to refuse is not run, its tags are of the compiler's errors, and no case runs it all the same.
    pub(super) fn refusal(&mut self, all: &[Entry], untagged: bool) {
        let case = self.case();
        let is_error = |fault| fault == Fault::CompileError;
        let Some(refusal) = case.refusal() else {
            if self.entry.tags.iter().any(|tag| is_error(tag.fault)) {
                self.inconsistent(
                    &["expect".into()],
                    "a line is tagged `compile-error`, which needs `expect: {compiler: {errors: […]}}`",
                );
            }
            return;
        };
        let errors: &[Step<'_>] = &["expect".into(), "compiler".into(), "errors".into()];
        if refusal.errors.is_empty() {
            self.inconsistent(errors, "the list of expected compiler errors is empty");
        }
        let distinct: BTreeSet<&String> = refusal.errors.iter().collect();
        if distinct.len() < refusal.errors.len() {
            self.inconsistent(
                errors,
                "an error is listed twice; list it once, even if several lines have it",
            );
        }
        for (key, given) in [
            ("sizes", !case.sizes.is_empty()),
            ("buffers", !case.buffers.is_empty()),
            ("launches", !case.launches.is_empty()),
            ("plan", !case.plan.is_empty()),
            ("oracle", !case.oracle.is_empty()),
            ("prints", case.prints.is_some()),
            ("wrong-results", case.wrong_results.is_some()),
            ("perf", !case.perf.is_empty()),
            ("limits", case.limits != CaseLimits::default()),
        ] {
            if given {
                self.inconsistent(
                    &[key.into()],
                    format!("a kernel that the compiler rejects never runs: remove `{key}`"),
                );
            }
        }
        if !untagged && self.entry.tags.iter().any(|tag| !is_error(tag.fault)) {
            self.inconsistent(
                &["kernel".into()],
                "a kernel that the compiler rejects never runs: its lines can only be tagged `compile-error`",
            );
        }
        let runs = |other: &&Entry| {
            other.case.refusal().is_none()
                && other.case.kernel == case.kernel
                && other.case.define_flags() == case.define_flags()
        };
        if let Some(other) = all.iter().find(runs) {
            self.inconsistent(
                &["defines".into()],
                format!(
                    "`{}` runs the same kernel with the same defines, so the kernel compiles",
                    other.id
                ),
            );
        }
    }
}
