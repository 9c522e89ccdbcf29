//! How many registers a kernel may have: as few as its own code needs, because a multiprocessor then runs more warps, and these hide what
//! checks wait for. At most as many as blocks of 1,024 threads can have, so that no launch is refused.
//!
//! What the code needs is estimated: the most registers that are alive at one place, each from its first to its last mention in the text, and to
//! the end of each loop that it is alive at the beginning of.

use ptx::ast::*;
use std::collections::HashMap;

/// Fewer make no more warps fit, and more refuse launches (64 Ki registers, 2,048 and 1,024 threads).
const FEWEST: u32 = 32;
const MOST: u32 = 64;

/// The limit for a body.
pub fn limit(body: &[Stmt]) -> u32 {
    needed(body).next_multiple_of(8).clamp(FEWEST, MOST)
}

fn needed(body: &[Stmt]) -> u32 {
    let mut declared = Declared::default();
    declared.collect(body);
    let mut labels = HashMap::new();
    let mut alive: HashMap<String, (usize, usize)> = HashMap::new();
    let mut loops = Vec::new();
    let mut at = 0;
    places(body, &mut |statement| {
        at += 1;
        match statement {
            Stmt::Label(label) => drop(labels.insert(label.name.clone(), at)),
            Stmt::Instruction(instruction) => {
                each_name(instruction, &mut |name| {
                    if declared.width(name).is_some() {
                        alive.entry(name.to_owned()).or_insert((at, at)).1 = at;
                    }
                });
                if let ("bra", [Operand::Name(target, None)]) =
                    (instruction.opcode.as_str(), &instruction.operands[..])
                    && let Some(begin) = labels.get(target)
                {
                    loops.push((*begin, at));
                }
            }
            _ => {}
        }
    });
    for (begin, end) in loops {
        for (first, last) in alive.values_mut() {
            if *first < begin && *last >= begin {
                *last = (*last).max(end);
            }
        }
    }
    let mut changes = vec![0i64; at + 2];
    for (name, (first, last)) in &alive {
        let width = i64::from(declared.width(name).unwrap_or(0));
        changes[*first] += width;
        changes[*last] -= width;
    }
    let mut now = 0;
    let most = changes.iter().map(|change| {
        now += change;
        now
    });
    most.max().unwrap_or(0) as u32
}

/// Registers, in units of 32 bits; predicates have registers of their own.
#[derive(Default)]
struct Declared {
    /// One by one.
    names: HashMap<String, u32>,
    /// `%r<99>`: the prefix, with how many there are, which may be any number.
    families: HashMap<String, (u32, u32)>,
}

impl Declared {
    fn collect(&mut self, body: &[Stmt]) {
        for statement in body {
            match statement {
                Stmt::Variable(v) if v.space == StateSpace::Reg && v.ty != ScalarType::Pred => {
                    use ScalarType::*;
                    let width = match v.ty {
                        B64 | U64 | S64 | F64 => 2,
                        B128 => 4,
                        _ => 1,
                    };
                    match v.count {
                        Some(count) => drop(self.families.insert(v.name.clone(), (count, width))),
                        None => drop(self.names.insert(v.name.clone(), width)),
                    }
                }
                Stmt::Block(inner) => self.collect(inner),
                _ => {}
            }
        }
    }

    fn width(&self, name: &str) -> Option<u32> {
        if let Some(width) = self.names.get(name) {
            return Some(*width);
        }
        let prefix = name.trim_end_matches(|c: char| c.is_ascii_digit());
        let number = name[prefix.len()..].parse::<u32>().ok()?;
        let (count, width) = self.families.get(prefix)?;
        (number < *count).then_some(*width)
    }
}

fn places(body: &[Stmt], visit: &mut impl FnMut(&Stmt)) {
    for statement in body {
        match statement {
            Stmt::Block(inner) => places(inner, visit),
            other => visit(other),
        }
    }
}

fn each_name(instruction: &Instruction, visit: &mut impl FnMut(&str)) {
    fn of(operand: &Operand, visit: &mut impl FnMut(&str)) {
        match operand {
            Operand::Name(name, _) => visit(name),
            Operand::Neg(one) => of(one, visit),
            Operand::Vector(list) | Operand::List(list) => list.iter().for_each(|o| of(o, visit)),
            Operand::Pair(a, b) => {
                of(a, visit);
                of(b, visit);
            }
            Operand::Address(at) => of(&at.base, visit),
            _ => {}
        }
    }
    for operand in &instruction.operands {
        of(operand, visit);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> u32 {
        let text = format!(
            ".version 8.0\n.target sm_80\n.address_size 64\n.func f() {{ .reg .b32 %r<99>; .reg .b64 %rd<9>; .reg .pred %p<9>; {text} }}"
        );
        let module = ptx::parse(&text).unwrap();
        let body = module.items.into_iter().find_map(|item| match item {
            Item::Function(f) => f.body,
            _ => None,
        });
        needed(&body.unwrap())
    }

    #[test]
    fn registers_count_while_they_are_alive() {
        // A result may be where an operand was.
        let two = "mov.b32 %r1, 1; mov.b32 %r2, 2; add.s32 %r3, %r1, %r2;";
        let one = "mov.b32 %r1, 1; add.s32 %r2, %r1, 1; add.s32 %r3, %r2, 1;";
        let wide = "mov.b64 %rd1, 1; ld.global.b32 %r1, [%rd1]; setp.eq.s32 %p1, %r1, 0;";
        assert_eq!((of(two), of(one), of(wide)), (2, 1, 2));
    }

    #[test]
    fn a_family_of_any_size_takes_no_room() {
        let text = "{ .reg .b32 %q<4000000000>; mov.b32 %q1, 1; mov.b32 %q3999999999, %q1; }";
        assert_eq!(of(text), 1);
    }

    #[test]
    fn what_a_loop_begins_with_lives_to_its_end() {
        let body = |branch: &str| {
            format!(
                "mov.b32 %r1, 1; L: add.s32 %r2, %r1, 1; mov.b32 %r3, 2; mov.b32 %r4, 3; add.s32 %r3, %r3, %r4; {branch}"
            )
        };
        assert_eq!(of(&body("")), 2);
        assert_eq!(of(&body("@%p1 bra L;")), 3);
    }
}
