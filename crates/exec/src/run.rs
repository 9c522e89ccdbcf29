//! Starts a program with the drop-in libraries in its way.

use crate::{gpu, program, stub_tools};
use context::options::{self, Options};
use rustix::process::{Pid, Signal, kill_process};
use simt::Live;
use std::ffi::{OsStr, OsString};
use std::io::{self, Read as _};
use std::os::unix::ffi::OsStrExt as _;
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
    /// Somebody interrupted `racetrap exec`.
    Interrupted,
}

/// Time for the library in a program to tell what it has found, and for the program's own handler of the signal.
const GRACE: Duration = Duration::from_secs(3);

impl Ended {
    /// The status that a shell would give.
    pub fn status(self) -> i32 {
        match self {
            Ended::Exit(status) => status,
            Ended::Signal(signal) => 128 + signal,
            Ended::TimedOut => 124,
            Ended::Interrupted => 130,
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

/// NVIDIA's linker of device code, as a library, of the release that numba-cuda uses.
pub(crate) const LINKER: &str = "libnvJitLink.so.13";

/// Whether a command starts Python: by its name, or as a script whose first line names it.
fn is_python(program: &OsStr) -> bool {
    let name = Path::new(program).file_name().unwrap_or_default();
    if name.as_bytes().starts_with(b"python") {
        return true;
    }
    let file = program.to_str().and_then(program::find);
    let Some(mut file) = file.and_then(|path| std::fs::File::open(path).ok()) else {
        return false;
    };
    let mut first = [0; 256];
    let read = file.read(&mut first).unwrap_or(0);
    let line = first[..read]
        .split(|b| *b == b'\n')
        .next()
        .unwrap_or_default();
    line.starts_with(b"#!") && line.windows(6).any(|w| w == b"python")
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
    live: &Live,
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
    let mut preloaded = Vec::new();
    if preload {
        // A path that is built into the program goes before the loader's; what is loaded already goes before both.
        preloaded.push(library.join("libcudart.so"));
    }
    if options.driver.is_some() {
        child.envs(gpu::compiler_cache());
    }
    // Clients of the driver that hand over machine code by default, and PTX where they are asked for it.
    child.env("CUPY_COMPILE_WITH_PTX", "1");
    if is_python(program) {
        // numba-cuda links by this library, to machine code, unless its functions are missing: then by the driver, which is racetrap's. On a
        // GPU, others need them.
        if options.driver.is_none() {
            let file = library.join(LINKER);
            std::fs::write(&file, stub_tools::empty_library(LINKER))?;
            preloaded.push(file);
        }
        // Triton compiles by the program that this variable names; it keeps results apart by what that says of its version.
        if std::env::var_os("TRITON_PTXAS_PATH").is_none() {
            child.env("TRITON_PTXAS_PATH", stub_tools::ptxas(folder)?);
        }
    }
    if !preloaded.is_empty() {
        let files: Vec<&OsStr> = preloaded.iter().map(|file| file.as_os_str()).collect();
        child.env("LD_PRELOAD", before("LD_PRELOAD", files.join(":".as_ref())));
    }
    // Whatever it starts is a descendant of this process, also where what started it has ended (prctl(2), `PR_SET_CHILD_SUBREAPER`).
    #[cfg(target_os = "linux")]
    let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
    let mut child = child.spawn()?;
    let started = Instant::now();
    let mut pause = Duration::from_millis(1);
    let mut over: Option<(Instant, Ended)> = None;
    loop {
        if let Some(status) = child.try_wait()? {
            if over.is_some() {
                // Others would keep its output open.
                kill_descendants();
            }
            return Ok(over.map_or_else(|| ended(status), |(_, why)| why));
        }
        match over {
            Some((since, _)) if since.elapsed() > GRACE => {
                kill_descendants();
                let _ = child.kill();
            }
            Some(_) => {}
            None => {
                let late = timeout.is_some_and(|limit| started.elapsed() > limit);
                let why = match live.is_ended() {
                    true => Some(Ended::Interrupted),
                    false => late.then_some(Ended::TimedOut),
                };
                if let Some(why) = why {
                    for pid in descendants() {
                        let _ = kill_process(pid, Signal::TERM);
                    }
                    over = Some((Instant::now(), why));
                }
            }
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(20));
    }
}

/// Kills what is left, and what that starts meanwhile.
fn kill_descendants() {
    const ROUNDS: usize = 10;
    for _ in 0..ROUNDS {
        let all = descendants();
        if all.is_empty() {
            break;
        }
        for pid in all {
            let _ = kill_process(pid, Signal::KILL);
        }
    }
}

/// All processes that this one has started, and those that these have (proc(5), "stat"); without those that have ended.
fn descendants() -> Vec<Pid> {
    let mut parents: Vec<(i32, i32)> = Vec::new();
    for entry in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
        let name = entry.file_name();
        let Some(pid) = name.to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        let stat = std::fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        // The name, which stands in brackets, can have some itself. Then the state and the parent.
        let mut rest = stat
            .rsplit_once(')')
            .map_or("", |(_, rest)| rest)
            .split_whitespace();
        let state = rest.next().unwrap_or("Z");
        if let (false, Some(parent)) = (state == "Z", rest.next().and_then(|p| p.parse().ok())) {
            parents.push((pid, parent));
        }
    }
    let mut open = vec![std::process::id().cast_signed()];
    let mut all = Vec::new();
    while let Some(parent) = open.pop() {
        for (pid, _) in parents.iter().filter(|(_, of)| *of == parent) {
            open.push(*pid);
            all.extend(Pid::from_raw(*pid));
        }
    }
    all
}

fn ended(status: ExitStatus) -> Ended {
    match (status.code(), status.signal()) {
        (Some(code), _) => Ended::Exit(code),
        (None, Some(signal)) => Ended::Signal(signal),
        (None, None) => Ended::Exit(1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Its children, and those whose parents have ended, end with it.
    #[cfg(target_os = "linux")]
    #[test]
    fn nothing_outlives_a_timeout() {
        let folder = tempfile::tempdir().unwrap();
        let script = "sleep 7393.5 & (setsid sleep 7393.5 &) ; (trap '' TERM; sleep 7393.5; sleep 7393.5) & wait";
        let command = ["sh", "-c", script].map(OsString::from);
        let (options, time) = (Options::default(), Some(Duration::from_millis(500)));
        let ended = run(
            &command,
            folder.path(),
            &options,
            false,
            time,
            &Live::default(),
        );
        assert_eq!(ended.unwrap(), Ended::TimedOut);
        let left = std::fs::read_dir("/proc")
            .unwrap()
            .flatten()
            .filter(|entry| {
                let words = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
                words.starts_with(b"sleep\x007393.5")
            });
        assert_eq!(left.count(), 0);
    }

    #[test]
    fn python_is_known_by_its_name_and_by_scripts() {
        let folder = tempfile::tempdir().unwrap();
        let script = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            is_python(path.as_os_str())
        };
        assert!(is_python("python3.11".as_ref()) && is_python("/usr/bin/python".as_ref()));
        assert!(script("pytest", "#!/usr/bin/env python3\nimport sys\n"));
        assert!(!script("other", "#!/bin/sh\nexec python\n"));
        assert!(!script("plain", "python"));
        assert!(!is_python("/bin/true".as_ref()) && !is_python("no-such-program".as_ref()));
    }
}
