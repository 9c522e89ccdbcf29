//! Memory instructions: `ld`, `st`, `atom`, `red`, `cvta`, `isspacep`, `alloca`
//! (PTX ISA, "Data Movement and Conversion Instructions" and "Parallel
//! Synchronization and Communication Instructions").

use super::Lowering;
use super::operand::{Decoded, Undecodable};
use super::scope::{Binding, bytes_of};
use crate::alu::{self, AluOp};
use crate::memory::{LOCAL_BASE, PARAM_BASE, SHARED_BASE};
use crate::observer::{Order, Scope, Update};
use crate::op::*;
use ptx::ast::{Address, Instruction, Operand, ScalarType};
use ptx::semantics::{self, AtomicOperation, Modifier, Opcode, Space, Type, TypedInstruction};

/// What a memory instruction does, as the simulator has it.
pub(super) struct Access {
    order: Order,
    scope: Scope,
    pub(super) space: AddressSpace,
    count: u8,
    non_coherent: bool,
}

impl Access {
    pub(super) fn of(t: &TypedInstruction) -> Decoded<Access> {
        let m = t
            .memory
            .as_ref()
            .ok_or("an instruction that accesses no memory")?;
        Ok(Access {
            order: order(m.order),
            scope: scope(m.scope.unwrap_or(semantics::Scope::Sys)),
            space: address_space(m.space).ok_or("asynchronous operations")?,
            count: m.count,
            non_coherent: m.non_coherent,
        })
    }

    /// Its order and scope.
    pub(super) fn ordered(&self) -> (Order, Scope) {
        (self.order, self.scope)
    }
}

/// The simulator's name for an order of accesses.
fn order(order: semantics::Order) -> Order {
    match order {
        semantics::Order::Weak => Order::Weak,
        semantics::Order::Volatile => Order::Volatile,
        semantics::Order::Relaxed => Order::Relaxed,
        semantics::Order::Acquire => Order::Acquire,
        semantics::Order::Release => Order::Release,
        // No access is `.sc` (PTX ISA, "ld", "st", "atom"): of fences see `fence`.
        semantics::Order::AcqRel | semantics::Order::Sc => Order::AcqRel,
    }
}

/// The simulator's name for a scope.
pub(super) fn scope(scope: semantics::Scope) -> Scope {
    match scope {
        semantics::Scope::Cta => Scope::Cta,
        semantics::Scope::Cluster => Scope::Cluster,
        semantics::Scope::Gpu => Scope::Gpu,
        semantics::Scope::Sys => Scope::Sys,
    }
}

/// Where an access goes.
#[derive(Clone, Copy)]
pub(super) struct Where {
    pub(super) space: AddressSpace,
    pub(super) base: Base,
    pub(super) offset: i64,
}

/// A decoded address.
pub(super) struct Place {
    pub(super) space: AddressSpace,
    pub(super) base: Base,
    pub(super) offset: i64,
    /// A call's parameters: nobody else can see them.
    private: bool,
}

impl Lowering<'_> {
    pub(super) fn address(&mut self, operand: &Operand, space: AddressSpace) -> Decoded<Place> {
        let Operand::Address(Address { base, offset, rest }) = operand else {
            return Err("an address that is not in brackets".into());
        };
        if !rest.is_empty() {
            return Err("an address of several coordinates".into());
        }
        let at = |space, base, offset| Place {
            space,
            base,
            offset,
            private: false,
        };
        if let Some((slot, class)) = self.register(base) {
            let base = match class {
                RegisterClass::W(32) => Base::W(slot),
                RegisterClass::D => Base::D(slot),
                _ => return Err("an address register of this type".into()),
            };
            return Ok(at(space, base, *offset));
        }
        match &**base {
            Operand::Int(value, _) => {
                Ok(at(space, Base::Zero, (*value as i64).wrapping_add(*offset)))
            }
            Operand::Offset(name, more) => self.variable(name, offset + more, space),
            Operand::Name(name, None) => self.variable(name, *offset, space),
            _ => Err("an address of this form".into()),
        }
    }

    pub(super) fn variable(
        &mut self,
        name: &str,
        offset: i64,
        space: AddressSpace,
    ) -> Decoded<Place> {
        let binding = self
            .binding(name)
            .ok_or_else(|| Undecodable::Undeclared(name.to_owned()))?;
        let generic = space == AddressSpace::Generic;
        let at = |space, base, offset, private| {
            Ok(Place {
                space,
                base,
                offset,
                private,
            })
        };
        match binding {
            Binding::Shared(start) => at(
                AddressSpace::Shared,
                Base::Zero,
                offset + i64::from(start),
                false,
            ),
            Binding::EntryParam(start) => at(
                AddressSpace::Param,
                Base::Zero,
                offset + i64::from(start),
                false,
            ),
            Binding::Frame {
                offset: start,
                param,
                ..
            } => at(
                AddressSpace::Local,
                Base::Frame,
                offset + i64::from(start),
                param,
            ),
            Binding::Global { constant, .. } => {
                let space = match (generic, constant) {
                    (true, _) => AddressSpace::Generic,
                    (_, true) => AddressSpace::Const,
                    (_, false) => AddressSpace::Global,
                };
                let slot = self.address_constant(name, offset, RegisterClass::D)?;
                at(space, Base::D(slot), 0, false)
            }
            Binding::Function(_) | Binding::Register { .. } => {
                Err("an address of this form".into())
            }
        }
    }

    pub(super) fn load_store(&mut self, i: &Instruction, t: &TypedInstruction) -> Decoded<()> {
        let s = Access::of(t)?;
        let store = t.opcode == Opcode::St;
        let ty = t.modifiers.literal_type();
        let element = bytes_of(ty);
        let (value, address) = if store { (1, 0) } else { (0, 1) };
        let place = self.address(self.operand(i, address)?, s.space)?;
        let one = self.operand(i, value)?;
        let values = self.elements(one).unwrap_or_else(|| vec![one.clone()]);
        if values.len() != usize::from(s.count) {
            return Err("a vector of another length".into());
        }
        let natural = self.type_class(ty)?;
        // The registers may be wider than the type.
        let class = values
            .iter()
            .find_map(|v| self.register(v))
            .map_or(natural, |(_, c)| c);
        let mut regs = [Slot::NONE; 8];
        for (slot, v) in regs.iter_mut().zip(&values) {
            *slot = match self.register(v) {
                Some((slot, has)) if has == class => slot,
                Some(_) => return Err("a vector of registers of different types".into()),
                None if matches!(v, Operand::Name(n, None) if n == "_") && !store => Slot::NONE,
                None if store => self.source(v, class, ty)?,
                None => return Err("a destination that is not a register".into()),
            };
        }
        let signed = matches!(ty, ScalarType::S8 | ScalarType::S16 | ScalarType::S32);
        let word = element == 4
            && s.count == 1
            && class == RegisterClass::W(32)
            && matches!(place.space, AddressSpace::Global | AddressSpace::Shared)
            && matches!(place.base, Base::W(_) | Base::D(_));
        self.program.memory_ops.push(MemoryOp {
            word,
            run: RunPlace::default(),
            store,
            space: place.space,
            base: place.base,
            offset: place.offset,
            element: element as u8,
            count: s.count,
            signed,
            regs,
            class,
            order: s.order,
            scope: s.scope,
            non_coherent: s.non_coherent,
            private: place.private,
            copies: false,
            fragment: false,
            asynchronous: false,
            used_if: Slot::TRUE,
        });
        self.emit(Op::Memory(self.program.memory_ops.len() as u32 - 1));
        Ok(())
    }

    pub(super) fn atomic(&mut self, i: &Instruction, t: &TypedInstruction) -> Decoded<()> {
        let s = Access::of(t)?;
        let reduction = t.opcode == Opcode::Red;
        let first = usize::from(!reduction);
        let ty = t.modifiers.literal_type();
        let operation = t
            .memory
            .as_ref()
            .and_then(|m| m.operation)
            .ok_or("an atomic operation of this name")?;
        let f = atom_function(operation, ty).ok_or("an atomic operation of this type")?;
        let place = self.address(self.operand(i, first)?, s.space)?;
        let class = match ty {
            ScalarType::B128 => RegisterClass::Q,
            _ => self.type_class(ty)?,
        };
        let rows = |l: &mut Self, operand: &Operand, destination: bool| -> Decoded<[Slot; 8]> {
            let parts = l.elements(operand).unwrap_or_else(|| vec![operand.clone()]);
            let mut slots = [Slot::NONE; 8];
            if parts.len() != usize::from(s.count) {
                return Err("a vector of another length".into());
            }
            for (slot, p) in slots.iter_mut().zip(&parts) {
                *slot = match (destination, matches!(p, Operand::Name(n, None) if n == "_")) {
                    (true, true) => Slot::NONE,
                    (true, false) => l.destination(p, class)?.0,
                    (false, _) => l.source(p, class, ty)?,
                };
            }
            Ok(slots)
        };
        let b = rows(self, self.operand(i, first + 1)?, false)?;
        let cas = matches!(f, AtomFn::Cas);
        let c = if cas {
            self.source(self.operand(i, first + 2)?, class, ty)?
        } else {
            Slot::NONE
        };
        let d = if reduction {
            [Slot::NONE; 8]
        } else {
            rows(self, self.operand(i, 0)?, true)?
        };
        self.program.atomic_ops.push(AtomicOp {
            f,
            space: place.space,
            base: place.base,
            offset: place.offset,
            element: bytes_of(ty) as u8,
            count: s.count,
            d,
            b,
            c,
            order: s.order,
            scope: s.scope,
            reduction,
            used: !reduction,
            update: update(operation, ty),
            flush: ty == ScalarType::F32,
            arrives: None,
        });
        self.emit(Op::Atomic(self.program.atomic_ops.len() as u32 - 1));
        Ok(())
    }

    pub(super) fn cvta(&mut self, i: &Instruction, t: &TypedInstruction) -> Decoded<()> {
        let to = t.has(Modifier::To);
        if !t.has(Modifier::Type(Type::U64)) {
            return Err("generic addresses of 32 bits".into());
        }
        let space = t
            .modifiers
            .spaces()
            .next()
            .and_then(address_space)
            .ok_or("a space that is not implemented")?;
        let base = window(space);
        let add = if to { base.wrapping_neg() } else { base };
        let a = match self.operand(i, 1)? {
            // Names of variables and sums with offsets.
            Operand::Name(name, None) if self.register(&i.operands[1]).is_none() => {
                self.address_constant(name, 0, RegisterClass::D)?
            }
            operand => self.source(operand, RegisterClass::D, ScalarType::U64)?,
        };
        let (d, after) = self.destination(self.operand(i, 0)?, RegisterClass::D)?;
        self.emit(Op::Cvta { d, a, add });
        after.into_iter().for_each(|op| self.emit(op));
        Ok(())
    }

    pub(super) fn is_space(&mut self, i: &Instruction, t: &TypedInstruction) -> Decoded<()> {
        let space = t
            .modifiers
            .spaces()
            .next()
            .and_then(address_space)
            .ok_or("a space that is not implemented")?;
        let p = self.predicate(self.operand(i, 0)?)?;
        let a = self.operand(i, 1)?;
        let wide = !matches!(self.register(a), Some((_, RegisterClass::W(_))));
        let a = self.source(
            a,
            if wide {
                RegisterClass::D
            } else {
                RegisterClass::W(32)
            },
            ScalarType::U64,
        )?;
        let own = space == AddressSpace::Shared
            && t.modifiers.spaces().next() != Some(Space::SharedCluster);
        self.emit(Op::IsSpace {
            p,
            a,
            wide,
            space,
            own,
        });
        Ok(())
    }

    /// `mapa{.shared::cluster}.type d, a, b` and `getctarank{.shared::cluster}.type d, a`: of addresses of the space that is named, or generic ones.
    pub(super) fn map_shared(&mut self, i: &Instruction, t: &TypedInstruction) -> Decoded<()> {
        let wide = t.has(Modifier::Type(Type::U64));
        let class = match wide {
            true => RegisterClass::D,
            false => RegisterClass::W(32),
        };
        let a = match self.operand(i, 1)? {
            // Names of variables and sums with offsets.
            Operand::Name(name, None) if self.register(&i.operands[1]).is_none() => {
                self.address_constant(name, 0, class)?
            }
            operand => self.source(operand, class, ScalarType::U64)?,
        };
        let maps = t.opcode == Opcode::Mapa;
        let rank = match maps {
            true => self.source(self.operand(i, 2)?, RegisterClass::W(32), ScalarType::U32)?,
            false => Slot::NONE,
        };
        let to = if maps { class } else { RegisterClass::W(32) };
        let (d, after) = self.destination(self.operand(i, 0)?, to)?;
        self.emit(Op::MapShared(MapShared {
            d,
            a,
            rank,
            wide,
            generic: t.modifiers.spaces().next().is_none(),
        }));
        after.into_iter().for_each(|op| self.emit(op));
        Ok(())
    }

    pub(super) fn alloca(&mut self, i: &Instruction, t: &TypedInstruction) -> Decoded<()> {
        let wide = t.has(Modifier::Type(Type::U64));
        let class = if wide {
            RegisterClass::D
        } else {
            RegisterClass::W(32)
        };
        let align = match i.operands.get(2) {
            Some(Operand::Int(n, _)) => *n as u32,
            _ => 8,
        };
        let size = self.source(self.operand(i, 1)?, class, ScalarType::U64)?;
        let (d, _) = self.destination(self.operand(i, 0)?, class)?;
        self.emit(Op::Alloca {
            d,
            wide,
            size,
            wide_size: wide,
            align: align.max(1),
        });
        Ok(())
    }
}

/// The simulator's name for a space; `None` for those that it does not have.
fn address_space(space: Space) -> Option<AddressSpace> {
    Some(match space {
        Space::Generic => AddressSpace::Generic,
        Space::Global => AddressSpace::Global,
        Space::Shared | Space::SharedCluster => AddressSpace::Shared,
        Space::Local => AddressSpace::Local,
        Space::Const => AddressSpace::Const,
        Space::Param => AddressSpace::Param,
        Space::Texture | Space::Tensor => return None,
    })
}

/// What is added to an address of a space to make it generic.
pub(crate) fn window(space: AddressSpace) -> u64 {
    match space {
        AddressSpace::Shared => SHARED_BASE,
        AddressSpace::Local => LOCAL_BASE,
        AddressSpace::Param => PARAM_BASE,
        // Addresses of global and constant variables are generic addresses already.
        AddressSpace::Global | AddressSpace::Const | AddressSpace::Generic => 0,
    }
}

/// The kind of the update, where it commutes exactly with others of its kind; bounds are filled in later.
pub(super) fn update(operation: AtomicOperation, ty: ScalarType) -> Update {
    use AtomicOperation::*;
    use ScalarType::*;
    match (operation, ty) {
        (Add, U32 | S32 | B32 | U64 | S64 | B64) => Update::Add,
        (And, B32 | U32 | S32 | B64 | U64 | S64) => Update::And,
        (Or, B32 | U32 | S32 | B64 | U64 | S64) => Update::Or,
        (Xor, B32 | U32 | S32 | B64 | U64 | S64) => Update::Xor,
        (Min, U32 | U64) => Update::Min(false),
        (Min, S32 | S64) => Update::Min(true),
        (Max, U32 | U64) => Update::Max(false),
        (Max, S32 | S64) => Update::Max(true),
        (Inc, U32) => Update::Inc(0),
        (Dec, U32) => Update::Dec(0),
        _ => Update::Ordered,
    }
}

/// New value from old value and operand (PTX ISA, "atom").
pub(super) fn atom_function(operation: AtomicOperation, ty: ScalarType) -> Option<AtomFn> {
    use AtomicOperation::*;
    use ScalarType::*;
    let half = matches!(ty, F16 | F16x2 | Bf16 | Bf16x2);
    if half && matches!(operation, Add | Min | Max) {
        return half_function(operation, ty);
    }
    Some(match (operation, ty) {
        (Exch, B32 | U32 | S32 | F32 | B64 | U64 | S64 | F64 | B128) => AtomFn::Exch,
        (Cas, B16 | B32 | U32 | S32 | B64 | U64 | S64 | B128) => AtomFn::Cas,
        (Add, U32 | S32 | B32) => AtomFn::W(WordUpdate::Add),
        (Add, U64 | S64 | B64) => AtomFn::D(u64::wrapping_add),
        (Add, F32) => AtomFn::W(WordUpdate::AddFloat),
        (Add, F64) => AtomFn::AddDouble,
        (Inc, U32) => AtomFn::W(WordUpdate::Inc),
        (Dec, U32) => AtomFn::W(WordUpdate::Dec),
        (Min, U32) => AtomFn::W(WordUpdate::Min),
        (Max, U32) => AtomFn::W(WordUpdate::Max),
        (Min, S32) => AtomFn::W(WordUpdate::MinSigned),
        (Max, S32) => AtomFn::W(WordUpdate::MaxSigned),
        (Min, U64) => AtomFn::D(u64::min),
        (Max, U64) => AtomFn::D(u64::max),
        (Min, S64) => AtomFn::D(|a, b| (a as i64).min(b as i64) as u64),
        (Max, S64) => AtomFn::D(|a, b| (a as i64).max(b as i64) as u64),
        (And, B32 | U32 | S32) => AtomFn::W(WordUpdate::And),
        (Or, B32 | U32 | S32) => AtomFn::W(WordUpdate::Or),
        (Xor, B32 | U32 | S32) => AtomFn::W(WordUpdate::Xor),
        (And, B64 | U64 | S64) => AtomFn::D(|a, b| a & b),
        (Or, B64 | U64 | S64) => AtomFn::D(|a, b| a | b),
        (Xor, B64 | U64 | S64) => AtomFn::D(|a, b| a ^ b),
        _ => return None,
    })
}

/// The same for numbers of 16 bits, by the row functions of `add.rn`, `min` and `max`.
fn half_function(operation: AtomicOperation, ty: ScalarType) -> Option<AtomFn> {
    let (opcode, rounding) = match operation {
        AtomicOperation::Add => (Opcode::Add, Some(Modifier::Rn)),
        AtomicOperation::Min => (Opcode::Min, None),
        _ => (Opcode::Max, None),
    };
    let ty = match ty {
        ScalarType::F16 => Type::F16,
        ScalarType::F16x2 => Type::F16x2,
        ScalarType::Bf16 => Type::Bf16,
        _ => Type::Bf16x2,
    };
    let modifiers: Vec<Modifier> = rounding.into_iter().chain([Modifier::Type(ty)]).collect();
    match alu::lookup(&opcode, &modifiers, 3) {
        Some(AluOp::WW_W(f)) => Some(AtomFn::Row(f)),
        _ => None,
    }
}
