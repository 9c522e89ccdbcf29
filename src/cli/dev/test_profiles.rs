//! `racetrap dev under`, `which-gpu` and `cases`: what the test profiles of a project call. The scripts are those of racetrap's own
//! profiles, inside this program.

use crate::cli::value_enums::choice;
use clap::Args;
use evidence::Under;
use evidence::sanitizer::Tool;
use report::Failure;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

const COMMON: &str = include_str!("../../../sanitizer/common.sh");
const WHICH_GPU: &str = include_str!("../../../ci/which-gpu.sh");
/// How the scripts of the tools take the common one in.
const SOURCE: &str = "source \"$(dirname \"${BASH_SOURCE[0]}\")/common.sh\"\n";

/// Options of `racetrap dev under`.
#[derive(Args, Clone, Debug)]
pub struct UnderArgs {
    /// The tool
    #[arg(value_parser = choice::<Under>(), value_name = "TOOL")]
    tool: Under,
    /// The folder with `kernels` and `cases`
    #[arg(long, value_name = "FOLDER", default_value = ".")]
    catalog: PathBuf,
    /// The test program and its arguments: the name of one case, and `--exact`
    #[arg(
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "TEST_BINARY"
    )]
    command: Vec<OsString>,
}

/// Options of `racetrap dev cases`.
#[derive(Args, Clone, Debug)]
pub struct CasesArgs {
    /// The folder with `kernels` and `cases`
    #[arg(long, value_name = "FOLDER", default_value = ".")]
    catalog: PathBuf,
    /// The arguments of a test program
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<OsString>,
}

/// The wrapper of a tool: the common part with the tool's own.
fn wrapper(tool: Under) -> String {
    let own = match tool {
        Under::Races => include_str!("../../../sanitizer/races"),
        Under::Sanitizer(Tool::Racecheck) => include_str!("../../../sanitizer/racecheck"),
        Under::Sanitizer(Tool::Synccheck) => include_str!("../../../sanitizer/synccheck"),
        Under::Sanitizer(Tool::Memcheck) => include_str!("../../../sanitizer/memcheck"),
        Under::Sanitizer(Tool::Initcheck) => include_str!("../../../sanitizer/initcheck"),
    };
    own.replace(SOURCE, COMMON)
}

/// Runs a test under a tool, and judges it. Does not return unless it can't be started.
///
/// # Errors
///
/// There is no `bash`.
pub fn under(args: &UnderArgs) -> Result<(String, u8), Failure> {
    let mut command = bash(&wrapper(args.tool), args.tool.name());
    command
        .args(&args.command)
        .env("RACETRAP_CATALOG", &args.catalog);
    if let Ok(program) = std::env::current_exe() {
        command.env("RACETRAP_PROGRAM", program);
    }
    become_it(command)
}

/// Prints what GPU tests will run on.
///
/// # Errors
///
/// There is no `bash`.
pub fn which_gpu() -> Result<(String, u8), Failure> {
    become_it(bash(WHICH_GPU, "which-gpu"))
}

/// Behaves as the test program of a catalogue, which has one test a case.
///
/// # Errors
///
/// None: a test program says itself what is wrong.
pub fn cases(args: &CasesArgs) -> Result<(String, u8), Failure> {
    let arguments = std::iter::once("racetrap".into()).chain(args.arguments.iter().cloned());
    let passed = crate::harness::tests(&args.catalog, false, arguments) == ExitCode::SUCCESS;
    Ok((String::new(), if passed { 0 } else { 101 }))
}

fn bash(script: &str, name: &str) -> Command {
    let mut command = Command::new("bash");
    command.args(["-c", script, name]);
    command
}

/// Replaces this process, so that signals reach the script.
#[cfg(unix)]
fn become_it(mut command: Command) -> Result<(String, u8), Failure> {
    use std::os::unix::process::CommandExt as _;
    let error = command.exec();
    Err(Failure::inconclusive(format!("can't run `bash`: {error}")))
}

#[cfg(not(unix))]
fn become_it(_: Command) -> Result<(String, u8), Failure> {
    Err(Failure::inconclusive(
        "the tools of compute-sanitizer can be used on Linux only",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wrappers_are_whole() {
        for tool in Under::ALL {
            let script = wrapper(tool);
            assert!(script.contains("run_under() {"), "{tool}");
            assert!(script.contains(&format!("\nrun_under {} ", tool.name())));
            assert!(!script.contains("BASH_SOURCE"), "{tool}");
        }
    }
}
