//! Shuffles that read from nobody: `undefined-shuffle`.
//!
//! The simulator follows what such a shuffle got and tells where it matters ([`UndefinedUse`]); here that becomes a
//! finding, the shuffle first, the use second.

use crate::finding::{Action, Detail, End, Finding, Findings, Place};
use crate::rules::Rule;
use simt::observer::{UndefinedUse, Usage};

/// Turns uses of undefined values into findings.
#[derive(Clone, Debug, Default)]
pub struct Detector {
    findings: Findings,
}

impl Detector {
    /// See [`simt::observer::Events::undefined`].
    pub fn undefined(&mut self, launch: u32, used: &UndefinedUse<'_>) {
        let source = used.source;
        let action = match used.how {
            Usage::Store => Action::Write,
            Usage::Update => Action::Atomic,
            Usage::Decision => Action::Branch,
            Usage::Other => Action::Use,
        };
        self.findings.add(Finding {
            rule: Rule::UndefinedShuffle,
            ends: vec![
                End::of_lanes(source.site, source.who, source.lanes, Action::Sync, launch),
                End::of_lanes(used.site, used.who, used.mask, action, launch),
            ],
            place: used.place.map(|(space, address, bytes)| Place {
                space,
                address,
                bytes,
                mapped: true,
            }),
            detail: Detail::Source {
                lane: source.lane,
                from: source.from,
                members: source.members,
                why: source.why,
            },
            count: 1,
            stale_loads: Vec::new(),
        });
    }

    /// What was found, leaving nothing.
    pub fn take_findings(&mut self) -> Findings {
        std::mem::take(&mut self.findings)
    }

    /// Whether nothing was found.
    pub fn is_clean(&self) -> bool {
        self.findings.is_empty()
    }
}
