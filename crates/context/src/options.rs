//! What `racetrap exec` tells the library in the program's process, and where.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// The variable that names the folder in which [`Options`] lie and records are written. It is set by `racetrap exec` alone.
pub const VARIABLE: &str = "RACETRAP_EXEC";
/// The options' file in it.
const OPTIONS: &str = "options.json";
/// The records' file in it.
const RECORDS: &str = "records.jsonl";

/// How a program is run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Options {
    /// Compute capability of the device: 75, 80, 90.
    pub capability: u32,
    /// Bytes of its memory.
    pub memory: u64,
    /// Launches of a kernel and geometry that are watched before the others.
    pub first: u64,
    /// Of the others, every so many-th; `None`: those whose number is a power of two.
    pub every: Option<u64>,
    /// Schedules that are tried for a watched launch.
    pub schedules: u32,
    /// Time that schedules beyond the first may take, in percent of the first ones'; some seconds in any case.
    pub budget: u32,
    /// Names or patterns of kernels to watch; all if there are none.
    pub kernels: Vec<String>,
    /// Names or patterns of kernels not to watch.
    pub skipped: Vec<String>,
    /// Seconds that one launch may take.
    pub launch_seconds: f64,
    /// Warp-instructions that one launch may take.
    pub steps: u64,
    /// Whether performance is judged too.
    pub perf: bool,
    /// Whether the host's own accesses to memory that it shares with the device are watched.
    pub host: bool,
    /// Cores.
    pub jobs: usize,
    /// Whether kernels run on the [plain engine](simt::Engine::Plain).
    #[serde(default)]
    pub plain: bool,
    /// Whether all warps of a block advance together ([`ScheduleSpec::InStep`](simt::ScheduleSpec::InStep)), instead of one after the other.
    #[serde(default)]
    pub in_step: bool,
    /// Whether somebody is shown [what runs](crate::pulse).
    #[serde(default)]
    pub pulse: bool,
    /// Whether what threads do is counted.
    #[serde(default)]
    pub counts: bool,
    /// Whether findings get a [trace](report::trace): one more run of a launch for each schedule that shows one.
    #[serde(default)]
    pub traces: bool,
    /// Whether launches are [written down](crate::tape) so that somebody else can run them again. Then nobody looks at them here, but for
    /// what concerns other streams and the host.
    #[serde(default)]
    pub tape: bool,
    /// A call of the program that does nothing, as if it were not there: a mutant.
    #[serde(default)]
    pub leave_out: Option<LeaveOut>,
    /// PTX that takes the place of the program's own.
    #[serde(default)]
    pub instead: Vec<Instead>,
    /// What records are sealed with ([`Seal`](crate::seal::Seal)); they are plain without it.
    #[serde(default)]
    pub seal: Option<String>,
    /// The number of a file without a name that the process was started with, for the device's memory: where it can make none itself.
    #[serde(default)]
    pub arena: Option<i32>,
    /// NVIDIA's driver, for a program that runs on a GPU; where it usually is, if nobody says so.
    #[serde(default)]
    pub driver: Option<PathBuf>,
}

/// One of a program's calls of a function that gives nothing back but an error.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeaveOut {
    /// The function: `cudaMemcpy`.
    pub function: String,
    /// Which call of it, from 1.
    pub number: u64,
}

impl LeaveOut {
    /// Functions that leave nothing undefined when they are left out: they give back an error alone.
    pub const FUNCTIONS: [&str; 21] = [
        "cudaDeviceSynchronize",
        "cudaStreamSynchronize",
        "cudaEventSynchronize",
        "cudaStreamWaitEvent",
        "cudaEventRecord",
        "cudaMemcpy",
        "cudaMemcpyAsync",
        "cudaMemcpy2D",
        "cudaMemcpy2DAsync",
        "cudaMemcpyToSymbol",
        "cudaMemcpyToSymbolAsync",
        "cudaMemcpyFromSymbol",
        "cudaMemcpyFromSymbolAsync",
        "cudaMemset",
        "cudaMemsetAsync",
        "cudaMemset2D",
        "cudaFree",
        "cudaFreeAsync",
        "cudaFreeHost",
        "cudaLaunchKernel",
        "cudaLaunchCooperativeKernel",
    ];
}

/// PTX that takes the place of a text in the program's fat binaries: a mutant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Instead {
    /// SHA-256 of the text, in digits.
    pub of: String,
    /// The file with the other text.
    pub file: PathBuf,
}

impl Instead {
    /// The name of a text.
    pub fn name(text: &str) -> String {
        let hash = Sha256::digest(text.as_bytes());
        hash.iter().fold(String::new(), |mut out, byte| {
            let _ = write!(out, "{byte:02x}");
            out
        })
    }
}

impl Default for Options {
    fn default() -> Options {
        Options {
            capability: 90,
            memory: 16 << 30,
            first: 3,
            every: None,
            schedules: 8,
            budget: 50,
            kernels: Vec::new(),
            skipped: Vec::new(),
            launch_seconds: 600.0,
            steps: 1 << 40,
            perf: false,
            host: true,
            jobs: 1,
            plain: false,
            in_step: false,
            pulse: false,
            counts: false,
            traces: false,
            tape: false,
            leave_out: None,
            instead: Vec::new(),
            seal: None,
            arena: None,
            driver: None,
        }
    }
}

impl Options {
    /// Who executes kernels.
    pub(crate) fn engine(&self) -> simt::Engine {
        match self.plain {
            true => simt::Engine::Plain,
            false => simt::Engine::default(),
        }
    }

    /// Writes them to a folder.
    ///
    /// # Errors
    ///
    /// The file can't be written.
    pub fn write(&self, folder: &Path) -> std::io::Result<()> {
        std::fs::write(options(folder), self.line()?)
    }

    /// The folder that [`VARIABLE`] names, and the options in it; `None` outside of `racetrap exec`.
    ///
    /// They are read once, when the library is loaded: where their file is a pipe, nobody reads them after that.
    pub fn of_process() -> Option<(PathBuf, Options)> {
        static READ: OnceLock<Option<(PathBuf, Options)>> = OnceLock::new();
        let read = || {
            let folder = PathBuf::from(std::env::var_os(VARIABLE)?);
            let mut line = Vec::new();
            let file = std::fs::File::open(folder.join(OPTIONS)).ok()?;
            BufReader::new(file).read_until(b'\n', &mut line).ok()?;
            Some((folder, serde_json::from_slice(&line).ok()?))
        };
        READ.get_or_init(read).clone()
    }

    /// As they are written, on one line.
    ///
    /// # Errors
    ///
    /// None that is known.
    pub fn line(&self) -> std::io::Result<Vec<u8>> {
        let mut line = serde_json::to_vec(self)?;
        line.push(b'\n');
        Ok(line)
    }

    /// The text that is run where a program has this one.
    ///
    /// # Errors
    ///
    /// The file of what takes its place can't be read.
    pub fn instead_of(&self, text: &str) -> std::io::Result<String> {
        if self.instead.is_empty() {
            return Ok(text.to_owned());
        }
        let name = Instead::name(text);
        match self.instead.iter().find(|other| other.of == name) {
            Some(other) => std::fs::read_to_string(&other.file),
            None => Ok(text.to_owned()),
        }
    }

    /// Whether launches of a kernel are watched, by its mangled name.
    pub fn watches(&self, kernel: &str) -> bool {
        let is = |pattern: &String| ptx::matches_kernel(kernel, pattern);
        (self.kernels.is_empty() || self.kernels.iter().any(is)) && !self.skipped.iter().any(is)
    }

    /// Whether the `number`th launch (from 1) of a kernel and geometry is watched.
    pub fn samples(&self, number: u64) -> bool {
        number <= self.first
            || match self.every {
                Some(every) => number.is_multiple_of(every.max(1)),
                None => number.is_power_of_two(),
            }
    }
}

/// The options' file in a folder.
pub fn options(folder: &Path) -> PathBuf {
    folder.join(OPTIONS)
}

/// The records' file in a folder.
pub fn records(folder: &Path) -> PathBuf {
    folder.join(RECORDS)
}
