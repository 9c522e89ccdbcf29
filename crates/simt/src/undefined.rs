//! Which registers and bytes of a block hold values that a shuffle got from no lane. `exec/poison` says what instructions do to it.

use crate::alu::Mask;
use crate::ids::LANES;
use crate::observer::{ShuffleSource, Space};
use crate::op::*;
use std::collections::HashMap;
use std::sync::Arc;

/// Index into [`Undefined::sources`].
pub(crate) type Source = u32;

/// Lanes in which a row is undefined, and a shuffle that made it so.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Lanes {
    pub(crate) mask: Mask,
    pub(crate) source: Source,
}

impl Lanes {
    pub(crate) fn within(self, mask: Mask) -> Lanes {
        Lanes {
            mask: self.mask & mask,
            ..self
        }
    }
    pub(crate) fn or(self, other: Lanes) -> Lanes {
        Lanes {
            mask: self.mask | other.mask,
            source: if self.mask != 0 {
                self.source
            } else {
                other.source
            },
        }
    }
}

/// What is undefined in a block.
#[derive(Debug, Default)]
pub(crate) struct Undefined {
    pub(crate) warps: Vec<Shadow>,
    /// Bytes of shared memory.
    pub(crate) shared: HashMap<u64, Source>,
    pub(crate) sources: Vec<ShuffleSource>,
    /// By branch; `None` where a way does more than to compute.
    pub(crate) regions: HashMap<u32, Option<Arc<Region>>>,
}

/// What is undefined in a warp.
#[derive(Debug, Default)]
pub(crate) struct Shadow {
    pub(crate) rows: HashMap<Row, Lanes>,
    pub(crate) carry: Lanes,
    /// Bytes of local memory, by lane.
    pub(crate) local: HashMap<(usize, u64), Source>,
    /// Branches that were decided, until their ways meet.
    pub(crate) open: Vec<Open>,
}

/// The instructions between a branch and where its ways meet, if they only compute.
#[derive(Debug)]
pub(crate) struct Region {
    /// Where the ways meet.
    pub(crate) end: u32,
    /// Rows that are written on the way.
    pub(crate) writes: Vec<Row>,
    /// Stores, all through addresses that the region leaves alone.
    pub(crate) stores: Vec<u32>,
}

/// Lanes that an undefined value sent one way.
#[derive(Debug)]
pub(crate) struct Open {
    pub(crate) region: Arc<Region>,
    pub(crate) lanes: Lanes,
    pub(crate) bytes: Vec<(usize, u64)>,
}

impl Shadow {
    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
            && self.carry.mask == 0
            && self.local.is_empty()
            && self.open.is_empty()
    }

    pub(crate) fn of(&self, row: Option<Row>) -> Lanes {
        row.and_then(|row| self.rows.get(&row).copied())
            .unwrap_or_default()
    }

    /// Lanes that are on a way which an undefined value chose.
    pub(crate) fn astray(&self) -> Lanes {
        let open = self.open.iter().map(|one| one.lanes);
        open.fold(Lanes::default(), Lanes::or)
    }

    /// A byte of local memory that a lane wrote on a way which an undefined value chose: undefined where the ways meet.
    pub(crate) fn undefined_after(&mut self, lane: usize, byte: u64) {
        let within = self.open.iter_mut().rev();
        if let Some(one) = within
            .into_iter()
            .find(|one| one.lanes.mask >> lane & 1 == 1)
        {
            one.bytes.push((lane, byte));
        }
    }

    /// Sets a row in the lanes of `written`.
    pub(crate) fn set(&mut self, row: Row, written: Mask, undefined: Lanes) {
        let new = undefined.or(self.of(Some(row)).within(!written));
        if new.mask == 0 {
            self.rows.remove(&row);
        } else {
            self.rows.insert(row, new);
        }
    }

    /// Lanes that have come to where the ways of a branch meet.
    pub(crate) fn settle(&mut self, pc: u32, mask: Mask) {
        let mut open = std::mem::take(&mut self.open);
        for one in &mut open {
            let here = one.lanes.within(mask);
            if one.region.end != pc || here.mask == 0 {
                continue;
            }
            one.lanes.mask &= !mask;
            for row in &one.region.writes {
                self.set(*row, here.mask, here);
            }
            for &(lane, byte) in &one.bytes {
                if here.mask >> lane & 1 == 1 {
                    self.local.insert((lane, byte), here.source);
                }
            }
        }
        open.retain(|one| one.lanes.mask != 0);
        self.open = open;
    }
}

impl Undefined {
    pub(crate) fn of(&self, w: usize, class: RegisterClass, slot: Slot) -> Lanes {
        let shadow = &self.warps[w];
        let low = shadow.of(row_of(class, slot));
        match class {
            RegisterClass::Q => low.or(shadow.of(row_of(class, Slot(slot.0 + 1)))),
            _ => low,
        }
    }

    pub(crate) fn write(
        &mut self,
        w: usize,
        class: RegisterClass,
        slot: Slot,
        written: Mask,
        undefined: Lanes,
    ) {
        if let Some(row) = row_of(class, slot) {
            self.warps[w].set(row, written, undefined);
            if class == RegisterClass::Q {
                self.warps[w].set((row.0, row.1 + 1), written, undefined);
            }
        }
    }

    pub(crate) fn is_idle(&self, w: usize) -> bool {
        self.shared.is_empty() && self.warps[w].is_empty()
    }

    /// A byte of local or shared memory.
    pub(crate) fn byte(&self, w: usize, space: Space, lane: usize, at: u64) -> Option<Source> {
        match space {
            Space::Local => self.warps[w].local.get(&(lane, at)).copied(),
            Space::Shared => self.shared.get(&at).copied(),
            _ => None,
        }
    }

    pub(crate) fn bytes(
        &self,
        w: usize,
        space: Space,
        lane: usize,
        at: u64,
        bytes: u64,
    ) -> Option<Source> {
        (at..at.saturating_add(bytes)).find_map(|at| self.byte(w, space, lane, at))
    }

    pub(crate) fn set_byte(
        &mut self,
        w: usize,
        space: Space,
        lane: usize,
        at: u64,
        to: Option<Source>,
    ) {
        match (space, to) {
            (Space::Local, Some(source)) => drop(self.warps[w].local.insert((lane, at), source)),
            (Space::Local, None) => drop(self.warps[w].local.remove(&(lane, at))),
            (Space::Shared, Some(source)) => drop(self.shared.insert(at, source)),
            (Space::Shared, None) => drop(self.shared.remove(&at)),
            _ => {}
        }
    }

    pub(crate) fn source(&mut self, new: ShuffleSource) -> Source {
        let known = self.sources.iter().position(|s| s.site == new.site);
        known.unwrap_or_else(|| {
            self.sources.push(new);
            self.sources.len() - 1
        }) as Source
    }

    /// What a call carries from one place to another, for these lanes.
    pub(crate) fn carry(
        &mut self,
        w: usize,
        mask: Mask,
        (from, from_base): (&[Carried], u32),
        (to, to_base): (&[Carried], u32),
    ) {
        for (from, to) in from.iter().zip(to) {
            for l in (0..LANES).filter(|l| mask >> l & 1 == 1) {
                let size = match (*from, *to) {
                    (Carried::Frame { bytes, .. }, _) | (_, Carried::Frame { bytes, .. }) => bytes,
                    _ => 0,
                };
                // A frame's bytes one by one, a register as a whole.
                let at = |place: Carried, base: u32, i: u32| match place {
                    Carried::Frame { offset, .. } => Some(u64::from(base + offset + i)),
                    Carried::Register(..) => None,
                };
                let whole = match *from {
                    Carried::Register(slot, class) => {
                        let lanes = self.of(w, class, slot);
                        (lanes.mask >> l & 1 == 1).then_some(lanes.source)
                    }
                    Carried::Frame { .. } => at(*from, from_base, 0)
                        .and_then(|start| self.bytes(w, Space::Local, l, start, u64::from(size))),
                };
                match *to {
                    Carried::Register(slot, class) => {
                        let undefined = Lanes {
                            mask: u32::from(whole.is_some()) << l,
                            source: whole.unwrap_or_default(),
                        };
                        self.write(w, class, slot, 1 << l, undefined);
                    }
                    Carried::Frame { bytes, .. } => {
                        for i in 0..bytes {
                            let value = match at(*from, from_base, i) {
                                Some(byte) if i < size => self.byte(w, Space::Local, l, byte),
                                Some(_) => None,
                                None => whole,
                            };
                            if let Some(byte) = at(*to, to_base, i) {
                                self.set_byte(w, Space::Local, l, byte, value);
                            }
                        }
                    }
                }
            }
        }
    }

    /// Local memory from `from` to `to` belongs to a new frame.
    pub(crate) fn forget(&mut self, w: usize, mask: Mask, from: u32, to: u32) {
        let frame = u64::from(from)..u64::from(to);
        let local = &mut self.warps[w].local;
        local.retain(|(l, at), _| mask >> l & 1 == 0 || !frame.contains(at));
    }

    /// The rows of a recursive function get their old values back.
    pub(crate) fn restore(&mut self, w: usize, mask: Mask, saved: [(u32, u32); 3]) {
        let rows = &mut self.warps[w].rows;
        rows.retain(|(class, slot), lanes| {
            let (first, end) = saved[usize::from(*class)];
            if (first..end).contains(slot) {
                lanes.mask &= !mask;
            }
            lanes.mask != 0
        });
    }
}
