//! Tests of the arithmetic table against plain references.
//!
//! A reference computes one lane, slowly and in another way than the table: in
//! wider integers or bit by bit, as the manual's pseudocode does. [`check`] feeds
//! both with every combination of [`EDGES`] and with random words; registers of
//! narrow types get garbage in their upper bits, and results are compared as
//! whole words.

mod arithmetic;
mod bits;
mod carry;
mod compare;
mod logic;
mod spellings;

use super::{AluOp, Mask, Row32, Row64, lookup};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

/// Words where arithmetic goes wrong: around 0, the limits of every width, and
/// the widths themselves as shift amounts.
const EDGES: [u64; 40] = [
    0,
    1,
    2,
    3,
    7,
    8,
    15,
    16,
    17,
    31,
    32,
    33,
    63,
    64,
    65,
    127,
    128,
    255,
    256,
    257,
    0x7fff,
    0x8000,
    0x8001,
    0xffff,
    0x1_0000,
    0x7f_ffff,
    0x80_0000,
    0xff_ffff,
    0x7fff_ffff,
    0x8000_0000,
    0x8000_0001,
    0xffff_fffe,
    0xffff_ffff,
    0x1_0000_0000,
    0x7fff_ffff_ffff_ffff,
    0x8000_0000_0000_0000,
    0x8000_0000_0000_0001,
    0xffff_ffff_ffff_fffe,
    0xffff_ffff_ffff_ffff,
    0x1234_5678_9abc_def0,
];

/// What one lane of an operation gives; what it does not give is 0 or false.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Answer {
    value: u64,
    p: bool,
    q: bool,
}

/// What a row of lanes gives.
#[derive(Default)]
struct Answers {
    d: Row64,
    p: Mask,
    q: Mask,
}

impl Answers {
    fn lane(&self, i: usize) -> Answer {
        Answer {
            value: self.d[i],
            p: self.p >> i & 1 == 1,
            q: self.q >> i & 1 == 1,
        }
    }
}

fn narrow(row: &Row64) -> Row32 {
    row.map(|word| word as u32)
}

fn widen(row: &Row32) -> Row64 {
    row.map(|word| word as u64)
}

/// What an operation gives for one lane's inputs and its bit of the mask.
type Reference<'a> = &'a dyn Fn(&[u64], bool) -> Answer;

/// Applies an operation to rows (the lower words of them for class `W`) and to a
/// mask, the carry or predicate that it may read.
fn apply(op: AluOp, rows: &[Row64], mask: Mask) -> Answers {
    let w: Vec<Row32> = rows.iter().map(narrow).collect();
    let d = rows;
    let (mut out_w, mut out_d) = ([0xdead_beef; 32], [0xdead_beef_dead_beef; 32]);
    let mut out = Answers::default();
    macro_rules! to_w {
        ($call:expr) => {{
            $call;
            out.d = widen(&out_w);
        }};
    }
    macro_rules! to_d {
        ($call:expr) => {{
            $call;
            out.d = out_d;
        }};
    }
    match op {
        AluOp::W_W(f) => to_w!(f(&w[0], &mut out_w)),
        AluOp::WW_W(f) => to_w!(f(&w[0], &w[1], &mut out_w)),
        AluOp::WWW_W(f) => to_w!(f(&w[0], &w[1], &w[2], &mut out_w)),
        AluOp::WWWW_W(f) => to_w!(f(&w[0], &w[1], &w[2], &w[3], &mut out_w)),
        AluOp::WWWWW_W(f) => to_w!(f(&w[0], &w[1], &w[2], &w[3], &w[4], &mut out_w)),
        AluOp::D_D(f) => to_d!(f(&d[0], &mut out_d)),
        AluOp::DD_D(f) => to_d!(f(&d[0], &d[1], &mut out_d)),
        AluOp::DDD_D(f) => to_d!(f(&d[0], &d[1], &d[2], &mut out_d)),
        AluOp::W_D(f) => to_d!(f(&w[0], &mut out_d)),
        AluOp::D_W(f) => to_w!(f(&d[0], &mut out_w)),
        AluOp::WW_D(f) => to_d!(f(&w[0], &w[1], &mut out_d)),
        AluOp::DD_W(f) => to_w!(f(&d[0], &d[1], &mut out_w)),
        AluOp::WWD_D(f) => to_d!(f(&w[0], &w[1], &d[2], &mut out_d)),
        AluOp::DW_D(f) => to_d!(f(&d[0], &w[1], &mut out_d)),
        AluOp::DWW_D(f) => to_d!(f(&d[0], &w[1], &w[2], &mut out_d)),
        AluOp::DDWW_D(f) => to_d!(f(&d[0], &d[1], &w[2], &w[3], &mut out_d)),
        AluOp::DDW_D(f) => to_d!(f(&d[0], &d[1], &w[2], &mut out_d)),
        AluOp::WWD_W(f) => to_w!(f(&w[0], &w[1], &d[2], &mut out_w)),
        AluOp::WW_P(f) => out.p = f(&w[0], &w[1]),
        AluOp::DD_P(f) => out.p = f(&d[0], &d[1]),
        AluOp::WW_PP(f) => (out.p, out.q) = f(&w[0], &w[1]),
        AluOp::W_P(f) => out.p = f(&w[0]),
        AluOp::D_P(f) => out.p = f(&d[0]),
        AluOp::WWP_W(f) => to_w!(f(&w[0], &w[1], mask, &mut out_w)),
        AluOp::DDP_D(f) => to_d!(f(&d[0], &d[1], mask, &mut out_d)),
        AluOp::P_P(f) => out.p = f(mask),
        AluOp::PP_P(f) => out.p = f(mask, w[0][0]),
        AluOp::WWWWP_WP(f) => {
            to_w!(out.p = f(&w[0], &w[1], &w[2], &w[3], mask, &mut out_w))
        }
        AluOp::WW_W_Carry(f) => to_w!(out.p = f(&w[0], &w[1], mask, &mut out_w)),
        AluOp::DD_D_Carry(f) => to_d!(out.p = f(&d[0], &d[1], mask, &mut out_d)),
        AluOp::WWW_W_Carry(f) => to_w!(out.p = f(&w[0], &w[1], &w[2], mask, &mut out_w)),
        AluOp::DDD_D_Carry(f) => to_d!(out.p = f(&d[0], &d[1], &d[2], mask, &mut out_d)),
    }
    out
}

/// Resolves a spelling (`add.sat.s32`) with that many operands.
fn resolve(spelling: &str, operands: usize) -> AluOp {
    let (opcode, modifiers) = ptx::semantics::spelled(spelling);
    lookup(&opcode, &modifiers, operands)
        .unwrap_or_else(|| panic!("{spelling} with {operands} operands does not resolve"))
}

/// Compares an operation with its reference on given lanes; the error shows the
/// first lane that differs.
fn difference(
    name: &str,
    op: AluOp,
    lanes: &[Vec<u64>],
    mask: Mask,
    reference: Reference,
) -> Result<(), String> {
    for lanes in lanes.chunks(32) {
        let rows: Vec<Row64> = (0..lanes[0].len())
            .map(|input| std::array::from_fn(|i| lanes[i % lanes.len()][input]))
            .collect();
        let answers = apply(op, &rows, mask);
        for (i, inputs) in lanes.iter().enumerate() {
            let flag = mask >> i & 1 == 1;
            let (got, want) = (answers.lane(i), reference(inputs, flag));
            if got != want {
                return Err(format!(
                    "{name} in lane {i}, inputs {inputs:#x?}, flag {flag}: {got:x?}, reference {want:x?}"
                ));
            }
        }
    }
    Ok(())
}

/// Compares an operation that may read and write predicates with its reference,
/// on all combinations of `edges` and on random words.
fn check_flags(
    spelling: &str,
    operands: usize,
    inputs: usize,
    edges: &[u64],
    reference: Reference,
) {
    let op = resolve(spelling, operands);
    if inputs <= 3 {
        let mut grid = vec![vec![]];
        for _ in 0..inputs {
            let longer = |begun: &Vec<u64>| {
                let begun = begun.clone();
                edges
                    .iter()
                    .map(move |&edge| [begun.clone(), vec![edge]].concat())
            };
            grid = grid.iter().flat_map(longer).collect();
        }
        difference(spelling, op, &grid, 0x5a5a_3333, reference).unwrap();
    }
    let word = prop_oneof![
        proptest::sample::select(edges.to_vec()),
        any::<u64>(),
        (any::<u64>(), 0..64u32).prop_map(|(word, shift)| word >> shift),
    ];
    let lane = proptest::collection::vec(word, inputs);
    let row = proptest::collection::vec(lane, 32);
    let mut runner = TestRunner::new(testing::random(48));
    runner
        .run(&(row, any::<Mask>()), |(lanes, mask)| {
            difference(spelling, op, &lanes, mask, reference).map_err(TestCaseError::fail)
        })
        .unwrap();
}

/// Compares an operation from registers to a register with its reference.
fn check(spelling: &str, inputs: usize, reference: impl Fn(&[u64]) -> u64) {
    check_flags(spelling, inputs + 1, inputs, &EDGES, &|inputs, _| Answer {
        value: reference(inputs),
        ..Answer::default()
    });
}

/// Compares an operation with its reference on chosen lanes only.
fn check_on(spelling: &str, lanes: &[Vec<u64>], reference: impl Fn(&[u64]) -> u64) {
    let op = resolve(spelling, lanes[0].len() + 1);
    let reference = |inputs: &[u64], _| Answer {
        value: reference(inputs),
        ..Answer::default()
    };
    difference(spelling, op, lanes, 0, &reference).unwrap();
}

/// Width in bits of a type's name: of one element for packed types.
fn bits(ty: &str) -> u32 {
    let name = ty.trim_start_matches(['b', 'f', 's', 'u']);
    name.split('x').next().unwrap().parse().unwrap()
}

fn is_signed(ty: &str) -> bool {
    ty.starts_with('s')
}

/// The number that a register's word means in a type.
fn number(word: u64, ty: &str) -> i128 {
    let bits = bits(ty);
    let low = word as i128 & ((1 << bits) - 1);
    if is_signed(ty) && low >> (bits - 1) == 1 {
        low - (1 << bits)
    } else {
        low
    }
}

/// The register word that holds a number modulo the type's width.
fn word(number: i128, ty: &str) -> u64 {
    (number & ((1 << bits(ty)) - 1)) as u64
}

/// The nearest number that the type can hold.
fn saturate(number: i128, ty: &str) -> i128 {
    let half = 1i128 << (bits(ty) - 1);
    if is_signed(ty) {
        number.clamp(-half, half - 1)
    } else {
        number.clamp(0, 2 * half - 1)
    }
}

/// Applies a reference to each element of packed words.
fn elementwise(inputs: &[u64], ty: &str, reference: impl Fn(&[i128]) -> i128) -> u64 {
    let bits = bits(ty);
    let mut packed = 0;
    for element in 0..32 / bits {
        let shift = element * bits;
        let numbers: Vec<i128> = inputs.iter().map(|w| number(w >> shift, ty)).collect();
        packed |= word(reference(&numbers), ty) << shift;
    }
    packed
}
