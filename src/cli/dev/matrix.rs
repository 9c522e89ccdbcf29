//! `racetrap dev matrix`: which detector sees which bug.

use crate::cli::progress::Progress;
use crate::cli::run::Where;
use catalog::case_result::Settings;
use catalog::load::{Catalog, Entry};
use catalog::runner::{self, CaseResults};
use clap::{Args, ValueEnum};
use evidence::Evidence;
use evidence::matrix::{Matrix, markdown, terminal};
use report::Failure;
use report::exit;
use std::path::{Path, PathBuf};

const WORDS: &str = "\
caught        the bug is reported, at its lines (native: results are wrong, the kernel faults or does not end)
missed        nothing is reported about a buggy case
clean         nothing is reported about a correct case
false-alarm   something is reported about a correct case, or at lines of a buggy one that are not guilty
unsupported   the detector can't judge the case: the kernel never ends, and the tool with it
inconclusive  the detector crashed, or was not there, or contradicts itself
stale         the GPU has seen an older version of the case
–             the GPU has not run it

Left out are cases that are not wrong on these GPUs: those that are slow and nothing else, and those that count on
a barrier not to wait for exited threads; and those that the compiler refuses. The simulator runs now; the others are the evidence of a GPU.";

/// Options of `racetrap dev matrix`.
#[derive(Args, Clone, Debug)]
#[command(after_help = WORDS)]
pub struct MatrixArgs {
    /// Show cases whose names contain one of these [default: all]
    #[arg(value_name = "PATTERN")]
    patterns: Vec<String>,
    #[command(flatten)]
    place: Where,
    /// What a GPU said [default: the newest that is inside racetrap]
    #[arg(long, value_name = "FILE")]
    evidence: Option<PathBuf>,
    /// Show the correct cases too, not only those that a detector accuses
    #[arg(long)]
    all: bool,
    /// How to print it
    #[arg(long, value_enum, default_value_t = Format::Terminal)]
    format: Format,
    /// Cores to use [default: all]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    jobs: Option<u32>,
}

/// How the matrix is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For people.
    Terminal,
    /// Tables for a document.
    Markdown,
    /// For machines.
    Json,
}

/// Runs the simulator, looks up what GPUs said, prints both.
///
/// # Errors
///
/// A catalogue with mistakes, a pattern that selects nothing, evidence that can't be read.
pub fn matrix(args: &MatrixArgs, color: bool) -> Result<(String, u8), Failure> {
    let catalog = args.place.load()?;
    let said = match &args.evidence {
        Some(path) => Some(evidence(path)?),
        None => newest()?,
    };
    let matrix = live(&catalog, &args.patterns, said.as_ref(), args.jobs)?;
    let text = match args.format {
        Format::Terminal => terminal(&matrix, args.all, color),
        Format::Markdown => markdown(&matrix, args.all),
        Format::Json => {
            let text = serde_json::to_string_pretty(&matrix)
                .unwrap_or_else(|e| unreachable!("a matrix is plain JSON: {e}"));
            text + "\n"
        }
    };
    Ok((text, exit::OK))
}

/// The evidence of a file.
pub fn evidence(path: &Path) -> Result<Evidence, Failure> {
    Evidence::read(path).map_err(|error| {
        Failure::usage(error.to_string()).help(
            "`racetrap dev evidence merge` writes such a file from what `ci/gpu-run.sh` left; without `--evidence`, the newest that is \
             inside racetrap counts",
        )
    })
}

/// The newest evidence inside this binary.
pub fn newest() -> Result<Option<Evidence>, Failure> {
    let all = Evidence::embedded().map_err(|e| Failure::usage(e.to_string()))?;
    Ok(all.into_iter().next())
}

/// The matrix with the simulator run now.
pub fn live(
    catalog: &Catalog,
    patterns: &[String],
    evidence: Option<&Evidence>,
    jobs: Option<u32>,
) -> Result<Matrix, Failure> {
    let cases = crate::cli::run::select(catalog, patterns)?;
    let trials = tried(catalog, &cases, jobs);
    Ok(Matrix::new(catalog, &trials, evidence))
}

/// What the simulator says of cases now, with a bar while it runs.
pub fn tried(catalog: &Catalog, cases: &[&Entry], jobs: Option<u32>) -> CaseResults {
    let bar = Progress::bar(cases.len(), true);
    let trials = runner::run(
        catalog,
        cases,
        &Settings::default(),
        crate::cli::check::jobs(jobs),
        &|progress| match progress {
            runner::Progress::Started { id } => bar.say(id),
            runner::Progress::Finished { .. } => bar.step(),
        },
    );
    bar.end();
    trials
}
