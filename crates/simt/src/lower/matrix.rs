//! Instructions on matrices (PTX ISA, "Warp Level Matrix Multiply-Accumulate Instructions"): see [`crate::matrix`] for what they become.

use super::Lowering;
use super::memory::{Access, Where};
use super::operand::{Decoded, Undecodable};
use crate::matrix::{
    Arrangement, BitOperation, Element, Fragment, Gather, Held, MatrixOp, Place, Product,
};
use crate::op::*;
use crate::{ids::LANES, observer::Order};
use ptx::ast::{Instruction, Operand, ScalarType};
use ptx::semantics::{Modifier, Opcode, Rounding, TypedInstruction};

const W: RegisterClass = RegisterClass::W(32);

/// Bytes of the longest access.
const LONGEST: u32 = 16;

/// Which matrix of `d = a × b + c`.
#[derive(Clone, Copy, PartialEq)]
enum Role {
    A,
    B,
    Sum,
}

/// Elements of a lane that lie side by side in memory.
struct Run {
    /// The first of them.
    first: usize,
    /// How many.
    count: usize,
    /// For each lane, which row (or column) they are of, and where in it they begin.
    at: [(u16, u16); LANES],
}

impl Lowering<'_> {
    /// Any of them.
    pub(super) fn matrix(&mut self, i: &Instruction, t: &TypedInstruction) -> Decoded<()> {
        match t.opcode {
            Opcode::WmmaLoad | Opcode::WmmaStore => self.wmma_access(i, t),
            Opcode::WmmaMma | Opcode::Mma => self.product(i, t),
            Opcode::Ldmatrix | Opcode::Stmatrix => self.rows_of_matrices(i, t),
            _ => self.transpose(i, t),
        }
    }

    /// The lanes of the warp meet.
    pub(super) fn together(&mut self) -> Decoded<()> {
        let all = self.constants.w(u32::MAX);
        let kind = WarpKind::Together(self.site.0);
        self.push_warp(kind, [Slot::NONE; 5], all)
    }

    pub(super) fn push_matrix(&mut self, op: MatrixOp) {
        self.program.matrix_ops.push(op);
        let index = self.program.matrix_ops.len() as u32 - 1;
        self.emit(Op::Matrix(index));
    }

    /// The registers of a vector, or the one.
    pub(super) fn rows_of(
        &mut self,
        operand: &Operand,
        class: RegisterClass,
    ) -> Decoded<Box<[Slot]>> {
        let parts = match operand {
            Operand::Vector(parts) => &parts[..],
            one => std::slice::from_ref(one),
        };
        let ty = if class == W {
            ScalarType::B32
        } else {
            ScalarType::F64
        };
        parts.iter().map(|p| self.source(p, class, ty)).collect()
    }

    /// The registers of a vector of results.
    pub(super) fn results(
        &mut self,
        operand: &Operand,
        class: RegisterClass,
    ) -> Decoded<Box<[Slot]>> {
        let parts = match operand {
            Operand::Vector(parts) => &parts[..],
            one => std::slice::from_ref(one),
        };
        let mut slots = Vec::new();
        for part in parts {
            let (slot, after) = self.destination(part, class)?;
            if after.is_some() {
                return Err("a destination of the wrong kind".into());
            }
            slots.push(slot);
        }
        Ok(slots.into())
    }

    /// What registers hold of a matrix.
    fn held(
        &mut self,
        element: Element,
        slots: Box<[Slot]>,
        rows: usize,
        columns: usize,
        arrangement: Arrangement,
    ) -> Decoded<Held> {
        let fragment = Fragment {
            rows,
            columns,
            each: slots.len() * element.parts(),
            parts: element.parts(),
            arrangement,
        };
        if !fragment.is_whole() {
            return Err("a matrix of this shape, type and registers".into());
        }
        let places = self
            .fragments
            .entry(fragment)
            .or_insert_with(|| Held::places(&fragment))
            .clone();
        Ok(Held::new(element, fragment, slots, places))
    }

    /// `wmma.load.{a,b,c}.sync.aligned.layout.shape{.ss}.type r, [p]{, stride}`, and `wmma.store.d`, the other way around.
    fn wmma_access(&mut self, i: &Instruction, t: &TypedInstruction) -> Decoded<()> {
        let store = t.opcode == Opcode::WmmaStore;
        let which = match () {
            () if t.has(Modifier::A) => Role::A,
            () if t.has(Modifier::B) => Role::B,
            () => Role::Sum,
        };
        let element = element(t, 0)?;
        let (m, n, k) = shape(t, element)?;
        let (rows, columns, arrangement) = match which {
            Role::A => (m, k, Arrangement::Rows),
            Role::B => (k, n, Arrangement::Columns),
            Role::Sum => (m, n, Arrangement::Sum),
        };
        let class = class_of(element);
        let (registers, address) = if store { (1, 0) } else { (0, 1) };
        let slots = match store {
            true => self.rows_of(self.operand(i, registers)?, class)?,
            false => self.results(self.operand(i, registers)?, class)?,
        };
        let held = self.held(element, slots, rows, columns, arrangement)?;
        let by_rows = t.has(Modifier::Row);
        // Elements of bits are words here, and counted as bits in memory.
        let unit = if element == Element::Bits { 32 } else { 1 };
        let stride = match i.operands.get(2) {
            Some(stride) => self.source(stride, W, ScalarType::U32)?,
            None => {
                let line = if by_rows { columns } else { rows };
                self.constants.w((line * unit) as u32)
            }
        };
        let access = Access::of(t)?;
        let (base, offset) = self.start(i, address, &access)?;
        self.together()?;
        let bits = element.bits() / unit as u32;
        let mut before: Option<(Run, Slot)> = None;
        for run in runs(&held.fragment, element, by_rows) {
            let at = run.at.map(|(line, element)| (line, element * unit as u16));
            let ahead = before.as_ref().and_then(|(first, _)| ahead(first, &run));
            let (address, more) = match (&before, ahead) {
                (Some((_, address)), Some(elements)) => (*address, elements),
                _ => {
                    let d = self.temporary(base.class());
                    self.push_matrix(MatrixOp::Place(Box::new(Place {
                        d,
                        base: base.slot(),
                        wide: base.class() == RegisterClass::D,
                        stride,
                        at,
                        bits,
                    })));
                    (d, 0)
                }
            };
            let more = more * i64::from(element.bits()) / 8;
            let at = Where {
                space: access.space,
                base: base.with(address),
                offset: offset + more,
            };
            self.run_access(&held, &run, store, at);
            if ahead.is_none() {
                before = Some((run, address));
            }
        }
        Ok(())
    }

    /// Loads or stores a run of elements.
    fn run_access(&mut self, held: &Held, run: &Run, store: bool, at: Where) {
        let parts = held.fragment.parts;
        let first = run.first / parts;
        if run.count.is_multiple_of(parts) && run.first.is_multiple_of(parts) {
            let class = class_of(held.element);
            let registers = &held.slots[first..first + run.count / parts];
            let bytes = if class == W { 4 } else { 8 };
            self.push_fragment(store, at, bytes, registers, class);
            return;
        }
        // One element, which is a part of a register.
        let class = W;
        let narrow = self.temporary(class);
        let bits = held.element.bits() as u8;
        let place = run.first % parts;
        let (slot, bytes) = (held.slots[first], (bits / 8).max(1));
        let whole = Part {
            slot,
            class,
            bits: 32,
        };
        let pieces: Box<[Part]> = (0..parts)
            .map(|part| Part {
                slot: if part == place { narrow } else { Slot::NONE },
                class,
                bits,
            })
            .collect();
        if store {
            self.emit(Op::Pack {
                d: pieces,
                s: [whole].into(),
            });
            self.push_fragment(true, at, bytes, &[narrow], class);
        } else {
            self.push_fragment(false, at, bytes, &[narrow], class);
            // The others stay as they are: they are taken out of the register, and put back.
            let kept: Vec<Slot> = (0..parts)
                .map(|part| {
                    if part == place {
                        narrow
                    } else {
                        self.temporary(class)
                    }
                })
                .collect();
            let all = |skip: bool| -> Box<[Part]> {
                let parts = kept.iter().map(|slot| Part {
                    slot: if skip && *slot == narrow {
                        Slot::NONE
                    } else {
                        *slot
                    },
                    class,
                    bits,
                });
                parts.collect()
            };
            self.emit(Op::Pack {
                d: all(true),
                s: [whole].into(),
            });
            self.emit(Op::Pack {
                d: [whole].into(),
                s: all(false),
            });
        }
    }

    fn push_fragment(
        &mut self,
        store: bool,
        at: Where,
        element: u8,
        registers: &[Slot],
        class: RegisterClass,
    ) {
        let mut regs = [Slot::NONE; 8];
        regs[..registers.len()].copy_from_slice(registers);
        let op = MemoryOp {
            word: false,
            run: RunPlace::default(),
            store,
            space: at.space,
            base: at.base,
            offset: at.offset,
            element,
            count: registers.len() as u8,
            signed: false,
            regs,
            class,
            // "treated as a weak memory operation" (PTX ISA, "wmma.load", "ldmatrix").
            order: Order::Weak,
            scope: crate::observer::Scope::Sys,
            non_coherent: false,
            private: false,
            copies: false,
            fragment: true,
            asynchronous: false,
            used_if: Slot::TRUE,
        };
        self.program.memory_ops.push(op);
        let index = self.program.memory_ops.len() as u32 - 1;
        self.emit(Op::Memory(index));
    }

    /// Where an address begins: its register, or a constant, and what is added to it.
    fn start(&mut self, i: &Instruction, at: usize, access: &Access) -> Decoded<(Base, i64)> {
        let operand = self.operand(i, at)?;
        let place = self.address(operand, access.space)?;
        match (place.base, operand) {
            (base @ (Base::W(_) | Base::D(_)), _) => Ok((base, place.offset)),
            (_, Operand::Address(address)) => {
                let slot = self.source(&address.base, W, ScalarType::U32)?;
                Ok((Base::W(slot), address.offset))
            }
            _ => Err("an address of this form".into()),
        }
    }

    /// `wmma.mma.sync.aligned.alayout.blayout.shape.dtype…ctype d, a, b, c` and `mma.sync.aligned.shape.row.col.dtype.atype.btype.ctype`.
    fn product(&mut self, i: &Instruction, t: &TypedInstruction) -> Decoded<()> {
        let wmma = t.opcode == Opcode::WmmaMma;
        let placed = t.has(Modifier::Row) && t.has(Modifier::Col);
        if !(wmma || placed) {
            return Err("mma of this form".into());
        }
        let other = [
            Modifier::Sp,
            Modifier::SpOrdered,
            Modifier::BlockScale,
            Modifier::KindMxf8f6f4,
            Modifier::KindMxf4,
            Modifier::KindMxf4nvf4,
        ];
        if other.into_iter().any(|m| t.has(m)) || i.operands.len() != 4 {
            return Err("mma of this form".into());
        }
        if !matches!(t.modifiers.rounding(), None | Some(Rounding::NearestEven)) {
            return Err("mma with this rounding".into());
        }
        let types: Vec<Element> = t
            .modifiers
            .types()
            .map(Element::of)
            .collect::<Option<_>>()
            .ok_or("a matrix of this type")?;
        let [d, a, b, c] = match types[..] {
            // `wmma.mma` of `.f16` names the sums' types alone.
            [d, c] => [d, Element::F16, Element::F16, c],
            [d, a, b, c] => [d, a, b, c],
            _ => return Err("a matrix of this type".into()),
        };
        let (m, n, k) = shape(t, a)?;
        let arranged = match wmma {
            true => [Arrangement::Rows, Arrangement::Columns],
            false => [Arrangement::First, Arrangement::Second],
        };
        let slots = [
            self.results(self.operand(i, 0)?, class_of(d))?,
            self.rows_of(self.operand(i, 1)?, class_of(a))?,
            self.rows_of(self.operand(i, 2)?, class_of(b))?,
            self.rows_of(self.operand(i, 3)?, class_of(c))?,
        ];
        let [slots_d, slots_a, slots_b, slots_c] = slots;
        let product = Product {
            m,
            n,
            k,
            a: self.held(a, slots_a, m, k, arranged[0])?,
            b: self.held(b, slots_b, k, n, arranged[1])?,
            c: self.held(c, slots_c, m, n, Arrangement::Sum)?,
            d: self.held(d, slots_d, m, n, Arrangement::Sum)?,
            saturates: t.has(Modifier::Satfinite),
            bits: match () {
                () if t.has(Modifier::And) => Some(BitOperation::And),
                () if t.has(Modifier::Xor) => Some(BitOperation::Xor),
                () => None,
            },
        };
        if !product.is_bounded() || !product.is_of_one_kind() {
            return Err("a matrix of this shape and type".into());
        }
        self.together()?;
        self.push_matrix(MatrixOp::Product(Box::new(product)));
        Ok(())
    }

    /// `ldmatrix.sync.aligned.m8n8.num{.trans}{.ss}.b16 r, [p]`, and `stmatrix`, the other way around.
    fn rows_of_matrices(&mut self, i: &Instruction, t: &TypedInstruction) -> Decoded<()> {
        if !t.has(Modifier::Shape(8, 8, 0)) || !t.has(Modifier::Type(ptx::semantics::Type::B16)) {
            return Err("matrices of this shape and type".into());
        }
        let store = t.opcode == Opcode::Stmatrix;
        let (registers, address) = if store { (1, 0) } else { (0, 1) };
        let slots = match store {
            true => self.rows_of(self.operand(i, registers)?, W)?,
            false => self.results(self.operand(i, registers)?, W)?,
        };
        if slots.len() > 4 {
            return Err("more than four matrices".into());
        }
        let access = Access::of(t)?;
        let (base, offset) = self.start(i, address, &access)?;
        self.together()?;
        // The addresses are taken before a register that holds them may be written.
        let trans = t.has(Modifier::Trans);
        let halves = if trans { 2 } else { 1 };
        let mut addresses = Vec::new();
        for matrix in 0..slots.len() {
            for half in 0..halves {
                let d = self.temporary(base.class());
                let at = std::array::from_fn(|lane| {
                    let (row, bytes) = match trans {
                        true => (lane % 4 * 2 + half, lane / 4 * 2),
                        false => (lane / 4, lane % 4 * 4),
                    };
                    ((8 * matrix + row) as u8, bytes as u8)
                });
                self.push_matrix(MatrixOp::Gather(Box::new(Gather {
                    d,
                    s: base.slot(),
                    wide: base.class() == RegisterClass::D,
                    at,
                })));
                addresses.push(d);
            }
        }
        for (matrix, slot) in slots.iter().enumerate() {
            let at = |half: usize| Where {
                space: access.space,
                base: base.with(addresses[halves * matrix + half]),
                offset,
            };
            if !trans {
                self.push_fragment(store, at(0), 4, &[*slot], W);
                continue;
            }
            let pair = [self.temporary(W), self.temporary(W)];
            let part = |slot, bits| Part {
                slot,
                class: W,
                bits,
            };
            let (whole, halves) = ([part(*slot, 32)], pair.map(|slot| part(slot, 16)));
            if store {
                self.emit(Op::Pack {
                    d: halves.into(),
                    s: whole.into(),
                });
            }
            self.push_fragment(store, at(0), 2, &pair[..1], W);
            self.push_fragment(store, at(1), 2, &pair[1..], W);
            if !store {
                self.emit(Op::Pack {
                    d: whole.into(),
                    s: halves.into(),
                });
            }
        }
        Ok(())
    }

    /// `movmatrix.sync.aligned.m8n8.trans.b16 d, a`.
    fn transpose(&mut self, i: &Instruction, t: &TypedInstruction) -> Decoded<()> {
        if !t.has(Modifier::Shape(8, 8, 0)) || !t.has(Modifier::Trans) {
            return Err("a matrix of this shape".into());
        }
        let s = self.source(self.operand(i, 1)?, W, ScalarType::B32)?;
        let (d, after) = self.destination(self.operand(i, 0)?, W)?;
        self.together()?;
        self.push_matrix(MatrixOp::Transpose { d, s });
        after.into_iter().for_each(|op| self.emit(op));
        Ok(())
    }
}

fn class_of(element: Element) -> RegisterClass {
    match element {
        Element::F64 => RegisterClass::D,
        _ => W,
    }
}

fn element(t: &TypedInstruction, index: usize) -> Decoded<Element> {
    let ty = t.modifiers.types().nth(index);
    let element = ty.and_then(Element::of);
    element.ok_or(Undecodable::Form("a matrix of this type"))
}

/// `.m16n8k32`; bits in words.
fn shape(t: &TypedInstruction, element: Element) -> Decoded<(usize, usize, usize)> {
    let shape = t.modifiers.iter().find_map(|m| match m {
        Modifier::Shape(m, n, k) => Some((usize::from(*m), usize::from(*n), usize::from(*k))),
        _ => None,
    });
    let (m, n, k) = shape.ok_or("a matrix without a shape")?;
    let k = if element == Element::Bits { k / 32 } else { k };
    // Larger ones are of other instructions, and nothing here is to grow with them.
    match m > 0 && n > 0 && m <= 32 && n <= 32 && k <= 64 {
        true => Ok((m, n, k)),
        false => Err("a matrix of this shape".into()),
    }
}

/// How many elements of a line a run begins behind another one, where it is the same for all lanes.
fn ahead(first: &Run, run: &Run) -> Option<i64> {
    let behind = |l: usize| i64::from(run.at[l].1) - i64::from(first.at[l].1);
    let same = |l: usize| run.at[l].0 == first.at[l].0 && behind(l) == behind(0);
    (0..LANES).all(same).then(|| behind(0))
}

/// The elements of a fragment, in as few accesses as there are.
fn runs(fragment: &Fragment, element: Element, by_rows: bool) -> Vec<Run> {
    let at = |index: usize| -> [(u16, u16); LANES] {
        std::array::from_fn(|lane| {
            let (row, column) = fragment.place(lane, index);
            match by_rows {
                true => (row as u16, column as u16),
                false => (column as u16, row as u16),
            }
        })
    };
    let follows = |last: &[(u16, u16); LANES], next: &[(u16, u16); LANES]| {
        last.iter()
            .zip(next)
            .all(|(a, b)| a.0 == b.0 && a.1 + 1 == b.1)
    };
    let parts = fragment.parts;
    let mut runs: Vec<Run> = Vec::new();
    for register in 0..fragment.each / parts {
        let all: Vec<_> = (0..parts).map(|part| at(register * parts + part)).collect();
        let first = register * parts;
        if !all.windows(2).all(|w| follows(&w[0], &w[1])) {
            runs.extend(all.into_iter().enumerate().map(|(part, at)| Run {
                first: first + part,
                count: 1,
                at,
            }));
            continue;
        }
        let longest = (LONGEST * 8 / element.bits()) as usize;
        let joins = runs.last().is_some_and(|last| {
            // Vectors have 2 or 4 registers.
            last.count.is_multiple_of(parts)
                && last.count + parts <= longest
                && last.first + last.count == first
                && follows(&at(first - 1), &all[0])
        });
        match runs.last_mut() {
            Some(last) if joins => last.count += parts,
            _ => runs.push(Run {
                first,
                count: parts,
                at: all[0],
            }),
        }
    }
    runs
}
