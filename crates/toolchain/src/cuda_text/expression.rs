//! Constant expressions of C++, and the sizes of types that they may ask for.
//!
//! A recursive-descent parser with C++'s operators and precedence ([cpp] 7.6, without assignment) that computes as it reads. A name
//! is looked up in a [`Scope`]: what a function-like macro was given, a variable of the host function, a constant of the text. Texts
//! come from strangers, so a budget bounds the work: macros that use each other twice would take exponential time.

use super::CudaText;
use super::function::{CountingLoop, Place, Variable};
use super::scan::{identifier, matching, split};
use super::unknown::{How, Number, Unknown};
use std::cell::Cell;

/// Names and operators that are read for one expression, at most.
pub(super) const BUDGET: u32 = 2_000;
/// Brackets and names within each other, at most.
const DEPTH: u32 = 48;

/// Where the names of an expression are looked up.
#[derive(Clone, Copy)]
pub(super) struct Scope<'a> {
    pub(super) text: &'a CudaText,
    /// The place in a host function whose variables are known.
    pub(super) place: Option<Place>,
    /// How the text is read.
    pub(super) how: How<'a>,
    /// What the function of the place was given as a template, where that is known.
    pub(super) template: &'a [(String, Option<Number>)],
    /// What a function-like macro was given.
    pub(super) locals: &'a [(String, Number)],
    pub(super) budget: &'a Cell<u32>,
    pub(super) depth: u32,
}

impl CudaText {
    /// Value of a constant integer expression of literals, constants and macros of this text. `None` for anything else.
    pub fn evaluate(&self, expression: &str) -> Option<i64> {
        match self.number(expression, None, How::default())? {
            Number::Integer(value) => Some(value),
            Number::Float(_) => None,
        }
    }

    /// The named integers that are compiled into code for the GPU, by name.
    pub fn compiled_integers(&self) -> Vec<(&str, i64)> {
        let mut all: Vec<(&str, i64)> = (self.compiled.iter())
            .filter_map(|name| Some((name.as_str(), self.evaluate(name)?)))
            .collect();
        all.sort_unstable();
        all
    }

    /// Value of an expression at a place of the text.
    pub(super) fn number(
        &self,
        expression: &str,
        place: Option<Place>,
        how: How<'_>,
    ) -> Option<Number> {
        let budget = Cell::new(BUDGET);
        let scope = Scope {
            text: self,
            place,
            how,
            template: &[],
            locals: &[],
            budget: &budget,
            depth: 0,
        };
        scope.evaluate(expression)
    }
}

impl Scope<'_> {
    /// The whole expression's value.
    pub(super) fn evaluate(self, expression: &str) -> Option<Number> {
        let mut parser = Parser {
            rest: expression.trim(),
            scope: self.deeper()?,
        };
        let value = parser.conditional()?;
        parser.rest.trim().is_empty().then_some(value)
    }

    fn deeper(mut self) -> Option<Self> {
        self.depth += 1;
        self.spend()?;
        (self.depth <= DEPTH).then_some(self)
    }

    fn spend(&self) -> Option<()> {
        self.budget.set(self.budget.get().checked_sub(1)?);
        Some(())
    }

    /// What a name stands for.
    fn name(self, word: &str) -> Option<Number> {
        if let Some((_, value)) = self.locals.iter().rev().find(|(name, _)| name == word) {
            return Some(*value);
        }
        match word {
            "true" => return Some(Number::Integer(1)),
            "false" | "NULL" | "nullptr" => return Some(Number::Integer(0)),
            "RAND_MAX" | "INT_MAX" => return Some(Number::Integer(i64::from(i32::MAX))),
            // A program that is started without arguments.
            "argc" => return Some(Number::Integer(1)),
            _ => {}
        }
        let inside = self.place.map_or(&[][..], |_| self.template);
        if let Some((_, value)) = inside.iter().find(|(name, _)| name == word) {
            return *value;
        }
        let plain = Scope {
            locals: &[],
            ..self
        };
        let local = self.place.map(|place| Unknown::local(place.function, word));
        if let Some(taken) = local.as_ref().and_then(|local| self.how.taken(local)) {
            return Some(taken);
        }
        match self.place.map(|place| self.text.variable_at(place, word)) {
            Some(Variable::Is(value, place)) => {
                let scope = Scope {
                    place: Some(place),
                    ..plain
                };
                scope.defined(&value)
            }
            Some(Variable::Changes) => {
                match self.place.and_then(|p| self.text.counting_loop(p, word)) {
                    Some(counting) => self.counted(word, &counting),
                    None => self.how.take(local?, self.place),
                }
            }
            Some(Variable::Absent) | None => {
                let fixed = self.text.compiled.contains(word);
                let shrink = if fixed { 0 } else { self.how.shrink };
                let scope = Scope {
                    how: How { shrink, ..self.how },
                    ..plain
                };
                match self.text.constants.get(word) {
                    Some(value) => scope.defined(value),
                    None => self.how.take(Unknown::global(word), self.place),
                }
            }
        }
    }

    /// The value that a loop which does nothing else leaves in a variable: `int bits = 0; while ((1 << bits) < n) bits++;`
    fn counted(self, word: &str, counting: &CountingLoop) -> Option<Number> {
        const ROUNDS: usize = 64;
        let at = |place| Scope {
            place: Some(place),
            locals: &[],
            ..self
        };
        let mut value = at(counting.first.1).evaluate(&counting.first.0)?;
        let step = at(counting.place).evaluate(&counting.step.1)?;
        for _ in 0..ROUNDS {
            let locals = [(word.to_owned(), value)];
            let scope = Scope {
                locals: &locals,
                ..at(counting.place)
            };
            if !scope.evaluate(&counting.condition)?.truth() {
                return Some(value);
            }
            value = apply(counting.step.0, value, step)?;
        }
        None
    }

    /// A value of host code that only running it tells: a member, an element, a call.
    fn told_by_host(self, written: &str) -> Option<Number> {
        let name: String = written.chars().filter(|c| !c.is_whitespace()).collect();
        if name.len() > 80 {
            return None;
        }
        let function = self.place?.function;
        self.how.take(Unknown::local(function, &name), self.place)
    }

    /// The value of a definition. Sizes are what programs define by literals, so those shrink.
    fn defined(self, expression: &str) -> Option<Number> {
        const LEAST: i64 = 4096;
        let value = self.evaluate(expression)?;
        let literal = !expression
            .split(|c: char| !c.is_alphanumeric() && c != '_')
            .any(|word| word.starts_with(|c: char| c.is_alphabetic() || c == '_'));
        Some(match value {
            Number::Integer(n) if literal && n >= LEAST && !expression.trim().starts_with("0x") => {
                Number::Integer((n >> self.how.shrink.min(40)).max(LEAST >> 4))
            }
            other => other,
        })
    }

    /// The value of a call: of a function of the standard library, a macro, or a function that only returns something.
    fn call(self, name: &str, arguments: &[&str]) -> Option<Number> {
        let values: Option<Vec<Number>> = arguments.iter().map(|a| self.evaluate(a)).collect();
        let values = values?;
        let both = |pick: fn(f64, f64) -> bool| match values.as_slice() {
            [a, b] if pick(a.float(), b.float()) => Some(*a),
            [_, b] => Some(*b),
            _ => None,
        };
        let one = |f: fn(f64) -> f64| match values.as_slice() {
            [Number::Integer(i)] => Some(Number::Integer(*i)),
            [Number::Float(x)] => Some(Number::Float(f(*x))),
            _ => None,
        };
        let float = |f: fn(f64) -> f64| match values.as_slice() {
            [x] => Some(Number::Float(f(x.float()))),
            _ => None,
        };
        match name {
            "min" => return both(|a, b| a < b),
            "max" => return both(|a, b| a > b),
            "ceil" | "ceilf" => return one(f64::ceil),
            "floor" | "floorf" => return one(f64::floor),
            "sqrt" | "sqrtf" => return float(f64::sqrt),
            "rsqrt" | "rsqrtf" => return float(|x| 1.0 / x.sqrt()),
            "log2" | "log2f" => return float(f64::log2),
            "pow" | "powf" => {
                return match values.as_slice() {
                    [a, b] => Some(Number::Float(a.float().powf(b.float()))),
                    _ => None,
                };
            }
            "dim3" if values.len() == 1 => return values.first().copied(),
            _ => {}
        }
        let Some((parameters, body)) = self.text.callable(name) else {
            return self.told_by_host(&format!("{name}({})", arguments.join(",")));
        };
        if parameters.len() != values.len() {
            return None;
        }
        let locals: Vec<(String, Number)> = parameters.into_iter().zip(values).collect();
        let inside = Scope {
            place: None,
            locals: &locals,
            ..self
        };
        inside.evaluate(&body)
    }
}

/// Binary operators, those that bind tighter last; of two that begin alike the longer one first.
const LEVELS: [&[&str]; 10] = [
    &["||"],
    &["&&"],
    &["|"],
    &["^"],
    &["&"],
    &["==", "!="],
    &["<=", ">=", "<", ">"],
    &["<<", ">>"],
    &["+", "-"],
    &["*", "/", "%"],
];

struct Parser<'t, 's> {
    rest: &'t str,
    scope: Scope<'s>,
}

impl Parser<'_, '_> {
    fn take(&mut self, operator: &str) -> bool {
        let rest = self.rest.trim_start();
        let taken = rest.strip_prefix(operator);
        self.rest = taken.unwrap_or(rest);
        taken.is_some()
    }

    fn conditional(&mut self) -> Option<Number> {
        let condition = self.binary(0)?;
        if !self.take("?") {
            return Some(condition);
        }
        // The branch that is not taken may well be unknown.
        let mut depth = 0;
        let colon = self.rest.char_indices().find(|(at, c)| {
            match c {
                '(' | '[' | '{' | '?' => depth += 1,
                ')' | ']' | '}' => depth -= 1,
                ':' if depth > 0 && !self.rest[at + 1..].starts_with(':') => depth -= 1,
                ':' => return depth == 0,
                _ => {}
            }
            false
        });
        let colon = colon?.0;
        let (then, otherwise) = (&self.rest[..colon], &self.rest[colon + 1..]);
        self.rest = "";
        let scope = self.scope.deeper()?;
        scope.evaluate(match condition.truth() {
            true => then,
            false => otherwise,
        })
    }

    fn operator(&mut self, level: usize) -> Option<&'static str> {
        let rest = self.rest.trim_start();
        let longer = |op: &str| match op {
            "|" | "&" => rest[1..].starts_with(op),
            "<" | ">" => rest[1..].starts_with(op),
            _ => false,
        };
        let found = LEVELS[level]
            .iter()
            .find(|op| rest.starts_with(**op) && !longer(op))?;
        self.rest = &rest[found.len()..];
        Some(found)
    }

    fn binary(&mut self, level: usize) -> Option<Number> {
        if level == LEVELS.len() {
            return self.unary();
        }
        let mut left = self.binary(level + 1)?;
        while let Some(operator) = self.operator(level) {
            self.scope.spend()?;
            let right = self.binary(level + 1)?;
            left = apply(operator, left, right)?;
        }
        Some(left)
    }

    fn unary(&mut self) -> Option<Number> {
        let outer = self.scope;
        self.scope = self.scope.deeper()?;
        let value = self.atom();
        self.scope = outer;
        value
    }

    fn atom(&mut self) -> Option<Number> {
        if self.take("-") {
            return Some(match self.unary()? {
                Number::Integer(i) => Number::Integer(i.checked_neg()?),
                Number::Float(f) => Number::Float(-f),
            });
        }
        if self.take("+") {
            return self.unary();
        }
        if self.take("!") {
            return Some(Number::Integer(i64::from(!self.unary()?.truth())));
        }
        if self.take("(") {
            let inside = &self.rest[..matching(self.rest, '(', ')')?];
            self.rest = &self.rest[inside.len() + 1..];
            if let Some(float) = conversion(inside) {
                return Some(converted(self.unary()?, float));
            }
            return self.scope.evaluate(inside);
        }
        let rest = self.rest.trim_start();
        if rest.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
            return self.literal(rest);
        }
        let start = rest;
        let mut word = identifier(rest);
        let mut rest = &rest[word.len()..];
        while let Some(inner) = rest.strip_prefix("::") {
            word = identifier(inner);
            rest = &inner[word.len()..];
        }
        if word.is_empty() {
            return None;
        }
        self.rest = rest.trim_start();
        if self.rest.starts_with(['.', '[']) || self.rest.starts_with("->") {
            return self.member(word, start);
        }
        if ["static_cast", "reinterpret_cast"].contains(&word) {
            let (ty, rest) = self.rest.strip_prefix('<')?.split_once('>')?;
            let rest = rest.trim_start().strip_prefix('(')?;
            let inside = &rest[..matching(rest, '(', ')')?];
            self.rest = &rest[inside.len() + 1..];
            return Some(converted(self.scope.evaluate(inside)?, conversion(ty)?));
        }
        let Some(inner) = self.rest.strip_prefix('(') else {
            return self.scope.name(word);
        };
        let inside = &inner[..matching(inner, '(', ')')?];
        self.rest = &inner[inside.len() + 1..];
        if word == "sizeof" {
            let bytes = self.scope.text.bytes_of(inside);
            // A template's type.
            let most = self.scope.how.assumed.map(|_| 4);
            return bytes.or(most).map(Number::Integer);
        }
        if let Some(float) = conversion(word) {
            return Some(converted(self.scope.evaluate(inside)?, float));
        }
        self.scope.call(word, &split(inside))
    }

    /// `grid.x`; `shape.width`, `sizes[1]`, `x.size(0)`, which only running the program tells.
    fn member(&mut self, word: &str, start: &str) -> Option<Number> {
        if let Some(axis) = self.rest.strip_prefix('.') {
            let member = identifier(axis);
            let index = ["x", "y", "z"].iter().position(|a| *a == member);
            let size = index.and_then(|index| {
                let scope = self.scope.deeper()?;
                let place = scope.place?.deeper()?;
                let size = scope.text.dim3(word, Some(place), scope.how.quiet())?;
                Some(Number::Integer(i64::from(size[index])))
            });
            if size.is_some() {
                self.rest = &axis[member.len()..];
                return size;
            }
        }
        loop {
            let rest = self.rest.trim_start();
            let behind = rest.strip_prefix('.').or_else(|| rest.strip_prefix("->"));
            self.rest = match (behind, rest.chars().next()) {
                (Some(behind), _) => {
                    let behind = behind.trim_start();
                    let member = identifier(behind);
                    if member.is_empty() {
                        return None;
                    }
                    &behind[member.len()..]
                }
                (None, Some('[')) => &rest[2 + matching(&rest[1..], '[', ']')?..],
                (None, Some('(')) => &rest[2 + matching(&rest[1..], '(', ')')?..],
                _ => break,
            };
        }
        let written = &start[..start.len() - self.rest.len()];
        self.scope.told_by_host(written)
    }

    fn literal(&mut self, rest: &str) -> Option<Number> {
        let hex = rest.starts_with("0x") || rest.starts_with("0X");
        let mut length = 0;
        let bytes = rest.as_bytes();
        while let Some(&b) = bytes.get(length) {
            let sign = matches!(b, b'+' | b'-') && !hex && matches!(bytes[length - 1], b'e' | b'E');
            if !(b.is_ascii_alphanumeric() || b == b'.' || b == b'\'' || sign) {
                break;
            }
            length += 1;
        }
        let word: String = rest[..length].chars().filter(|c| *c != '\'').collect();
        self.rest = self.rest.trim_start().get(length..)?;
        if hex {
            let digits = word[2..].trim_end_matches(['u', 'U', 'l', 'L']);
            return i64::from_str_radix(digits, 16).ok().map(Number::Integer);
        }
        if word.contains(['.', 'e', 'E', 'f', 'F']) {
            let digits = word.trim_end_matches(['f', 'F', 'l', 'L']);
            return digits.parse().ok().map(Number::Float);
        }
        let digits = word.trim_end_matches(['u', 'U', 'l', 'L', 'z', 'Z']);
        digits.parse().ok().map(Number::Integer)
    }
}

fn apply(operator: &str, left: Number, right: Number) -> Option<Number> {
    use Number::{Float, Integer};
    let truth = |value: bool| Some(Integer(i64::from(value)));
    let (a, b) = (left.float(), right.float());
    match operator {
        "||" => return truth(left.truth() || right.truth()),
        "&&" => return truth(left.truth() && right.truth()),
        "==" => return truth(a == b),
        "!=" => return truth(a != b),
        "<" => return truth(a < b),
        ">" => return truth(a > b),
        "<=" => return truth(a <= b),
        ">=" => return truth(a >= b),
        _ => {}
    }
    if let (Integer(a), Integer(b)) = (left, right) {
        let shift = u32::try_from(b).ok();
        return Some(Integer(match operator {
            "+" => a.checked_add(b)?,
            "-" => a.checked_sub(b)?,
            "*" => a.checked_mul(b)?,
            "/" => a.checked_div(b)?,
            "%" => a.checked_rem(b)?,
            "<<" => a.checked_shl(shift?)?,
            ">>" => a.checked_shr(shift?)?,
            "|" => a | b,
            "&" => a & b,
            "^" => a ^ b,
            _ => return None,
        }));
    }
    Some(Float(match operator {
        "+" => a + b,
        "-" => a - b,
        "*" => a * b,
        "/" => a / b,
        _ => return None,
    }))
}

/// Whether a type that a value is converted to is a floating-point one; `None` where it is no such type.
fn conversion(ty: &str) -> Option<bool> {
    let ty = ty.trim();
    let known = !ty.contains(['*', '&']) && scalar_bytes(ty).is_some();
    let words = ty.split_whitespace().all(|w| {
        w.chars()
            .all(|c| c.is_ascii_alphanumeric() || c == '_' || c == ':')
    });
    (known && words).then(|| ["float", "double"].contains(&ty))
}

fn converted(value: Number, float: bool) -> Number {
    match float {
        true => Number::Float(value.float()),
        false => Number::Integer(value.integer()),
    }
}

/// Bytes of a C++ or CUDA scalar or vector type by its name, qualifiers and all.
pub fn scalar_bytes(ty: &str) -> Option<u32> {
    let words: Vec<&str> = ty
        .split(|c: char| !c.is_alphanumeric() && c != '_')
        .filter(|w| !["const", "volatile", "std", "signed", "unsigned", ""].contains(w))
        .collect();
    let unsigned = ty.contains("signed");
    Some(match words.as_slice() {
        ["char" | "bool" | "int8_t" | "uint8_t" | "uchar"] => 1,
        ["short"] | ["short", "int"] | ["int16_t" | "uint16_t" | "ushort" | "__half" | "half"] => 2,
        ["__nv_bfloat16" | "nv_bfloat16"] => 2,
        ["int" | "float" | "int32_t" | "uint32_t" | "uint"] => 4,
        [] if unsigned => 4,
        ["long" | "double" | "int64_t" | "uint64_t" | "size_t" | "ptrdiff_t"] => 8,
        ["long", "long"] | ["long", "int"] | ["long", "long", "int"] => 8,
        ["int2" | "uint2" | "float2"] => 8,
        ["int3" | "uint3" | "float3"] => 12,
        ["int4" | "uint4" | "float4" | "double2" | "longlong2" | "ulonglong2"] => 16,
        _ => return None,
    })
}
