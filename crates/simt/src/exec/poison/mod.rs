//! Values that a shuffle got from no lane, followed to where they matter.
//!
//! PTX leaves undefined what a shuffle reads from a lane that is inactive or not in its mask ("shfl.sync"). Correct
//! programs have such values, in lanes whose results nobody looks at, so the shuffle itself is no fault. From the first one in a
//! block on, the block's instructions run with [`super::Core::follow`] before each: it knows, lane by lane, which registers and which bytes
//! of local and shared memory are undefined, and tells the observer when one of them is stored to global memory,
//! is an address, or decides something. Blocks without such a shuffle run without it.
//!
//! A branch that an undefined value decides does no harm where both ways only compute: what either may write is undefined where they
//! meet again ([`Region`]). With any other effect on one of the ways it is told. Functions that are called on the way may store through
//! pointers: what they store to the caller's variables is undefined, any other such store is told. Blind spot: the variables that a function
//! would have stored to in lanes that went the other way.

//!
//! Here is what is known of a block; [`follow`] says what instructions do to it.

mod follow;
mod region;

use crate::alu::Mask;
use crate::lower::def_use::Row;
use crate::observer::{ShuffleSource, Space};
use crate::op::*;
use crate::state::lanes_of;
pub(super) use follow::Exchange;
use region::Region;
use std::collections::HashMap;
use std::sync::Arc;

/// Index into [`Undefined::sources`].
type Source = u32;

/// Lanes in which a row is undefined, and a shuffle that made it so.
#[derive(Clone, Copy, Debug, Default)]
struct Lanes {
    mask: Mask,
    source: Source,
}

impl Lanes {
    fn within(self, mask: Mask) -> Lanes {
        Lanes {
            mask: self.mask & mask,
            ..self
        }
    }
    fn or(self, other: Lanes) -> Lanes {
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
    warps: Vec<Shadow>,
    /// Bytes of shared memory.
    shared: HashMap<u64, Source>,
    sources: Vec<ShuffleSource>,
    /// By branch; `None` where a way does more than to compute.
    regions: HashMap<u32, Option<Arc<Region>>>,
}

/// What is undefined in a warp.
#[derive(Debug, Default)]
struct Shadow {
    rows: HashMap<Row, Lanes>,
    carry: Lanes,
    /// Bytes of local memory, by lane.
    local: HashMap<(usize, u64), Source>,
    /// Branches that were decided, until their ways meet.
    open: Vec<Open>,
}

/// Lanes that an undefined value sent one way.
#[derive(Debug)]
struct Open {
    region: Arc<Region>,
    lanes: Lanes,
    bytes: Vec<(usize, u64)>,
}

impl Shadow {
    fn is_empty(&self) -> bool {
        self.rows.is_empty()
            && self.carry.mask == 0
            && self.local.is_empty()
            && self.open.is_empty()
    }

    fn of(&self, row: Option<Row>) -> Lanes {
        row.and_then(|row| self.rows.get(&row).copied())
            .unwrap_or_default()
    }

    /// Lanes that are on a way which an undefined value chose.
    fn astray(&self) -> Lanes {
        let open = self.open.iter().map(|one| one.lanes);
        open.fold(Lanes::default(), Lanes::or)
    }

    /// A byte of local memory that a lane wrote on a way which an undefined value chose: undefined where the ways meet.
    fn undefined_after(&mut self, lane: usize, byte: u64) {
        let within = self.open.iter_mut().rev();
        if let Some(one) = within
            .into_iter()
            .find(|one| one.lanes.mask >> lane & 1 == 1)
        {
            one.bytes.push((lane, byte));
        }
    }

    /// Sets a row in the lanes of `written`.
    fn set(&mut self, row: Row, written: Mask, undefined: Lanes) {
        let new = undefined.or(self.of(Some(row)).within(!written));
        if new.mask == 0 {
            self.rows.remove(&row);
        } else {
            self.rows.insert(row, new);
        }
    }

    /// Lanes that have come to where the ways of a branch meet.
    fn settle(&mut self, pc: u32, mask: Mask) {
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

fn key(class: RegisterClass, slot: Slot) -> Option<Row> {
    if slot == Slot::NONE || slot.0 & Slot::CONST != 0 {
        return None;
    }
    Some(match class {
        RegisterClass::W(_) => (0, slot.0),
        RegisterClass::D | RegisterClass::Q => (1, slot.0),
        RegisterClass::P => (2, slot.0 & !Slot::NEGATED),
    })
}

const W: RegisterClass = RegisterClass::W(32);

impl Undefined {
    fn of(&self, w: usize, class: RegisterClass, slot: Slot) -> Lanes {
        let shadow = &self.warps[w];
        let low = shadow.of(key(class, slot));
        match class {
            RegisterClass::Q => low.or(shadow.of(key(class, Slot(slot.0 + 1)))),
            _ => low,
        }
    }

    fn write(
        &mut self,
        w: usize,
        class: RegisterClass,
        slot: Slot,
        written: Mask,
        undefined: Lanes,
    ) {
        if let Some(row) = key(class, slot) {
            self.warps[w].set(row, written, undefined);
            if class == RegisterClass::Q {
                self.warps[w].set((row.0, row.1 + 1), written, undefined);
            }
        }
    }

    fn is_idle(&self, w: usize) -> bool {
        self.shared.is_empty() && self.warps[w].is_empty()
    }

    /// A byte of local or shared memory.
    fn byte(&self, w: usize, space: Space, lane: usize, at: u64) -> Option<Source> {
        match space {
            Space::Local => self.warps[w].local.get(&(lane, at)).copied(),
            Space::Shared => self.shared.get(&at).copied(),
            _ => None,
        }
    }

    fn bytes(&self, w: usize, space: Space, lane: usize, at: u64, bytes: u64) -> Option<Source> {
        (at..at.saturating_add(bytes)).find_map(|at| self.byte(w, space, lane, at))
    }

    fn set_byte(&mut self, w: usize, space: Space, lane: usize, at: u64, to: Option<Source>) {
        match (space, to) {
            (Space::Local, Some(source)) => drop(self.warps[w].local.insert((lane, at), source)),
            (Space::Local, None) => drop(self.warps[w].local.remove(&(lane, at))),
            (Space::Shared, Some(source)) => drop(self.shared.insert(at, source)),
            (Space::Shared, None) => drop(self.shared.remove(&at)),
            _ => {}
        }
    }

    fn source(&mut self, new: ShuffleSource) -> Source {
        let known = self.sources.iter().position(|s| s.site == new.site);
        known.unwrap_or_else(|| {
            self.sources.push(new);
            self.sources.len() - 1
        }) as Source
    }

    /// What a call carries from one place to another, for these lanes.
    pub(super) fn carry(
        &mut self,
        w: usize,
        mask: Mask,
        (from, from_base): (&[Carried], u32),
        (to, to_base): (&[Carried], u32),
    ) {
        for (from, to) in from.iter().zip(to) {
            for l in lanes_of(mask) {
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
    pub(super) fn forget(&mut self, w: usize, mask: Mask, from: u32, to: u32) {
        let frame = u64::from(from)..u64::from(to);
        let local = &mut self.warps[w].local;
        local.retain(|(l, at), _| mask >> l & 1 == 0 || !frame.contains(at));
    }

    /// The rows of a recursive function get their old values back.
    pub(super) fn restore(&mut self, w: usize, mask: Mask, saved: [(u32, u32); 3]) {
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
