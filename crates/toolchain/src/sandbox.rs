//! Runs another program where it can do no harm: it reads and writes in given folders alone, reaches no network, and has limits of
//! time, memory and output.
//!
//! Files and network are the kernel's Landlock (Linux 5.13 and later; the network since 6.7). It applies to the thread that asks for it
//! and to what that thread starts, so a thread of its own starts the program. Where there is no Landlock the program runs with the
//! limits alone, and [`Ended::confined`] says so. Limits of memory and file sizes are the shell's `ulimit`; the program's words are
//! the shell's positional parameters, which it never reads as code.
//!
//! A stranger's own program gets less ([`Alone`]): it is started with no shell and no environment but what it is given, makes no file,
//! and may call of the system only what one process needs that starts no other ([`seccomp`](super::seccomp)).
//!
//! What a program holds is looked at while it runs ([`held`]): of a stranger's process all memory, of others what their
//! processes have in use together, how many they are, and what they have written.

use super::held;
use super::scratch::Group;
use super::seccomp::{Bounds, Calls};
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// How much of what a program writes to stdout, and to stderr, is kept.
const KEPT_BYTES: u64 = 1 << 20;
/// How often a running program is looked at.
const POLL: Duration = Duration::from_millis(2);
/// How often all processes of a build are looked at.
const LOOK: Duration = Duration::from_millis(50);

/// Processes that a program may have started at a time.
const PROCESSES: usize = 256;
/// What a program may do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sandbox {
    /// Folders and files that it may read, and run programs from.
    pub read: Vec<PathBuf>,
    /// Folders that it may change.
    pub write: Vec<PathBuf>,
    /// Address space of each of its processes, bytes.
    pub memory: u64,
    /// Memory that all of its processes have in use, bytes.
    pub in_use: u64,
    /// Size of each file that it writes, bytes.
    pub file: u64,
    /// What it writes in all, bytes of a disk.
    pub written: u64,
    /// Time for all of it.
    pub time: Duration,
    /// What of the system it may call.
    pub calls: Calls,
    /// Where it is one process of a stranger.
    pub alone: Option<Alone>,
}

/// One process of a stranger, which starts no other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Alone {
    /// Memory that it may hold, bytes; it is killed where it takes more.
    pub resident: u64,
    /// The number under which it finds a file without a name that it may map, instead of one that it makes itself.
    pub file_in_memory: Option<i32>,
    /// Pipes that it may write to, and not read.
    pub pipes: Vec<PathBuf>,
    /// Files that it may write anew. It can make no file and remove none.
    pub files: Vec<PathBuf>,
    /// What it reads from stdin.
    pub stdin: Option<PathBuf>,
}

/// How far the system keeps to a [`Sandbox`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Confined {
    /// Files and network.
    Fully,
    /// As far as this kernel's Landlock goes.
    Partly,
    /// Limits of time, memory and output alone.
    LimitsOnly,
}

impl Confined {
    /// What can be said of it to a reader.
    pub fn describe(self) -> &'static str {
        match self {
            Confined::Fully => "files and network are confined by Landlock",
            Confined::Partly => "files are confined by Landlock, the network is not",
            Confined::LimitsOnly => {
                "only limits of time and memory hold: this system has no Landlock"
            }
        }
    }
}

/// A program to run.
#[derive(Clone, Debug, Default)]
pub struct Job {
    /// The program.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<OsString>,
    /// The folder in which it runs.
    pub folder: PathBuf,
    /// Variables of its environment that are set.
    pub environment: Vec<(OsString, OsString)>,
    /// Whether it gets these variables and no others.
    pub clean: bool,
}

/// How a program ended.
#[derive(Clone, Debug)]
pub struct Ended {
    /// Its status; `None` where it was killed because its time was up.
    pub status: Option<ExitStatus>,
    /// What it wrote to stdout; cut where it is too long.
    pub stdout: Vec<u8>,
    /// The same of stderr.
    pub stderr: Vec<u8>,
    /// How far it was confined.
    pub confined: Confined,
    /// Whether it was killed because it took too much memory, or wrote too large a file.
    pub too_large: bool,
}

impl Sandbox {
    /// Runs a program to its end, or until its time is up.
    ///
    /// # Errors
    ///
    /// It could not be started.
    pub fn run(&self, job: &Job) -> io::Result<Ended> {
        // A thread of its own: what it is denied stays denied. This one looks after the child, whose memory is told in /proc, which the
        // other one can't read.
        let number = self.alone.as_ref().and_then(|alone| alone.file_in_memory);
        let memory = number.map(held::file_in_memory).transpose()?;
        let started = std::thread::scope(|scope| {
            let thread = scope.spawn(|| {
                let confined = self.confine();
                let file = memory.as_ref().zip(number);
                self.start(job, file).map(|started| (started, confined))
            });
            thread
                .join()
                .unwrap_or_else(|_| Err(io::Error::other("the thread that starts programs failed")))
        });
        let ((child, _group), confined) = started?;
        self.until_it_ends(child, confined, memory.as_ref())
    }

    /// How far programs are confined on this system.
    pub fn available() -> Confined {
        let nothing = Sandbox {
            read: Vec::new(),
            write: Vec::new(),
            memory: u64::MAX,
            in_use: u64::MAX,
            file: u64::MAX,
            written: u64::MAX,
            time: Duration::MAX,
            calls: Calls::Any,
            alone: None,
        };
        std::thread::scope(|scope| {
            let thread = scope.spawn(|| nothing.confine());
            thread.join().unwrap_or(Confined::LimitsOnly)
        })
    }

    /// Starts the program, in the thread that is confined.
    fn start(&self, job: &Job, memory: Option<(&File, i32)>) -> io::Result<(Child, Group)> {
        let mut command = self.command(job, memory);
        let stdin = self.alone.as_ref().and_then(|alone| alone.stdin.as_ref());
        let stdin = match stdin {
            Some(path) => std::fs::File::open(path)?.into(),
            None => Stdio::null(),
        };
        if job.clean || self.alone.is_some() {
            command.env_clear();
        }
        command
            .current_dir(&job.folder)
            .envs(job.environment.iter().map(|(name, value)| (name, value)))
            .stdin(stdin)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let child = command.spawn()?;
        let group = Group::new(child.id());
        Ok((child, group))
    }

    /// Takes what it writes, and ends it where it takes too much.
    fn until_it_ends(
        &self,
        mut child: Child,
        confined: Confined,
        memory: Option<&File>,
    ) -> io::Result<Ended> {
        let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
        std::thread::scope(|scope| {
            let out = scope.spawn(|| stdout.map(kept).unwrap_or_default());
            let err = scope.spawn(|| stderr.map(kept).unwrap_or_default());
            let ended = self.wait(&mut child, memory);
            // What it has started ends with it, and so do the pipes.
            kill_all(&mut child);
            let (status, too_large) = ended?;
            Ok(Ended {
                status,
                too_large,
                stdout: out.join().unwrap_or_default(),
                stderr: err.join().unwrap_or_default(),
                confined,
            })
        })
    }

    /// The program behind a shell that sets its limits; where it is alone, the program itself.
    #[cfg(unix)]
    fn command(&self, job: &Job, memory: Option<(&File, i32)>) -> Command {
        use std::os::fd::AsRawFd as _;
        use std::os::unix::process::CommandExt;
        if self.alone.is_some() {
            let mut command = Command::new(&job.program);
            command.args(&job.arguments).process_group(0);
            let bounds = Bounds {
                memory: Some(self.memory),
                file: memory.map(|(file, number)| (file.as_raw_fd(), number)),
            };
            self.calls.bind(&mut command, bounds);
            return command;
        }
        // Kibibytes, and blocks of 512 bytes (POSIX, "ulimit").
        let limits = format!(
            "ulimit -c 0; ulimit -v {}; ulimit -f {}; exec \"$@\"",
            self.memory / 1024,
            self.file / 512
        );
        let mut command = Command::new("/bin/sh");
        command
            .arg("-c")
            .arg(limits)
            .arg("sh")
            .arg(&job.program)
            .args(&job.arguments)
            // So that all that it starts can be killed with it.
            .process_group(0);
        self.calls.bind(&mut command, Bounds::default());
        command
    }

    #[cfg(not(unix))]
    fn command(&self, job: &Job, _: Option<(&File, i32)>) -> Command {
        let mut command = Command::new(&job.program);
        command.args(&job.arguments);
        command
    }

    /// How it ended, and whether it was killed for its size or that of a file.
    fn wait(
        &self,
        child: &mut Child,
        memory: Option<&File>,
    ) -> io::Result<(Option<ExitStatus>, bool)> {
        let started = Instant::now();
        let mut looked = started;
        loop {
            if let Some(status) = child.try_wait()? {
                return Ok((Some(status), false));
            }
            let too_large = match &self.alone {
                Some(alone) => {
                    // A limit of the system's would count memory that has no name, too (memfd_create(2)).
                    let size = |path: &PathBuf| path.metadata().map_or(0, |m| m.len());
                    let large = alone.files.iter().map(size).any(|bytes| bytes > self.file);
                    large || held::by_process(child.id(), memory) > alone.resident
                }
                None if looked.elapsed() < LOOK => false,
                None => {
                    looked = Instant::now();
                    let group = held::by_group(child.id());
                    group.processes > PROCESSES
                        || group.bytes > self.in_use
                        || held::in_folders(&self.write) > self.written
                }
            };
            if too_large || started.elapsed() >= self.time {
                kill_all(child);
                let _ = child.wait();
                return Ok((None, too_large));
            }
            std::thread::sleep(POLL);
        }
    }

    #[cfg(target_os = "linux")]
    fn confine(&self) -> Confined {
        use landlock::{
            ABI, Access, AccessFs, AccessNet, Ruleset, RulesetAttr, RulesetCreatedAttr,
            RulesetError, RulesetStatus, Scope, path_beneath_rules,
        };
        let abi = ABI::V4;
        let nobody = Alone::default();
        let alone = self.alone.as_ref().unwrap_or(&nobody);
        let restrict = || -> Result<RulesetStatus, RulesetError> {
            let mut rules = Ruleset::default()
                .handle_access(AccessFs::from_all(abi))?
                .handle_access(AccessNet::from_all(abi))?;
            if self.alone.is_some() {
                // Signals and sockets of others, too, where the system can (Linux 6.12).
                rules = rules.scope(Scope::from_all(ABI::V6))?;
            }
            // Who is root could make a device, and read a disk by it.
            let devices = AccessFs::MakeChar | AccessFs::MakeBlock | AccessFs::MakeSock;
            let all = AccessFs::from_all(abi) & !devices;
            let change = AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::Truncate;
            let status = rules
                .create()?
                .add_rules(path_beneath_rules(&self.read, AccessFs::from_read(abi)))?
                .add_rules(path_beneath_rules(&self.write, all))?
                .add_rules(path_beneath_rules(&alone.pipes, AccessFs::WriteFile))?
                .add_rules(path_beneath_rules(&alone.files, change))?
                .add_rules(path_beneath_rules(["/dev/null"], AccessFs::from_file(abi)))?
                .restrict_self()?;
            Ok(status.ruleset)
        };
        match restrict() {
            Ok(RulesetStatus::FullyEnforced) => Confined::Fully,
            Ok(RulesetStatus::PartiallyEnforced) => Confined::Partly,
            Ok(RulesetStatus::NotEnforced) | Err(_) => Confined::LimitsOnly,
        }
    }

    #[cfg(not(target_os = "linux"))]
    fn confine(&self) -> Confined {
        Confined::LimitsOnly
    }
}

/// Kills a child that leads a process group, and all that it has started.
pub fn kill_all(child: &mut Child) {
    #[cfg(unix)]
    {
        use rustix::process::{Pid, Signal, kill_process_group};
        let _ = kill_process_group(Pid::from_child(child), Signal::KILL);
    }
    let _ = child.kill();
}

/// The beginning of what comes out of a pipe; the rest is read and dropped, so that nobody waits for us.
fn kept(mut pipe: impl Read) -> Vec<u8> {
    let mut bytes = Vec::new();
    let _ = pipe.by_ref().take(KEPT_BYTES).read_to_end(&mut bytes);
    let _ = io::copy(&mut pipe, &mut io::sink());
    bytes
}

#[cfg(all(test, target_os = "linux"))]
mod tests;
