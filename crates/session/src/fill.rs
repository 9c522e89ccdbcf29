//! What a buffer holds at the start: one notation, and one way to make the elements of it.
//!
//! Cases of the catalogue (`values:`) and arguments of kernels (`--arg data=i32[64]:…`) are written in the same words. What a word
//! leaves open (the range of `random`, the names in expressions, the random numbers themselves) is up to who fills, as a
//! [`Source`].

use super::buffer::{ElementType, Elements, Number};
use super::expression::{EvaluationError, Expression, ExpressionError};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, SeqAccess};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

/// What a buffer holds at the start.
#[derive(Clone, Debug, PartialEq)]
pub enum Fill {
    /// `uninitialized`: nothing was written, so that reading it is a finding.
    Uninitialized,
    /// `zeros`
    Zeros,
    /// `iota`: 0, 1, 2 …
    Iota,
    /// `const:7`
    Constant(Number),
    /// `random`, or `random:LOW..=HIGH` (integers, of floating-point buffers too).
    Random(Option<(Expression, Expression)>),
    /// `each:EXPRESSION`, with `i` the element's index.
    Each(Expression),
    /// `copy:BUFFER`
    Copy(String),
    /// `{1, 2, 3}`: the first elements; the others are not written.
    First(Vec<Number>),
    /// `first:32:zeros`: so many elements of another fill; the others are not written.
    Part(u64, Box<Fill>),
    /// `@FILE`: a file's bytes.
    File(PathBuf),
    /// All elements, over again where there are more: `[1, 2, 3]` in YAML.
    Literal(Vec<Number>),
    /// These bytes; there is no notation for them.
    Bytes(Arc<[u8]>),
}

/// Elements that are made at a time.
const CHUNK: u64 = 1 << 16;

/// The words, for messages.
const WORDS: [&str; 8] = [
    "uninitialized",
    "zeros",
    "iota",
    "const",
    "random",
    "each",
    "copy",
    "first",
];

/// A fill that can't be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FillError {
    /// A word that is none; the text before a colon.
    #[error("`{0}` is not a buffer fill")]
    Word(String),
    /// A word with too much or too little behind it.
    #[error("`{0}` is not a buffer fill")]
    Form(String),
    /// `const` without its number.
    #[error("`const` needs a number")]
    NoNumber,
    /// Not a number.
    #[error("`{0}` is not a number")]
    Number(String),
    /// Not a range.
    #[error("`{0}` is not a range `LOW..=HIGH`")]
    Range(String),
    /// `{` without `}`.
    #[error("`}}` is missing at the end of the elements")]
    Unclosed,
    /// An expression.
    #[error(transparent)]
    Expression(#[from] ExpressionError),
}

/// Elements that can't be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ContentsError {
    /// An expression without a value.
    #[error(transparent)]
    Evaluation(#[from] EvaluationError),
    /// An empty range.
    #[error("the range {low}..={high} is empty")]
    EmptyRange {
        /// Its lower end.
        low: i64,
        /// Its upper end.
        high: i64,
    },
}

/// What a fill leaves open.
pub trait Source {
    /// The value of a name in an expression.
    fn value(&self, name: &str) -> Option<i64>;
    /// The range of `random` without one; `None`: fractions from 0 to below 1.
    fn range(&self, element: ElementType, length: u64) -> Option<(i64, i64)>;
    /// A random integer from `low` to `high`, both included, for the element at an index.
    fn integer(&mut self, index: u64, low: i64, high: i64) -> i64;
    /// A random fraction from 0 to below 1, for an element of that type.
    fn fraction(&mut self, element: ElementType) -> f64;
}

/// The two ends of `LOW..=HIGH`; columns in errors count from the start of the whole. `None` where it is no range.
pub fn range(text: &str) -> Option<Result<(Expression, Expression), ExpressionError>> {
    let (low, high) = text.split_once("..=")?;
    let offset = low.chars().count() + 3;
    let within = |error: ExpressionError, offset| ExpressionError {
        text: text.to_owned(),
        column: error.column + offset,
        ..error
    };
    Some(
        Expression::parse(low)
            .map_err(|e| within(e, 0))
            .and_then(|low| Ok((low, Expression::parse(high).map_err(|e| within(e, offset))?))),
    )
}

impl Fill {
    /// Random integers of a range.
    pub fn random_in(low: i64, high: i64) -> Fill {
        let ends = (Expression::constant(low), Expression::constant(high));
        Fill::Random(Some(ends))
    }

    /// One integer everywhere.
    pub fn integer(value: i64) -> Fill {
        Fill::Constant(Number::Integer(value))
    }

    /// Reads the notation.
    ///
    /// # Errors
    ///
    /// What is wrong with it.
    pub fn parse(text: &str) -> Result<Fill, FillError> {
        let text = text.trim();
        if let Some(path) = text.strip_prefix('@') {
            return Ok(Fill::File(path.into()));
        }
        if let Some(inside) = text.strip_prefix('{') {
            let inside = inside.strip_suffix('}').ok_or(FillError::Unclosed)?;
            let numbers = inside.split(',').map(|n| number(n.trim()));
            return Ok(Fill::First(numbers.collect::<Result<_, _>>()?));
        }
        let (word, rest) = text
            .split_once(':')
            .map_or((text, None), |(w, r)| (w.trim(), Some(r.trim())));
        match (word, rest) {
            ("uninitialized", None) => Ok(Fill::Uninitialized),
            ("zeros", None) => Ok(Fill::Zeros),
            ("iota", None) => Ok(Fill::Iota),
            ("random", None) => Ok(Fill::Random(None)),
            ("random", Some(rest)) => {
                let ends = range(rest).ok_or_else(|| FillError::Range(rest.to_owned()))?;
                Ok(Fill::Random(Some(ends?)))
            }
            ("const", Some(rest)) => Ok(Fill::Constant(number(rest)?)),
            ("const", None) => Err(FillError::NoNumber),
            ("each", Some(rest)) => Ok(Fill::Each(Expression::parse(rest)?)),
            ("first", Some(rest)) => {
                let (count, of) = rest
                    .split_once(':')
                    .ok_or_else(|| FillError::Form(text.to_owned()))?;
                let count = count
                    .trim()
                    .parse()
                    .map_err(|_| FillError::Number(count.to_owned()))?;
                match Fill::parse(of)? {
                    of @ (Fill::Zeros
                    | Fill::Iota
                    | Fill::Constant(_)
                    | Fill::Random(_)
                    | Fill::Each(_)) => Ok(Fill::Part(count, Box::new(of))),
                    _ => Err(FillError::Form(text.to_owned())),
                }
            }
            ("copy", Some(rest)) if !rest.is_empty() => Ok(Fill::Copy(rest.to_owned())),
            _ if WORDS.contains(&word) => Err(FillError::Form(text.to_owned())),
            _ => Err(FillError::Word(word.to_owned())),
        }
    }

    /// The words that a fill may begin with.
    pub fn words() -> impl Iterator<Item = &'static str> + Clone {
        WORDS.into_iter()
    }

    /// A number that a fill names and that the type can't hold.
    pub fn misfit(&self, element: ElementType) -> Option<Number> {
        let numbers = match self {
            Fill::Part(_, of) => return of.misfit(element),
            Fill::Constant(number) => std::slice::from_ref(number),
            Fill::First(numbers) | Fill::Literal(numbers) => numbers,
            Fill::Random(Some((low, high))) => {
                let ends = [low, high].map(|end| end.evaluate(&|_| None));
                let misfit = |end: &i64| element.integer_bytes((*end).into()).is_none();
                let end = ends.into_iter().flatten().find(misfit)?;
                return Some(Number::Integer(end));
            }
            _ => &[],
        };
        let misfit = |number: &&Number| number.bytes(element).is_none();
        numbers.iter().find(misfit).copied()
    }

    /// The elements of a buffer of that type and length; fewer where the rest is not written, none where nothing is, or where others have
    /// them ([`Fill::Copy`], [`Fill::File`]).
    ///
    /// # Errors
    ///
    /// An expression without a value, an empty range.
    pub fn elements(
        &self,
        element: ElementType,
        length: u64,
        source: &mut dyn Source,
    ) -> Result<Option<Elements>, ContentsError> {
        match self {
            Fill::Uninitialized | Fill::Copy(_) | Fill::File(_) => Ok(None),
            _ => self.part(element, length, 0..length, source).map(Some),
        }
    }

    /// The bytes of these elements. No more than they is kept in memory.
    ///
    /// # Errors
    ///
    /// As [`Fill::elements`].
    pub fn bytes(
        &self,
        element: ElementType,
        length: u64,
        source: &mut dyn Source,
    ) -> Result<Option<Vec<u8>>, ContentsError> {
        let whole = usize::try_from(length).unwrap_or(usize::MAX);
        let size = whole.saturating_mul(element.bytes());
        let mut bytes = match self {
            Fill::Uninitialized | Fill::Copy(_) | Fill::File(_) => return Ok(None),
            Fill::Zeros => return Ok(Some(vec![0; size])),
            Fill::Bytes(bytes) => return Ok(Some(bytes[..size.min(bytes.len())].to_vec())),
            Fill::First(_) | Fill::Part(..) => Vec::new(),
            _ => Vec::with_capacity(size),
        };
        for first in (0..length).step_by(CHUNK as usize) {
            let range = first..length.min(first + CHUNK);
            let some = self.part(element, length, range, source)?;
            bytes.extend(some.to_bytes(element));
            if some.is_empty() {
                break;
            }
        }
        Ok(Some(bytes))
    }

    /// Some of the elements of a buffer of `length`; those of a random fill must be asked for in order.
    fn part(
        &self,
        element: ElementType,
        length: u64,
        wanted: Range<u64>,
        source: &mut dyn Source,
    ) -> Result<Elements, ContentsError> {
        let count = wanted.end - wanted.start;
        // Its bits would be a negative number, which no floating-point element is to hold.
        let held = |number: Number| match (number, element.is_float()) {
            (Number::Unsigned(n), true) => Number::Float(n as f64),
            _ => number,
        };
        Ok(match self {
            Fill::Uninitialized | Fill::Copy(_) | Fill::File(_) => Elements::zeros(0),
            Fill::Part(first, of) => {
                let wanted = wanted.start..wanted.end.min(*first).max(wanted.start);
                return of.part(element, length, wanted, source);
            }
            Fill::Zeros => Elements::zeros(count),
            Fill::Iota => Elements::Integers(wanted.map(|i| i as i64).collect()),
            Fill::Constant(value) => Elements::constant(count, held(*value)),
            Fill::First(values) => {
                let some = values.iter().copied().map(held);
                let some = some.skip(wanted.start as usize).take(count as usize);
                Elements::of(some.collect())
            }
            Fill::Literal(values) if values.is_empty() => Elements::zeros(0),
            Fill::Literal(values) => {
                let at = |i: u64| held(values[(i % values.len() as u64) as usize]);
                Elements::of(wanted.map(at).collect())
            }
            Fill::Bytes(bytes) => {
                let at = |index: u64| (index as usize).saturating_mul(element.bytes());
                let some = at(wanted.start).min(bytes.len())..at(wanted.end).min(bytes.len());
                Elements::from_bytes(element, &bytes[some])
            }
            Fill::Each(expression) => {
                let value = |index: u64| {
                    expression.evaluate(&|name| match name {
                        "i" => i64::try_from(index).ok(),
                        name => source.value(name),
                    })
                };
                Elements::Integers(wanted.map(value).collect::<Result<_, _>>()?)
            }
            Fill::Random(range) => {
                let range = match range {
                    None => source.range(element, length),
                    Some((low, high)) => {
                        let end = |end: &Expression| end.evaluate(&|name| source.value(name));
                        Some((end(low)?, end(high)?))
                    }
                };
                match range {
                    None => Elements::Floats(wanted.map(|_| source.fraction(element)).collect()),
                    Some((low, high)) if low > high => {
                        return Err(ContentsError::EmptyRange { low, high });
                    }
                    Some((low, high)) => {
                        let draw = |index| source.integer(index, low, high);
                        Elements::Integers(wanted.map(draw).collect())
                    }
                }
            }
        })
    }
}

fn number(text: &str) -> Result<Number, FillError> {
    Number::parse(text).ok_or_else(|| FillError::Number(text.to_owned()))
}

impl fmt::Display for Fill {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |f: &mut fmt::Formatter<'_>, values: &[Number], between| {
            let values: Vec<_> = values.iter().map(Number::to_string).collect();
            f.write_str(&values.join(between))
        };
        match self {
            Fill::Uninitialized => f.write_str("uninitialized"),
            Fill::Zeros => f.write_str("zeros"),
            Fill::Iota => f.write_str("iota"),
            Fill::Constant(value) => write!(f, "const:{value}"),
            Fill::Random(None) => f.write_str("random"),
            Fill::Random(Some((low, high))) => write!(f, "random:{low}..={high}"),
            Fill::Each(expression) => write!(f, "each:{expression}"),
            Fill::Copy(buffer) => write!(f, "copy:{buffer}"),
            Fill::Part(count, of) => write!(f, "first:{count}:{of}"),
            Fill::File(path) => write!(f, "@{}", path.display()),
            Fill::Bytes(_) => f.write_str("data"),
            Fill::First(values) => {
                f.write_str("{")?;
                list(f, values, ",")?;
                f.write_str("}")
            }
            Fill::Literal(values) => {
                f.write_str("[")?;
                list(f, values, ", ")?;
                f.write_str("]")
            }
        }
    }
}

impl Serialize for Fill {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Fill::Literal(values) => values.serialize(serializer),
            other => serializer.collect_str(other),
        }
    }
}

/// As it stands in YAML. Files and unwritten rests are not for cases: their runs are made of what the case says, and of nothing else.
impl<'de> Deserialize<'de> for Fill {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> de::Visitor<'de> for Visitor {
            type Value = Fill;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a buffer fill (`zeros`, `iota`, `const:7`, `random`, `random:0..=9`, `each:2 * i`, `copy:data`, `uninitialized`) or a list of numbers")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Fill, E> {
                const USE: &str = "`uninitialized`, `zeros`, `iota`, `const:VALUE`, `random`, `random:LOW..=HIGH`, `each:EXPRESSION`, `copy:BUFFER`, or a list of numbers";
                match Fill::parse(text) {
                    Ok(Fill::File(_) | Fill::First(_) | Fill::Part(..)) => Err(E::custom(format!(
                        "`{text}` is not a buffer fill: use {USE}"
                    ))),
                    Ok(fill) => Ok(fill),
                    Err(FillError::Word(word)) => {
                        let near = ptx::nearest::nearest(&word, Fill::words());
                        Err(E::custom(match near {
                            Some(near) => {
                                format!("unknown buffer fill `{word}` (did you mean `{near}`?)")
                            }
                            None => format!("unknown buffer fill `{word}`: use {USE}"),
                        }))
                    }
                    Err(FillError::Form(_) | FillError::NoNumber | FillError::Unclosed) => Err(
                        E::custom(format!("`{text}` is not a buffer fill: use {USE}")),
                    ),
                    Err(other) => Err(E::custom(other)),
                }
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Fill, A::Error> {
                let mut all = Vec::new();
                while let Some(number) = seq.next_element()? {
                    all.push(number);
                }
                Ok(Fill::Literal(all))
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

impl JsonSchema for Fill {
    fn schema_name() -> Cow<'static, str> {
        "Fill".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "`uninitialized`, `zeros`, `iota` (0, 1, 2 …), `const:VALUE`, `random` (integers from -9 to 9, or 0 to 9 where unsigned), `random:LOW..=HIGH` (integers), `each:EXPRESSION` (`i` is the index), `copy:BUFFER`, or the list of the elements.",
            "type": ["string", "array"]
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Counts the random numbers that it was asked for.
    struct Counted(i64);

    impl Source for Counted {
        fn value(&self, name: &str) -> Option<i64> {
            (name == "n").then_some(10)
        }
        fn range(&self, element: ElementType, length: u64) -> Option<(i64, i64)> {
            (!element.is_float()).then_some((0, length as i64))
        }
        fn integer(&mut self, _: u64, low: i64, high: i64) -> i64 {
            self.0 += 1;
            low + self.0 % (high - low + 1)
        }
        fn fraction(&mut self, _: ElementType) -> f64 {
            self.0 += 1;
            1.0 / self.0 as f64
        }
    }

    fn elements(text: &str, element: ElementType, length: u64) -> Elements {
        let fill = Fill::parse(text).unwrap();
        let made = fill.elements(element, length, &mut Counted(0));
        made.unwrap().unwrap()
    }

    #[test]
    fn each_word_makes_its_elements() {
        use ElementType::{F32, I32, U64};
        let integers = |text, length| match elements(text, I32, length) {
            Elements::Integers(all) => all,
            Elements::Floats(_) => panic!("`{text}` made fractions"),
        };
        assert_eq!(integers("zeros", 2), [0, 0]);
        assert_eq!(integers("iota", 3), [0, 1, 2]);
        assert_eq!(integers("const:-0x10", 2), [-16, -16]);
        assert_eq!(integers("each:n - 2 * i", 3), [10, 8, 6]);
        assert_eq!(integers("{4, 5, 6}", 2), [4, 5]);
        assert_eq!(integers("{4, 5, 6}", 8), [4, 5, 6]);
        assert_eq!(integers("random:5..=n", 3), [6, 7, 8]);
        assert_eq!(integers("random", 2), [1, 2]);
        assert_eq!(elements("random", F32, 2), Elements::Floats(vec![1.0, 0.5]));
        assert_eq!(
            elements("const:18446744073709551615", U64, 1).to_bytes(U64),
            [255; 8]
        );
        assert_eq!(
            elements("const:18446744073709551615", F32, 1),
            Elements::Floats(vec![u64::MAX as f64])
        );
        let literal = Fill::Literal(vec![Number::Integer(1), Number::Float(0.5)]);
        assert_eq!(
            literal.elements(F32, 3, &mut Counted(0)).unwrap(),
            Some(Elements::Floats(vec![1.0, 0.5, 1.0]))
        );
    }

    #[test]
    fn what_does_not_fit_is_named() {
        let misfit = |text: &str, element| Fill::parse(text).unwrap().misfit(element);
        assert_eq!(
            misfit("const:256", ElementType::U8),
            Some(Number::Integer(256))
        );
        assert_eq!(
            misfit("{1, 2.5}", ElementType::I32),
            Some(Number::Float(2.5))
        );
        assert_eq!(
            misfit("random:-1..=9", ElementType::U16),
            Some(Number::Integer(-1))
        );
        assert_eq!(misfit("{1, 2.5}", ElementType::F32), None);
        assert_eq!(misfit("const:0xffffffff", ElementType::I32), None);
    }

    #[test]
    fn mistakes_are_told_apart() {
        let error = |text: &str| Fill::parse(text).unwrap_err();
        assert_eq!(error("zeroes"), FillError::Word("zeroes".into()));
        assert_eq!(error("zeros:1"), FillError::Form("zeros:1".into()));
        assert_eq!(error("const"), FillError::NoNumber);
        assert_eq!(error("const:x"), FillError::Number("x".into()));
        assert_eq!(error("random:1..2"), FillError::Range("1..2".into()));
        assert_eq!(error("{1"), FillError::Unclosed);
        assert!(matches!(error("each:2 *"), FillError::Expression(_)));
        let empty = Fill::random_in(5, 2).elements(ElementType::I32, 1, &mut Counted(0));
        assert_eq!(empty, Err(ContentsError::EmptyRange { low: 5, high: 2 }));
    }

    fn fills() -> impl Strategy<Value = Fill> {
        let number = prop_oneof![
            any::<i64>().prop_map(Number::Integer),
            (i64::MAX as u64 + 1..).prop_map(Number::Unsigned),
            (-1e9..1e9f64).prop_filter_map("an integer", |x| {
                (x.fract() != 0.0).then_some(Number::Float(x))
            }),
        ];
        let numbers = proptest::collection::vec(number.clone(), 1..5);
        prop_oneof![
            Just(Fill::Zeros),
            Just(Fill::Iota),
            number.prop_map(Fill::Constant),
            Just(Fill::Random(None)),
            (-99..0i64, 0..99i64).prop_map(|(low, high)| Fill::random_in(low, high)),
            Just(Fill::Each(Expression::parse("3 * i + 1").unwrap())),
            numbers.prop_map(Fill::First),
        ]
    }

    proptest! {
        #![proptest_config(testing::random(256))]

        #[test]
        fn what_is_written_is_read_again(fill in fills()) {
            let again = Fill::parse(&fill.to_string()).map(|again| again.to_string());
            prop_assert_eq!(again, Ok(fill.to_string()));
        }

        #[test]
        fn bytes_are_those_of_the_elements(
            fill in fills(),
            element in proptest::sample::select(&ElementType::ALL),
            length in prop_oneof![0u64..40, CHUNK - 2..CHUNK + 3],
        ) {
            let elements = fill.elements(element, length, &mut Counted(0)).unwrap();
            let bytes = fill.bytes(element, length, &mut Counted(0)).unwrap();
            prop_assert!(bytes == elements.map(|all| all.to_bytes(element)));
        }
    }
}
