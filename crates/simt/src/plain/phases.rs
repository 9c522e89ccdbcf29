//! Waits for phases of mbarriers (PTX ISA, "mbarrier.test_wait / mbarrier.try_wait"): lanes that can do nothing but wait for a phase stay where
//! they are until it is complete. Arrivals are atomics ([`super::atomic`]).

use super::{Step, Turn};
use crate::alu::Mask;
use crate::hooks::Hooks;
use crate::mbarrier;
use crate::observer::Space;
use crate::op::*;
use crate::state::*;

impl<O: Hooks> Turn<'_, '_, O> {
    /// Before a test: says in which of the active lanes the phase is complete, and in which it is not. Of the latter, those stay that have nothing else
    /// to do.
    pub(super) fn await_phase(&mut self, pc: u32, op: &AwaitPhase, active: Mask) -> Step {
        // The look and the load that follows are one operation.
        if active != 0 && self.visible == 0 {
            return Step::NotYet;
        }
        let objects = self.addresses(op.base, op.offset);
        // What completes the phase happens now at the latest.
        for l in lanes_of(active) {
            if !self.is_complete(objects[l], self.d(op.asked, l)) {
                self.perform_at(objects[l]);
            }
        }
        let complete = super::filter(active, |l| {
            self.is_complete(objects[l], self.d(op.asked, l))
        });
        let incomplete = active & !complete;
        let mask = self.split().mask;
        for l in lanes_of(mask) {
            self.set_p(op.complete, l, complete >> l & 1 == 1);
            self.set_p(op.incomplete, l, incomplete >> l & 1 == 1);
        }
        if !op.waits || incomplete == 0 {
            return Step::Next;
        }
        // Lanes that wait for one phase wait together; the others go on behind the test.
        let mut groups: Vec<(Awaited, Mask)> = Vec::new();
        for l in lanes_of(incomplete) {
            let phase = Awaited {
                object: objects[l],
                parity: self.d(op.asked, l) & mbarrier::PHASE != 0,
            };
            match groups.iter_mut().find(|(other, _)| *other == phase) {
                Some((_, lanes)) => *lanes |= 1 << l,
                None => groups.push((phase, 1 << l)),
            }
        }
        self.part_by_phase(pc, mask & !incomplete, &groups);
        Step::Leaves
    }

    /// The split's lanes in `go` go on, and each group of the others waits at `pc`.
    fn part_by_phase(&mut self, pc: u32, go: Mask, groups: &[(Awaited, Mask)]) {
        let s = self.s;
        let warp = self.warp_mut();
        let wait = |split: &mut Split, phase: Awaited| {
            split.pc = pc;
            split.state = State::Phase(phase);
            split.rounds = 0;
        };
        if let (0, [(phase, _)]) = (go, groups) {
            return wait(&mut warp.splits[s], *phase);
        }
        for (phase, lanes) in groups {
            warp.fork(s, pc + 1, go, pc, *lanes);
            if let Some(new) = warp.splits.last_mut() {
                wait(new, *phase);
            }
        }
        if go == 0 {
            warp.splits.swap_remove(s);
        }
    }

    /// Whether a phase is complete. An object that cannot be read is left to the load that follows.
    fn is_complete(&self, object: u64, asked: u64) -> bool {
        let fits = object.is_multiple_of(8) && self.block.shared.holds(object, 8);
        let written = |k: u64| self.is_written(Space::Shared, 0, object + k);
        if !fits || !(0..8).all(written) {
            return true;
        }
        mbarrier::is_complete(self.number(Space::Shared, 0, object, 8), asked)
    }
}
