//! Builds a program in the sandbox: from its sources, or with a makefile.

use crate::assignment::{Build, BuildKind};
use crate::build::{BuildError, Compiler, Source, at, words};
use crate::line_directives;
use crate::result::Refused;
use context::fatbin::{FatbinError, Room};
use context::options::{Instead, LeaveOut, Options};
use exec::{build::flags, library, program::Program, toolkit, untrusted_program};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;
use toolchain::CompileError;
use toolchain::blame;
use toolchain::reach;
use toolchain::sandbox::{Confined, Job, Sandbox};
use toolchain::scratch::Scratch;
use toolchain::seccomp::Calls;

/// Largest program that is run, bytes.
const LARGEST: u64 = 64 << 20;
/// Bytes of PTX that the fat binaries of a program may unpack to, all together.
const CODE: usize = 32 << 20;
/// What a build is told that a call was not permitted to.
const PERMISSIONS: &str = "\n(no build may change permissions or owners of files here, nor send signals: leave out `chmod`, `chown`, `install` and `cp -p`)";
/// libwb's header, as racetrap has it.
pub const WB: &str = include_str!("wb.h");

/// A program that can be run.
#[derive(Debug)]
pub struct Built {
    room: Scratch,
    /// The library that is loaded with it.
    pub library: PathBuf,
    /// PTX that is run instead of its own: a mutant.
    pub instead: Vec<Instead>,
    /// A call that it does without: a mutant.
    pub leave_out: Option<LeaveOut>,
    /// Its sources, by name.
    pub texts: BTreeMap<String, String>,
}

impl Built {
    /// The executable.
    pub fn program(&self) -> PathBuf {
        self.room.path().join("program")
    }

    /// The PTX in it, for the device that it is run on.
    ///
    /// # Errors
    ///
    /// It can't be read.
    pub fn device_code(&self, build: &Build) -> Result<Vec<String>, BuildError> {
        let path = self.program();
        let data = std::fs::read(&path).map_err(at(&path))?;
        let code = exec::program::device_code(&data, capability(build), Room::of(CODE));
        code.map_err(|error| at(&path)(std::io::Error::other(error)))
    }

    /// The PTX that runs for it on the device: its own, or what takes its place.
    ///
    /// # Errors
    ///
    /// It can't be read.
    pub fn code_that_runs(&self, build: &Build) -> Result<Vec<String>, BuildError> {
        let options = Options {
            instead: self.instead.clone(),
            ..Options::default()
        };
        let own = self.device_code(build)?;
        let other = |text: &String| options.instead_of(text).map_err(at(&self.program()));
        own.iter().map(other).collect()
    }

    /// Runs another text from now on where it has this one.
    ///
    /// # Errors
    ///
    /// The text can't be written.
    pub fn run_instead(&mut self, of: &str, other: &str) -> Result<(), BuildError> {
        let file = self.room.path().join("instead.ptx");
        std::fs::write(&file, other).map_err(at(&file))?;
        let of = Instead::name(of);
        self.instead = vec![Instead { of, file }];
        self.leave_out = None;
        Ok(())
    }

    /// Runs its own text from now on, without one of its calls.
    pub fn run_without(&mut self, call: LeaveOut) {
        self.instead.clear();
        self.leave_out = Some(call);
    }

    /// The folder of its sources.
    pub fn sources(&self) -> PathBuf {
        self.room.path().join("src")
    }
}

/// Puts racetrap's own header beside the sources of a `wb` program.
pub fn with_header(mut source: Source, build: &Build) -> Source {
    if build.kind == BuildKind::Wb {
        source.files.insert("wb.h".to_owned(), WB.to_owned());
    }
    source
}

/// The capability that an architecture names: 75 of `sm_75`.
pub fn capability(build: &Build) -> u32 {
    let arch = build.arch.as_deref().unwrap_or(toolchain::ARCH);
    let digits = arch.trim_start_matches(|c: char| !c.is_ascii_digit());
    let digits = digits.trim_end_matches(|c: char| !c.is_ascii_digit());
    digits.parse().unwrap_or(75)
}

impl Compiler {
    /// Builds a program.
    ///
    /// # Errors
    ///
    /// What is not the student's fault. That it does not build is `Ok(Err(…))`.
    pub fn program(
        &self,
        source: &Source,
        build: &Build,
    ) -> Result<Result<Built, Refused>, BuildError> {
        let nvcc = self.nvcc.as_ref().ok_or(BuildError::NoCompiler)?;
        let library =
            library::find().map_err(|missing| BuildError::Library(missing.to_string()))?;
        let weak = Sandbox::available() == Confined::LimitsOnly || !Calls::are_filtered();
        if weak && !self.unconfined {
            return Err(BuildError::NotConfined);
        }
        let room = Scratch::new().map_err(at(&std::env::temp_dir()))?;
        let inside = |name: &str| room.path().join(name);
        let (sources, kit, temporary) = (inside("src"), inside("kit"), inside("tmp"));
        let libraries = kit.join("lib");
        for folder in [&sources, &libraries, &temporary] {
            std::fs::create_dir_all(folder).map_err(at(folder))?;
        }
        for (name, text) in &source.files {
            let path = sources.join(name);
            std::fs::write(&path, line_directives::without(text)).map_err(at(&path))?;
        }
        library::install(&library, &libraries, library::runtime_of(nvcc))
            .map_err(at(&libraries))?;
        let tools = toolkit::make(&kit.join("toolkit"), &nvcc.program.path, &libraries)
            .map_err(at(&kit))?;
        let mut sandbox = nvcc.sandbox_in(&sources, time(build));
        sandbox.write.push(temporary.clone());
        sandbox.read.extend([kit, library.clone()]);
        sandbox.calls = Calls::Family;
        let paths = Paths {
            sources: &sources,
            temporary: &temporary,
            tools: &tools,
            libraries: &libraries,
        };
        let job = match &build.make {
            Some(target) => paths.make(build, target),
            None => paths.nvcc(source, build),
        };
        let ended = sandbox.run(&job).map_err(at(&nvcc.program.path))?;
        let refused = |what: String, messages: String| Ok(Err(Refused { what, messages }));
        let Some(status) = ended.status else {
            let what = format!("it is not built within {} s", time(build).as_secs_f64());
            return refused(what, String::new());
        };
        let mut said = String::from_utf8_lossy(&ended.stderr).into_owned();
        said += &String::from_utf8_lossy(&ended.stdout);
        let installed = reach::of_compiler(&nvcc.program.path);
        let machine = blame::of_the_machine(status, &said, &installed);
        let said = words(&said, &sources, nvcc);
        if !status.success() {
            if let Some(why) = machine {
                return Err(BuildError::Compiler(CompileError::Broken {
                    file: source.main.clone().into(),
                    why: words(&why, &sources, nvcc),
                }));
            }
            let refused_by_us = said.contains("Operation not permitted");
            let note = if refused_by_us { PERMISSIONS } else { "" };
            return refused("it can't be built".into(), format!("{said}{note}"));
        }
        let made = sources.join(build.make.as_deref().unwrap_or("program"));
        let plain =
            std::fs::symlink_metadata(&made).is_ok_and(|m| m.is_file() && m.len() <= LARGEST);
        if !plain {
            let what = format!(
                "building it leaves no program `{}`",
                made.file_name().unwrap_or_default().display()
            );
            return refused(what, said);
        }
        let program = inside("program");
        std::fs::copy(&made, &program).map_err(at(&made))?;
        executable(&program).map_err(at(&program))?;
        match judged(&program, &library, build).map_err(at(&program))? {
            Ok(()) => Ok(Ok(Built {
                room,
                library,
                instead: Vec::new(),
                leave_out: None,
                texts: source.files.clone(),
            })),
            Err(why) => refused(why.to_string(), String::new()),
        }
    }
}

fn time(build: &Build) -> Duration {
    Duration::from_secs_f64(build.seconds.clamp(1.0, 3600.0))
}

fn executable(path: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o555))
}

/// Why a program can't be watched.
#[derive(Debug, thiserror::Error)]
enum Unwatchable {
    #[error(transparent)]
    Evades(#[from] untrusted_program::Evasion),
    #[error(transparent)]
    DeviceCode(#[from] FatbinError),
}

/// Whether a program can be watched.
fn judged(
    program: &Path,
    library: &Path,
    build: &Build,
) -> std::io::Result<Result<(), Unwatchable>> {
    let known = Program::read(program)?;
    if known.has_static_runtime() {
        return Ok(Err(untrusted_program::Evasion::NoRuntime.into()));
    }
    let data = std::fs::read(program)?;
    if let Err(error) = exec::program::device_code(&data, capability(build), Room::of(CODE)) {
        return Ok(Err(error.into()));
    }
    let judged = untrusted_program::judge(&data, &std::fs::read(library)?);
    Ok(judged.map_err(Unwatchable::from))
}

/// The folders of a build.
struct Paths<'a> {
    sources: &'a Path,
    temporary: &'a Path,
    tools: &'a Path,
    libraries: &'a Path,
}

impl Paths<'_> {
    fn nvcc(&self, source: &Source, build: &Build) -> Job {
        let mut arguments: Vec<OsString> = build.flags.iter().map(OsString::from).collect();
        let flags = flags(self.libraries, &capability(build).to_string());
        arguments.extend(flags.into_iter().map(OsString::from));
        arguments.extend(["-I.", "-o", "program"].map(OsString::from));
        let compiled = |name: &&String| {
            [".cu", ".cpp", ".cc", ".c"]
                .iter()
                .any(|end| name.ends_with(end))
        };
        arguments.extend(source.files.keys().filter(compiled).map(OsString::from));
        self.job(self.tools.join("bin/nvcc"), arguments)
    }

    fn make(&self, build: &Build, target: &str) -> Job {
        let mut job = self.job("/usr/bin/make".into(), vec!["-s".into(), target.into()]);
        let mut appended = build.flags.join(" ");
        for flag in flags(self.libraries, &capability(build).to_string()) {
            appended += &format!(" {flag}");
        }
        job.environment
            .push((exec::build::APPENDED.into(), appended.into()));
        job
    }

    fn job(&self, program: PathBuf, arguments: Vec<OsString>) -> Job {
        let mut path = OsString::from(self.tools.join("bin"));
        path.push(":/usr/local/bin:/usr/bin:/bin");
        Job {
            program,
            arguments,
            folder: self.sources.to_path_buf(),
            environment: vec![
                ("TMPDIR".into(), self.temporary.into()),
                ("PATH".into(), path),
                ("CUDA_PATH".into(), self.tools.into()),
                ("CUDA_HOME".into(), self.tools.into()),
                ("LC_ALL".into(), "C.UTF-8".into()),
            ],
            clean: true,
        }
    }
}
