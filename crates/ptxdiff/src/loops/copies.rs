//! What loops allow to say of single instructions: whether text that differs is copies of a body.

use super::Loops;
use super::signature::{self, work};
use crate::code::Code;

impl Loops {
    /// Whether an instruction of a side stands for work of which text says nothing: its loop, or another one with this work, is another one
    /// on the other side, which does this work, too.
    pub fn is_explained(&self, code: &Code, side: usize, index: usize) -> bool {
        let instr = &code.instructions[index];
        let all = work(instr);
        !all.is_empty()
            && all.iter().all(|(key, _)| {
                let unclear = self
                    .unclear
                    .iter()
                    .any(|other| signature::may_be(key, other));
                unclear && self.bags[1 - side].has(key)
            })
    }
}
