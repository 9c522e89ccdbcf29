//! `racetrap dev counters`: compares the simulator's counts with hardware counters.

use crate::cli::run::Where;
use catalog::load::{Catalog, Entry};
use catalog::pinned::stable_hash;
use clap::{Args, Subcommand};
use device::job::{Job, Step};
use evidence::counters::{self, EXPLAINED, METRICS, Measured, Recording, Uncounted};
use report::Failure;
use report::exit;
use report::terminal::thousands;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// Options of `racetrap dev counters`.
#[derive(Args, Clone, Debug)]
pub struct CountersArgs {
    #[command(subcommand)]
    command: CountersCommand,
}

#[derive(Subcommand, Clone, Debug)]
enum CountersCommand {
    /// Write a job for `racetrap-device` for each case that can be counted; ci/gpu-counters.sh runs the jobs under `ncu`
    Jobs(JobsArgs),
    /// Print the names of the hardware counters, separated by commas
    Metrics,
    /// Compare the measurements of `ncu` with the simulator's counts
    Compare(CompareArgs),
}

#[derive(Args, Clone, Debug)]
struct JobsArgs {
    /// Folder to write the jobs to
    #[arg(value_name = "FOLDER")]
    folder: PathBuf,
    /// Cases whose names contain one of these [default: all]
    #[arg(value_name = "PATTERN")]
    patterns: Vec<String>,
    #[command(flatten)]
    place: Where,
}

#[derive(Args, Clone, Debug)]
struct CompareArgs {
    /// The results folder of ci/gpu-counters.sh, or a recording
    #[arg(
        value_name = "PATH",
        default_value = "sanitizer/counters/nvidia-h200.json"
    )]
    path: PathBuf,
    /// Store the measurements in this file
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    place: Where,
}

/// Runs the command.
///
/// # Errors
///
/// The catalogue has errors, or files cannot be read or written.
pub fn counters(args: &CountersArgs) -> Result<(String, u8), Failure> {
    match &args.command {
        CountersCommand::Metrics => Ok((METRICS.join(",") + "\n", exit::OK)),
        CountersCommand::Jobs(args) => jobs(args),
        CountersCommand::Compare(args) => compare(args),
    }
}

/// A case's name as a file name.
fn stem(id: &str) -> String {
    id.replace('/', ".")
}

fn text(job: &Job) -> String {
    serde_json::to_string(job).unwrap_or_else(|e| unreachable!("a job is plain JSON: {e}"))
}

fn jobs(args: &JobsArgs) -> Result<(String, u8), Failure> {
    let catalog = args.place.load()?;
    let entries = catalog
        .select(&args.patterns)
        .map_err(|missing| crate::cli::run::none(missing, "racetrap list"))?;
    std::fs::create_dir_all(&args.folder).map_err(|e| failed(&args.folder, &e))?;
    let mut out = String::new();
    let mut written = 0;
    for entry in entries {
        let counted =
            counters::simulated(&catalog, entry).and_then(|_| counters::job(&catalog, entry));
        match counted {
            Ok(job) => {
                let file = args.folder.join(format!("{}.job", stem(&entry.id)));
                std::fs::write(&file, text(&job) + "\n").map_err(|e| failed(&file, &e))?;
                written += 1;
            }
            Err(why) => _ = writeln!(out, "not counted  {}: {why}", entry.id),
        }
    }
    let plural = if written == 1 { "" } else { "s" };
    let _ = writeln!(out, "{written} job{plural} in {}", args.folder.display());
    Ok((out, exit::OK))
}

fn failed(file: &Path, error: &dyn std::fmt::Display) -> Failure {
    Failure::usage(format!("cannot use `{}`: {error}", file.display()))
}

fn compare(args: &CompareArgs) -> Result<(String, u8), Failure> {
    let catalog = args.place.load()?;
    let mut out = String::new();
    let mut unsure = 0;
    let recording = if args.path.is_dir() {
        let (recording, problems) = gather(&args.path, &catalog)?;
        for (case, problem) in &problems {
            let _ = writeln!(out, "not measured {case}: {problem}");
        }
        unsure += problems.len();
        recording
    } else {
        Recording::read(&args.path).map_err(|e| {
            Failure::usage(e.to_string())
                .help("measure with ci/gpu-counters.sh on a machine with a GPU")
        })?
    };
    let (mut equal, mut different) = (0, 0);
    for (case, measured) in &recording.cases {
        let now = catalog
            .find(case)
            .ok_or_else(|| "the case no longer exists".to_owned());
        let now = now.and_then(|entry| counted(&catalog, entry).map_err(|e| e.to_string()));
        let (job, simulated) = match now {
            Ok(now) => now,
            Err(why) => {
                let _ = writeln!(out, "stale        {case}: {why}");
                unsure += 1;
                continue;
            }
        };
        if job != measured.job {
            let _ = writeln!(
                out,
                "stale        {case}: its kernel or its run has changed since the measurement"
            );
            unsure += 1;
            continue;
        }
        let off: Vec<_> = measured
            .counts
            .each()
            .into_iter()
            .zip(simulated.each())
            .filter(|((_, theirs), (_, ours))| theirs != ours)
            .map(|((name, theirs), (_, ours))| {
                format!(
                    "{} {name}, {} simulated",
                    thousands(theirs),
                    thousands(ours)
                )
            })
            .collect();
        let reason = EXPLAINED.iter().find(|(name, _)| name == case);
        match (off.is_empty(), reason) {
            (true, None) => equal += 1,
            (true, Some(_)) => {
                different += 1;
                let _ = writeln!(out, "equal        {case}: but it is listed as different");
            }
            (false, Some((_, why))) => {
                let _ = writeln!(out, "explained    {case}: {} ({why})", off.join("; "));
            }
            (false, None) => {
                different += 1;
                let _ = writeln!(out, "different    {case}: {}", off.join("; "));
            }
        }
    }
    let _ = writeln!(
        out,
        "{equal} cases equal, {different} different, {unsure} unknown: {} against the simulator",
        recording.gpu
    );
    if let Some(file) = &args.output {
        std::fs::write(file, recording.text()).map_err(|e| failed(file, &e))?;
    }
    let code = match (different, unsure) {
        (0, 0) if equal > 0 => exit::OK,
        (0, _) => exit::INCONCLUSIVE,
        _ => exit::FINDINGS,
    };
    Ok((out, code))
}

/// The hash of a case's job, and the simulator's counts.
fn counted(catalog: &Catalog, entry: &Entry) -> Result<(String, counters::Counts), Uncounted> {
    let job = counters::job(catalog, entry)?;
    let counts = counters::simulated(catalog, entry)?;
    Ok((stable_hash([text(&job).as_str()]), counts))
}

/// The measurements of `ncu` in a folder, and the cases that it failed on.
fn gather(folder: &Path, catalog: &Catalog) -> Result<(Recording, Vec<(String, String)>), Failure> {
    let read = |name: &str| std::fs::read_to_string(folder.join(name));
    let line = |name: &str| read(name).map_err(|e| failed(&folder.join(name), &e));
    let mut recording = Recording {
        gpu: line("gpu.txt")?.trim().to_owned(),
        ncu: line("ncu.txt")?.trim().to_owned(),
        ..Recording::default()
    };
    let mut problems = Vec::new();
    for entry in &catalog.cases {
        let stem = stem(&entry.id);
        let Ok(job) = read(&format!("{stem}.job")) else {
            continue;
        };
        let measured = serde_json::from_str::<Job>(&job)
            .map_err(|e| e.to_string())
            .and_then(|parsed| {
                let csv = read(&format!("{stem}.csv")).map_err(|e| e.to_string())?;
                let launches = parsed.steps.iter().filter(|s| matches!(s, Step::Launch(_)));
                counters::read_csv(&csv, launches.count()).map_err(|e| e.to_string())
            });
        match measured {
            Ok(counts) => {
                let job = stable_hash([job.trim_end()]);
                recording
                    .cases
                    .insert(entry.id.clone(), Measured { job, counts });
            }
            Err(problem) => problems.push((entry.id.clone(), problem)),
        }
    }
    Ok((recording, problems))
}
