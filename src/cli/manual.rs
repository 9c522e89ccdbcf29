//! `racetrap man`: the manual pages, made from the same descriptions as `--help`.

use super::Cli;
use clap::CommandFactory as _;
use report::{Failure, exit};
use std::path::Path;

/// Writes `racetrap.1`, `racetrap-check.1` and so on into a folder.
///
/// # Errors
///
/// The folder can't be written.
pub fn write(folder: &Path) -> Result<(String, u8), Failure> {
    let failed =
        |e: std::io::Error| Failure::usage(format!("can't write to `{}`: {e}", folder.display()));
    std::fs::create_dir_all(folder).map_err(failed)?;
    clap_mangen::generate_to(Cli::command(), folder).map_err(failed)?;
    let shown = folder.display();
    Ok((
        format!("wrote the manual to {shown}: `man {shown}/racetrap.1`\n"),
        exit::OK,
    ))
}
