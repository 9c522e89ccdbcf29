//! What is to be checked, and within which budgets: plain data.

use super::argument::Argument;
use simt::ids::Dim3;
use simt::{Engine, Limits, Live, ScheduleSpec};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use toolchain::CompileOptions;

/// Where the kernel comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// A file: PTX, or CUDA source by its extension.
    File(PathBuf),
    /// PTX, and the name by which it is shown.
    Ptx {
        /// The name.
        name: String,
        /// The text.
        text: String,
    },
}

/// What is known of the launch's shape.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Given {
    /// Blocks.
    pub grid: Option<Dim3>,
    /// Threads of a block.
    pub block: Option<Dim3>,
    /// Bytes of dynamic shared memory of a block.
    pub shared: Option<u32>,
    /// Blocks of a cluster.
    pub cluster: Option<Dim3>,
}

/// Which schedules are tried.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Schedules {
    /// So many, where the result may depend on them.
    UpTo(u32),
    /// This one alone.
    Only(ScheduleSpec),
}

/// A second kernel, launched directly behind the first one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Then {
    /// Its name, plain or mangled.
    pub entry: String,
    /// Blocks; as many as the first launch has where nothing is said.
    pub grid: Option<Dim3>,
    /// Threads of a block.
    pub block: Option<Dim3>,
    /// Bytes of dynamic shared memory of a block.
    pub shared: Option<u32>,
    /// Whether it may begin before the first one has ended, as `cudaLaunchAttributeProgrammaticStreamSerialization` says.
    pub dependent: bool,
}

/// What a check may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budgets {
    /// Warp-instructions of a launch.
    pub steps: u64,
    /// Time for everything.
    pub time: Option<Duration>,
    /// Memory of the simulated device, bytes.
    pub memory: u64,
    /// Cores.
    pub jobs: usize,
}

/// Memory of the simulated device where none is given: 2 GiB, but no more than a quarter of the machine's.
pub fn device_memory() -> u64 {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let total = text.lines().find_map(|line| line.strip_prefix("MemTotal:"));
    let kibibytes = total.and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok());
    kibibytes
        .map_or(2 << 30, |k| (k << 10) / 4)
        .clamp(64 << 20, 2 << 30)
}

impl Default for Budgets {
    /// The simulator's own number of warp-instructions, two minutes, [some memory](device_memory), all cores.
    fn default() -> Budgets {
        Budgets {
            steps: Limits::default().steps,
            time: Some(Duration::from_secs(120)),
            memory: device_memory(),
            jobs: std::thread::available_parallelism().map_or(1, usize::from),
        }
    }
}

/// Number of settings of guessed numbers where the user gives none.
pub const DEFAULT_INPUTS: u32 = 9;

/// A kernel to check.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// Where it is.
    pub source: Source,
    /// Further files of the program, CUDA source or PTX, which are linked with it.
    pub further: Vec<PathBuf>,
    /// Its name, plain or mangled; needless where there is one kernel.
    pub entry: Option<String>,
    /// What is known of the launch's shape.
    pub launch: Given,
    /// Whether the launch is cooperative.
    pub cooperative: bool,
    /// A kernel that is launched behind it.
    pub then: Option<Then>,
    /// Variables of the module that are set before the launch.
    pub variables: Vec<Argument>,
    /// Arguments; the others are guessed.
    pub arguments: Vec<Argument>,
    /// Names of the parameters by position, where the caller knows them and PTX does not: those of a kernel that is written in Python.
    pub names: Vec<Option<String>>,
    /// Schedules.
    pub schedules: Schedules,
    /// How many settings of guessed numbers are tried, at most.
    pub inputs: u32,
    /// Seed of random inputs and schedules.
    pub seed: u64,
    /// Budgets.
    pub budgets: Budgets,
    /// What the compiler is told.
    pub compiler: CompileOptions,
    /// Whether performance is judged, too.
    pub perf: bool,
    /// Whether findings get a [trace](report::trace), which takes one more run for each schedule that showed one.
    pub trace: bool,
    /// Who executes the kernel.
    pub engine: Engine,
}

impl Request {
    /// A check of this source in which nothing else is said.
    pub fn new(source: Source) -> Request {
        Request {
            source,
            further: Vec::new(),
            entry: None,
            launch: Given::default(),
            cooperative: false,
            then: None,
            variables: Vec::new(),
            arguments: Vec::new(),
            names: Vec::new(),
            schedules: Schedules::UpTo(8),
            inputs: DEFAULT_INPUTS,
            seed: 1,
            budgets: Budgets::default(),
            compiler: CompileOptions::default(),
            perf: false,
            trace: false,
            engine: Engine::default(),
        }
    }
}

/// What is being done.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Progress<'a> {
    /// A build is compiled.
    Compiling {
        /// The file.
        file: &'a str,
        /// Which build.
        build: &'a str,
    },
    /// A schedule is run.
    Running {
        /// Which build; `None` where the input is PTX.
        build: Option<&'a str>,
        /// The schedule.
        schedule: &'a ScheduleSpec,
        /// Its number, from 1.
        number: usize,
        /// How many there are.
        of: usize,
    },
}

impl std::fmt::Display for Progress<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Progress::Compiling { file, build } => write!(f, "compiling {file} ({build})"),
            Progress::Running {
                build,
                schedule,
                number,
                of,
            } => {
                if let Some(build) = build {
                    write!(f, "{build}, ")?;
                }
                write!(f, "{schedule} ({number} of {of} schedules)")
            }
        }
    }
}

/// Who watches a check, and may end it.
pub trait Watch: Sync {
    /// Something begins.
    fn progress(&self, progress: Progress<'_>) {
        let _ = progress;
    }

    /// Whether the check is to end; asked before each run.
    fn cancelled(&self) -> bool {
        false
    }

    /// What is told of runs while they go on, and how they are ended with what they have found until then.
    fn live(&self) -> Option<&Live> {
        None
    }
}

/// Nobody watches.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unwatched;

impl Watch for Unwatched {}

/// A switch that ends a check from another thread.
#[derive(Clone, Debug, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    /// Ends the check before its next run.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Watch for Cancel {
    fn cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Tells a function of what begins.
impl<F: Fn(Progress<'_>) + Sync> Watch for F {
    fn progress(&self, progress: Progress<'_>) {
        self(progress);
    }
}
