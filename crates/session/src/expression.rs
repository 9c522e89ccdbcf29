//! Integer expressions over named sizes: `ceil_div(n, threads) * 4`.
//!
//! A recursive-descent parser with the usual precedences. Arithmetic is on
//! 64-bit signed integers and checked: an overflow or a division by zero is an
//! error, never a value. Errors carry the column inside the expression's text.

use super::buffer::integer;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;

/// What the functions are called, how many arguments they take, what they compute.
const FUNCTIONS: &[(&str, usize, fn(&[i64]) -> Option<i64>)] = &[
    ("ceil_div", 2, |a| {
        let (quotient, rest) = (
            a[0].checked_div_euclid(a[1])?,
            a[0].checked_rem_euclid(a[1])?,
        );
        Some(quotient + i64::from(rest != 0))
    }),
    ("min", 2, |a| Some(a[0].min(a[1]))),
    ("max", 2, |a| Some(a[0].max(a[1]))),
    ("pow2", 1, |a| (0..63).contains(&a[0]).then(|| 1 << a[0])),
    ("pow2ceil", 1, |a| {
        i64::try_from(positive(a[0])?.checked_next_power_of_two()?).ok()
    }),
    ("pow2floor", 1, |a| Some(1 << positive(a[0])?.ilog2())),
    ("log2ceil", 1, |a| {
        Some(i64::from(
            positive(a[0])?.checked_next_power_of_two()?.ilog2(),
        ))
    }),
    ("log2floor", 1, |a| Some(i64::from(positive(a[0])?.ilog2()))),
];

fn positive(value: i64) -> Option<u64> {
    u64::try_from(value).ok().filter(|v| *v > 0)
}

/// An expression that can't be parsed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("column {column} of `{text}`: {problem}")]
pub struct ExpressionError {
    /// The whole expression.
    pub text: String,
    /// Where, from 1, in characters.
    pub column: usize,
    /// What is wrong there.
    pub problem: String,
}

/// An expression that has no value for the sizes drawn.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EvaluationError {
    /// A name without a value.
    #[error("`{name}` in `{text}` is not a name that is known here")]
    UnknownName {
        /// The name.
        name: String,
        /// The whole expression.
        text: String,
    },
    /// Overflow, division by zero, or a function outside its domain.
    #[error("`{part}` in `{text}` overflows or is undefined ({operands})")]
    Undefined {
        /// The operator or function.
        part: String,
        /// The whole expression.
        text: String,
        /// The values it was given.
        operands: String,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Node {
    Number(i64),
    Name(String),
    Binary(&'static str, Box<Node>, Box<Node>),
    Call(usize, Vec<Node>),
}

/// A parsed integer expression over names.
#[derive(Clone, PartialEq, Eq)]
pub struct Expression {
    text: String,
    root: Node,
}

impl Expression {
    /// Parses it. Operators `+ - * / %` (division and remainder round towards negative
    /// infinity for positive divisors), one comparison `< <= > >= == !=` (1 or 0), parentheses, decimal and hexadecimal integers, names, and the functions
    /// `ceil_div(a, b)`, `min(a, b)`, `max(a, b)`, `pow2(k)`, `pow2ceil(a)`, `pow2floor(a)`,
    /// `log2ceil(a)` and `log2floor(a)`.
    pub fn parse(text: &str) -> Result<Expression, ExpressionError> {
        let mut parser = Parser {
            text,
            position: 0,
            depth: 0,
        };
        let root = parser.comparison()?;
        match parser.peek() {
            None => Ok(Expression {
                text: text.trim().to_owned(),
                root,
            }),
            Some(c) => Err(parser.error(format!("expected an operator or the end, found `{c}`"))),
        }
    }

    /// An expression that is one number.
    pub fn constant(value: i64) -> Expression {
        Expression {
            text: value.to_string(),
            root: Node::Number(value),
        }
    }

    /// As it was written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The names it uses.
    pub fn names(&self) -> BTreeSet<&str> {
        fn collect<'a>(node: &'a Node, into: &mut BTreeSet<&'a str>) {
            match node {
                Node::Number(_) => {}
                Node::Name(name) => {
                    into.insert(name);
                }
                Node::Binary(_, a, b) => {
                    collect(a, into);
                    collect(b, into);
                }
                Node::Call(_, arguments) => arguments.iter().for_each(|a| collect(a, into)),
            }
        }
        let mut names = BTreeSet::new();
        collect(&self.root, &mut names);
        names
    }

    /// The name, if it is nothing but a name.
    pub fn as_name(&self) -> Option<&str> {
        match &self.root {
            Node::Name(name) => Some(name),
            _ => None,
        }
    }

    /// Its value, names looked up by `value_of`.
    pub fn evaluate(&self, value_of: &dyn Fn(&str) -> Option<i64>) -> Result<i64, EvaluationError> {
        self.value(&self.root, value_of)
    }

    fn value(
        &self,
        node: &Node,
        value_of: &dyn Fn(&str) -> Option<i64>,
    ) -> Result<i64, EvaluationError> {
        let undefined = |part: String, operands: &[i64]| EvaluationError::Undefined {
            part,
            text: self.text.clone(),
            operands: operands
                .iter()
                .map(i64::to_string)
                .collect::<Vec<_>>()
                .join(", "),
        };
        match node {
            Node::Number(n) => Ok(*n),
            Node::Name(name) => value_of(name).ok_or_else(|| EvaluationError::UnknownName {
                name: name.clone(),
                text: self.text.clone(),
            }),
            Node::Binary(operator, a, b) => {
                let (a, b) = (self.value(a, value_of)?, self.value(b, value_of)?);
                match *operator {
                    "+" => a.checked_add(b),
                    "-" => a.checked_sub(b),
                    "*" => a.checked_mul(b),
                    "/" => a.checked_div_euclid(b),
                    "%" => a.checked_rem_euclid(b),
                    "<" => Some(i64::from(a < b)),
                    "<=" => Some(i64::from(a <= b)),
                    ">" => Some(i64::from(a > b)),
                    ">=" => Some(i64::from(a >= b)),
                    "==" => Some(i64::from(a == b)),
                    _ => Some(i64::from(a != b)),
                }
                .ok_or_else(|| undefined(operator.to_string(), &[a, b]))
            }
            Node::Call(function, arguments) => {
                let values = arguments
                    .iter()
                    .map(|a| self.value(a, value_of))
                    .collect::<Result<Vec<_>, _>>()?;
                let (name, _, compute) = FUNCTIONS[*function];
                compute(&values).ok_or_else(|| undefined(name.to_owned(), &values))
            }
        }
    }
}

impl fmt::Debug for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`", self.text)
    }
}

impl fmt::Display for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Deepest nesting of parentheses and calls.
const DEPTH: usize = 64;

struct Parser<'a> {
    text: &'a str,
    position: usize,
    depth: usize,
}

impl Parser<'_> {
    fn error(&self, problem: impl Into<String>) -> ExpressionError {
        self.error_at(self.position, problem)
    }

    fn error_at(&self, position: usize, problem: impl Into<String>) -> ExpressionError {
        ExpressionError {
            text: self.text.to_owned(),
            column: self.text[..position].chars().count() + 1,
            problem: problem.into(),
        }
    }

    fn peek(&mut self) -> Option<char> {
        let rest = &self.text[self.position..];
        self.position += rest.len() - rest.trim_start().len();
        self.text[self.position..].chars().next()
    }

    fn eat(&mut self, wanted: char) -> bool {
        let found = self.peek() == Some(wanted);
        if found {
            self.position += wanted.len_utf8();
        }
        found
    }

    fn word(&mut self, belongs: impl Fn(char) -> bool) -> (usize, String) {
        let start = self.position;
        let rest = &self.text[start..];
        let end = rest.find(|c| !belongs(c)).unwrap_or(rest.len());
        self.position += end;
        (start, rest[..end].to_owned())
    }

    fn comparison(&mut self) -> Result<Node, ExpressionError> {
        let left = self.sum()?;
        match self.operator(&["<=", "<", ">=", ">", "==", "!="]) {
            None => Ok(left),
            Some(operator) => Ok(Node::Binary(
                operator,
                Box::new(left),
                Box::new(self.sum()?),
            )),
        }
    }

    fn sum(&mut self) -> Result<Node, ExpressionError> {
        self.chain(&["+", "-"], Self::product)
    }

    fn product(&mut self) -> Result<Node, ExpressionError> {
        self.chain(&["*", "/", "%"], Self::factor)
    }

    fn operator(&mut self, operators: &[&'static str]) -> Option<&'static str> {
        self.peek();
        let rest = &self.text[self.position..];
        let found = operators.iter().find(|o| rest.starts_with(**o))?;
        self.position += found.len();
        Some(found)
    }

    fn chain(
        &mut self,
        operators: &[&'static str],
        operand: fn(&mut Self) -> Result<Node, ExpressionError>,
    ) -> Result<Node, ExpressionError> {
        let mut left = operand(self)?;
        while let Some(operator) = self.operator(operators) {
            left = Node::Binary(operator, Box::new(left), Box::new(operand(self)?));
        }
        Ok(left)
    }

    fn factor(&mut self) -> Result<Node, ExpressionError> {
        self.depth += 1;
        if self.depth > DEPTH {
            return Err(self.error("nested too deeply"));
        }
        let node = match self.peek() {
            Some('-') => {
                self.position += 1;
                Node::Binary("-", Box::new(Node::Number(0)), Box::new(self.factor()?))
            }
            Some('(') => {
                self.position += 1;
                let inner = self.comparison()?;
                self.close()?;
                inner
            }
            Some(c) if c.is_ascii_digit() => {
                let (start, digits) = self.word(|c| c.is_ascii_alphanumeric() || c == '_');
                let number = integer(&digits).and_then(|n| i64::try_from(n).ok());
                Node::Number(number.ok_or_else(|| {
                    self.error_at(start, format!("`{digits}` is not a 64-bit integer"))
                })?)
            }
            Some(c) if c.is_alphabetic() || c == '_' => {
                let (start, name) = self.word(|c| c.is_alphanumeric() || c == '_');
                if self.eat('(') {
                    self.call(start, &name)?
                } else {
                    Node::Name(name)
                }
            }
            Some(c) => {
                return Err(self.error(format!("expected a number, a name or `(`, found `{c}`")));
            }
            None => return Err(self.error("expected an operand at the end of the expression")),
        };
        self.depth -= 1;
        Ok(node)
    }

    fn close(&mut self) -> Result<(), ExpressionError> {
        if self.eat(')') {
            Ok(())
        } else {
            Err(self.error("`)` expected"))
        }
    }

    fn call(&mut self, start: usize, name: &str) -> Result<Node, ExpressionError> {
        let Some(function) = FUNCTIONS.iter().position(|f| f.0 == name) else {
            let known = FUNCTIONS.iter().map(|f| f.0);
            let hint = ptx::nearest::nearest(name, known.clone()).map_or_else(
                || known.collect::<Vec<_>>().join(", "),
                |n| format!("did you mean `{n}`?"),
            );
            return Err(self.error_at(start, format!("unknown function `{name}` ({hint})")));
        };
        let mut arguments = vec![self.sum()?];
        while self.eat(',') {
            arguments.push(self.sum()?);
        }
        self.close()?;
        let wanted = FUNCTIONS[function].1;
        if arguments.len() != wanted {
            let problem = format!(
                "`{name}` takes {wanted} argument(s), got {}",
                arguments.len()
            );
            return Err(self.error_at(start, problem));
        }
        Ok(Node::Call(function, arguments))
    }
}

impl<'de> Deserialize<'de> for Expression {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl de::Visitor<'_> for Visitor {
            type Value = Expression;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(
                    "an integer or an expression over the sizes, such as `ceil_div(n, threads)`",
                )
            }
            fn visit_i64<E: de::Error>(self, value: i64) -> Result<Expression, E> {
                Ok(Expression::constant(value))
            }
            fn visit_u64<E: de::Error>(self, value: u64) -> Result<Expression, E> {
                i64::try_from(value)
                    .map(Expression::constant)
                    .map_err(E::custom)
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Expression, E> {
                Expression::parse(text).map_err(E::custom)
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

impl Serialize for Expression {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

impl JsonSchema for Expression {
    fn schema_name() -> Cow<'static, str> {
        "Expression".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "An integer expression over the sizes: `+ - * / %`, parentheses, ceil_div(a, b), min(a, b), max(a, b), pow2(k), pow2ceil(a), pow2floor(a), log2ceil(a), log2floor(a).",
            "type": ["integer", "string"]
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn value(text: &str) -> i64 {
        let sizes = |name: &str| match name {
            "n" => Some(10),
            "threads" => Some(4),
            _ => None,
        };
        Expression::parse(text).unwrap().evaluate(&sizes).unwrap()
    }

    #[test]
    fn arithmetic() {
        assert_eq!(value("1 + 2 * 3"), 7);
        assert_eq!(value("(1 + 2) * 3"), 9);
        assert_eq!(value("n - threads - 1"), 5);
        assert_eq!(value("-n + 2 * -threads"), -18);
        assert_eq!(value("n / threads * 100 + n % threads"), 202);
        assert_eq!(value("ceil_div(n, threads)"), 3);
        assert_eq!(value("ceil_div(8, threads)"), 2);
        assert_eq!(value("min(n, threads) + max(n, threads)"), 14);
        assert_eq!(value("pow2ceil(n) + pow2floor(n)"), 24);
        assert_eq!(value("log2ceil(n) * 10 + log2floor(n)"), 43);
        assert_eq!(value("pow2(5)"), 32);
        assert_eq!(value("1_000"), 1000);
        assert_eq!(value("n <= threads"), 0);
        assert_eq!(value("threads + 6 == n"), 1);
        assert_eq!(value("(n > 2) * 5"), 5);
    }

    #[test]
    fn errors_point_at_the_column() {
        let column = |text| Expression::parse(text).unwrap_err().column;
        assert_eq!(column("n +"), 4);
        assert_eq!(column("n + * 2"), 5);
        assert_eq!(column("(n + 2"), 7);
        assert_eq!(column("n 2"), 3);
        assert_eq!(column("2 * ceil_dvi(n, 2)"), 5);
        assert_eq!(column("1 + min(n)"), 5);
        assert_eq!(column("1 + 12x"), 5);
        assert_eq!(column("1 + 99999999999999999999"), 5);
        let text = "(".repeat(1000);
        assert_eq!(column(&text), DEPTH + 1);
        let message = Expression::parse("ceil_dvi(n, 2)").unwrap_err().to_string();
        assert!(message.contains("did you mean `ceil_div`?"), "{message}");
    }

    #[test]
    fn undefined_values_are_errors() {
        let fails = |text| {
            Expression::parse(text)
                .unwrap()
                .evaluate(&|_| None)
                .is_err()
        };
        assert!(fails("1 / 0"));
        assert!(fails("9223372036854775807 + 1"));
        assert!(fails("log2ceil(0)"));
        assert!(fails("pow2(63)"));
        assert!(fails("n"));
    }

    proptest! {
        #![proptest_config(testing::random(256))]

        #[test]
        fn any_text_parses_or_is_refused(text in "\\PC{0,40}") {
            let _ = Expression::parse(&text);
        }

        #[test]
        fn agrees_with_rust(a in -1000i64..1000, b in 1i64..100, c in 1i64..1000) {
            let text = format!("{a} + {c} / {b} - ceil_div({c}, {b}) % {b}");
            let expected = a + c / b - ((c + b - 1) / b) % b;
            prop_assert_eq!(Expression::parse(&text).unwrap().evaluate(&|_| None).unwrap(), expected);
        }
    }
}
