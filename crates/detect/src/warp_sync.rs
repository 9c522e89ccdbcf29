//! Member masks of warp operations: `warp-sync-mask`.
//!
//! The manual leaves undefined what happens when a lane is not in the mask that it names,
//! or when a named lane that has not exited never comes (PTX ISA, "bar.warp.sync", "shfl.sync").
//! Both are decided where lanes meet ([`Misuse`]); here they become findings.

use super::barrier::end;
use crate::finding::{Action, Detail, Finding, Findings};
use crate::rules::Rule;
use simt::ids::*;
use simt::observer::{Misuse, Party};

/// Turns misuse of member masks into findings.
#[derive(Clone, Debug, Default)]
pub struct Detector {
    findings: Findings,
}

impl Detector {
    /// See [`simt::observer::Events::misuse`].
    pub fn misuse(&mut self, launch: u32, block: BlockId, misuse: &Misuse) {
        let mut add = |here: &Party, others: &[Party], action: Action, members, lanes| {
            let ends = [
                end(std::slice::from_ref(here), launch, block, Action::Sync),
                end(others, launch, block, action),
            ];
            self.findings.add(
                Finding::new(Rule::WarpSyncMask, ends.into_iter().flatten().collect())
                    .with(Detail::Masks { members, lanes }),
            );
        };
        match misuse {
            Misuse::MaskLeavesOut { lanes, members } => {
                add(lanes, &[], Action::Sync, *members, lanes.mask);
            }
            Misuse::MaskNamesAbsent {
                lanes,
                members,
                absent,
                exited,
            } => {
                let missing = absent.iter().fold(0, |m, p| m | p.mask);
                let action = if *exited { Action::Exit } else { Action::Pass };
                add(lanes, absent, action, *members, missing);
            }
            Misuse::MasksDiffer {
                lanes,
                members,
                others,
                ..
            } => {
                let others = std::slice::from_ref(others);
                add(lanes, others, Action::Sync, *members, lanes.mask);
            }
            _ => {}
        }
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
