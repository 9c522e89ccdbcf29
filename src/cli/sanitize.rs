//! `racetrap sanitize`: any program under a tool of compute-sanitizer, on a GPU.

use super::accept::AcceptArgs;
use super::report_files::AlsoArgs;
use super::value_enums::choice;
use clap::Args;
use detect::rules::Level;
use evidence::sanitizer::judge::FOUND_SOMETHING;
use evidence::sanitizer::recording::{Run, read_if_there};
use evidence::sanitizer::{Recording, Tool, ToolError, log, program};
use ptx::KernelFilter;
use report::{Failure, Format, Report, Sources, exit};
use std::ffi::OsString;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// What `--help` says.
pub const ABOUT: &str = "\
Run a program under NVIDIA's compute-sanitizer, on a GPU, and report what the tool says: both lines of a race, and how to mend it.

The program keeps its own input, output and arguments. The report goes to stderr after the program has ended. If the tool is missing, \
crashes, can't use the GPU or never sees a CUDA call, the command fails: that is never clean.";

const EXAMPLES: &str = "\
Examples:
  racetrap sanitize -- ./my_gtest --gtest_filter='Scan.*'
      runs the tests under racecheck
  racetrap sanitize --tool memcheck --format sarif --report out.sarif -- ./prog 1024
      looks for accesses out of bounds, and writes what code-scanning services read
  racetrap sanitize --baseline racecheck.json --update-baseline -- ./prog
      accepts what is found now; without --update-baseline only new findings fail

Give the program itself, not a script that starts it: only the first process is watched. Compile with `-lineinfo`, or there are no
lines. A tool looks for one kind of bug: run all four for all.

Exit status: 1 if there are errors or warnings that are not accepted, else the program's own; 3 where nothing can be said.";

/// Options of `racetrap sanitize`.
#[derive(Args, Clone, Debug)]
#[command(after_help = EXAMPLES)]
pub struct SanitizeArgs {
    /// The program and its arguments
    #[arg(
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "PROGRAM"
    )]
    command: Vec<OsString>,
    /// The tool of compute-sanitizer
    #[arg(long, value_parser = choice::<Tool>(), value_name = "TOOL", default_value = "racecheck")]
    tool: Tool,
    /// Another option for compute-sanitizer, such as `--launch-count=10` (can be given again)
    #[arg(long, value_name = "OPTION", allow_hyphen_values = true)]
    tool_option: Vec<OsString>,
    /// The program `compute-sanitizer` [default: that of the path, or of CUDA_PATH, CUDA_HOME or /usr/local/cuda]
    #[arg(long, value_name = "FILE")]
    sanitizer: Option<PathBuf>,
    /// Stop the program after this many seconds
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..))]
    timeout: Option<u64>,
    /// Show what is in the functions that this pattern matches: a name, with `*` for any text (can be given again)
    #[arg(long, value_name = "PATTERN")]
    kernel: Vec<String>,
    /// Leave out what is in the functions that this pattern matches (can be given again)
    #[arg(long, value_name = "PATTERN")]
    skip_kernel: Vec<String>,
    #[command(flatten)]
    accept: AcceptArgs,
    #[command(flatten)]
    also: AlsoArgs,
    /// How to print what was found
    #[arg(long, value_parser = choice::<Format>(), default_value = "text", help_heading = "Output")]
    format: Format,
    /// Write the report to a file instead of stderr
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    report: Option<PathBuf>,
    /// Keep the tool's records and log in this folder
    #[arg(long, value_name = "FOLDER", help_heading = "Output")]
    keep: Option<PathBuf>,
}

/// Runs the command.
///
/// # Errors
///
/// The program or the tool can't be started, or nothing can be said.
pub fn sanitize(args: &SanitizeArgs, color: bool) -> Result<(String, u8), Failure> {
    let known = args.accept.load()?;
    let name = args.command[0].to_string_lossy().into_owned();
    if exec::program::find(&name).is_none() {
        return Err(Failure::usage(format!("there is no program `{name}`"))
            .help("give the path of a program that is built for a GPU"));
    }
    let sanitizer = sanitizer(args)?;
    let folder = tempfile::tempdir()
        .map_err(|e| Failure::usage(format!("can't make a temporary folder: {e}")))?;
    let started = Instant::now();
    let recording = record(args, &sanitizer, folder.path())?;
    if let Some(keep) = &args.keep {
        recording
            .keep(keep, args.tool, &file_name(&name))
            .map_err(|e| Failure::usage(format!("can't write to `{}`: {e}", keep.display())))?;
    }
    let mut sources = Sources::new();
    sources.look_in(Path::new(""));
    // Debug information names the files; the program runs as its user, and may read any file itself.
    sources.look_in(Path::new("/"));
    let filter = KernelFilter {
        only: args.kernel.clone(),
        skip: args.skip_kernel.clone(),
    };
    let program = program::Program {
        name: &name,
        filter: &filter,
        time: started.elapsed(),
    };
    let check = program::check(args.tool, program, &recording, &mut sources)
        .map_err(|trouble| nothing(&name, args.tool, &trouble))?;
    let mut report = Report {
        checks: vec![check],
    };
    known.apply(&mut report, &[], false, color)?;
    args.also.write(&report)?;
    let text = match args.format {
        Format::Text => report::terminal::render(&report, color && args.report.is_none()),
        format => report::render(&report, format),
    };
    let written = match &args.report {
        Some(path) => std::fs::write(path, &text),
        None => std::io::stderr().write_all(text.as_bytes()),
    };
    written.map_err(|e| Failure::usage(format!("can't write the report: {e}")))?;
    Ok((String::new(), code(&report.checks[0], recording.run.status)))
}

/// The exit status: of what was found, or the program's own, which the tool passes on.
fn code(check: &report::Check, status: i32) -> u8 {
    if check.count(Level::Error) + check.count(Level::Warning) > 0 {
        return exit::FINDINGS;
    }
    let accepted = check.diagnostics.iter().any(|d| d.accepted.is_some());
    match status {
        0 if !check.ok => exit::INCONCLUSIVE,
        // The tool found something, which is accepted or not wanted.
        FOUND_SOMETHING if accepted && check.ok => exit::OK,
        FOUND_SOMETHING if check.ok => exit::OK,
        FOUND_SOMETHING => exit::INCONCLUSIVE,
        status => u8::try_from(status & 0xff).unwrap_or(exit::FINDINGS),
    }
}

fn nothing(name: &str, tool: Tool, trouble: &ToolError) -> Failure {
    let no_call = matches!(trouble, ToolError::Complaint { line, .. } if line.contains("before first instrumented API call"));
    let failure = Failure::inconclusive(format!("inconclusive {name} under {tool}: {trouble}"));
    match no_call {
        true => failure.help(
            "the program ended before it used a GPU, so nothing was checked; a script that starts the program hides it",
        ),
        // For the wrappers, the output follows; here the program has kept it.
        false if trouble.help().ends_with("follows") => {
            failure.help("the program's own output is above; `--keep FOLDER` keeps what the tool wrote")
        }
        false => failure.help(trouble.help()),
    }
}

fn sanitizer(args: &SanitizeArgs) -> Result<PathBuf, Failure> {
    if let Some(path) = &args.sanitizer {
        return Ok(path.clone());
    }
    toolchain::find_program("compute-sanitizer")
        .map(|found| found.path)
        .map_err(|searched| {
            Failure::inconclusive("compute-sanitizer was not found, so nothing was checked")
                .text(format!("looked in: {}", searched.0.join(", ")))
                .help("it is a part of the CUDA toolkit (package cuda-sanitizer); `--sanitizer FILE` names it. Without a GPU: `racetrap exec`")
        })
}

fn file_name(path: &str) -> String {
    let name = Path::new(path).file_name();
    name.map_or(path.to_owned(), |n| n.to_string_lossy().into_owned())
}

/// Runs the program under the tool, and reads what it wrote.
fn record(args: &SanitizeArgs, sanitizer: &Path, folder: &Path) -> Result<Recording, Failure> {
    let version = Command::new(sanitizer)
        .arg("--version")
        .stdin(Stdio::null())
        .output()
        .ok()
        .and_then(|output| log::version(&String::from_utf8_lossy(&output.stdout)));
    let (records, log) = (folder.join("records.xml"), folder.join("log.txt"));
    let mut command = Command::new(sanitizer);
    command.args(["--tool", args.tool.name()]);
    match args.tool {
        Tool::Racecheck => command.args(["--racecheck-report", "analysis"]),
        // Its own reports include calls that probe for functions and may fail.
        Tool::Memcheck => command.args(["--report-api-errors", "no"]),
        Tool::Synccheck | Tool::Initcheck => &mut command,
    };
    command.args(["--error-exitcode", &FOUND_SOMETHING.to_string()]);
    command.args(["--print-limit", "10000", "--strip-paths", "no"]);
    command.args(["--show-backtrace", "device", "--xml", "--save"]);
    command.arg(&records).arg("--log-file").arg(&log);
    command.args(&args.tool_option).args(&args.command);
    let started = Instant::now();
    let ended = run(&mut command, args.timeout.map(Duration::from_secs));
    let status = ended
        .map_err(|e| Failure::inconclusive(format!("can't run `{}`: {e}", sanitizer.display())))?;
    let read = |path: &Path| {
        read_if_there(path)
            .map_err(|e| Failure::inconclusive(format!("can't read what the tool wrote: {e}")))
    };
    Ok(Recording {
        records: read(&records)?,
        log: read(&log)?,
        receipt: None,
        run: Run {
            status,
            time_limit: args.timeout.unwrap_or(0),
            seconds: Some(started.elapsed().as_secs()),
            version,
        },
    })
}

/// Runs a command to its end, or until its time is over: 124 then, as `timeout` says it.
fn run(command: &mut Command, timeout: Option<Duration>) -> std::io::Result<i32> {
    #[cfg(unix)]
    if timeout.is_some() {
        use std::os::unix::process::CommandExt as _;
        // The tool starts the program: both have to end.
        command.process_group(0);
    }
    let mut child = command.spawn()?;
    let Some(limit) = timeout else {
        return Ok(shell_status(child.wait()?));
    };
    let started = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(shell_status(status));
        }
        if started.elapsed() >= limit {
            toolchain::sandbox::kill_all(&mut child);
            let _ = child.wait();
            return Ok(124);
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The status as a shell gives it.
fn shell_status(status: ExitStatus) -> i32 {
    #[cfg(unix)]
    {
        use std::os::unix::process::ExitStatusExt as _;
        if let Some(signal) = status.signal() {
            return 128 + signal;
        }
    }
    status.code().unwrap_or(1)
}
