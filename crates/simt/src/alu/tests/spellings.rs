//! Which spellings resolve: exactly those of the manual's syntax sections.

use crate::alu::{compare, integer, logic};
use std::collections::BTreeSet;

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

/// Those of the integer half of the table.
fn valid() -> BTreeSet<(usize, String)> {
    let all = ptx::semantics::spellings::arithmetic().into_iter();
    let of_integers = all.filter(|s| resolves(&s.text, s.operands));
    of_integers.map(|s| (s.operands, s.text)).collect()
}

#[test]
fn every_spelling_of_the_manual_resolves() {
    let all = ptx::semantics::spellings::arithmetic();
    let missing: Vec<_> = all
        .iter()
        .filter(|s| crate::alu::testing::find(&s.text, s.operands - 1).is_none())
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
    assert!(all.len() > 5000 && valid().len() > 3000);
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
