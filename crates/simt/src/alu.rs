//! Arithmetic: from an opcode and its modifiers to one function over rows.
//!
//! A *row* holds one register of the 32 lanes of a warp. Every arithmetic
//! instruction is resolved, once, when a kernel is lowered, to an [`AluOp`]: a
//! plain function pointer whose type says what goes in and comes out. The
//! execution loop calls it once for each warp-instruction; it computes all 32
//! lanes (the caller discards the inactive ones), in a loop that the compiler
//! can vectorise. Lane functions are pure and total: no input panics.
//!
//! Operand classes, one letter each in the variant names:
//!
//! * `W` — 32-bit row: types of 8, 16 and 32 bits (`.f16x2` too). Values narrower
//!   than 32 bits are kept zero-extended; functions must ignore the upper bits of
//!   narrower inputs and produce zero-extended results.
//! * `D` — 64-bit row.
//! * `P` — predicate: a bit for each lane.
//!
//! The name reads inputs `_` outputs, in the order of the operands.

pub mod compare;
pub mod convert;
mod exact;
pub mod float;
mod form;
pub mod half;
pub mod integer;
pub mod logic;
mod order;
mod rounding;
mod rows;
mod spelling;
#[cfg(test)]
mod testing;
mod words;

use ptx::semantics::{Modifier, Opcode};

/// A 32-bit register of a warp, lane 0 first.
pub type Row32 = [u32; 32];
/// A 64-bit register of a warp, lane 0 first.
pub type Row64 = [u64; 32];
/// One bit a lane.
pub type Mask = u32;

/// `lop3` with its predicate form; see [`AluOp::WWWWP_WP`].
pub type Lop3Test = fn(&Row32, &Row32, &Row32, &Row32, Mask, &mut Row32) -> Mask;

/// An arithmetic operation over rows; see the module's page for the names.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, non_camel_case_types)]
pub enum AluOp {
    W_W(fn(&Row32, &mut Row32)),
    WW_W(fn(&Row32, &Row32, &mut Row32)),
    WWW_W(fn(&Row32, &Row32, &Row32, &mut Row32)),
    WWWW_W(fn(&Row32, &Row32, &Row32, &Row32, &mut Row32)),
    /// `cvt.rs` of four values: `d, {a, b, e, f}, rbits`.
    WWWWW_W(fn(&Row32, &Row32, &Row32, &Row32, &Row32, &mut Row32)),
    D_D(fn(&Row64, &mut Row64)),
    DD_D(fn(&Row64, &Row64, &mut Row64)),
    DDD_D(fn(&Row64, &Row64, &Row64, &mut Row64)),
    W_D(fn(&Row32, &mut Row64)),
    D_W(fn(&Row64, &mut Row32)),
    WW_D(fn(&Row32, &Row32, &mut Row64)),
    DD_W(fn(&Row64, &Row64, &mut Row32)),
    WWD_D(fn(&Row32, &Row32, &Row64, &mut Row64)),
    DW_D(fn(&Row64, &Row32, &mut Row64)),
    DWW_D(fn(&Row64, &Row32, &Row32, &mut Row64)),
    DDWW_D(fn(&Row64, &Row64, &Row32, &Row32, &mut Row64)),
    DDW_D(fn(&Row64, &Row64, &Row32, &mut Row64)),
    WWD_W(fn(&Row32, &Row32, &Row64, &mut Row32)),
    /// Comparison into a predicate (`setp` without its optional combination).
    WW_P(fn(&Row32, &Row32) -> Mask),
    DD_P(fn(&Row64, &Row64) -> Mask),
    /// `setp.f16x2`/`setp.bf16x2` `p|q`: the lower and the upper halves' comparison.
    WW_PP(fn(&Row32, &Row32) -> (Mask, Mask)),
    /// `testp`.
    W_P(fn(&Row32) -> Mask),
    D_P(fn(&Row64) -> Mask),
    /// `selp`.
    WWP_W(fn(&Row32, &Row32, Mask, &mut Row32)),
    DDP_D(fn(&Row64, &Row64, Mask, &mut Row64)),
    /// Predicate logic (`and.pred`, `or.pred`, `xor.pred`, `not.pred`, `mov.pred`).
    P_P(fn(Mask) -> Mask),
    PP_P(fn(Mask, Mask) -> Mask),
    /// `lop3.or.b32`/`lop3.and.b32` `d|p, a, b, c, immLut, q`: writes `d` and
    /// returns `p = (d != 0) op q`.
    WWWWP_WP(Lop3Test),
    /// Extended precision: the last input is the carry flag (`CC.CF`) of each
    /// lane, the returned mask the flag afterwards: as it was, for instructions
    /// without `.cc`.
    WW_W_Carry(fn(&Row32, &Row32, Mask, &mut Row32) -> Mask),
    DD_D_Carry(fn(&Row64, &Row64, Mask, &mut Row64) -> Mask),
    WWW_W_Carry(fn(&Row32, &Row32, &Row32, Mask, &mut Row32) -> Mask),
    DDD_D_Carry(fn(&Row64, &Row64, &Row64, Mask, &mut Row64) -> Mask),
}

/// The value of an `.f16` code.
pub(crate) fn half_value(code: u32) -> f32 {
    <half::F16 as half::Half>::widen(code)
}

/// The `.f16` code nearest to a value.
pub(crate) fn to_half(value: f64) -> u32 {
    half::narrow_double::<half::F16>(value)
}

/// The operation that an opcode with its modifiers is, or `None` where racetrap does
/// not implement it.
///
/// `operands` is the number of operands as written, destination included and a
/// pair `p|q` counted once (it tells `cvt.rn.f16x2.f32 d, a` from `d, a, b`).
///
/// `setp` resolves to the comparison alone: combining it (`.and`/`.or`/`.xor`) and
/// the complement in `p|q` are the caller's. So does `set`, always: the caller
/// combines, then writes the row with [`compare::set_truth`] and
/// [`compare::write_set`] (or [`compare::write_set_pair`]). `lop3` takes `immLut` as
/// a row that holds it in every lane. `mov` resolves for plain registers; packing
/// and unpacking of vectors is the caller's.
pub fn lookup(opcode: &Opcode, modifiers: &[Modifier], operands: usize) -> Option<AluOp> {
    integer::lookup(opcode, modifiers, operands)
        .or_else(|| logic::lookup(opcode, modifiers, operands))
        .or_else(|| compare::lookup(opcode, modifiers, operands))
        .or_else(|| float::lookup(opcode, modifiers, operands))
        .or_else(|| half::lookup(opcode, modifiers, operands))
        .or_else(|| convert::lookup(opcode, modifiers, operands))
}

#[cfg(test)]
mod tests;
