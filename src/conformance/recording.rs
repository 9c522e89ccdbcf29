//! What a GPU gave, small enough to keep: a hash of each column.
//!
//! Programs and inputs follow from the seed, so a line for each program is enough: its number, the hash of its text and
//! inputs, and a hash of each column of outputs. The hash of the program tells a generator that writes another
//! program now from a wrong value.

use super::build::Program;

/// FNV-1a of 64 bits (Fowler, Noll, Vo): short, and the same in every version.
pub fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// The hash of a program and its inputs.
pub fn identity(program: &Program) -> u64 {
    hash(program.ptx.as_bytes()) ^ hash(&program.input_bytes()).rotate_left(1)
}

/// The hashes of its output columns.
pub fn columns(program: &Program, outputs: &[u8]) -> Vec<u64> {
    program
        .outputs
        .iter()
        .map(|o| hash(&outputs[o.range()]))
        .collect()
}

/// The line of a program.
pub fn line(program: &Program, outputs: &[u8]) -> String {
    let mut line = format!("{} {:016x}", program.number, identity(program));
    for column in columns(program, outputs) {
        line += &format!(" {column:016x}");
    }
    line
}
