//! Why a tool run yields no verdict: one variant for each failure mode.

use super::Tool;
use super::xml::XmlError;
use device::receipt::ReceiptError;

/// Why a tool run says nothing about its case.
#[derive(Debug, thiserror::Error)]
pub enum ToolError {
    /// compute-sanitizer is not installed.
    #[error("compute-sanitizer was not found")]
    ToolMissing,
    /// compute-sanitizer cannot be started.
    #[error("compute-sanitizer could not be started (exit status {status})")]
    ToolNotStarted {
        /// The exit status: 126.
        status: i32,
    },
    /// The tool exceeded the time limit.
    #[error("{tool} did not end within {seconds} s")]
    TimedOut {
        /// The tool.
        tool: Tool,
        /// The time limit.
        seconds: u64,
    },
    /// A signal ended the tool.
    #[error("{tool} was killed by signal {signal}")]
    Killed {
        /// The tool.
        tool: Tool,
        /// The signal's number.
        signal: i32,
    },
    /// The log is missing.
    #[error("{tool} wrote no log (exit status {status})")]
    NoLog {
        /// The tool.
        tool: Tool,
        /// The exit status.
        status: i32,
    },
    /// The log is not the tool's.
    #[error("{tool} did not start: its log does not begin with its name (exit status {status})")]
    NotBegun {
        /// The tool.
        tool: Tool,
        /// The exit status.
        status: i32,
    },
    /// The tool cannot use this GPU.
    #[error("{tool} cannot use the GPU: {line}")]
    DeviceRefused {
        /// The tool.
        tool: Tool,
        /// The message of the tool.
        line: String,
    },
    /// The tool reports a failure of its own or of the program.
    #[error("{tool} complains: {line}")]
    Complaint {
        /// The tool.
        tool: Tool,
        /// The message of the tool.
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
    /// The summary has an unknown form.
    #[error("{tool} printed a summary in an unknown form: {line}")]
    MalformedSummary {
        /// The tool.
        tool: Tool,
        /// The line.
        line: String,
    },
    /// The test wrote no receipt.
    #[error("the test did not run under {tool}: it wrote no receipt")]
    NeverStarted {
        /// The tool.
        tool: Tool,
    },
    /// The receipt cannot be read.
    #[error(transparent)]
    BadReceipt(ReceiptError),
    /// The receipt belongs to another case.
    #[error("the receipt belongs to `{found}`, not to `{case}`")]
    OtherCase {
        /// The expected case.
        case: String,
        /// The case in the receipt.
        found: String,
    },
    /// The receipt belongs to a run under another tool.
    #[error("the receipt belongs to a run under {found}, not under {tool}")]
    OtherTool {
        /// The tool.
        tool: Tool,
        /// The tool in the receipt, or `no tool`.
        found: String,
    },
    /// The kernel did not run.
    #[error("the kernel did not run under {tool}: {reason}")]
    NoRuns {
        /// The tool.
        tool: Tool,
        /// The reason, from the receipt.
        reason: String,
    },
    /// A run ended with an error that the tool does not explain.
    #[error("a run ended with an error that {tool} does not explain: {error}")]
    DeviceError {
        /// The tool.
        tool: Tool,
        /// The error.
        error: String,
    },
    /// The kernel did not end.
    #[error("the kernel did not end under {tool} and was killed")]
    Hung {
        /// The tool.
        tool: Tool,
    },
    /// The records are missing.
    #[error("{tool} wrote no records")]
    NoRecords {
        /// The tool.
        tool: Tool,
    },
    /// The records cannot be read.
    #[error("cannot read the records of {tool}: {error}")]
    BadRecords {
        /// The tool.
        tool: Tool,
        /// The cause.
        error: XmlError,
    },
    /// A record has an unknown kind.
    #[error("{tool} wrote a record of an unknown kind: {kind}")]
    UnknownRecord {
        /// The tool.
        tool: Tool,
        /// The kind and the text of the record.
        kind: String,
    },
    /// The kernel was stopped, so the tool has not seen all of it.
    #[error("the kernel was stopped under {tool}: {text}")]
    Stopped {
        /// The tool.
        tool: Tool,
        /// What stopped it, as the tool reports it.
        text: String,
    },
    /// Records and summary contradict each other.
    #[error("{tool} counts {summary} reports, but its file has {records}")]
    CountDiffers {
        /// The tool.
        tool: Tool,
        /// The number in the summary.
        summary: u64,
        /// The number in the file.
        records: u64,
    },
    /// A record has no source line.
    #[error("{tool} reports a {kind} without a source line")]
    NoLine {
        /// The tool.
        tool: Tool,
        /// What it reports.
        kind: String,
    },
    /// The test failed, but the tool found nothing.
    #[error("the test failed under {tool}, but {tool} found nothing")]
    TestFailed {
        /// The tool.
        tool: Tool,
    },
    /// The exit status contradicts the records.
    #[error("{tool} found {found}, but its exit status is {status}")]
    StatusDiffers {
        /// The tool.
        tool: Tool,
        /// What was found: `nothing`, `3 errors`.
        found: String,
        /// The exit status.
        status: i32,
    },
    /// A file cannot be read.
    #[error("cannot read `{path}`: {error}")]
    Unreadable {
        /// The file.
        path: String,
        /// The cause.
        error: std::io::Error,
    },
}

impl ToolError {
    /// What to do about it.
    pub fn help(&self) -> &'static str {
        match self {
            ToolError::ToolMissing => {
                "compute-sanitizer is part of the CUDA toolkit (package cuda-sanitizer); add it to PATH or set CUDA_PATH"
            }
            ToolError::ToolNotStarted { .. } => {
                "check that it is executable and built for this machine"
            }
            ToolError::TimedOut { .. } => {
                "raise the limit with RACETRAP_TIME_LIMIT=SECONDS; a kernel that hangs also hangs under the tools"
            }
            ToolError::Killed { signal: 9, .. } => {
                "the machine may have run out of memory; run the case alone"
            }
            ToolError::Killed { .. }
            | ToolError::NoLog { .. }
            | ToolError::NotBegun { .. }
            | ToolError::NoSummary { .. } => "the tool crashed or was stopped; its output follows",
            ToolError::DeviceRefused { .. } => {
                "the tool does not support this GPU or driver, or another debugger or profiler is using the GPU"
            }
            ToolError::Complaint { .. } => "the output of the tool and the test follows",
            ToolError::MalformedSummary { .. }
            | ToolError::BadRecords { .. }
            | ToolError::UnknownRecord { .. } => {
                "this may be a new version of the tool; supported are the versions in crates/evidence/tests/recordings/"
            }
            ToolError::Stopped { .. } => {
                "possible causes are an assertion, `trap`, a stack overflow or an invalid `free`; the output follows"
            }
            ToolError::NeverStarted { .. } | ToolError::TestFailed { .. } => {
                "the output of the test follows"
            }
            ToolError::BadReceipt(_) => "build the test and racetrap from the same sources",
            ToolError::OtherCase { .. } | ToolError::OtherTool { .. } => {
                "the receipt is left over from an earlier run; remove it"
            }
            ToolError::NoRuns { .. } | ToolError::DeviceError { .. } => {
                "check the driver with `racetrap doctor`, and run the test without the tool"
            }
            ToolError::Hung { .. } => {
                "a tool cannot report on a kernel that does not end; a case that always hangs expects `unsupported`"
            }
            ToolError::NoRecords { .. } => "check that the temporary folder has free space",
            ToolError::CountDiffers { .. } => "the tool omitted records; raise --print-limit",
            ToolError::NoLine { .. } => {
                "load the PTX with line information (CU_JIT_GENERATE_LINE_INFO)"
            }
            ToolError::StatusDiffers { .. } => {
                "the wrapper must pass --error-exitcode, because its default is 0"
            }
            ToolError::Unreadable { .. } => "check that racetrap may read it",
        }
    }
}
