//! Programs that try every instruction of a family, each on inputs of its own kinds.

use super::build::{Builder, Program, Value};
use super::family::{Family, atomic, carry, warp};
use super::kind::Kind;
use super::spec::Instruction;
use super::values::Random;
use catalog::draw::mix;

/// Instructions of a program.
const TOGETHER: usize = 16;

/// How often a family is tried, each time on other inputs: comparisons have many spellings of little variety.
fn rounds(family: Family) -> u32 {
    match family {
        Family::Compare => 2,
        _ => 6,
    }
}

/// A program to be written.
#[derive(Clone, Debug)]
pub struct Plan {
    family: Family,
    round: u32,
    from: usize,
}

/// The plans of all systematic programs, in the order of their numbers.
pub fn plans(of: &Tables) -> Vec<Plan> {
    let mut all = Vec::new();
    for round in 0..6 {
        for family in Family::ALL.into_iter().filter(|f| round < rounds(*f)) {
            let together = if matches!(family, Family::Warp | Family::Atomic) {
                8
            } else {
                TOGETHER
            };
            let steps = (0..of.len(family)).step_by(together);
            all.extend(steps.map(|from| Plan {
                family,
                round,
                from,
            }));
        }
    }
    all
}

/// What there is to try.
#[derive(Debug)]
pub struct Tables {
    rows: Vec<(Family, Vec<Instruction>)>,
    chains: Vec<(&'static str, Instruction, &'static str)>,
    warp: Vec<warp::Trial>,
    atomic: Vec<atomic::Trial>,
}

impl Default for Tables {
    fn default() -> Tables {
        Tables {
            rows: Family::ALL.map(|f| (f, f.instructions())).into(),
            chains: carry::chains(),
            warp: warp::trials(),
            atomic: atomic::trials(),
        }
    }
}

impl Tables {
    /// The instructions of a family that a table lists.
    pub fn instructions(&self, family: Family) -> &[Instruction] {
        self.rows
            .iter()
            .find(|(f, _)| *f == family)
            .map_or(&[], |(_, all)| all)
    }

    fn len(&self, family: Family) -> usize {
        match family {
            Family::Carry => self.chains.len(),
            Family::Warp => self.warp.len(),
            Family::Atomic => self.atomic.len(),
            _ => self.instructions(family).len(),
        }
    }
}

/// Writes a program.
pub fn program(tables: &Tables, plan: &Plan, number: u32, seed: u64) -> Program {
    let own = mix(mix(seed) ^ mix(0x5957 + u64::from(number)));
    let mut random = Random::new(&[own, u64::from(plan.round)]);
    let mut b = Builder::new();
    let from = plan.from;
    let upto = |len: usize, together: usize| from..(from + together).min(len);
    match plan.family {
        Family::Carry => {
            for (setter, i, reader) in &tables.chains[upto(tables.chains.len(), TOGETHER)] {
                chain(&mut b, setter, i, reader, &mut random);
            }
        }
        Family::Warp => {
            for trial in &tables.warp[upto(tables.warp.len(), 8)] {
                trial.write(&mut b, &mut random);
            }
        }
        Family::Atomic => {
            for trial in &tables.atomic[upto(tables.atomic.len(), 8)] {
                trial.write(&mut b);
            }
        }
        family => {
            let all = tables.instructions(family);
            for i in &all[upto(all.len(), TOGETHER)] {
                let operands = operands(&mut b, i);
                b.apply(i, &operands, &mut random);
            }
        }
    }
    b.finish(number, plan.family, own)
}

/// The program of one instruction alone.
pub fn alone(i: &Instruction, number: u32, seed: u64) -> Program {
    let mut b = Builder::new();
    let operands = operands(&mut b, i);
    b.apply(i, &operands, &mut Random::new(&[seed]));
    b.finish(number, Family::Random, seed)
}

/// Loads an instruction's operands: the first, second … column of each kind.
pub fn operands(b: &mut Builder, i: &Instruction) -> Vec<Value> {
    let mut seen: Vec<Kind> = Vec::new();
    i.operands
        .iter()
        .zip(i.kinds())
        .filter(|(operand, _)| !matches!(operand, super::spec::Operand::Lut))
        .map(|(_, kind)| {
            let index = seen.iter().filter(|k| **k == kind).count() as u8;
            seen.push(kind);
            b.input(kind, index)
        })
        .collect()
}

fn chain(b: &mut Builder, setter: &str, i: &Instruction, reader: &str, random: &mut Random) {
    let values = operands(b, i);
    let (x, y) = (b.input(Kind::Int(32), 3), b.input(Kind::Int(32), 4));
    let width = super::kind::Width::B32;
    let (unused, flag) = (b.register(width), b.register(width));
    let (text, destinations) = b.compose(i, &values, random);
    let before = format!("{setter} {unused}, {}, {};", x.register, y.register);
    let after = format!("{reader} {flag}, 0, 0;");
    for line in [&before, &text, &after] {
        b.line(line);
    }
    let sources: Vec<_> = [x, y].iter().chain(&values).map(|v| v.source).collect();
    let spelling = format!("{setter}; {}; {reader}", i.spelling);
    let whole = format!("{before} {text} {after}");
    for (register, width) in destinations {
        b.store(&register, width, &spelling, &whole, sources.clone());
    }
    b.store(&flag, width, &format!("{spelling} (flag)"), &whole, sources);
}

impl Plan {
    /// Whether all that its program gives is recorded, not only hashes: the first program of each family, and
    /// approximate instructions twice.
    pub fn is_kept_whole(&self) -> bool {
        match self.family {
            Family::Approximate => self.round < 2,
            _ => self.round == 0 && self.from == 0,
        }
    }

    /// The family of its instructions.
    pub fn family(&self) -> Family {
        self.family
    }
}
