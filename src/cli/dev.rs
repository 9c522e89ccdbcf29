//! `racetrap dev`: commands for developing racetrap, a catalogue, or evidence from GPUs.

pub mod conform;
pub mod counters;
pub mod evidence;
pub mod instrument;
pub mod judge;
pub mod matrix;
pub mod merge_sarif;
pub mod renew;
pub mod test_profiles;

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
    /// Renew the generated files of a catalogue: pinned PTX and JSON schemas; in racetrap's own folder also the command-line
    /// reference and the tables of what each detector finds
    Renew(renew::RenewArgs),
    /// Show which detector finds which bug: the simulator, the tools of compute-sanitizer, a plain run on a GPU
    Matrix(matrix::MatrixArgs),
    /// Compare the simulator's results with hardware, bit for bit
    Conform(conform::ConformArgs),
    /// Compare the simulator's wavefronts and sectors with hardware counters
    Counters(counters::CountersArgs),
    /// Print a PTX file with race checks, as `racetrap exec --on gpu` hands it to the driver
    Instrument(instrument::InstrumentArgs),
    /// Merge the results of a GPU run into an evidence file
    Evidence(evidence::EvidenceArgs),
    /// Put the SARIF logs of several files into one with one run, as code scanning wants it
    MergeSarif(merge_sarif::MergeSarifArgs),
    /// Judge the output of a compute-sanitizer tool for a case (called by the wrappers in sanitizer/)
    Judge(judge::JudgeArgs),
    /// Run one test of a catalogue under a tool of compute-sanitizer (the wrapper of the nextest profiles that `racetrap new` writes)
    Under(test_profiles::UnderArgs),
    /// Print what GPU tests will run on (the setup script of the same profiles)
    WhichGpu,
    /// Be a test program of a catalogue
    #[command(hide = true)]
    Cases(test_profiles::CasesArgs),
}

/// Runs the command.
///
/// # Errors
///
/// Those of the subcommand.
pub fn dev(args: &DevArgs, color: bool) -> Result<(String, u8), Failure> {
    match &args.command {
        DevCommand::Renew(args) => renew::renew_all(args),
        DevCommand::Matrix(args) => matrix::matrix(args, color),
        DevCommand::Conform(args) => conform::conform(args),
        DevCommand::Counters(args) => counters::counters(args),
        DevCommand::Instrument(args) => instrument::print(args),
        DevCommand::Evidence(args) => evidence::evidence(args),
        DevCommand::MergeSarif(args) => merge_sarif::merge(args),
        DevCommand::Judge(args) => judge::judge(args, color),
        DevCommand::Under(args) => test_profiles::under(args),
        DevCommand::WhichGpu => test_profiles::which_gpu(),
        DevCommand::Cases(args) => test_profiles::cases(args),
    }
}
