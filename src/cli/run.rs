//! `racetrap run`, `list` and `replay`: commands on the catalogue.

use super::accept::Known;
use super::progress::Progress as Bar;
use super::report_files::AlsoArgs;
use super::signals;
use super::value_enums::choice;
use anstyle::Style;
use catalog::case_result::{self, CaseResult, Settings};
use catalog::load::{Catalog, Entry, NoSuchCase, Unresolved};
use catalog::runner::{self, CaseResults, Progress};
use catalog::token::{self, TokenError};
use clap::Args;
use ptx::KernelFilter;
use report::Failure;
use report::exit;
use report::{Format, Report, SourceFile, render, terminal};
use simt::{Live, ScheduleSpec};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

const RUN_EXAMPLES: &str = "\
Examples:
  racetrap run                       everything
  racetrap run scan histogram        cases whose names contain `scan` or `histogram`
  racetrap run reduce/shared -v      with the findings and their smallest counterexamples
  racetrap run --format junit > racetrap.xml

Ctrl-C ends it, and tells what was judged until then.

Exit status: 0 every verdict is the expected one, 1 not so, 2 bad input, 3 inconclusive, as when it was interrupted.";

/// Selects the catalogue.
#[derive(Args, Clone, Debug)]
pub struct Where {
    /// A folder with `kernels` and `cases` [default: this one or the nearest above it that has both; else the catalogue inside racetrap]
    #[arg(long, value_name = "FOLDER")]
    catalog: Option<PathBuf>,
}

impl Where {
    /// The folder, unless it is the catalogue inside racetrap.
    pub fn folder(&self) -> Option<PathBuf> {
        self.catalog.clone().or_else(project)
    }

    /// Where the evidence of GPUs is kept.
    pub fn evidence(&self) -> PathBuf {
        match self.folder() {
            Some(folder) => folder.join("evidence"),
            None => PathBuf::from("sanitizer/evidence"),
        }
    }

    /// The command that lists its cases.
    pub fn lister(&self) -> String {
        match &self.catalog {
            Some(folder) => format!("racetrap list --catalog {}", folder.display()),
            None => "racetrap list".to_owned(),
        }
    }

    /// The cases that match the patterns.
    ///
    /// # Errors
    ///
    /// A pattern matches no case.
    pub fn select<'c>(
        &self,
        catalog: &'c Catalog,
        patterns: &[String],
    ) -> Result<Vec<&'c Entry>, Failure> {
        let chosen = catalog.select(patterns);
        chosen.map_err(|missing| none(missing, &self.lister()))
    }

    /// Loads the catalogue.
    pub fn load(&self) -> Result<Catalog, Failure> {
        let catalog = match self.folder() {
            Some(folder) => Catalog::read(&folder),
            None => Catalog::embedded(),
        };
        catalog.map_err(|errors| {
            let count = errors.0.len();
            let failure = Failure::usage(match count {
                1 => "the catalogue has an error".to_string(),
                n => format!("the catalogue has {n} errors"),
            })
            .text(errors.to_string());
            match self.folder() {
                Some(folder) if errors.are_renewable() => failure.help(format!(
                    "run `racetrap dev renew {}` to create the generated files (needs the CUDA compiler)",
                    folder.display()
                )),
                _ => failure,
            }
        })
    }
}

/// The project that the current folder is in: the nearest folder with `kernels` and `cases`. racetrap's own checkout is none, since it has what
/// racetrap was built from.
fn project() -> Option<PathBuf> {
    let has = |folder: &Path, name: &str| folder.join(name).is_dir();
    let here = std::env::current_dir().ok()?;
    let found = here
        .ancestors()
        .find(|folder| has(folder, "kernels") && has(folder, "cases"))?;
    (!has(found, "sanitizer/evidence")).then(|| match found == here {
        true => PathBuf::from("."),
        false => found.to_owned(),
    })
}

/// Options of `racetrap run`.
#[derive(Args, Clone, Debug)]
#[command(after_help = RUN_EXAMPLES)]
pub struct RunArgs {
    /// Run cases whose names contain one of these, or match a shell pattern such as `scan/*` [default: all]
    #[arg(value_name = "PATTERN")]
    pub(super) patterns: Vec<String>,
    #[command(flatten)]
    pub(super) place: Where,
    /// Show the findings, each with the smallest run that reproduces it
    #[arg(short, long)]
    verbose: bool,
    /// Output format
    #[arg(long, value_parser = choice::<Format>(), default_value = "text")]
    pub(super) format: Format,
    #[command(flatten)]
    pub(super) also: AlsoArgs,
    /// Cores to use [default: all]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    jobs: Option<u32>,
    /// Seed of sizes, inputs and schedules
    #[arg(long, value_name = "S", default_value_t = 0)]
    seed: u64,
    /// Number of runs of each case [default: as stated in the case]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    runs: Option<u32>,
    /// Run under one schedule only: lockstep, lane-by-lane, in-step, random:SEED, pct:SEED:DEPTH, weak, weak:SEED, reverse:ORDER
    #[arg(long, value_name = "SPEC")]
    schedule: Option<ScheduleSpec>,
}

/// Options of `racetrap list`.
#[derive(Args, Clone, Debug)]
pub struct ListArgs {
    /// List cases whose names contain one of these, or match a shell pattern such as `scan/*` [default: all]
    #[arg(value_name = "PATTERN")]
    patterns: Vec<String>,
    #[command(flatten)]
    place: Where,
}

/// Options of `racetrap replay`.
#[derive(Args, Clone, Debug)]
pub struct ReplayArgs {
    /// A token printed by `racetrap run -v`:
    /// `scan/warp/volatile@n=33,inputs=ones,schedule=lane-by-lane`
    #[arg(value_name = "TOKEN")]
    token: String,
    #[command(flatten)]
    place: Where,
    /// Output format
    #[arg(long, value_parser = choice::<Format>(), default_value = "text")]
    format: Format,
}

/// Runs cases. Prints a line for each case when it is done, then the totals.
///
/// # Errors
///
/// The catalogue has errors, or a pattern matches nothing.
pub fn run(args: &RunArgs, color: bool) -> Result<(String, u8), Failure> {
    run_accepting(args, &KernelFilter::default(), None, color)
}

/// The same for the cases that launch a wanted kernel, with findings that somebody has accepted. Then the lines come at the end: only
/// all cases together tell what a list of known findings accepts.
///
/// # Errors
///
/// As [`run()`]; or no case is left.
pub fn run_accepting(
    args: &RunArgs,
    filter: &KernelFilter,
    known: Option<&Known<'_>>,
    color: bool,
) -> Result<(String, u8), Failure> {
    let catalog = args.place.load()?;
    let cases = args.place.select(&catalog, &args.patterns)?;
    let cases = wanted(cases, filter, &args.place)?;
    let settings = Settings {
        seed: args.seed,
        schedule: args.schedule.clone(),
        runs: args.runs,
        of_project: args.place.folder().is_some(),
        live: Some(Live::new()),
        ..Settings::default()
    };
    let _listening = settings.live.as_ref().map(signals::listen);
    let live_lines = args.format == Format::Text && known.is_none();
    let width = cases.iter().map(|e| e.id.len()).max().unwrap_or(0);
    let bar = Bar::bar(cases.len(), true);
    let lines = Mutex::new(InOrder::new(&cases));
    let mut trials = runner::run(
        &catalog,
        &cases,
        &settings,
        super::check::jobs(args.jobs),
        &|progress| match progress {
            Progress::Started { id } => bar.say(id),
            Progress::Finished { trial, .. } => {
                bar.step();
                let mut shown = line(trial, width, color);
                if args.verbose {
                    shown += &details(trial, color);
                }
                let mut lines = lines.lock().unwrap_or_else(|e| e.into_inner());
                let ready = lines.add(&trial.id, shown);
                if live_lines && !ready.is_empty() {
                    bar.print(&ready);
                }
            }
        },
    );
    bar.end();
    // Those behind a case that was not judged.
    let waiting = lines.into_inner().unwrap_or_else(|e| e.into_inner()).rest();
    let mut lines = String::new();
    if live_lines {
        lines += &waiting;
    }
    if let Some(known) = known {
        let complete = trials.trials.len() == catalog.cases.len();
        accept(
            &mut trials,
            known,
            &texts(&catalog, &cases),
            complete,
            color,
        )?;
        for trial in &trials.trials {
            lines += &line(trial, width, color);
            if args.verbose {
                lines += &details(trial, color);
            }
        }
    }
    args.also.write(&trials.report())?;
    let output = match args.format {
        Format::Text => lines + &sums(&trials, color),
        format => render(&trials.report(), format),
    };
    Ok((output, trials.exit_code()))
}

/// The cases that launch a wanted kernel.
///
/// # Errors
///
/// There is none.
pub fn wanted<'c>(
    cases: Vec<&'c Entry>,
    filter: &KernelFilter,
    place: &Where,
) -> Result<Vec<&'c Entry>, Failure> {
    if filter.is_empty() {
        return Ok(cases);
    }
    let left = cases.into_iter().filter(|entry| {
        entry.case.launched().any(|launch| {
            let plain = launch.entry.split('<').next().unwrap_or_default();
            let is = |pattern: &String| {
                let names = [launch.entry.as_str(), plain];
                names.iter().any(|name| ptx::matches_kernel(name, pattern))
            };
            (filter.only.is_empty() || filter.only.iter().any(is)) && !filter.skip.iter().any(is)
        })
    });
    let left: Vec<&Entry> = left.collect();
    match left.is_empty() {
        true => Err(Failure::usage(
            "no case launches a kernel that `--kernel` and `--skip-kernel` leave",
        )
        .help(format!(
            "`{}` lists all cases; their files name the kernels that they launch",
            place.lister()
        ))),
        false => Ok(left),
    }
}

/// The kernels' files of cases, in which comments may accept findings.
fn texts(catalog: &Catalog, cases: &[&Entry]) -> Vec<Arc<SourceFile>> {
    let files: BTreeSet<String> = cases.iter().map(|entry| entry.kernel_file()).collect();
    let texts = files.into_iter().filter_map(|file| {
        let text = catalog.tree.text(&file)?.to_owned();
        Some(Arc::new(SourceFile::new(file, text)))
    });
    texts.collect()
}

/// Gives cases the verdicts that they have without the findings that somebody has accepted.
fn accept(
    trials: &mut CaseResults,
    known: &Known<'_>,
    texts: &[Arc<SourceFile>],
    complete: bool,
    color: bool,
) -> Result<(), Failure> {
    let mut report = trials.report();
    known.apply(&mut report, texts, complete, color)?;
    for (trial, check) in trials.trials.iter_mut().zip(report.checks) {
        trial.verdict = check.verdict;
        trial.summary = check.summary;
        trial.diagnostics = check.diagnostics;
    }
    Ok(())
}

/// Lists cases: the name, the kind (correct, buggy or refused by the compiler) and the title.
///
/// # Errors
///
/// The catalogue has errors, or a pattern matches nothing.
pub fn list(args: &ListArgs, color: bool) -> Result<(String, u8), Failure> {
    let catalog = args.place.load()?;
    let cases = args.place.select(&catalog, &args.patterns)?;
    let width = cases.iter().map(|e| e.id.len()).max().unwrap_or(0);
    let (bold, dim) = styles(color);
    let mut out = String::new();
    for entry in &cases {
        let kind = if entry.case.refusal().is_some() {
            "refused"
        } else if entry.case.is_buggy() {
            "buggy"
        } else {
            "correct"
        };
        let _ = writeln!(
            out,
            "{bold}{:width$}{bold:#}  {dim}{kind:7}{dim:#}  {}",
            entry.id, entry.case.title
        );
    }
    let refused = cases.iter().filter(|e| e.case.refusal().is_some()).count();
    let buggy = cases.iter().filter(|e| e.case.is_buggy()).count() - refused;
    let _ = write!(
        out,
        "\n{}: {buggy} buggy, {} correct",
        terminal::counted(cases.len() as u64, "case"),
        cases.len() - buggy - refused
    );
    if refused > 0 {
        let _ = write!(out, ", {refused} refused by the compiler");
    }
    out.push('\n');
    Ok((out, exit::OK))
}

/// Repeats one run of a case.
///
/// # Errors
///
/// The catalogue has errors, or the token is invalid.
pub fn replay(args: &ReplayArgs, color: bool) -> Result<(String, u8), Failure> {
    let catalog = args.place.load()?;
    let (entry, draw) = token::follow(&catalog, &args.token).map_err(|error| {
        let help = match error {
            TokenError::Case(Unresolved::Several { .. }) => "give more of the case's name",
            _ => "`racetrap run CASE -v` prints tokens",
        };
        Failure::usage(error.to_string()).help(help)
    })?;
    let settings = Settings {
        wall: Duration::from_secs(60),
        of_project: args.place.folder().is_some(),
        ..Settings::default()
    };
    let trial = case_result::replay(&catalog, entry, &draw, &settings);
    let report = Report {
        checks: vec![trial.check()],
    };
    let code = CaseResults {
        trials: vec![trial],
        interrupted: 0,
        seed: 0,
        time: Duration::ZERO,
        of_project: settings.of_project,
    }
    .exit_code();
    Ok(match args.format {
        Format::Text => (terminal::render(&report, color), code),
        format => (render(&report, format), code),
    })
}

/// The cases that match the patterns. A pattern that matches no case is an error.
pub fn select<'a>(catalog: &'a Catalog, patterns: &[String]) -> Result<Vec<&'a Entry>, Failure> {
    let chosen = catalog.select(patterns);
    chosen.map_err(|missing| none(missing, "racetrap list"))
}

/// The error for a pattern that matches no case, with a hint: `lister` is the command that lists them.
pub fn none(none: NoSuchCase, lister: &str) -> Failure {
    let failure = Failure::usage(format!("no case matches `{}`", none.pattern));
    match none.near {
        Some(near) => failure.help(format!("did you mean `{near}`?")),
        None => failure.help(format!("`{lister}` lists all cases")),
    }
}

fn styles(color: bool) -> (Style, Style) {
    match color {
        true => (Style::new().bold(), Style::new().dimmed()),
        false => (Style::new(), Style::new()),
    }
}

/// `caught  scan/warp/volatile  2 threads, 1 block …`
fn line(trial: &CaseResult, width: usize, color: bool) -> String {
    let style = match color {
        true => terminal::verdict_style(trial.verdict, trial.ok()),
        false => Style::new(),
    };
    let (bold, dim) = styles(color);
    let verdict = trial.verdict.name();
    let mut out = format!(
        "{style}{verdict:<12}{style:#} {bold}{:<width$}{bold:#}",
        trial.id
    );
    // The smallest run may be that of an accepted finding, which says nothing of the verdict.
    let accepted = trial.diagnostics.iter().any(|d| d.accepted.is_some());
    let _ = match &trial.counterexample {
        Some(smallest) if trial.ok() && !accepted => write!(out, "  {dim}{smallest}{dim:#}"),
        _ => write!(out, "  {dim}{}{dim:#}", trial.summary),
    };
    out.truncate(out.trim_end().len());
    out.push('\n');
    out
}

/// The findings of a case and the token of its smallest counterexample, or the compiler's messages.
fn details(trial: &CaseResult, color: bool) -> String {
    let mut out = String::new();
    for line in trial.refusal.iter().flat_map(|said| said.lines()) {
        let _ = writeln!(out, "{}", format!("  {line}").trim_end());
    }
    for diagnostic in &trial.diagnostics {
        out.push('\n');
        out += &terminal::diagnostic(diagnostic, color);
    }
    for failed in &trial.ptx {
        let _ = writeln!(out, "\n  {}", failed.replace('\n', "\n  "));
    }
    if let Some(smallest) = &trial.counterexample {
        let _ = writeln!(out, "\n  {smallest}\n  racetrap replay {}", smallest.token);
    }
    if !out.is_empty() {
        out.push('\n');
    }
    out
}

fn sums(trials: &CaseResults, color: bool) -> String {
    let sums = trials.sums();
    let (bold, dim) = styles(color);
    let mut out = format!(
        "\n{bold}{sums}{bold:#}  {dim}{} in {:.1} s, seed {}{dim:#}\n",
        terminal::counted(sums.cases as u64, "case"),
        trials.time.as_secs_f64(),
        trials.seed
    );
    if sums.unexpected > 0 {
        let _ = writeln!(
            out,
            "{} from the expected {}",
            match sums.unexpected {
                1 => "1 verdict differs".to_owned(),
                n => format!("{n} verdicts differ"),
            },
            if sums.unexpected == 1 { "one" } else { "ones" }
        );
    }
    if trials.interrupted > 0 {
        let _ = writeln!(
            out,
            "interrupted: {} of {} not judged",
            trials.interrupted,
            terminal::counted((sums.cases + trials.interrupted) as u64, "case")
        );
    }
    out
}

/// Collects lines that arrive in any order and releases them in the order of the cases.
struct InOrder {
    index: BTreeMap<String, usize>,
    waiting: BTreeMap<usize, String>,
    next: usize,
}

impl InOrder {
    fn new(cases: &[&Entry]) -> InOrder {
        InOrder {
            index: cases
                .iter()
                .enumerate()
                .map(|(i, e)| (e.id.clone(), i))
                .collect(),
            waiting: BTreeMap::new(),
            next: 0,
        }
    }

    /// Adds a line and returns all lines that can be shown now.
    fn add(&mut self, id: &str, line: String) -> String {
        if let Some(index) = self.index.get(id) {
            self.waiting.insert(*index, line);
        }
        let mut ready = String::new();
        while let Some(line) = self.waiting.remove(&self.next) {
            ready += &line;
            self.next += 1;
        }
        ready
    }

    /// All that is left.
    fn rest(self) -> String {
        self.waiting.into_values().collect()
    }
}
