//! What a rule's file says of its findings.

use super::NoChange;
use super::finding_view::FindingView;
use super::help::Advice;

/// The texts of one rule. Its page is the module comment of its file.
pub(crate) struct RuleText {
    /// What was found, in a line that names the memory; `None` where the rule's summary says it.
    pub title: fn(&FindingView<'_>) -> Option<String>,
    /// Additional facts, one sentence each.
    pub notes: fn(&FindingView<'_>) -> Vec<String>,
    /// Why a finding is a warning at most, though the rule is an error.
    pub mitigated: fn(&FindingView<'_>) -> Option<&'static str>,
    /// What to do about it.
    pub help: fn(&FindingView<'_>) -> Option<Advice>,
    /// Why there is no change of the source, where the help doesn't know better.
    pub no_change: NoChange,
}

/// A rule of which only its page and its summary are known; others say what they know besides.
pub(crate) const SUMMARY: RuleText = RuleText {
    title: |_| None,
    notes: |_| Vec::new(),
    mitigated: |_| None,
    help: |_| None,
    no_change: NoChange::NotFound,
};
