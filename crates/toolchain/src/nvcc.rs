//! Calls nvcc, on input that may come from a stranger.
//!
//! nvcc hands names of files, folders and macros to a shell. So it never sees them: it compiles a copy in a scratch folder under a
//! harmless name, whose first line gives the real one (`#line`); folders of headers are links there, macros a header. It runs in a
//! [`Sandbox`] that reads the toolkit, the system's programs, the source's folder and those of headers, and writes the scratch folder.

mod source_copy;

use super::blame;
use super::cache::{self, Cache, Header};
use super::find::{Program, Searched, find_program};
use super::reach;
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
    /// The compiler failed, and not because of the file.
    #[error("nvcc could not compile {}: {why}", file.display())]
    Broken {
        /// The file.
        file: PathBuf,
        /// Why, in its own words.
        why: String,
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
        self.compile_noting(file, optimisation, options, None)
    }

    /// The same; the headers that were read are noted, where they are known.
    ///
    /// # Errors
    ///
    /// As [`Nvcc::compile`].
    pub fn compile_noting(
        &self,
        file: &Path,
        optimisation: Optimisation,
        options: &CompileOptions,
        headers: Option<&mut Vec<Header>>,
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
        if let (Some(cache), Some(given)) = (&cache, &given)
            && let Some(ptx) = cache.get(given)
        {
            return Ok(ptx);
        }
        if given.is_some() || headers.is_some() {
            arguments.extend(["-MD".into(), "-MF".into(), DEPENDENCIES.into()]);
        }
        let ended = self.sandbox(&room, options).run(&Job {
            program: self.program.path.clone(),
            arguments,
            folder: room.scratch.clone(),
            environment: environment(&room.scratch),
            clean: true,
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
            let installed = reach::of_compiler(&self.program.path);
            if let Some(why) = blame::of_the_machine(status, &messages, &installed) {
                return Err(CompileError::Broken {
                    file: file.to_path_buf(),
                    why: room.renamed(&why),
                });
            }
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
        let read = match given.is_some() || headers.is_some() {
            true => room.headers_read(),
            false => None,
        };
        if let (Some(cache), Some(given), Some(read)) = (&cache, &given, &read) {
            cache.put(given, read, &ptx);
        }
        if let (Some(headers), Some(read)) = (headers, read) {
            *headers = read;
        }
        Ok(ptx)
    }

    /// All that decides what the compiler writes, but for the headers that the source names.
    fn given(&self, room: &Room, arguments: &[OsString]) -> Option<Vec<u8>> {
        let mut given = self.surroundings()?;
        let mut add = |bytes: &[u8]| cache::part(&mut given, bytes);
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

    /// All that decides what the compiler makes of one and the same source with the same options, but for headers: this program, the
    /// compiler and its parts, the host compiler, and the environment. `None` where it can't be told.
    pub fn surroundings(&self) -> Option<Vec<u8>> {
        let mut all = Vec::new();
        let mut add = |bytes: &[u8]| cache::part(&mut all, bytes);
        add(env!("CARGO_PKG_VERSION").as_bytes());
        add(self.program.path.to_str()?.as_bytes());
        add(cache::stamp(&self.program.path)?.as_bytes());
        let real = self.program.path.canonicalize().ok()?;
        let bin = real.parent()?;
        // What nvcc calls, and the file that says how (CUDA compiler driver, "nvcc.profile").
        let parts = [
            "nvcc.profile",
            "cudafe++",
            "ptxas",
            "../nvvm/bin/cicc",
            "../nvvm/libdevice/libdevice.10.bc",
        ];
        for part in parts {
            add(cache::stamp(&bin.join(part)).unwrap_or_default().as_bytes());
        }
        let path = std::env::var_os("PATH").unwrap_or_default();
        for name in ["cc", "gcc", "g++", "c++"] {
            let host = std::env::split_paths(&path).map(|folder| folder.join(name));
            let host = host.into_iter().find(|program| program.is_file());
            let host = host.and_then(|program| program.canonicalize().ok());
            let stamp = host.as_deref().and_then(cache::stamp);
            add(host.unwrap_or_default().to_str()?.as_bytes());
            add(stamp.unwrap_or_default().as_bytes());
        }
        for (name, value) in environment(Path::new("")) {
            add(name.to_str()?.as_bytes());
            add(value.to_str()?.as_bytes());
        }
        Some(all)
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

    /// What a build may do that works in a folder: it reads [what compilers may](super::reach).
    pub fn sandbox_in(&self, folder: &Path, time: Duration) -> Sandbox {
        Sandbox {
            read: reach::of_compiler(&self.program.path),
            write: vec![folder.to_path_buf()],
            memory: MEMORY,
            in_use: MEMORY,
            file: FILE,
            written: 4 * FILE,
            time,
            calls: Calls::Any,
            alone: None,
        }
    }
}

/// Variables that compilers read, or that name what they call.
const VARIABLES: [&str; 11] = [
    "PATH",
    "HOME",
    "CPATH",
    "C_INCLUDE_PATH",
    "CPLUS_INCLUDE_PATH",
    "COMPILER_PATH",
    "LIBRARY_PATH",
    "INCLUDE",
    "LIB",
    "SYSTEMROOT",
    "SOURCE_DATE_EPOCH",
];

/// What the names of others begin with: of the loader, CUDA, gcc, and what may stand around it.
const FAMILIES: [&str; 6] = ["LD_", "CUDA_", "NVCC_", "GCC_", "CCACHE_", "NIX_"];

/// The environment in which a compiler runs: of this program's own what compilers read, and nothing else, so that all that can change what
/// is compiled is known. Its messages are in English, which [`blame`] reads.
fn environment(temporary: &Path) -> Vec<(OsString, OsString)> {
    let known = |name: &str| {
        VARIABLES.contains(&name) || FAMILIES.iter().any(|begin| name.starts_with(begin))
    };
    let mut all: Vec<(OsString, OsString)> = std::env::vars_os()
        .filter(|(name, _)| name.to_str().is_some_and(known))
        .collect();
    all.sort();
    all.push(("LC_ALL".into(), "C.UTF-8".into()));
    all.push(("TMPDIR".into(), temporary.into()));
    all
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

    /// A compiler of which a part is killed, or that lacks a header of its own, has not refused the source.
    #[cfg(unix)]
    #[test]
    fn a_compiler_that_is_killed_refuses_nothing() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let (program, source) = (folder.path().join("nvcc"), folder.path().join("a.cu"));
        std::fs::write(&source, "").unwrap();
        for script in [
            "kill -9 $$",
            "sh -c 'kill -9 $$'",
            "echo \"nvcc error   : 'cicc' died due to signal 9 (Kill signal)\" >&2; exit 9",
            "echo \"<command-line>: fatal error: cuda_runtime.h: No such file or directory\" >&2; exit 1",
            "ulimit -v 1000; exec gcc -E - </dev/null",
        ] {
            std::fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
            std::fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
            let options = CompileOptions {
                cache: Some(folder.path().join("kept")),
                ..CompileOptions::default()
            };
            let nvcc = nvcc(program.to_str().unwrap());
            let result = nvcc.compile(&source, Optimisation::Optimised, &options);
            assert!(
                matches!(result, Err(CompileError::Broken { .. })),
                "{script}: {result:?}"
            );
            assert!(!folder.path().join("kept").exists());
        }
    }

    /// What changes what is compiled changes what is asked of the cache.
    #[test]
    fn another_compiler_compiles_anew() {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("nvcc");
        std::fs::write(&program, "one").unwrap();
        let nvcc = nvcc(program.to_str().unwrap());
        let before = nvcc.surroundings().unwrap();
        assert_eq!(nvcc.surroundings().unwrap(), before);
        std::fs::write(folder.path().join("nvcc.profile"), "INCLUDES = other").unwrap();
        assert_ne!(nvcc.surroundings().unwrap(), before);
        let known = environment(Path::new("/t"));
        assert!(known.iter().any(|(name, _)| name == "PATH"));
        assert!(!known.iter().any(|(name, _)| name == "CARGO_MANIFEST_DIR"));
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
        let given = cache::given_of(&std::fs::read(&entry).unwrap());
        let other = first.replace(", 17;", ", 18;");
        Cache::at(&kept).put(&given, &[Header::Text(header.clone())], &other);
        assert_eq!(compile(), other);
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
