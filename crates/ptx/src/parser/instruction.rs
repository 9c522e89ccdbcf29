//! PTX ISA, "Instruction Statements" and "Predicated Execution".

use super::{Parsed, Parser};
use crate::ast::*;
use crate::token::Token;

/// The instructions that take a vector of one element for the element.
const MAY_BE_ONE: [&str; 4] = ["ld", "ldu", "st", "mov"];

impl Parser<'_> {
    /// `[@[!]p] opcode.modifier… operand, …;`
    pub(super) fn instruction(&mut self) -> Parsed<Instruction> {
        let start = self.span();
        let guard = self.guard()?;
        let opcode = self.word("an instruction")?;
        let mut modifiers = Vec::new();
        while let Token::Dotted(name) = *self.token() {
            self.spend(4 * size_of::<String>())?;
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
            let operand = match opcode == "call" && self.is("(") {
                true => self.call_list()?,
                false => self.operand()?,
            };
            operands.push(match operand {
                // `ld.global.b32 {%r1}, [%rd1]`, as Triton writes it: a vector of one is its element, which the manual does not say and
                // `ptxas` does.
                Operand::Vector(mut lanes) if lanes.len() == 1 && MAY_BE_ONE.contains(&opcode) => {
                    lanes.remove(0)
                }
                operand => operand,
            });
            if self.eat(";") {
                return Ok(operands);
            }
            if !self.eat(",") {
                return Err(self.missing("`,` or `;` after the operand"));
            }
        }
    }

    /// "Control Flow Instructions: call": `(a, b)`, unless the parenthesis turns out
    /// to belong to a constant expression.
    fn call_list(&mut self) -> Parsed<Operand> {
        let start = self.at;
        let open = self.span();
        self.advance();
        let list = self.list(open, ("(", ")"), "the call's list", Self::operand);
        if list.is_ok() && (self.is(",") || self.is(";")) {
            return list.map(Operand::List);
        }
        let end = std::mem::replace(&mut self.at, start);
        match (list, self.operand()) {
            (_, Ok(expression)) if self.is(",") || self.is(";") => Ok(expression),
            (list, _) => {
                self.at = end;
                list.map(Operand::List)
            }
        }
    }
}
