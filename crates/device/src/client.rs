//! Drives the device process: starts it, sends jobs, waits no longer than it is told, and says what became of it.
//!
//! A process that died (a kernel took it down, or it was killed because a kernel did not end) is replaced for the next
//! job. Every way to fail is a variant of [`ClientError`] of its own: none of them says anything about a kernel's
//! results, and none may be taken for a clean run.

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
/// The exit status of a program whose libraries the loader does not find.
const NO_LIBRARY: i32 = 127;
/// How long a process may take to end after it has closed its output or its input was closed.
const ENDING: Duration = Duration::from_secs(20);
/// Lines of the process's standard error that are kept.
const KEPT_LINES: usize = 20;

/// A job that got no answer.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// There is no such program: built without the feature `device`, or moved.
    #[error(
        "the program `{PROGRAM}` was not found; looked for {}. It is built with racetrap unless the feature `device` is switched off",
        listed(looked)
    )]
    NoProgram {
        /// Where it was looked for.
        looked: Vec<PathBuf>,
    },
    /// The program can't be started.
    #[error("can't start `{program}`: {error}")]
    Start {
        /// The program.
        program: String,
        /// Why.
        error: std::io::Error,
    },
    /// There is no NVIDIA driver here.
    #[error("no NVIDIA driver here: {said}")]
    NoDriver {
        /// What the loader says.
        said: String,
    },
    /// The job did not end in its time; the process was killed.
    #[error("the job did not end in {seconds} s; its process was killed")]
    Hung {
        /// The time that it was given, seconds.
        seconds: f64,
    },
    /// The process was ended by a signal.
    #[error("the device process was ended by signal {signal}{}", after(said))]
    Killed {
        /// The signal.
        signal: i32,
        /// The last it wrote to the standard error.
        said: String,
    },
    /// The process ended with no answer.
    #[error(
        "the device process ended with status {code} and no answer{}",
        after(said)
    )]
    Exited {
        /// Its exit status.
        code: i32,
        /// The last it wrote to the standard error.
        said: String,
    },
    /// An answer that is none.
    #[error("the device process answered what is no answer: {error}: {line:?}")]
    Garbage {
        /// What it wrote, cut short.
        line: String,
        /// What is wrong with it.
        error: String,
    },
}

impl ClientError {
    /// Whether there is no GPU to run anything on, so that every other job will fail in the same way.
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
        said => format!("; it said: {said}"),
    }
}

/// Where the device process's program is: as nextest or cargo say, beside this program, or one folder further up, where
/// cargo puts programs that belong to tests.
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
    match looked.iter().find(|path| path.is_file()) {
        Some(path) => Ok(path.clone()),
        None => Err(ClientError::NoProgram { looked }),
    }
}

/// Whatever does jobs: the device process, or in tests something that stands in for it.
pub trait RunJob {
    /// Does a job in this time, with what has to be started for it.
    fn run(&mut self, job: &Job, limit: Duration) -> Result<Reply, ClientError>;
}

/// The device process, started when the first job comes.
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

    /// How many processes were started so far.
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
            // It ends by itself now, and must not be given another job.
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
    /// To the thread that writes: a process that does not read must not block this one.
    jobs: Option<Sender<String>>,
    replies: Receiver<String>,
    said: Arc<Mutex<VecDeque<String>>>,
    listener: Option<JoinHandle<()>>,
    /// Whether a job was sent that has no answer yet.
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
            // A kernel that is loaded when it is first launched waits for what runs, and so orders what nothing orders
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
                    // If it does not read it has ended, which shows when its answer is missing.
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

    /// Whether it can be given a job: it has not ended, and has said nothing that it was not asked.
    fn is_ready(&self) -> bool {
        matches!(self.replies.try_recv(), Err(TryRecvError::Empty))
    }

    fn ask(&mut self, job: &Job, limit: Duration) -> Result<String, RecvTimeoutError> {
        let deadline = Instant::now() + limit;
        self.busy = true;
        let line = serde_json::to_string(job).unwrap_or_else(|e| unreachable!("plain JSON: {e}"));
        if let Some(jobs) = &self.jobs {
            // A writer that has ended shows when the answer is missing.
            let _ = jobs.send(line + "\n");
        }
        let left = deadline.saturating_duration_since(Instant::now());
        let reply = self.replies.recv_timeout(left)?;
        self.busy = false;
        Ok(reply)
    }

    /// Why it has closed its output.
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
        // With its input closed an idle process ends by itself and gives the GPU back in good order, which
        // a tool that watches it needs.
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
