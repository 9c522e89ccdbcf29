//! Straight-line PTX: the instructions of a loop's body, read from its text.

use std::collections::BTreeSet;

/// Lanes of a warp.
pub const LANES: usize = 32;

/// A register's row: its word in each lane.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C, align(64))]
pub struct Row(pub [u32; LANES]);

/// An instruction; registers are indices of [`Block::registers`].
#[derive(Clone, Copy, Debug)]
pub enum Op {
    /// `add.s32 d, a, b`
    Add { d: usize, a: usize, b: usize },
    /// `fma.rn.f32 d, a, b, c`
    Fma {
        d: usize,
        a: usize,
        b: usize,
        c: usize,
    },
    /// `ld.shared.f32 d, [base+offset]`
    Load { d: usize, base: usize, offset: u32 },
}

/// The body of a loop.
pub struct Block {
    /// The text, as the simulator gets it.
    pub ptx: String,
    /// Its instructions.
    pub ops: Vec<Op>,
    /// Names of its registers, in the order in which they occur.
    pub registers: Vec<String>,
}

impl Block {
    /// Reads one instruction a line.
    pub fn parse(ptx: &str) -> Block {
        let mut registers: Vec<String> = Vec::new();
        let mut register = |name: &str| {
            let known = registers.iter().position(|r| r == name);
            known.unwrap_or_else(|| {
                registers.push(name.to_owned());
                registers.len() - 1
            })
        };
        let mut ops = Vec::new();
        for line in ptx.lines().filter(|l| !l.trim().is_empty()) {
            let text = line.replace([',', ';', '[', ']'], " ");
            let words: Vec<&str> = text.split_whitespace().collect();
            ops.push(match words[..] {
                ["add.s32", d, a, b] => {
                    let [a, b, d] = [a, b, d].map(&mut register);
                    Op::Add { d, a, b }
                }
                ["fma.rn.f32", d, a, b, c] => {
                    let [a, b, c, d] = [a, b, c, d].map(&mut register);
                    Op::Fma { d, a, b, c }
                }
                ["ld.shared.f32", d, place] => {
                    let (base, offset) = place.split_once('+').unwrap_or((place, "0"));
                    let [base, d] = [base, d].map(&mut register);
                    let offset = offset.parse().expect("an offset is a number");
                    Op::Load { d, base, offset }
                }
                _ => panic!("no instruction of this benchmark: {line}"),
            });
        }
        Block {
            ptx: ptx.to_owned(),
            ops,
            registers,
        }
    }

    /// Index of a register.
    pub fn register(&self, name: &str) -> usize {
        let at = self.registers.iter().position(|r| r == name);
        at.expect("the block has it")
    }

    /// Registers that are read before they are written: what the block needs, and what its next turn needs of it.
    pub fn needed(&self) -> Vec<usize> {
        let (mut needed, mut written) = (BTreeSet::new(), BTreeSet::new());
        for op in &self.ops {
            let (d, read) = match *op {
                Op::Add { d, a, b } => (d, vec![a, b]),
                Op::Fma { d, a, b, c } => (d, vec![a, b, c]),
                Op::Load { d, base, .. } => (d, vec![base]),
            };
            needed.extend(read.into_iter().filter(|r| !written.contains(r)));
            written.insert(d);
        }
        needed.into_iter().collect()
    }

    /// Registers that the block's next turn needs and that the block changes.
    pub fn results(&self) -> Vec<usize> {
        let changed = |r: &usize| {
            self.ops.iter().any(|op| match op {
                Op::Add { d, .. } | Op::Fma { d, .. } | Op::Load { d, .. } => d == r,
            })
        };
        self.needed().into_iter().filter(changed).collect()
    }

    /// Registers that hold addresses, each with the largest offset from it.
    pub fn bases(&self) -> Vec<(usize, u32)> {
        let mut bases: Vec<(usize, u32)> = Vec::new();
        for op in &self.ops {
            if let Op::Load { base, offset, .. } = *op {
                match bases.iter_mut().find(|(b, _)| *b == base) {
                    Some((_, largest)) => *largest = offset.max(*largest),
                    None => bases.push((base, offset)),
                }
            }
        }
        bases
    }
}

/// Four chains of sums, each of which takes from its neighbour.
pub fn adds() -> Block {
    let line = |i: usize| {
        let (d, b) = (i % 4, (i + 3) % 4);
        format!("add.s32 %r{d}, %r{d}, %r{b};\n")
    };
    Block::parse(&(0..64).map(line).collect::<String>())
}

/// Four chains of fused multiplications and additions.
pub fn fmas() -> Block {
    let line = |i: usize| format!("fma.rn.f32 %f{0}, %f{0}, %f31, %f30;\n", i % 4);
    Block::parse(&(0..64).map(line).collect::<String>())
}

/// Adjacent words of shared memory, added up in four chains.
pub fn loads() -> Block {
    let line = |i: usize| {
        format!(
            "ld.shared.f32 %f1{0}, [%r20+{1}];\nfma.rn.f32 %f{0}, %f1{0}, %f31, %f{0};\n",
            i % 4,
            64 * i
        )
    };
    Block::parse(&(0..32).map(line).collect::<String>())
}

/// What is between the two barriers of the tiled product's loop: 16 steps of two loads and an `fma`.
pub fn product() -> Block {
    let kernel = include_str!("../../kernels/matmul.sm_75.ptx");
    let body = kernel
        .split("bar.sync")
        .nth(1)
        .expect("it has two barriers");
    let (_, body) = body.split_once('\n').expect("a barrier ends its line");
    Block::parse(body)
}

/// A block of 200 instructions: the tiled product's four times, and sums.
pub fn two_hundred() -> Block {
    let sums = adds().ptx.lines().take(8).collect::<Vec<_>>().join("\n");
    Block::parse(&(product().ptx.repeat(4) + &sums))
}
