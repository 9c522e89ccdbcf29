//! Decoded operations: what lowering makes of PTX instructions and the execution
//! loop runs.
//!
//! Everything is resolved: registers to slots, types to one specialised
//! operation, labels to indices. Immediates and symbol addresses are rows of a
//! constant pool, so that every operand is a row.

use super::alu::AluOp;
use super::ids::Site;
pub use super::inline::Inline;
use super::observer::{FenceOrder, Order, Scope, Update};
use super::texture::Geometry;
use super::video::VideoOp;

pub use ptx::semantics::{Special, System};

/// Index of a row: a register slot, or with [`Slot::CONST`] set a row of the
/// constant pool of the same class. For predicates, [`Slot::NEGATED`] inverts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Slot(pub u32);

impl Slot {
    /// Bit that marks the constant pool.
    pub const CONST: u32 = 1 << 31;
    /// Bit that inverts a predicate.
    pub const NEGATED: u32 = 1 << 30;
    /// No operand (`_`).
    pub const NONE: Slot = Slot(u32::MAX);
    /// The predicate that is true in all lanes.
    pub const TRUE: Slot = Slot(Slot::CONST);
    /// The predicate that is false in all lanes.
    pub const FALSE: Slot = Slot(Slot::CONST | Slot::NEGATED);

    /// A row of the constant pool.
    pub fn constant(index: usize) -> Slot {
        Slot(index as u32 | Slot::CONST)
    }
    /// The inverted predicate.
    pub fn inverted(self) -> Slot {
        Slot(self.0 ^ Slot::NEGATED)
    }
}

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
    /// `cp.async.mbarrier.arrive`, without the arrival itself, which follows.
    CopiesArrive,
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

/// The space of a memory instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AddressSpace {
    /// Decided by each address.
    Generic,
    /// `.global`
    Global,
    /// `.shared`
    Shared,
    /// `.local`
    Local,
    /// `.const`
    Const,
    /// `.param` of the kernel
    Param,
}

impl Base {
    /// The row of an address in a register.
    pub fn slot(self) -> Slot {
        match self {
            Base::W(slot) | Base::D(slot) => slot,
            Base::Frame | Base::Zero => Slot::NONE,
        }
    }

    /// The class of that row.
    pub fn class(self) -> RegisterClass {
        match self {
            Base::D(_) => RegisterClass::D,
            _ => RegisterClass::W(32),
        }
    }

    /// Another row of the same class.
    pub fn with(self, slot: Slot) -> Base {
        match self {
            Base::D(_) => Base::D(slot),
            _ => Base::W(slot),
        }
    }
}

impl AddressSpace {
    /// Whether one thread can see there what another one does.
    pub fn is_between_threads(self) -> bool {
        matches!(
            self,
            AddressSpace::Generic | AddressSpace::Global | AddressSpace::Shared
        )
    }
}

/// Where an address starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Base {
    /// A 32-bit row, zero-extended.
    W(Slot),
    /// A 64-bit row.
    D(Slot),
    /// The frame of the executing function.
    Frame,
    /// Zero.
    Zero,
}

/// Accesses whose addresses start from one register, unchanged: see [`super::lower::bases`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BaseGroup {
    /// It is the only one.
    #[default]
    Alone,
    /// It is the first of the group of this number.
    Leads(u32),
    /// The first one has been executed.
    Follows(u32),
}

/// `ld` and `st`.
#[derive(Clone, Debug)]
pub struct MemoryOp {
    /// Load or store.
    pub store: bool,
    /// The space.
    pub space: AddressSpace,
    /// Base.
    pub base: Base,
    /// Added to it.
    pub offset: i64,
    /// Bytes of an element.
    pub element: u8,
    /// Elements.
    pub count: u8,
    /// Sign-extends elements into wider registers.
    pub signed: bool,
    /// Rows, one an element (two for 16-byte elements: low half here, high half in the next slot).
    pub regs: [Slot; 8],
    /// Class of these rows.
    pub class: RegisterClass,
    /// Whether it loads or stores one 32-bit word of shared or global memory at an address in a register.
    pub word: bool,
    /// Which accesses start from the same register, unchanged.
    pub group: BaseGroup,
    /// Ordering.
    pub order: Order,
    /// Scope.
    pub scope: Scope,
    /// Whether it reads through the non-coherent cache (`.nc`, `ldu`).
    pub non_coherent: bool,
    /// Whether the access goes to a call's parameters (never shared, never judged).
    pub private: bool,
    /// Whether it is a part of an instruction on matrices, whose lanes share the work as the implementation likes: it counts for nothing
    /// where passes and sectors are counted.
    pub fragment: bool,
    /// Whether it is a part of an asynchronous copy.
    pub asynchronous: bool,
    /// Whether a load's values go nowhere but into stores of elements of the same size, or under a constant mask.
    pub copies: bool,
    /// The lanes in which something uses a load's value: [`Slot::TRUE`] for all, else see
    /// [`super::lower::speculated`].
    pub used_if: Slot,
}

/// `cp.async`: from global to shared memory, through registers of its own.
#[derive(Clone, Debug)]
pub struct CopyOp {
    /// How it reads words: an index into [`super::Program::memory_ops`].
    pub read: u32,
    /// How it writes them.
    pub write: u32,
    /// Bytes that it writes: 4, 8 or 16.
    pub bytes: u32,
    /// A row with the bytes that it reads, or none: all.
    pub size: Slot,
    /// A predicate under which it reads nothing, or none.
    pub ignore: Slot,
}

impl CopyOp {
    /// Its read and its write.
    pub fn accesses<'p>(&self, program: &'p super::Program) -> (&'p MemoryOp, &'p MemoryOp) {
        let ops = &program.memory_ops;
        (&ops[self.read as usize], &ops[self.write as usize])
    }
}

/// What an instruction does with an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImageKind {
    /// `tex`
    Sample,
    /// `tld4`, of this channel.
    Gather(u8),
    /// `suld`
    Load,
    /// `sust`
    Store,
}

/// What an access outside of a surface does (PTX ISA, "suld": `.clamp`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outside {
    /// It is an error.
    Trap,
    /// It goes to the nearest place inside.
    Clamp,
    /// It reads zero, and stores nothing.
    Zero,
}

/// `tex`, `tld4`, `suld`, `sust`.
#[derive(Clone, Debug)]
pub struct ImageOp {
    /// Which.
    pub kind: ImageKind,
    /// The image's shape.
    pub geometry: Geometry,
    /// A 64-bit row with the image's number.
    pub handle: Slot,
    /// The layer, or none.
    pub layer: Slot,
    /// Coordinates, as many as the geometry has.
    pub at: [Slot; 3],
    /// Whether coordinates are integers.
    pub whole: bool,
    /// The level, or none.
    pub level: Slot,
    /// What happens outside of a surface.
    pub outside: Outside,
    /// Bytes of a value.
    pub element: u8,
    /// Values.
    pub count: u8,
    /// Their rows.
    pub values: [Slot; 4],
    /// The class of these rows.
    pub class: RegisterClass,
}

impl ImageOp {
    /// Bytes that an access to a surface touches.
    pub fn bytes(&self) -> u32 {
        u32::from(self.element) * u32::from(self.count)
    }
}

/// Operations of `atom` and `red`.
#[derive(Clone, Copy, Debug)]
pub enum AtomFn {
    /// New value from old one and operand, up to 32 bits.
    W(fn(u32, u32) -> u32),
    /// The same for 64 bits.
    D(fn(u64, u64) -> u64),
    /// The sum of `.f64`, whose NaN depend on the space.
    AddDouble,
    /// A row function of the arithmetic table, used a lane at a time.
    Row(fn(&super::alu::Row32, &super::alu::Row32, &mut super::alu::Row32)),
    /// Compare-and-swap.
    Cas,
    /// Exchange.
    Exch,
}

/// `atom` and `red`.
#[derive(Clone, Debug)]
pub struct AtomicOp {
    /// The operation.
    pub f: AtomFn,
    /// The space.
    pub space: AddressSpace,
    /// Base.
    pub base: Base,
    /// Added to it.
    pub offset: i64,
    /// Bytes of an element: 2, 4, 8 or 16.
    pub element: u8,
    /// Elements (vector atomics), each atomic by itself.
    pub count: u8,
    /// Destinations, or none.
    pub d: [Slot; 8],
    /// First operand.
    pub b: [Slot; 8],
    /// Second operand (compare-and-swap).
    pub c: Slot,
    /// Ordering.
    pub order: Order,
    /// Scope.
    pub scope: Scope,
    /// Whether it is `red`, which returns nothing.
    pub reduction: bool,
    /// Whether anything uses the result.
    pub used: bool,
    /// Which updates it commutes with.
    pub update: Update,
    /// Flushes subnormal singles (global memory, PTX ISA, "atom").
    pub flush: bool,
    /// Who arrives, where it updates an mbarrier.
    pub arrives: Option<MbarrierArrival>,
}

/// Who arrives at an mbarrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MbarrierArrival {
    /// A thread.
    Thread,
    /// The copies that a thread has begun.
    Copies,
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
