//! Starts a program with the drop-in libraries in its way.

use context::options::{self, Options};
use std::ffi::OsString;
use std::io;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Command, ExitStatus};
use std::time::{Duration, Instant};

/// How a program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// By itself, with this status.
    Exit(i32),
    /// By a signal.
    Signal(i32),
    /// It was stopped because its time was over.
    TimedOut,
}

impl Ended {
    /// The status that a shell would give.
    pub fn status(self) -> i32 {
        match self {
            Ended::Exit(status) => status,
            Ended::Signal(signal) => 128 + signal,
            Ended::TimedOut => 124,
        }
    }
}

/// Puts a folder before what a variable of the loader has.
fn before(variable: &str, first: OsString) -> OsString {
    let mut all = first;
    if let Some(rest) = std::env::var_os(variable).filter(|v| !v.is_empty()) {
        all.push(":");
        all.push(rest);
    }
    all
}

/// Runs a command. `folder` has the libraries in `lib`, and gets options and records.
///
/// # Errors
///
/// It can't be started.
pub fn run(
    command: &[OsString],
    folder: &Path,
    options: &Options,
    preload: bool,
    timeout: Option<Duration>,
) -> io::Result<Ended> {
    options.write(folder)?;
    let (program, arguments) = command.split_first().ok_or(io::ErrorKind::InvalidInput)?;
    let library = folder.join("lib");
    let mut child = Command::new(program);
    child.args(arguments);
    child.env(options::VARIABLE, folder);
    child.env(
        "LD_LIBRARY_PATH",
        before("LD_LIBRARY_PATH", library.clone().into()),
    );
    if preload {
        // A path that is built into the program goes before the loader's; what is loaded already goes before both.
        let file = library.join("libcudart.so");
        child.env("LD_PRELOAD", before("LD_PRELOAD", file.into()));
    }
    // Clients of the driver that hand over machine code by default, and PTX where they are asked for it.
    child.env("CUPY_COMPILE_WITH_PTX", "1");
    let mut child = child.spawn()?;
    let started = Instant::now();
    let mut pause = Duration::from_millis(1);
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(ended(status));
        }
        if timeout.is_some_and(|limit| started.elapsed() > limit) {
            let _ = child.kill();
            let _ = child.wait();
            return Ok(Ended::TimedOut);
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(20));
    }
}

fn ended(status: ExitStatus) -> Ended {
    match (status.code(), status.signal()) {
        (Some(code), _) => Ended::Exit(code),
        (None, Some(signal)) => Ended::Signal(signal),
        (None, None) => Ended::Exit(1),
    }
}
