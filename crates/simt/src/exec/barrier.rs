//! Block barriers (PTX ISA, "barrier{.cta}"): who arrives, when it completes, and
//! whether everybody came who should have.

use super::Core;
use crate::alu::Mask;
use crate::hooks::Hooks;
use crate::ids::*;
use crate::observer::*;
use crate::op::*;
use crate::plain;
use crate::state::*;
use crate::stop::Engine;

/// Barriers of a block.
const BARRIERS: u32 = 16;
/// Threads of a warp, which counts are multiples of.
const WARP: u32 = LANES as u32;

impl<O: Hooks> Core<'_, O> {
    /// Split `s` of warp `w` arrives; all its lanes take part.
    pub(super) fn arrive(
        &mut self,
        block: &mut Block,
        w: usize,
        s: usize,
        b: &BarrierOp,
        site: Site,
    ) {
        if self.arrive_whole(block, w, s, b, site) {
            return;
        }
        let warp = &mut block.warps[w];
        let mask = warp.splits[s].mask;
        let lane = mask.trailing_zeros() as usize;
        let number = row(&warp.w, self.const_w, b.id)[lane];
        let id = number % BARRIERS;
        let named = match b.threads {
            Slot::NONE => None,
            slot => Some(row(&warp.w, self.const_w, slot)[lane]),
        };
        let waits = b.kind != BarrierKind::Arrive;
        // A count of zero is none, as `ptxas` takes it.
        let named = named.filter(|n| *n != 0);
        let expected = named.map(|n| n.div_ceil(WARP).saturating_mul(WARP));
        let pc = warp.splits[s].pc;
        let holds = match b.kind {
            BarrierKind::Popc { p, .. }
            | BarrierKind::And { p, .. }
            | BarrierKind::Or { p, .. } => predicate(&warp.p, p) & mask,
            _ => 0,
        };
        let mut skipped = 0;
        if b.point != u32::MAX {
            let point = b.point as usize;
            skipped = warp.passed[point] & mask;
            warp.passed[point] &= !mask;
            warp.arrived[point] |= mask;
        }
        let split = &mut warp.splits[s];
        split.pc += 1;
        split.rounds = 0;
        if waits {
            split.state = State::Barrier(id);
        }
        let whole = expected.is_none();
        let threads = self.geometry.block.count() as u32;
        if O::WATCHES {
            let here = Party {
                warp: WarpId(w as u32),
                mask,
                site,
            };
            for fault in faults(number, named, threads, waits).into_iter().flatten() {
                let misuse = Misuse::InvalidBarrier { here, fault };
                self.observer.misuse(block.id, misuse);
            }
        }
        if O::WATCHES && !waits {
            let who = Party {
                warp: WarpId(w as u32),
                mask,
                site,
            };
            self.observer.block_arrives(block.id, id, who);
        }
        self.write_down(block, id as usize);
        let barrier = &mut block.barriers[id as usize];
        if !whole {
            barrier.expected = expected;
        }
        barrier.arrivals.push(Arrival {
            count: named.unwrap_or(threads.next_multiple_of(WARP)),
            warp: WarpId(w as u32),
            mask,
            site,
            pc,
            waits,
            aligned: b.aligned,
            point: b.point,
            skipped,
            holds,
        });
        self.complete_barrier(block, id as usize);
    }

    /// Leaves behind the lanes that name another barrier or count than the first one: lanes
    /// that met at one place in different rounds of a loop.
    pub(super) fn part(&self, block: &mut Block, w: usize, s: usize, b: &BarrierOp) {
        let is_constant = |slot: Slot| slot == Slot::NONE || slot.0 & Slot::CONST != 0;
        if is_constant(b.id) && is_constant(b.threads) {
            return;
        }
        let warp = &mut block.warps[w];
        let (pc, mask) = (warp.splits[s].pc, warp.splits[s].mask);
        let first = mask.trailing_zeros() as usize;
        let same = |slot: Slot, l: usize| {
            slot == Slot::NONE || {
                let row = row(&warp.w, self.const_w, slot);
                row[l] == row[first]
            }
        };
        let together = lanes_of(mask)
            .filter(|l| same(b.id, *l) && same(b.threads, *l))
            .fold(0, |m, l| m | 1 << l);
        if together != mask {
            warp.fork(s, pc, together, pc, mask & !together);
        }
    }

    /// Completes a barrier if everybody is there.
    pub(super) fn complete_barrier(&mut self, block: &mut Block, id: usize) {
        self.write_down(block, id);
        let barrier = &block.barriers[id];
        if barrier.arrivals.is_empty() {
            return;
        }
        let complete = match barrier.expected {
            None => threads_at(barrier) >= block.live,
            Some(expected) => warps_at(block, id) >= expected,
        };
        if complete {
            self.release(block, id, false);
        }
    }

    /// Lets go whoever waits; with `torn`, also the pieces of warps that never come as a whole.
    fn release(&mut self, block: &mut Block, id: usize, torn: bool) {
        let barrier = std::mem::take(&mut block.barriers[id]);
        let mut arrivals = barrier.arrivals;
        let whole = barrier.expected.is_none();
        if !whole && !torn {
            // Pieces of a warp that is not all there have not been counted, and go on waiting.
            let counted = |a: &Arrival| {
                let own = || arrivals.iter().filter(|b| b.warp == a.warp);
                let here = own().fold(0, |m, b| m | b.mask);
                let live = block.warps[a.warp.0 as usize].live();
                live & !here == 0 || own().any(|b| !b.aligned)
            };
            let (now, later): (Vec<Arrival>, Vec<Arrival>) =
                arrivals.iter().copied().partition(counted);
            arrivals = now;
            if !later.is_empty() {
                block.barriers[id].expected = barrier.expected;
                block.barriers[id].arrivals = later;
            }
        }
        if let Some(history) = &mut self.history {
            history.tick();
            history.block_barrier(block.id);
        }
        if O::WATCHES {
            self.tell_barrier(block, id as u32, &arrivals, whole);
        }
        let count: u32 = arrivals.iter().map(|a| a.holds.count_ones()).sum();
        let threads: u32 = arrivals
            .iter()
            .filter(|a| a.waits)
            .map(|a| a.mask.count_ones())
            .sum();
        self.released();
        for a in &arrivals {
            let warp = &mut block.warps[a.warp.0 as usize];
            if let Op::Barrier(b) = &self.program.code[a.pc as usize].op {
                match b.kind {
                    BarrierKind::Popc { d, .. } => {
                        self.splat(warp, d, false, u64::from(count), a.mask)
                    }
                    BarrierKind::And { d, .. } => set_predicate(warp, d, count == threads, a.mask),
                    BarrierKind::Or { d, .. } => set_predicate(warp, d, count > 0, a.mask),
                    BarrierKind::Sync | BarrierKind::Arrive => {}
                }
            }
            if a.waits {
                for split in &mut warp.splits {
                    if split.state == State::Barrier(id as u32) && split.mask & a.mask != 0 {
                        split.state = State::Ready;
                    }
                }
            }
        }
        for a in &arrivals {
            let warp = &mut block.warps[a.warp.0 as usize];
            if warp.splits.len() > 1 {
                warp.reconverge();
            }
        }
        let left = &mut block.barriers[id].arrivals;
        if left.is_empty() {
            // Its memory serves the next time.
            arrivals.clear();
            *left = arrivals;
        }
    }

    pub(crate) fn tell_barrier(
        &mut self,
        block: &mut Block,
        id: u32,
        arrivals: &[Arrival],
        whole: bool,
    ) {
        let arrived: Vec<Party> = arrivals.iter().map(party).collect();
        let waited: Vec<Party> = arrivals.iter().filter(|a| a.waits).map(party).collect();
        let waiting: u32 = waited.iter().map(|p| p.mask.count_ones()).sum();
        let any_exited = block.warps.iter().any(|w| w.exited != 0);
        let exited = if any_exited {
            block.exited()
        } else {
            Vec::new()
        };
        self.observer.block_barrier(&BlockBarrier {
            block: block.id,
            id,
            arrived: &arrived,
            waited: &waited,
            whole_block: whole,
            full: waiting == block.live,
            aligned: arrivals.iter().all(|a| a.aligned),
            exited: &exited,
        });
        if whole {
            self.judge_meeting(block, arrivals, &exited);
        } else if !self.judge_counts(block, arrivals) {
            self.judge_convergence(block, arrivals);
        }
    }

    /// Whether the threads that met at a whole-block barrier met at one and the same.
    fn judge_meeting(&mut self, block: &mut Block, arrivals: &[Arrival], exited: &[Party]) {
        let first = &arrivals[0];
        let (here, there): (Vec<&Arrival>, Vec<&Arrival>) =
            arrivals.iter().partition(|a| a.site == first.site);
        // `barrier.sync` without `.aligned` may be met from anywhere (PTX ISA, "bar, barrier").
        let aligned = arrivals.iter().any(|a| a.aligned);
        if !there.is_empty() && aligned && arrivals.iter().all(|a| a.waits) {
            let waiting = here.into_iter().map(party).collect();
            let elsewhere = there.into_iter().map(party).collect();
            self.diverge(block, waiting, elsewhere, Elsewhere::AtAnotherBarrier);
            return;
        }
        let skipped: Vec<Party> = self.passers(
            block,
            arrivals
                .iter()
                .filter(|a| a.skipped != 0)
                .map(|a| (a, a.skipped)),
        );
        if !skipped.is_empty() && arrivals.iter().any(|a| a.skipped != a.mask) {
            let steady = arrivals.iter().filter(|a| a.skipped != a.mask);
            let waiting = steady
                .map(|a| Party {
                    warp: a.warp,
                    mask: a.mask & !a.skipped,
                    site: a.site,
                })
                .collect();
            self.diverge(block, waiting, skipped, Elsewhere::Past);
            return;
        }
        let gone = exited.iter().map(|p| p.mask.count_ones()).sum();
        if gone == block.missed {
            return; // none, or reported already: later barriers miss the same threads
        }
        block.missed = gone;
        let waiting: Vec<Party> = arrivals.iter().map(party).collect();
        let mut past = Vec::new();
        if first.point != u32::MAX {
            let point = first.point as usize;
            for warp in &block.warps {
                let mask = warp.passed[point] & warp.exited;
                if mask != 0 {
                    past.push(Party {
                        warp: warp.id,
                        mask,
                        site: warp.passed_site[point],
                    });
                }
            }
        }
        if !past.is_empty() {
            self.diverge(block, waiting, past, Elsewhere::PastAndExited);
        } else if !block.out_of_step {
            self.observer.misuse(
                block.id,
                Misuse::BarrierAfterExit {
                    waiting,
                    exited: exited.to_vec(),
                },
            );
        }
    }

    fn diverge(
        &mut self,
        block: &mut Block,
        waiting: Vec<Party>,
        elsewhere: Vec<Party>,
        how: Elsewhere,
    ) {
        block.out_of_step = true;
        self.observer.misuse(
            block.id,
            Misuse::DivergentBarrier {
                waiting,
                elsewhere,
                how,
            },
        );
    }

    fn passers<'a>(
        &self,
        block: &Block,
        lanes: impl Iterator<Item = (&'a Arrival, Mask)>,
    ) -> Vec<Party> {
        lanes
            .map(|(a, mask)| {
                let warp = &block.warps[a.warp.0 as usize];
                Party {
                    warp: a.warp,
                    mask,
                    site: warp.passed_site[a.point as usize],
                }
            })
            .collect()
    }

    /// Threads that meet at one barrier must expect the same number of threads there (PTX ISA, "bar, barrier":
    /// the count is the barrier's, not the thread's). Whether they did not.
    fn judge_counts(&mut self, block: &mut Block, arrivals: &[Arrival]) -> bool {
        let count = arrivals[0].count;
        let (here, there): (Vec<&Arrival>, Vec<&Arrival>) =
            arrivals.iter().partition(|a| a.count == count);
        if there.is_empty() {
            return false;
        }
        let waiting = here.into_iter().map(party).collect();
        let elsewhere = there.into_iter().map(party).collect();
        self.diverge(block, waiting, elsewhere, Elsewhere::AtAnotherCount);
        true
    }

    /// `.aligned` barriers for part of the block: each warp must come as a whole.
    fn judge_convergence(&mut self, block: &Block, arrivals: &[Arrival]) {
        for a in arrivals.iter().filter(|a| a.aligned) {
            let warp = &block.warps[a.warp.0 as usize];
            let same = arrivals
                .iter()
                .filter(|b| b.warp == a.warp && b.site == a.site);
            let here = same.fold(0, |m, b| m | b.mask);
            let missing = warp.live() & !here;
            if missing != 0 {
                let elsewhere = self.whereabouts(warp, missing);
                self.observer.misuse(
                    block.id,
                    Misuse::UnconvergedBarrier {
                        reached: party(a),
                        elsewhere,
                    },
                );
                return;
            }
        }
    }

    /// Where lanes stand now.
    pub(crate) fn whereabouts(&self, warp: &Warp, lanes: Mask) -> Vec<Party> {
        warp.splits
            .iter()
            .filter(|s| s.mask & lanes != 0)
            .map(|s| {
                // A split that waits at a barrier stands behind it already.
                let at = if matches!(s.state, State::Barrier(_)) {
                    s.pc - 1
                } else {
                    s.pc
                };
                Party {
                    warp: warp.id,
                    mask: s.mask & lanes,
                    site: self.program.code[at as usize].site,
                }
            })
            .collect()
    }

    /// Whoever is left waits. Resolves what hardware would resolve, reporting it;
    /// whether anything can run now.
    pub(crate) fn unblock(&mut self, block: &mut Block) -> bool {
        if self.engine == Engine::Plain {
            return plain::unblock(self, block);
        }
        if self.wake(block) {
            return true;
        }
        for id in 0..block.barriers.len() {
            self.write_down(block, id);
            let barrier = &block.barriers[id];
            if barrier.expected.is_some_and(|n| threads_at(barrier) >= n) {
                self.release(block, id, true);
                return true;
            }
        }
        for w in 0..block.warps.len() {
            if self.force_warp(block, w) {
                return true;
            }
        }
        false
    }
}

/// What is wrong with a barrier's operands.
pub(crate) fn faults(
    number: u32,
    named: Option<u32>,
    threads: u32,
    waits: bool,
) -> [Option<BarrierFault>; 3] {
    let count = named.unwrap_or(0);
    [
        (number >= BARRIERS).then_some(BarrierFault::Number(number)),
        (!count.is_multiple_of(WARP)).then_some(BarrierFault::Fraction(count)),
        if count > threads.next_multiple_of(WARP) {
            Some(BarrierFault::TooMany { count, threads })
        } else {
            (count == 0 && !waits).then_some(BarrierFault::NoCount)
        },
    ]
}

fn party(a: &Arrival) -> Party {
    Party {
        warp: a.warp,
        mask: a.mask,
        site: a.site,
    }
}

fn set_predicate(warp: &mut Warp, d: Slot, value: bool, mask: Mask) {
    if d != Slot::NONE {
        let p = &mut warp.p[d.0 as usize];
        *p = if value { *p | mask } else { *p & !mask };
    }
}

/// Threads that have arrived.
fn threads_at(barrier: &Barrier) -> u32 {
    barrier.arrivals.iter().map(|a| a.mask.count_ones()).sum()
}

/// Threads that have arrived, a warp counting as 32 once all its live lanes are there
/// (PTX ISA, "barrier": "the barrier counts in multiples of the warp size"). Of a warp that comes in pieces,
/// the pieces at an `.aligned` barrier count when the last one is there.
fn warps_at(block: &Block, id: usize) -> u32 {
    let arrivals = &block.barriers[id].arrivals;
    block
        .warps
        .iter()
        .enumerate()
        .map(|(w, warp)| {
            let own = || arrivals.iter().filter(|a| a.warp.0 as usize == w);
            let here = own().fold(0, |m, a| m | a.mask);
            if here != 0 && warp.live() & !here == 0 {
                LANES as u32
            } else if own().all(|a| a.aligned) {
                0
            } else {
                here.count_ones()
            }
        })
        .sum()
}
