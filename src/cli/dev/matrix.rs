//! `racetrap dev matrix`: shows which detector finds which bug.

use crate::cli::progress::Progress;
use crate::cli::run::Where;
use catalog::case_result::Settings;
use catalog::load::{Catalog, Entry};
use catalog::runner::{self, CaseResults};
use clap::{Args, ValueEnum};
use evidence::Evidence;
use evidence::matrix::{Matrix, html, markdown, terminal};
use report::Failure;
use report::exit;
use std::path::{Path, PathBuf};

const WORDS: &str = "\
caught        the detector reports the bug at its lines (native: wrong results, a fault, or the kernel does not end)
missed        the detector reports nothing for a buggy case
clean         the detector reports nothing for a correct case
false-alarm   the detector reports something for a correct case, or at lines of a buggy case that are not guilty
unsupported   the detector cannot judge the case, because neither the kernel nor the tool ends
inconclusive  the detector crashed, is missing, or contradicts itself
stale         the GPU ran an older version of the case
–             the GPU has not run the case

The matrix omits cases that are not wrong on these GPUs: those that are only slow, and those that rely on a barrier
not waiting for exited threads. It also omits cases that the compiler refuses. The simulator runs now; the other
columns come from the evidence of a GPU.";

/// Options of `racetrap dev matrix`.
#[derive(Args, Clone, Debug)]
#[command(after_help = WORDS)]
pub struct MatrixArgs {
    /// Show cases whose names contain one of these [default: all]
    #[arg(value_name = "PATTERN")]
    patterns: Vec<String>,
    #[command(flatten)]
    place: Where,
    /// Evidence of a GPU [default: the newest built into racetrap; the newest in the folder `evidence` of `--catalog`]
    #[arg(long, value_name = "FILE")]
    evidence: Option<PathBuf>,
    /// Also show correct cases that no detector reports
    #[arg(long)]
    all: bool,
    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Terminal)]
    format: Format,
    /// Cores to use [default: all]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    jobs: Option<u32>,
}

/// Output formats for the matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Text for people.
    Terminal,
    /// Markdown tables.
    Markdown,
    /// JSON for programs.
    Json,
    /// One page for a browser, which loads nothing.
    Html,
}

/// Runs the simulator, looks up the evidence of GPUs and prints both.
///
/// # Errors
///
/// The catalogue has errors, a pattern matches nothing, or the evidence cannot be read.
pub fn matrix(args: &MatrixArgs, color: bool) -> Result<(String, u8), Failure> {
    let catalog = args.place.load()?;
    let said = match &args.evidence {
        Some(path) => vec![evidence(path)?],
        None => match args.place.folder() {
            Some(_) => all_in(&args.place.evidence())?,
            None => embedded()?,
        },
    };
    let matrix = live(&catalog, &args.patterns, &said, args.jobs)?;
    let text = match args.format {
        Format::Terminal => terminal(&matrix, args.all, color),
        Format::Markdown => markdown(&matrix, args.all),
        Format::Html => html(&matrix, args.all),
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
            "`racetrap dev evidence merge` creates such a file from the results of `ci/gpu-run.sh`; without `--evidence`, the newest file \
             inside racetrap counts",
        )
    })
}

/// The evidence built into this binary, the newest first.
pub fn embedded() -> Result<Vec<Evidence>, Failure> {
    Evidence::embedded().map_err(|e| Failure::usage(e.to_string()))
}

/// The newest evidence built into this binary.
pub fn newest() -> Result<Option<Evidence>, Failure> {
    Ok(embedded()?.into_iter().next())
}

/// The evidence in a folder, the newest first.
fn all_in(folder: &Path) -> Result<Vec<Evidence>, Failure> {
    let files = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let files = files.map(|file| file.path());
    let all: Result<Vec<Evidence>, Failure> = files
        .filter(|path| path.extension().is_some_and(|e| e == "json"))
        .map(|path| evidence(&path))
        .collect();
    Ok(Evidence::newest_first(all?))
}

/// The matrix, with the simulator's verdicts computed now.
pub fn live(
    catalog: &Catalog,
    patterns: &[String],
    evidence: &[Evidence],
    jobs: Option<u32>,
) -> Result<Matrix, Failure> {
    let cases = crate::cli::run::select(catalog, patterns)?;
    let trials = tried(catalog, &cases, jobs);
    Ok(Matrix::new(catalog, &trials, evidence))
}

/// The simulator's verdicts on cases, with a progress bar.
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
