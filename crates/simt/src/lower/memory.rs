//! Memory instructions: `ld`, `st`, `atom`, `red`, `cvta`, `isspacep`, `alloca`
//! (PTX ISA, "Data Movement and Conversion Instructions" and "Parallel
//! Synchronization and Communication Instructions").

use super::Lowering;
use super::operand::{Decoded, literal_type};
use super::scope::{Binding, bytes_of};
use super::symbols::DYNAMIC_SHARED;
use crate::alu::{self, AluOp};
use crate::memory::{LOCAL_BASE, PARAM_BASE, SHARED_BASE};
use crate::observer::{Order, Scope, Update};
use crate::op::*;
use ptx::ast::{Address, Instruction, Operand, ScalarType};

/// What the modifiers of a memory instruction say.
struct Semantics {
    order: Option<Order>,
    scope: Option<Scope>,
    space: AddressSpace,
    count: u8,
    /// `.nc`
    non_coherent: bool,
}

fn semantics(i: &Instruction) -> Decoded<Semantics> {
    let mut s = Semantics {
        order: None,
        scope: None,
        space: AddressSpace::Generic,
        count: 1,
        non_coherent: i.opcode == "ldu",
    };
    for m in &i.modifiers {
        match m.as_str() {
            "weak" => s.order = Some(Order::Weak),
            "volatile" => s.order = Some(Order::Volatile),
            "relaxed" | "mmio" => s.order = s.order.or(Some(Order::Relaxed)),
            "acquire" => s.order = Some(Order::Acquire),
            "release" => s.order = Some(Order::Release),
            "acq_rel" => s.order = Some(Order::AcqRel),
            "cta" => s.scope = Some(Scope::Cta),
            "cluster" => s.scope = Some(Scope::Cluster),
            "gpu" => s.scope = Some(Scope::Gpu),
            "sys" => s.scope = Some(Scope::Sys),
            "global" => s.space = AddressSpace::Global,
            "shared" | "shared::cta" => s.space = AddressSpace::Shared,
            "local" => s.space = AddressSpace::Local,
            "const" => s.space = AddressSpace::Const,
            "param" | "param::entry" | "param::func" => s.space = AddressSpace::Param,
            "nc" => s.non_coherent = true,
            "v2" => s.count = 2,
            "v4" => s.count = 4,
            "v8" => s.count = 8,
            "shared::cluster" | "async" => {
                return Err(String::from(
                    "distributed shared memory and asynchronous operations",
                ));
            }
            _ => {}
        }
    }
    Ok(s)
}

/// Moves a direct address in dynamic shared memory to its place.
pub(super) fn move_dynamic_shared(offset: &mut i64, base: Base, start: u32) {
    let dynamic = i64::from(DYNAMIC_SHARED);
    if base == Base::Zero && *offset >= dynamic / 2 && *offset < 2 * dynamic {
        *offset += i64::from(start) - dynamic;
    }
}

/// A decoded address.
struct Place {
    space: AddressSpace,
    base: Base,
    offset: i64,
    /// A call's parameters: nobody else can see them.
    private: bool,
}

impl Lowering<'_> {
    fn address(&mut self, operand: &Operand, space: AddressSpace) -> Decoded<Place> {
        let Operand::Address(Address { base, offset, rest }) = operand else {
            return Err(String::from("an address that is not in brackets"));
        };
        if !rest.is_empty() {
            return Err(String::from("an address of several coordinates"));
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
                _ => return Err(String::from("an address register of this type")),
            };
            return Ok(at(space, base, *offset));
        }
        match &**base {
            Operand::Int(value, _) => {
                Ok(at(space, Base::Zero, (*value as i64).wrapping_add(*offset)))
            }
            Operand::Offset(name, more) => self.variable(name, offset + more, space),
            Operand::Name(name, None) => self.variable(name, *offset, space),
            _ => Err(String::from("an address of this form")),
        }
    }

    fn variable(&mut self, name: &str, offset: i64, space: AddressSpace) -> Decoded<Place> {
        let binding = self
            .binding(name)
            .ok_or_else(|| format!("`{name}`, which is not declared"))?;
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
                Err(String::from("an address of this form"))
            }
        }
    }

    pub(super) fn load_store(&mut self, i: &Instruction) -> Decoded<()> {
        let s = semantics(i)?;
        let store = i.opcode == "st";
        let ty = literal_type(&i.modifiers);
        let element = bytes_of(ty);
        let (value, address) = if store { (1, 0) } else { (0, 1) };
        let place = self.address(self.operand(i, address)?, s.space)?;
        let values: Vec<Operand> = match self.operand(i, value)? {
            Operand::Vector(parts) => parts.clone(),
            one => vec![one.clone()],
        };
        if values.len() != usize::from(s.count) {
            return Err(String::from("a vector of another length"));
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
                Some(_) => return Err(String::from("a vector of registers of different types")),
                None if matches!(v, Operand::Name(n, None) if n == "_") && !store => Slot::NONE,
                None if store => self.source(v, class, ty)?,
                None => return Err(String::from("a destination that is not a register")),
            };
        }
        let default = if s.scope.is_some() {
            Order::Relaxed
        } else {
            Order::Weak
        };
        let order = s.order.unwrap_or(default);
        let scope = if order == Order::Volatile {
            Scope::Sys
        } else {
            s.scope.unwrap_or(Scope::Sys)
        };
        let signed = matches!(ty, ScalarType::S8 | ScalarType::S16 | ScalarType::S32);
        self.program.memory_ops.push(MemoryOp {
            store,
            space: place.space,
            base: place.base,
            offset: place.offset,
            element: element as u8,
            count: s.count,
            signed,
            regs,
            class,
            order,
            scope,
            non_coherent: s.non_coherent,
            private: place.private,
            copies: false,
            used_if: Slot::TRUE,
        });
        self.emit(Op::Memory(self.program.memory_ops.len() as u32 - 1));
        Ok(())
    }

    pub(super) fn atomic(&mut self, i: &Instruction) -> Decoded<()> {
        let s = semantics(i)?;
        let reduction = i.opcode == "red";
        let first = usize::from(!reduction);
        let ty = literal_type(&i.modifiers);
        let name = i
            .modifiers
            .iter()
            .find(|m| ATOMICS.contains(&m.as_str()))
            .ok_or("an atomic operation of this name")?;
        let f = atom_function(name, ty).ok_or("an atomic operation of this type")?;
        let place = self.address(self.operand(i, first)?, s.space)?;
        let class = match ty {
            ScalarType::B128 => RegisterClass::Q,
            _ => self.type_class(ty)?,
        };
        let rows = |l: &mut Self, operand: &Operand, destination: bool| -> Decoded<[Slot; 8]> {
            let parts: Vec<Operand> = match operand {
                Operand::Vector(parts) => parts.clone(),
                one => vec![one.clone()],
            };
            let mut slots = [Slot::NONE; 8];
            if parts.len() != usize::from(s.count) {
                return Err(String::from("a vector of another length"));
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
            order: s.order.unwrap_or(Order::Relaxed),
            scope: s.scope.unwrap_or(Scope::Gpu),
            reduction,
            used: !reduction,
            update: update(name, ty),
            flush: ty == ScalarType::F32,
        });
        self.emit(Op::Atomic(self.program.atomic_ops.len() as u32 - 1));
        Ok(())
    }

    pub(super) fn cvta(&mut self, i: &Instruction) -> Decoded<()> {
        let to = i.has("to");
        let wide = i.has("u64");
        if !wide {
            return Err(String::from("generic addresses of 32 bits"));
        }
        let space = i
            .modifiers
            .iter()
            .find_map(|m| address_space(m))
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

    pub(super) fn is_space(&mut self, i: &Instruction) -> Decoded<()> {
        let space = i
            .modifiers
            .iter()
            .find_map(|m| address_space(m))
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
        self.emit(Op::IsSpace { p, a, wide, space });
        Ok(())
    }

    pub(super) fn alloca(&mut self, i: &Instruction) -> Decoded<()> {
        let wide = i.has("u64");
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

fn address_space(modifier: &str) -> Option<AddressSpace> {
    Some(match modifier {
        "global" => AddressSpace::Global,
        "shared" | "shared::cta" | "shared::cluster" => AddressSpace::Shared,
        "local" => AddressSpace::Local,
        "const" => AddressSpace::Const,
        "param" | "param::entry" => AddressSpace::Param,
        _ => return None,
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

const ATOMICS: &[&str] = &[
    "add", "min", "max", "inc", "dec", "and", "or", "xor", "exch", "cas",
];

/// The kind of the update, where it commutes exactly with others of its kind; bounds are filled in later.
fn update(name: &str, ty: ScalarType) -> Update {
    use ScalarType::*;
    match (name, ty) {
        ("add", U32 | S32 | B32 | U64 | S64 | B64) => Update::Add,
        ("and", B32 | U32 | S32 | B64 | U64 | S64) => Update::And,
        ("or", B32 | U32 | S32 | B64 | U64 | S64) => Update::Or,
        ("xor", B32 | U32 | S32 | B64 | U64 | S64) => Update::Xor,
        ("min", U32 | U64) => Update::Min(false),
        ("min", S32 | S64) => Update::Min(true),
        ("max", U32 | U64) => Update::Max(false),
        ("max", S32 | S64) => Update::Max(true),
        ("inc", U32) => Update::Inc(0),
        ("dec", U32) => Update::Dec(0),
        _ => Update::Ordered,
    }
}

/// New value from old value and operand (PTX ISA, "atom").
fn atom_function(name: &str, ty: ScalarType) -> Option<AtomFn> {
    use ScalarType::*;
    let row = |modifiers: &[&str]| match alu::lookup(name, modifiers, 3) {
        Some(AluOp::WW_W(f)) => Some(AtomFn::Row(f)),
        _ => None,
    };
    Some(match (name, ty) {
        ("exch", B32 | U32 | S32 | F32 | B64 | U64 | S64 | F64 | B128) => AtomFn::Exch,
        ("cas", B16 | B32 | U32 | S32 | B64 | U64 | S64 | B128) => AtomFn::Cas,
        ("add", U32 | S32 | B32) => AtomFn::W(u32::wrapping_add),
        ("add", U64 | S64 | B64) => AtomFn::D(u64::wrapping_add),
        ("add", F32) => AtomFn::W(|a, b| {
            let sum = f32::from_bits(a) + f32::from_bits(b);
            if sum.is_nan() {
                0x7fff_ffff
            } else {
                sum.to_bits()
            }
        }),
        ("add", F64) => AtomFn::AddDouble,
        ("add", F16) => row(&["rn", "f16"])?,
        ("add", F16x2) => row(&["rn", "f16x2"])?,
        ("add", Bf16) => row(&["rn", "bf16"])?,
        ("add", Bf16x2) => row(&["rn", "bf16x2"])?,
        ("min" | "max", F16 | F16x2 | Bf16 | Bf16x2) => match ty {
            F16 => row(&["f16"])?,
            F16x2 => row(&["f16x2"])?,
            Bf16 => row(&["bf16"])?,
            _ => row(&["bf16x2"])?,
        },
        ("inc", U32) => AtomFn::W(|a, b| if a >= b { 0 } else { a + 1 }),
        ("dec", U32) => AtomFn::W(|a, b| if a == 0 || a > b { b } else { a - 1 }),
        ("min", U32) => AtomFn::W(u32::min),
        ("max", U32) => AtomFn::W(u32::max),
        ("min", S32) => AtomFn::W(|a, b| (a as i32).min(b as i32) as u32),
        ("max", S32) => AtomFn::W(|a, b| (a as i32).max(b as i32) as u32),
        ("min", U64) => AtomFn::D(u64::min),
        ("max", U64) => AtomFn::D(u64::max),
        ("min", S64) => AtomFn::D(|a, b| (a as i64).min(b as i64) as u64),
        ("max", S64) => AtomFn::D(|a, b| (a as i64).max(b as i64) as u64),
        ("and", B32 | U32 | S32) => AtomFn::W(|a, b| a & b),
        ("or", B32 | U32 | S32) => AtomFn::W(|a, b| a | b),
        ("xor", B32 | U32 | S32) => AtomFn::W(|a, b| a ^ b),
        ("and", B64 | U64 | S64) => AtomFn::D(|a, b| a & b),
        ("or", B64 | U64 | S64) => AtomFn::D(|a, b| a | b),
        ("xor", B64 | U64 | S64) => AtomFn::D(|a, b| a ^ b),
        _ => return None,
    })
}
