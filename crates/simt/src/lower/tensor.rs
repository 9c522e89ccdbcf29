//! Tensor copies (PTX ISA, "cp.async.bulk.tensor", "cp.reduce.async.bulk.tensor"): a tensor map and coordinates in the place of an address of global
//! memory. `tensormap.replace` is a store into a tensor map, whose layout is ours; `tensormap.cp_fenceproxy` is a copy of one, a word a lane.

use super::Lowering;
use super::bulk::part;
use super::memory::{atom_function, update};
use super::operand::Decoded;
use crate::matrix::{MatrixOp, Place as MatrixPlace};
use crate::memory::PARAM_BASE;
use crate::observer::Update;
use crate::op::*;
use crate::tensor_map::{Element, RANK, layout};
use ptx::ast::{Address, Instruction, Operand, ScalarType};
use ptx::semantics::{AtomicOperation, Modifier, Opcode, Space, TypedInstruction};

const W: RegisterClass = RegisterClass::W(32);
const D: RegisterClass = RegisterClass::D;

/// Types as `tensormap.replace` numbers them.
const ELEMENTS: [Element; 13] = [
    Element::U8,
    Element::U16,
    Element::U32,
    Element::S32,
    Element::U64,
    Element::S64,
    Element::F16,
    Element::F32,
    Element::F32Ftz,
    Element::F64,
    Element::Bf16,
    Element::Tf32,
    Element::Tf32Ftz,
];

impl Lowering<'_> {
    /// `cp.async.bulk.tensor.dim.dst.src.mode.completion [dst], [map, {coordinates}], [mbar]{, {offsets}}` and back, without an mbarrier;
    /// `cp.reduce.async.bulk.tensor` with an operation.
    pub(super) fn tensor_copy(&mut self, i: &Instruction, t: &TypedInstruction) -> Decoded<()> {
        for later in [
            Modifier::TileGather4,
            Modifier::TileScatter4,
            Modifier::Im2colW,
            Modifier::Im2colW128,
            Modifier::CtaGroup1,
            Modifier::CtaGroup2,
        ] {
            if t.has(later) {
                return Err("a tensor copy of this form (sm_100)".into());
            }
        }
        let spaces: Vec<Space> = t.modifiers.spaces().collect();
        let loads = match spaces[..] {
            [Space::Shared | Space::SharedCluster, Space::Global]
                if t.opcode == Opcode::CpAsyncBulkTensor =>
            {
                true
            }
            [Space::Global, Space::Shared] => false,
            _ => return Err("a tensor copy between these spaces".into()),
        };
        let operation = t.memory.as_ref().and_then(|m| m.operation);
        let im2col = t.has(Modifier::Im2col) || t.has(Modifier::Im2colNoOffsets);
        if im2col && !loads {
            return Err("a store of pixels".into());
        }
        let reduces = match t.opcode {
            Opcode::CpReduceAsyncBulkTensor => Some(operation.ok_or("a reduction of this name")?),
            _ => None,
        };
        let (tensor, shared) = if loads { (1, 0) } else { (0, 1) };
        let shared = self.address(self.operand(i, shared)?, AddressSpace::Shared)?;
        let mut tensor = self.tensor(i, t, tensor)?;
        tensor.reduces = reduces;
        let has_offsets = loads && t.has(Modifier::Im2col);
        if let (true, Some(offsets)) = (has_offsets, i.operands.get(3)) {
            tensor.offsets = self.components(offsets, ScalarType::U16)?;
        }
        let multicast = self.multicast(i, t, 3 + usize::from(!tensor.offsets.is_empty()))?;
        let completes = match t.has(Modifier::CompleteTxBytes) {
            true if loads => {
                let object = self.address(self.operand(i, 2)?, AddressSpace::Shared)?;
                Some(self.completion((object.base, object.offset)))
            }
            false if !loads => None,
            _ => return Err("a tensor copy that completes in this way".into()),
        };
        // In pieces of 16 bytes; what they pass through is nobody's register.
        let regs = std::array::from_fn(|k| match k {
            0..4 => self.temporary(W),
            _ => Slot::NONE,
        });
        let side = |store, space, place| part(store, space, place, (4, 4), (regs, W));
        let here = (shared.base, shared.offset);
        let there = (Base::Zero, 0);
        let (read, write) = match loads {
            true => (
                side(false, AddressSpace::Global, there),
                side(true, AddressSpace::Shared, here),
            ),
            false => (
                side(false, AddressSpace::Shared, here),
                side(true, AddressSpace::Global, there),
            ),
        };
        let first = self.program.memory_ops.len() as u32;
        self.program.memory_ops.extend([read, write]);
        self.push_bulk(BulkOp {
            read: Some(first),
            write: first + 1,
            size: Slot::NONE,
            completes,
            reduce: None,
            update: reduces.map_or(Update::Add, commutes),
            tensor: Some(Box::new(tensor)),
            multicast,
        })
    }

    /// `tensormap.replace.tile.field{.space}.b1024.type [map], {dimension,} value`. In memory that no encoder has filled, it begins a map.
    pub(super) fn replace_field(&mut self, i: &Instruction, t: &TypedInstruction) -> Decoded<()> {
        let space = match t.modifiers.spaces().next() {
            None => AddressSpace::Generic,
            Some(Space::Global) => AddressSpace::Global,
            Some(Space::Shared) => AddressSpace::Shared,
            Some(_) => return Err("a tensor map in this space".into()),
        };
        if t.has(Modifier::SwizzleAtomicity) {
            return Err("swizzles of other pieces (sm_100)".into());
        }
        // Before, strides were given without their lowest four bits; no manual of today says so.
        if t.has(Modifier::GlobalStride) && self.module.version < (8, 5) {
            return Err("a stride as PTX before 8.5 gives it".into());
        }
        let place = self.address(self.operand(i, 0)?, space)?;
        let indexed = [
            (Modifier::BoxDim, layout::SHAPE, 4),
            (Modifier::GlobalDim, layout::DIMS, 4),
            (Modifier::GlobalStride, layout::STRIDES, 8),
            (Modifier::ElementStride, layout::STEPS, 1),
        ];
        let single = [
            (Modifier::GlobalAddress, layout::ADDRESS, 8),
            (Modifier::Rank, layout::RANK, 1),
            (Modifier::Elemtype, layout::ELEMENT, 1),
            (Modifier::InterleaveLayout, layout::INTERLEAVE, 1),
            (Modifier::SwizzleMode, layout::SWIZZLE, 1),
            (Modifier::FillMode, layout::FILL, 1),
        ];
        let of = |(modifier, ..): &(Modifier, usize, u8)| t.has(*modifier);
        let (at, bytes, value) = match (indexed.into_iter().find(of), single.into_iter().find(of)) {
            (Some((modifier, at, bytes)), _) => {
                let most = match modifier {
                    Modifier::GlobalStride => RANK - 1,
                    _ => RANK,
                };
                let Operand::Int(dimension, _) = self.operand(i, 1)? else {
                    return Err("a dimension that is not a number".into());
                };
                let dimension = usize::try_from(*dimension).ok().filter(|d| *d < most);
                let dimension = dimension.ok_or("a tensor of more dimensions")?;
                (at + dimension * usize::from(bytes), bytes, 2)
            }
            (None, Some((_, at, bytes))) => (at, bytes, 1),
            (None, None) => return Err("a field of this name".into()),
        };
        let value = self.operand(i, value)?;
        let value = match (value, t.has(Modifier::Elemtype)) {
            (Operand::Int(number, _), true) => {
                let element = usize::try_from(*number).ok();
                let element = element.and_then(|n| ELEMENTS.get(n)).copied();
                self.constants
                    .w(element.ok_or("elements of this type")? as u32)
            }
            (_, true) => return Err("a type that is not a number".into()),
            (value, false) if bytes == 8 => {
                let value = value.clone();
                self.source(&value, D, ScalarType::U64)?
            }
            (value, false) => {
                let value = value.clone();
                self.source(&value, W, ScalarType::U32)?
            }
        };
        let place = (place.space, place.base, place.offset);
        let magic = self.constants.d(layout::MAGIC);
        for end in layout::ENDS {
            self.store_field(place, end, 8, magic);
        }
        self.store_field(place, at, bytes, value);
        Ok(())
    }

    fn store_field(
        &mut self,
        (space, base, offset): (AddressSpace, Base, i64),
        at: usize,
        bytes: u8,
        value: Slot,
    ) {
        let class = if bytes == 8 { D } else { W };
        let mut regs = [Slot::NONE; 8];
        regs[0] = value;
        let place = (base, offset + at as i64);
        self.program.memory_ops.push(MemoryOp {
            asynchronous: false,
            ..part(true, space, place, (bytes, 1), (regs, class))
        });
        self.emit(Op::Memory(self.program.memory_ops.len() as u32 - 1));
    }

    /// `tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.scope.sync.aligned [to], [from], 128`
    pub(super) fn copy_map(&mut self, i: &Instruction, t: &TypedInstruction) -> Decoded<()> {
        let spaces: Vec<Space> = t.modifiers.spaces().collect();
        let whole = matches!(self.operand(i, 2)?, Operand::Int(128, _));
        if spaces != [Space::Global, Space::Shared] || !whole {
            return Err("a copy of a tensor map of this form".into());
        }
        self.together()?;
        let word = self.temporary(W);
        let zero = self.constants.w(0);
        for (operand, space, store) in [
            (1, AddressSpace::Shared, false),
            (0, AddressSpace::Global, true),
        ] {
            let place = self.address(self.operand(i, operand)?, space)?;
            let base = match place.base {
                base @ (Base::W(_) | Base::D(_)) => base,
                Base::Zero => Base::W(zero),
                Base::Frame => return Err("a tensor map in this place".into()),
            };
            let d = self.temporary(base.class());
            self.push_matrix(MatrixOp::Place(Box::new(MatrixPlace {
                d,
                base: base.slot(),
                wide: base.class() == D,
                stride: zero,
                at: std::array::from_fn(|lane| (0, lane as u16)),
                bits: 32,
            })));
            let mut regs = [Slot::NONE; 8];
            regs[0] = word;
            let at = (base.with(d), place.offset);
            self.program.memory_ops.push(MemoryOp {
                asynchronous: false,
                ..part(store, space, at, (4, 1), (regs, W))
            });
            self.emit(Op::Memory(self.program.memory_ops.len() as u32 - 1));
        }
        Ok(())
    }

    /// `[map, {coordinates}]`
    fn tensor(&mut self, i: &Instruction, t: &TypedInstruction, at: usize) -> Decoded<TensorOp> {
        let Operand::Address(address) = self.operand(i, at)? else {
            return Err("a tensor that is not in brackets".into());
        };
        let [coordinates] = &address.rest[..] else {
            return Err("a tensor without coordinates".into());
        };
        let coordinates = self.components(coordinates, ScalarType::S32)?;
        let dimensions = [
            Modifier::D1,
            Modifier::D2,
            Modifier::D3,
            Modifier::D4,
            Modifier::D5,
        ];
        let rank = dimensions.into_iter().position(|d| t.has(d));
        if rank.map(|rank| rank + 1) != Some(coordinates.len()) {
            return Err("coordinates of another number".into());
        }
        let map = Operand::Address(Address {
            rest: Vec::new(),
            ..address.clone()
        });
        let place = self.address(&map, AddressSpace::Generic)?;
        let offset = match place.space {
            AddressSpace::Generic => place.offset,
            AddressSpace::Param => place.offset.wrapping_add_unsigned(PARAM_BASE),
            _ => return Err("a tensor map in this place".into()),
        };
        Ok(TensorOp {
            map: place.base,
            offset,
            im2col: t.has(Modifier::Im2col) || t.has(Modifier::Im2colNoOffsets),
            coordinates,
            offsets: Vec::new(),
            reduces: None,
        })
    }

    fn components(&mut self, vector: &Operand, ty: ScalarType) -> Decoded<Vec<Slot>> {
        let values = self
            .elements(vector)
            .unwrap_or_else(|| vec![vector.clone()]);
        let row = |value| self.source(value, W, ty);
        values.iter().map(row).collect()
    }
}

/// Whether the order of such reductions shows, whatever the elements' type.
fn commutes(operation: AtomicOperation) -> Update {
    match operation {
        AtomicOperation::And | AtomicOperation::Or | AtomicOperation::Xor => {
            update(operation, ScalarType::B32)
        }
        _ => Update::Ordered,
    }
}

/// What a reduction does with elements of a type ("cp.reduce.async.bulk.tensor").
pub(crate) fn tensor_reduction(operation: AtomicOperation, element: Element) -> Option<Reduction> {
    let ty = match element {
        Element::U8 | Element::U16 | Element::Tf32 | Element::Tf32Ftz => return None,
        Element::U32 => ScalarType::U32,
        Element::S32 => ScalarType::S32,
        Element::U64 => ScalarType::U64,
        Element::S64 => ScalarType::S64,
        Element::F16 => ScalarType::F16,
        Element::F32 | Element::F32Ftz => ScalarType::F32,
        Element::F64 => ScalarType::F64,
        Element::Bf16 => ScalarType::Bf16,
    };
    use AtomicOperation::{Add, And, Dec, Inc, Max, Min, Or, Xor};
    let whole = !element.is_float();
    let half = matches!(element, Element::F16 | Element::Bf16);
    let known = match operation {
        Add => element != Element::S64,
        Min | Max => whole || half,
        And | Or | Xor => whole && element != Element::S64,
        Inc | Dec => element == Element::U32,
        _ => false,
    };
    if !known {
        return None;
    }
    let f = match (operation, element) {
        (Add, Element::F32Ftz) => AtomFn::D(add_flushed),
        _ => atom_function(operation, ty)?,
    };
    Some((f, element.bytes() as u8))
}

/// The sum of two numbers, subnormal ones and a subnormal sum taken for zero.
fn add_flushed(old: u64, by: u64) -> u64 {
    let flush = |bits: u32| match bits & 0x7f80_0000 {
        0 => bits & 0x8000_0000,
        _ => bits,
    };
    let sum = WordUpdate::AddFloat.apply(flush(old as u32), flush(by as u32));
    u64::from(flush(sum))
}

/// How a load converts elements on their way: an H100 rounds numbers of type `tf32` to it. Nothing is flushed.
pub(crate) fn tensor_conversion(element: Element) -> Option<Reduction> {
    let rounds = matches!(element, Element::Tf32 | Element::Tf32Ftz);
    rounds.then_some((AtomFn::D(|_, by| round_to_tf32(by as u32).into()), 4))
}

/// To the nearest number with ten bits of fraction; of two, the even one. There is one NaN.
fn round_to_tf32(bits: u32) -> u32 {
    const DROPPED: u32 = 0x1fff;
    let exponent = bits & 0x7f80_0000;
    match exponent == 0x7f80_0000 && bits << 9 != 0 {
        true => 0x7fff_e000,
        false => (bits + DROPPED / 2 + (bits >> 13 & 1)) & !DROPPED,
    }
}
