//! PTX ISA, "Constant Expressions": C's operators over 64-bit integers and
//! doubles, with `generic()` and mask operators for addresses (PTX ISA,
//! "Initializers").
//!
//! An expression is read as a tree and then put into the plainest [`Operand`]
//! that says the same, so that `-1`, `sym+4` or `a|b` each have one form only.

use super::{EXPRESSION_NODES, Fault, Parsed, Parser};
use crate::ast::*;
use crate::constant::{Constant, evaluate};
use crate::error::ParseErrorKind;
use crate::token::Token;

/// Binary operators with their precedence: the larger binds the tighter.
const BINARY: [(&str, u8); 18] = [
    ("||", 1),
    ("&&", 2),
    ("|", 3),
    ("^", 4),
    ("&", 5),
    ("==", 6),
    ("!=", 6),
    ("<", 7),
    ("<=", 7),
    (">", 7),
    (">=", 7),
    ("<<", 8),
    (">>", 8),
    ("+", 9),
    ("-", 9),
    ("*", 10),
    ("/", 10),
    ("%", 10),
];

/// How tightly a binary operator binds; `None` for what is none.
pub(crate) fn precedence(symbol: &str) -> Option<u8> {
    BINARY
        .iter()
        .find(|(name, _)| *name == symbol)
        .map(|(_, precedence)| *precedence)
}

impl Parser<'_> {
    /// A whole expression.
    pub(super) fn expression(&mut self) -> Parsed<Expr> {
        self.nodes = 0;
        self.conditional()
    }

    /// `a ? b : c`, which binds the loosest.
    fn conditional(&mut self) -> Parsed<Expr> {
        let condition = self.binary(1)?;
        if !self.eat("?") {
            return Ok(condition);
        }
        let (yes, no) = self.nested("operands", |parser| {
            parser.node()?;
            let yes = parser.conditional()?;
            parser.expect(":", "`:` and the other value")?;
            Ok((yes, parser.conditional()?))
        })?;
        Ok(Expr::Conditional(
            Box::new(condition),
            Box::new(yes),
            Box::new(no),
        ))
    }

    /// Precedence climbing: operators of at least `lowest`, left to right.
    fn binary(&mut self, lowest: u8) -> Parsed<Expr> {
        let mut left = self.unary()?;
        while let Token::Symbol(symbol) = *self.token() {
            let Some(precedence) = precedence(symbol).filter(|p| *p >= lowest) else {
                break;
            };
            self.advance();
            let right = self.binary(precedence + 1)?;
            left = Expr::Binary(symbol.to_owned(), Box::new(left), Box::new(right));
        }
        Ok(left)
    }

    fn unary(&mut self) -> Parsed<Expr> {
        self.node()?;
        match *self.token() {
            Token::Symbol(symbol @ ("+" | "-" | "!" | "~")) => {
                self.advance();
                let inner = self.nested("operands", Self::unary)?;
                Ok(Expr::Unary(symbol.to_owned(), Box::new(inner)))
            }
            Token::Symbol("(") => match self.lexeme(1).token {
                Token::Dotted(ty @ (".s64" | ".u64")) => {
                    self.advance();
                    self.advance();
                    self.expect(")", "`)` after the cast's type")?;
                    let inner = self.nested("operands", Self::unary)?;
                    Ok(Expr::Unary(format!("({ty})"), Box::new(inner)))
                }
                _ => self.parenthesised(),
            },
            _ => self.leaf(),
        }
    }

    fn parenthesised(&mut self) -> Parsed<Expr> {
        self.expect("(", "`(`")?;
        let inner = self.nested("operands", Self::conditional)?;
        self.expect(")", "`)` after the expression")?;
        Ok(inner)
    }

    fn leaf(&mut self) -> Parsed<Expr> {
        let text = self.text();
        let operand = match *self.token() {
            Token::Int(value, unsigned) => Operand::Int(value, unsigned),
            Token::F32(bits) => Operand::F32(bits),
            Token::F64(bits) => Operand::F64(bits),
            Token::Dotted(text) if text.as_bytes()[1].is_ascii_digit() => match text.parse::<f64>()
            {
                Ok(value) => Operand::F64(value.to_bits()),
                Err(_) => return Err(self.unexpected("an operand")),
            },
            Token::Word(name) => Operand::Name(name.to_owned(), None),
            _ => return Err(self.unexpected("a register, number, label or address")),
        };
        self.advance();
        match operand {
            // `generic(sym)`, and the mask operator `0xff00(sym)`.
            Operand::Name(..) | Operand::Int(..) if self.is("(") => {
                Ok(Expr::Call(text.to_owned(), Box::new(self.parenthesised()?)))
            }
            // "Vectors as Operands": `%tid.x`.
            Operand::Name(name, _) => {
                let component = match *self.token() {
                    Token::Dotted(component) => {
                        self.advance();
                        Some(component[1..].to_owned())
                    }
                    _ => None,
                };
                Ok(Expr::Leaf(Operand::Name(name, component)))
            }
            operand => Ok(Expr::Leaf(operand)),
        }
    }

    fn node(&mut self) -> Parsed<()> {
        self.nodes += 1;
        if self.nodes > EXPRESSION_NODES {
            let kind = ParseErrorKind::TooDeep {
                what: "operators",
                limit: EXPRESSION_NODES,
            };
            return Err(Fault::new(self.span(), kind));
        }
        Ok(())
    }
}

/// The plainest operand that says the same.
pub(super) fn into_operand(expression: Expr) -> Operand {
    if let Expr::Binary(..) = expression
        && let Some((name, offset)) = symbol_and_offset(&expression)
    {
        return Operand::Offset(name.to_owned(), offset);
    }
    match expression {
        Expr::Leaf(operand) => operand,
        Expr::Unary(symbol, inner) => match (symbol.as_str(), *inner) {
            ("-", Expr::Leaf(operand)) => Operand::Neg(Box::new(operand)),
            ("!", Expr::Leaf(operand @ Operand::Name(..))) => Operand::Not(Box::new(operand)),
            (_, inner) => Operand::Expr(Box::new(Expr::Unary(symbol, Box::new(inner)))),
        },
        Expr::Binary(symbol, left, right) => match (symbol.as_str(), *left, *right) {
            // A pair of destinations: no constant has a name.
            ("|", Expr::Leaf(left @ Operand::Name(..)), Expr::Leaf(right @ Operand::Name(..))) => {
                Operand::Pair(Box::new(left), Box::new(right))
            }
            (_, left, right) => Operand::Expr(Box::new(Expr::Binary(
                symbol,
                Box::new(left),
                Box::new(right),
            ))),
        },
        other => Operand::Expr(Box::new(other)),
    }
}

/// The base and offset of an address.
pub(super) fn name_and_offset(expression: Expr) -> (Operand, i64) {
    if let Some((name, offset)) = symbol_and_offset(&expression) {
        return (Operand::Name(name.to_owned(), None), offset);
    }
    match evaluate(&expression).and_then(Constant::bits) {
        Some(address) => (Operand::Int(address, false), 0),
        None => (into_operand(expression), 0),
    }
}

/// `sym`, `sym+8`, `sym+-8`, `sym-4*2`.
fn symbol_and_offset(expression: &Expr) -> Option<(&str, i64)> {
    match expression {
        Expr::Leaf(Operand::Name(name, None)) => Some((name, 0)),
        Expr::Binary(symbol, left, right) if symbol == "+" || symbol == "-" => {
            let (name, offset) = symbol_and_offset(left)?;
            let right = evaluate(right)?.bits()? as i64;
            let sum = match symbol.as_str() {
                "+" => offset.wrapping_add(right),
                _ => offset.wrapping_sub(right),
            };
            Some((name, sum))
        }
        _ => None,
    }
}
