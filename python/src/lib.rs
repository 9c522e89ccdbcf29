//! The native part of the Python package `racetrap`: functions that run a check, a program, and one that nobody trusts, and the reports that
//! come of it. Everything else of the package is in Python, beside this folder; it turns arguments into bytes and bytes into arrays.
//!
//! The interpreter's lock is released while a check runs, on a thread of its own; the calling thread looks for signals in the meantime, so
//! that an interrupt ends the call at once and the check before its next run.

use context::options::Options;
use exec::collect::Collected;
use exec::run::Ended;
use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyValueError};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;
use racetrap::{Argument, Check, Element, ErrorKind, Format, Promise};
use simt::Live;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use toolchain::Nvcc;
use toolchain::sandbox::{Job, Sandbox};
use toolchain::seccomp::Calls;

/// How long an interrupt may go unnoticed.
const BETWEEN_SIGNALS: Duration = Duration::from_millis(20);

/// What runs hold is counted, so that their limits on memory hold.
#[global_allocator]
static ALLOCATOR: meter::Metered = meter::Metered;

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
    Buffer(String, PyBackedBytes),
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

/// What came of a check.
#[pyclass(frozen)]
struct Checked(racetrap::Report);

#[pymethods]
impl Checked {
    /// Warp-instructions that were watched.
    #[getter]
    fn instructions(&self) -> u64 {
        self.0.instructions()
    }

    /// Accesses to memory that were judged.
    #[getter]
    fn accesses(&self) -> u64 {
        self.0.accesses()
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
        match format {
            "terminal" => Ok(self.0.to_string()),
            _ => Ok(self.0.render(named(format)?)),
        }
    }

    /// The bytes of the buffer of an argument, by its index.
    fn buffer<'py>(&self, py: Python<'py>, index: usize) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = self.0.bytes(&index.to_string());
        let bytes = bytes.map_err(|error| PyValueError::new_err(error.to_string()))?;
        Ok(PyBytes::new(py, &bytes))
    }
}

/// What came of launches that a process made while it watched itself.
#[pyclass(frozen)]
struct Watched(report::Report);

#[pymethods]
impl Watched {
    /// The kernels of which a launch was watched.
    #[getter]
    fn kernels(&self) -> Vec<String> {
        let all = self.0.checks.iter();
        all.flat_map(|c| c.judged.kernels.clone().unwrap_or_default())
            .collect()
    }

    /// The report in a format of `racetrap check --format`.
    fn render(&self, format: &str) -> PyResult<String> {
        Ok(report::render(&self.0, named(format)?))
    }
}

/// Variables of the environment, and libraries to load.
type Prepared = (Vec<(String, OsString)>, Vec<PathBuf>);

/// Makes a folder for a process that is to watch itself.
#[pyfunction]
#[pyo3(signature = (library, folder, *, first, schedules, capability))]
fn watch(
    library: PathBuf,
    folder: PathBuf,
    first: u64,
    schedules: u32,
    capability: u32,
) -> PyResult<Prepared> {
    let options = Options {
        capability,
        first,
        schedules,
        // Pages that are closed to the host would be closed to the interpreter.
        host: false,
        ..Options::default()
    };
    let inside = exec::inside::prepare(&library, &folder, &options)?;
    Ok((inside.variables, inside.load))
}

/// Runs a program with the simulated device in its way: its exit status, and what was seen.
#[pyfunction]
#[pyo3(signature = (command, library, folder, *, name, first, schedules, capability, kernels, timeout))]
#[allow(clippy::too_many_arguments)] // By name, from one place.
fn run(
    py: Python<'_>,
    command: Vec<OsString>,
    library: PathBuf,
    folder: PathBuf,
    name: String,
    first: u64,
    schedules: u32,
    capability: u32,
    kernels: Vec<String>,
    timeout: Option<f64>,
) -> PyResult<(i32, Watched)> {
    let options = Options {
        capability,
        first,
        schedules,
        kernels,
        jobs: std::thread::available_parallelism().map_or(1, usize::from),
        ..Options::default()
    };
    let timeout = timeout.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    let libraries = folder.join("lib");
    std::fs::create_dir_all(&libraries)?;
    exec::library::install(&library, &libraries, None)?;
    let cancelled = Arc::new(AtomicBool::new(false));
    let live = Live::until(cancelled.clone());
    let ran = interruptible(py, &cancelled, move || {
        let started = Instant::now();
        let ended = exec::run::run(&command, &folder, &options, false, timeout, &live)?;
        let report = Collected::read(&folder).report(&name, ended, started.elapsed());
        Ok::<_, std::io::Error>((ended.status(), Watched(report)))
    })?;
    Ok(ran?)
}

/// What was seen since the records in the folder were `from` bytes long, and what came of checks beside.
#[pyfunction]
fn watched(folder: PathBuf, from: usize, name: &str, others: Vec<PyRef<'_, Checked>>) -> Watched {
    let collected = Collected::since(&folder, from);
    let mut report = collected.report(name, Ended::Exit(0), Duration::ZERO);
    if !others.is_empty() && collected.launches() == 0 {
        report.checks.clear();
    }
    let others = others.iter().map(|other| other.0.as_check().clone());
    report.checks.extend(others);
    Watched(report)
}

/// The report on a source that the compiler refuses, with its text.
#[pyfunction]
fn refused(name: String, message: String) -> Watched {
    Watched(report::Report {
        checks: vec![report::Check {
            name,
            verdict: report::Verdict::Inconclusive,
            ok: false,
            summary: message,
            schedule_independent: None,
            setting: None,
            diagnostics: Vec::new(),
            unseen: report::Unseen::default(),
            judged: report::Judged::default(),
            output: String::new(),
            time: Duration::ZERO,
        }],
    })
}

/// Lets the compiler be found in a toolkit that came with the package.
#[pyfunction]
fn toolkit(folder: PathBuf) {
    toolchain::also_in(folder);
}

/// The folder of the CUDA compiler, and the source of that answer where there is none.
#[pyfunction]
fn compiler() -> Result<PathBuf, PyErr> {
    let nvcc = Nvcc::find().map_err(|searched| {
        let places = searched.0.join(", ");
        let message = format!("the CUDA compiler (nvcc) was not found: looked in {places}");
        Failure::new_err(("no-compiler", message))
    })?;
    let program = nvcc.program.path.canonicalize()?;
    let folder = program.parent().and_then(Path::parent);
    Ok(folder.unwrap_or(Path::new("/")).to_owned())
}

/// Runs a program that nobody trusts: it reads these places and its folder, writes in its folder alone, reaches no network, and ends when its
/// time is up or it holds too much. Its status (none where it was ended), what it wrote, how far the system confines it, and whether it held too much.
#[pyfunction]
#[pyo3(signature = (program, arguments, folder, *, read, environment, seconds))]
fn confined(
    py: Python<'_>,
    program: PathBuf,
    arguments: Vec<OsString>,
    folder: PathBuf,
    read: Vec<PathBuf>,
    environment: (OsString, OsString),
    seconds: f64,
) -> PyResult<(Option<i32>, String, String, &'static str, bool)> {
    /// Address space: what simulates a device reserves much and uses little.
    const ADDRESSES: u64 = 1 << 43;
    /// The memory of the simulated device is a file of 1 TiB, most of which is never there (`context::arena`).
    const FILE: u64 = 1 << 41;
    /// What counts: memory in use, and what is written to disks.
    const HELD: u64 = 8 << 30;
    let sandbox = Sandbox {
        read,
        write: vec![folder.clone()],
        memory: ADDRESSES,
        in_use: HELD,
        file: FILE,
        written: HELD,
        time: Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX),
        // Linkers make what they write a program, which is a change of permissions.
        calls: Calls::Group,
        alone: None,
    };
    let own = folder.clone().into_os_string();
    let (path, toolkit) = environment;
    let job = Job {
        program,
        arguments,
        folder,
        environment: vec![
            ("PATH".into(), path),
            ("CUDA_PATH".into(), toolkit),
            ("HOME".into(), own.clone()),
            ("TMPDIR".into(), own),
            ("NO_COLOR".into(), "1".into()),
        ],
        clean: true,
    };
    // Its time is limited; an interrupt leaves it to that.
    let ended = interruptible(py, &AtomicBool::new(false), move || sandbox.run(&job))??;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let status = ended.status.map(|s| s.code().unwrap_or(-1));
    Ok((
        status,
        text(&ended.stdout),
        text(&ended.stderr),
        ended.confined.describe(),
        ended.too_large,
    ))
}

fn named(format: &str) -> PyResult<Format> {
    Ok(match format {
        "terminal" | "text" => Format::Text,
        "json" => Format::Json,
        "html" => Format::Html,
        "sarif" => Format::Sarif,
        "junit" => Format::Junit,
        other => return Err(PyValueError::new_err(format!("`{other}` is not a format"))),
    })
}

fn wait<T>(receiver: &Mutex<Receiver<T>>) -> Result<T, RecvTimeoutError> {
    let receiver = receiver.lock().unwrap_or_else(PoisonError::into_inner);
    receiver.recv_timeout(BETWEEN_SIGNALS)
}

/// Works on a thread of its own, without the interpreter's lock, until it is done or a signal's handler raises an exception: then the switch
/// is set, and nobody waits.
fn interruptible<T: Send + 'static>(
    py: Python<'_>,
    cancelled: &AtomicBool,
    work: impl FnOnce() -> T + Send + 'static,
) -> PyResult<T> {
    let (sender, receiver) = channel();
    // For PyO3, which wants to share what is used without the interpreter's lock; nobody else does.
    let receiver = Mutex::new(receiver);
    let thread = std::thread::Builder::new()
        .stack_size(64 << 20)
        .spawn(move || {
            // Nobody listens where the call was interrupted.
            let _ = sender.send(work());
        })?;
    loop {
        match py.detach(|| wait(&receiver)) {
            Ok(result) => return Ok(result),
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
    }
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
#[pyo3(signature = (*, ptx, file, kernel, grid, block, shared, cooperative, args, names, schedules, schedule, inputs, seed, timeout, max_steps, jobs, defines, includes, std, arch))]
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
    names: Vec<Option<String>>,
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
    check = check.parameter_names(names);
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
    let result = interruptible(py, &cancelled, move || check.run())?;
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
    module.add_class::<Watched>()?;
    module.add_function(wrap_pyfunction!(run, module)?)?;
    module.add_function(wrap_pyfunction!(watch, module)?)?;
    module.add_function(wrap_pyfunction!(watched, module)?)?;
    module.add_function(wrap_pyfunction!(refused, module)?)?;
    module.add_function(wrap_pyfunction!(toolkit, module)?)?;
    module.add_function(wrap_pyfunction!(compiler, module)?)?;
    module.add_function(wrap_pyfunction!(confined, module)?)?;
    module.add_function(wrap_pyfunction!(check, module)?)
}
