//! `racetrap dev evidence merge`: merges the results of a GPU run.

use crate::cli::run::Where;
use clap::{Args, Subcommand};
use evidence::Evidence;
use evidence::merge::{MergeError, merge};
use report::Failure;
use report::Verdict;
use report::exit;
use std::path::PathBuf;

/// Options of `racetrap dev evidence`.
#[derive(Args, Clone, Debug)]
pub struct EvidenceArgs {
    #[command(subcommand)]
    command: EvidenceCommand,
}

#[derive(Subcommand, Clone, Debug)]
enum EvidenceCommand {
    /// Judge the recordings and receipts of a GPU run, and write the evidence file for `racetrap dev matrix`
    Merge(MergeArgs),
}

#[derive(Args, Clone, Debug)]
struct MergeArgs {
    /// Folders with recordings of tools or receipts of plain runs
    #[arg(value_name = "FOLDER", required = true)]
    folders: Vec<PathBuf>,
    /// Output file; other results in an existing file of the same GPU and versions are kept
    /// [default: sanitizer/evidence/GPU-cudaVERSION.json; evidence/GPU-cudaVERSION.json in the folder of `--catalog`]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    place: Where,
}

/// Runs the command.
///
/// # Errors
///
/// The catalogue has errors, the results do not belong together, or files cannot be read or written.
pub fn evidence(args: &EvidenceArgs) -> Result<(String, u8), Failure> {
    let EvidenceCommand::Merge(args) = &args.command;
    let catalog = args.place.load()?;
    let mut evidence = merge(&catalog, &args.folders).map_err(|error| {
        let failure = Failure::usage(error.to_string());
        match error {
            MergeError::Misplaced { .. } => {
                failure.help("give the folder that was set in RACETRAP_RECORDINGS")
            }
            MergeError::Twice { .. } => {
                failure.help("merge the newer results last: they replace the older ones")
            }
            MergeError::NoDevice | MergeError::Unreadable { .. } | MergeError::Stranger { .. } => {
                failure.help(
                    "give the folders `recordings` and `receipts` from the results of `ci/gpu-run.sh`",
                )
            }
            MergeError::UnknownCase { .. } => {
                failure.help("give the catalogue that was run with `--catalog FOLDER`")
            }
            MergeError::Mixed { .. } => failure,
        }
    })?;
    let fresh = evidence.observations.len();
    let path = args
        .output
        .clone()
        .unwrap_or_else(|| args.place.evidence().join(evidence.file_name()));
    let kept = match path.exists() {
        true => {
            let older = Evidence::read(&path).map_err(|e| Failure::usage(e.to_string()))?;
            evidence.keep(older, &catalog)
        }
        false => 0,
    };
    let unwritable = |error| Failure::usage(format!("cannot write `{}`: {error}", path.display()));
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(unwritable)?;
    }
    std::fs::write(&path, evidence.text()).map_err(unwritable)?;
    let unsure: Vec<_> = evidence
        .observations
        .iter()
        .filter(|seen| seen.verdict == Verdict::Inconclusive)
        .collect();
    let mut out = format!(
        "wrote {}: {fresh} new, {kept} kept, on {}\n",
        path.display(),
        evidence.source()
    );
    for seen in &unsure {
        let reason = seen.reason.as_deref().unwrap_or_default();
        out += &format!(
            "inconclusive {} under {}: {reason}\n",
            seen.case, seen.detector
        );
    }
    let code = if unsure.is_empty() {
        exit::OK
    } else {
        exit::INCONCLUSIVE
    };
    Ok((out, code))
}
