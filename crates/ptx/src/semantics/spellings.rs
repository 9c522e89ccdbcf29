//! Which spellings of arithmetic instructions exist: the manual's syntax lines, written out.
//!
//! What `ptxas` 13.0 accepts beyond them or refuses of them is as there: 8-bit integers convert from and to `.bf16`, narrow formats from
//! `.f16x2` and `.bf16x2`, and `mad` of floating-point numbers wants a rounding.

/// Operands, the destination and a pair `p|q` counted once; and a pattern: of each group in braces one alternative, which may be empty.
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
    // Floating-Point Instructions
    (3, "{add,sub,mul}{,.rn,.rz,.rm,.rp}{,.ftz}{,.sat}.f32"),
    (3, "{add,sub,mul}{,.rn,.rz,.rm,.rp}{,.ftz}.f32x2"),
    (3, "{add,sub,mul}{,.rn,.rz,.rm,.rp}.f64"),
    (4, "fma{.rn,.rz,.rm,.rp}{,.ftz}{,.sat}.f32"),
    (4, "mad{.rn,.rz,.rm,.rp}{,.ftz}{,.sat}.f32"),
    (4, "fma{.rn,.rz,.rm,.rp}{,.ftz}.f32x2"),
    (4, "{fma,mad}{.rn,.rz,.rm,.rp}.f64"),
    (3, "div{.approx,.full,.rn,.rz,.rm,.rp}{,.ftz}.f32"),
    (3, "div{.rn,.rz,.rm,.rp}.f64"),
    (2, "{rcp,sqrt}{.approx,.rn,.rz,.rm,.rp}{,.ftz}.f32"),
    (2, "{rcp,sqrt}{.rn,.rz,.rm,.rp}.f64"),
    (2, "rcp.approx.ftz.f64"),
    (2, "{rsqrt,sin,cos,lg2,ex2}.approx{,.ftz}.f32"),
    (2, "rsqrt.approx{,.ftz}.f64"),
    (2, "tanh.approx.f32"),
    (2, "{neg,abs}{,.ftz}.f32"),
    (2, "{neg,abs}.f64"),
    (3, "{min,max}{,.ftz}{,.NaN}{,.xorsign.abs}.f32"),
    (4, "{min,max}{,.ftz}{,.NaN}{,.abs}.f32"),
    (3, "{min,max}.f64"),
    // Half Precision Floating-Point Instructions
    (3, "{add,sub,mul}{,.rn}{,.ftz}{,.sat}{.f16,.f16x2}"),
    (3, "{add,sub,mul}{,.rn}{.bf16,.bf16x2}"),
    (4, "fma.rn{,.ftz}{,.sat,.relu}{.f16,.f16x2}"),
    (4, "fma.rn{,.relu}{.bf16,.bf16x2}"),
    (2, "{neg,abs}{,.ftz}{.f16,.f16x2}"),
    (2, "{neg,abs}{.bf16,.bf16x2}"),
    (3, "{min,max}{,.ftz}{,.NaN}{,.xorsign.abs}{.f16,.f16x2}"),
    (3, "{min,max}{,.NaN}{,.xorsign.abs}{.bf16,.bf16x2}"),
    (2, "tanh.approx{.f16,.f16x2,.bf16,.bf16x2}"),
    (2, "ex2.approx{.f16,.f16x2,.ftz.bf16,.ftz.bf16x2}"),
    // Mixed Precision Floating-Point Instructions
    (3, "{add,sub}{,.rn,.rz,.rm,.rp}{,.sat}{.f32.f16,.f32.bf16}"),
    (4, "fma{.rn,.rz,.rm,.rp}{,.sat}{.f32.f16,.f32.bf16}"),
    // Data Movement and Conversion Instructions: cvt
    (
        2,
        "cvt{.u8,.u16,.u32,.u64,.s8,.s16,.s32,.s64}{.u8,.u16,.u32,.u64,.s8,.s16,.s32,.s64}",
    ),
    (2, "cvt.sat.u8{.u16,.u32,.u64,.s8,.s16,.s32,.s64}"),
    (2, "cvt.sat.u16{.u32,.u64,.s8,.s16,.s32,.s64}"),
    (2, "cvt.sat.u32{.u64,.s8,.s16,.s32,.s64}"),
    (2, "cvt.sat.u64{.s8,.s16,.s32,.s64}"),
    (2, "cvt.sat.s8{.u8,.u16,.u32,.u64,.s16,.s32,.s64}"),
    (2, "cvt.sat.s16{.u16,.u32,.u64,.s32,.s64}"),
    (2, "cvt.sat.s32{.u32,.u64,.s64}"),
    (2, "cvt.sat.s64{.u64}"),
    (
        2,
        "cvt{.rni,.rzi,.rmi,.rpi}{,.ftz}{,.sat}{.u8,.u16,.u32,.u64,.s8,.s16,.s32,.s64}.f32",
    ),
    (
        2,
        "cvt{.rni,.rzi,.rmi,.rpi}{,.sat}{.u8,.u16,.u32,.u64,.s8,.s16,.s32,.s64}{.f16,.f64}",
    ),
    (
        2,
        "cvt{.rni,.rzi,.rmi,.rpi}{.u8,.u16,.u32,.u64,.s8,.s16,.s32,.s64}.bf16",
    ),
    (
        2,
        "cvt{.rn,.rz,.rm,.rp}{,.ftz}{,.sat}.f32{.u8,.u16,.u32,.u64,.s8,.s16,.s32,.s64}",
    ),
    (
        2,
        "cvt{.rn,.rz,.rm,.rp}{,.sat}{.f16,.f64}{.u8,.u16,.u32,.u64,.s8,.s16,.s32,.s64}",
    ),
    (
        2,
        "cvt{.rn,.rz,.rm,.rp}.bf16{.u8,.u16,.u32,.u64,.s8,.s16,.s32,.s64}",
    ),
    (2, "cvt{,.rni,.rzi,.rmi,.rpi}{,.ftz}{,.sat}.f32.f32"),
    (2, "cvt{,.rni,.rzi,.rmi,.rpi}{,.sat}{.f16.f16,.f64.f64}"),
    (2, "cvt{,.rni,.rzi,.rmi,.rpi}.bf16.bf16"),
    (2, "cvt{.rn,.rz,.rm,.rp}{,.ftz}{,.sat}{.f32.f64,.f16.f32}"),
    (2, "cvt{.rn,.rz,.rm,.rp}{,.sat}.f16.f64"),
    (2, "cvt{.rn,.rz,.rm,.rp}{.bf16.f64,.ftz.bf16.f32,.bf16.f32}"),
    (
        2,
        "cvt{.rn,.rz}{.relu,.satfinite,.relu.satfinite}{.f16,.bf16}.f32",
    ),
    (2, "cvt{,.ftz}{,.sat}{.f64.f32,.f32.f16}"),
    (2, "cvt{,.sat}.f64.f16"),
    (2, "cvt{,.rn,.rz,.rm,.rp}{,.ftz}.f32.bf16"),
    (2, "cvt{,.rn,.rz,.rm,.rp}{.f64.bf16,.f16.bf16,.bf16.f16}"),
    (3, "cvt{.rn,.rz}{,.relu}{,.satfinite}{.f16x2,.bf16x2}.f32"),
    (4, "cvt.rs{,.relu}{,.satfinite}{.f16x2,.bf16x2}.f32"),
    (2, "cvt{.rn,.rz}{,.relu}{,.satfinite}.tf32.f32"),
    (2, "cvt.rna{,.satfinite}.tf32.f32"),
    (
        3,
        "cvt.rn{,.relu}.satfinite{.e4m3x2,.e5m2x2,.e3m2x2,.e2m3x2,.e2m1x2}.f32",
    ),
    (
        2,
        "cvt.rn{,.relu}.satfinite{.e4m3x2,.e5m2x2,.e3m2x2,.e2m3x2,.e2m1x2}{.f16x2,.bf16x2}",
    ),
    (
        2,
        "cvt.rn{,.relu}.f16x2{.e4m3x2,.e5m2x2,.e3m2x2,.e2m3x2,.e2m1x2}",
    ),
    (
        3,
        "cvt.rs{,.relu}.satfinite{.e4m3x4,.e5m2x4,.e3m2x4,.e2m3x4}.f32",
    ),
    (3, "cvt{.rz,.rp}{,.satfinite}.ue8m0x2.f32"),
    (2, "cvt{.rz,.rp}{,.satfinite}.ue8m0x2.bf16x2"),
    (2, "cvt.rn.bf16x2.ue8m0x2"),
    // Data Movement and Conversion Instructions: cvt.pack
    (3, "cvt.pack.sat{.u16,.s16}.s32"),
    (4, "cvt.pack.sat{.u2,.s2,.u4,.s4,.u8,.s8}.s32.b32"),
];

/// An arithmetic instruction without its operands.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Spelling {
    /// Opcode and modifiers: `add.sat.s32`.
    pub text: String,
    /// Operands, the destination and a pair `p|q` counted once.
    pub operands: usize,
}

/// All arithmetic instructions with all their modifiers, in the order of the manual; qualifiers stand as its syntax has them.
pub fn arithmetic() -> Vec<Spelling> {
    let pattern = |&(operands, pattern): &(usize, &str)| {
        let texts = expand(pattern).into_iter();
        texts.map(move |text| Spelling { text, operands })
    };
    SYNTAX.iter().flat_map(pattern).collect()
}

/// What each row of the table is found by, in the manual's order: `cp.async.bulk`.
pub fn rows() -> impl Iterator<Item = &'static str> {
    super::table::ROWS.iter().map(|row| row.spelling)
}

/// The texts that a pattern stands for.
fn expand(pattern: &str) -> Vec<String> {
    let Some((before, rest)) = pattern.split_once('{') else {
        return vec![pattern.to_owned()];
    };
    let (group, after) = rest.split_once('}').unwrap_or((rest, ""));
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

#[cfg(test)]
mod tests {
    use super::super::{Modifier, Opcode, spelled};
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn each_is_known_and_stands_once() {
        let all = arithmetic();
        assert!(all.len() > 5000);
        let mut seen = HashSet::new();
        for spelling in all {
            let (opcode, modifiers) = spelled(&spelling.text);
            assert!(!matches!(opcode, Opcode::Other(_)), "{spelling:?}");
            assert!(!modifiers.has(Modifier::Other), "{spelling:?}");
            assert!(seen.insert(spelling.clone()), "{spelling:?} stands twice");
        }
    }
}
