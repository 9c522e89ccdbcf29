//! PTX ISA, "Instruction Statements" and "Predicated Execution".

use super::{Parsed, Parser};
use crate::ptx::ast::*;
use crate::ptx::token::Token;

impl Parser<'_> {
    /// `[@[!]p] opcode.modifier… operand, …;`
    pub(super) fn instruction(&mut self) -> Parsed<Instruction> {
        let start = self.span();
        let guard = self.guard()?;
        let opcode = self.word("an instruction")?;
        let mut modifiers = Vec::new();
        while let Token::Dotted(name) = *self.token() {
            modifiers.push(name[1..].to_owned());
            self.advance();
        }
        let operands = match self.eat(";") {
            true => Vec::new(),
            false => self.operands(&opcode)?,
        };
        Ok(Instruction {
            guard,
            opcode,
            modifiers,
            operands,
            span: self.span_since(start),
        })
    }

    /// "Predicated Execution": `@p` or `@!p`.
    fn guard(&mut self) -> Parsed<Option<Guard>> {
        if !self.eat("@") {
            return Ok(None);
        }
        let negated = self.eat("!");
        let register = self.word("a predicate register")?;
        Ok(Some(Guard { negated, register }))
    }

    /// The operands and the semicolon behind them.
    fn operands(&mut self, opcode: &str) -> Parsed<Vec<Operand>> {
        let mut operands = Vec::new();
        loop {
            let open = self.span();
            // "Control Flow Instructions: call" has parenthesised lists.
            let operand = if opcode == "call" && self.eat("(") {
                Operand::List(self.list(open, ("(", ")"), "the call's list", Self::operand)?)
            } else {
                self.operand()?
            };
            operands.push(operand);
            if self.eat(";") {
                return Ok(operands);
            }
            if !self.eat(",") {
                return Err(self.missing("`,` or `;` after the operand"));
            }
        }
    }
}
