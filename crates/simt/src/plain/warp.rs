//! Warp-level operations (PTX ISA, "bar.warp.sync", "shfl.sync", "vote.sync", "match.sync", "redux.sync", "elect.sync", "activemask"):
//! lanes wait until all non-exited lanes that their mask names have come to such an operation with the same mask, and then each lane gets its value
//! from the operands of all. What is wrong with a meeting is told by `exec::warp`, for both engines.

use super::Turn;
use crate::alu::Mask;
use crate::exec::Exchange;
use crate::hooks::Hooks;
use crate::ids::*;
use crate::observer::*;
use crate::op::*;
use crate::state::*;

/// A split that takes part: its number, the operation that it stands at, and where.
type Taker = (usize, WarpOp, Site);

impl<O: Hooks> Turn<'_, '_, O> {
    /// The split comes to a warp operation. Whether it was performed at once.
    pub(super) fn warp_operation(&mut self, op: &WarpOp, site: Site) -> bool {
        let mask = self.split().mask;
        if op.kind == WarpKind::ActiveMask {
            lanes_of(mask).for_each(|l| self.set_w(op.d, l, mask));
            return true;
        }
        self.comes_to(op.point, mask);
        let named = self.w(op.members, mask.trailing_zeros() as usize);
        let same = lanes_of(mask).all(|l| self.w(op.members, l) == named);
        if same && named & self.warp().live() == mask {
            self.perform(named, &[(self.s, op.clone(), site)]);
            return true;
        }
        let groups = self.groups(op, mask);
        self.report_masks(op, mask, &groups, site);
        let (pc, first_new) = (self.split().pc, self.warp().splits.len());
        let ways: Vec<(u32, Mask)> = groups.iter().map(|(_, lanes)| (pc, *lanes)).collect();
        self.scatter(&ways);
        let s = self.s;
        let warp = self.warp_mut();
        for k in std::iter::once(s).chain(first_new..warp.splits.len()) {
            warp.splits[k].state = State::WarpSync;
            warp.splits[k].rounds = 0;
        }
        self.complete_warp();
        false
    }

    /// Lanes that name different lanes wait for different partners. One that its own mask leaves out is alone.
    fn groups(&self, op: &WarpOp, mask: Mask) -> Vec<(Mask, Mask)> {
        let mut groups: Vec<(Mask, Mask)> = Vec::new();
        for l in lanes_of(mask) {
            let named = self.w(op.members, l);
            if named >> l & 1 == 0 {
                groups.push((1 << l, 1 << l));
                continue;
            }
            match groups.iter_mut().find(|(members, _)| *members == named) {
                Some((_, lanes)) => *lanes |= 1 << l,
                None => groups.push((named, 1 << l)),
            }
        }
        groups
    }

    /// "The behavior is undefined if the executing thread is not in the membermask", nor if masks overlap and differ.
    fn report_masks(&mut self, op: &WarpOp, mask: Mask, groups: &[(Mask, Mask)], site: Site) {
        if !O::WATCHES {
            return;
        }
        let left_out = super::filter(mask, |l| self.w(op.members, l) >> l & 1 == 0);
        let misuse = match groups {
            _ if left_out != 0 => Misuse::MaskLeavesOut {
                lanes: self.party(left_out, site),
                members: self.w(op.members, left_out.trailing_zeros() as usize),
            },
            [(first, a), (second, b), ..] if first & second & (a | b) != 0 => Misuse::MasksDiffer {
                lanes: self.party(*a, site),
                members: *first,
                others: self.party(*b, site),
                other_members: *second,
            },
            _ => return,
        };
        self.core.observer.misuse(self.block.id, misuse);
    }

    /// The operation that a split waits at, and the lanes that it names.
    fn standing(&self, s: usize) -> Option<(Taker, Mask)> {
        let split = &self.warp().splits[s];
        let i = &self.core.program.code[split.pc as usize];
        let (State::WarpSync, Op::Warp(op)) = (split.state, &i.op) else {
            return None;
        };
        let first = split.mask.trailing_zeros() as usize;
        let named = self.w(op.members, first);
        let members = match named >> first & 1 {
            0 => split.mask,
            _ => named,
        };
        Some(((s, (**op).clone(), i.site), members))
    }

    /// Performs every operation whose lanes are all there.
    pub(super) fn complete_warp(&mut self) {
        while let Some((members, takers)) = self.find_group(false) {
            self.finish(members, &takers);
        }
    }

    /// Splits that wait for each other at operations of one kind with one mask; with `incomplete`, also where some are missing.
    fn find_group(&self, incomplete: bool) -> Option<(Mask, Vec<Taker>)> {
        let splits = self.warp().splits.len();
        (0..splits).find_map(|first| {
            let ((_, op, _), members) = self.standing(first)?;
            let others = (first..splits).filter_map(|s| self.standing(s));
            let same = others.filter(|((_, o, _), m)| o.kind == op.kind && *m == members);
            let takers: Vec<Taker> = same.map(|(taker, _)| taker).collect();
            let missing = members & self.warp().live() & !self.lanes_of_all(&takers);
            (incomplete || missing == 0).then_some((members, takers))
        })
    }

    fn lanes_of_all(&self, takers: &[Taker]) -> Mask {
        let masks = takers.iter().map(|(s, ..)| self.warp().splits[*s].mask);
        masks.fold(0, |all, mask| all | mask)
    }

    /// Performs an operation that splits wait at, and lets them go on.
    fn finish(&mut self, members: Mask, takers: &[Taker]) {
        self.perform(members, takers);
        self.core.released();
        let warp = self.warp_mut();
        for (s, ..) in takers {
            warp.splits[*s].state = State::Ready;
            warp.splits[*s].pc += 1;
        }
        match takers[0].1.kind {
            WarpKind::Together(_) => warp.join(),
            _ => warp.reconverge(),
        }
    }

    /// Where nothing can run: performs an operation whose lanes never all come, and reports it. Whether there was one.
    pub(super) fn force_warp_operation(&mut self) -> bool {
        for w in 0..self.block.warps.len() {
            self.w = w;
            let Some((members, takers)) = self.find_group(true) else {
                continue;
            };
            // Lanes that wait for an mbarrier are on their way: what keeps them is another mistake.
            let waits = |s: &Split| {
                matches!(
                    s.state,
                    State::Phase(_) | State::Cluster | State::Products(_)
                ) && s.mask & members != 0
            };
            if self.warp().splits.iter().any(waits) {
                continue;
            }
            let present = self.lanes_of_all(&takers);
            let missing = members & self.warp().live() & !present;
            if O::WATCHES {
                let misuse = Misuse::MaskNamesAbsent {
                    lanes: self.party(present, takers[0].2),
                    members,
                    absent: self.core.whereabouts(self.warp(), missing),
                    exited: false,
                };
                self.core.observer.misuse(self.block.id, misuse);
            }
            self.finish(members, &takers);
            return true;
        }
        false
    }

    /// Performs an operation for all that take part.
    fn perform(&mut self, members: Mask, takers: &[Taker]) {
        let told: Vec<(usize, &WarpOp, Site)> =
            takers.iter().map(|(s, op, site)| (*s, op, *site)).collect();
        (self.core).judge_members(self.block, self.w, members, &told);
        let lanes = self.lanes_of_all(takers);
        let kind = takers[0].1.kind;
        let who = self.who();
        self.core.on_warp_sync(who.block, self.w, lanes);
        if O::WATCHES {
            self.core.observer.warp_sync(&WarpSync {
                site: takers[0].2,
                who,
                lanes,
                members,
                kind: match kind {
                    WarpKind::Sync => WarpSyncKind::Barrier,
                    _ => WarpSyncKind::Exchange,
                },
            });
        }
        if !matches!(kind, WarpKind::Sync | WarpKind::Together(_)) {
            self.exchange(members, takers, kind, lanes);
        }
    }

    /// Each lane gets its value.
    fn exchange(&mut self, members: Mask, takers: &[Taker], kind: WarpKind, lanes: Mask) {
        use WarpKind::*;
        let mut given = [0; LANES];
        for (s, op, _) in takers {
            for l in lanes_of(self.warp().splits[*s].mask) {
                given[l] = match kind {
                    VoteAll | VoteAny | VoteUni | VoteBallot => u64::from(self.p(op.a, l)),
                    MatchAny64 | MatchAll64 => self.d(op.a, l),
                    Elect => 0,
                    _ => u64::from(self.w(op.a, l)),
                };
            }
        }
        let holds = super::filter(lanes, |l| given[l] != 0);
        let equal_to = |value: u64| super::filter(lanes, |l| given[l] == value);
        let first = lanes.trailing_zeros();
        let (mut absent, mut sources) = (0, [0; LANES]);
        for (s, op, _) in takers {
            for l in lanes_of(self.warp().splits[*s].mask) {
                let (value, flag) = match kind {
                    ShflUp | ShflDown | ShflBfly | ShflIdx => {
                        let (from, inside) =
                            shuffle_source(kind, l as u32, self.w(op.b, l), self.w(op.c, l));
                        let from = if inside { from as usize } else { l };
                        sources[l] = from as u8;
                        if lanes >> from & 1 == 1 {
                            (given[from] as u32, inside)
                        } else {
                            // It has no value to give. Lanes that are awaited and do not come have been reported as that.
                            let in_own_mask = self.w(op.members, l) >> l & 1 == 1;
                            let awaited = members & self.warp().exists;
                            absent |= Mask::from(in_own_mask && awaited >> from & 1 == 0) << l;
                            (0, inside)
                        }
                    }
                    VoteAll => (0, holds == lanes),
                    VoteAny => (0, holds != 0),
                    VoteUni => (0, holds == lanes || holds == 0),
                    VoteBallot => (holds, true),
                    MatchAny32 | MatchAny64 => (equal_to(given[l]), true),
                    MatchAll32 | MatchAll64 if equal_to(given[l]) == lanes => (lanes, true),
                    MatchAll32 | MatchAll64 => (0, false),
                    Elect => (first, l as u32 == first),
                    _ => (reduced(kind, &given, lanes), true),
                };
                match kind {
                    VoteAll | VoteAny | VoteUni => self.set_p(op.d, l, flag),
                    _ => {
                        self.set_w(op.d, l, value);
                        self.set_p(op.p, l, flag);
                    }
                }
            }
        }
        if O::WATCHES && (absent != 0 || self.block.poison.is_some()) {
            let exchange = Exchange {
                parties: takers,
                lanes,
                members,
                absent,
                from: sources,
                holds,
            };
            self.core.exchanged(self.block, self.w, &exchange);
        }
    }
}

/// The lane that a shuffle reads from, and whether that is in range (PTX ISA, "shfl.sync": its pseudocode, names as there).
fn shuffle_source(kind: WarpKind, lane: u32, b: u32, c: u32) -> (u32, bool) {
    let lane = lane as i32;
    let bval = (b & 0x1f) as i32;
    let cval = (c & 0x1f) as i32;
    let segmask = (c >> 8 & 0x1f) as i32;
    let max_lane = (lane & segmask) | (cval & !segmask);
    let min_lane = lane & segmask;
    let (j, pval) = match kind {
        WarpKind::ShflUp => (lane - bval, lane - bval >= max_lane),
        WarpKind::ShflDown => (lane + bval, lane + bval <= max_lane),
        WarpKind::ShflBfly => (lane ^ bval, lane ^ bval <= max_lane),
        _ => {
            let j = min_lane | (bval & !segmask);
            (j, j <= max_lane)
        }
    };
    (j as u32, pval)
}

/// "redux.sync": over the values of all lanes that take part.
fn reduced(kind: WarpKind, given: &[u64; LANES], lanes: Mask) -> u32 {
    use WarpKind::*;
    let mut values = lanes_of(lanes).map(|l| given[l] as u32);
    let first = values.next().unwrap_or_default();
    let signed = |f: fn(i32, i32) -> i32| move |a: u32, b: u32| f(a as i32, b as i32) as u32;
    match kind {
        ReduxAdd => values.fold(first, u32::wrapping_add),
        ReduxMinU => values.fold(first, u32::min),
        ReduxMaxU => values.fold(first, u32::max),
        ReduxMinS => values.fold(first, signed(i32::min)),
        ReduxMaxS => values.fold(first, signed(i32::max)),
        ReduxAnd => values.fold(first, |a, b| a & b),
        ReduxOr => values.fold(first, |a, b| a | b),
        ReduxXor => values.fold(first, |a, b| a ^ b),
        ReduxMinF { abs, nan } => reduced_floats(given, lanes, abs, nan, true),
        ReduxMaxF { abs, nan } => reduced_floats(given, lanes, abs, nan, false),
        _ => 0,
    }
}

/// "redux.sync.min.f32" and the like: "−0.0 < +0.0"; NaN inputs are left out, or decide where `.NaN` is written. The NaN is the canonical one.
fn reduced_floats(given: &[u64; LANES], lanes: Mask, abs: bool, nan: bool, min: bool) -> u32 {
    const NAN: u32 = 0x7fff_ffff;
    let values = lanes_of(lanes).map(|l| f32::from_bits(given[l] as u32));
    let values: Vec<f32> = values.map(|v| if abs { v.abs() } else { v }).collect();
    let numbers = || values.iter().copied().filter(|v| !v.is_nan());
    if nan && numbers().count() < values.len() {
        return NAN;
    }
    let best = match min {
        true => numbers().min_by(f32::total_cmp),
        false => numbers().max_by(f32::total_cmp),
    };
    best.map_or(NAN, f32::to_bits)
}
