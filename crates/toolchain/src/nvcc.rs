//! Calls nvcc, on input that may come from a stranger.
//!
//! nvcc hands names of files, folders and macros to a shell. So it never sees them: it compiles a copy in a scratch folder under a
//! harmless name, whose first line gives the real one (`#line`); folders of headers are links there, macros a header. It runs in a
//! [`Sandbox`] that reads the toolkit, the system's programs, the source's folder and those of headers, and writes the scratch folder.

mod source_copy;

use super::cache::{self, Cache};
use super::find::{Program, Searched, find_program};
use super::sandbox::{Confined, Ended, Job, Sandbox};
use super::scratch::Scratch;
use super::seccomp::Calls;
pub use source_copy::SOURCE_FOLDER;
use source_copy::{DEPENDENCIES, MACROS, Room};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// Time for one compilation, where no less is given.
const TIME: Duration = Duration::from_secs(120);
/// Address space of each program of the compiler, bytes.
const MEMORY: u64 = 8 << 30;
/// Largest file that the compiler writes, bytes.
const FILE: u64 = 512 << 20;
/// Largest source that is compiled, bytes.
const SOURCE: u64 = 64 << 20;

/// How a file is compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Optimisation {
    /// `-O3 -lineinfo`, as in a release build.
    Optimised,
    /// `-G`: unoptimised device code with every variable in memory.
    Unoptimised,
    /// `-Xcicc -O1` or `-O2`, with `-lineinfo`: the levels in between.
    Level(u8),
}

impl Optimisation {
    /// The name shown in findings.
    pub fn name(self) -> &'static str {
        match self {
            Optimisation::Optimised => "optimised",
            Optimisation::Unoptimised => "unoptimised",
            Optimisation::Level(1) => "level 1",
            Optimisation::Level(_) => "level 2",
        }
    }
}

/// Options that the user passes through to the compiler.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CompileOptions {
    /// `-D`: `NAME` or `NAME=VALUE`.
    pub defines: Vec<String>,
    /// `-I`
    pub includes: Vec<PathBuf>,
    /// `-std`: `c++17`
    pub std: Option<String>,
    /// `-arch`: `sm_90`
    pub arch: Option<String>,
    /// Headers that are included before the source.
    pub before: Vec<PathBuf>,
    /// Whether what is called may be in another source (`-rdc=true`).
    pub relocatable: bool,
    /// Further options, passed on as they are.
    pub further: Vec<String>,
    /// Where to keep what was compiled, and to look for it.
    pub cache: Option<PathBuf>,
    /// Time limit for one compilation; two minutes by default.
    pub time: Option<Duration>,
}

/// The default architecture for PTX: the oldest one with independent thread scheduling that all compilers since 12.0 support.
pub const ARCH: &str = "sm_75";

/// Why compilation failed.
#[derive(Debug, thiserror::Error)]
pub enum CompileError {
    /// No compiler was found.
    #[error("the CUDA compiler (nvcc) was not found")]
    NoCompiler(Searched),
    /// The compiler could not be started, or its output could not be read.
    #[error("cannot run {}: {error}", program.display())]
    Start {
        /// The compiler.
        program: PathBuf,
        /// The system's error.
        error: std::io::Error,
    },
    /// The compiler exceeded the time limit.
    #[error("nvcc did not end within {} seconds on {}", seconds.as_secs_f64(), file.display())]
    TookTooLong {
        /// The file.
        file: PathBuf,
        /// The time limit.
        seconds: Duration,
    },
    /// An option has an invalid value.
    #[error("`{value}` is not a valid {what}")]
    BadOption {
        /// The expected kind of value.
        what: &'static str,
        /// The given value.
        value: String,
    },
    /// The compiler rejected the file.
    #[error("nvcc failed to compile {} ({build} build)", file.display())]
    Refused {
        /// The file.
        file: PathBuf,
        /// The build.
        build: &'static str,
        /// The messages of nvcc, unchanged.
        messages: String,
    },
}

/// A CUDA compiler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nvcc {
    /// The program.
    pub program: Program,
}

impl Nvcc {
    /// Finds the compiler; [`find_program`] lists the places.
    ///
    /// # Errors
    ///
    /// The places that were searched.
    pub fn find() -> Result<Nvcc, Searched> {
        find_program("nvcc").map(|program| Nvcc { program })
    }

    /// Its version, such as `13.0.88`; `None` if it cannot be run.
    pub fn version(&self) -> Option<String> {
        let output = Command::new(&self.program.path)
            .arg("--version")
            .output()
            .ok()?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let (_, version) = text.rsplit_once(", V")?;
        Some(version.split_whitespace().next()?.to_string())
    }

    /// Compiles one file to PTX.
    ///
    /// # Errors
    ///
    /// [`CompileError::Refused`] with the messages of nvcc, or another variant if it could not be run.
    pub fn compile(
        &self,
        file: &Path,
        optimisation: Optimisation,
        options: &CompileOptions,
    ) -> Result<String, CompileError> {
        let start = |error| CompileError::Start {
            program: self.program.path.clone(),
            error,
        };
        let scratch = Scratch::new().map_err(start)?;
        let room = Room::new(scratch.path(), file, options).map_err(start)?;
        let mut arguments: Vec<OsString> =
            vec!["-ptx".into(), "-Wno-deprecated-gpu-targets".into()];
        match optimisation {
            Optimisation::Optimised => arguments.extend(["-O3".into(), "-lineinfo".into()]),
            Optimisation::Unoptimised => arguments.push("-G".into()),
            Optimisation::Level(level) => arguments.extend([
                "-lineinfo".into(),
                "-Xcicc".into(),
                format!("-O{level}").into(),
            ]),
        }
        let arch = word("architecture", options.arch.as_deref().unwrap_or(ARCH))?;
        arguments.push(format!("-arch={arch}").into());
        if let Some(std) = &options.std {
            arguments.push(format!("-std={}", word("C++ standard", std)?).into());
        }
        if options.relocatable {
            arguments.push("-rdc=true".into());
        }
        for option in &options.further {
            arguments.push(further(option)?.into());
        }
        arguments.extend(room.arguments());
        let cache = options.cache.as_deref().map(Cache::at);
        let given = cache.as_ref().and_then(|_| self.given(&room, &arguments));
        if let (Some(cache), Some(given)) = (&cache, &given) {
            if let Some(ptx) = cache.get(given) {
                return Ok(ptx);
            }
            arguments.extend(["-MD".into(), "-MF".into(), DEPENDENCIES.into()]);
        }
        let ended = self.sandbox(&room, options).run(&Job {
            program: self.program.path.clone(),
            arguments,
            folder: room.scratch.clone(),
            environment: vec![("TMPDIR", room.scratch.clone().into())],
            clean: false,
        });
        let Ended {
            status,
            stdout,
            stderr,
            ..
        } = ended.map_err(start)?;
        let Some(status) = status else {
            return Err(CompileError::TookTooLong {
                file: file.to_path_buf(),
                seconds: options.time.unwrap_or(TIME),
            });
        };
        if !status.success() {
            // As a shell says that there is no such program.
            if matches!(status.code(), Some(126 | 127)) && !self.program.path.is_file() {
                return Err(start(std::io::ErrorKind::NotFound.into()));
            }
            let mut messages = String::from_utf8_lossy(&stderr).into_owned();
            messages.push_str(&String::from_utf8_lossy(&stdout));
            if messages.trim().is_empty() {
                messages = format!("nvcc ended with {status} and said nothing");
            }
            return Err(CompileError::Refused {
                file: file.to_path_buf(),
                build: optimisation.name(),
                messages: room.renamed(messages.trim_end()),
            });
        }
        let ptx = std::fs::read_to_string(room.scratch.join("out.ptx")).map_err(start)?;
        let ptx = room.with_real_files(&ptx);
        if let (Some(cache), Some(given)) = (&cache, &given)
            && let Some(headers) = room.headers_read()
        {
            cache.put(given, &headers, &ptx);
        }
        Ok(ptx)
    }

    /// All that decides what the compiler writes, but for the headers that the source names.
    fn given(&self, room: &Room, arguments: &[OsString]) -> Option<Vec<u8>> {
        let mut given = Vec::new();
        let mut add = |bytes: &[u8]| cache::part(&mut given, bytes);
        add(env!("CARGO_PKG_VERSION").as_bytes());
        add(self.program.path.to_str()?.as_bytes());
        add(cache::stamp(&self.program.path)?.as_bytes());
        for argument in arguments {
            add(argument.to_str()?.as_bytes());
        }
        for (_, folder) in &room.links {
            add(folder.to_str()?.as_bytes());
        }
        for file in [room.copy.as_str(), MACROS] {
            add(&std::fs::read(room.scratch.join(file)).ok()?);
        }
        Some(given)
    }

    /// How far compilations are confined on this system.
    pub fn confined() -> Confined {
        Sandbox::available()
    }

    fn sandbox(&self, room: &Room, options: &CompileOptions) -> Sandbox {
        let mut sandbox = self.sandbox_in(&room.scratch, options.time.unwrap_or(TIME));
        let links = room.links.iter().map(|(_, folder)| folder.clone());
        sandbox.read.extend(links);
        sandbox.read.extend(room.headers.iter().cloned());
        sandbox
    }

    /// What a build may do that works in a folder: it reads the toolkit and the system's programs.
    pub fn sandbox_in(&self, folder: &Path, time: Duration) -> Sandbox {
        let mut read = system();
        // The toolkit, wherever links lead to it, and the host compiler.
        let real = self.program.path.canonicalize();
        for program in [Some(self.program.path.clone()), real.ok()]
            .into_iter()
            .flatten()
        {
            read.extend(program.ancestors().skip(1).take(2).map(Path::to_path_buf));
        }
        for variable in ["PATH", "LD_LIBRARY_PATH", "CUDA_PATH", "CUDA_HOME"] {
            let value = std::env::var_os(variable).unwrap_or_default();
            read.extend(std::env::split_paths(&value).filter(|p| p.is_absolute()));
        }
        Sandbox {
            read,
            write: vec![folder.to_path_buf()],
            memory: MEMORY,
            file: FILE,
            time,
            calls: Calls::Any,
            alone: None,
        }
    }
}

/// Where the system's programs and libraries are.
pub fn system() -> Vec<PathBuf> {
    const SYSTEM: [&str; 13] = [
        "/usr",
        "/bin",
        "/sbin",
        "/lib",
        "/lib32",
        "/lib64",
        "/libx32",
        "/opt",
        "/nix",
        "/etc/alternatives",
        "/etc/ld.so.cache",
        "/etc/ld.so.conf",
        "/etc/ld.so.conf.d",
    ];
    SYSTEM.iter().map(PathBuf::from).collect()
}

/// A word that may stand on a command line that a shell reads.
fn word<'a>(what: &'static str, value: &'a str) -> Result<&'a str, CompileError> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_+-,".contains(c);
    match !value.is_empty() && value.chars().all(plain) {
        true => Ok(value),
        false => Err(CompileError::BadOption {
            what,
            value: value.to_owned(),
        }),
    }
}

/// An option that the user passes on: characters that mean nothing to a shell.
pub(super) fn further(option: &str) -> Result<&str, CompileError> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_+-,=./:".contains(c);
    match option.starts_with('-') && option.chars().all(plain) {
        true => Ok(option),
        false => Err(CompileError::BadOption {
            what: "compiler option",
            value: option.to_owned(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nvcc(path: &str) -> Nvcc {
        Nvcc {
            program: Program {
                path: path.into(),
                through: "test".into(),
            },
        }
    }

    #[test]
    fn a_compiler_that_cannot_start_is_told() {
        let missing = nvcc("/nowhere/nvcc");
        assert_eq!(missing.version(), None);
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a.cu"), "").unwrap();
        let result = missing.compile(
            &folder.path().join("a.cu"),
            Optimisation::Optimised,
            &CompileOptions::default(),
        );
        assert!(matches!(result, Err(CompileError::Start { .. })));
    }

    #[test]
    fn a_compiler_that_fails_silently_is_told() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a.cu"), "").unwrap();
        let result = nvcc("/bin/false").compile(
            &folder.path().join("a.cu"),
            Optimisation::Unoptimised,
            &CompileOptions::default(),
        );
        let Err(CompileError::Refused { messages, .. }) = result else {
            panic!("{result:?}");
        };
        assert!(messages.contains("said nothing"), "{messages}");
    }

    /// The real compiler names headers its own way; a changed header is seen.
    #[test]
    fn what_was_compiled_is_kept() {
        let Ok(nvcc) = Nvcc::find() else {
            println!("not checked: there is no CUDA compiler; ci/cuda-toolkit.sh installs one");
            return;
        };
        let folder = tempfile::tempdir().unwrap();
        let (source, header) = (folder.path().join("a.cu"), folder.path().join("h.h"));
        let text = "#include \"h.h\"\n__global__ void k(int *x) { *x = VALUE; }\n";
        std::fs::write(&source, text).unwrap();
        std::fs::write(&header, "#define VALUE 17\n").unwrap();
        let kept = folder.path().join("kept");
        let options = CompileOptions {
            cache: Some(kept.clone()),
            ..CompileOptions::default()
        };
        let compile = || {
            nvcc.compile(&source, Optimisation::Optimised, &options)
                .unwrap()
        };
        let first = compile();
        let entries: Vec<_> = std::fs::read_dir(&kept).unwrap().flatten().collect();
        assert_eq!(entries.len(), 1);
        // What was kept is what comes out, also where it is not what the compiler would write.
        let entry = entries[0].path();
        let bytes = std::fs::read(&entry).unwrap();
        let text = String::from_utf8(bytes).unwrap();
        std::fs::write(&entry, text.replace(", 17;", ", 18;")).unwrap();
        assert_eq!(compile(), first.replace(", 17;", ", 18;"));
        std::fs::write(&header, "#define VALUE 19\n").unwrap();
        assert_eq!(compile(), first.replace(", 17;", ", 19;"));
    }

    /// A program that does with its arguments what nvcc does: hands them to a shell.
    #[cfg(unix)]
    #[test]
    fn names_are_no_code() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("shell-nvcc");
        let script = "#!/bin/sh\neval \"cat $*\" 2>/dev/null\ncp racetrap-macros.h out.ptx\n";
        std::fs::write(&program, script).unwrap();
        std::fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
        let evil = format!("$(touch {}/pwned)", folder.path().display()).replace('/', "");
        let evil = folder.path().join(format!("-{evil}`touch pwned`;.cu"));
        std::fs::write(&evil, "").unwrap();
        let options = CompileOptions {
            defines: vec![
                "A=$(touch pwned)".into(),
                "B".into(),
                "C=1\n#include </etc/passwd>".into(),
            ],
            includes: vec![folder.path().join("$(touch pwned)")],
            ..CompileOptions::default()
        };
        let ptx = nvcc(program.to_str().unwrap())
            .compile(&evil, Optimisation::Optimised, &options)
            .unwrap();
        assert_eq!(
            ptx,
            "#define A $(touch pwned)\n#define B 1\n#define C 1 #include </etc/passwd>\n"
        );
        let names = std::fs::read_dir(folder.path()).unwrap();
        assert!(names.flatten().all(|e| e.file_name() != "pwned"));
        for bad in ["sm_75;touch pwned", "$(touch pwned)", ""] {
            let options = CompileOptions {
                arch: Some(bad.into()),
                ..CompileOptions::default()
            };
            let result = nvcc("/bin/false").compile(&evil, Optimisation::Optimised, &options);
            assert!(
                matches!(result, Err(CompileError::BadOption { .. })),
                "{result:?}"
            );
        }
    }
}
