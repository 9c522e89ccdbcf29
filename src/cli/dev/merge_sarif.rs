//! `racetrap dev merge-sarif`: the logs of several files as one.

use clap::Args;
use report::Failure;
use report::sarif;
use std::path::PathBuf;

/// Options of `racetrap dev merge-sarif`.
#[derive(Args, Debug)]
pub struct MergeSarifArgs {
    /// Logs that `--also sarif=FILE` wrote
    #[arg(required = true, value_name = "FILE.sarif")]
    files: Vec<PathBuf>,
    /// What tells these findings from those of other jobs for the same commit (`automationDetails`)
    #[arg(long, value_name = "NAME", default_value = "racetrap")]
    category: String,
}

/// Prints them as one.
///
/// # Errors
///
/// A file can't be read, or is no log of this version of racetrap.
pub fn merge(args: &MergeSarifArgs) -> Result<(String, u8), Failure> {
    let mut logs = Vec::new();
    for path in &args.files {
        let text = std::fs::read_to_string(path)
            .map_err(|error| Failure::usage(format!("{}: {error}", path.display())))?;
        logs.push(text);
    }
    match sarif::merge(&logs, &args.category) {
        Ok(text) => Ok((text, 0)),
        Err((number, error)) => Err(Failure::usage(format!(
            "{}: {error}",
            args.files[number].display()
        ))),
    }
}
