//! `racetrap dev instrument`: a PTX file with race checks.

use clap::Args;
use report::Failure;
use std::path::PathBuf;

/// Options of `racetrap dev instrument`.
#[derive(Args, Debug)]
pub struct InstrumentArgs {
    /// The file
    #[arg(value_name = "FILE.ptx")]
    file: PathBuf,
}

/// Prints the result.
///
/// # Errors
///
/// The file can't be read, is no PTX, or can't be watched.
pub fn print(args: &InstrumentArgs) -> Result<(String, u8), Failure> {
    let name = args.file.display();
    let usage = |what: String| Failure::usage(format!("can't instrument `{name}`: {what}"));
    let text = std::fs::read_to_string(&args.file).map_err(|e| usage(e.to_string()))?;
    let module = ptx::parse(&text).map_err(|e| usage(e.to_string()))?;
    let checked = instrument::instrument(&module).map_err(|e| usage(e.to_string()))?;
    Ok((ptx::print(&checked.module), 0))
}
