//! What a kernel does with its parameters, read from its PTX: which are addresses, of elements of which type, which of them
//! atomics or polling loads touch, and which fields a struct has.
//!
//! An abstract interpretation to a fixed point, without regard to control flow: a register holds (parts of) parameters, or values
//! loaded through them. What a register newly holds is followed to the instructions that read it, so that the work grows with their number. It serves guesses alone, never a verdict. It sees the kernel, not the functions that it calls.

use super::fixed_point::fixed_point;
use ptx::ast::{Function, Instruction, Operand, Stmt};
use ptx::semantics::{
    Effect, MemoryEffect, Modifier, Opcode, Order, Space, Type, TypedInstruction,
};
use session::buffer::ElementType;
use std::collections::{BTreeMap, HashMap, HashSet};

/// A part of a parameter: its index, and the byte at which the part begins.
pub(super) type Part = (usize, u32);

/// What a register may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Held {
    /// A part of a parameter, or an address computed from it.
    Part(Part),
    /// What lies where that part points.
    Loaded(Part),
}

/// How a part of a parameter is used.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Use {
    /// Bytes that the kernel reads at once; 0 where it does not read the part by itself.
    pub bytes: u32,
    /// Its type is a floating-point one.
    pub float: bool,
    /// It is an address, or passed to a function.
    pub address: bool,
    /// Type of what it points at, as far as accesses tell.
    pub element: Option<ElementType>,
    /// What it points at is changed by atomics, or read by loads that wait for others (volatile, acquire, relaxed).
    pub communicates: bool,
    /// It points at addresses: of elements of this type.
    pub points_at: Option<ElementType>,
    /// What it points at says where rows begin, one behind the other.
    pub rows: bool,
}

/// How a kernel uses its parameters, part by part.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    parts: BTreeMap<Part, Use>,
}

impl Usage {
    /// Reads a kernel.
    pub fn of(function: &Function) -> Usage {
        let mut instructions = Vec::new();
        collect(
            function.body.as_deref().unwrap_or_default(),
            &mut instructions,
        );
        let params: HashMap<&str, usize> = function
            .params
            .iter()
            .enumerate()
            .map(|(index, p)| (p.name.as_str(), index))
            .collect();
        let mut reader = Reader {
            params,
            held: HashMap::new(),
            changed: Vec::new(),
            usage: Usage::default(),
        };
        let typed: Vec<_> = instructions
            .iter()
            .map(|one| TypedInstruction::of(one))
            .collect();
        let reads: Vec<Vec<&str>> = instructions
            .iter()
            .map(|one| read_by(one).collect())
            .collect();
        // Each register holds a few things.
        fixed_point(&reads, |k| {
            reader.step(instructions[k], &typed[k]);
            std::mem::take(&mut reader.changed)
        });
        for (one, typed) in instructions.iter().zip(&typed) {
            reader.types(one, typed);
        }
        reader.usage
    }

    /// The use of a parameter as a whole.
    pub fn parameter(&self, index: usize) -> Use {
        self.parts.get(&(index, 0)).cloned().unwrap_or_default()
    }

    /// The parts of a parameter that the kernel reads, by the byte at which they begin.
    pub fn fields(&self, index: usize) -> impl Iterator<Item = (u32, &Use)> {
        self.parts
            .range((index, 0)..(index + 1, 0))
            .filter(|(_, u)| u.bytes > 0)
            .map(|((_, at), u)| (*at, u))
    }
}

struct Reader<'a> {
    params: HashMap<&'a str, usize>,
    held: HashMap<&'a str, HashSet<Held>>,
    /// Registers that hold more since somebody looked.
    changed: Vec<&'a str>,
    usage: Usage,
}

impl<'a> Reader<'a> {
    fn part(&mut self, part: Part) -> &mut Use {
        self.usage.parts.entry(part).or_default()
    }

    fn holds(&self, register: &str) -> Vec<Held> {
        let all = self.held.get(register);
        all.into_iter().flatten().copied().collect()
    }

    fn give(&mut self, to: &'a str, what: impl IntoIterator<Item = Held>) {
        // Registers that hold very much tell nothing.
        const MOST: usize = 64;
        let held = self.held.entry(to).or_default();
        let before = held.len();
        for one in what {
            if held.len() < MOST {
                held.insert(one);
            }
        }
        if held.len() > before {
            self.changed.push(to);
        }
    }

    /// Follows parameters through one instruction.
    fn step(&mut self, one: &'a Instruction, typed: &TypedInstruction) {
        match (&typed.opcode, &typed.memory) {
            (Opcode::Ld, Some(memory)) if memory.space == Space::Param => {
                self.parameter(one, memory)
            }
            (
                Opcode::Mov
                | Opcode::Cvta
                | Opcode::Add
                | Opcode::Sub
                | Opcode::Mad
                | Opcode::Selp
                | Opcode::Or,
                _,
            ) => {
                let sources = self.sources(one);
                if typed.opcode == Opcode::Cvta {
                    self.addresses(&sources);
                }
                for to in one.operands.first().into_iter().flat_map(lanes) {
                    self.give(to, sources.iter().copied());
                }
            }
            (Opcode::Ld | Opcode::Ldu | Opcode::St | Opcode::Atom | Opcode::Red, Some(memory)) => {
                self.access(one, memory);
            }
            _ => {}
        }
    }

    /// What the operands behind the first one hold.
    fn sources(&self, one: &'a Instruction) -> Vec<Held> {
        let sources = one.operands.iter().skip(1).flat_map(lanes);
        sources.flat_map(|r| self.holds(r)).collect()
    }

    fn parameter(&mut self, one: &'a Instruction, memory: &MemoryEffect) {
        let Some((base, offset)) = one.operands.get(1).and_then(address) else {
            return;
        };
        let Some(&index) = self.params.get(base) else {
            return;
        };
        let width = memory.element.and_then(Type::bytes).unwrap_or(4);
        for (lane, register) in one.operands.first().into_iter().flat_map(lanes).enumerate() {
            let at = offset + lane as i64 * i64::from(width);
            let Ok(at) = u32::try_from(at) else { continue };
            let part = self.part((index, at));
            part.bytes = part.bytes.max(width);
            part.float |= matches!(memory.element, Some(Type::F32 | Type::F64));
            self.give(register, [Held::Part((index, at))]);
        }
    }

    fn access(&mut self, one: &'a Instruction, memory: &MemoryEffect) {
        let bases = one.operands.iter().filter_map(address);
        let bases: Vec<Held> = bases.flat_map(|(base, _)| self.holds(base)).collect();
        self.addresses(&bases);
        let communicates = match memory.effect {
            Effect::Load => memory.order != Order::Weak,
            Effect::Store => false,
            _ => true,
        };
        for held in &bases {
            if let Held::Part(part) = held {
                self.part(*part).communicates |= communicates;
            }
        }
        if memory.effect == Effect::Load {
            let loaded = |held: &Held| match held {
                Held::Part(part) => Some(Held::Loaded(*part)),
                Held::Loaded(_) => None,
            };
            let loaded: Vec<Held> = bases.iter().filter_map(loaded).collect();
            for to in one.operands.first().into_iter().flat_map(lanes) {
                self.give(to, loaded.iter().copied());
            }
        }
        if memory.effect == Effect::Store && memory.space == Space::Param {
            for held in self.sources(one) {
                if let Held::Part(part) = held {
                    self.part(part).address = true;
                }
            }
        }
    }

    fn addresses(&mut self, held: &[Held]) {
        for one in held {
            match one {
                Held::Part(part) => self.part(*part).address = true,
                Held::Loaded(part) => {
                    let part = self.part(*part);
                    part.points_at.get_or_insert(ElementType::I32);
                }
            }
        }
    }

    /// Learns the types of elements from one instruction, when it is known what registers hold.
    fn types(&mut self, one: &'a Instruction, typed: &TypedInstruction) {
        let accesses = matches!(
            typed.opcode,
            Opcode::Ld | Opcode::Ldu | Opcode::St | Opcode::Atom | Opcode::Red
        );
        if let Some(memory) = typed
            .memory
            .as_ref()
            .filter(|m| accesses && m.space != Space::Param)
        {
            let Some(mut element) = memory.element.and_then(accessed) else {
                return;
            };
            let bases: Vec<Held> = one
                .operands
                .iter()
                .filter_map(address)
                .flat_map(|(base, _)| self.holds(base))
                .collect();
            for held in bases {
                match held {
                    Held::Part(part) => {
                        let known = &mut self.part(part).element;
                        if let Some(before) = known
                            && (before.is_float() || before.bytes() > element.bytes())
                        {
                            element = *before;
                        }
                        *known = Some(element);
                    }
                    Held::Loaded(part) => self.part(part).points_at = Some(element),
                }
            }
            return;
        }
        // A value that is loaded as bits and then used as a number of a type.
        let has = |ty| typed.has(Modifier::Type(ty));
        let (float, ty) = match () {
            () if has(Type::F32) => (ElementType::F32, Type::F32),
            () if has(Type::F64) => (ElementType::F64, Type::F64),
            () => return,
        };
        if typed.opcode == Opcode::Cvt && typed.modifiers.types().last() != Some(ty) {
            return;
        }
        for held in self.sources(one) {
            match held {
                Held::Part(part) => self.part(part).float = true,
                Held::Loaded(part) => {
                    let known = &mut self.part(part).element;
                    if known.is_none_or(|k| k.bytes() == float.bytes()) {
                        *known = Some(float);
                    }
                }
            }
        }
    }
}

pub(super) fn collect<'a>(body: &'a [Stmt], out: &mut Vec<&'a Instruction>) {
    for stmt in body {
        match stmt {
            Stmt::Instruction(i) => out.push(i),
            Stmt::Block(inner) => collect(inner, out),
            _ => {}
        }
    }
}

/// The registers that an instruction reads: all but what stands first, unless that is an address.
pub(super) fn read_by(one: &Instruction) -> impl Iterator<Item = &str> {
    let values = one.operands.iter().skip(1).flat_map(lanes);
    let bases = one.operands.iter().filter_map(address);
    values.chain(bases.map(|(base, _)| base))
}

/// The registers of an operand that is one, or a vector of them.
pub(super) fn lanes(operand: &Operand) -> Vec<&str> {
    match operand {
        Operand::Name(name, _) => vec![name.as_str()],
        Operand::Vector(all) => all.iter().flat_map(lanes).collect(),
        _ => Vec::new(),
    }
}

/// Base and offset of an address.
pub(super) fn address(operand: &Operand) -> Option<(&str, i64)> {
    let Operand::Address(address) = operand else {
        return None;
    };
    match address.base.as_ref() {
        Operand::Name(name, _) => Some((name, address.offset)),
        Operand::Offset(name, more) => Some((name, address.offset + more)),
        _ => None,
    }
}

/// Bytes of an instruction's type, as its last modifier says.
/// Type of what an access touches.
fn accessed(ty: Type) -> Option<ElementType> {
    use ElementType::*;
    Some(match ty {
        Type::S8 => I8,
        Type::U8 | Type::B8 => U8,
        Type::S16 => I16,
        Type::U16 | Type::B16 | Type::F16 | Type::Bf16 => U16,
        Type::S64 => I64,
        Type::U64 | Type::B64 => U64,
        Type::U32 | Type::B32 | Type::S32 => I32,
        Type::F32 => F32,
        Type::F64 => F64,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use ptx::ast::Item;

    fn usage(params: &str, body: &str) -> Usage {
        let text = format!(
            ".version 8.0\n.target sm_75\n.address_size 64\n.visible .entry k({params})\n{{\n{body}\nret;\n}}\n"
        );
        let module = ptx::parse(&text).unwrap();
        let function = module.items.iter().find_map(|item| match item {
            Item::Function(f) => Some(f),
            _ => None,
        });
        Usage::of(function.unwrap())
    }

    #[test]
    fn types_follow_from_what_values_are_used_for() {
        let usage = usage(
            ".param .u64 a, .param .u64 b, .param .u64 c, .param .f32 x",
            "ld.param.u64 %rd1, [a]; cvta.to.global.u64 %rd2, %rd1; add.s64 %rd3, %rd2, %rd9;
             ld.global.b32 %r1, [%rd3]; add.rn.f32 %r2, %r1, %r1;
             ld.param.u64 %rd4, [b]; ld.global.u8 %r3, [%rd4+1];
             ld.param.u64 %rd5, [c]; atom.global.add.u32 %r4, [%rd5], 1;
             ld.param.f32 %f1, [x];",
        );
        assert_eq!(usage.parameter(0).element, Some(ElementType::F32));
        assert_eq!(usage.parameter(1).element, Some(ElementType::U8));
        assert!(usage.parameter(2).communicates && !usage.parameter(0).communicates);
        assert!((0..3).all(|p| usage.parameter(p).address));
        assert!(usage.parameter(3).float && !usage.parameter(3).address);
    }

    #[test]
    fn structs_have_fields() {
        let usage = usage(
            ".param .align 8 .b8 p[24]",
            "ld.param.v2.u32 {%r1, %r2}, [p+8]; ld.param.u64 %rd1, [p]; st.global.f64 [%rd1], %fd1;",
        );
        let fields: Vec<(u32, u32, bool)> = usage
            .fields(0)
            .map(|(at, u)| (at, u.bytes, u.address))
            .collect();
        assert_eq!(fields, [(0, 8, true), (8, 4, false), (12, 4, false)]);
        assert_eq!(usage.parameter(0).element, Some(ElementType::F64));
    }

    #[test]
    fn pointers_may_lead_to_pointers() {
        let usage = usage(
            ".param .u64 rows",
            "ld.param.u64 %rd1, [rows]; ld.global.u64 %rd2, [%rd1+8]; ld.global.f32 %f1, [%rd2];",
        );
        assert_eq!(usage.parameter(0).points_at, Some(ElementType::F32));
    }
}
