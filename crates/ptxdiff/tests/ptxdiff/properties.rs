//! What a diff must not see: names of registers and labels, the order of declarations and of blocks.

use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use ptx::ast::*;
use ptxdiff::report::{Cell, FunctionReport, RowKind};
use ptxdiff::{FunctionDiff, Side, Unit};
use rand::SeedableRng;
use rand::seq::SliceRandom;
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// All pinned PTX.
fn pinned() -> Vec<(String, String)> {
    let root = testing::root().join("kernels");
    let mut files = Vec::new();
    for family in std::fs::read_dir(root).unwrap() {
        let Ok(entries) = std::fs::read_dir(family.unwrap().path()) else {
            continue;
        };
        for file in entries {
            let path = file.unwrap().path();
            if path.extension().is_some_and(|e| e == "ptx") {
                files.push((
                    path.display().to_string(),
                    std::fs::read_to_string(&path).unwrap(),
                ));
            }
        }
    }
    files.sort();
    files
}

/// What differs between the kernels of `a` and those of the same names in `b`: rows as text.
fn differences(a: &Unit, b: &Unit) -> Vec<String> {
    let mut found = Vec::new();
    for f in a.entries() {
        let diff = FunctionDiff::of((a, f), (b, b.entry(&f.name).unwrap())).unwrap();
        let report = FunctionReport::of(&diff, a, b);
        let text = |cell: &Option<Cell>| cell.as_ref().map_or(String::new(), |c| c.text.clone());
        let rows = report.rows.iter().filter(|row| row.kind != RowKind::Same);
        found.extend(rows.map(|row| format!("{}: {} | {}", f.name, text(&row.a), text(&row.b))));
        assert_eq!(
            report.rows.iter().all(|row| row.kind == RowKind::Same),
            report.same
        );
    }
    found
}

#[test]
fn every_kernel_is_the_same_as_itself() {
    for (name, text) in pinned() {
        let (a, b) = (
            Unit::parse(text.clone()).unwrap(),
            Unit::parse(text).unwrap(),
        );
        assert_eq!(differences(&a, &b), [""; 0], "{name}");
        for f in a.entries() {
            let diff = FunctionDiff::of((&a, f), (&b, b.entry(&f.name).unwrap())).unwrap();
            assert!(
                diff.effects.iter().all(|e| e.effect.is_kept()),
                "{name}: {:?}",
                diff.effects
            );
        }
    }
}

/// Gives registers and labels other names, shuffles declarations, and lays the blocks out in another order with every way written out.
struct Shuffler {
    random: rand_pcg::Pcg64Mcg,
    names: HashMap<String, String>,
}

impl Shuffler {
    fn module(&mut self, module: &mut Module) {
        for item in &mut module.items {
            if let Item::Function(f) = item
                && let Some(body) = &mut f.body
            {
                self.names.clear();
                self.body(body);
            }
        }
    }

    fn body(&mut self, body: &mut Vec<Stmt>) {
        let mut registers = Vec::new();
        for statement in body.iter_mut() {
            if let Stmt::Variable(v) = statement
                && v.space == StateSpace::Reg
            {
                match v.count {
                    // %r<9> becomes nine names in another order.
                    Some(count) => registers.extend((0..count).map(|i| {
                        (
                            format!("{}{i}", v.name),
                            Variable {
                                count: None,
                                name: format!("{}{i}", v.name),
                                ..v.clone()
                            },
                        )
                    })),
                    None => registers.push((v.name.clone(), v.clone())),
                }
            }
        }
        body.retain(|s| !matches!(s, Stmt::Variable(v) if v.space == StateSpace::Reg));
        registers.shuffle(&mut self.random);
        for (number, (old, variable)) in registers.iter_mut().enumerate() {
            let new = format!("%v{number}x");
            self.names.insert(old.clone(), new.clone());
            variable.name = new;
        }
        self.rename(body);
        let laid_out = self.lay_out(std::mem::take(body));
        body.extend(registers.into_iter().map(|(_, v)| Stmt::Variable(v)));
        body.extend(laid_out);
    }

    fn rename(&mut self, body: &mut [Stmt]) {
        for statement in body {
            match statement {
                Stmt::Block(inner) => {
                    // A scope's own registers keep their names, and hide outer ones.
                    let outer = self.names.clone();
                    let own = inner.iter().filter_map(|s| match s {
                        Stmt::Variable(v) => Some(&v.name),
                        _ => None,
                    });
                    own.for_each(|name| drop(self.names.remove(name)));
                    self.rename(inner);
                    self.names = outer;
                }
                Stmt::Instruction(i) => {
                    if let Some(guard) = &mut i.guard {
                        guard.register = self
                            .names
                            .get(&guard.register)
                            .unwrap_or(&guard.register)
                            .clone();
                    }
                    i.operands.iter_mut().for_each(|o| self.operand(o));
                }
                _ => {}
            }
        }
    }

    fn operand(&self, operand: &mut Operand) {
        match operand {
            Operand::Name(name, _) | Operand::Offset(name, _) | Operand::Index(name, _) => {
                if let Some(new) = self.names.get(name) {
                    *name = new.clone();
                }
            }
            Operand::Neg(inner) | Operand::Not(inner) => self.operand(inner),
            Operand::Address(address) => {
                self.operand(&mut address.base);
                address.rest.iter_mut().for_each(|o| self.operand(o));
            }
            Operand::Vector(list) | Operand::List(list) => {
                list.iter_mut().for_each(|o| self.operand(o))
            }
            Operand::Pair(a, b) => {
                self.operand(a);
                self.operand(b);
            }
            _ => {}
        }
    }

    /// Cuts at labels and branches; each piece ends in a branch to what followed it. What no label names gets one.
    fn lay_out(&mut self, body: Vec<Stmt>) -> Vec<Stmt> {
        let mut head = Vec::new();
        let mut pieces: Vec<Vec<Stmt>> = vec![vec![label(0)]];
        let mut loc = None;
        for statement in body {
            match statement {
                Stmt::Variable(_)
                | Stmt::Directive(_)
                | Stmt::BranchTargets(_)
                | Stmt::CallTargets(_)
                | Stmt::CallPrototype(_) => head.push(statement),
                Stmt::Label(_) => {
                    let next = label(pieces.len());
                    let mut piece = vec![next, statement];
                    piece.extend(loc.clone().map(Stmt::Loc));
                    pieces.push(piece);
                }
                Stmt::Loc(ref own) => {
                    loc = Some(own.clone());
                    pieces.last_mut().unwrap().push(statement);
                }
                Stmt::Instruction(ref i) if i.opcode == "bra" => {
                    pieces.last_mut().unwrap().push(statement);
                    let mut piece = vec![label(pieces.len())];
                    piece.extend(loc.clone().map(Stmt::Loc));
                    pieces.push(piece);
                }
                other => pieces.last_mut().unwrap().push(other),
            }
        }
        let count = pieces.len();
        let last = pieces.len() - 1;
        for (number, piece) in pieces.iter_mut().enumerate() {
            // The end of the body is where the last piece falls out of.
            if number < last {
                piece.push(branch(number + 1));
            } else {
                piece.push(branch(count));
            }
        }
        pieces.shuffle(&mut self.random);
        head.push(branch(0));
        head.extend(pieces.into_iter().flatten());
        head.push(label(count));
        head.push(plain("ret"));
        head
    }
}

fn label(number: usize) -> Stmt {
    Stmt::Label(Label {
        name: format!("$L_own_{number}"),
        span: Span::default(),
    })
}

fn branch(number: usize) -> Stmt {
    Stmt::Instruction(Instruction {
        guard: None,
        opcode: "bra".into(),
        modifiers: vec!["uni".into()],
        operands: vec![Operand::Name(format!("$L_own_{number}"), None)],
        span: Span::default(),
    })
}

fn plain(opcode: &str) -> Stmt {
    Stmt::Instruction(Instruction {
        guard: None,
        opcode: opcode.into(),
        modifiers: vec![],
        operands: vec![],
        span: Span::default(),
    })
}

#[test]
fn names_and_layout_change_nothing() {
    let files = pinned();
    let mut runner = TestRunner::new(testing::random(60));
    let strategy = (0..files.len(), any::<u64>());
    runner
        .run(&strategy, |(file, seed)| {
            let (name, text) = &files[file];
            let a = Unit::parse(text.clone()).unwrap();
            let mut module = a.module.clone();
            let random = rand_pcg::Pcg64Mcg::seed_from_u64(seed);
            Shuffler {
                random,
                names: HashMap::new(),
            }
            .module(&mut module);
            let shuffled = ptx::print(&module);
            let b = Unit::parse(shuffled).unwrap();
            prop_assert_eq!(differences(&a, &b), [""; 0], "{}", name);
            Ok(())
        })
        .unwrap();
}

/// Effects with the side that shows each and how often: what the other order of operands gives as well, once its sides are changed.
fn effects(a: (&Unit, &Function), b: (&Unit, &Function), swapped: bool) -> Vec<String> {
    let diff = match swapped {
        false => FunctionDiff::of(a, b).unwrap(),
        true => FunctionDiff::of(b, a).unwrap(),
    };
    let side = |side: Side| if swapped { side.other() } else { side };
    let mut found: Vec<String> = (diff.effects.iter())
        .map(|o| {
            let side = o.side.map_or("both".to_owned(), |s| side(s).to_string());
            format!("{} {side} {}", o.effect, o.occurrences.len())
        })
        .collect();
    found.sort();
    found
}

#[test]
fn swapped_sides_mirror_the_effects() {
    // Each kernel beside those of the same source: its bugs, its fixed twin, the other target.
    let files = pinned();
    let stem = |path: &str| path.split('.').next().unwrap().to_owned();
    let units: Vec<(String, Unit)> = files
        .into_iter()
        .map(|(path, text)| (path, Unit::parse(text).unwrap()))
        .collect();
    let mut compared = 0;
    for (x, (first, a)) in units.iter().enumerate() {
        for (second, b) in units[x + 1..]
            .iter()
            .take_while(|(p, _)| stem(p) == stem(first))
        {
            for f in a.entries() {
                let Some(g) = b.entry(&f.name) else { continue };
                let (there, back) = (
                    effects((a, f), (b, g), false),
                    effects((a, f), (b, g), true),
                );
                assert_eq!(there, back, "{}: {first} and {second}", f.name);
                compared += 1;
            }
        }
    }
    assert!(compared > 100, "{compared}");
}

/// A kernel of about `lines` lines of PTX: loads, sums, stores, a loop and a branch now and then.
fn long(lines: usize, seed: u64) -> String {
    let mut text = String::from(
        ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 p)\n{\n.reg .pred %p<9>;\n.reg .b32 %r<90000>;\n.reg .b64 %rd<9>;\nld.param.u64 %rd1, [p];\nmov.u32 %r0, %tid.x;\n",
    );
    let mut state = seed;
    let mut next = |below: u64| {
        state = state
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (state >> 33) % below
    };
    for (at, line) in (1u64..).zip(0..lines) {
        let back = |n: u64| at.saturating_sub(1 + n % 20);
        let (x, y) = (back(next(20)), back(next(20)));
        text += &match next(12) {
            0..=3 => format!("ld.global.u32 %r{at}, [%rd1+{}];\n", 4 * next(4000)),
            4..=5 => format!("st.global.u32 [%rd1+{}], %r{x};\n", 4 * next(4000)),
            6 => format!("xor.b32 %r{at}, %r{x}, {};\n", next(9999)),
            7 if line % 7 == 0 => format!(
                "setp.lt.u32 %p1, %r{x}, %r{y};\n@%p1 bra L{line};\nadd.s32 %r{at}, %r{x}, 1;\nL{line}:\n"
            ),
            8 if line % 50 == 0 => "bar.sync 0;\n".to_owned(),
            _ => format!("add.s32 %r{at}, %r{x}, %r{y};\n"),
        };
    }
    text + "ret;\n}\n"
}

#[test]
fn long_kernels_take_seconds_at_most() {
    let a = Unit::parse(long(20_000, 1)).unwrap();
    // One line in a hundred is another; then everything is.
    let edited: Vec<String> = a
        .text
        .lines()
        .enumerate()
        .map(|(i, l)| {
            if i > 20 && i % 100 == 0 {
                l.replace("add.s32", "sub.s32")
            } else {
                l.to_owned()
            }
        })
        .collect();
    for text in [edited.join("\n"), long(20_000, 2)] {
        let b = Unit::parse(text).unwrap();
        let started = Instant::now();
        let diff = FunctionDiff::of(
            (&a, a.entries().next().unwrap()),
            (&b, b.entries().next().unwrap()),
        )
        .unwrap();
        assert!(!diff.is_same());
        // About a second optimised; this is a build for tests on a busy machine.
        assert!(
            started.elapsed() < Duration::from_secs(30),
            "{:?}",
            started.elapsed()
        );
    }
}
