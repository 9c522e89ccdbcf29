//! The commonest atomics: an update of one word of shared memory in each lane.

use super::Core;
use crate::alu::{Mask, Row32, Row64};
use crate::hooks::Hooks;
use crate::ids::*;
use crate::memory::*;
use crate::observer::*;
use crate::op::*;
use crate::simd::{Work, at_best};
use crate::state::*;

impl<O: Hooks> Core<'_, O> {
    /// The update, if an instruction is one of those.
    #[inline(always)]
    pub(super) fn word_update(&self, op: &AtomicOp) -> Option<WordUpdate> {
        match op.f {
            AtomFn::W(update)
                if op.space == AddressSpace::Shared
                    && op.element == 4
                    && op.count == 1
                    && self.history.is_none()
                    // Others of the cluster have memory there, too.
                    && !self.geometry.clustered =>
            {
                Some(update)
            }
            _ => None,
        }
    }

    /// Performs it.
    #[inline(never)]
    pub(super) fn update_shared_words(
        &mut self,
        block: &mut Block,
        w: usize,
        s: usize,
        op: (&AtomicOp, WordUpdate),
        active: Mask,
        site: Site,
    ) {
        at_best(Update {
            core: self,
            block,
            w,
            s,
            op,
            active,
            site,
        });
    }

    #[inline(always)]
    fn update_all(
        &mut self,
        block: &mut Block,
        w: usize,
        s: usize,
        (op, update): (&AtomicOp, WordUpdate),
        active: Mask,
        site: Site,
    ) {
        self.addresses(&block.warps[w], s, op.base, op.offset);
        let good = self.check(block, w, Space::Shared, active, 4, true, site);
        if good == 0 {
            return;
        }
        let warp = &mut block.warps[w];
        let operand = row(&warp.w, self.const_w, op.b[0]);
        let mut old = [0; LANES];
        let words = (&block.shared, &self.address, good);
        let updated = match update {
            // The one that most of them are, in a loop of its own.
            WordUpdate::Add => {
                let add = |a, b| WordUpdate::Add.apply(a, b);
                update_words(words, operand, &mut old, add)
            }
            other => update_words(words, operand, &mut old, |a, b| other.apply(a, b)),
        };
        if op.d[0] != Slot::NONE {
            blend(&mut warp.w[op.d[0].0 as usize], &old, good, 0);
        }
        if !updated.were_written {
            self.first_written(block, w, good, site);
        }
        // What other cores do must not steer this one.
        if self.parallel || updated.changed {
            self.idle = 0;
            self.moved();
        } else {
            self.idle += 1;
        }
        if O::WATCHES {
            let who = block.who(w);
            if block.shared.words().0.len() > WordUpdates::WORDS {
                return self.tell_of_atomic(who, op, Space::Shared, (good, good), site);
            }
            let mut words = [0; LANES];
            for lane in 0..LANES {
                words[lane] = (self.address[lane] >> 2) as u16;
            }
            self.observer.word_updates(&WordUpdates {
                site,
                who,
                mask: good,
                words: &words,
                kind: op.kind(),
                order: op.order,
                scope: op.scope,
            });
        }
    }

    /// Words have been updated that nothing had been written to: tells so, and marks them.
    #[cold]
    #[inline(never)]
    fn first_written(&mut self, block: &Block, w: usize, lanes: Mask, site: Site) {
        if O::WATCHES {
            self.uninitialized(block, w, Space::Shared, lanes, 4, None, site);
        }
        for l in lanes_of(lanes) {
            let word = (self.address[l] >> 2) as usize;
            block.shared.mark(word, l, 0xf);
        }
    }
}

/// An update, as work for [`at_best`].
struct Update<'r, 'a, O: Hooks> {
    core: &'r mut Core<'a, O>,
    block: &'r mut Block,
    w: usize,
    s: usize,
    op: (&'r AtomicOp, WordUpdate),
    active: Mask,
    site: Site,
}

impl<O: Hooks> Work for Update<'_, '_, O> {
    type Output = ();
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let Update {
            core,
            block,
            w,
            s,
            op,
            active,
            site,
        } = self;
        core.update_all(block, w, s, op, active, site);
    }
}

/// What an update met.
struct Updated {
    /// Whether any word changed.
    changed: bool,
    /// Whether all words had been written before. Those that had not are not marked as written yet.
    were_written: bool,
}

/// Updates each lane's word of shared memory, lane after lane. A function of its own, not inlined: within a larger one, what it gathers was
/// put on the stack in each lane.
#[inline(never)]
fn update_words(
    (shared, address, lanes): (&Shared, &Row64, Mask),
    operand: &Row32,
    old: &mut Row32,
    new: impl Fn(u32, u32) -> u32,
) -> Updated {
    let (words, valid) = shared.words();
    let (mut changes, mut all) = (0, 0xf);
    let mut update = |l: usize| {
        let word = (address[l] >> 2) as usize;
        let before = words[word].get();
        let after = new(before, operand[l]);
        words[word].set(after);
        all &= valid[word].get();
        changes |= after ^ before;
        old[l] = before;
    };
    match lanes {
        Mask::MAX => (0..LANES).for_each(update),
        some => lanes_of(some).for_each(&mut update),
    }
    Updated {
        changed: changes != 0,
        were_written: all == 0xf,
    }
}
