//! Accesses that memory refuses: `out-of-bounds`, `misaligned-access`, `use-after-free`
//! and `uninitialized-read`; and what `free` refuses.
//!
//! Bounds, alignment and validity are checked where the access is made; here a
//! [`MemoryFault`] becomes a finding. An uninitialised read is reported where the bytes are
//! read, whether or not the value is used.

use crate::finding::{Action, Detail, End, Finding, Findings, Place};
use crate::rules::Rule;
use simt::ids::*;
use simt::memory::{FAR, GLOBAL_BASE};
use simt::observer::{FaultKind, MemoryFault, Space};

/// Bytes behind the start of global memory that an address can mean. What lies higher is no address of a device: x86-64 and CUDA's
/// unified addressing have 48 bits, and a null pointer minus something has more.
const ADDRESSES: u64 = 1 << 48;

/// Turns memory faults into findings.
#[derive(Clone, Debug, Default)]
pub struct Detector {
    findings: Findings,
}

impl Detector {
    /// See [`simt::observer::Events::fault`].
    pub fn fault(&mut self, launch: u32, fault: &MemoryFault<'_>) {
        let rule = match fault.kind {
            FaultKind::OutOfBounds | FaultKind::Image { .. } => Rule::OutOfBounds,
            FaultKind::Misaligned => Rule::MisalignedAccess,
            FaultKind::Freed | FaultKind::FreedTwice => Rule::UseAfterFree,
            FaultKind::NotAllocated => Rule::InvalidCall,
            FaultKind::Uninitialized => Rule::UninitializedRead,
        };
        let lane = fault.mask.trailing_zeros() as usize;
        let full = fault.address[lane];
        let global = matches!(fault.space, Some(Space::Global | Space::Const));
        let offset = full.checked_sub(GLOBAL_BASE);
        let offset = offset.filter(|offset| global && *offset < ADDRESSES);
        let mapped = fault.space.is_some() && (!global || offset.is_some());
        self.findings.add(Finding {
            rule,
            ends: vec![End {
                site: fault.site,
                launch,
                block: fault.who.block,
                thread: fault.who.thread(LaneId(lane as u8)),
                threads: fault.mask.count_ones(),
                action: match fault.kind {
                    FaultKind::FreedTwice | FaultKind::NotAllocated => Action::Free,
                    _ if fault.write => Action::Write,
                    _ => Action::Read,
                },
                order: None,
            }],
            place: (!matches!(fault.kind, FaultKind::Image { .. })).then_some(Place {
                space: fault.space.unwrap_or(Space::Global),
                address: match fault.space {
                    // What another block of the cluster has not written: there.
                    Some(Space::Shared) if rule == Rule::UninitializedRead => full % FAR,
                    _ => offset.unwrap_or(full),
                },
                bytes: fault.bytes,
                mapped,
            }),
            detail: match (fault.kind, fault.pointer) {
                (FaultKind::Image { why, surface }, _) => Detail::Image { why, surface },
                (_, Some(to)) => {
                    let base = if global { GLOBAL_BASE } else { 0 };
                    let lanes = (0..LANES).filter(|lane| fault.mask >> lane & 1 == 1);
                    let furthest = lanes.map(|lane| fault.address[lane]).max().unwrap_or(full);
                    Detail::Pointer {
                        to: to.wrapping_sub(base),
                        reach: furthest
                            .wrapping_sub(base)
                            .saturating_add(u64::from(fault.bytes)),
                    }
                }
                (_, None) => Detail::None,
            },
            count: u64::from(fault.mask.count_ones()),
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
