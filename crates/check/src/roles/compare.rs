//! Comparisons of what varies with parameters, and which way the branches behind them let threads work.

use super::sum::Sum;
use super::{Reader, lanes};
use ptx::ast::{Instruction, Operand, Stmt};
use ptx::semantics::{Modifier, Opcode, TypedInstruction};
use std::collections::{HashMap, HashSet};

/// How two numbers compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Compare {
    Less,
    Greater,
    Equal,
}

/// A comparison of something that varies with a parameter.
#[derive(Clone, Copy)]
pub(super) struct Compared {
    /// The instruction, counted from the start.
    at: usize,
    compare: Compare,
    parameter: usize,
    /// Whether thread numbers are compared, or loop variables alone.
    thread: bool,
    less: bool,
}

/// Those of a list in order that belong to the last place before another one.
fn last<T>(all: &[T], before: usize, place: impl Fn(&T) -> usize) -> &[T] {
    let all = &all[..all.partition_point(|one| place(one) < before)];
    let at = all.last().map_or(0, &place);
    &all[all.partition_point(|one| place(one) < at)..]
}

/// Where labels stand, in instructions from the start.
pub(super) fn places<'a>(body: &'a [Stmt], at: &mut usize, labels: &mut HashMap<&'a str, usize>) {
    for stmt in body {
        match stmt {
            Stmt::Label(label) => drop(labels.insert(&label.name, *at)),
            Stmt::Instruction(_) => *at += 1,
            Stmt::Block(inner) => places(inner, at, labels),
            _ => {}
        }
    }
}

impl<'a> Reader<'a> {
    pub(super) fn compare(
        &mut self,
        at: usize,
        one: &'a Instruction,
        typed: &TypedInstruction,
        a: &Sum,
        b: &Sum,
    ) {
        let has = |all: &[Modifier]| all.iter().any(|m| typed.has(*m));
        let compare = match () {
            () if has(&[Modifier::Lt, Modifier::Le, Modifier::Lo, Modifier::Ls]) => Compare::Less,
            () if has(&[Modifier::Gt, Modifier::Ge, Modifier::Hi, Modifier::Hs]) => {
                Compare::Greater
            }
            () if has(&[Modifier::Eq, Modifier::Ne]) => Compare::Equal,
            () => return,
        };
        let flipped = match compare {
            Compare::Less => Compare::Greater,
            Compare::Greater => Compare::Less,
            Compare::Equal => Compare::Equal,
        };
        for (varying, other, compare) in [(a, b, compare), (b, a, flipped)] {
            // `k == 0`
            let with_zero = one.operands.iter().any(|o| matches!(o, Operand::Int(0, _)));
            if let (Compare::Equal, true, Some(parameter)) = (compare, with_zero, other.parameter())
                && !other.moved
            {
                self.of(parameter).zero = true;
            }
            // What one thread, or one element, is compared with: `i == source`, `depth[i] == level`. Not `i + 1 == n`.
            if let (Compare::Equal, Some(parameter)) = (compare, other.parameter())
                && varying.has(|p| p.thread || p.data)
                && !varying.moved
                && !other.moved
            {
                self.of(parameter).beyond = true;
            }
            // `i + m < n` says how `m` and `n` go together, not that any `n` will do.
            let alone = varying
                .terms
                .iter()
                .all(|p| p.varies() || p.parameters.is_empty());
            if let (Some(parameter), true) = (other.parameter(), alone)
                && varying.has(|p| p.thread || p.data)
            {
                self.of(parameter).asked = true;
            }
            let varies = varying.has(|p| p.thread || p.loops) && !varying.has(|p| p.data);
            if let (Some(parameter), true) = (other.parameter(), varies) {
                let compared = Compared {
                    at,
                    compare,
                    parameter,
                    thread: varying.has(|p| p.thread),
                    less: other.less,
                };
                for to in one.operands.first().into_iter().flat_map(lanes) {
                    self.compared.entry(to).or_default().push(compared);
                }
            }
        }
    }

    /// Which way each comparison lets threads work: branches forward leave work out, branches back do it again.
    pub(super) fn branches(
        &mut self,
        instructions: &[&'a Instruction],
        labels: &HashMap<&str, usize>,
    ) {
        let compared = std::mem::take(&mut self.compared);
        // Predicates that others are made of: each with whether it is negated there.
        let mut parts: HashMap<&str, Vec<(usize, &str, bool)>> = HashMap::new();
        for (at, one) in instructions.iter().enumerate() {
            let typed = TypedInstruction::of(one);
            let negated = match typed.opcode {
                Opcode::And | Opcode::Or | Opcode::Mov => false,
                Opcode::Not => true,
                _ => continue,
            };
            for to in one.operands.first().into_iter().flat_map(lanes) {
                let from = one.operands.iter().skip(1).flat_map(lanes);
                let all = parts.entry(to).or_default();
                all.extend(from.map(|register| (at, register, negated)));
            }
        }
        for (at, one) in instructions.iter().enumerate() {
            let Some(guard) = &one.guard else { continue };
            let forward = match TypedInstruction::of(one).opcode {
                Opcode::Bra => match one.operands.first() {
                    Some(Operand::Name(label, _)) => {
                        labels.get(label.as_str()).is_none_or(|l| *l > at)
                    }
                    _ => continue,
                },
                Opcode::Ret | Opcode::Exit => true,
                _ => continue,
            };
            let mut open = vec![(guard.register.as_str(), forward ^ guard.negated)];
            let mut seen = HashSet::new();
            while let Some((predicate, skips)) = open.pop() {
                if !seen.insert(predicate) {
                    continue;
                }
                // Registers are written again: the last time before the branch counts.
                let inner = parts
                    .get(predicate)
                    .map_or(&[][..], |all| last(all, at, |p| p.0));
                open.extend(
                    inner
                        .iter()
                        .map(|(_, name, negated)| (*name, skips ^ negated)),
                );
                let compared = compared.get(predicate);
                let compared = compared.map_or(&[][..], |all| last(all, at, |c| c.at));
                for one in compared {
                    self.bound(one, skips);
                }
            }
        }
    }

    fn bound(&mut self, compared: &Compared, skips: bool) {
        let below = (compared.compare == Compare::Less) ^ skips;
        let evidence = self.of(compared.parameter);
        match (compared.compare, compared.thread) {
            (Compare::Equal, true) => {}
            (Compare::Equal, false) => evidence.loops = true,
            (_, true) if below => evidence.upper = true,
            (_, true) => evidence.beyond |= !compared.less,
            (_, false) if below => evidence.loops = true,
            (_, false) => {}
        }
    }
}
