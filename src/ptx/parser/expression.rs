//! PTX ISA, "Constant Expressions": C's operators over 64-bit integers and
//! doubles, with `generic()` and mask operators for addresses (PTX ISA,
//! "Initializers").
//!
//! An expression is read as a tree and then put into the plainest [`Operand`]
//! that says the same, so that `-1`, `sym+4` or `a|b` each have one form only.

use super::{EXPRESSION_NODES, Fault, Parsed, Parser};
use crate::ptx::ast::*;
use crate::ptx::error::ParseErrorKind;
use crate::ptx::token::Token;

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
    match integer(&expression) {
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
            let right = integer(right)? as i64;
            let sum = match symbol.as_str() {
                "+" => offset.wrapping_add(right),
                _ => offset.wrapping_sub(right),
            };
            Some((name, sum))
        }
        _ => None,
    }
}

/// The value of an expression of integers alone (PTX ISA, "Integer Constant
/// Expression Evaluation"), as 64 bits. `None` where a symbol or a
/// floating-point number is part of it, or it divides by zero.
pub(crate) fn integer(expression: &Expr) -> Option<u64> {
    evaluate(expression).map(|(bits, _)| bits)
}

/// The bits, and whether the value is unsigned. A literal is unsigned where it
/// has the suffix or its sign bit is set; an operation is unsigned where an
/// operand is, a shift where its left operand is, a comparison never.
fn evaluate(expression: &Expr) -> Option<(u64, bool)> {
    match expression {
        Expr::Leaf(Operand::Int(value, suffix)) => {
            Some((*value, *suffix || i64::try_from(*value).is_err()))
        }
        Expr::Leaf(Operand::Name(name, None)) if name == "WARP_SZ" => Some((32, false)),
        Expr::Leaf(_) | Expr::Call(..) => None,
        Expr::Unary(symbol, inner) => {
            let (value, unsigned) = evaluate(inner)?;
            match symbol.as_str() {
                "+" => Some((value, unsigned)),
                "-" => Some((value.wrapping_neg(), unsigned)),
                "~" => Some((!value, unsigned)),
                "!" => Some((u64::from(value == 0), false)),
                "(.s64)" => Some((value, false)),
                "(.u64)" => Some((value, true)),
                _ => None,
            }
        }
        Expr::Binary(symbol, left, right) => {
            binary_value(symbol, evaluate(left)?, evaluate(right)?)
        }
        Expr::Conditional(condition, yes, no) => {
            let (yes, no) = (evaluate(yes)?, evaluate(no)?);
            let value = if evaluate(condition)?.0 != 0 {
                yes.0
            } else {
                no.0
            };
            Some((value, yes.1 || no.1))
        }
    }
}

fn binary_value(symbol: &str, left: (u64, bool), right: (u64, bool)) -> Option<(u64, bool)> {
    let unsigned = left.1 || right.1;
    let (a, b) = (left.0, right.0);
    let shift = u32::try_from(b).unwrap_or(u32::MAX);
    let truth = |value: bool| Some((u64::from(value), false));
    let order = match unsigned {
        true => a.cmp(&b),
        false => (a as i64).cmp(&(b as i64)),
    };
    let value = match (symbol, unsigned) {
        ("+", _) => a.wrapping_add(b),
        ("-", _) => a.wrapping_sub(b),
        ("*", _) => a.wrapping_mul(b),
        ("/", true) => a.checked_div(b)?,
        ("/", false) if b != 0 => (a as i64).wrapping_div(b as i64) as u64,
        ("%", true) => a.checked_rem(b)?,
        ("%", false) if b != 0 => (a as i64).wrapping_rem(b as i64) as u64,
        ("&", _) => a & b,
        ("|", _) => a | b,
        ("^", _) => a ^ b,
        ("<<", _) => return Some((a.checked_shl(shift).unwrap_or(0), left.1)),
        (">>", _) if left.1 => return Some((a.checked_shr(shift).unwrap_or(0), true)),
        (">>", _) => return Some((((a as i64) >> shift.min(63)) as u64, false)),
        ("==", _) => return truth(a == b),
        ("!=", _) => return truth(a != b),
        ("<", _) => return truth(order.is_lt()),
        ("<=", _) => return truth(order.is_le()),
        (">", _) => return truth(order.is_gt()),
        (">=", _) => return truth(order.is_ge()),
        ("&&", _) => return truth(a != 0 && b != 0),
        ("||", _) => return truth(a != 0 || b != 0),
        _ => return None,
    };
    Some((value, unsigned))
}
