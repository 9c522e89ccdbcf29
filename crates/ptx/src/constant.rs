//! The values of constant expressions (PTX ISA, "Constant Expressions").
//!
//! Integers have 64 bits, signed or unsigned, and wrap; a floating-point number is
//! a double. The two do not mix. Where the manual's text ("Integer Constant
//! Expression Evaluation") and its table ("Summary of Constant Expression
//! Evaluation Rules") disagree or say nothing, the value is the one that `ptxas`
//! computes: `& | ^` convert their operands as `+` does, `%` is unsigned, and a
//! shift takes its distance modulo 64.

use std::cmp::Ordering;

use super::ast::{Expr, Operand};

/// A value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Constant {
    /// `.s64`
    S64(i64),
    /// `.u64`
    U64(u64),
    /// `.f64`
    F64(f64),
}

impl Constant {
    /// The 64 bits of an integer; `None` for a floating-point number.
    pub fn bits(self) -> Option<u64> {
        match self {
            Constant::S64(value) => Some(value as u64),
            Constant::U64(value) => Some(value),
            Constant::F64(_) => None,
        }
    }

    fn is_unsigned(self) -> bool {
        matches!(self, Constant::U64(_))
    }

    fn is_zero(self) -> Option<bool> {
        self.bits().map(|bits| bits == 0)
    }
}

/// The value of an expression. `None` where a symbol, `generic()` or a `0f…` single
/// is part of it, where integers meet floating-point numbers, or where an integer
/// is divided by zero.
pub fn evaluate(expression: &Expr) -> Option<Constant> {
    match expression {
        Expr::Leaf(operand) => leaf(operand),
        Expr::Call(..) => None,
        Expr::Unary(symbol, inner) => unary(symbol, evaluate(inner)?),
        Expr::Binary(symbol, left, right) => binary(symbol, evaluate(left)?, evaluate(right)?),
        Expr::Conditional(condition, yes, no) => {
            let otherwise = evaluate(condition)?.is_zero()?;
            let (yes, no) = (evaluate(yes)?, evaluate(no)?);
            let chosen = if otherwise { no } else { yes };
            match (yes, no) {
                (Constant::F64(_), Constant::F64(_)) => Some(chosen),
                _ => integers(yes, no)
                    .and_then(|(_, unsigned)| chosen.bits().map(|bits| integer(bits, unsigned))),
            }
        }
    }
}

/// The value of an operand that is a literal or an expression; see [`evaluate`].
///
/// ```
/// # use racetrap_ptx::{ast::Operand, constant::{Constant, evaluate_operand}};
/// let minus_two = Operand::Neg(Box::new(Operand::Int(2, false)));
/// assert_eq!(evaluate_operand(&minus_two), Some(Constant::S64(-2)));
/// ```
pub fn evaluate_operand(operand: &Operand) -> Option<Constant> {
    match operand {
        Operand::Neg(inner) => unary("-", leaf(inner)?),
        Operand::Not(inner) => unary("!", leaf(inner)?),
        Operand::Expr(expression) => evaluate(expression),
        operand => leaf(operand),
    }
}

fn leaf(operand: &Operand) -> Option<Constant> {
    match operand {
        // Signed, unless it has the suffix or would overflow.
        Operand::Int(value, suffix) => match i64::try_from(*value) {
            Ok(value) if !suffix => Some(Constant::S64(value)),
            _ => Some(Constant::U64(*value)),
        },
        Operand::F64(bits) => Some(Constant::F64(f64::from_bits(*bits))),
        // "Predefined Constants"
        Operand::Name(name, None) if name == "WARP_SZ" => Some(Constant::S64(32)),
        _ => None,
    }
}

fn unary(symbol: &str, value: Constant) -> Option<Constant> {
    match (symbol, value) {
        ("+", value) => Some(value),
        ("-", Constant::S64(value)) => Some(Constant::S64(value.wrapping_neg())),
        ("-", Constant::U64(value)) => Some(Constant::U64(value.wrapping_neg())),
        ("-", Constant::F64(value)) => Some(Constant::F64(-value)),
        ("!", value) => value.is_zero().map(truth),
        ("~", value) => value.bits().map(|bits| Constant::U64(!bits)),
        ("(.s64)", value) => value.bits().map(|bits| Constant::S64(bits as i64)),
        ("(.u64)", value) => value.bits().map(Constant::U64),
        _ => None,
    }
}

fn binary(symbol: &str, left: Constant, right: Constant) -> Option<Constant> {
    if let (Constant::F64(left), Constant::F64(right)) = (left, right) {
        return floating(symbol, left, right);
    }
    let ((a, b), unsigned) = integers(left, right)?;
    let (signed_a, signed_b) = (a as i64, b as i64);
    let order = if unsigned {
        a.cmp(&b)
    } else {
        signed_a.cmp(&signed_b)
    };
    let distance = (b % 64) as u32;
    let bits = match symbol {
        "+" => a.wrapping_add(b),
        "-" => a.wrapping_sub(b),
        "*" => a.wrapping_mul(b),
        "/" | "%" if b == 0 => return None,
        "/" if unsigned => a / b,
        "/" => signed_a.wrapping_div(signed_b) as u64,
        "%" => return Some(Constant::U64(a % b)),
        "&" => a & b,
        "|" => a | b,
        "^" => a ^ b,
        "<<" => return Some(integer(a << distance, left.is_unsigned())),
        ">>" if left.is_unsigned() => return Some(Constant::U64(a >> distance)),
        ">>" => return Some(Constant::S64(signed_a >> distance)),
        "&&" => return Some(truth(a != 0 && b != 0)),
        "||" => return Some(truth(a != 0 || b != 0)),
        _ => return compare(symbol, order),
    };
    Some(integer(bits, unsigned))
}

fn floating(symbol: &str, left: f64, right: f64) -> Option<Constant> {
    match symbol {
        "+" => Some(Constant::F64(left + right)),
        "-" => Some(Constant::F64(left - right)),
        "*" => Some(Constant::F64(left * right)),
        "/" => Some(Constant::F64(left / right)),
        _ => compare(symbol, left.partial_cmp(&right)?),
    }
}

fn compare(symbol: &str, order: Ordering) -> Option<Constant> {
    match symbol {
        "==" => Some(truth(order.is_eq())),
        "!=" => Some(truth(order.is_ne())),
        "<" => Some(truth(order.is_lt())),
        "<=" => Some(truth(order.is_le())),
        ">" => Some(truth(order.is_gt())),
        ">=" => Some(truth(order.is_ge())),
        _ => None,
    }
}

/// "The usual arithmetic conversions": both unsigned where one of them is.
fn integers(left: Constant, right: Constant) -> Option<((u64, u64), bool)> {
    let unsigned = left.is_unsigned() || right.is_unsigned();
    Some(((left.bits()?, right.bits()?), unsigned))
}

fn integer(bits: u64, unsigned: bool) -> Constant {
    if unsigned {
        Constant::U64(bits)
    } else {
        Constant::S64(bits as i64)
    }
}

fn truth(value: bool) -> Constant {
    Constant::S64(i64::from(value))
}
