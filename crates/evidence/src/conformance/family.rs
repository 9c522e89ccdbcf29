//! The instructions by family: every combination of opcode, modifiers and types that an `sm_90` has and the
//! simulator's tables name.

mod approximate;
pub(super) mod atomic;
pub(super) mod carry;
mod compare;
mod convert;
mod doubt;
mod float;
mod half;
mod integer;
mod logic;
pub(super) mod random;
pub(super) mod warp;

use super::spec::{Instruction, Row};

/// A family of instructions, and what its programs are called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Family {
    /// Integer arithmetic and bit operations
    Integer,
    /// Extended precision: instructions with a carry
    Carry,
    /// Logic, shifts, permutations
    Logic,
    /// Comparison and selection
    Compare,
    /// Single and double precision
    Float,
    /// Half precision
    Half,
    /// Conversions
    Convert,
    /// Approximations, compared within the bounds of the PTX manual
    Approximate,
    /// Shuffles, votes, matches, reductions of a warp
    Warp,
    /// Atomic operations
    Atomic,
    /// Instructions of all families that feed each other, with control flow and memory
    Random,
}

impl Family {
    /// All of them.
    pub const ALL: [Family; 11] = [
        Family::Integer,
        Family::Carry,
        Family::Logic,
        Family::Compare,
        Family::Float,
        Family::Half,
        Family::Convert,
        Family::Approximate,
        Family::Warp,
        Family::Atomic,
        Family::Random,
    ];

    /// Its name, as on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Family::Integer => "integer",
            Family::Carry => "carry",
            Family::Logic => "logic",
            Family::Compare => "compare",
            Family::Float => "float",
            Family::Half => "half",
            Family::Convert => "convert",
            Family::Approximate => "approximate",
            Family::Warp => "warp",
            Family::Atomic => "atomic",
            Family::Random => "random",
        }
    }

    fn rows(self) -> &'static [Row] {
        match self {
            Family::Integer => integer::ROWS,
            Family::Logic => logic::ROWS,
            Family::Compare => compare::ROWS,
            Family::Float => float::ROWS,
            Family::Half => half::ROWS,
            Family::Convert => convert::ROWS,
            Family::Approximate => approximate::ROWS,
            Family::Carry | Family::Warp | Family::Atomic | Family::Random => &[],
        }
    }

    /// Its instructions, where a table lists them.
    pub fn instructions(self) -> Vec<Instruction> {
        self.rows().iter().flat_map(Row::instructions).collect()
    }

    /// Whether some program tries an arithmetic instruction of this spelling.
    #[cfg(test)]
    fn tries(spelling: &str) -> bool {
        static ALL: std::sync::LazyLock<std::collections::BTreeSet<String>> =
            std::sync::LazyLock::new(|| {
                let listed = Family::ALL.into_iter().flat_map(Family::instructions);
                let chains = carry::chains().into_iter().map(|(_, i, _)| i);
                listed.chain(chains).map(|i| i.spelling).collect()
            });
        ALL.contains(spelling)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hardware_is_asked_about_every_spelling() {
        // Tests of the simulator demand that it has these and no others.
        let all = ptx::semantics::spellings::arithmetic();
        assert!(all.len() > 1000);
        let missing: Vec<_> = all
            .iter()
            .filter(|s| !beyond_sm_90(&s.text, s.operands - 1))
            .filter(|s| !Family::tries(&s.text))
            .collect();
        assert!(missing.is_empty(), "{missing:?}");
    }

    /// What `ptxas` of CUDA 13.0 refuses to assemble for `sm_90`: newer or older instructions, and those that it
    /// has in no version yet or any more.
    fn beyond_sm_90(spelling: &str, inputs: usize) -> bool {
        let has = |part: &str| spelling.split('.').any(|p| p == part);
        let opcode = spelling.split('.').next().unwrap_or_default();
        let newer_types = [
            "u8x4", "s8x4", "f32x2", "e3m2x2", "e2m3x2", "e2m1x2", "ue8m0x2", "e4m3x4", "e5m2x4",
            "e3m2x4", "e2m3x4",
        ];
        newer_types.into_iter().any(has)
            || has("rs")
            || spelling.ends_with("f32.f16") && opcode != "cvt" && opcode != "set"
            || spelling.ends_with("f32.bf16") && opcode != "cvt" && opcode != "set"
            || inputs == 3 && matches!(opcode, "min" | "max")
            || spelling.starts_with("add.sat.u")
            || spelling == "add.sat.s16x2"
            || opcode == "cvt" && has("tf32") && has("satfinite") && !has("rna")
            || (has("e4m3x2") || has("e5m2x2")) && has("bf16x2")
            // Only in registers of 8 bits.
            || opcode == "cvt" && has("bf16") && (has("u8") || has("s8"))
    }
}
