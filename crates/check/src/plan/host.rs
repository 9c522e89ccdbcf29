//! What a plan takes over from the host program: values, sizes and contents of buffers.

use super::fits::accepts;
use super::{Origin, Plan};
use crate::argument::{BufferSpec, Fill, Value};
use crate::host::Host;
use crate::host_facts::Followed;
use crate::parameters::{Kind, Parameter, Parameters};
use session::buffer::{ElementType, Number};
use toolchain::cuda_text::{Content, HostArgument, HostBuffer};

impl Plan {
    /// Sets what was guessed to what the host program passes.
    pub fn follow(&mut self, host: &Host) {
        let arguments = &host.launch.arguments;
        if arguments.len() != self.values.len() {
            return;
        }
        let numbers_given = self.values.iter().zip(&self.parameters.0);
        let numbers_given = numbers_given
            .clone()
            .any(|(v, p)| v.origin == Origin::Given && matches!(p.kind, Kind::Scalar(_)));
        let known = arguments
            .iter()
            .zip(&self.parameters.0)
            .all(|(argument, parameter)| is_known(argument, parameter))
            && host.followed.is_none();
        let origin = |filled_by_guess| Origin::Host {
            line: host.launch.line,
            binding: known && !numbers_given,
            filled_by_guess,
        };
        self.host_file.clone_from(&host.file);
        let mut followed = vec![false; arguments.len()];
        for (index, argument) in arguments.iter().enumerate() {
            if self.values[index].origin != Origin::Guessed {
                continue;
            }
            let guess = self.values[index].value.clone();
            let value = match argument {
                HostArgument::Same(first) if followed[*first] => {
                    Some(Value::Same(self.parameters.label(*first)))
                }
                HostArgument::Same(_) => None,
                other => value(other, &self.parameters.0[index], &guess),
            };
            if let Some(value) = value.filter(|v| fits_parameter(v, &self.parameters, index)) {
                followed[index] = true;
                let filled_by_guess = is_filled_by(&guess, argument, &self.parameters.0[index]);
                let number = matches!(value, Value::Scalar(..));
                self.values[index].value = value;
                let guess = |f: &Followed| f.depends.get(index).copied().unwrap_or(false);
                self.values[index].origin =
                    match number && host.followed.as_ref().is_some_and(guess) {
                        true => Origin::Followed,
                        false => origin(filled_by_guess),
                    };
            }
        }
    }

    /// What follows from other guesses: numbers change with them, and buffers grow; `None` where they make no launch.
    pub(super) fn followed_by(&self, followed: Followed) -> Option<Plan> {
        let mut plan = self.clone();
        let launched = plan.launched.as_mut()?;
        let launch = followed.launch()?;
        let three = |[x, y, z]: [u32; 3]| simt::Dim3 { x, y, z };
        launched.geometry.grid = three(launch.grid?);
        launched.geometry.block = three(launch.block?);
        if let (Some(shared), false) = (launch.shared, launched.shared_given) {
            launched.geometry.shared = shared;
        }
        launched.followed = followed;
        for (index, argument) in launch.arguments.iter().enumerate() {
            let parameter = &self.parameters.0[index];
            let planned = &self.values[index];
            let new = value(argument, parameter, &planned.value);
            match (planned.origin, new) {
                (Origin::Followed, Some(new)) if fits_parameter(&new, &self.parameters, index) => {
                    plan.values[index].value = new;
                }
                (Origin::Followed, _) => return None,
                (Origin::Host { binding: false, .. }, Some(Value::Buffer(new))) => {
                    if new.length > self.length_of(index)
                        && let Some(length) = new.length
                    {
                        plan.set_length(index, length);
                    }
                }
                _ => {}
            }
        }
        Some(plan)
    }
}

fn fits_parameter(value: &Value, parameters: &Parameters, index: usize) -> bool {
    accepts(value, parameters, index)
}

/// Whether what is passed is known as far as it could lead a kernel outside of its buffers.
fn is_known(argument: &HostArgument, parameter: &Parameter) -> bool {
    match (argument, parameter.kind) {
        (HostArgument::Unknown, _) => false,
        (HostArgument::Buffer(buffer), Kind::Pointer(element)) => {
            let float = element.is_some_and(ElementType::is_float);
            let content = match &buffer.content {
                Content::Part(_, of) => of,
                content => content,
            };
            float || *content != Content::Unknown
        }
        (HostArgument::Buffer(_), _) => false,
        _ => true,
    }
}

/// Whether what a buffer holds is what was guessed, since the program does not say it.
fn is_filled_by(guess: &Value, argument: &HostArgument, parameter: &Parameter) -> bool {
    let Value::Buffer(spec) = guess else {
        return false;
    };
    // What no program says.
    let marked = Fill::Copy(String::new());
    let guess = Value::Buffer(BufferSpec {
        fill: marked.clone(),
        ..spec.clone()
    });
    let filled = value(argument, parameter, &guess);
    matches!(filled, Some(Value::Buffer(spec)) if spec.fill == marked)
}

/// The value that a parameter gets; `None` where the guess is as good.
fn value(argument: &HostArgument, parameter: &Parameter, guess: &Value) -> Option<Value> {
    match (argument, parameter.kind) {
        (HostArgument::Integer(value), Kind::Scalar(_)) => {
            Some(Value::Scalar(value.to_string(), None))
        }
        (HostArgument::Float(value), Kind::Scalar(element)) => Some(Value::Scalar(
            match element.is_float() {
                true => format!("{value:?}"),
                false => (*value as i64).to_string(),
            },
            None,
        )),
        (HostArgument::Integer(0), Kind::Pointer(_) | Kind::Rows(_)) => {
            Some(Value::Scalar("0".into(), None))
        }
        (HostArgument::Buffer(host), Kind::Pointer(element)) => {
            Some(Value::Buffer(buffer(host, element, guess)))
        }
        _ => None,
    }
}

fn buffer(host: &HostBuffer, element: Option<ElementType>, guess: &Value) -> BufferSpec {
    let element = element.unwrap_or(ElementType::I32);
    let element = match host.bytes.is_multiple_of(element.bytes() as u64) {
        true => element,
        false => ElementType::U8,
    };
    let length = host.bytes / element.bytes() as u64;
    let guessed = match guess {
        Value::Buffer(spec) => spec.fill.clone(),
        _ => Fill::Random(None),
    };
    BufferSpec {
        element,
        length: Some(length),
        fill: fill(&host.content, element, length, guessed),
    }
}

/// What a buffer holds, as far as its elements can say it; else what is guessed.
fn fill(content: &Content, element: ElementType, length: u64, guessed: Fill) -> Fill {
    let integer = |value: i64| Fill::integer(value);
    match content {
        Content::Part(bytes, of) => {
            let first = bytes / element.bytes() as u64;
            let whole = bytes.is_multiple_of(element.bytes() as u64);
            match (fill(of, element, first, guessed.clone()), whole) {
                // Fewer numbers than elements leave the rest unwritten by themselves.
                (list @ Fill::First(_), true) => list,
                (Fill::Uninitialized | Fill::Part(..), _) | (_, false) => guessed,
                (of, true) => Fill::Part(first, Box::new(of)),
            }
        }
        Content::Unknown => guessed,
        Content::Untouched => Fill::Uninitialized,
        Content::Bytes(0) | Content::Integer(0) => Fill::Zeros,
        Content::Bytes(byte) if element == ElementType::U8 => integer((*byte).into()),
        Content::Bytes(255) if !element.is_float() && element.name().starts_with('i') => {
            integer(-1)
        }
        Content::Bytes(_) => guessed,
        Content::Integer(value) => integer(*value),
        Content::Float(value) if element.is_float() => Fill::Constant(Number::Float(*value)),
        Content::Float(value) => integer(*value as i64),
        Content::Iota => Fill::Iota,
        Content::Range(low, high) => Fill::random_in(*low, *high),
        Content::Fractions if element.is_float() => Fill::Random(None),
        Content::Fractions => Fill::Zeros,
        Content::List(numbers) if length <= 4096 => {
            let all = numbers.iter().map(|text| Number::parse(text));
            match all.collect::<Option<Vec<_>>>() {
                Some(mut all) => {
                    all.resize(length as usize, Number::Integer(0));
                    Fill::First(all)
                }
                None => guessed,
            }
        }
        Content::List(_) => guessed,
    }
}
