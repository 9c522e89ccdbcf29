//! Runs a program on one input.

use super::build::{Built, capability};
use super::files;
use crate::assignment::{
    Assignment, BuildKind, Compare, Layout, Metric, OUTPUT, Output, Program, STDOUT,
};
use crate::build::{BuildError, at};
use crate::counts::by_metric;
use crate::input::Drawn;
use context::options::{self, Options};
use detect::counts::Counts;
use exec::collect::Collected;
use exec::library;
use session::buffer::ElementType;
use std::collections::BTreeMap;
use std::io::Read as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use toolchain::pipe::{NamedPipe, drain};
use toolchain::sandbox::{Alone, Ended, Job, Sandbox};
use toolchain::scratch::Scratch;
use toolchain::seccomp::Calls;

/// Address space of a program, most of which is the library's reservation.
const ADDRESSES: u64 = 12 << 30;
/// The number under which the library finds the file that is the device's memory.
const ARENA: i32 = 100;
/// Memory beside the device's, bytes.
const BESIDE: u64 = 256 << 20;
/// Largest file that it may write, bytes.
const LARGEST: u64 = 64 << 20;
/// Bytes of records that are read.
const RECORDS: usize = 64 << 20;

/// A run of a program on an input.
#[derive(Clone, Debug)]
pub struct Run<'a> {
    /// The assignment.
    pub assignment: &'a Assignment,
    /// The input.
    pub drawn: &'a Drawn,
    /// The program.
    pub built: &'a Built,
    /// Budget of a launch, in warp-instructions.
    pub steps: u64,
    /// Schedules of a launch, at most.
    pub schedules: u32,
    /// Whether all warps of a launch advance together, instead of one after the other.
    pub in_step: bool,
    /// Whether to draw what happened around findings.
    pub pictures: bool,
    /// When the time is up.
    pub until: Instant,
}

/// What came of a run.
#[derive(Debug)]
pub struct Ran {
    /// How it ended.
    pub end: End,
    /// What its launches did when they were [run again](super::replay), and what the library told of the host program.
    pub collected: Collected,
    /// Why not all of its launches were run again.
    pub partial: Option<String>,
    /// Why that can't be trusted.
    pub broken: Option<String>,
    /// What it left in files, and printed, by the names in `compare`.
    pub outputs: BTreeMap<String, Vec<u8>>,
}

/// How a program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// By itself, with this status.
    Status(i32),
    /// By a signal.
    Signal(i32),
    /// It was stopped after the seconds that a program may take.
    TooSlow,
    /// It was stopped because the time for the submission was up.
    OutOfTime,
    /// It was stopped because it took too much memory, or wrote too large a file.
    TooLarge,
}

impl Ran {
    /// Warp-instructions of all kernels.
    pub fn steps(&self) -> u64 {
        self.collected.kernels().map(|k| k.steps).sum()
    }

    /// What kernels did, and how they were launched.
    pub fn counts(&self) -> BTreeMap<Metric, f64> {
        let mut sum = Counts::default();
        let (mut blocks, mut threads, mut shared) = (0, 0, 0);
        for kernel in self.collected.kernels() {
            sum.add(&kernel.counts);
            blocks = kernel.largest.0.max(blocks);
            threads = kernel.largest.1.max(threads);
            shared = kernel.largest.2.max(shared);
        }
        let mut counts = by_metric(&sum);
        counts.insert(Metric::Instructions, self.steps() as f64);
        counts.insert(Metric::Blocks, blocks as f64);
        counts.insert(Metric::BlockThreads, threads as f64);
        counts.insert(Metric::SharedBytes, shared as f64);
        counts
    }

    /// A pattern of kernels of which none was launched; without patterns `*`.
    pub fn not_launched<'a>(&self, program: &'a Program) -> Option<&'a str> {
        let launched = |pattern: &str| {
            let mut all = self.collected.kernels().filter(|k| k.launches > 0);
            all.any(|k| {
                ptx::matches_kernel(&k.name, pattern) || ptx::without_signature(&k.name) == pattern
            })
        };
        match program.kernels.is_empty() {
            true => self
                .collected
                .kernels()
                .all(|k| k.launches == 0)
                .then_some("*"),
            false => program
                .kernels
                .iter()
                .map(String::as_str)
                .find(|p| !launched(p)),
        }
    }
}

/// How what is compared under a name is written, of which type it is, and how many numbers stand before it.
pub fn form(assignment: &Assignment, name: &str, how: &Compare) -> (Layout, ElementType, usize) {
    let output = assignment
        .program
        .as_ref()
        .map_or(Output::Vector, |p| p.output);
    if assignment.build.kind == BuildKind::Wb && name == OUTPUT {
        let head = if output == Output::Matrix { 2 } else { 1 };
        return (output.layout(), output.element(), head);
    }
    let layout = how.layout.unwrap_or(match name {
        STDOUT => Layout::Words,
        _ => Layout::Binary,
    });
    (layout, how.element.unwrap_or(ElementType::U8), 1)
}

/// The numbers that a run left under a name.
pub fn numbers(assignment: &Assignment, name: &str, bytes: &[u8]) -> files::Numbers {
    let (layout, element, head) = form(assignment, name, &assignment.compare[name]);
    files::read(layout, element, bytes, head)
}

impl Run<'_> {
    /// Runs it.
    ///
    /// # Errors
    ///
    /// What is not the program's fault.
    pub fn run(&self) -> Result<Ran, BuildError> {
        let nobody = Program::default();
        let program = self.assignment.program.as_ref().unwrap_or(&nobody);
        let room = Scratch::new().map_err(at(&std::env::temp_dir()))?;
        let folder = room.path().join("run");
        let watch = room.path().join("exec");
        let libraries = watch.join("lib");
        for path in [&folder, &libraries] {
            std::fs::create_dir_all(path).map_err(at(path))?;
        }
        for (name, bytes) in &self.drawn.files {
            let path = folder.join(name);
            std::fs::write(&path, bytes).map_err(at(&path))?;
        }
        let mut written: Vec<String> = program.writes.clone();
        let compared = self.assignment.compare.keys();
        written.extend(compared.filter(|name| *name != STDOUT).cloned());
        written.retain(|name| !self.drawn.files.contains_key(name));
        for name in &written {
            let path = folder.join(name);
            std::fs::File::create(&path).map_err(at(&path))?;
        }
        library::install(&self.built.library, &libraries, None).map_err(at(&libraries))?;
        let places = Places {
            folder: &folder,
            watch: &watch,
            libraries: &libraries,
        };
        let (ended, records, key, took) = self.watched(program, &written, &places)?;
        let (collected, broken) = Collected::sealed(&records, &key);
        drop(records);
        let silent = !collected.processes.is_empty() && !collected.ended;
        let again = self.again(collected, self.options(&key))?;
        let mut outputs = BTreeMap::from([(STDOUT.to_owned(), ended.stdout.clone())]);
        for name in written {
            let path = folder.join(&name);
            let mut bytes = Vec::new();
            let file = std::fs::File::open(&path).map_err(at(&path))?;
            file.take(LARGEST)
                .read_to_end(&mut bytes)
                .map_err(at(&path))?;
            outputs.insert(name, bytes);
        }
        let end = self.end(&ended, took);
        let broken = match broken {
            Err(broken) => Some(broken.to_string()),
            Ok(()) if silent && matches!(end, End::Status(_)) => {
                Some("the program ended, and the library was not told".to_owned())
            }
            Ok(()) => None,
        };
        Ok(Ran {
            end,
            collected: again.collected,
            partial: again.why,
            broken,
            outputs,
        })
    }

    fn watched(
        &self,
        program: &Program,
        written: &[String],
        places: &Places<'_>,
    ) -> Result<(Ended, Vec<u8>, String, Duration), BuildError> {
        let Places { folder, watch, .. } = places;
        let (options, records) = (options::options(watch), options::records(watch));
        let pipe = |path: &Path| NamedPipe::make(path).map_err(at(path));
        let (ask, tell) = (pipe(&options)?, pipe(&records)?);
        let key = key().map_err(at(Path::new("/dev/urandom")))?;
        let asked = self.options(&key).line().map_err(at(&options))?;
        // What is in the pipe stays there until the library takes it.
        let held = ask.fill(&asked).map_err(at(&options))?;
        let mut reader = tell.reader().map_err(at(&records))?;
        let stdin = program.stdin.as_ref().map(|name| folder.join(name));
        let sandbox = self.sandbox(places, written, stdin, program);
        let job = Job {
            program: self.built.program(),
            arguments: self.drawn.words.iter().map(Into::into).collect(),
            folder: folder.to_path_buf(),
            environment: vec![
                (options::VARIABLE.into(), watch.into()),
                ("LD_LIBRARY_PATH".into(), places.libraries.into()),
                (
                    "LD_PRELOAD".into(),
                    places.libraries.join("libcudart.so").into(),
                ),
                ("LC_ALL".into(), "C".into()),
            ],
            clean: true,
        };
        let done = AtomicBool::new(false);
        let started = Instant::now();
        let (ended, told) = std::thread::scope(|scope| {
            let read = scope.spawn(|| drain(&mut reader, RECORDS, &done));
            let ended = sandbox.run(&job);
            done.store(true, Ordering::Release);
            (ended, read.join())
        });
        let took = started.elapsed();
        drop(held);
        let told =
            told.unwrap_or_else(|_| Err(std::io::Error::other("the thread that reads failed")));
        let program = self.built.program();
        Ok((
            ended.map_err(at(&program))?,
            told.map_err(at(&records))?,
            key,
            took,
        ))
    }

    fn options(&self, key: &str) -> Options {
        let limits = &self.assignment.limits;
        Options {
            capability: capability(&self.assignment.build),
            memory: limits.memory_mib.clamp(16, 1 << 16) << 20,
            first: u64::MAX,
            steps: self.steps,
            counts: true,
            tape: true,
            // Others are tried when it is run again.
            schedules: 1,
            in_step: self.in_step,
            traces: self.pictures,
            leave_out: self.built.leave_out.clone(),
            instead: self.built.instead.clone(),
            seal: Some(key.to_owned()),
            arena: Some(ARENA),
            ..Options::default()
        }
    }

    fn sandbox(
        &self,
        places: &Places<'_>,
        written: &[String],
        stdin: Option<PathBuf>,
        program: &Program,
    ) -> Sandbox {
        const SYSTEM: [&str; 5] = [
            "/lib",
            "/lib64",
            "/usr/lib",
            "/usr/lib64",
            "/etc/ld.so.cache",
        ];
        let mut read: Vec<PathBuf> = SYSTEM.iter().map(PathBuf::from).collect();
        read.extend([
            self.built.program(),
            self.built.sources(),
            self.built.library.clone(),
            places.folder.to_path_buf(),
            places.libraries.to_path_buf(),
            options::options(places.watch),
        ]);
        read.extend(self.built.instead.iter().map(|other| other.file.clone()));
        let memory = self.assignment.limits.memory_mib.clamp(16, 1 << 16) << 20;
        let own = Duration::from_secs_f64(program.seconds.clamp(0.1, 3600.0));
        let left = self.until.saturating_duration_since(Instant::now());
        Sandbox {
            read,
            write: Vec::new(),
            memory: ADDRESSES + memory,
            in_use: ADDRESSES + memory,
            file: LARGEST,
            written: 4 * LARGEST,
            time: own.min(left),
            calls: Calls::Alone,
            alone: Some(Alone {
                resident: memory + BESIDE,
                file_in_memory: Some(ARENA),
                pipes: vec![options::records(places.watch)],
                files: written
                    .iter()
                    .map(|name| places.folder.join(name))
                    .collect(),
                stdin,
            }),
        }
    }

    fn end(&self, ended: &Ended, took: Duration) -> End {
        let program = self.assignment.program.as_ref();
        let seconds = program.map_or(0.0, |p| p.seconds);
        match ended.status {
            Some(status) => match (status.code(), status.signal()) {
                (Some(code), _) => End::Status(code),
                (None, signal) => End::Signal(signal.unwrap_or(0)),
            },
            None if ended.too_large => End::TooLarge,
            None if took.as_secs_f64() >= seconds => End::TooSlow,
            None => End::OutOfTime,
        }
    }
}

/// The folders of a run.
struct Places<'a> {
    folder: &'a Path,
    watch: &'a Path,
    libraries: &'a Path,
}

/// 32 digits that nobody can guess.
fn key() -> std::io::Result<String> {
    let mut bytes = [0; 16];
    std::fs::File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
