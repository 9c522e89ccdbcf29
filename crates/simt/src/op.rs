//! Decoded operations: what lowering makes of PTX instructions and the execution
//! loop runs.
//!
//! Everything is resolved: registers to slots, types to one specialised
//! operation, labels to indices. Immediates and symbol addresses are rows of a
//! constant pool, so that every operand is a row.

mod memory;

pub use memory::*;

use super::alu::AluOp;
use super::ids::Site;
pub use super::inline::Inline;
use super::observer::{FenceOrder, Scope};
pub use super::slot::Slot;
use super::video::VideoOp;

pub use ptx::semantics::{Special, System};

/// Register classes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RegisterClass {
    /// Rows of 32-bit words; the number of bits that the declared type has (8, 16 or 32).
    W(u8),
    /// Rows of 64-bit words.
    D,
    /// Two adjacent 64-bit rows, low half first.
    Q,
    /// Predicates.
    P,
}

/// `mapa`: the address of another block's shared memory; `getctarank`: whose shared memory an address is of.
#[derive(Clone, Copy, Debug)]
pub struct MapShared {
    /// Destination.
    pub d: Slot,
    /// The address.
    pub a: Slot,
    /// The block's rank in the cluster, of `mapa`.
    pub rank: Slot,
    /// Whether the address is a 64-bit row.
    pub wide: bool,
    /// Whether it is a generic address, or one of `.shared::cluster`.
    pub generic: bool,
}

/// One decoded instruction.
#[derive(Clone, Debug)]
pub struct Instr {
    /// The guard predicate, or [`Slot::TRUE`].
    pub guard: Slot,
    /// What to do.
    pub op: Op,
    /// Where it comes from.
    pub site: Site,
    /// Whether the execution loop performs it by itself; set when all code is there.
    pub inline: Inline,
}

/// What an instruction does.
#[derive(Clone, Debug)]
pub enum Op {
    /// Arithmetic over rows.
    Alu {
        /// The function.
        f: AluOp,
        /// Destination.
        d: Slot,
        /// Sources, as many as the function takes.
        s: [Slot; 5],
    },
    /// `setp` with its second destination or combination; `set` with combination is [`Op::Set`].
    Setp {
        /// The comparison.
        f: AluOp,
        /// `p`, or none.
        p: Slot,
        /// `q`, or none: the combination of the negated comparison.
        q: Slot,
        /// Compared operands.
        s: [Slot; 2],
        /// `.and c` and the like.
        combine: Option<(BoolOp, Slot)>,
    },
    /// `set`: the comparison, combined with a predicate where written, as a row.
    Set {
        /// Comparison into a predicate.
        f: AluOp,
        /// Destination (a W row).
        d: Slot,
        /// Compared operands.
        s: [Slot; 2],
        /// `.and c` and the like.
        combine: Option<(BoolOp, Slot)>,
        /// The value for true; for packed types the halves' values side by side.
        truth: u32,
    },
    /// `lop3.BoolOp`: a row and a predicate.
    Lop3Test {
        /// The function.
        f: super::alu::Lop3Test,
        /// Destination row.
        d: Slot,
        /// Destination predicate, or none.
        p: Slot,
        /// Four rows and a predicate.
        s: [Slot; 5],
    },
    /// Copies rows: packing and unpacking of vectors, 128-bit moves.
    Pack {
        /// Destination rows.
        d: Box<[Part]>,
        /// Source rows.
        s: Box<[Part]>,
    },
    /// Reads a special register.
    Special {
        /// Which.
        which: Special,
        /// Destination.
        d: Slot,
        /// Whether the destination is a 64-bit row.
        wide: bool,
    },
    /// `isspacep`.
    IsSpace {
        /// Destination.
        p: Slot,
        /// The address.
        a: Slot,
        /// Whether the address is a 64-bit row.
        wide: bool,
        /// The space asked for.
        space: AddressSpace,
        /// Of shared memory, the own block's alone (`.shared::cta`).
        own: bool,
    },
    /// `cvta` between a space and generic addresses: adds (or subtracts) the window's base.
    Cvta {
        /// Destination.
        d: Slot,
        /// Source.
        a: Slot,
        /// Added to it, wrapping.
        add: u64,
    },
    /// The address of something in the frame (local variable, parameter of a device function).
    FrameAddress {
        /// Destination.
        d: Slot,
        /// Whether the destination is a 64-bit row.
        wide: bool,
        /// Bytes from the frame's base.
        offset: u32,
    },
    /// `ld`, `st`: an index into [`super::Program::memory_ops`].
    Memory(u32),
    /// `atom`, `red`: an index into [`super::Program::atomic_ops`].
    Atomic(u32),
    /// `tex`, `tld4`, `suld`, `sust`: an index into [`super::Program::image_ops`].
    Image(u32),
    /// Products of matrices, and what goes with them: an index into [`super::Program::matrix_ops`].
    Matrix(u32),
    /// `cp.async`: an index into [`super::Program::copy_ops`].
    AsyncCopy(u32),
    /// `cp.async.commit_group`
    CommitGroup,
    /// `cp.async.wait_group`, with the groups that need not be complete; `cp.async.wait_all` without.
    WaitGroup(Option<u32>),
    /// `cp.async.mbarrier.arrive`: the arrival that follows the lanes' copies, an index into [`super::Program::atomic_ops`].
    CopiesArrive(u32),
    /// `cp.async.bulk`, `cp.reduce.async.bulk`, `st.async`, `red.async`: an index into [`super::Program::bulk_ops`].
    Bulk(u32),
    /// `cp.async.bulk.commit_group`
    CommitBulk,
    /// `cp.async.bulk.wait_group`
    WaitBulk {
        /// The groups that need not be complete.
        newest: u32,
        /// Whether their sources only have to have been read (`.read`).
        read: bool,
    },
    /// `fence.proxy.async`
    ProxyFence,
    /// `wgmma.*`
    Wgmma(WgmmaOp),
    /// `barrier.cluster.arrive`
    ClusterArrive {
        /// Whether what was done before is released (`.release`).
        releases: bool,
        /// Whether all lanes of a warp must execute it together.
        aligned: bool,
    },
    /// `barrier.cluster.wait`
    ClusterWait {
        /// Whether what others released is acquired (`.acquire`).
        acquires: bool,
    },
    /// `mapa`, `getctarank`
    MapShared(MapShared),
    /// Before `mbarrier.test_wait` and `mbarrier.try_wait` look.
    AwaitPhase(Box<AwaitPhase>),
    /// Where `p` holds, the phase of the mbarrier that was asked for is complete.
    PhaseAwaited {
        /// Of `mbarrier.test_wait` or `mbarrier.try_wait`.
        p: Slot,
        /// Base of the object's address in shared memory.
        base: Base,
        /// Added to it.
        offset: i64,
    },
    /// Video instructions.
    Video(Box<VideoOp>),
    /// `fence`, `membar`.
    Fence(FenceOrder, Scope),
    /// `griddepcontrol.wait`
    DependencyWait,
    /// `griddepcontrol.launch_dependents`
    DependencyTrigger,
    /// `bar`, `barrier`.
    Barrier(Box<BarrierOp>),
    /// Warp-level `.sync` operations and `activemask`.
    Warp(Box<WarpOp>),
    /// A jump, for the lanes whose guard holds.
    Branch {
        /// Index of the target.
        target: u32,
    },
    /// `brx.idx`.
    BranchIndexed {
        /// The index row.
        index: Slot,
        /// Targets.
        targets: Box<[u32]>,
    },
    /// A call of a device function, direct or through a pointer.
    Call(Box<CallOp>),
    /// A function that the driver provides.
    System(Box<SystemCall>),
    /// Returns from a device function; ends the thread in a kernel.
    Return,
    /// Ends the thread.
    Exit,
    /// `trap`
    Trap,
    /// `nanosleep`, `brkpt`, prefetches: gives the others a turn, or nothing.
    Yield,
    /// Nothing (hints).
    Nop,
    /// Lanes pass a point after a barrier or warp operation: see [`super::lower::barrier_postdominators`].
    BarrierBypass {
        /// Index of the meeting point.
        point: u32,
        /// Whether an arrival is consumed.
        consumes_arrival: bool,
    },
    /// `alloca`: grows the frame.
    Alloca {
        /// Destination.
        d: Slot,
        /// Whether the destination is a 64-bit row.
        wide: bool,
        /// Bytes.
        size: Slot,
        /// Whether the size is a 64-bit row.
        wide_size: bool,
        /// Alignment in bytes.
        align: u32,
    },
    /// Not implemented: stops the run when a lane comes here.
    Unsupported,
}

/// What a warp does with products of its warpgroup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WgmmaOp {
    /// `wgmma.fence`
    Fence,
    /// `wgmma.mma_async`: an index into [`super::Program::group_products`].
    Begin(u32),
    /// `wgmma.commit_group`
    Commit,
    /// `wgmma.wait_group`, with the groups that need not be complete.
    Wait(u32),
    /// Before another instruction uses registers that products use, too: an index into [`super::Program::register_uses`].
    Use(u32),
}

/// What an instruction does to W rows that products of a warpgroup use, too.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RegisterUse {
    /// It reads these.
    pub reads: Box<[Slot]>,
    /// It writes these.
    pub writes: Box<[Slot]>,
    /// It only copies: to the first from the second; [`Slot::NONE`] where that is no such row, or memory.
    pub copies: Box<[(Slot, Slot)]>,
}

/// Which lanes of a test of an mbarrier's phase find it complete. Only those come after who has arrived (PTX ISA, "mbarrier.test_wait /
/// mbarrier.try_wait": ordering guarantees hold "when the wait returns true").
#[derive(Clone, Debug)]
pub struct AwaitPhase {
    /// Base of the object's address in shared memory.
    pub base: Base,
    /// Added to it.
    pub offset: i64,
    /// The phase that is asked for: its parity in the highest bit of a 64-bit row.
    pub asked: Slot,
    /// Predicate that is set where it is complete.
    pub complete: Slot,
    /// Predicate that is set where it is not.
    pub incomplete: Slot,
    /// Whether nothing but a complete phase ends the loop around it, so that lanes may stay here until it is: see
    /// [`super::lower::phase_waits`].
    pub waits: bool,
}

/// Combining operators of `setp` and `set`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BoolOp {
    /// `.and`
    And,
    /// `.or`
    Or,
    /// `.xor`
    Xor,
}

/// A piece of a [`Op::Pack`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// The row; none discards (destinations only).
    pub slot: Slot,
    /// Its class.
    pub class: RegisterClass,
    /// Bits that it contributes: 8, 16, 32, 64.
    pub bits: u8,
}

/// `bar.sync`, `bar.arrive`, `bar.red`, `barrier.…`.
#[derive(Clone, Debug)]
pub struct BarrierOp {
    /// Barrier number.
    pub id: Slot,
    /// Threads, or none for all of the block.
    pub threads: Slot,
    /// What else it does.
    pub kind: BarrierKind,
    /// `.aligned`
    pub aligned: bool,
    /// The meeting point, for whole-block barriers.
    pub point: u32,
}

/// Forms of the block barrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BarrierKind {
    /// Waits.
    Sync,
    /// Arrives and goes on.
    Arrive,
    /// Waits; `d` is the number of threads whose predicate holds.
    Popc {
        /// Destination.
        d: Slot,
        /// Predicate.
        p: Slot,
    },
    /// Waits; whether it holds for all.
    And {
        /// Destination.
        d: Slot,
        /// Predicate.
        p: Slot,
    },
    /// Waits; whether it holds for any.
    Or {
        /// Destination.
        d: Slot,
        /// Predicate.
        p: Slot,
    },
}

/// Warp-level operations.
#[derive(Clone, Debug)]
pub struct WarpOp {
    /// Which.
    pub kind: WarpKind,
    /// Destination row or predicate, or none.
    pub d: Slot,
    /// Second destination (`shfl d|p`, `match.all d|p`, `elect d|p`), or none.
    pub p: Slot,
    /// Source.
    pub a: Slot,
    /// Second source (`shfl`'s lane operand).
    pub b: Slot,
    /// Third source (`shfl`'s clamp and segment mask).
    pub c: Slot,
    /// Member mask row, or none (`activemask`).
    pub members: Slot,
    /// The meeting point, or `u32::MAX`.
    pub point: u32,
}

/// Kinds of warp-level operations (PTX ISA, "Parallel Synchronization and Communication
/// Instructions").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum WarpKind {
    Sync,
    ShflUp,
    ShflDown,
    ShflBfly,
    ShflIdx,
    VoteAll,
    VoteAny,
    VoteUni,
    VoteBallot,
    MatchAny32,
    MatchAny64,
    MatchAll32,
    MatchAll64,
    ReduxAdd,
    ReduxMinU,
    ReduxMaxU,
    ReduxMinS,
    ReduxMaxS,
    ReduxAnd,
    ReduxOr,
    ReduxXor,
    /// `redux.f32` minimum and maximum, with `.abs` and `.NaN`.
    ReduxMinF {
        abs: bool,
        nan: bool,
    },
    ReduxMaxF {
        abs: bool,
        nan: bool,
    },
    Elect,
    ActiveMask,
    /// All lanes come to one instruction on matrices, with this site.
    Together(u32),
}

/// A call.
#[derive(Clone, Debug)]
pub struct CallOp {
    /// The function, or `None` through [`CallOp::pointer`].
    pub function: Option<u32>,
    /// A row with function addresses.
    pub pointer: Slot,
    /// Arguments in order.
    pub args: Vec<Carried>,
    /// Results in order.
    pub results: Vec<Carried>,
}

/// Something that a call carries across.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carried {
    /// Bytes of the frame.
    Frame {
        /// Offset from the frame's base.
        offset: u32,
        /// Length.
        bytes: u32,
    },
    /// A register.
    Register(Slot, RegisterClass),
}

/// Functions that CUDA's driver provides to device code (CUDA C++ Programming Guide, "Formatted Output",
/// "Assertion", "Dynamic Global Memory Allocation and Operations").
#[derive(Clone, Debug)]
pub struct SystemCall {
    /// Which.
    pub which: System,
    /// Arguments in order.
    pub args: Vec<Carried>,
    /// Results in order.
    pub results: Vec<Carried>,
}

/// A row of a class, the class reduced to what tells row files apart.
pub type Row = (u8, u32);

/// The row that a slot of a class means; none for constants.
pub fn row_of(class: RegisterClass, slot: Slot) -> Option<Row> {
    if slot == Slot::NONE || slot.0 & Slot::CONST != 0 {
        return None;
    }
    Some(match class {
        RegisterClass::W(_) => (0, slot.0),
        RegisterClass::D | RegisterClass::Q => (1, slot.0),
        RegisterClass::P => (2, slot.0 & !Slot::NEGATED),
    })
}
