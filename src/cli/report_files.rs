//! Further reports of one run, each in its own format and file.

use clap::Args;
use report::{Failure, Format, Report, render};
use std::path::PathBuf;

/// Options for further reports.
#[derive(Args, Clone, Debug, Default)]
pub struct AlsoArgs {
    /// Write another report of the same run to a file, such as `sarif=out.sarif` (can be given again)
    #[arg(long, value_name = "FORMAT=FILE", value_parser = parse, help_heading = "Output")]
    also: Vec<(Format, PathBuf)>,
}

/// A text that names no format and file.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error(
    "a format and a file, such as `sarif=out.sarif`; formats: {}",
    Format::ALL.map(Format::name).join(", ")
)]
struct NoReport;

fn parse(text: &str) -> Result<(Format, PathBuf), NoReport> {
    let (name, file) = text.split_once('=').ok_or(NoReport)?;
    let format = Format::ALL.into_iter().find(|f| f.name() == name);
    match format.filter(|_| !file.is_empty()) {
        Some(format) => Ok((format, file.into())),
        None => Err(NoReport),
    }
}

impl AlsoArgs {
    /// Whether one of them is in this format.
    pub fn has(&self, format: Format) -> bool {
        self.also.iter().any(|(f, _)| *f == format)
    }

    /// Writes the reports.
    ///
    /// # Errors
    ///
    /// A file can't be written.
    pub fn write(&self, report: &Report) -> Result<(), Failure> {
        for (format, file) in &self.also {
            std::fs::write(file, render(report, *format))
                .map_err(|e| Failure::usage(format!("can't write `{}`: {e}", file.display())))?;
        }
        Ok(())
    }
}
