//! What the host program in the same source says of a launch: geometry, arguments, sizes and contents of buffers.
//!
//! The first launch of the kernel whose geometry can be read counts. A problem that is too large for a simulator is made smaller as a
//! whole: the sizes that the program defines are divided by two until the launch fits. Sizes of buffers bind (reaching outside is an
//! error) only where nothing else is guessed that could make the kernel reach there: arguments, and integers in buffers.

use super::argument::{BufferSpec, Fill, Value};
use super::host_facts::{self, Asked, Followed};
use super::parameters::{Kind, Parameter, Parameters};
use super::plan::{Origin, Plan};
use session::buffer::{ElementType, Number};
use toolchain::cuda_text::{Content, CudaText, HostArgument, HostBuffer, HostLaunch};

/// Threads of a launch that is taken over as it is, if smaller sizes make none of fewer.
pub(super) const THREADS: u64 = 1 << 18;
/// Threads from which on smaller sizes are tried.
const MANY: u64 = 1 << 16;
/// Bytes of all its buffers.
pub(super) const BYTES: u64 = 32 << 20;
/// Integers up to this say nothing of the problem's size.
const SMALL: u64 = 64;
/// How often sizes are halved.
pub(super) const SHRINK: u32 = 20;

/// A launch as the host program makes it.
#[derive(Clone, Debug, PartialEq)]
pub struct Host {
    /// The launch.
    pub launch: HostLaunch,
    /// The file that makes it, where that is not the first one.
    pub file: Option<String>,
    /// Whether its sizes are smaller than those of the program.
    pub smaller: bool,
    /// What was guessed so that it makes a launch.
    pub followed: Option<Followed>,
}

impl Host {
    /// What a source says of the launches of a kernel.
    pub fn read(source: &CudaText, asked: &Asked) -> Option<Host> {
        let mut block = None;
        let mut large = None;
        for shrink in 0..=SHRINK {
            let all = source.launches(&asked.name, shrink);
            let whole = all
                .iter()
                .position(|l| l.grid.is_some() && l.block.is_some());
            let Some(number) = whole else {
                if let Some((launch, followed)) = host_facts::any(source, asked) {
                    return Some(Host::of(launch, false, source, Some(followed)));
                }
                block = all.into_iter().find(|l| l.block.is_some());
                break;
            };
            let launch = &all[number];
            if fits(launch) {
                let it = (launch.clone(), number, shrink);
                if threads_of(launch) <= MANY {
                    return Some(Host::whole(it, source, asked));
                }
                large.get_or_insert(it);
            }
            block.get_or_insert_with(|| launch.clone());
        }
        if let Some(large) = large {
            return Some(Host::whole(large, source, asked));
        }
        let mut launch = block?;
        // Its sizes are unknown, or too large. What is small is no size: radius, steps, threshold.
        launch.grid = None;
        for argument in &mut launch.arguments {
            match argument {
                HostArgument::Integer(value) if value.unsigned_abs() <= SMALL => {}
                HostArgument::Float(_) => {}
                other => *other = HostArgument::Unknown,
            }
        }
        Some(Host::of(launch, false, source, None))
    }

    /// A launch whose shape is known; arguments may depend on more.
    fn whole(
        (launch, number, shrink): (HostLaunch, usize, u32),
        source: &CudaText,
        asked: &Asked,
    ) -> Host {
        let (launch, followed) = match Followed::new(source, asked, number, shrink) {
            Some((launch, followed)) => (launch, Some(followed)),
            None => (launch, None),
        };
        Host::of(launch, shrink > 0, source, followed)
    }

    fn of(
        mut launch: HostLaunch,
        smaller: bool,
        source: &CudaText,
        followed: Option<Followed>,
    ) -> Host {
        let (file, line) = source.file_of(launch.line);
        launch.line = line;
        Host {
            file: file.map(str::to_owned),
            launch,
            smaller,
            followed,
        }
    }

    /// Where a value comes from, for readers.
    pub fn describe(&self) -> String {
        let smaller = match self.smaller {
            true => ", with smaller sizes",
            false => "",
        };
        let line = line_of(self.launch.line, self.file.as_deref());
        let guesses = self.followed.as_ref().map(Followed::describe);
        let guesses = guesses.filter(|g| !g.is_empty());
        let guesses = guesses.map_or(String::new(), |g| format!(" if {g}"));
        format!("as {line} launches it{guesses}{smaller}")
    }
}

/// `line 12`, or `line 12 of main.cu` where that is not the file that was given first.
pub(crate) fn line_of(line: u32, file: Option<&str>) -> String {
    match file {
        Some(file) => format!("line {line} of {file}"),
        None => format!("line {line}"),
    }
}

/// Threads of a launch as far as it is known.
pub(super) fn threads_of(launch: &HostLaunch) -> u64 {
    let count = |all: Option<[u32; 3]>| {
        all.map_or(1, |[x, y, z]| {
            u64::from(x)
                .saturating_mul(y.into())
                .saturating_mul(z.into())
        })
    };
    count(launch.grid).saturating_mul(count(launch.block))
}

/// Bytes of the buffers that it is given.
pub(super) fn bytes_of(launch: &HostLaunch) -> u64 {
    let bytes = launch.arguments.iter().map(|argument| match argument {
        HostArgument::Buffer(buffer) => buffer.bytes,
        _ => 0,
    });
    bytes.fold(0u64, u64::saturating_add)
}

fn fits(launch: &HostLaunch) -> bool {
    threads_of(launch) <= THREADS && bytes_of(launch) <= BYTES
}

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
        let origin = Origin::Host {
            line: host.launch.line,
            binding: known && !numbers_given,
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
                let number = matches!(value, Value::Scalar(..));
                self.values[index].value = value;
                let guess = |f: &Followed| f.depends.get(index).copied().unwrap_or(false);
                self.values[index].origin =
                    match number && host.followed.as_ref().is_some_and(guess) {
                        true => Origin::Followed,
                        false => origin,
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
    super::plan::accepts(value, parameters, index)
}

/// Whether what is passed is known as far as it could lead a kernel outside of its buffers.
fn is_known(argument: &HostArgument, parameter: &Parameter) -> bool {
    match (argument, parameter.kind) {
        (HostArgument::Unknown, _) => false,
        (HostArgument::Buffer(buffer), Kind::Pointer(element)) => {
            let float = element.is_some_and(ElementType::is_float);
            float || buffer.content != Content::Unknown
        }
        (HostArgument::Buffer(_), _) => false,
        _ => true,
    }
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
    let integer = |value: i64| Fill::integer(value);
    let fill = match &host.content {
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
    };
    BufferSpec {
        element,
        length: Some(length),
        fill,
    }
}
