//! Compares the buffers and the output of a run with the oracle.

pub use super::run_results::RunResults;

use super::case::{Case, Oracle, Tolerance};
use super::oracle::{self, Elements, Given};
use super::plan::{Plan, PlanError, evaluate, values};
use super::simulate::{Prepared, SimulateError};
use super::values::{ElementType, Number};
use std::fmt;

/// The first place where a run's result is wrong.
#[derive(Clone, Debug, PartialEq)]
pub enum Mismatch {
    /// An element of a buffer.
    Element {
        /// The buffer's name in the oracle.
        buffer: String,
        /// The element.
        index: usize,
        /// What it holds; `None` if nothing was ever written there.
        found: Option<Number>,
        /// What it should hold.
        expected: Number,
        /// How many elements of the buffer are wrong.
        wrong: usize,
        /// The elements' type.
        element: ElementType,
    },
    /// What was printed.
    Printed {
        /// The first line that differs, from 1.
        line: usize,
        /// That line; `None` if the output ends before.
        found: Option<String>,
        /// What it should be; `None` if the output should end before.
        expected: Option<String>,
    },
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Mismatch::Element {
                buffer,
                index,
                found,
                expected,
                element,
                ..
            } => {
                match found {
                    None => write!(f, "{buffer}[{index}] was never written")?,
                    Some(found) => write!(f, "{buffer}[{index}] = {}", shown(*found, *element))?,
                }
                write!(f, ", expected {}", shown(*expected, *element))
            }
            Mismatch::Printed {
                line,
                found,
                expected,
            } => {
                let text = |line: &Option<String>| match line {
                    None => "nothing".to_owned(),
                    Some(line) => format!("{line:?}"),
                };
                write!(
                    f,
                    "printed {} on line {line}, expected {}",
                    text(found),
                    text(expected)
                )
            }
        }
    }
}

/// A number as an element of that type.
fn shown(number: Number, element: ElementType) -> String {
    match number {
        Number::Integer(n) if element == ElementType::U64 => n.cast_unsigned().to_string(),
        Number::Integer(n) => n.to_string(),
        Number::Unsigned(n) => n.to_string(),
        Number::Float(x) => x.to_string(),
    }
}

/// An oracle that can't be asked. These are mistakes of the case.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum OracleError {
    /// An expression.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The backend.
    #[error(transparent)]
    Machine(#[from] SimulateError),
    /// A named oracle that has no answer for its arguments.
    #[error("the oracle `{call}` has no result, because its arguments do not fit together")]
    NoAnswer {
        /// The call.
        call: String,
    },
    /// An argument of a named oracle that has no values at the start.
    #[error("the oracle `{call}` uses `{buffer}`, which is not initialised")]
    Uninitialized {
        /// The call.
        call: String,
        /// The buffer.
        buffer: String,
    },
    /// Fewer elements than are to be compared.
    #[error(
        "the oracle of `{buffer}` has {given} element(s), but {wanted} are compared; set their number with `first`"
    )]
    Length {
        /// The buffer.
        buffer: String,
        /// What the oracle gave.
        given: usize,
        /// What is compared.
        wanted: usize,
    },
}

/// The buffers that are compared, by their names in the oracle, with their indices and the number of elements from
/// the start that count.
pub fn compared<'c>(
    case: &'c Case,
    plan: &Plan,
) -> Result<Vec<(&'c str, &'c Oracle, usize, u64)>, PlanError> {
    let known = case
        .oracle
        .iter()
        .filter_map(|(name, oracle)| Some((name, oracle, *plan.names.get(name)?)));
    known
        .map(|(name, oracle, buffer)| {
            let length = plan.buffers[buffer].length;
            let wanted = match &oracle.first {
                None => length,
                Some(first) => {
                    let first = evaluate("`first`", first, &plan.sizes)?;
                    u64::try_from(first).unwrap_or(0).min(length)
                }
            };
            Ok((name.as_str(), oracle, buffer, wanted))
        })
        .collect()
}

/// The first wrong place of a run that came to its end, if there is one. The simulator answers for oracles that are
/// kernels.
pub fn compare(
    prepared: &Prepared<'_>,
    plan: &Plan,
    left: &dyn RunResults,
) -> Result<Option<Mismatch>, OracleError> {
    let case = &prepared.entry.case;
    for (name, oracle, buffer, wanted) in compared(case, plan)? {
        let planned = &plan.buffers[buffer];
        let wanted = usize::try_from(wanted).unwrap_or(usize::MAX);
        let expected = answer(prepared, plan, oracle, buffer, wanted)?;
        if expected.len() < wanted {
            let given = expected.len();
            return Err(OracleError::Length {
                buffer: name.to_owned(),
                given,
                wanted,
            });
        }
        // Cut to the buffer's type, as the kernel computes in it.
        let expected = Elements::from_bytes(
            planned.element,
            &expected.first(wanted).to_bytes(planned.element),
        );
        let (found, written) = left.result(plan, buffer)?;
        let is_wrong = |index: &usize| {
            written.get(*index) != Some(&true)
                || !close(found.get(*index), expected.get(*index), oracle.tolerance)
        };
        let mut wrong = (0..wanted).filter(is_wrong);
        if let Some(index) = wrong.next() {
            return Ok(Some(Mismatch::Element {
                buffer: name.to_owned(),
                index,
                found: (written.get(index) == Some(&true)).then(|| found.get(index)),
                expected: expected.get(index),
                wrong: 1 + wrong.count(),
                element: planned.element,
            }));
        }
    }
    Ok(case
        .prints
        .as_ref()
        .and_then(|expected| printed(left.printed(), expected)))
}

fn printed(found: &str, expected: &str) -> Option<Mismatch> {
    let (mut found, mut expected) = (found.trim_end().lines(), expected.trim_end().lines());
    (1..)
        .map(|line| (line, found.next(), expected.next()))
        .find_map(|(line, found, expected)| match (found, expected) {
            (None, None) => Some(None),
            (found, expected) if found == expected => None,
            (found, expected) => Some(Some(Mismatch::Printed {
                line,
                found: found.map(str::to_owned),
                expected: expected.map(str::to_owned),
            })),
        })?
}

fn close(found: Number, expected: Number, tolerance: Tolerance) -> bool {
    match (found, expected) {
        (Number::Float(a), Number::Float(b)) => {
            let allowed = tolerance.absolute.max(tolerance.relative * b.abs());
            a == b || (a.is_nan() && b.is_nan()) || (a - b).abs() <= allowed
        }
        (a, b) => a == b,
    }
}

fn answer(
    prepared: &Prepared<'_>,
    plan: &Plan,
    oracle: &Oracle,
    buffer: usize,
    wanted: usize,
) -> Result<Elements, OracleError> {
    if let Some(call) = &oracle.is {
        let no_answer = || OracleError::NoAnswer {
            call: call.text().to_owned(),
        };
        let function = oracle::find(&call.function).ok_or_else(no_answer)?;
        let mut given = Vec::new();
        for (argument, (_, takes)) in call.arguments.iter().zip(function.parameters) {
            given.push(match takes {
                oracle::Takes::Number => {
                    Given::Number(evaluate("an oracle's argument", argument, &plan.sizes)?)
                }
                oracle::Takes::Buffer => {
                    // The oracle asks about the start: names are those before any swap.
                    let name = argument.text();
                    let start = plan
                        .buffers
                        .iter()
                        .find(|b| b.name == name)
                        .ok_or_else(no_answer)?;
                    let data = start
                        .data
                        .clone()
                        .ok_or_else(|| OracleError::Uninitialized {
                            call: call.text().to_owned(),
                            buffer: name.to_owned(),
                        })?;
                    Given::Buffer(Elements::from_bytes(
                        start.element,
                        &data.to_bytes(start.element),
                    ))
                }
            });
        }
        return function.compute(&given).ok_or_else(no_answer);
    }
    if let Some(each) = &oracle.each {
        let element = |index: usize| {
            let i = i64::try_from(index).unwrap_or(i64::MAX);
            let value_of = |name: &str| match name {
                "i" => Some(i),
                name => plan.sizes.get(name).copied(),
            };
            each.evaluate(&value_of)
                .map_err(|error| PlanError::Evaluation {
                    what: "`each`".to_owned(),
                    error,
                })
        };
        return Ok(Elements::Integers(
            (0..wanted).map(element).collect::<Result<_, _>>()?,
        ));
    }
    if let Some(values) = &oracle.values {
        return Ok(Elements::of(values.clone()));
    }
    let kernel = oracle.kernel.as_deref().unwrap_or_default();
    let start = plan
        .buffers
        .iter()
        .enumerate()
        .map(|(index, b)| (b.name.clone(), index))
        .collect();
    let args = values(&oracle.args, &plan.sizes, &start, &[])?;
    Ok(prepared.reference(plan, kernel, args, buffer)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_may_be_off() {
        let (a, b) = (Number::Float(100.5), Number::Float(100.0));
        assert!(!close(a, b, Tolerance::default()));
        assert!(close(
            a,
            b,
            Tolerance {
                absolute: 0.5,
                relative: 0.0
            }
        ));
        assert!(close(
            a,
            b,
            Tolerance {
                absolute: 0.0,
                relative: 0.005
            }
        ));
        assert!(!close(
            a,
            b,
            Tolerance {
                absolute: 0.0,
                relative: 0.004
            }
        ));
        let (nan, inf) = (Number::Float(f64::NAN), Number::Float(f64::INFINITY));
        assert!(close(nan, nan, Tolerance::default()) && close(inf, inf, Tolerance::default()));
        assert!(!close(
            nan,
            a,
            Tolerance {
                absolute: f64::INFINITY,
                relative: 0.0
            }
        ));
        assert!(!close(
            Number::Integer(1),
            Number::Integer(2),
            Tolerance {
                absolute: 9.0,
                relative: 9.0
            }
        ));
    }

    #[test]
    fn lines_are_compared() {
        let text = |found: &str, expected: &str| printed(found, expected).map(|m| m.to_string());
        assert_eq!(text("a\nb\n", "a\nb"), None);
        assert_eq!(
            text("a\nc", "a\nb").unwrap(),
            "printed \"c\" on line 2, expected \"b\""
        );
        assert_eq!(
            text("a", "a\nb").unwrap(),
            "printed nothing on line 2, expected \"b\""
        );
        assert_eq!(
            text("a", "").unwrap(),
            "printed \"a\" on line 1, expected nothing"
        );
    }
}
