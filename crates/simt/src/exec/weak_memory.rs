//! Tells [`StoreHistory`] what happens, and takes from it what loads return.

use super::Core;
use super::transfer::store_register;
use crate::alu::Mask;
use crate::hooks::Hooks;
use crate::ids::*;
use crate::memory::Words;
use crate::observer::*;
use crate::op::*;
use crate::state::*;
use crate::weak_memory::*;

/// What a lane's element held before a store: lane, offset, value if any was written.
pub(crate) type Before = Vec<(usize, u64, Option<u64>)>;

/// The place that an element of an access is.
pub(crate) fn place(block: BlockId, space: Space, at: u64, bytes: u8) -> Place {
    Place {
        block: (space == Space::Shared).then_some(block),
        at,
        bytes: u32::from(bytes),
    }
}

impl<O: Hooks> Core<'_, O> {
    fn held(&self, block: &Block, space: Space, at: u64, bytes: u32, lane: usize) -> Option<u64> {
        match space {
            Space::Shared => {
                let valid = block.shared.is_valid(at, bytes, lane);
                valid.then(|| block.shared.read(at, bytes, lane))
            }
            _ => {
                let valid = self.device.arena.is_valid(at, bytes, lane);
                valid.then(|| self.device.arena.read(at, bytes, lane))
            }
        }
    }

    /// Before a store: what is there. `None` where nobody wants to know.
    #[inline(always)]
    pub(crate) fn before_store(
        &mut self,
        block: &Block,
        op: &MemoryOp,
        space: Space,
        lanes: Mask,
    ) -> Option<Before> {
        let between = matches!(space, Space::Global | Space::Shared);
        if self.history.is_none() || !op.store || !between {
            return None;
        }
        Some(self.look(block, op, space, lanes))
    }

    /// The place of an address. Memory of another block of the cluster is that block's.
    pub(crate) fn place_of(&self, block: &Block, space: Space, at: u64, element: u8) -> Place {
        let (owner, at) = match space {
            Space::Shared => self.geometry.owner((block.id, block.cluster), at),
            _ => (block.id, at),
        };
        place(owner, space, at, element)
    }

    #[cold]
    fn look(&self, block: &Block, op: &MemoryOp, space: Space, lanes: Mask) -> Before {
        let bytes = u32::from(op.element).min(8);
        let elements = (0..u64::from(op.count)).flat_map(|k| lanes_of(lanes).map(move |l| (k, l)));
        let look = |(k, l): (u64, usize)| {
            let at = self.address[l] + k * u64::from(op.element);
            (l, at, self.held(block, space, at, bytes, l))
        };
        elements.map(look).collect()
    }

    /// After a store.
    #[cold]
    pub(crate) fn after_store(
        &mut self,
        block: &Block,
        w: usize,
        op: &MemoryOp,
        space: Space,
        before: &Before,
    ) {
        let Some(mut history) = self.history.take() else {
            return;
        };
        history.tick();
        for &(l, at, old) in before {
            let place = self.place_of(block, space, at, op.element);
            if place.bytes > 8 {
                history.wide_access(place.block, place.at, place.bytes);
                continue;
            }
            let who = Who {
                block: block.id,
                warp: w,
                lane: LaneId(l as u8),
            };
            let new = self
                .held(block, space, at, place.bytes, l)
                .unwrap_or_default();
            let how = How::of(op.order, op.scope, false);
            history.write(who, place, old, new, how);
        }
        self.history = Some(history);
    }

    /// After a load: what it returns instead of the last value. The lanes of a strong one whose value is from before all strong
    /// writes ([`Access::initial`]).
    ///
    /// A lane of a strong load that reads another older value learns nothing from the last write. That the observer takes it for a read
    /// of the last value all the same orders more than is, which hides races and makes none up.
    #[cold]
    pub(crate) fn stale_values(
        &mut self,
        block: &mut Block,
        w: usize,
        op: &MemoryOp,
        space: Space,
        lanes: Mask,
        site: Site,
    ) -> Mask {
        let Some(mut history) = self.history.take() else {
            return 0;
        };
        let mut before_all = 0;
        let mut given = false;
        let strong = op.order.is_strong();
        if !op.private && !op.non_coherent {
            history.tick();
            for l in lanes_of(lanes) {
                let mut initial = 0;
                for k in 0..usize::from(op.count) {
                    let at = self.address[l] + k as u64 * u64::from(op.element);
                    let place = self.place_of(block, space, at, op.element);
                    if place.bytes > 8 {
                        history.wide_access(place.block, place.at, place.bytes);
                        continue;
                    }
                    let who = Who {
                        block: block.id,
                        warp: w,
                        lane: LaneId(l as u8),
                    };
                    if let Some(found) = history.read(who, place, How::of(op.order, op.scope, true))
                    {
                        store_register(&mut block.warps[w], op, k, l, [found.value, 0]);
                        initial += u8::from(found.initial);
                        given = true;
                    }
                }
                if strong && initial == op.count {
                    before_all |= 1 << l;
                }
            }
        }
        self.history = Some(history);
        if given && O::WATCHES {
            self.observer.stale_value(site);
        }
        before_all
    }

    /// Before an atomic on global memory: puts the value there that it reads, if that is not the last one. Only another block's atomics
    /// of a narrow scope, or its own, let it.
    #[cold]
    pub(crate) fn put_stale_value(
        &mut self,
        block: BlockId,
        (w, l): (usize, usize),
        op: &AtomicOp,
        at: u64,
    ) {
        let place = place(block, Space::Global, at, op.element);
        // What follows from two threads that hold one lock is for the rule on scopes to tell: exchanges stay whole.
        let counts = op.update != Update::Ordered && place.bytes <= 8;
        let Some(history) = self.history.as_mut().filter(|_| counts) else {
            return;
        };
        let who = Who {
            block,
            warp: w,
            lane: LaneId(l as u8),
        };
        let how = How::of(op.order, op.scope, true);
        if let Some(value) = history.read_apart(who, place, how) {
            self.device.arena.write(at, place.bytes, l, value);
        }
    }

    #[cold]
    pub(crate) fn on_fence(
        &mut self,
        block: BlockId,
        w: usize,
        lanes: Mask,
        (order, scope): (FenceOrder, Scope),
    ) {
        let Some(history) = &mut self.history else {
            return;
        };
        history.tick();
        for l in lanes_of(lanes) {
            history.fence(
                Who {
                    block,
                    warp: w,
                    lane: LaneId(l as u8),
                },
                order,
                scope > Scope::Cta,
            );
        }
    }

    #[cold]
    pub(crate) fn on_warp_sync(&mut self, block: BlockId, w: usize, lanes: Mask) {
        let Some(history) = &mut self.history else {
            return;
        };
        history.tick();
        let lanes: Vec<LaneId> = lanes_of(lanes).map(|l| LaneId(l as u8)).collect();
        history.warp_barrier(block, w, &lanes);
    }
}

impl How {
    fn of(order: Order, scope: Scope, reads: bool) -> How {
        How {
            order,
            wide: scope > Scope::Cta,
            reads,
        }
    }
}

impl StoreHistory {
    /// An atomic of one lane: what it read, and what it wrote if it did.
    pub(crate) fn atomic(
        &mut self,
        who: Who,
        place: Place,
        old: u64,
        new: Option<u64>,
        op: &AtomicOp,
    ) {
        if place.bytes > 8 {
            self.wide_access(place.block, place.at, place.bytes);
            return;
        }
        let how = How::of(op.order, op.scope, true);
        self.read_last(who, place, how);
        if let Some(new) = new {
            self.write(who, place, Some(old), new, how);
        }
    }
}
