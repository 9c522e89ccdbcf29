//! Which parameters of a kernel an address may come from: a points-to analysis without control flow (Andersen, "Program Analysis and Specialization
//! for the C Programming Language", 1994), over the registers of one function.
//!
//! What no store of a kernel can reach, no thread of a launch writes, and reads of it race with nothing in the launch. The host knows the buffers that
//! the parameters point to, and hands those to the launch that only reads come from ([`ReadOnly`]).
//!
//! An address is taken to lie in the buffer that its pointer points to: a store beyond it is another defect (`out-of-bounds`). A pointer is taken to
//! pass through moves, sums, choices and bitwise operations; products and shifts make offsets.

use crate::layout;
use crate::parameters::{bytes_of, places};
use ptx::ast::*;
use ptx::semantics::{Opcode, Space, System, TypedInstruction};
use std::collections::{HashMap, HashSet};

/// A set of parameters, a bit each; [`OWN`] and [`UNKNOWN`].
type Origins = u64;
/// A variable of the module or of the function.
const OWN: Origins = 1 << 62;
/// Anything: it was loaded, or came from a call.
const UNKNOWN: Origins = 1 << 63;
/// The most parameters that are told apart.
const PARAMETERS: usize = 62;
/// How often a body is gone through until nothing changes.
const PASSES: u32 = 32;
/// The most groups of a kernel: they are handed to each launch.
const GROUPS: usize = 16;
/// Bytes that parameters of a kernel may have in all PTX versions (PTX ISA, "Kernel Function Parameters"), less their padding.
const PARAMETER_BYTES: u32 = 4096 - 16;

/// 64 bits of a kernel's parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pointer {
    /// The parameter's number.
    pub parameter: usize,
    /// Bytes from its beginning.
    pub within: u32,
}

/// What the host has to know, to find buffers that a launch only reads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReadOnly {
    /// Parameters that addresses come from, by bit.
    pub pointers: Vec<Pointer>,
    /// Those that stores may go through.
    pub stored: u64,
    /// For each group of loads, those that they may go through.
    pub groups: Vec<u64>,
}

impl ReadOnly {
    /// For each group of loads the buffer, by its address and bytes, that all of them are from and that no store of the launch goes to; else `(0, 0)`.
    /// `value`: what the program passes; `buffer`: what is allocated at an address.
    pub fn buffers(
        &self,
        value: impl Fn(Pointer) -> Option<u64>,
        buffer: impl Fn(u64) -> Option<(u64, u64)>,
    ) -> Vec<(u64, u64)> {
        let at = |pointer: &Pointer| value(*pointer).and_then(&buffer);
        let all: Vec<_> = self.pointers.iter().map(at).collect();
        let of = |mask: u64| {
            let numbered = all.iter().enumerate();
            numbered.filter_map(move |(bit, known)| known.filter(|_| mask >> bit & 1 != 0))
        };
        let stored: HashSet<_> = of(self.stored).collect();
        let one = |group: &u64| {
            let mut buffers = of(*group);
            let first = buffers.next()?;
            let same = buffers.all(|other| other == first);
            // Whole vectors at their own alignment, so that their first byte decides.
            (same && !stored.contains(&first)).then_some((first.0, first.1 & !15))
        };
        let groups = self.groups.iter();
        groups.map(|group| one(group).unwrap_or_default()).collect()
    }
}

/// Numbers and bytes of parameters, by name.
type Parameters<'a> = HashMap<&'a str, (usize, u32)>;

/// What registers of 64 bits of a kernel may point to.
pub struct PointsTo {
    registers: HashMap<String, Origins>,
    wide: HashSet<String>,
    narrow: HashSet<String>,
    /// Where the parameters begin that are pointers.
    found: Vec<Pointer>,
    /// What stores may go through.
    stored: Origins,
    /// What loads go through that were asked for, and how many there may be.
    groups: Vec<u64>,
    room: usize,
}

impl PointsTo {
    /// Of a kernel; `None`: its stores may go anywhere.
    pub fn of(kernel: &Function) -> Option<PointsTo> {
        let body = kernel.body.as_deref()?;
        let own_bytes = places(&kernel.params).1 + layout::LAUNCH_BYTES;
        let mut out = PointsTo {
            registers: HashMap::new(),
            wide: HashSet::new(),
            narrow: HashSet::new(),
            found: Vec::new(),
            stored: 0,
            groups: Vec::new(),
            room: GROUPS
                .min((PARAMETER_BYTES.saturating_sub(own_bytes) / layout::BUFFER_BYTES) as usize),
        };
        out.declare(body);
        let mut list = Vec::new();
        crate::walk::each(body, &mut |i| {
            list.push((i.clone(), TypedInstruction::of(i)))
        });
        let numbered = kernel.params.iter().zip(0..);
        let parameters: Parameters = numbered
            .map(|(p, number)| (p.name.as_str(), (number, bytes_of(p))))
            .collect();
        let mut changed = true;
        for _ in 0..PASSES {
            changed = false;
            for (instruction, typed) in &list {
                changed |= out.follow(instruction, typed, &parameters)?;
            }
            if !changed {
                break;
            }
        }
        for (instruction, typed) in &list {
            out.stored |= out.store(instruction, typed);
        }
        (!changed && out.stored & UNKNOWN == 0).then_some(out)
    }

    /// The group of loads through this address.
    pub fn group(&mut self, address: &Operand) -> Option<usize> {
        let Operand::Name(register, None) = address else {
            return None;
        };
        let mask = self.registers.get(register).copied().unwrap_or(0);
        if mask == 0 || mask & (OWN | UNKNOWN) != 0 || mask & self.stored == mask {
            return None;
        }
        let known = self.groups.iter().position(|group| *group == mask);
        known.or_else(|| {
            (self.groups.len() < self.room).then(|| {
                self.groups.push(mask);
                self.groups.len() - 1
            })
        })
    }

    /// What the host has to know.
    pub fn read_only(self) -> ReadOnly {
        match self.groups.is_empty() {
            true => ReadOnly::default(),
            false => ReadOnly {
                pointers: self.found,
                stored: self.stored & !OWN,
                groups: self.groups,
            },
        }
    }

    fn declare(&mut self, body: &[Stmt]) {
        for statement in body {
            match statement {
                Stmt::Variable(v) if v.space == StateSpace::Reg => {
                    let names = match v.count {
                        Some(count) => (0..count).map(|n| format!("{}{n}", v.name)).collect(),
                        None => vec![v.name.clone()],
                    };
                    use ScalarType::*;
                    match v.ty {
                        B64 | U64 | S64 | F64 | B128 => self.wide.extend(names),
                        _ => self.narrow.extend(names),
                    }
                }
                Stmt::Block(inner) => self.declare(inner),
                _ => {}
            }
        }
    }

    /// What an operand that is read may point to.
    fn value(&self, operand: &Operand) -> Origins {
        match operand {
            Operand::Name(name, _)
                if self.narrow.contains(name)
                    || name.starts_with('%') && !self.wide.contains(name) =>
            {
                0
            }
            Operand::Name(name, _) if self.wide.contains(name) => {
                self.registers.get(name).copied().unwrap_or(0)
            }
            Operand::Name(..) | Operand::Offset(..) | Operand::Index(..) | Operand::Expr(_) => OWN,
            Operand::Neg(one) | Operand::Not(one) => self.value(one),
            Operand::Pair(a, b) => self.value(a) | self.value(b),
            Operand::Address(address) => self.value(&address.base),
            // A pointer may have been taken apart and put together.
            Operand::Vector(_) | Operand::List(_) => UNKNOWN,
            Operand::Int(..) | Operand::F32(_) | Operand::F64(_) | Operand::Text(_) => 0,
        }
    }

    fn add(&mut self, operand: &Operand, origins: Origins) -> bool {
        let mut changed = false;
        match operand {
            Operand::Name(name, None) if self.wide.contains(name) => {
                let known = self.registers.entry(name.clone()).or_default();
                changed = *known | origins != *known;
                *known |= origins;
            }
            Operand::Vector(all) | Operand::List(all) => {
                for one in all {
                    changed |= self.add(one, origins);
                }
            }
            Operand::Pair(a, b) => changed = self.add(a, origins) | self.add(b, origins),
            _ => {}
        }
        changed
    }

    /// What an instruction's results may point to: whether that is new. `None`: it calls what is not known here.
    fn follow(
        &mut self,
        instruction: &Instruction,
        typed: &TypedInstruction,
        parameters: &Parameters,
    ) -> Option<bool> {
        if instruction.opcode == "call" {
            return is_harmless(instruction).then_some(false);
        }
        let count = typed.destinations().min(instruction.operands.len());
        let (to, from) = instruction.operands.split_at(count);
        if let Some(memory) = &typed.memory {
            if !memory.effect.reads() {
                return Some(false);
            }
            let mut changed = false;
            for operand in to {
                changed |= match (memory.space, from.first()) {
                    (Space::Param, Some(Operand::Address(at))) => self.parameter(
                        operand,
                        at,
                        memory.element.and_then(|e| e.bytes()),
                        parameters,
                    ),
                    _ => self.add(operand, UNKNOWN),
                };
            }
            return Some(changed);
        }
        let all = from.iter().map(|o| self.value(o));
        let origins = match typed.opcode {
            Opcode::Mul | Opcode::Shl | Opcode::Shr | Opcode::Div | Opcode::Rem => {
                all.fold(0, |a, b| a | b) & !UNKNOWN
            }
            Opcode::Mad => {
                let mut values: Vec<_> = all.collect();
                let sum = values.pop().unwrap_or(0);
                values.iter().fold(0, |a, b| a | b) & !UNKNOWN | sum
            }
            _ => all.fold(0, |a, b| a | b),
        };
        let mut changed = false;
        for operand in to {
            changed |= self.add(operand, origins);
        }
        Some(changed)
    }

    /// A load of a kernel's parameter.
    fn parameter(
        &mut self,
        to: &Operand,
        at: &Address,
        bytes: Option<u32>,
        parameters: &Parameters,
    ) -> bool {
        let base = match &*at.base {
            Operand::Name(name, None) => parameters.get(name.as_str()),
            _ => None,
        };
        let (Some((parameter, size)), Ok(offset), Some(bytes)) =
            (base, u32::try_from(at.offset), bytes)
        else {
            return self.add(to, UNKNOWN);
        };
        let list = match to {
            Operand::Vector(list) => list.as_slice(),
            one => std::slice::from_ref(one),
        };
        let mut changed = false;
        for (one, number) in list.iter().zip(0..) {
            // Less than 64 bits are no pointer, more are not told apart.
            if bytes < 8 {
                continue;
            }
            let within = offset.saturating_add(number * bytes);
            if bytes > 8 || within.saturating_add(8) > *size {
                changed |= self.add(one, UNKNOWN);
                continue;
            }
            let pointer = Pointer {
                parameter: *parameter,
                within,
            };
            let bit = self.found.iter().position(|known| *known == pointer);
            let origin = match bit {
                Some(bit) => 1 << bit,
                None if self.found.len() < PARAMETERS => {
                    self.found.push(pointer);
                    1 << (self.found.len() - 1)
                }
                None => UNKNOWN,
            };
            changed |= self.add(one, origin);
        }
        changed
    }

    /// Where an instruction may write what other threads see.
    fn store(&self, instruction: &Instruction, typed: &TypedInstruction) -> Origins {
        let Some(memory) = typed.memory.as_ref().filter(|m| m.effect.writes()) else {
            return 0;
        };
        if matches!(
            memory.space,
            Space::Shared | Space::SharedCluster | Space::Local | Space::Param | Space::Tensor
        ) {
            return 0;
        }
        if instruction.opcode == "multimem" {
            return UNKNOWN;
        }
        let is_address = |o: &&Operand| matches!(o, Operand::Address(_));
        match instruction.operands.iter().find(is_address) {
            Some(Operand::Address(at)) if at.rest.is_empty() => match self.value(&at.base) {
                // From nowhere.
                0 => UNKNOWN,
                origins => origins,
            },
            _ => UNKNOWN,
        }
    }
}

/// Whether a call writes to no buffer: the driver's functions.
fn is_harmless(call: &Instruction) -> bool {
    let callee = call
        .operands
        .iter()
        .find(|o| !matches!(o, Operand::List(_)));
    let Some(Operand::Name(name, None)) = callee else {
        return false;
    };
    matches!(
        System::named(name),
        Some(System::Vprintf | System::AssertFail | System::Malloc | System::Free)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Buffers of 256 bytes that begin at 0x1000, 0x2000 and so on.
    fn buffer(address: u64) -> Option<(u64, u64)> {
        (0x1000..0xf000)
            .contains(&address)
            .then_some((address & !0xfff, 256))
    }

    /// What a launch only reads by the loads of the body's registers `%rd9`, with the buffers 1 and 2 and the number 3 as its parameters; and with
    /// buffer 1 twice.
    fn only_reads(body: &str) -> [Option<(u64, u64)>; 2] {
        let text = format!(
            ".version 7.0\n.target sm_75\n.address_size 64\n.global .b64 table[4];
.func f(.param .b64 at);
.visible .entry k(.param .u64 a, .param .align 8 .b8 b[16], .param .u64 n)
{{
.reg .b64 %rd<20>; .reg .b32 %r<10>; .reg .f32 %f<4>; .reg .pred %p<3>;
.shared .b64 tile[32];
ld.param.u64 %rd1, [a];
ld.param.u64 %rd2, [b+8];
ld.param.u64 %rd3, [n];
{body}
ret;
}}\n"
        );
        let module = ptx::parse(&text).unwrap();
        let kernel = module.items.iter().find_map(|item| match item {
            Item::Function(f) if f.kind == FunctionKind::Entry => Some(f),
            _ => None,
        });
        let Some(mut points_to) = PointsTo::of(kernel.unwrap()) else {
            return [None, None];
        };
        let group = points_to.group(&Operand::Name("%rd9".to_owned(), None));
        let read_only = points_to.read_only();
        [0x2000, 0x1010].map(|second| {
            let value = |pointer: Pointer| match (pointer.parameter, pointer.within) {
                (0, 0) => Some(0x1000),
                (1, 8) => Some(second),
                (2, 0) => Some(3),
                other => panic!("{other:?}"),
            };
            let buffers = read_only.buffers(value, buffer);
            buffers[group?].0.ne(&0).then_some(buffers[group?])
        })
    }

    const STORE_A: &str = "st.global.f32 [%rd1+4], %f1;";
    const SECOND: Option<(u64, u64)> = Some((0x2000, 256));

    fn with_store(body: &str) -> [Option<(u64, u64)>; 2] {
        only_reads(&format!("{body} {STORE_A}"))
    }

    #[test]
    fn a_buffer_that_no_store_reaches_is_only_read() {
        let plain =
            "cvta.to.global.u64 %rd4, %rd2; mul.wide.u32 %rd5, %r1, 4; add.s64 %rd9, %rd4, %rd5;";
        assert_eq!(with_store(plain), [SECOND, None]);
        // Indices of 64 bits, from a parameter and from memory.
        let index = "ld.global.u64 %rd4, [%rd2]; mad.lo.s64 %rd5, %rd4, %rd3, %rd3; shl.b64 %rd6, %rd5, 2; add.s64 %rd9, %rd2, %rd6;";
        assert_eq!(with_store(index), [SECOND, None]);
        // In shared memory it is no other thread's concern.
        let tile = "mov.u64 %rd4, tile; st.shared.f32 [%rd4], %f1; mov.u64 %rd9, %rd2;";
        assert_eq!(only_reads(tile), [SECOND, Some((0x1000, 256))]);
    }

    #[test]
    fn what_may_be_stored_to_is_not() {
        for store in [
            "st.global.f32 [%rd2], %f1;",
            "red.global.add.f32 [%rd9+16], %f1;",
            "atom.add.u32 %r1, [%rd2], 1;",
            // By a pointer from memory, from a call, from nowhere.
            "ld.global.u64 %rd4, [%rd1]; st.global.f32 [%rd4], %f1;",
            "ld.local.u64 %rd4, [%rd3]; add.s64 %rd5, %rd4, 4; st.f32 [%rd5], %f1;",
            "mov.b64 %rd4, {%r1, %r2}; st.global.f32 [%rd4], %f1;",
            "mov.b64 %rd4, 4096; st.global.f32 [%rd4], %f1;",
            "call f, (%rd1);",
            // By one or the other.
            "selp.b64 %rd4, %rd1, %rd2, %p1; st.global.f32 [%rd4], %f1;",
            "setp.eq.u64 %p1, %rd4, 0; mov.u64 %rd4, %rd1; @%p1 mov.u64 %rd4, %rd2; add.s64 %rd5, %rd4, 8; st.global.f32 [%rd5], %f1;",
            // Defined behind its use, as in a loop.
            "L: st.global.f32 [%rd4], %f1; add.s64 %rd4, %rd5, 4; mov.u64 %rd5, %rd2; bra L;",
            "multimem.red.global.add.u32 [%rd1], %r1;",
        ] {
            let body = format!("mov.u64 %rd9, %rd2; {store}");
            assert_eq!(only_reads(&body), [None, None], "{store}");
        }
    }

    #[test]
    fn loads_from_elsewhere_are_checked() {
        for load in [
            "ld.global.u64 %rd9, [%rd2];",
            "selp.b64 %rd9, %rd1, %rd2, %p1;",
            "mov.u64 %rd9, table;",
            "mov.u64 %rd9, tile;",
            "mov.u64 %rd9, %rd3;",
            "mov.u64 %rd9, 4096;",
            "mov.u64 %rd9, %rd1;",
        ] {
            assert_eq!(with_store(load), [None, None], "{load}");
        }
    }
}
