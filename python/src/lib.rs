//! The native part of the Python package `racetrap`: one function that runs a check, and the report that comes of it. Everything else of the
//! package is in Python, beside this folder; it turns arguments into bytes and bytes into arrays.
//!
//! The interpreter's lock is released while a check runs, on a thread of its own; the calling thread looks for signals in the meantime, so
//! that an interrupt ends the call at once and the check before its next run.

use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyValueError};
use pyo3::prelude::*;
use racetrap::{Argument, Check, Element, ErrorKind, Format, Promise, Verdict};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// How long an interrupt may go unnoticed.
const BETWEEN_SIGNALS: Duration = Duration::from_millis(20);

create_exception!(
    racetrap,
    Failure,
    PyException,
    "A kernel could not be checked: `(kind, message)`."
);

/// An argument, as Python hands it over.
#[derive(FromPyObject)]
enum Given {
    /// The type of the elements, and their bytes.
    Buffer(String, Vec<u8>),
    /// Anything else, in the notation of `racetrap check --arg`.
    Text(String),
}

/// A buffer with this content.
fn buffer(element: &str, bytes: &[u8]) -> PyResult<Argument> {
    fn of<T: Element, const N: usize>(bytes: &[u8], read: fn([u8; N]) -> T) -> Argument
    where
        Argument: From<Vec<T>>,
    {
        let values: Vec<T> = bytes.as_chunks().0.iter().map(|c| read(*c)).collect();
        values.into()
    }
    Ok(match element {
        "i8" => of(bytes, i8::from_le_bytes),
        "u8" => of(bytes, u8::from_le_bytes),
        "i16" => of(bytes, i16::from_le_bytes),
        "u16" => of(bytes, u16::from_le_bytes),
        "i32" => of(bytes, i32::from_le_bytes),
        "u32" => of(bytes, u32::from_le_bytes),
        "i64" => of(bytes, i64::from_le_bytes),
        "u64" => of(bytes, u64::from_le_bytes),
        "f32" => of(bytes, f32::from_le_bytes),
        "f64" => of(bytes, f64::from_le_bytes),
        other => {
            return Err(PyValueError::new_err(format!(
                "`{other}` is not an element type"
            )));
        }
    })
}

fn bytes_of<T: Element>(
    report: &racetrap::Report,
    name: &str,
    write: fn(T) -> Vec<u8>,
) -> PyResult<Vec<u8>> {
    let values = report.buffer::<T>(name);
    let values = values.map_err(|error| PyValueError::new_err(error.to_string()))?;
    Ok(values.into_iter().flat_map(write).collect())
}

/// What came of a check.
#[pyclass(frozen)]
struct Checked(racetrap::Report);

#[pymethods]
impl Checked {
    /// `clean`, `findings`, `unsupported` or `inconclusive`.
    #[getter]
    fn verdict(&self) -> &'static str {
        match self.0.verdict() {
            Verdict::Clean => "clean",
            Verdict::Findings => "findings",
            Verdict::Unsupported => "unsupported",
            _ => "inconclusive",
        }
    }

    /// The verdict in a sentence.
    #[getter]
    fn summary(&self) -> &str {
        self.0.summary()
    }

    /// What the kernel printed.
    #[getter]
    fn output(&self) -> &str {
        self.0.output()
    }

    /// Schedules, builds, guessed arguments, and the promise.
    fn explored(&self) -> (Vec<String>, Vec<String>, Vec<String>, Option<&'static str>) {
        let explored = self.0.explored();
        let promise = explored.promise.map(|promise| match promise {
            Promise::EverySchedule => "every-schedule",
            Promise::EveryVerdict => "every-verdict",
            Promise::SchedulesTried => "schedules-tried",
        });
        (
            explored.schedules,
            explored.builds,
            explored.guessed,
            promise,
        )
    }

    /// The report in a format of `racetrap check --format`.
    fn render(&self, format: &str) -> PyResult<String> {
        Ok(match format {
            "terminal" => self.0.to_string(),
            "text" => self.0.render(Format::Text),
            "json" => self.0.render(Format::Json),
            "html" => self.0.render(Format::Html),
            "sarif" => self.0.render(Format::Sarif),
            "junit" => self.0.render(Format::Junit),
            other => return Err(PyValueError::new_err(format!("`{other}` is not a format"))),
        })
    }

    /// The bytes of the buffer of an argument, by its index.
    fn buffer(&self, index: usize, element: &str) -> PyResult<Vec<u8>> {
        let (report, name) = (&self.0, &index.to_string());
        match element {
            "i8" => bytes_of(report, name, |v: i8| v.to_le_bytes().into()),
            "u8" => bytes_of(report, name, |v: u8| v.to_le_bytes().into()),
            "i16" => bytes_of(report, name, |v: i16| v.to_le_bytes().into()),
            "u16" => bytes_of(report, name, |v: u16| v.to_le_bytes().into()),
            "i32" => bytes_of(report, name, |v: i32| v.to_le_bytes().into()),
            "u32" => bytes_of(report, name, |v: u32| v.to_le_bytes().into()),
            "i64" => bytes_of(report, name, |v: i64| v.to_le_bytes().into()),
            "u64" => bytes_of(report, name, |v: u64| v.to_le_bytes().into()),
            "f32" => bytes_of(report, name, |v: f32| v.to_le_bytes().into()),
            "f64" => bytes_of(report, name, |v: f64| v.to_le_bytes().into()),
            other => Err(PyValueError::new_err(format!(
                "`{other}` is not an element type"
            ))),
        }
    }
}

fn wait<T>(receiver: &Mutex<Receiver<T>>) -> Result<T, RecvTimeoutError> {
    let receiver = receiver.lock().unwrap_or_else(PoisonError::into_inner);
    receiver.recv_timeout(BETWEEN_SIGNALS)
}

fn kind(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::Input => "input",
        ErrorKind::NoCompiler => "no-compiler",
        ErrorKind::Refused => "refused",
        ErrorKind::Kernel => "kernel",
        ErrorKind::Argument => "argument",
        ErrorKind::Launch => "launch",
        ErrorKind::Memory => "memory",
        ErrorKind::Time => "time",
        ErrorKind::Cancelled => "cancelled",
        _ => "other",
    }
}

/// Runs a check. `ptx` is a text, `file` a path; one of them is given.
#[pyfunction]
#[pyo3(signature = (*, ptx, file, kernel, grid, block, shared, cooperative, args, schedules, schedule, inputs, seed, timeout, max_steps, jobs, defines, includes, std, arch))]
#[allow(clippy::too_many_arguments)] // By name, from one place.
fn check(
    py: Python<'_>,
    ptx: Option<String>,
    file: Option<String>,
    kernel: Option<String>,
    grid: Option<(u32, u32, u32)>,
    block: Option<(u32, u32, u32)>,
    shared: Option<u32>,
    cooperative: bool,
    args: Vec<Given>,
    schedules: Option<u32>,
    schedule: Option<String>,
    inputs: Option<u32>,
    seed: Option<u64>,
    timeout: Option<f64>,
    max_steps: Option<u64>,
    jobs: Option<usize>,
    defines: Vec<String>,
    includes: Vec<String>,
    std: Option<String>,
    arch: Option<String>,
) -> PyResult<Checked> {
    let mut check = match (ptx, file) {
        (Some(text), _) => Check::ptx(text),
        (None, Some(file)) => Check::cuda(file),
        (None, None) => return Err(PyValueError::new_err("no kernel")),
    };
    macro_rules! set {
        ($($name:ident = $method:ident;)*) => {$(
            if let Some(value) = $name {
                check = check.$method(value);
            }
        )*};
    }
    let timeout =
        timeout.map(|seconds| Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX));
    let schedule = schedule.as_deref();
    set! {
        kernel = entry; grid = grid; block = block; shared = shared; schedules = schedules; schedule = schedule; inputs = inputs; seed = seed;
        timeout = timeout; max_steps = max_steps; jobs = jobs; std = std; arch = arch;
    }
    if cooperative {
        check = check.cooperative();
    }
    check = defines.into_iter().fold(check, Check::define);
    check = includes.into_iter().fold(check, Check::include);
    for (index, argument) in args.into_iter().enumerate() {
        check = match argument {
            Given::Buffer(element, bytes) => {
                check.arg_named(index.to_string(), buffer(&element, &bytes)?)
            }
            Given::Text(text) => check.arg_text(&format!("{index}={text}")),
        };
    }
    let cancelled = Arc::new(AtomicBool::new(false));
    let check = check.cancelled_by(cancelled.clone());
    let (sender, receiver) = channel();
    // For PyO3, which wants to share what is used without the interpreter's lock; nobody else does.
    let receiver = Mutex::new(receiver);
    let thread = std::thread::Builder::new()
        .stack_size(64 << 20)
        .spawn(move || {
            // Nobody listens where the call was interrupted.
            let _ = sender.send(check.run());
        })?;
    let result = loop {
        match py.detach(|| wait(&receiver)) {
            Ok(result) => break result,
            Err(RecvTimeoutError::Timeout) => {
                if let Err(interrupt) = py.check_signals() {
                    cancelled.store(true, Ordering::Relaxed);
                    return Err(interrupt);
                }
            }
            Err(RecvTimeoutError::Disconnected) => {
                let _ = thread.join();
                return Err(Failure::new_err((
                    "internal",
                    "an error inside racetrap: please report it",
                )));
            }
        }
    };
    match result {
        Ok(report) => Ok(Checked(report)),
        Err(error) => Err(Failure::new_err((kind(error.kind()), error.to_string()))),
    }
}

/// The native part of `racetrap`.
#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("Failure", module.py().get_type::<Failure>())?;
    module.add_class::<Checked>()?;
    module.add_function(wrap_pyfunction!(check, module)?)
}
