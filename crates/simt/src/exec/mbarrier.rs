//! Waits for phases of mbarriers: which lanes go on, which stay, and who wakes them (PTX ISA, "mbarrier.test_wait / mbarrier.try_wait").

use super::Core;
use crate::alu::Mask;
use crate::hooks::Hooks;
use crate::mbarrier;
use crate::memory::Words;
use crate::op::*;
use crate::state::*;
use crate::stop::PhaseWait;

impl<O: Hooks> Core<'_, O> {
    /// Looks at the mbarriers of some lanes, and says in the operation's predicates whose phase is complete. The lanes that stay: theirs is not,
    /// and nothing else ends their loop. An object that can't be read is left to the load that follows.
    pub(super) fn await_phase(
        &mut self,
        block: &mut Block,
        w: usize,
        s: usize,
        op: &AwaitPhase,
        active: Mask,
    ) -> Mask {
        self.addresses(&block.warps[w], s, op.base, op.offset);
        self.perform_asked(block, w, op, active);
        let warp = &block.warps[w];
        let asked = row(&warp.d, self.const_d, op.asked);
        let is_complete = |l: &usize| match word_at(block, self.address[*l]) {
            Some(word) => mbarrier::is_complete(word, asked[*l]),
            None => true,
        };
        let complete = lanes_of(active).filter(is_complete);
        let complete = complete.fold(0, |m, l| m | 1 << l);
        let warp = &mut block.warps[w];
        let lanes = warp.splits[s].mask;
        blend_mask(&mut warp.p[op.complete.0 as usize], complete, lanes);
        let incomplete = active & !complete;
        blend_mask(&mut warp.p[op.incomplete.0 as usize], incomplete, lanes);
        match op.waits {
            true => incomplete,
            false => 0,
        }
    }

    /// What completes the phases that lanes ask for, at the addresses that are set, happens now at the latest.
    fn perform_asked(&mut self, block: &mut Block, w: usize, op: &AwaitPhase, active: Mask) {
        if block.warps.iter().all(|warp| warp.operations.is_none()) {
            return;
        }
        let (objects, asked) = (
            self.address,
            *row(&block.warps[w].d, self.const_d, op.asked),
        );
        for l in lanes_of(active) {
            let word = word_at(block, objects[l]);
            if word.is_some_and(|word| !mbarrier::is_complete(word, asked[l])) {
                self.perform_at(block, objects[l]);
            }
        }
        self.address = objects;
    }

    /// Lanes of a split stay where they are until the phases are complete that they ask for; the others go on behind.
    #[cold]
    pub(super) fn stay(
        &mut self,
        block: &mut Block,
        (w, s): (usize, usize),
        pc: u32,
        op: &AwaitPhase,
        stay: Mask,
    ) {
        let warp = &mut block.warps[w];
        let asked = row(&warp.d, self.const_d, op.asked);
        let waits = |l: usize| Awaited {
            object: self.address[l],
            parity: asked[l] & mbarrier::PHASE != 0,
        };
        let mut groups: Vec<(Awaited, Mask)> = Vec::new();
        for l in lanes_of(stay) {
            let phase = waits(l);
            match groups.iter_mut().find(|(of, _)| *of == phase) {
                Some((_, lanes)) => *lanes |= 1 << l,
                None => groups.push((phase, 1 << l)),
            }
        }
        let go = warp.splits[s].mask & !stay;
        if go == 0 && groups.len() == 1 {
            warp.splits[s].pc = pc;
            warp.splits[s].state = State::Phase(groups[0].0);
            warp.splits[s].rounds = 0;
            return;
        }
        for (phase, lanes) in groups {
            warp.fork(s, pc + 1, go, pc, lanes);
            if let Some(split) = warp.splits.last_mut() {
                split.state = State::Phase(phase);
                split.rounds = 0;
            }
        }
        if go == 0 {
            warp.splits.swap_remove(s);
        }
    }

    /// Wakes the lanes of a block whose phases are complete. Whether there were any.
    pub(crate) fn wake(&mut self, block: &mut Block) -> bool {
        let mut woken = Vec::new();
        for (w, warp) in block.warps.iter().enumerate() {
            for (s, split) in warp.splits.iter().enumerate() {
                let State::Phase(phase) = split.state else {
                    continue;
                };
                let word = word_at(block, phase.object);
                if word.is_none_or(|word| mbarrier::is_complete(word, phase.asked())) {
                    woken.push((w, s));
                }
            }
        }
        for (w, s) in &woken {
            block.warps[*w].splits[*s].state = State::Ready;
        }
        if !woken.is_empty() {
            self.released();
        }
        !woken.is_empty()
    }
}

/// The phases that threads of a block wait for, and what they lack.
pub(crate) fn awaited(program: &crate::Program, block: &Block) -> Vec<PhaseWait> {
    let mut waits: Vec<PhaseWait> = Vec::new();
    for split in block.warps.iter().flat_map(|warp| &warp.splits) {
        let State::Phase(phase) = split.state else {
            continue;
        };
        let site = program.code[split.pc as usize].site;
        let state = word_at(block, phase.object).map(mbarrier::State::of);
        let known = waits
            .iter_mut()
            .find(|w| (w.site, w.object, w.parity) == (site, phase.object, phase.parity));
        match (known, state) {
            (Some(known), _) => known.threads += split.mask.count_ones(),
            (None, Some(state)) => waits.push(PhaseWait {
                site,
                object: phase.object,
                parity: phase.parity,
                threads: split.mask.count_ones(),
                state,
            }),
            (None, None) => {}
        }
    }
    waits
}

/// The mbarrier at an offset of a block's shared memory, if there may be one.
pub(super) fn word_at(block: &Block, at: u64) -> Option<u64> {
    let fits = at.is_multiple_of(8) && block.shared.holds(at, 8);
    (fits && block.shared.is_valid(at, 8, 0)).then(|| block.shared.read(at, 8, 0))
}
