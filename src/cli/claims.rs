//! `racetrap claims`: decides whether claims of CUDA documents are true.

use super::dev::matrix::{evidence, newest, tried};
use super::gpu;
use super::progress::Progress;
use super::run::Where;
use catalog::load::Catalog;
use catalog::pattern::Pattern;
use claims::claim::{Claim, claims as all_claims};
use claims::decide::to_try;
use claims::time::{Times, measure};
use claims::{Decided, Facts, Ruling, decide, show};
use clap::{Args, ValueEnum};
use evidence::Evidence;
use report::Failure;
use report::exit;
use std::path::{Path, PathBuf};

const WORDS: &str = "\
confirmed   everything that follows from the claim holds
refuted     nothing that follows from the claim holds
depends     a part of it holds; the paragraph below the claim says under which conditions
undecided   something could not be examined, for example because no GPU has run the current kernels

The simulator runs now. Results and times from GPUs come from the newest stored recordings; --device
measures the times again on the GPU of this machine.

Examples:
  racetrap claims                        decide all claims
  racetrap claims lockstep               claims whose names contain `lockstep`; `lock*` is a shell pattern
  racetrap claims --device --keep FILE   measure the times here and store them

Exit status: 0 all verdicts are as expected, 1 some are not, 2 usage error, 3 some claims are undecided.";

/// Options of `racetrap claims`.
#[derive(Args, Clone, Debug)]
#[command(after_help = WORDS)]
pub struct ClaimsArgs {
    /// Decide claims whose names contain one of these, or match a shell pattern such as `scan*` [default: all]
    #[arg(value_name = "PATTERN")]
    patterns: Vec<String>,
    #[command(flatten)]
    place: Where,
    /// Measure the times on this machine's GPU through racetrap-device
    #[arg(long, value_name = "PATH", num_args = 0..=1, default_missing_value = "racetrap-device")]
    device: Option<PathBuf>,
    /// Store the measured times in this file
    #[arg(long, value_name = "FILE", requires = "device")]
    keep: Option<PathBuf>,
    /// Stored times to use [default: the newest built into racetrap]
    #[arg(long, value_name = "FILE", conflicts_with = "device")]
    times: Option<PathBuf>,
    /// Stored results of a GPU to use [default: the newest built into racetrap]
    #[arg(long, value_name = "FILE")]
    evidence: Option<PathBuf>,
    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// Cores to use [default: all]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    jobs: Option<u32>,
}

/// Output formats for claims.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Text for people.
    Text,
    /// A Markdown document.
    Markdown,
    /// JSON for programs.
    Json,
}

/// Decides the claims.
///
/// # Errors
///
/// The catalogue or the claims have errors, a pattern matches nothing, or `--device` finds no GPU.
pub fn claims(args: &ClaimsArgs, color: bool) -> Result<(String, u8), Failure> {
    let catalog = args.place.load()?;
    let claims = select(&catalog, &args.patterns)?;
    let said = match &args.evidence {
        Some(path) => Some(evidence(path)?),
        None => newest()?,
    };
    let unreadable = |e: claims::time::TimeError| Failure::usage(e.to_string());
    let times = match (&args.device, &args.times) {
        (Some(program), _) => Some(taken(&catalog, &claims, program)?),
        (None, Some(path)) => Some(Times::read(path).map_err(|error| {
            unreadable(error).help(
                "`racetrap claims --device --keep FILE` measures times on a GPU and writes such a file",
            )
        })?),
        (None, None) => Times::newest().map_err(unreadable)?,
    };
    if let (Some(path), Some(times)) = (&args.keep, &times) {
        std::fs::write(path, times.text())
            .map_err(|e| Failure::usage(format!("can't write `{}`: {e}", path.display())))?;
    }
    let decided = decided(&catalog, &claims, said.as_ref(), times.as_ref(), args.jobs);
    let text = match args.format {
        Format::Text if decided.is_empty() => {
            "this catalogue has no claims; claims are files in its folder `cases/claims`\n"
                .to_owned()
        }
        Format::Text => show::terminal(&decided, color),
        Format::Markdown => show::document(&decided),
        Format::Json => show::json(&decided),
    };
    Ok((text, status(&decided)))
}

fn status(decided: &[Decided]) -> u8 {
    if decided.iter().any(|d| d.ruling == Ruling::Undecided) {
        exit::INCONCLUSIVE
    } else if decided.iter().all(Decided::as_expected) {
        exit::OK
    } else {
        exit::FINDINGS
    }
}

fn select(catalog: &Catalog, patterns: &[String]) -> Result<Vec<Claim>, Failure> {
    let all = all_claims(catalog).map_err(|errors| {
        let text: Vec<_> = errors.iter().map(ToString::to_string).collect();
        Failure::usage("the claims have errors").text(text.join("\n"))
    })?;
    if let Some(pattern) = patterns
        .iter()
        .find(|p| !all.iter().any(|c| Pattern::new(p).matches(&c.id)))
    {
        let near = report::nearest(pattern, all.iter().map(|c| c.id.as_str()));
        let failure = Failure::usage(format!("no claim matches `{pattern}`"));
        return Err(match (near, all.is_empty()) {
            (Some(near), _) => failure.help(format!("did you mean `{near}`?")),
            (None, true) => {
                failure.help("this catalogue has no claims; claims are files in `cases/claims`")
            }
            (None, false) => failure.help("`racetrap claims` lists all claims"),
        });
    }
    let selected =
        |c: &Claim| patterns.is_empty() || patterns.iter().any(|p| Pattern::new(p).matches(&c.id));
    Ok(all.into_iter().filter(selected).collect())
}

fn taken(catalog: &Catalog, claims: &[Claim], program: &Path) -> Result<Times, Failure> {
    let (_, mut client, device) = gpu::answering(program, "cannot measure times")?;
    let progress = Progress::spinner(true);
    let times = measure(catalog, claims, &mut client, &device, &|what| {
        progress.say(what)
    });
    progress.end();
    times.map_err(|e| Failure::inconclusive(e.to_string()))
}

/// Decides all claims with the current simulator and the newest stored GPU results.
///
/// # Errors
///
/// The claims have errors, or evidence or times cannot be read.
pub fn current(catalog: &Catalog) -> Result<Vec<Decided>, Failure> {
    let claims = select(catalog, &[])?;
    let times = Times::newest().map_err(|e| Failure::usage(e.to_string()))?;
    Ok(decided(
        catalog,
        &claims,
        newest()?.as_ref(),
        times.as_ref(),
        None,
    ))
}

/// Decides claims with the current simulator and stored GPU results.
pub fn decided(
    catalog: &Catalog,
    claims: &[Claim],
    evidence: Option<&Evidence>,
    times: Option<&Times>,
    jobs: Option<u32>,
) -> Vec<Decided> {
    let cases = to_try(catalog, claims);
    let trials = tried(catalog, &cases, jobs);
    let facts = Facts {
        catalog,
        trials: &trials.trials,
        evidence,
        times,
    };
    claims.iter().map(|claim| decide(claim, &facts)).collect()
}
