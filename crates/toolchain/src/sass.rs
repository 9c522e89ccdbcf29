//! Assembles PTX with `ptxas` and disassembles the result with `nvdisasm`.

use super::find::find_program;
use super::release::{InstallError, tools};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Why there is no machine code listing.
#[derive(Debug, thiserror::Error)]
pub enum SassError {
    /// The tools are missing and could not be installed.
    #[error(transparent)]
    Install(#[from] InstallError),
    /// A tool could not be started, or its files could not be written.
    #[error("cannot run {}: {error}", program.display())]
    Start {
        /// Which.
        program: PathBuf,
        /// What the system says.
        error: std::io::Error,
    },
    /// A tool failed.
    #[error("{} failed on the PTX of {what}", program.display())]
    Refused {
        /// Which.
        program: PathBuf,
        /// Whose PTX.
        what: String,
        /// What it said.
        messages: String,
    },
}

/// `ptxas` and `nvdisasm`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SassTools {
    assembler: PathBuf,
    disassembler: PathBuf,
}

impl SassTools {
    /// Finds the tools in the installed toolkit; if one is missing, installs both from PyPI into the cache. Calls `say` before
    /// an installation.
    ///
    /// # Errors
    ///
    /// See [`InstallError`].
    pub fn find(say: &dyn Fn(&str)) -> Result<SassTools, SassError> {
        if let (Ok(assembler), Ok(disassembler)) = (find_program("ptxas"), find_program("nvdisasm"))
        {
            return Ok(SassTools {
                assembler: assembler.path,
                disassembler: disassembler.path,
            });
        }
        let folder = tools(say)?;
        Ok(SassTools {
            assembler: folder.join("ptxas"),
            disassembler: folder.join("nvdisasm"),
        })
    }

    /// The output of `nvdisasm -g -c` for `ptx`, assembled for `target` with line numbers.
    ///
    /// # Errors
    ///
    /// A tool cannot run or fails.
    pub fn disassemble(&self, ptx: &str, target: &str, what: &str) -> Result<String, SassError> {
        let start = |program: &Path| {
            let program = program.to_owned();
            move |error| SassError::Start { program, error }
        };
        let folder = tempfile::tempdir().map_err(start(&self.assembler))?;
        let (source, code) = (
            folder.path().join("in.ptx"),
            folder.path().join("out.cubin"),
        );
        std::fs::write(&source, ptx).map_err(start(&self.assembler))?;
        let run = |program: &Path, command: &mut Command| {
            let output = command.output().map_err(start(program))?;
            match output.status.success() {
                true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
                false => Err(SassError::Refused {
                    program: program.to_owned(),
                    what: what.to_owned(),
                    messages: String::from_utf8_lossy(&output.stderr)
                        .trim_end()
                        .to_owned(),
                }),
            }
        };
        let mut assemble = Command::new(&self.assembler);
        assemble
            .arg(format!("-arch={target}"))
            .args(["-lineinfo", "-o"])
            .arg(&code)
            .arg(&source);
        run(&self.assembler, &mut assemble)?;
        run(
            &self.disassembler,
            Command::new(&self.disassembler)
                .args(["-g", "-c"])
                .arg(&code),
        )
    }
}
