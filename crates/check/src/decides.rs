//! What the contents of buffers decide in a kernel: which way a branch goes, how far a loop, which element of another buffer is meant.
//!
//! A taint analysis to a fixed point over a kernel's PTX, without regard to control flow. A register holds addresses of parts of
//! parameters, and depends on what was loaded through some of them, by whatever arithmetic; values go through shared and local memory, each
//! taken for one cell. From it follow
//!
//! - what a comparison compares elements with: constants (with what is added to or masked out of the element before) and parameters,
//! - which buffers hold where the rows of others begin: an element and its neighbour are read, and a loop goes up from one of them,
//! - for each guarded branch, the buffers on whose contents it depends.
//!
//! It serves guesses, and says where a verdict can't be clean because no guess led there. It sees the kernel, not the functions that it
//! calls, nor what depends on a branch by the way it went. Branches on one line of PTX are taken for one.

use super::fixed_point::fixed_point;
use super::usage::{Part, address, collect, lanes, read_by};
use ptx::ast::{Function, Instruction, Item, Module, Operand};
use ptx::semantics::{Effect, MemoryEffect, Opcode, Space, Type, TypedInstruction};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Instructions of a kernel that is read, at most: nobody writes a longer one by hand.
const INSTRUCTIONS: usize = 20_000;
/// Parts that a register is followed for, at most: what depends on more tells nothing.
const MOST: usize = 32;
/// Constants that are kept of a part, at most.
const CONSTANTS: usize = 24;
/// In place of a register: what shared and local memory hold.
const MEMORY: &str = "[memory]";

/// What elements are compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum With {
    /// A constant.
    Constant(i64),
    /// A parameter.
    Parameter(usize),
}

/// What contents decide.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Decides {
    /// What the elements that a part of a parameter points at are compared with.
    pub compared: BTreeMap<Part, BTreeSet<With>>,
    /// The parts that point at where rows begin.
    pub rows: BTreeSet<Part>,
    /// Of each guarded branch, the offset in the text, and the parts on whose contents its guard depends.
    pub branches: Vec<(u32, BTreeSet<Part>)>,
}

/// What a register holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Held {
    /// Addresses computed from these, or their values.
    from: BTreeSet<Part>,
    /// What was loaded through these had a say in it.
    read: BTreeSet<Part>,
    /// Immediates that were added to what was read, or masked it.
    moved: BTreeSet<i64>,
}

impl Held {
    fn add(&mut self, other: &Held) -> bool {
        fn all<T: Ord + Copy>(to: &mut BTreeSet<T>, from: &BTreeSet<T>) -> bool {
            let before = to.len();
            to.extend(from.iter().take(MOST.saturating_sub(before)));
            to.len() > before
        }
        let from = all(&mut self.from, &other.from);
        let read = all(&mut self.read, &other.read);
        all(&mut self.moved, &other.moved) || from || read
    }
}

struct Reader<'a> {
    params: HashMap<&'a str, usize>,
    held: HashMap<&'a str, Held>,
    changed: Vec<&'a str>,
}

impl Decides {
    /// Reads a kernel of a module.
    pub(crate) fn of_kernel(module: &Module, entry: &str) -> Option<Decides> {
        let kernel = module.items.iter().find_map(|item| match item {
            Item::Function(f) if f.name == entry && f.body.is_some() => Some(f),
            _ => None,
        });
        kernel.map(Decides::of)
    }

    /// The guarded branches by their line in the text of the PTX, from 1, each with the parts that decide.
    pub(crate) fn by_line(&self, text: &str) -> Vec<(u32, &BTreeSet<Part>)> {
        let ends = text.bytes().zip(1u32..).filter(|(byte, _)| *byte == b'\n');
        let starts: Vec<u32> = ends.map(|(_, at)| at).collect();
        let line = |at: &u32| 1 + starts.partition_point(|start| start <= at) as u32;
        let all = self.branches.iter();
        all.map(|(at, parts)| (line(at), parts)).collect()
    }

    /// Reads a kernel.
    pub fn of(function: &Function) -> Decides {
        let mut instructions = Vec::new();
        collect(
            function.body.as_deref().unwrap_or_default(),
            &mut instructions,
        );
        if instructions.len() > INSTRUCTIONS {
            return Decides::default();
        }
        let parameters = function.params.iter().enumerate();
        let mut reader = Reader {
            params: parameters.map(|(i, p)| (p.name.as_str(), i)).collect(),
            held: HashMap::new(),
            changed: Vec::new(),
        };
        let typed: Vec<_> = instructions
            .iter()
            .map(|one| TypedInstruction::of(one))
            .collect();
        let reads: Vec<Vec<&str>> = instructions
            .iter()
            .zip(&typed)
            .map(|(one, typed)| {
                let cell = typed.memory.as_ref().is_some_and(|m| is_cell(m.space));
                read_by(one).chain(cell.then_some(MEMORY)).collect()
            })
            .collect();
        // Each register holds a few things.
        fixed_point(&reads, |k| {
            reader.step(instructions[k], &typed[k]);
            std::mem::take(&mut reader.changed)
        });
        reader.decided(&instructions, &typed)
    }
}

/// Whether a space is taken for one cell.
fn is_cell(space: Space) -> bool {
    matches!(space, Space::Shared | Space::Local)
}

impl<'a> Reader<'a> {
    fn of(&self, register: &str) -> Held {
        self.held.get(register).cloned().unwrap_or_default()
    }

    fn give(&mut self, to: &'a str, what: &Held) {
        if self.held.entry(to).or_default().add(what) {
            self.changed.push(to);
        }
    }

    fn give_first(&mut self, one: &'a Instruction, what: &Held) {
        for to in one.operands.first().into_iter().flat_map(lanes) {
            self.give(to, what);
        }
    }

    /// What the operands behind the first one hold.
    fn sources(&self, one: &Instruction) -> Held {
        let mut all = Held::default();
        for register in one.operands.iter().skip(1).flat_map(lanes) {
            all.add(&self.of(register));
        }
        all
    }

    /// What the addresses of an instruction are computed from.
    fn bases(&self, one: &Instruction) -> Held {
        let mut all = Held::default();
        for (base, _) in one.operands.iter().filter_map(address) {
            all.add(&self.of(base));
        }
        all
    }

    fn step(&mut self, one: &'a Instruction, typed: &TypedInstruction) {
        let Some(memory) = &typed.memory else {
            let mut all = self.sources(one);
            if !all.read.is_empty() {
                all.moved.extend(moved(one, typed));
            }
            return self.give_first(one, &all);
        };
        if memory.space == Space::Param && memory.effect == Effect::Load {
            return self.parameter(one, memory);
        }
        if is_cell(memory.space) {
            match memory.effect {
                Effect::Store => self.give(MEMORY, &self.sources(one)),
                _ => self.give_first(one, &self.of(MEMORY)),
            }
            return;
        }
        if memory.effect != Effect::Store {
            let read = Held {
                read: self.bases(one).from,
                ..Held::default()
            };
            self.give_first(one, &read);
        }
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
            if let Ok(at) = u32::try_from(at) {
                let from = BTreeSet::from([(index, at)]);
                let held = Held {
                    from,
                    ..Held::default()
                };
                self.give(register, &held);
            }
        }
    }

    /// What was to be found, when it is known what registers hold.
    fn decided(&self, instructions: &[&'a Instruction], typed: &[TypedInstruction]) -> Decides {
        let mut decides = Decides::default();
        let neighbours = self.neighbours(instructions, typed);
        let counted = self.counted(instructions, typed);
        for (one, typed) in instructions.iter().zip(typed) {
            if typed.opcode == Opcode::Bra
                && let Some(guard) = &one.guard
            {
                let read = self.of(&guard.register).read;
                decides.branches.push((one.span.start, read));
            }
            if typed.opcode != Opcode::Setp {
                continue;
            }
            let sides: Vec<Held> = (1..3)
                .map(|at| {
                    let registers = one.operands.get(at).into_iter().flat_map(lanes);
                    registers.fold(Held::default(), |mut all, register| {
                        all.add(&self.of(register));
                        all
                    })
                })
                .collect();
            for register in one.operands.iter().skip(1).flat_map(lanes) {
                let counted = counted.get(register).into_iter().flatten();
                decides
                    .rows
                    .extend(counted.filter(|p| neighbours.contains(p)));
            }
            for (side, other) in [(0, 1), (1, 0)] {
                let constant = one.operands.get(other + 1).and_then(number);
                let parameters = sides[other].from.iter().map(|p| With::Parameter(p.0));
                let mut with: BTreeSet<With> = parameters.collect();
                if let Some(constant) = constant {
                    let moved = &sides[side].moved;
                    with.insert(With::Constant(constant));
                    // `x + a == c`, `x & a`
                    with.extend(
                        moved
                            .iter()
                            .flat_map(|m| [constant.wrapping_sub(*m), *m].map(With::Constant)),
                    );
                }
                for part in &sides[side].read {
                    let all = decides.compared.entry(*part).or_default();
                    let room = CONSTANTS.saturating_sub(all.len());
                    all.extend(with.iter().take(room));
                }
            }
        }
        decides
    }

    /// The registers that count on from an element, by what has nothing to do with it, each with the parts of such elements.
    fn counted(
        &self,
        instructions: &[&'a Instruction],
        typed: &[TypedInstruction],
    ) -> HashMap<&'a str, BTreeSet<Part>> {
        let mut found: HashMap<&str, BTreeSet<Part>> = HashMap::new();
        for (one, typed) in instructions.iter().zip(typed) {
            let to = one.operands.first().map(lanes).unwrap_or_default();
            let (Opcode::Add, [to]) = (&typed.opcode, &to[..]) else {
                continue;
            };
            let from: Vec<&str> = one.operands.iter().skip(1).flat_map(lanes).collect();
            if !from.contains(to) {
                continue;
            }
            let mut step = from.iter().filter(|register| *register != to);
            let step = step.next().map(|r| self.of(r).read).unwrap_or_default();
            let counted = self.of(to).read;
            let counted = counted.difference(&step).copied();
            found.entry(to).or_default().extend(counted);
        }
        found
    }

    /// The parts of which elements are read that lie side by side: `starts[i]` and `starts[i + 1]`.
    fn neighbours(
        &self,
        instructions: &[&Instruction],
        typed: &[TypedInstruction],
    ) -> BTreeSet<Part> {
        let mut places: HashMap<&str, BTreeSet<i64>> = HashMap::new();
        let mut found = BTreeSet::new();
        for (one, typed) in instructions.iter().zip(typed) {
            let Some(memory) = typed.memory.as_ref().filter(|m| m.effect == Effect::Load) else {
                continue;
            };
            let width = i64::from(memory.element.and_then(Type::bytes).unwrap_or(4));
            let float = matches!(memory.element, Some(Type::F32 | Type::F64));
            for (base, offset) in one.operands.iter().filter_map(address) {
                let all = places.entry(base).or_default();
                all.insert(offset);
                let beside = [offset - width, offset + width];
                if !float && width >= 4 && beside.iter().any(|at| all.contains(at)) {
                    found.extend(self.of(base).from);
                }
            }
        }
        found
    }
}

/// The immediates that an instruction adds to a value, or masks it with.
fn moved(one: &Instruction, typed: &TypedInstruction) -> Vec<i64> {
    let sign = match typed.opcode {
        Opcode::Add | Opcode::And => 1,
        Opcode::Sub => -1,
        _ => return Vec::new(),
    };
    let all = one.operands.iter().skip(1).filter_map(number);
    all.map(|n| n.wrapping_mul(sign)).collect()
}

/// An integer, or a floating-point number without a fraction; a negative one may be written as a large one of 32 bits.
fn number(operand: &Operand) -> Option<i64> {
    let whole = |x: f64| (x.abs() < 1e15).then_some(x.floor() as i64);
    match operand {
        Operand::Int(value, _) => match u32::try_from(*value) {
            Ok(value) => Some(i64::from(value as i32)),
            Err(_) => Some(*value as i64),
        },
        Operand::F32(bits) => whole(f64::from(f32::from_bits(*bits))),
        Operand::F64(bits) => whole(f64::from_bits(*bits)),
        Operand::Neg(inner) => number(inner).map(i64::wrapping_neg),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decides(body: &str) -> Decides {
        let text = format!(
            ".version 8.0\n.target sm_75\n.address_size 64\n.visible .entry k(.param .u64 a, .param .u64 b, .param .u32 n)\n{{
             ld.param.u64 %rd1, [a]; ld.param.u64 %rd2, [b]; ld.param.u32 %r9, [n];\n{body}\nret;\n}}\n"
        );
        let module = ptx::parse(&text).expect("valid");
        let function = module.items.iter().find_map(|item| match item {
            Item::Function(f) => Some(f),
            _ => None,
        });
        Decides::of(function.expect("a kernel"))
    }

    #[test]
    fn elements_are_compared_with_constants_and_parameters() {
        let one = decides(
            "ld.global.u32 %r1, [%rd1]; setp.ne.s32 %p1, %r1, -1; @%p1 bra DONE;
             ld.global.u32 %r2, [%rd2]; add.s32 %r3, %r2, -5; setp.gt.u32 %p2, %r3, 2; @%p2 bra DONE;
             setp.eq.s32 %p3, %r1, %r9; @%p3 bra DONE;\nDONE:",
        );
        let a = &one.compared[&(0, 0)];
        assert!(a.contains(&With::Constant(-1)) && a.contains(&With::Parameter(2)));
        // From 5 to 7.
        assert!(one.compared[&(1, 0)].contains(&With::Constant(7)));
        let parts: Vec<_> = one.branches.iter().map(|(_, parts)| parts.len()).collect();
        assert_eq!(parts, [1, 1, 1]);
    }

    #[test]
    fn what_goes_through_shared_memory_decides_as_well() {
        let one = decides(
            "ld.global.u32 %r1, [%rd1]; st.shared.u32 [%rd5], %r1; ld.shared.u32 %r2, [%rd6];
             setp.eq.s32 %p1, %r2, 3; @%p1 bra DONE;\nDONE:",
        );
        assert_eq!(one.branches[0].1, BTreeSet::from([(0, 0)]));
        assert!(one.compared[&(0, 0)].contains(&With::Constant(3)));
    }

    #[test]
    fn loops_from_an_element_to_its_neighbour_go_along_rows() {
        let read = "ld.global.u32 %r1, [%rd1]; ld.global.u32 %r2, [%rd1+4];";
        let rows = decides(&format!(
            "{read}\nAGAIN: add.s32 %r1, %r1, 1; setp.lt.s32 %p1, %r1, %r2; @%p1 bra AGAIN;"
        ));
        assert_eq!(rows.rows, BTreeSet::from([(0, 0)]));
        // To sort, or to sum up, neighbours are read as well.
        let others = ["", "add.s32 %r3, %r3, %r1; setp.gt.s32 %p2, %r3, 9;"];
        for other in others {
            let other = format!("{read} {other} setp.gt.s32 %p1, %r1, %r2; @%p1 bra DONE;\nDONE:");
            assert!(decides(&other).rows.is_empty(), "{other}");
        }
    }
}
