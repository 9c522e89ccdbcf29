//! Decoded operations on memory: loads and stores, copies, atomics, textures and surfaces.

use super::{RegisterClass, Slot};
use crate::observer::{AccessKind, Order, Scope, Update};
use crate::texture::Geometry;
use ptx::semantics::AtomicOperation;

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

/// A load's place among those that are performed together: see [`crate::lower::load_runs`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RunPlace {
    /// The run's number in [`crate::Program::load_runs`], from 1; 0: none.
    pub run: u32,
    /// The load's number in it, from 0.
    pub place: u32,
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
    /// The run of loads that it belongs to.
    pub run: RunPlace,
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
    /// [`crate::lower::speculated`].
    pub used_if: Slot,
}

/// `cp.async`: from global to shared memory, through registers of its own.
#[derive(Clone, Debug)]
pub struct CopyOp {
    /// How it reads words: an index into [`crate::Program::memory_ops`].
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
    pub fn accesses<'p>(&self, program: &'p crate::Program) -> (&'p MemoryOp, &'p MemoryOp) {
        let ops = &program.memory_ops;
        (&ops[self.read as usize], &ops[self.write as usize])
    }
}

/// What a bulk operation moves (PTX ISA, "cp.async.bulk", "cp.reduce.async.bulk", "cp.async.bulk.tensor", "st.async", "red.async").
#[derive(Clone, Debug)]
pub struct BulkOp {
    /// How it reads: an index into [`crate::Program::memory_ops`]. None where it stores registers, which are those of `write`.
    pub read: Option<u32>,
    /// How it writes.
    pub write: u32,
    /// A row with its bytes; none where registers are stored.
    pub size: Slot,
    /// Where it completes a phase: what it does to the mbarrier, an index into [`crate::Program::atomic_ops`]. Otherwise it is waited for in a group.
    pub completes: Option<u32>,
    /// A reduction of elements whose type the instruction says.
    pub reduce: Option<Reduction>,
    /// Which updates it commutes with.
    pub update: Update,
    /// Of a tensor copy, where the tensor is.
    pub tensor: Option<Box<TensorOp>>,
    /// A row with the ranks of the blocks of the cluster that it goes to, a bit for each (`.multicast::cluster`); none for one destination.
    pub multicast: Slot,
}

/// How a bulk operation combines what it brings with what is there, and the bytes of an element.
pub type Reduction = (AtomFn, u8);

/// The tensor of a tensor copy (PTX ISA, "cp.async.bulk.tensor", "cp.reduce.async.bulk.tensor").
#[derive(Clone, Debug)]
pub struct TensorOp {
    /// Where its tensor map lies: a generic address.
    pub map: Base,
    /// Added to it.
    pub offset: i64,
    /// Whether pixels are moved (`.im2col`), or a box.
    pub im2col: bool,
    /// Rows with the coordinates, the innermost first.
    pub coordinates: Vec<Slot>,
    /// Rows with what is added to the pixels' coordinates.
    pub offsets: Vec<Slot>,
    /// A reduction of elements whose type the tensor map says.
    pub reduces: Option<AtomicOperation>,
}

impl BulkOp {
    /// Whether it combines what it brings with what is there.
    pub fn is_reduction(&self) -> bool {
        self.reduce.is_some() || self.tensor.as_ref().is_some_and(|t| t.reduces.is_some())
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
    /// `txq`, of the size along this dimension.
    Size(u8),
}

/// The level that a fetch reads (PTX ISA, "tex": `.base`, `.level`, `.grad`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LevelOf {
    /// The first.
    Base,
    /// The one in this row.
    Row(Slot),
    /// The one that follows from how coordinates change from pixel to pixel, along x and y.
    Gradients([[Slot; 3]; 2]),
}

impl LevelOf {
    /// The rows that it is in.
    pub fn rows(&self) -> impl Iterator<Item = Slot> {
        let rows = match *self {
            LevelOf::Base => [Slot::NONE; 6],
            LevelOf::Row(slot) => [
                slot,
                Slot::NONE,
                Slot::NONE,
                Slot::NONE,
                Slot::NONE,
                Slot::NONE,
            ],
            LevelOf::Gradients([[a, b, c], [d, e, f]]) => [a, b, c, d, e, f],
        };
        rows.into_iter().filter(|slot| *slot != Slot::NONE)
    }
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

/// `tex`, `tld4`, `txq`, `suld`, `sust`.
#[derive(Clone, Debug)]
pub struct ImageOp {
    /// Which.
    pub kind: ImageKind,
    /// The image's shape.
    pub geometry: Geometry,
    /// A 64-bit row with the image's number.
    pub handle: Slot,
    /// Whether it is what a variable of type `.texref` or `.surfref` holds.
    pub reference: bool,
    /// The layer, or none.
    pub layer: Slot,
    /// Coordinates, as many as the geometry has.
    pub at: [Slot; 3],
    /// Whether coordinates are integers.
    pub whole: bool,
    /// The level.
    pub level: LevelOf,
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

/// Updates of a word of 32 bits (PTX ISA, "atom").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WordUpdate {
    /// The sum, modulo 2³².
    Add,
    /// The sum of `.f32`.
    AddFloat,
    /// One more, from the operand back to 0.
    Inc,
    /// One less, from 0 and from above the operand to the operand.
    Dec,
    /// The lesser one, unsigned.
    Min,
    /// The greater one, unsigned.
    Max,
    /// The lesser one, signed.
    MinSigned,
    /// The greater one, signed.
    MaxSigned,
    /// Bitwise and.
    And,
    /// Bitwise or.
    Or,
    /// Bitwise exclusive or.
    Xor,
}

impl WordUpdate {
    /// The new value, from the old one and the operand.
    #[inline(always)]
    pub fn apply(self, old: u32, operand: u32) -> u32 {
        let (a, b) = (old, operand);
        match self {
            WordUpdate::Add => a.wrapping_add(b),
            WordUpdate::AddFloat => {
                let sum = f32::from_bits(a) + f32::from_bits(b);
                match sum.is_nan() {
                    true => 0x7fff_ffff,
                    false => sum.to_bits(),
                }
            }
            WordUpdate::Inc => match a >= b {
                true => 0,
                false => a + 1,
            },
            WordUpdate::Dec => match a == 0 || a > b {
                true => b,
                false => a - 1,
            },
            WordUpdate::Min => a.min(b),
            WordUpdate::Max => a.max(b),
            WordUpdate::MinSigned => (a as i32).min(b as i32) as u32,
            WordUpdate::MaxSigned => (a as i32).max(b as i32) as u32,
            WordUpdate::And => a & b,
            WordUpdate::Or => a | b,
            WordUpdate::Xor => a ^ b,
        }
    }
}

/// Operations of `atom` and `red`.
#[derive(Clone, Copy, Debug)]
pub enum AtomFn {
    /// New value from old one and operand, up to 32 bits.
    W(WordUpdate),
    /// The same for 64 bits.
    D(fn(u64, u64) -> u64),
    /// The sum of `.f64`, whose NaN depend on the space.
    AddDouble,
    /// A row function of the arithmetic table, used a lane at a time.
    Row(fn(&crate::alu::Row32, &crate::alu::Row32, &mut crate::alu::Row32)),
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
    pub arrives: Option<MbarrierUse>,
}

impl AtomFn {
    /// The new value of an element of a bulk reduction; what only `atom` has leaves the old one.
    pub fn apply(&self, old: u64, by: u64) -> u64 {
        match self {
            AtomFn::W(f) => u64::from(f.apply(old as u32, by as u32)),
            AtomFn::D(f) => f(old, by),
            AtomFn::AddDouble => {
                let (old, by) = (f64::from_bits(old), f64::from_bits(by));
                crate::alu::float::atomic_add(old, by, false).to_bits()
            }
            AtomFn::Row(f) => {
                let mut out = [0; crate::ids::LANES];
                f(
                    &[old as u32; crate::ids::LANES],
                    &[by as u32; crate::ids::LANES],
                    &mut out,
                );
                u64::from(out[0])
            }
            AtomFn::Exch => by,
            AtomFn::Cas => old,
        }
    }
}

impl AtomicOp {
    /// What it is to those who watch.
    #[inline]
    pub fn kind(&self) -> AccessKind {
        match self.reduction {
            true => AccessKind::Reduction,
            false => AccessKind::Atomic,
        }
    }
}

/// How an atomic operation uses an mbarrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MbarrierUse {
    /// Who does.
    pub by: MbarrierArrival,
    /// What is done.
    pub update: crate::mbarrier::Update,
}

/// Who arrives at an mbarrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MbarrierArrival {
    /// A thread.
    Thread,
    /// The copies that a thread has begun.
    Copies,
}
