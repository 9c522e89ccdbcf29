//! Warp operations: what lanes get from each other, and from nobody.

use super::super::Core;
use crate::alu::Mask;
use crate::hooks::Hooks;
use crate::ids::*;
use crate::observer::*;
use crate::op::*;
use crate::state::*;
use crate::undefined::{Lanes, Shadow};

/// What a warp operation did, for [`Core::exchanged`].
pub(crate) struct Exchange<'e> {
    pub parties: &'e [(usize, WarpOp, Site)],
    pub lanes: Mask,
    pub members: Mask,
    /// The lanes whose source took no part, and whom it would be.
    pub absent: Mask,
    pub from: [u8; LANES],
    /// Lanes whose predicate holds.
    pub holds: Mask,
}

const W: RegisterClass = RegisterClass::W(32);

impl<O: Hooks> Core<'_, O> {
    /// A warp operation was performed; from the first on that read from nobody, values are followed.
    #[cold]
    #[inline(never)]
    pub(crate) fn exchanged(&mut self, block: &mut Block, w: usize, e: &Exchange<'_>) {
        let mut u = block.poison.take().unwrap_or_default();
        u.warps.resize_with(block.warps.len(), Shadow::default);
        let warp = &block.warps[w];
        let mut new = Vec::new();
        let all = e.parties.iter().fold(Lanes::default(), |all, (s, op, _)| {
            let class = operand_class(op.kind);
            all.or(u.of(w, class, op.a).within(warp.splits[*s].mask))
        });
        for (s, op, site) in e.parties {
            let own = warp.splits[*s].mask;
            let absent = e.absent & own;
            let mut result = Lanes::default();
            if is_shuffle(op.kind) {
                if absent != 0 {
                    let lane = absent.trailing_zeros();
                    let from = u32::from(e.from[lane as usize]);
                    let source = u.source(ShuffleSource {
                        site: *site,
                        who: block.who(w),
                        lanes: absent,
                        lane: LaneId(lane as u8),
                        from: LaneId(from as u8),
                        members: e.members,
                        why: match () {
                            () if warp.exists >> from & 1 == 0 => NoValue::NoThread,
                            () => NoValue::LeftOut,
                        },
                    });
                    result = Lanes {
                        mask: absent,
                        source,
                    };
                }
                for l in lanes_of(own & !absent) {
                    let from = usize::from(e.from[l]);
                    let giver = e
                        .parties
                        .iter()
                        .find(|(s, ..)| warp.splits[*s].mask >> from & 1 == 1);
                    let given = giver.map(|(_, op, _)| u.of(w, W, op.a));
                    if let Some(given) = given.filter(|g| g.mask >> from & 1 == 1) {
                        result = result.or(Lanes {
                            mask: 1 << l,
                            ..given
                        });
                    }
                }
                let steered = u.of(w, W, op.b).or(u.of(w, W, op.c)).within(own);
                new.push((op.p, RegisterClass::P, own, steered));
                result = result.or(steered);
            } else {
                // One lane that is defined may decide for all.
                let certain = e.lanes & !all.mask;
                let decided = match op.kind {
                    WarpKind::VoteAll => certain & !e.holds != 0,
                    WarpKind::VoteAny => certain & e.holds != 0,
                    WarpKind::VoteUni => certain & e.holds != 0 && certain & !e.holds != 0,
                    _ => false,
                };
                if !decided && all.mask != 0 {
                    result = Lanes {
                        mask: own,
                        source: all.source,
                    };
                }
                new.push((op.p, RegisterClass::P, own, result));
            }
            let class = match op.kind {
                WarpKind::VoteAll | WarpKind::VoteAny | WarpKind::VoteUni => RegisterClass::P,
                _ => W,
            };
            new.push((op.d, class, own, result));
        }
        for (slot, class, own, undefined) in new {
            u.write(w, class, slot, own, undefined);
        }
        block.poison = Some(u);
    }
}

fn is_shuffle(kind: WarpKind) -> bool {
    use WarpKind::*;
    matches!(kind, ShflUp | ShflDown | ShflBfly | ShflIdx)
}

fn operand_class(kind: WarpKind) -> RegisterClass {
    use WarpKind::*;
    match kind {
        VoteAll | VoteAny | VoteUni | VoteBallot => RegisterClass::P,
        MatchAll64 | MatchAny64 => RegisterClass::D,
        _ => W,
    }
}
