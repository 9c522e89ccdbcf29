//! PTX ISA, "Instruction Operands".

use super::expression::{into_operand, name_and_offset};
use super::{Parsed, Parser};
use crate::ast::*;
use crate::token::{Lexeme, Token};

impl Parser<'_> {
    /// One operand of an instruction, or one value of an initialiser.
    pub(super) fn operand(&mut self) -> Parsed<Operand> {
        // With the name's own memory, and the tokens that a long list keeps.
        self.spend(2 * (size_of::<Operand>() + size_of::<Lexeme<'_>>()))?;
        let open = self.span();
        match *self.token() {
            Token::Symbol("[") => {
                self.advance();
                self.nested("operands", |parser| parser.address(open))
            }
            Token::Symbol("{") => {
                self.advance();
                self.nested("operands", |parser| {
                    let inside = "the vector operand";
                    let lanes = parser.list(open, ("{", "}"), inside, Self::operand)?;
                    Ok(Operand::Vector(lanes))
                })
            }
            Token::Text(text) => {
                self.advance();
                Ok(Operand::Text(text.to_owned()))
            }
            // "Arrays as Operands": `arr[2]`.
            Token::Word(name) if matches!(self.lexeme(1).token, Token::Symbol("[")) => {
                self.advance();
                self.advance();
                let index = self.constant("an index that is a constant")?;
                self.expect("]", "`]` after the index")?;
                Ok(Operand::Index(name.to_owned(), index))
            }
            _ => Ok(into_operand(self.expression()?)),
        }
    }

    /// "Addresses as Operands": what follows the `[` at `open`.
    fn address(&mut self, open: Span) -> Parsed<Operand> {
        let (base, offset) = match self.token() {
            Token::Symbol("]") => return Err(self.unexpected("an address")),
            Token::Symbol("{") => (self.operand()?, 0),
            _ => name_and_offset(self.expression()?),
        };
        let mut rest = Vec::new();
        while !self.eat("]") {
            self.not_at_end(open, "[", "an address")?;
            if !self.eat(",") {
                return Err(self.missing("`]` after the address"));
            }
            rest.push(self.operand()?);
        }
        Ok(Operand::Address(Address {
            base: Box::new(base),
            offset,
            rest,
        }))
    }
}
