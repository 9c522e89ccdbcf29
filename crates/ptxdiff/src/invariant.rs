//! Whether an access has one address in all iterations of a loop.
//!
//! A register is invariant in a loop if all its definitions are outside of it, or if it has one definition, whose operands are invariant
//! (A. V. Aho et al., "Compilers: Principles, Techniques, and Tools", 9.1.7, loop-invariant computations).
//!
//! What it cannot see: a value that is loaded in each iteration counts as invariant if its address is; whether anything writes it, is not
//! asked.

use super::class::InstructionClass;
use super::code::{Code, Token};
use super::evaluate::Definitions;
use ptx::ast::Operand;

/// Instructions between an address and what it starts from.
const DEPTH: u32 = 16;

/// Whether the addresses of an instruction are the same in all iterations of a loop around it.
pub fn has_one_address(
    code: &Code,
    definitions: &Definitions,
    index: usize,
    within: usize,
) -> bool {
    let nodes = &code.flow.loops[within].nodes;
    let instr = &code.instructions[index];
    let guarded = usize::from(instr.instr.guard.is_some());
    let operands = instr
        .instr
        .operands
        .iter()
        .zip(instr.operands.iter().skip(guarded));
    let mut addresses = operands.filter(|(operand, _)| matches!(operand, Operand::Address(_)));
    addresses.all(|(_, tokens)| are_invariant(code, definitions, tokens, nodes, DEPTH))
}

fn are_invariant(
    code: &Code,
    definitions: &Definitions,
    tokens: &[Token],
    nodes: &[usize],
    depth: u32,
) -> bool {
    tokens.iter().all(|token| match token {
        Token::Register(web) => {
            let own = definitions.of_register(*web);
            let inside = |&&index: &&usize| nodes.contains(&code.instructions[index].block);
            match (own, own.iter().find(inside)) {
                (_, None) => true,
                ([one], Some(_)) if depth > 0 => {
                    let instr = &code.instructions[*one];
                    let guarded = usize::from(instr.instr.guard.is_some());
                    let sources = instr.operands.iter().skip(guarded + instr.destinations());
                    let computes = !matches!(
                        instr.class,
                        InstructionClass::Atomic(_)
                            | InstructionClass::WarpExchange
                            | InstructionClass::Call
                    );
                    computes
                        && sources.into_iter().all(|source| {
                            are_invariant(code, definitions, source, nodes, depth - 1)
                        })
                }
                _ => false,
            }
        }
        _ => true,
    })
}
