//! `racetrap dev`: commands for those who work on racetrap itself, on a catalogue, or on what GPUs said of it.

pub mod conform;
pub mod counters;
pub mod evidence;
pub mod judge;
pub mod matrix;
pub mod renew;

use clap::{Args, Subcommand};
use report::Failure;

/// Options of `racetrap dev`.
#[derive(Args, Debug)]
pub struct DevArgs {
    #[command(subcommand)]
    command: DevCommand,
}

#[derive(Subcommand, Debug)]
enum DevCommand {
    /// Compile a catalogue's kernels and write everything else that is generated: JSON schemas and pinned PTX; in racetrap's
    /// own folder also the command line's reference and the tables of what each detector sees
    Renew(renew::RenewArgs),
    /// Show which detector sees which bug: the simulator, compute-sanitizer's tools, a plain run on a GPU
    Matrix(matrix::MatrixArgs),
    /// Compare the simulator with hardware, value for value
    Conform(conform::ConformArgs),
    /// Compare what the simulator counts with hardware counters: wavefronts and sectors
    Counters(counters::CountersArgs),
    /// Merge what a GPU run left behind into one evidence file
    Evidence(evidence::EvidenceArgs),
    /// Judge what a tool of compute-sanitizer wrote about a case: for the wrappers in sanitizer/
    Judge(judge::JudgeArgs),
}

/// Runs the command.
///
/// # Errors
///
/// Those of the command that was called.
pub fn dev(args: &DevArgs, color: bool) -> Result<(String, u8), Failure> {
    match &args.command {
        DevCommand::Renew(args) => renew::renew_all(args),
        DevCommand::Matrix(args) => matrix::matrix(args, color),
        DevCommand::Conform(args) => conform::conform(args),
        DevCommand::Counters(args) => counters::counters(args),
        DevCommand::Evidence(args) => evidence::evidence(args),
        DevCommand::Judge(args) => judge::judge(args, color),
    }
}
