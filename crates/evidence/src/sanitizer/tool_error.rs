//! Why nothing can be said: one variant for each way in which a tool does not come to its end.

use super::Tool;
use super::xml::XmlError;
use device::receipt::ReceiptError;

/// A run of a tool that says nothing about its case.
#[derive(Debug, thiserror::Error)]
pub enum ToolError {
    /// There is no compute-sanitizer.
    #[error("compute-sanitizer was not found")]
    ToolMissing,
    /// It is there and can't be started.
    #[error("compute-sanitizer could not be started (exit status {status})")]
    ToolNotStarted {
        /// The exit status: 126.
        status: i32,
    },
    /// It did not come to its end in time.
    #[error("{tool} did not come to its end in {seconds} s")]
    TimedOut {
        /// The tool.
        tool: Tool,
        /// The limit.
        seconds: u64,
    },
    /// It was ended by a signal.
    #[error("{tool} was ended by signal {signal}")]
    Killed {
        /// The tool.
        tool: Tool,
        /// The signal's number.
        signal: i32,
    },
    /// There is no log.
    #[error("{tool} wrote no log (exit status {status})")]
    NoLog {
        /// The tool.
        tool: Tool,
        /// The exit status.
        status: i32,
    },
    /// There is a log that is none of the tool's.
    #[error("{tool} did not begin: its log does not start with its name (exit status {status})")]
    NotBegun {
        /// The tool.
        tool: Tool,
        /// The exit status.
        status: i32,
    },
    /// The tool can't work with this GPU.
    #[error("{tool} was refused the GPU: {line}")]
    DeviceRefused {
        /// The tool.
        tool: Tool,
        /// Its own words.
        line: String,
    },
    /// The tool says that something went wrong with itself or with the program.
    #[error("{tool} complains: {line}")]
    Complaint {
        /// The tool.
        tool: Tool,
        /// Its own words.
        line: String,
    },
    /// The log has no summary.
    #[error("{tool} printed no summary (exit status {status})")]
    NoSummary {
        /// The tool.
        tool: Tool,
        /// The exit status.
        status: i32,
    },
    /// The summary is not of the form it always has.
    #[error("{tool} printed a summary that can't be read: {line}")]
    MalformedSummary {
        /// The tool.
        tool: Tool,
        /// The line.
        line: String,
    },
    /// The test left no receipt.
    #[error("the test did not run under {tool}: it left no receipt")]
    NeverStarted {
        /// The tool.
        tool: Tool,
    },
    /// The receipt can't be read.
    #[error(transparent)]
    BadReceipt(ReceiptError),
    /// The receipt is of another case.
    #[error("the receipt is of `{found}`, not of `{case}`")]
    OtherCase {
        /// The case that was to run.
        case: String,
        /// The one that did.
        found: String,
    },
    /// The receipt is of a run under another tool.
    #[error("the receipt is of a run under {found}, not under {tool}")]
    OtherTool {
        /// The tool.
        tool: Tool,
        /// The one in the receipt, or `no tool`.
        found: String,
    },
    /// Nothing ran.
    #[error("the kernel did not run under {tool}: {reason}")]
    NoRuns {
        /// The tool.
        tool: Tool,
        /// Why, from the receipt.
        reason: String,
    },
    /// A run ended with an error that the tool says nothing about.
    #[error("a run ended with an error that {tool} does not explain: {error}")]
    DeviceError {
        /// The tool.
        tool: Tool,
        /// The error.
        error: String,
    },
    /// The kernel did not come to its end.
    #[error("the kernel did not come to its end under {tool}, and was killed")]
    Hung {
        /// The tool.
        tool: Tool,
    },
    /// There are no records.
    #[error("{tool} wrote no records")]
    NoRecords {
        /// The tool.
        tool: Tool,
    },
    /// The records can't be read.
    #[error("the records of {tool} can't be read: {error}")]
    BadRecords {
        /// The tool.
        tool: Tool,
        /// Why.
        error: XmlError,
    },
    /// A record of a kind that is not known.
    #[error("{tool} reports something that is not known: {kind}")]
    UnknownRecord {
        /// The tool.
        tool: Tool,
        /// Its kind, and what it says.
        kind: String,
    },
    /// The kernel was stopped, and so did not do all that it was to be watched doing.
    #[error("the kernel was stopped under {tool}: {text}")]
    Stopped {
        /// The tool.
        tool: Tool,
        /// What stopped it, in the tool's words.
        text: String,
    },
    /// Records and summary contradict each other.
    #[error("{tool} says that it made {summary} reports, and the file has {records} of them")]
    CountDiffers {
        /// The tool.
        tool: Tool,
        /// By the summary.
        summary: u64,
        /// In the file.
        records: u64,
    },
    /// A record with no source line.
    #[error("{tool} reports a {kind} and names no source line")]
    NoLine {
        /// The tool.
        tool: Tool,
        /// What it reports.
        kind: String,
    },
    /// The test failed, and the tool has nothing to say about it.
    #[error("the test failed under {tool}, which found nothing")]
    TestFailed {
        /// The tool.
        tool: Tool,
    },
    /// The status contradicts the records.
    #[error("{tool} found {found}, and its exit status is {status}")]
    StatusDiffers {
        /// The tool.
        tool: Tool,
        /// What was found: `nothing`, `3 errors`.
        found: String,
        /// The exit status.
        status: i32,
    },
    /// A file can't be read.
    #[error("can't read `{path}`: {error}")]
    Unreadable {
        /// Which.
        path: String,
        /// Why.
        error: std::io::Error,
    },
}

impl ToolError {
    /// What to do about it.
    pub fn help(&self) -> &'static str {
        match self {
            ToolError::ToolMissing => {
                "it comes with the CUDA toolkit (package cuda-sanitizer); put it in PATH or set CUDA_PATH"
            }
            ToolError::ToolNotStarted { .. } => "is it executable, and for this machine?",
            ToolError::TimedOut { .. } => {
                "give it more time with RACETRAP_TIME_LIMIT=SECONDS; a kernel that hangs does so under the tools too"
            }
            ToolError::Killed { signal: 9, .. } => {
                "was the machine short of memory? run the case alone"
            }
            ToolError::Killed { .. }
            | ToolError::NoLog { .. }
            | ToolError::NotBegun { .. }
            | ToolError::NoSummary { .. } => {
                "the tool has crashed or was stopped; what it printed is below"
            }
            ToolError::DeviceRefused { .. } => {
                "the tool does not support this GPU or driver, or another debugger or profiler holds the GPU"
            }
            ToolError::Complaint { .. } => "what the tool and the test printed is below",
            ToolError::MalformedSummary { .. }
            | ToolError::BadRecords { .. }
            | ToolError::UnknownRecord { .. } => {
                "is this a new version of the tool? crates/evidence/src/sanitizer reads what the versions in crates/evidence/tests/recordings/ write"
            }
            ToolError::Stopped { .. } => {
                "an assertion, `trap`, a stack too small or a wrong `free`; what it printed is below"
            }
            ToolError::NeverStarted { .. } | ToolError::TestFailed { .. } => {
                "what the test printed is below"
            }
            ToolError::BadReceipt(_) => "were the test and racetrap built from the same sources?",
            ToolError::OtherCase { .. } | ToolError::OtherTool { .. } => {
                "a receipt of an earlier run lies in the way: remove it"
            }
            ToolError::NoRuns { .. } | ToolError::DeviceError { .. } => {
                "`racetrap doctor` tells about the driver; run the test without the tool"
            }
            ToolError::Hung { .. } => {
                "a tool reports nothing about a kernel that does not end; a case that always hangs expects `unsupported`"
            }
            ToolError::NoRecords { .. } => "is there room in the temporary folder?",
            ToolError::CountDiffers { .. } => "the tool has left records out; raise --print-limit",
            ToolError::NoLine { .. } => {
                "load the PTX with line information (CU_JIT_GENERATE_LINE_INFO)"
            }
            ToolError::StatusDiffers { .. } => {
                "a wrapper must set --error-exitcode, whose default is 0"
            }
            ToolError::Unreadable { .. } => "may racetrap read it?",
        }
    }
}
