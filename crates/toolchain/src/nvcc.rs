//! Calls nvcc.

use super::find::{Program, Searched, find_program};
use std::path::{Path, PathBuf};
use std::process::Command;

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
        let folder = tempfile::tempdir().map_err(start)?;
        let ptx = folder.path().join("out.ptx");
        let mut command = Command::new(&self.program.path);
        command.args(["-ptx", "-Wno-deprecated-gpu-targets"]);
        match optimisation {
            Optimisation::Optimised => command.args(["-O3", "-lineinfo"]),
            Optimisation::Unoptimised => command.arg("-G"),
            Optimisation::Level(level) => command
                .args(["-lineinfo", "-Xcicc"])
                .arg(format!("-O{level}")),
        };
        command.arg(format!("-arch={}", options.arch.as_deref().unwrap_or(ARCH)));
        if let Some(std) = &options.std {
            command.arg(format!("-std={std}"));
        }
        for define in &options.defines {
            command.arg(format!("-D{define}"));
        }
        for include in &options.includes {
            command.arg("-I").arg(include);
        }
        command.arg("-o").arg(&ptx).arg(file);
        let output = command.output().map_err(start)?;
        if !output.status.success() {
            let mut messages = String::from_utf8_lossy(&output.stderr).into_owned();
            messages.push_str(&String::from_utf8_lossy(&output.stdout));
            if messages.trim().is_empty() {
                messages = format!("nvcc failed with {} and printed no message", output.status);
            }
            return Err(CompileError::Refused {
                file: file.to_path_buf(),
                build: optimisation.name(),
                messages: messages.trim_end().to_string(),
            });
        }
        std::fs::read_to_string(&ptx).map_err(start)
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
        let result = missing.compile(
            Path::new("a.cu"),
            Optimisation::Optimised,
            &CompileOptions::default(),
        );
        assert!(matches!(result, Err(CompileError::Start { .. })));
    }

    #[test]
    fn a_compiler_that_fails_silently_is_told() {
        let result = nvcc("/bin/false").compile(
            Path::new("a.cu"),
            Optimisation::Unoptimised,
            &CompileOptions::default(),
        );
        let Err(CompileError::Refused { messages, .. }) = result else {
            panic!("{result:?}");
        };
        assert!(messages.contains("said nothing"), "{messages}");
    }
}
