//! Warp-level operations (PTX ISA, "bar.warp.sync", "shfl.sync", "vote.sync",
//! "match.sync", "redux.sync", "elect.sync", "activemask").
//!
//! A `.sync` operation waits for all non-exited lanes that its mask names, wherever in
//! the code they execute the same operation with the same mask.

use super::Core;
use super::poison::Exchange;
use crate::alu::{Mask, Row32};
use crate::hooks::Hooks;
use crate::ids::*;
use crate::observer::*;
use crate::op::*;
use crate::state::*;

impl<O: Hooks> Core<'_, O> {
    /// Split `s` comes to a warp operation. Whether it was performed at once.
    pub(super) fn warp_operation(
        &mut self,
        block: &mut Block,
        w: usize,
        s: usize,
        op: &WarpOp,
        site: Site,
    ) -> bool {
        let warp = &mut block.warps[w];
        let mask = warp.splits[s].mask;
        if op.kind == WarpKind::ActiveMask {
            self.splat(warp, op.d, false, u64::from(mask), mask);
            return true;
        }
        let members = *row(&warp.w, self.const_w, op.members);
        let own = members[mask.trailing_zeros() as usize];
        if op.point != u32::MAX {
            let point = op.point as usize;
            warp.passed[point] &= !mask;
            warp.arrived[point] |= mask;
        }
        let mut differ = 0;
        for l in 0..LANES {
            differ |= u32::from(members[l] != own) << l;
        }
        if differ & mask == 0 && own & warp.live() == mask {
            self.judge_members(block, w, own, &[(s, op, site)]);
            self.perform(block, w, own, &[(s, op.clone(), site)]);
            return true;
        }
        // Lanes with different masks wait for different partners.
        let mut groups: Vec<(Mask, Mask)> = Vec::new();
        for l in lanes_of(mask) {
            // A lane that its own mask leaves out is alone.
            let out = members[l] >> l & 1 == 0;
            let key = if out { 1 << l } else { members[l] };
            match groups.iter_mut().find(|(m, _)| *m == key && !out) {
                Some((_, lanes)) => *lanes |= 1 << l,
                None => groups.push((key, 1 << l)),
            }
        }
        let left_out = lanes_of(mask)
            .filter(|l| members[*l] >> l & 1 == 0)
            .fold(0, |m, l| m | 1 << l);
        if left_out != 0 && O::WATCHES {
            let lanes = Party {
                warp: WarpId(w as u32),
                mask: left_out,
                site,
            };
            let named = members[left_out.trailing_zeros() as usize];
            self.observer.misuse(
                block.id,
                Misuse::MaskLeavesOut {
                    lanes,
                    members: named,
                },
            );
        }
        if let ([(first, a), (second, b), ..], true, 0) = (&groups[..], O::WATCHES, left_out)
            && first & second & (a | b) != 0
        {
            let at = |mask: Mask| Party {
                warp: WarpId(w as u32),
                mask,
                site,
            };
            self.observer.misuse(
                block.id,
                Misuse::MasksDiffer {
                    lanes: at(*a),
                    members: *first,
                    others: at(*b),
                    other_members: *second,
                },
            );
        }
        let warp = &mut block.warps[w];
        let pc = warp.splits[s].pc;
        let ways: Vec<(u32, Mask)> = groups.iter().map(|(_, lanes)| (pc, *lanes)).collect();
        let first_new = warp.splits.len();
        warp.scatter(s, &ways);
        for k in std::iter::once(s).chain(first_new..warp.splits.len()) {
            warp.splits[k].state = State::WarpSync;
            warp.splits[k].rounds = 0;
        }
        self.complete_warp(block, w);
        false
    }

    /// The operation a waiting split stands at, with the mask it names.
    fn standing(&self, warp: &Warp, s: usize) -> Option<(&WarpOp, Mask, Site)> {
        let split = &warp.splits[s];
        if split.state != State::WarpSync {
            return None;
        }
        let i = &self.program.code[split.pc as usize];
        let Op::Warp(op) = &i.op else { return None };
        let l = split.mask.trailing_zeros() as usize;
        let named = row(&warp.w, self.const_w, op.members)[l];
        let members = if named >> l & 1 == 0 {
            split.mask
        } else {
            named
        };
        Some((op, members, i.site))
    }

    /// Performs every waiting operation whose lanes are all there.
    pub(super) fn complete_warp(&mut self, block: &mut Block, w: usize) {
        while let Some((members, group)) = self.find_group(&block.warps[w], false) {
            self.finish(block, w, members, group);
        }
    }

    /// Performs a waiting operation whose lanes never all come, and reports it. Whether there was one.
    pub(super) fn force_warp(&mut self, block: &mut Block, w: usize) -> bool {
        let Some((members, group)) = self.find_group(&block.warps[w], true) else {
            return false;
        };
        let warp = &block.warps[w];
        let present = group.iter().fold(0, |m, s| m | warp.splits[*s].mask);
        let waits = |s: &Split| {
            matches!(
                s.state,
                State::Phase(_) | State::Cluster | State::Products(_)
            ) && s.mask & members != 0
        };
        if warp.splits.iter().any(waits) {
            // They are on their way, and what keeps them is another mistake.
            return false;
        }
        let absent = self.whereabouts(warp, members & warp.live() & !present);
        if let (Some((_, _, site)), true) = (self.standing(warp, group[0]), O::WATCHES) {
            let lanes = Party {
                warp: warp.id,
                mask: present,
                site,
            };
            self.observer.misuse(
                block.id,
                Misuse::MaskNamesAbsent {
                    lanes,
                    members,
                    absent,
                    exited: false,
                },
            );
        }
        self.finish(block, w, members, group);
        true
    }

    /// Splits that wait for each other; with `any`, also when some are missing.
    fn find_group(&self, warp: &Warp, any: bool) -> Option<(Mask, Vec<usize>)> {
        for s in 0..warp.splits.len() {
            let Some((op, members, _)) = self.standing(warp, s) else {
                continue;
            };
            let kind = op.kind;
            let group: Vec<usize> = (s..warp.splits.len())
                .filter(|t| {
                    self.standing(warp, *t)
                        .is_some_and(|(o, m, _)| o.kind == kind && m == members)
                })
                .collect();
            let present = group.iter().fold(0, |m, t| m | warp.splits[*t].mask);
            if any || members & warp.live() & !present == 0 {
                return Some((members, group));
            }
        }
        None
    }

    fn finish(&mut self, block: &mut Block, w: usize, members: Mask, group: Vec<usize>) {
        let warp = &block.warps[w];
        let parties: Vec<(usize, WarpOp, Site)> = group
            .iter()
            .filter_map(|s| {
                self.standing(warp, *s)
                    .map(|(op, _, site)| (*s, op.clone(), site))
            })
            .collect();
        let borrowed: Vec<(usize, &WarpOp, Site)> = parties
            .iter()
            .map(|(s, op, site)| (*s, op, *site))
            .collect();
        self.judge_members(block, w, members, &borrowed);
        self.perform(block, w, members, &parties);
        self.released();
        let warp = &mut block.warps[w];
        for s in group {
            warp.splits[s].state = State::Ready;
            warp.splits[s].pc += 1;
        }
        match parties[0].1.kind {
            WarpKind::Together(_) => warp.join(),
            _ => warp.reconverge(),
        }
    }

    /// Lanes that the mask names and that have exited without executing the operation.
    pub(crate) fn judge_members(
        &mut self,
        block: &Block,
        w: usize,
        members: Mask,
        parties: &[(usize, &WarpOp, Site)],
    ) {
        let warp = &block.warps[w];
        let (_, op, site) = parties[0];
        if !O::WATCHES || op.point == u32::MAX || members & warp.exited == 0 {
            return;
        }
        let passed = warp.passed[op.point as usize];
        // A barrier gives no value and waits for non-exited lanes only. An exchange is defined only if all
        // named lanes that have not exited execute it (CUDA C++ Programming Guide, "Warp Shuffle Functions"), and
        // nothing says that a lane which goes around it has exited by then: leaving early and
        // skipping the rest of the kernel are the same code.
        let exited = members & warp.exited;
        let gone = if op.kind == WarpKind::Sync {
            exited & passed
        } else {
            exited
        };
        if gone != 0 {
            let mask = parties
                .iter()
                .fold(0, |m, (s, ..)| m | warp.splits[*s].mask);
            let lanes = Party {
                warp: warp.id,
                mask,
                site,
            };
            let mut absent = Vec::new();
            if gone & passed != 0 {
                absent.push(Party {
                    warp: warp.id,
                    mask: gone & passed,
                    site: warp.passed_site[op.point as usize],
                });
            }
            absent.extend(grouped(warp.id, gone & !passed, |l| warp.exit_site[l]));
            self.observer.misuse(
                block.id,
                Misuse::MaskNamesAbsent {
                    lanes,
                    members,
                    absent,
                    exited: gone & passed == 0,
                },
            );
        }
    }

    /// Computes the operation for all lanes that take part.
    fn perform(
        &mut self,
        block: &mut Block,
        w: usize,
        members: Mask,
        parties: &[(usize, WarpOp, Site)],
    ) {
        let who = block.who(w);
        let warp = &mut block.warps[w];
        let lanes = parties
            .iter()
            .fold(0, |m, (s, ..)| m | warp.splits[*s].mask);
        let kind = parties[0].1.kind;
        if self.history.is_some() {
            self.on_warp_sync(who.block, w, lanes);
        }
        if O::WATCHES {
            let sync = if kind == WarpKind::Sync {
                WarpSyncKind::Barrier
            } else {
                WarpSyncKind::Exchange
            };
            self.observer.warp_sync(&WarpSync {
                site: parties[0].2,
                who,
                lanes,
                members,
                kind: sync,
            });
        }
        if matches!(kind, WarpKind::Sync | WarpKind::Together(_)) {
            return;
        }
        if let [(_, op, _)] = parties
            && block.poison.is_none()
            && self.shuffle(warp, op, lanes)
        {
            return;
        }
        // Gather: each lane's operands come from its own instruction.
        let (mut a, mut b, mut c) = ([0u64; LANES], [0u32; LANES], [0u32; LANES]);
        for (s, op, _) in parties {
            for l in lanes_of(warp.splits[*s].mask) {
                a[l] = self.operand_of(warp, op, l);
                if op.b != Slot::NONE {
                    b[l] = row(&warp.w, self.const_w, op.b)[l];
                    c[l] = row(&warp.w, self.const_w, op.c)[l];
                }
            }
        }
        let holds = lanes_of(lanes)
            .filter(|l| a[*l] != 0)
            .fold(0, |m, l| m | 1u32 << l);
        let (mut absent, mut sources) = (0, [0; LANES]);
        for (s, op, _) in parties {
            for l in lanes_of(warp.splits[*s].mask) {
                let (value, flag) = match kind {
                    WarpKind::ShflUp
                    | WarpKind::ShflDown
                    | WarpKind::ShflBfly
                    | WarpKind::ShflIdx => {
                        let (from, inside) = shuffle_source(kind, l as u32, b[l], c[l]);
                        let source = if inside { from as usize } else { l };
                        sources[l] = source as u8;
                        // A lane that takes no part has no value to give. An H200 gives 0, so that a program which adds what it
                        // gets goes on as it does there.
                        let value = if lanes >> source & 1 != 0 {
                            a[source]
                        } else {
                            // Lanes that are awaited and do not come have been reported as that, and so have
                            // those that their own mask leaves out.
                            let named = row(&warp.w, self.const_w, op.members)[l];
                            let awaited = members & warp.exists;
                            absent |= named & 1 << l & !((awaited >> source & 1) << l);
                            0
                        };
                        (value, inside)
                    }
                    WarpKind::VoteAll => (0, holds == lanes),
                    WarpKind::VoteAny => (0, holds != 0),
                    WarpKind::VoteUni => (0, holds == lanes || holds == 0),
                    WarpKind::VoteBallot => (u64::from(holds), true),
                    WarpKind::MatchAny32 | WarpKind::MatchAny64 => {
                        (u64::from(equal(&a, lanes, a[l])), true)
                    }
                    WarpKind::MatchAll32 | WarpKind::MatchAll64 => {
                        let all = equal(&a, lanes, a[l]) == lanes;
                        (if all { u64::from(lanes) } else { 0 }, all)
                    }
                    WarpKind::Elect => (
                        u64::from(lanes.trailing_zeros()),
                        l as u32 == lanes.trailing_zeros(),
                    ),
                    _ => (u64::from(reduce(kind, &a, lanes)), true),
                };
                let vote = matches!(
                    kind,
                    WarpKind::VoteAll | WarpKind::VoteAny | WarpKind::VoteUni
                );
                if op.d != Slot::NONE && !vote {
                    warp.w[op.d.0 as usize][l] = value as u32;
                }
                let flag_to = if vote { op.d } else { op.p };
                if flag_to != Slot::NONE {
                    let p = &mut warp.p[flag_to.0 as usize];
                    *p = *p & !(1 << l) | u32::from(flag) << l;
                }
            }
        }
        if O::WATCHES && (absent != 0 || block.poison.is_some()) {
            let exchange = Exchange {
                parties,
                lanes,
                members,
                absent,
                from: sources,
                holds,
            };
            self.exchanged(block, w, &exchange);
        }
    }

    /// A shuffle that all lanes execute together, each of which reads from one that does, too. False, and nothing is done, if it is
    /// something else.
    fn shuffle(&self, warp: &mut Warp, op: &WarpOp, lanes: Mask) -> bool {
        let shuffled = match op.kind {
            WarpKind::ShflUp => self.shuffled(warp, op, lanes, WarpKind::ShflUp),
            WarpKind::ShflDown => self.shuffled(warp, op, lanes, WarpKind::ShflDown),
            WarpKind::ShflBfly => self.shuffled(warp, op, lanes, WarpKind::ShflBfly),
            WarpKind::ShflIdx => self.shuffled(warp, op, lanes, WarpKind::ShflIdx),
            _ => None,
        };
        let Some((values, inside)) = shuffled else {
            return false;
        };
        if op.d != Slot::NONE {
            blend(&mut warp.w[op.d.0 as usize], &values, lanes, 0);
        }
        if op.p != Slot::NONE {
            blend_mask(&mut warp.p[op.p.0 as usize], inside, lanes);
        }
        true
    }

    /// What each lane gets, and the lanes that read within their segment; `None` if some lane reads from one that takes no part.
    // In each of its places for one kind, so that the loop has no branches.
    #[inline(always)]
    fn shuffled(
        &self,
        warp: &Warp,
        op: &WarpOp,
        lanes: Mask,
        kind: WarpKind,
    ) -> Option<(Row32, Mask)> {
        let rows = |slot: Slot| row(&warp.w, self.const_w, slot);
        let (a, b, c) = (rows(op.a), rows(op.b), rows(op.c));
        let (mut values, mut from) = ([0; LANES], [0u32; LANES]);
        let (mut inside, mut present) = (0, 0);
        for l in 0..LANES {
            let (source, is_inside) = shuffle_source(kind, l as u32, b[l], c[l]);
            from[l] = if is_inside { source & 31 } else { l as u32 };
            inside |= Mask::from(is_inside) << l;
        }
        for l in 0..LANES {
            present |= (lanes >> from[l] & 1) << l;
            values[l] = a[from[l] as usize % LANES];
        }
        (lanes & !present == 0).then_some((values, inside))
    }

    fn operand_of(&self, warp: &Warp, op: &WarpOp, l: usize) -> u64 {
        match op.kind {
            WarpKind::VoteAll | WarpKind::VoteAny | WarpKind::VoteUni | WarpKind::VoteBallot => {
                u64::from(predicate(&warp.p, op.a) >> l & 1)
            }
            WarpKind::MatchAll64 | WarpKind::MatchAny64 => row(&warp.d, self.const_d, op.a)[l],
            WarpKind::Elect => 0,
            _ => u64::from(row(&warp.w, self.const_w, op.a)[l]),
        }
    }
}

fn equal(a: &[u64; LANES], lanes: Mask, value: u64) -> Mask {
    lanes_of(lanes)
        .filter(|l| a[*l] == value)
        .fold(0, |m, l| m | 1 << l)
}

/// The lane that a shuffle reads from and whether it lies in the segment (PTX ISA, "shfl.sync", its pseudocode).
fn shuffle_source(kind: WarpKind, lane: u32, b: u32, c: u32) -> (u32, bool) {
    let b = b & 0x1f;
    let (clamp, segment) = (c & 0x1f, c >> 8 & 0x1f);
    let max = lane & segment | clamp & !segment;
    let min = lane & segment;
    match kind {
        // For `.up` the clamp is the lowest lane.
        WarpKind::ShflUp => (lane.wrapping_sub(b), lane as i32 - b as i32 >= max as i32),
        WarpKind::ShflDown => (lane + b, lane + b <= max),
        WarpKind::ShflBfly => (lane ^ b, lane ^ b <= max),
        _ => {
            let from = min | b & !segment;
            (from, from <= max)
        }
    }
}

fn reduce(kind: WarpKind, a: &[u64; LANES], lanes: Mask) -> u32 {
    let values = lanes_of(lanes).map(|l| a[l] as u32);
    let signed = lanes_of(lanes).map(|l| a[l] as u32 as i32);
    match kind {
        WarpKind::ReduxAdd => values.fold(0, u32::wrapping_add),
        WarpKind::ReduxMinU => values.min().unwrap_or(0),
        WarpKind::ReduxMaxU => values.max().unwrap_or(0),
        WarpKind::ReduxMinS => signed.min().unwrap_or(0) as u32,
        WarpKind::ReduxMaxS => signed.max().unwrap_or(0) as u32,
        WarpKind::ReduxAnd => values.fold(u32::MAX, |a, b| a & b),
        WarpKind::ReduxOr => values.fold(0, |a, b| a | b),
        WarpKind::ReduxXor => values.fold(0, |a, b| a ^ b),
        WarpKind::ReduxMinF { abs, nan } => reduce_floats(values, abs, nan, |a, b| a < b),
        WarpKind::ReduxMaxF { abs, nan } => reduce_floats(values, abs, nan, |a, b| a > b),
        _ => 0,
    }
}

/// `redux.f32`: −0 orders below +0; a NaN loses, or wins with `.NaN`.
fn reduce_floats(
    values: impl Iterator<Item = u32>,
    abs: bool,
    nan: bool,
    better: fn(i64, i64) -> bool,
) -> u32 {
    let order = |bits: u32| {
        let magnitude = i64::from(bits & 0x7fff_ffff);
        if bits >> 31 != 0 {
            -magnitude - 1
        } else {
            magnitude
        }
    };
    let mut best: Option<u32> = None;
    for v in values {
        let v = if abs { v & 0x7fff_ffff } else { v };
        if f32::from_bits(v).is_nan() {
            if nan {
                return 0x7fff_ffff;
            }
        } else if best.is_none_or(|b| better(order(v), order(b))) {
            best = Some(v);
        }
    }
    best.unwrap_or(0x7fff_ffff)
}
