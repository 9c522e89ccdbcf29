//! Which spellings resolve: exactly those of the manual's syntax sections.

use crate::alu::{compare, integer, logic};
use std::collections::BTreeSet;

/// Number of operands, and a pattern: of each group in braces one alternative,
/// which may be empty.
const SYNTAX: &[(usize, &str)] = &[
    // Integer Arithmetic Instructions
    (
        3,
        "add{.u16,.u32,.u64,.s16,.s32,.s64,.u16x2,.s16x2,.u8x4,.s8x4}",
    ),
    (3, "add.sat{.u32,.s32,.u16x2,.s16x2,.u8x4,.s8x4}"),
    (3, "sub{.u16,.u32,.u64,.s16,.s32,.s64,.u8x4,.s8x4}"),
    (3, "sub.sat{.s32,.u8x4,.s8x4}"),
    (3, "mul{.hi,.lo}{.u16,.u32,.u64,.s16,.s32,.s64}"),
    (3, "mul.wide{.u16,.u32,.s16,.s32}"),
    (4, "mad{.hi,.lo}{.u16,.u32,.u64,.s16,.s32,.s64}"),
    (4, "mad.wide{.u16,.u32,.s16,.s32}"),
    (4, "mad.hi.sat.s32"),
    (3, "mul24{.hi,.lo}{.u32,.s32}"),
    (4, "mad24{.hi,.lo}{.u32,.s32}"),
    (4, "mad24.hi.sat.s32"),
    (4, "sad{.u16,.u32,.u64,.s16,.s32,.s64}"),
    (3, "{div,rem}{.u16,.u32,.u64,.s16,.s32,.s64}"),
    (2, "abs{.s16,.s32,.s64}"),
    (2, "neg{.s16,.s32,.s64,.s8x4}"),
    (3, "{min,max}{.u16,.u32,.u64,.u16x2,.u8x4,.s16,.s64}"),
    (3, "{min,max}{,.relu}{.s16x2,.s32,.s8x4}"),
    (2, "{popc,clz,brev}{.b32,.b64}"),
    (2, "bfind{,.shiftamt}{.u32,.u64,.s32,.s64}"),
    (4, "fns.b32"),
    (4, "bfe{.u32,.u64,.s32,.s64}"),
    (5, "bfi{.b32,.b64}"),
    (3, "szext{.clamp,.wrap}{.u32,.s32}"),
    (3, "bmsk{.clamp,.wrap}.b32"),
    (4, "dp4a{.u32,.s32}{.u32,.s32}"),
    (4, "dp2a{.lo,.hi}{.u32,.s32}{.u32,.s32}"),
    // Extended-Precision Integer Arithmetic Instructions
    (3, "{add,sub}.cc{.u32,.s32,.u64,.s64}"),
    (3, "{addc,subc}{,.cc}{.u32,.s32,.u64,.s64}"),
    (4, "mad{.hi,.lo}.cc{.u32,.s32,.u64,.s64}"),
    (4, "madc{.hi,.lo}{,.cc}{.u32,.s32,.u64,.s64}"),
    // Floating Point Instructions
    (
        2,
        "testp{.finite,.infinite,.number,.notanumber,.normal,.subnormal}{.f32,.f64}",
    ),
    (3, "copysign{.f32,.f64}"),
    // Comparison and Selection Instructions
    (3, "setp{.eq,.ne}{.b16,.b32,.b64}"),
    (3, "setp{.eq,.ne,.lt,.le,.gt,.ge}{.s16,.s32,.s64}"),
    (
        3,
        "setp{.eq,.ne,.lt,.le,.gt,.ge,.lo,.ls,.hi,.hs}{.u16,.u32,.u64}",
    ),
    (
        3,
        "setp{.eq,.ne,.lt,.le,.gt,.ge,.equ,.neu,.ltu,.leu,.gtu,.geu,.num,.nan}{.f32,.f64,.ftz.f32}",
    ),
    (4, "setp{.eq,.ne}{.and,.or,.xor}{.b16,.b32,.b64}"),
    (
        4,
        "setp{.eq,.ne,.lt,.le,.gt,.ge}{.and,.or,.xor}{.s16,.s32,.s64}",
    ),
    (
        4,
        "setp{.eq,.ne,.lt,.le,.gt,.ge,.lo,.ls,.hi,.hs}{.and,.or,.xor}{.u16,.u32,.u64}",
    ),
    (
        4,
        "setp{.eq,.ne,.lt,.le,.gt,.ge,.equ,.neu,.ltu,.leu,.gtu,.geu,.num,.nan}{.and,.or,.xor}{.f32,.f64,.ftz.f32}",
    ),
    (3, "set{.eq,.ne}{.u32,.s32,.f32,.f16,.bf16}{.b16,.b32,.b64}"),
    (
        3,
        "set{.eq,.ne,.lt,.le,.gt,.ge}{.u32,.s32,.f32,.f16,.bf16}{.s16,.s32,.s64}",
    ),
    (
        3,
        "set{.eq,.ne,.lt,.le,.gt,.ge,.lo,.ls,.hi,.hs}{.u32,.s32,.f32,.f16,.bf16}{.u16,.u32,.u64}",
    ),
    (
        3,
        "set{.eq,.ne,.lt,.le,.gt,.ge,.equ,.neu,.ltu,.leu,.gtu,.geu,.num,.nan}{.u32,.s32,.f32,.f16,.bf16}{.f32,.f64}",
    ),
    (
        3,
        "set{.eq,.ne,.lt,.le,.gt,.ge,.equ,.neu,.ltu,.leu,.gtu,.geu,.num,.nan}.ftz{.u32,.s32,.f32,.f16}.f32",
    ),
    (
        4,
        "set{.eq,.ne}{.and,.or,.xor}{.u32,.s32,.f32,.f16,.bf16}{.b16,.b32,.b64}",
    ),
    (
        4,
        "set{.eq,.ne,.lt,.le,.gt,.ge}{.and,.or,.xor}{.u32,.s32,.f32,.f16,.bf16}{.s16,.s32,.s64}",
    ),
    (
        4,
        "set{.eq,.ne,.lt,.le,.gt,.ge,.lo,.ls,.hi,.hs}{.and,.or,.xor}{.u32,.s32,.f32,.f16,.bf16}{.u16,.u32,.u64}",
    ),
    (
        4,
        "set{.eq,.ne,.lt,.le,.gt,.ge,.equ,.neu,.ltu,.leu,.gtu,.geu,.num,.nan}{.and,.or,.xor}{.u32,.s32,.f32,.f16,.bf16}{.f32,.f64}",
    ),
    (
        4,
        "set{.eq,.ne,.lt,.le,.gt,.ge,.equ,.neu,.ltu,.leu,.gtu,.geu,.num,.nan}{.and,.or,.xor}.ftz{.u32,.s32,.f32,.f16}.f32",
    ),
    (
        4,
        "selp{.b16,.b32,.b64,.u16,.u32,.u64,.s16,.s32,.s64,.f32,.f64}",
    ),
    (
        4,
        "slct{.b16,.b32,.b64,.u16,.u32,.u64,.s16,.s32,.s64,.f32,.f64}{.s32,.f32}",
    ),
    (
        4,
        "slct.ftz{.b16,.b32,.b64,.u16,.u32,.u64,.s16,.s32,.s64,.f32,.f64}.f32",
    ),
    // Half Precision Comparison Instructions
    (
        3,
        "setp{.eq,.ne,.lt,.le,.gt,.ge,.equ,.neu,.ltu,.leu,.gtu,.geu,.num,.nan}{.f16,.f16x2,.ftz.f16,.ftz.f16x2,.bf16,.bf16x2}",
    ),
    (
        4,
        "setp{.eq,.ne,.lt,.le,.gt,.ge,.equ,.neu,.ltu,.leu,.gtu,.geu,.num,.nan}{.and,.or,.xor}{.f16,.f16x2,.ftz.f16,.ftz.f16x2,.bf16,.bf16x2}",
    ),
    (
        3,
        "set{.eq,.ne,.lt,.le,.gt,.ge,.equ,.neu,.ltu,.leu,.gtu,.geu,.num,.nan}{.f16.f16,.ftz.f16.f16,.bf16.f16,.bf16.bf16}",
    ),
    (
        3,
        "set{.eq,.ne,.lt,.le,.gt,.ge,.equ,.neu,.ltu,.leu,.gtu,.geu,.num,.nan}{,.ftz}{.u16,.s16,.u32,.s32}.f16",
    ),
    (
        3,
        "set{.eq,.ne,.lt,.le,.gt,.ge,.equ,.neu,.ltu,.leu,.gtu,.geu,.num,.nan}{.u16,.s16,.u32,.s32}.bf16",
    ),
    (
        3,
        "set{.eq,.ne,.lt,.le,.gt,.ge,.equ,.neu,.ltu,.leu,.gtu,.geu,.num,.nan}{,.ftz}{.f16x2,.u32,.s32}.f16x2",
    ),
    (
        3,
        "set{.eq,.ne,.lt,.le,.gt,.ge,.equ,.neu,.ltu,.leu,.gtu,.geu,.num,.nan}{.bf16x2,.u32,.s32}.bf16x2",
    ),
    (
        4,
        "set{.eq,.ne,.lt,.le,.gt,.ge,.equ,.neu,.ltu,.leu,.gtu,.geu,.num,.nan}{.and,.or,.xor}{.f16.f16,.ftz.f16.f16,.bf16.f16,.bf16.bf16}",
    ),
    (
        4,
        "set{.eq,.ne,.lt,.le,.gt,.ge,.equ,.neu,.ltu,.leu,.gtu,.geu,.num,.nan}{.and,.or,.xor}{,.ftz}{.u16,.s16,.u32,.s32}.f16",
    ),
    (
        4,
        "set{.eq,.ne,.lt,.le,.gt,.ge,.equ,.neu,.ltu,.leu,.gtu,.geu,.num,.nan}{.and,.or,.xor}{.u16,.s16,.u32,.s32}.bf16",
    ),
    (
        4,
        "set{.eq,.ne,.lt,.le,.gt,.ge,.equ,.neu,.ltu,.leu,.gtu,.geu,.num,.nan}{.and,.or,.xor}{,.ftz}{.f16x2,.u32,.s32}.f16x2",
    ),
    (
        4,
        "set{.eq,.ne,.lt,.le,.gt,.ge,.equ,.neu,.ltu,.leu,.gtu,.geu,.num,.nan}{.and,.or,.xor}{.bf16x2,.u32,.s32}.bf16x2",
    ),
    // Logic and Shift Instructions
    (3, "{and,or,xor}{.pred,.b16,.b32,.b64}"),
    (2, "not{.pred,.b16,.b32,.b64}"),
    (2, "cnot{.b16,.b32,.b64}"),
    (5, "lop3.b32"),
    (6, "lop3{.or,.and}.b32"),
    (4, "shf{.l,.r}{.clamp,.wrap}.b32"),
    (3, "shl{.b16,.b32,.b64}"),
    (3, "shr{.b16,.b32,.b64,.u16,.u32,.u64,.s16,.s32,.s64}"),
    // Data Movement and Conversion Instructions
    (4, "prmt.b32{,.f4e,.b4e,.rc8,.ecl,.ecr,.rc16}"),
    (
        2,
        "mov{.pred,.b16,.b32,.b64,.u16,.u32,.u64,.s16,.s32,.s64,.f32,.f64}",
    ),
];

fn expand(pattern: &str) -> Vec<String> {
    let Some((before, rest)) = pattern.split_once('{') else {
        return vec![pattern.to_string()];
    };
    let (group, after) = rest.split_once('}').unwrap();
    let after = expand(after);
    let alternatives = group.split(',');
    alternatives
        .flat_map(|choice| {
            after
                .iter()
                .map(move |tail| format!("{before}{choice}{tail}"))
        })
        .collect()
}

/// Resolves in the integer half of the table.
fn resolves(spelling: &str, operands: usize) -> bool {
    let (opcode, m) = ptx::semantics::spelled(spelling);
    integer::lookup(&opcode, &m, operands)
        .or_else(|| logic::lookup(&opcode, &m, operands))
        .or_else(|| compare::lookup(&opcode, &m, operands))
        .is_some()
}

fn valid() -> BTreeSet<(usize, String)> {
    let spellings = SYNTAX
        .iter()
        .flat_map(|&(operands, pattern)| expand(pattern).into_iter().map(move |s| (operands, s)));
    spellings.collect()
}

#[test]
fn every_spelling_of_the_manual_resolves() {
    for (operands, spelling) in valid() {
        assert!(
            resolves(&spelling, operands),
            "{spelling} with {operands} operands"
        );
    }
}

#[test]
fn every_spelling_is_listed() {
    let valid = valid();
    let all = valid.iter().map(|(operands, s)| (s.as_str(), operands - 1));
    crate::alu::testing::all_are_listed(all);
}

const TYPES: &str = ".pred,.b8,.b16,.b32,.b64,.b128,.u8,.u16,.u32,.u64,.s8,.s16,.s32,.s64,\
    .f16,.f16x2,.bf16,.bf16x2,.f32,.f64,.u16x2,.s16x2,.u8x4,.s8x4,.tf32,.f32x2,.x,";

/// Types in every place and number, qualifiers that belong to other
/// instructions, operators that a type does not have, one operand more or less:
/// whatever the syntax does not name is refused.
#[test]
fn nothing_else_resolves() {
    let valid = valid();
    let opcodes: BTreeSet<&str> = valid
        .iter()
        .map(|(_, s)| s.split('.').next().unwrap())
        .collect();
    let qualifiers = "{,.sat,.cc,.hi,.lo,.wide,.hi.sat,.lo.sat,.hi.cc,.lo.cc,.wide.cc,.cc.lo,.relu,\
        .shiftamt,.clamp,.wrap,.l,.r,.l.clamp,.l.wrap,.r.clamp,.r.wrap,.ftz,.and,.or,.xor,.rn,.approx,\
        .eq,.lt,.lo,.nan,.eq.and,.lo.and,.nan.and,.eq.ftz,.finite,.subnormal,.f4e,.rc16,.sat.sat,.bogus}";
    let mut refused = 0;
    for opcode in opcodes {
        let pattern = format!("{opcode}{qualifiers}{{{TYPES}}}");
        for spelling in expand(&pattern) {
            for operands in 0..=7 {
                // `prmt` and `setp` accept qualifiers behind the type and in any order.
                let canonical = spelling
                    .replace(".f4e.b32", ".b32.f4e")
                    .replace(".rc16.b32", ".b32.rc16");
                let expected = valid.contains(&(operands, canonical));
                assert_eq!(
                    resolves(&spelling, operands),
                    expected,
                    "{spelling} with {operands} operands"
                );
                refused += !expected as usize;
            }
        }
    }
    assert!(refused > 100_000, "{refused}");
}

#[test]
fn no_other_pair_of_types_resolves() {
    let valid = valid();
    for opcode in [
        "set{.eq,.lt,.lo,.num,.and}{,.and,.not}{,.ftz}",
        "setp.eq",
        "slct{,.ftz}",
        "dp4a",
        "dp2a{,.lo,.hi}",
    ] {
        for spelling in expand(&format!("{opcode}{{{TYPES}}}{{{TYPES}}}")) {
            for operands in 3..=4 {
                let expected = valid
                    .contains(&(operands, spelling.replace(".and.ftz", ".ftz.and")))
                    || valid.contains(&(operands, spelling.clone()));
                assert_eq!(
                    resolves(&spelling, operands),
                    expected,
                    "{spelling} with {operands} operands"
                );
            }
        }
    }
}

#[test]
fn qualifiers_may_follow_the_type() {
    for (operands, spelling) in [
        (3, "min.s16x2.relu"),
        (3, "add.s8x4.sat"),
        (4, "prmt.f4e.b32"),
        (4, "setp.eq.u32.and"),
        (4, "setp.eq.ftz.and.f32"),
        (2, "bfind.s32.shiftamt"),
        (6, "lop3.b32.and"),
        (4, "slct.u32.ftz.f32"),
    ] {
        assert!(resolves(spelling, operands), "{spelling}");
    }
}

#[test]
fn video_instructions_are_not_there() {
    for spelling in [
        "vadd.s32.s32.s32",
        "vset2.s32.s32.eq",
        "vabsdiff4.u32.u32.u32",
        "vmad.u32.u32.u32",
    ] {
        for operands in 3..=5 {
            assert!(!resolves(spelling, operands), "{spelling}");
        }
    }
}
