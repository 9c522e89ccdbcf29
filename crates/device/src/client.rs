//! Drives the device process: starts it, sends jobs, enforces time limits, and reports failures.
//!
//! A process that died (a kernel crashed it, or it was killed because a kernel did not end) is replaced for the next job.
//! Each failure mode is a variant of [`ClientError`]. None of them says anything about a kernel's results, and none may be
//! taken for a clean run.

use super::job::{Job, Reply};
use std::collections::VecDeque;
use std::ffi::OsString;
use std::io::{BufRead as _, BufReader, Read, Write as _};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, TryRecvError, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The device process's program.
const PROGRAM: &str = "racetrap-device";
/// The exit status of a program whose libraries the loader cannot find.
const NO_LIBRARY: i32 = 127;
/// How long a process may take to end after its input or output was closed.
const ENDING: Duration = Duration::from_secs(20);
/// The number of lines kept from the process's standard error.
const KEPT_LINES: usize = 20;

/// Why a job got no answer.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The program is missing: it was moved, or racetrap was built without the feature `device`.
    #[error(
        "the program `{PROGRAM}` was not found; looked for {}, and in PATH. It comes with racetrap's feature `device`: \
         `CUDA_LIBRARY_PATH=/ cargo install --path . --features device` in a checkout",
        listed(looked)
    )]
    NoProgram {
        /// The places that were searched.
        looked: Vec<PathBuf>,
    },
    /// The program cannot be started.
    #[error("cannot start `{program}`: {error}")]
    Start {
        /// The program.
        program: String,
        /// The cause.
        error: std::io::Error,
    },
    /// This machine has no NVIDIA driver.
    #[error("this machine has no NVIDIA driver: {said}")]
    NoDriver {
        /// The loader's message.
        said: String,
    },
    /// The job exceeded its time limit, and the process was killed.
    #[error("the job did not end within {seconds} s; its process was killed")]
    Hung {
        /// The time limit in seconds.
        seconds: f64,
    },
    /// A signal killed the process.
    #[error("the device process was killed by signal {signal}{}", after(said))]
    Killed {
        /// The signal.
        signal: i32,
        /// The end of its standard error.
        said: String,
    },
    /// The process ended without an answer.
    #[error(
        "the device process ended with status {code} without an answer{}",
        after(said)
    )]
    Exited {
        /// Its exit status.
        code: i32,
        /// The end of its standard error.
        said: String,
    },
    /// The answer is malformed.
    #[error("the answer of the device process is malformed: {error}: {line:?}")]
    Garbage {
        /// Its output, truncated.
        line: String,
        /// The problem.
        error: String,
    },
}

impl ClientError {
    /// Whether there is no usable GPU, so that every other job will fail in the same way.
    pub fn is_absence(&self) -> bool {
        matches!(
            self,
            ClientError::NoProgram { .. }
                | ClientError::Start { .. }
                | ClientError::NoDriver { .. }
        )
    }
}

fn listed(paths: &[PathBuf]) -> String {
    let paths: Vec<_> = paths.iter().map(|p| format!("`{}`", p.display())).collect();
    paths.join(", ")
}

fn after(said: &str) -> String {
    match said {
        "" => String::new(),
        said => format!("; its output: {said}"),
    }
}

/// The path of the device process's program: as given by nextest or cargo, beside this program, one folder up, where cargo
/// puts programs for tests, or in `PATH`, where it is installed.
pub fn program() -> Result<PathBuf, ClientError> {
    let named = [
        "NEXTEST_BIN_EXE_racetrap-device",
        "NEXTEST_BIN_EXE_racetrap_device",
        "CARGO_BIN_EXE_racetrap-device",
    ];
    let mut looked: Vec<PathBuf> = named
        .iter()
        .filter_map(std::env::var_os)
        .map(PathBuf::from)
        .collect();
    let here = std::env::current_exe().unwrap_or_default();
    looked.extend(here.ancestors().skip(1).take(2).map(|f| f.join(PROGRAM)));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let installed = std::env::split_paths(&path).map(|folder| folder.join(PROGRAM));
    match looked
        .iter()
        .cloned()
        .chain(installed)
        .find(|path| path.is_file())
    {
        Some(path) => Ok(path),
        None => Err(ClientError::NoProgram { looked }),
    }
}

/// Executes jobs: the device process, or a substitute in tests.
pub trait RunJob {
    /// Executes a job within a time limit, which includes starting the process.
    fn run(&mut self, job: &Job, limit: Duration) -> Result<Reply, ClientError>;
}

/// The device process, started for the first job.
#[derive(Debug)]
pub struct Client {
    program: PathBuf,
    arguments: Vec<OsString>,
    environment: Vec<(OsString, OsString)>,
    process: Option<Process>,
    started: u32,
}

impl Client {
    /// A client of [`program`].
    pub fn new() -> Result<Client, ClientError> {
        Ok(Client::of(program()?, ["--tied".into()]))
    }

    /// A client of another program that speaks the same protocol.
    pub fn of(program: PathBuf, arguments: impl IntoIterator<Item = OsString>) -> Client {
        Client {
            program,
            arguments: arguments.into_iter().collect(),
            environment: Vec::new(),
            process: None,
            started: 0,
        }
    }

    /// Sets a variable in the environment of the processes that it starts.
    pub fn with_env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Client {
        self.environment.push((name.into(), value.into()));
        self
    }

    /// The number of processes started so far.
    pub fn started(&self) -> u32 {
        self.started
    }
}

impl RunJob for Client {
    fn run(&mut self, job: &Job, limit: Duration) -> Result<Reply, ClientError> {
        let mut process = match self.process.take().filter(Process::is_ready) {
            Some(process) => process,
            None => {
                self.started += 1;
                Process::start(&self.program, &self.arguments, &self.environment)?
            }
        };
        let line = match process.ask(job, limit) {
            Ok(line) => line,
            // Dropping a busy process kills it.
            Err(RecvTimeoutError::Timeout) => {
                return Err(ClientError::Hung {
                    seconds: limit.as_secs_f64(),
                });
            }
            Err(RecvTimeoutError::Disconnected) => return Err(process.end()),
        };
        let reply: Reply = serde_json::from_str(&line).map_err(|error| ClientError::Garbage {
            line: line.chars().take(200).collect(),
            error: error.to_string(),
        })?;
        match &reply {
            // It will end by itself, so it must not get another job.
            Reply::Failed { error, .. } if error.is_sticky() => {
                process.end();
            }
            _ => self.process = Some(process),
        }
        Ok(reply)
    }
}

#[derive(Debug)]
struct Process {
    child: Child,
    /// Sends to the writer thread, so that a process that does not read cannot block this one.
    jobs: Option<Sender<String>>,
    replies: Receiver<String>,
    said: Arc<Mutex<VecDeque<String>>>,
    listener: Option<JoinHandle<()>>,
    /// Whether a job is waiting for its answer.
    busy: bool,
}

impl Process {
    fn start(
        program: &PathBuf,
        arguments: &[OsString],
        environment: &[(OsString, OsString)],
    ) -> Result<Process, ClientError> {
        let mut child = Command::new(program)
            .args(arguments)
            // Loading a kernel at its first launch waits for running work, and would so order what the program leaves unordered
            // (CUDA C++ Programming Guide, "Lazy Loading").
            .env("CUDA_MODULE_LOADING", "EAGER")
            .envs(environment.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| ClientError::Start {
                program: program.display().to_string(),
                error,
            })?;
        let (jobs, to_write) = channel::<String>();
        if let Some(mut input) = child.stdin.take() {
            std::thread::spawn(move || {
                for line in to_write {
                    // If the process has ended, the missing answer will show it.
                    if input.write_all(line.as_bytes()).is_err() {
                        return;
                    }
                }
            });
        }
        let (sender, replies) = channel();
        if let Some(output) = child.stdout.take() {
            std::thread::spawn(move || each_line(output, |line| sender.send(line).is_ok()));
        }
        let said = Arc::new(Mutex::new(VecDeque::new()));
        let listener = child.stderr.take().map(|errors| {
            let said = Arc::clone(&said);
            std::thread::spawn(move || {
                each_line(errors, |line| {
                    let mut said = said.lock().unwrap_or_else(|e| e.into_inner());
                    if said.len() == KEPT_LINES {
                        said.pop_front();
                    }
                    said.push_back(line);
                    true
                });
            })
        });
        Ok(Process {
            child,
            jobs: Some(jobs),
            replies,
            said,
            listener,
            busy: false,
        })
    }

    /// Whether it can take a job: it has not ended and has printed nothing unexpected.
    fn is_ready(&self) -> bool {
        matches!(self.replies.try_recv(), Err(TryRecvError::Empty))
    }

    fn ask(&mut self, job: &Job, limit: Duration) -> Result<String, RecvTimeoutError> {
        let deadline = Instant::now() + limit;
        self.busy = true;
        let line = serde_json::to_string(job).unwrap_or_else(|e| unreachable!("plain JSON: {e}"));
        if let Some(jobs) = &self.jobs {
            // If the writer has ended, the missing answer will show it.
            let _ = jobs.send(line + "\n");
        }
        let left = deadline.saturating_duration_since(Instant::now());
        let reply = self.replies.recv_timeout(left)?;
        self.busy = false;
        Ok(reply)
    }

    /// Why it closed its output.
    fn end(mut self) -> ClientError {
        let status = self.wait(ENDING);
        if let (Some(_), Some(listener)) = (status, self.listener.take()) {
            let _ = listener.join();
        }
        let said = self.said.lock().unwrap_or_else(|e| e.into_inner());
        let said = said.iter().cloned().collect::<Vec<_>>().join("\n");
        let Some(status) = status else {
            return ClientError::Hung {
                seconds: ENDING.as_secs_f64(),
            };
        };
        match (status.code(), signal(status)) {
            (Some(NO_LIBRARY), _) => ClientError::NoDriver { said },
            (None, Some(signal)) => ClientError::Killed { signal, said },
            (code, _) => ClientError::Exited {
                code: code.unwrap_or(-1),
                said,
            },
        }
    }

    fn wait(&mut self, limit: Duration) -> Option<ExitStatus> {
        let deadline = Instant::now() + limit;
        loop {
            match self.child.try_wait() {
                Ok(Some(status)) => return Some(status),
                Ok(None) if Instant::now() < deadline => {
                    std::thread::sleep(Duration::from_millis(2));
                }
                _ => return None,
            }
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Once its input is closed, an idle process ends by itself and releases the GPU cleanly. A tool that watches it
        // needs this.
        self.jobs = None;
        if self.busy || self.wait(ENDING).is_none() {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

#[cfg(unix)]
fn signal(status: ExitStatus) -> Option<i32> {
    std::os::unix::process::ExitStatusExt::signal(&status)
}

#[cfg(not(unix))]
fn signal(_: ExitStatus) -> Option<i32> {
    None
}

fn each_line(from: impl Read, mut take: impl FnMut(String) -> bool) {
    let mut from = BufReader::new(from);
    let mut line = Vec::new();
    while from.read_until(b'\n', &mut line).is_ok_and(|n| n > 0) {
        let text = String::from_utf8_lossy(&line).trim_end().to_owned();
        if !take(text) {
            return;
        }
        line.clear();
    }
}
