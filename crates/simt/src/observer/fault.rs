//! What a kernel must not do: barriers and warp operations that are misused, values that nothing has given, accesses to what is not there.

use super::access::Space;
use super::{Party, WarpRef};
use crate::alu::Row64;
use crate::ids::*;

/// Something is wrong with how threads meet at a barrier or a warp operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Misuse {
    /// Threads wait for a whole-block barrier at `waiting` while others wait at
    /// a different one or have passed a point after it.
    DivergentBarrier {
        /// Those who wait.
        waiting: Vec<Party>,
        /// Those who don't come: where they wait, or passed, or exited.
        elsewhere: Vec<Party>,
        /// How the others are elsewhere.
        how: Elsewhere,
    },
    /// A `.aligned` barrier was reached by part of a warp.
    UnconvergedBarrier {
        /// The part that reached it.
        reached: Party,
        /// Lanes of the same warp that stand elsewhere or left.
        elsewhere: Vec<Party>,
    },
    /// A barrier completed because the missing threads had exited.
    BarrierAfterExit {
        /// Those who waited.
        waiting: Vec<Party>,
        /// Those who had exited.
        exited: Vec<Party>,
    },
    /// Threads come to a barrier whose number or count PTX does not allow.
    InvalidBarrier {
        /// They.
        here: Party,
        /// What is wrong.
        fault: BarrierFault,
    },
    /// An mbarrier is told what it may not be (PTX ISA, "mbarrier").
    Mbarrier {
        /// Who does so.
        here: Party,
        /// The object's address in shared memory.
        object: u64,
        /// What is wrong.
        fault: crate::mbarrier::Fault,
    },
    /// Registers of a warpgroup's products are used at the wrong time (PTX ISA, "wgmma.fence", "wgmma.wait_group").
    Registers {
        /// Who does so.
        here: Party,
        /// The product, or the instruction in front of a product `here`.
        other: Option<Party>,
        /// What is wrong.
        fault: RegisterFault,
    },
    /// A lane executes a `.sync` warp operation whose mask leaves it out.
    MaskLeavesOut {
        /// The lanes left out, at the operation.
        lanes: Party,
        /// The mask they named.
        members: Mask,
    },
    /// A mask names lanes that never execute the operation (they exited, wait
    /// elsewhere for good, or went past it).
    MaskNamesAbsent {
        /// The lanes at the operation.
        lanes: Party,
        /// The mask they named.
        members: Mask,
        /// The named lanes that don't come, and where they are.
        absent: Vec<Party>,
        /// Whether they have left the kernel.
        exited: bool,
    },
    /// Lanes at the same operation name different masks.
    MasksDiffer {
        /// Some lanes at the operation.
        lanes: Party,
        /// Their mask.
        members: Mask,
        /// Others at it.
        others: Party,
        /// Theirs.
        other_members: Mask,
    },
}

/// What is wrong with a use of registers that products of a warpgroup use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RegisterFault {
    /// A product that nobody has waited for uses them.
    InFlight {
        /// Whether they are written and not read.
        writes: bool,
    },
    /// A product uses them, and no `wgmma.fence` has come since the other instruction did.
    Unfenced {
        /// Whether that one wrote them.
        writes: bool,
    },
    /// A product begins, and there has been no `wgmma.fence`.
    NeverFenced,
}

/// Why a lane has no value for a shuffle that reads from it (PTX ISA, "shfl.sync").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoValue {
    /// The member mask does not name it.
    LeftOut,
    /// The block ends before it.
    NoThread,
}

/// A shuffle that read from lanes which had no value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShuffleSource {
    /// The shuffle.
    pub site: Site,
    /// The warp.
    pub who: WarpRef,
    /// The lanes that got an undefined value.
    pub lanes: Mask,
    /// The first of them.
    pub lane: LaneId,
    /// Whom it read from.
    pub from: LaneId,
    /// The member mask.
    pub members: Mask,
    /// Why that lane has none.
    pub why: NoValue,
}

/// What an undefined value is used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Usage {
    /// To store it to global memory.
    Store,
    /// In an atomic operation.
    Update,
    /// To decide what is executed.
    Decision,
    /// As an address, or handed to the driver (`printf`).
    Other,
}

/// An undefined value came to where it matters.
#[derive(Clone, Copy, Debug)]
pub struct UndefinedUse<'a> {
    /// The instruction that uses it.
    pub site: Site,
    /// The warp.
    pub who: WarpRef,
    /// The lanes.
    pub mask: Mask,
    /// What for.
    pub how: Usage,
    /// The memory that it is stored to: space, address as in [`super::Access`] and bytes, for the first lane.
    pub place: Option<(Space, u64, u32)>,
    /// A shuffle that it comes from.
    pub source: &'a ShuffleSource,
}

/// What a barrier's operands may not be (PTX ISA, "bar, barrier").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BarrierFault {
    /// This barrier: a block has 16.
    Number(u32),
    /// This count of threads: it is no multiple of the warp size.
    Fraction(u32),
    /// This count of threads, of a block that has fewer.
    TooMany {
        /// The count.
        count: u32,
        /// Threads of the block.
        threads: u32,
    },
    /// An arrival without a count, or with a count of zero.
    NoCount,
    /// Threads arrive at the barrier of their cluster a second time without having waited in between.
    ArrivesAgain,
}

/// Where the threads are that a barrier misses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Elsewhere {
    /// At another barrier instruction.
    AtAnotherBarrier,
    /// At the same barrier, for another number of threads.
    AtAnotherCount,
    /// Past a point that every path from the barrier leads through.
    Past,
    /// Past such a point, and out of the kernel without another whole-block barrier.
    PastAndExited,
}

/// A memory access that could not be performed.
#[derive(Clone, Copy, Debug)]
pub struct MemoryFault<'a> {
    /// The instruction.
    pub site: Site,
    /// The warp.
    pub who: WarpRef,
    /// The lanes concerned.
    pub mask: Mask,
    /// The space, or `None` for a generic address that lies in none.
    pub space: Option<Space>,
    /// The addresses: offsets as in [`super::Access`] for `Shared`, `Local`, `Param`, `Const`; full
    /// device addresses for `Global` and for addresses that lie nowhere.
    pub address: &'a Row64,
    /// Bytes for each lane.
    pub bytes: u32,
    /// Whether it would have written.
    pub write: bool,
    /// What is wrong.
    pub kind: FaultKind,
    /// For an access outside all memory, where the pointer points that the address was computed from, if that is known; in the
    /// addresses' own terms.
    pub pointer: Option<u64>,
}

/// What is wrong with an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FaultKind {
    /// No allocation there.
    OutOfBounds,
    /// Not a multiple of the access size.
    Misaligned,
    /// The allocation was freed.
    Freed,
    /// `free` of an allocation that was freed before.
    FreedTwice,
    /// `free` of what `malloc` has not returned.
    NotAllocated,
    /// Bytes that nothing has written. The access is performed all the same and
    /// reported by [`super::Events::access`] too.
    Uninitialized,
    /// What is wrong with a texture, or with a surface (`surface`).
    Image {
        /// What.
        why: ImageFault,
        /// Whether it is one.
        surface: bool,
    },
}

/// Why an access to an image has no texels. A fetch gives zeros then, and a store is dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ImageFault {
    /// Nothing is bound to the reference.
    Unbound,
    /// There is no such texture or surface.
    Absent,
    /// It lies outside of the surface.
    Outside,
}
