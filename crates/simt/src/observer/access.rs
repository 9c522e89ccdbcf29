//! Accesses to memory: what they do, how they are ordered, and how a warp's addresses lie.

use super::WarpRef;
use crate::alu::{Row32, Row64};
use crate::ids::*;

/// The state space that an access touched, generic addresses resolved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Space {
    /// Global memory: addresses are byte offsets into the device's arena (see [`crate::memory`]).
    Global,
    /// Shared memory: byte offsets into the window of the executing warp's block.
    Shared,
    /// Local memory: byte offsets into the lane's own local memory.
    Local,
    /// Constant memory: byte offsets into the device's arena, as for global memory. No kernel writes it; the host may.
    Const,
    /// Kernel parameters: byte offsets.
    Param,
}

/// What an access does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AccessKind {
    /// `ld`
    Read,
    /// `st`
    Write,
    /// `atom`: reads, and writes in the lanes of [`Access::wrote`].
    Atomic,
    /// `red`: its read forms no acquire pattern (PTX ISA, "Release and Acquire Patterns").
    Reduction,
}

/// What a write does to a location, as far as the order of several writes shows in the end.
///
/// Updates of one kind commute exactly: whatever their order, the location ends with the same value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Update {
    /// The order shows: a store, an exchange, a compare-and-swap, a floating-point sum.
    #[default]
    Ordered,
    /// `add` on integers
    Add,
    /// `and`
    And,
    /// `or`
    Or,
    /// `xor`
    Xor,
    /// `min`, of signed integers or not
    Min(bool),
    /// `max`, of signed integers or not
    Max(bool),
    /// `inc` with this bound
    Inc(u32),
    /// `dec` with this bound
    Dec(u32),
}

/// What an instruction does to a location that other threads use, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Effect {
    /// The kind of its write, if it is one.
    pub update: Update,
    /// Whether anything uses what it returns.
    pub used: bool,
}

impl Default for Effect {
    /// That of a load or a store.
    fn default() -> Effect {
        Effect {
            update: Update::Ordered,
            used: true,
        }
    }
}

/// Memory-ordering semantics (PTX ISA, "Operation types").
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Order {
    /// No `.sem`, or `.weak`, or `.nc`.
    Weak,
    /// `.volatile`: as `.relaxed.sys` for ordering, never merged or elided.
    Volatile,
    /// `.relaxed` (also `.mmio`), and `atom`/`red` without `.sem`.
    Relaxed,
    /// `.acquire`
    Acquire,
    /// `.release`
    Release,
    /// `.acq_rel`
    AcqRel,
}

impl Order {
    /// Strong operations carry a scope (PTX ISA, "Operation types").
    pub fn is_strong(self) -> bool {
        self != Order::Weak
    }
    /// Whether it ends an acquire pattern by itself.
    pub fn acquires(self) -> bool {
        matches!(self, Order::Acquire | Order::AcqRel)
    }
    /// Whether it begins a release pattern by itself.
    pub fn releases(self) -> bool {
        matches!(self, Order::Release | Order::AcqRel)
    }
}

/// PTX ISA, "Scope". Ordered from narrow to wide.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Scope {
    /// `.cta`
    Cta,
    /// `.cluster` (clusters of one block unless the launch says otherwise)
    Cluster,
    /// `.gpu`
    Gpu,
    /// `.sys`
    Sys,
}

/// How the memory of a warp's lanes lies: what turns 32 accesses into few.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Neighbours {
    /// The active lanes whose memory follows that of the active lane before them.
    pub next: Mask,
    /// The active lanes whose memory is the same as that of the active lane before them.
    pub same: Mask,
}

impl Neighbours {
    /// Of lanes that access so many bytes each from these addresses on.
    #[inline(always)]
    pub fn of(mask: Mask, address: &Row64, bytes: u64) -> Neighbours {
        let (mut next, mut same) = (0, 0);
        for lane in 1..LANES {
            let step = address[lane].wrapping_sub(address[lane - 1]);
            next |= Mask::from(step == bytes) << lane;
            same |= Mask::from(step == 0) << lane;
        }
        let both = mask & mask << 1;
        Neighbours {
            next: next & both,
            same: same & both,
        }
    }
}

/// What the lanes of a store are about to write, and what is there before: for whoever has to know whether a write changes anything.
pub trait StoredValues: std::fmt::Debug {
    /// The byte that a lane stores at an address, which its access covers.
    fn stored(&self, lane: usize, at: u64) -> u8;
    /// The byte that is at the address before the instruction.
    fn before(&self, at: u64) -> u8;
    /// Whether anything has written that byte before the instruction.
    fn is_written(&self, at: u64) -> bool;
    /// Whether each of these lanes stores so many bytes that are at its address already.
    fn repeats(&self, mask: Mask, address: &Row64, bytes: u64) -> bool {
        let lanes = (0..LANES).filter(|lane| mask >> lane & 1 == 1);
        lanes.into_iter().all(|lane| {
            let mut places = address[lane]..address[lane] + bytes;
            places.all(|at| self.stored(lane, at) == self.before(at))
        })
    }
    /// The words that the lanes of a full warp store, where each stores one.
    fn words(&self) -> Option<&Row32> {
        None
    }
}

/// How the words of half a warp lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Layout {
    /// Word after word, lane after lane.
    Adjacent,
    /// All lanes have one word.
    Same,
}

/// Lanes of half a warp.
pub const HALF: usize = LANES / 2;

/// The commonest access, described in few words: all lanes of a full warp load or store one 32-bit word each, and the words of each half
/// of the warp are adjacent or the same one. [`RowAccess::expanded`] says the same as any other access.
#[derive(Clone, Copy, Debug)]
pub struct RowAccess<'a> {
    /// See [`Access::site`].
    pub site: Site,
    /// See [`Access::who`].
    pub who: WarpRef,
    /// See [`Access::space`].
    pub space: Space,
    /// First byte of each half.
    pub first: [u64; 2],
    /// How each half lies.
    pub layout: [Layout; 2],
    /// A store; else a load.
    pub write: bool,
    /// See [`Access::non_coherent`].
    pub non_coherent: bool,
    /// See [`Access::order`].
    pub order: Order,
    /// See [`Access::scope`].
    pub scope: Scope,
    /// See [`Access::stores`].
    pub stores: Option<&'a dyn StoredValues>,
}

impl RowAccess<'_> {
    /// Bytes from the first byte of a half to that of its last lane.
    #[inline]
    fn span(&self, half: usize) -> u64 {
        match self.layout[half] {
            Layout::Adjacent => 4 * (HALF as u64 - 1),
            Layout::Same => 0,
        }
    }

    /// The first byte of all.
    #[inline]
    pub fn start(&self) -> u64 {
        self.first[0].min(self.first[1])
    }

    /// The byte behind the last one.
    #[inline]
    pub fn end(&self) -> u64 {
        (self.first[0] + self.span(0)).max(self.first[1] + self.span(1)) + 4
    }

    /// Whether all 32 words are adjacent.
    #[inline(always)]
    pub fn is_adjacent(&self) -> bool {
        self.layout == [Layout::Adjacent; 2] && self.first[1] == self.first[0] + 4 * HALF as u64
    }

    /// The lanes' addresses, as in [`Access::address`].
    pub fn addresses(&self) -> Row64 {
        std::array::from_fn(|lane| {
            let (half, lane) = (lane / HALF, lane % HALF);
            match self.layout[half] {
                Layout::Adjacent => self.first[half] + 4 * lane as u64,
                Layout::Same => self.first[half],
            }
        })
    }

    /// What [`Neighbours::of`] makes of its addresses.
    pub fn neighbours(&self) -> Neighbours {
        let step = self.first[1].wrapping_sub(self.first[0] + self.span(0));
        let lanes = |of: Layout, between: u64| -> Mask {
            let low = if self.layout[0] == of { 0x0000_fffe } else { 0 };
            let high = if self.layout[1] == of { 0xfffe_0000 } else { 0 };
            low | high | Mask::from(step == between) << HALF
        };
        Neighbours {
            next: lanes(Layout::Adjacent, 4),
            same: lanes(Layout::Same, 0),
        }
    }

    /// The same as any access, with its [`RowAccess::addresses`].
    pub fn expanded<'b>(&'b self, address: &'b Row64) -> Access<'b> {
        Access {
            site: self.site,
            who: self.who,
            mask: Mask::MAX,
            space: self.space,
            address,
            neighbours: Some(self.neighbours()),
            element: 4,
            elements: 1,
            kind: match self.write {
                true => AccessKind::Write,
                false => AccessKind::Read,
            },
            non_coherent: self.non_coherent,
            fragment: false,
            asynchronous: false,
            order: self.order,
            scope: self.scope,
            wrote: if self.write { Mask::MAX } else { 0 },
            dropped: 0,
            initial: 0,
            stores: self.stores,
        }
    }
}

/// A weak load from shared memory that is a [`RowAccess`], in still fewer words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SharedRead {
    /// See [`Access::site`].
    pub site: Site,
    /// See [`RowAccess::first`].
    pub first: [u32; 2],
    /// See [`RowAccess::layout`].
    pub layout: [Layout; 2],
}

impl SharedRead {
    /// The same at length.
    #[inline]
    pub fn row(&self, who: WarpRef) -> RowAccess<'static> {
        RowAccess {
            site: self.site,
            who,
            space: Space::Shared,
            first: self.first.map(u64::from),
            layout: self.layout,
            write: false,
            non_coherent: false,
            order: Order::Weak,
            scope: Scope::Sys,
            stores: None,
        }
    }
}

/// The commonest atomics, in few words: lanes of a warp each update one 32-bit word of shared memory, of the first [`WordUpdates::WORDS`].
#[derive(Clone, Copy, Debug)]
pub struct WordUpdates<'a> {
    /// See [`Access::site`].
    pub site: Site,
    /// See [`Access::who`].
    pub who: WarpRef,
    /// See [`Access::mask`]. All of them write.
    pub mask: Mask,
    /// The number of each lane's word; meaningless outside `mask`.
    pub words: &'a [u16; LANES],
    /// [`AccessKind::Atomic`] or [`AccessKind::Reduction`].
    pub kind: AccessKind,
    /// See [`Access::order`].
    pub order: Order,
    /// See [`Access::scope`].
    pub scope: Scope,
}

impl WordUpdates<'_> {
    /// As many words as a number of 16 bits counts.
    pub const WORDS: usize = 1 << 16;

    /// The lanes' addresses, as in [`Access::address`].
    pub fn addresses(&self) -> Row64 {
        self.words.map(|word| 4 * u64::from(word))
    }

    /// The same as any access, with its [`WordUpdates::addresses`].
    pub fn expanded<'b>(&self, address: &'b Row64) -> Access<'b> {
        Access {
            site: self.site,
            who: self.who,
            mask: self.mask,
            space: Space::Shared,
            address,
            neighbours: None,
            element: 4,
            elements: 1,
            kind: self.kind,
            non_coherent: false,
            fragment: false,
            asynchronous: false,
            order: self.order,
            scope: self.scope,
            wrote: self.mask,
            dropped: 0,
            initial: 0,
            stores: None,
        }
    }
}

/// A memory access of one warp-instruction.
#[derive(Clone, Copy, Debug)]
pub struct Access<'a> {
    /// The instruction.
    pub site: Site,
    /// The warp.
    pub who: WarpRef,
    /// The lanes that take part. Empty only where all are in [`Access::dropped`]. All addresses are in bounds and
    /// aligned: lanes for which they are not were reported by
    /// [`super::Events::fault`] and are not in here.
    pub mask: Mask,
    /// The space. A generic access whose lanes fall into different spaces is
    /// reported once for each space.
    pub space: Space,
    /// First byte for each lane; meaningless outside `mask` and `dropped`.
    pub address: &'a Row64,
    /// [`Neighbours::of`] the lanes that take part, and perhaps of others. `None` if nobody has looked.
    pub neighbours: Option<Neighbours>,
    /// Bytes of one element: 1, 2, 4, 8 or 16. A vector access is modelled as
    /// accesses to its elements in no particular order (PTX ISA, "Vector Data-types").
    pub element: u32,
    /// Elements for each lane: 1, 2, 4 or 8, adjacent in memory.
    pub elements: u32,
    /// Read, write, both.
    pub kind: AccessKind,
    /// A read through the non-coherent cache (`ld.global.nc`, `ldu.global`): what the launch has written it need
    /// not see, however the two are ordered (PTX ISA, "ld.global.nc").
    pub non_coherent: bool,
    /// A part of an instruction on matrices, whose lanes share the work as the implementation likes: how their addresses lie says nothing
    /// about the hardware.
    pub fragment: bool,
    /// A part of an asynchronous copy: a weak access like any other, but made by nobody's program order (PTX ISA, "Asynchronous operations").
    /// See [`super::Events::copy_begins`].
    pub asynchronous: bool,
    /// Its ordering.
    pub order: Order,
    /// Its scope; [`Scope::Sys`] for volatile; meaningless for weak accesses.
    pub scope: Scope,
    /// For [`AccessKind::Atomic`] and [`AccessKind::Reduction`], the lanes that
    /// stored (a compare-and-swap that fails does not); all of `mask` for
    /// writes, none for reads.
    pub wrote: Mask,
    /// For reads, lanes that load a value which nothing uses, because the compiler speculated the load: the hardware
    /// performs it, the source does not. None of them is in `mask`; their addresses are good, too.
    pub dropped: Mask,
    /// For strong reads under a weak schedule, the lanes of `mask` that return what was there before all strong writes. They are accesses
    /// like any other, but they come before those writes in communication order, and learn nothing from them (PTX ISA, "Communication Order").
    pub initial: Mask,
    /// For writes: what they store. A write is reported before it is performed.
    pub stores: Option<&'a dyn StoredValues>,
}

/// Asynchronous copies and stores of a warp's lanes that begin: each lane reads memory and writes other memory, at some time until somebody has
/// waited for it.
#[derive(Clone, Debug)]
pub struct AsyncCopy<'a> {
    /// Its number among those of its warp.
    pub number: u64,
    /// What the lanes read, in pieces; nothing in the lanes that are filled with zeros. These accesses may have any number of elements: see
    /// [`Access::split`].
    pub reads: &'a [Access<'a>],
    /// What they write.
    pub writes: &'a [Access<'a>],
    /// Whether it is performed by the async proxy (PTX ISA, "Async proxy").
    pub proxy: bool,
    /// Whether it is a product of matrices in shared memory, which writes registers (`wgmma.mma_async`).
    pub product: bool,
}

impl<'a> Access<'a> {
    /// A word of each lane, which an asynchronous operation reads on its own (PTX ISA, "Asynchronous operations").
    pub fn of_copy(
        site: Site,
        who: WarpRef,
        space: Space,
        mask: Mask,
        address: &'a Row64,
    ) -> Access<'a> {
        Access {
            site,
            who,
            mask,
            space,
            address,
            neighbours: None,
            element: 4,
            elements: 1,
            kind: AccessKind::Read,
            non_coherent: false,
            fragment: false,
            asynchronous: true,
            order: Order::Weak,
            scope: Scope::Sys,
            wrote: 0,
            dropped: 0,
            initial: 0,
            stores: None,
        }
    }
}

impl Access<'_> {
    /// Bytes touched by one lane.
    pub fn bytes(&self) -> u32 {
        self.element * self.elements
    }
    /// The same in accesses of 16 bytes at most, whatever its number of elements.
    pub fn split(&self, mut each: impl FnMut(&Access<'_>)) {
        if self.bytes() <= 16 {
            return each(self);
        }
        // A larger element is taken for words: nobody is promised more of it at once.
        let element = self.element.min(4);
        let most = (16 / element).min(8);
        let mut left = self.bytes() / element;
        let mut address = *self.address;
        while left > 0 {
            let elements = match left {
                _ if left >= most => most,
                _ => 1 << left.ilog2(),
            };
            each(&Access {
                address: &address,
                element,
                elements,
                neighbours: None,
                ..*self
            });
            left -= elements;
            let step = u64::from(element * elements);
            address
                .iter_mut()
                .for_each(|at| *at = at.wrapping_add(step));
        }
    }
    /// Whether it is a weak operation: a load or store that is neither `relaxed` or stronger nor `volatile` (PTX ISA, "Operation
    /// Types").
    #[inline]
    pub fn is_weak(&self) -> bool {
        self.order == Order::Weak && matches!(self.kind, AccessKind::Read | AccessKind::Write)
    }
    /// The lanes for which the hardware performs it.
    pub fn performed(&self) -> Mask {
        self.mask | self.dropped
    }
}
