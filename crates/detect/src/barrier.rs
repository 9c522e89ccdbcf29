//! Barriers that not everybody comes to, `divergent-barrier` and `barrier-after-exit`, and those that
//! there can't be, `invalid-barrier`; mbarriers that are told what they may not be, `mbarrier-misuse`; registers of a warpgroup's products that
//! are used at the wrong time, `async-copy-hazard`.
//!
//! Whether threads come to the same barrier is decided where they meet
//! ([`Misuse`]); here it becomes a finding. Blind spot: a barrier with a thread count can
//! be used from different places on purpose, so only convergence is judged for it.

use crate::finding::{Action, Detail, End, Finding, Findings, Place};
use crate::rules::Rule;
use simt::ids::*;
use simt::observer::{Elsewhere, Misuse, Party, RegisterFault, Space};

/// Turns misuse of block barriers into findings.
#[derive(Clone, Debug, Default)]
pub struct Detector {
    findings: Findings,
}

/// The threads of some parties at one site as one end: the lowest thread, and how many.
pub(super) fn end(parties: &[Party], launch: u32, block: BlockId, action: Action) -> Option<End> {
    let site = parties.first()?.site;
    let here = parties.iter().filter(|p| p.site == site);
    let thread = here
        .clone()
        .map(|p| ThreadId::of(p.warp, LaneId(p.mask.trailing_zeros() as u8)))
        .min()?;
    Some(End {
        site,
        launch,
        block,
        thread,
        threads: here.map(|p| p.mask.count_ones()).sum(),
        action,
        order: None,
    })
}

/// What the one does who uses registers at the wrong time, and the other.
fn of_registers(fault: RegisterFault) -> (Action, Action) {
    let uses = |writes| if writes { Action::Write } else { Action::Read };
    match fault {
        RegisterFault::InFlight { writes } => (uses(writes), Action::Multiply),
        RegisterFault::Unfenced { writes } => (Action::Multiply, uses(writes)),
        RegisterFault::NeverFenced => (Action::Multiply, Action::Multiply),
    }
}

impl Detector {
    /// See [`simt::observer::Events::misuse`].
    pub fn misuse(&mut self, launch: u32, block: BlockId, misuse: &Misuse) {
        let (rule, waiting, others, action): (_, _, &[Party], _) = match misuse {
            Misuse::DivergentBarrier {
                waiting,
                elsewhere,
                how,
            } => {
                let action = match how {
                    Elsewhere::AtAnotherBarrier | Elsewhere::AtAnotherCount => Action::Wait,
                    Elsewhere::Past | Elsewhere::PastAndExited => Action::Pass,
                };
                (Rule::DivergentBarrier, &waiting[..], elsewhere, action)
            }
            Misuse::UnconvergedBarrier { reached, elsewhere } => {
                let reached = std::slice::from_ref(reached);
                (Rule::DivergentBarrier, reached, elsewhere, Action::Pass)
            }
            Misuse::BarrierAfterExit { waiting, exited } => {
                (Rule::BarrierAfterExit, &waiting[..], exited, Action::Exit)
            }
            Misuse::Mbarrier { here, .. } => {
                let here = std::slice::from_ref(here);
                (Rule::MbarrierMisuse, here, &[], Action::Atomic)
            }
            Misuse::Registers { here, other, .. } => {
                let (here, other) = (std::slice::from_ref(here), other.as_slice());
                (Rule::AsyncCopyHazard, here, other, Action::Multiply)
            }
            Misuse::InvalidBarrier { here, .. } => {
                let here = std::slice::from_ref(here);
                (Rule::InvalidBarrier, here, &[], Action::Wait)
            }
            _ => return,
        };
        let detail = match misuse {
            Misuse::InvalidBarrier { fault, .. } => Detail::Barrier(*fault),
            Misuse::Mbarrier { fault, .. } => Detail::Mbarrier(*fault),
            Misuse::Registers { fault, .. } => Detail::Registers(*fault),
            Misuse::DivergentBarrier {
                how: Elsewhere::AtAnotherCount,
                ..
            } => Detail::Text("they use one barrier, each for its own number of threads".into()),
            Misuse::DivergentBarrier {
                how: Elsewhere::PastAndExited,
                ..
            } => Detail::Exited,
            _ => Detail::None,
        };
        let (place, here) = match misuse {
            Misuse::Mbarrier { object, .. } => {
                let place = Place {
                    space: Space::Shared,
                    address: *object,
                    bytes: 8,
                    mapped: true,
                };
                (Some(place), Action::Atomic)
            }
            _ => (None, Action::Wait),
        };
        let (here, action) = match misuse {
            Misuse::Registers { fault, .. } => of_registers(*fault),
            _ => (here, action),
        };
        let ends = [
            end(waiting, launch, block, here),
            end(others, launch, block, action),
        ];
        self.findings.add(Finding {
            rule,
            ends: ends.into_iter().flatten().collect(),
            place,
            detail,
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
