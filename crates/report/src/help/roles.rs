//! Accesses of warps that have different roles: a producer's and a consumer's, which pass data by mbarriers or named barriers
//! (PTX ISA, "mbarrier", "barrier").
//!
//! By what ran: the two instructions ran in no warp in common, and one of the warps arrives or waits at such a barrier. A
//! `__syncthreads()` in the code of one role is never reached by the other, so none is advised; what the two have so far is told.

use crate::finding_view::{FindingView, Pair};
use crate::language::Word;
use crate::own_line::own_line;
use ptx::semantics::{MbarrierOperation, Participation, Synchronisation};
use simt::program::SiteInfo;
use std::collections::BTreeSet;

/// How a side takes part in a barrier of some of a block's threads.
#[derive(Clone, Copy, PartialEq)]
enum Part {
    Arrives,
    Waits,
    Both,
}

fn part(site: &SiteInfo) -> Option<Part> {
    use MbarrierOperation::*;
    match site.instruction.synchronisation? {
        Synchronisation::Mbarrier(Arrive | ArriveDrop | ArriveLater) => Some(Part::Arrives),
        Synchronisation::Mbarrier(TestWait | TryWait) => Some(Part::Waits),
        // Without a number of threads it is one of the whole block, unless warps only arrive.
        Synchronisation::BlockBarrier { participation, .. } => match participation {
            Participation::Arrive => Some(Part::Arrives),
            Participation::Wait => Some(Part::Waits),
            _ => (site.text.matches(',').count() >= 1).then_some(Part::Both),
        },
        _ => None,
    }
}

/// What orders two accesses of different roles; `None` where they have none.
pub(crate) fn advice(view: &FindingView<'_>) -> Option<String> {
    let Pair {
        earlier,
        later,
        from: a,
        to: b,
    } = view.pair()?;
    let kernel = view.kernel.filter(|_| earlier.block == later.block)?;
    let (first, second) = (kernel.warps_at(earlier.site)?, kernel.warps_at(later.site)?);
    if first == 0 || second == 0 || first & second != 0 {
        return None;
    }
    let sites = kernel.sites.iter().zip(&kernel.warps);
    let parts: Vec<(&SiteInfo, u32, Part)> = sites
        .filter_map(|(site, warps)| Some((site, *warps, part(site)?)))
        .filter(|(_, warps, _)| *warps != 0)
        .collect();
    if !parts
        .iter()
        .any(|(_, warps, _)| warps & (first | second) != 0)
    {
        return None;
    }
    let lines = |side: u32, how: Part| {
        let those = parts
            .iter()
            .filter(|(_, warps, part)| warps & side != 0 && [how, Part::Both].contains(part));
        let lines: BTreeSet<u32> = those
            .map(|(site, ..)| match own_line(site, kernel.sites) {
                Some(line) if a.in_source => line.line,
                _ => site.ptx_line,
            })
            .collect();
        let lines: Vec<String> = lines.iter().map(|line| format!("line {line}")).collect();
        lines.join(" and ")
    };
    let side = |warps: u32| {
        let at = |how: Part, verb: &str| match lines(warps, how) {
            none if none.is_empty() => format!("{verb} nowhere"),
            lines => format!("{verb} at {lines}"),
        };
        format!(
            "{} and {}",
            at(Part::Waits, "wait"),
            at(Part::Arrives, "arrive")
        )
    };
    Some(format!(
        "order the two by an mbarrier or a named barrier of both roles: each has to wait before its access and to arrive behind it. The warps of {} {}, those of {} {}. No `{}` orders them, because no warp runs both lines",
        a.place(),
        side(first),
        b.place(),
        side(second),
        view.word(Word::BlockBarrier)
    ))
}
