//! `racetrap test`: the cases of a catalogue on the simulator, on a GPU, or under a tool of compute-sanitizer, without cargo.

use super::accept::AcceptArgs;
use super::run::{self, RunArgs};
use super::value_enums::{Choice, choice};
use crate::harness;
use catalog::load::{Catalog, Entry};
use catalog::native::{self, Settings};
use clap::Args;
use ptx::KernelFilter;
use report::{Check, Failure, Format, Report, Verdict, exit, render, terminal};
use session::explore::parallel;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

/// What `--help` says.
pub const ABOUT: &str = "\
Test the cases of a catalogue on the simulator, on a GPU, or under a tool of compute-sanitizer.

Each case states what must come out: the simulator's findings, the results on a GPU, a tool's verdict. PTX that is older than its \
kernel is compiled again first. In a project of `racetrap new`, `cargo nextest run` does the same, and with `--profile gpu` or \
`--profile racecheck` the same on a GPU.";

const EXAMPLES: &str = "\
Examples:
  racetrap test --catalog .                    on the simulator
  racetrap test --catalog . scan --on gpu      cases whose names contain `scan`, on a GPU, with 64 inputs and geometries each
  racetrap test --catalog . --on racecheck --format junit > racecheck.xml

A GPU needs the program racetrap-device (`racetrap doctor` says how to get it); a tool needs compute-sanitizer, too. Where they or
the GPU are missing, the command fails: the simulator does not take their place.

Exit status: 0 every verdict is the expected one, 1 not so, 2 bad input, 3 inconclusive.";

/// How many cases run on a GPU at a time: each needs a context, and spinning kernels slow down others.
const AT_A_TIME: usize = 4;

/// Options of `racetrap test`.
#[derive(Args, Clone, Debug)]
#[command(after_help = EXAMPLES)]
pub struct TestArgs {
    #[command(flatten)]
    run: RunArgs,
    /// Where the cases run
    #[arg(long, value_parser = choice::<On>(), value_name = "WHERE", default_value = "simulator")]
    on: On,
    /// Test the cases that launch a kernel that this pattern matches: a name, with `*` for any text (can be given again)
    #[arg(long, value_name = "PATTERN")]
    kernel: Vec<String>,
    /// Leave out the cases that launch no other kernel than this pattern matches (can be given again)
    #[arg(long, value_name = "PATTERN")]
    skip_kernel: Vec<String>,
    /// Don't compile: PTX that is older than its kernel is an error
    #[arg(long)]
    locked: bool,
    /// Keep what the tools write, and a receipt of each run, below this folder, for `racetrap dev evidence merge`
    #[arg(long, value_name = "FOLDER")]
    keep: Option<PathBuf>,
    #[command(flatten)]
    accept: AcceptArgs,
}

/// Where cases run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum On {
    Simulator,
    Races,
    Gpu,
    Racecheck,
    Synccheck,
    Memcheck,
    Initcheck,
}

impl Choice for On {
    const ALL: &'static [On] = &[
        On::Simulator,
        On::Races,
        On::Gpu,
        On::Racecheck,
        On::Synccheck,
        On::Memcheck,
        On::Initcheck,
    ];

    fn name(self) -> &'static str {
        match self {
            On::Simulator => "simulator",
            On::Races => "races",
            On::Gpu => "gpu",
            On::Racecheck => "racecheck",
            On::Synccheck => "synccheck",
            On::Memcheck => "memcheck",
            On::Initcheck => "initcheck",
        }
    }

    fn summary(self) -> &'static str {
        match self {
            On::Simulator => "The race detector and the results, without a GPU",
            On::Races => "A GPU, with race checks in the kernels",
            On::Gpu => "The results on a GPU",
            On::Racecheck => "A GPU under racecheck: races in shared memory",
            On::Synccheck => "A GPU under synccheck: barriers that not all threads reach",
            On::Memcheck => "A GPU under memcheck: accesses out of bounds",
            On::Initcheck => "A GPU under initcheck: reads of what nobody wrote",
        }
    }
}

/// What came out of one case.
struct Outcome {
    check: Check,
    /// Whether nothing can be said.
    unsure: bool,
    /// More to show where the verdict is not the expected one.
    details: String,
}

/// Runs the command.
///
/// # Errors
///
/// The catalogue has errors, a kernel does not compile, a pattern matches nothing, or there is no GPU where one was asked for.
pub fn test(args: &TestArgs, color: bool) -> Result<(String, u8), Failure> {
    let folder = args.run.place.folder();
    if let (Some(folder), false) = (&folder, args.locked) {
        harness::load(folder, true).map_err(|error| {
            Failure::usage("the catalogue can't be tested").text(error.to_string())
        })?;
    }
    let filter = KernelFilter {
        only: args.kernel.clone(),
        skip: args.skip_kernel.clone(),
    };
    if args.on == On::Simulator {
        let known = args.accept.load()?;
        return run::run_accepting(&args.run, &filter, Some(&known), color);
    }
    if args.accept.has_baseline() {
        return Err(Failure::usage("a baseline lists findings of the simulator")
            .help("leave out `--baseline`: on a GPU and under a tool, the case states the verdict that it expects"));
    }
    let catalog = args.run.place.load()?;
    let place = &args.run.place;
    let cases = place.select(&catalog, &args.run.patterns)?;
    let cases = run::wanted(cases, &filter, place)?;
    let cases: Vec<&Entry> = cases.into_iter().filter(|e| e.case.is_for_gpus()).collect();
    let started = Instant::now();
    let outcomes = match args.on {
        On::Gpu => on_gpu(&catalog, &cases, args.keep.as_deref())?,
        tool => under(&cases, tool, folder.as_deref(), args.keep.as_deref())?,
    };
    Ok(told(args, outcomes, started, color))
}

fn told(args: &TestArgs, outcomes: Vec<Outcome>, started: Instant, color: bool) -> (String, u8) {
    let width = outcomes.iter().map(|o| o.check.name.len()).max();
    let width = width.unwrap_or(0);
    let mut text = String::new();
    for Outcome { check, details, .. } in &outcomes {
        let style = match color {
            true => terminal::verdict_style(check.verdict, check.ok),
            false => anstyle::Style::new(),
        };
        let verdict = check.verdict.name();
        text += &format!(
            "{style}{verdict:<12}{style:#} {:<width$}  {}\n",
            check.name, check.summary
        );
        for line in details.lines().filter(|_| !check.ok) {
            text += format!("  {line}").trim_end();
            text.push('\n');
        }
    }
    let unexpected = outcomes.iter().filter(|o| !o.check.ok).count();
    let unsure = outcomes.iter().filter(|o| o.unsure).count();
    text += &format!(
        "\n{} on {}: {} as expected, {} not, {unsure} inconclusive  {:.1} s\n",
        terminal::counted(outcomes.len() as u64, "case"),
        args.on.name(),
        outcomes.len() - unexpected,
        unexpected - unsure,
        started.elapsed().as_secs_f64()
    );
    let code = match (unexpected - unsure, unsure) {
        (0, 0) => exit::OK,
        (0, _) => exit::INCONCLUSIVE,
        _ => exit::FINDINGS,
    };
    let report = Report {
        checks: outcomes.into_iter().map(|o| o.check).collect(),
    };
    match args.run.format {
        Format::Text => (text, code),
        format => (render(&report, format), code),
    }
}

/// A check without findings of racetrap's own.
fn check(entry: &Entry, verdict: Verdict, ok: bool, summary: String, since: Instant) -> Check {
    Check {
        name: entry.id.clone(),
        verdict,
        ok,
        summary,
        schedule_independent: None,
        setting: None,
        diagnostics: Vec::new(),
        unseen: report::Unseen::default(),
        judged: report::Judged::default(),
        output: String::new(),
        time: since.elapsed(),
    }
}

fn on_gpu(
    catalog: &Catalog,
    cases: &[&Entry],
    keep: Option<&Path>,
) -> Result<Vec<Outcome>, Failure> {
    let gpu = harness::probe().map_err(|reason| {
        Failure::inconclusive(format!("no GPU: {reason}")).help("`--on simulator` needs none")
    })?;
    let (device, mut client) = (gpu.device, gpu.client);
    let mut outcomes = Vec::new();
    for entry in cases {
        let began = Instant::now();
        let native = native::run(catalog, entry, &mut client, &device, &Settings::native());
        if let Some(folder) = keep {
            let path = folder.join(format!("receipts/gpu/{}.json", entry.id));
            let written = native.receipt.write(&path);
            written.map_err(|error| Failure::usage(error.to_string()))?;
        }
        let summary = harness::on_device(&native, &device);
        let summary = summary.split_once(' ').map_or("", |(_, rest)| rest);
        outcomes.push(Outcome {
            check: check(
                entry,
                native.verdict,
                native.ok(),
                summary.to_owned(),
                began,
            ),
            unsure: native.verdict == Verdict::Inconclusive && !native.ok(),
            details: harness::against(entry, &native, String::new()),
        });
    }
    Ok(outcomes)
}

/// Runs each case under a tool: `racetrap dev under TOOL`, with this program as the test program.
fn under(
    cases: &[&Entry],
    tool: On,
    folder: Option<&Path>,
    keep: Option<&Path>,
) -> Result<Vec<Outcome>, Failure> {
    let this = std::env::current_exe()
        .map_err(|e| Failure::inconclusive(format!("can't find this program: {e}")))?;
    let folder = folder.ok_or_else(|| {
        Failure::usage("a tool needs a catalogue in a folder")
            .help("give it with `--catalog FOLDER`")
    })?;
    let folder = folder
        .canonicalize()
        .map_err(|e| Failure::usage(format!("`{}`: {e}", folder.display())))?;
    let scratch = tempfile::tempdir()
        .map_err(|e| Failure::usage(format!("can't make a temporary folder: {e}")))?;
    let program = scratch.path().join("cases");
    script(&program)
        .map_err(|e| Failure::usage(format!("can't write `{}`: {e}", program.display())))?;
    let outcomes = parallel(cases.len(), AT_A_TIME, &|index| {
        let began = Instant::now();
        let entry = cases[index];
        let mut command = Command::new(&this);
        command
            .args(["dev", "under", tool.name(), "--catalog"])
            .arg(&folder)
            .arg(&program)
            .args([&entry.id, "--exact", "--nocapture"])
            .env("RACETRAP_CASES_PROGRAM", &this)
            .env("RACETRAP_CASES_CATALOG", &folder)
            .env("RACETRAP_REQUIRE_GPU", "1")
            .stdin(Stdio::null());
        if let Some(keep) = keep {
            command.env("RACETRAP_RECORDINGS", keep.join("recordings"));
        }
        let (said, code) = match command.output() {
            Ok(output) => {
                let text = [output.stdout, output.stderr].concat();
                let text = String::from_utf8_lossy(&text).into_owned();
                (text, output.status.code().unwrap_or(-1))
            }
            Err(error) => (error.to_string(), -1),
        };
        outcome(entry, &said, code, began)
    });
    Ok(outcomes)
}

/// Reads what the judge said: the verdict first, and the exit status says whether it is the expected one.
fn outcome(entry: &Entry, said: &str, code: i32, began: Instant) -> Outcome {
    let first = said.lines().find(|line| !line.trim().is_empty());
    let first = first.unwrap_or("it said nothing");
    let verdicts = [
        Verdict::Clean,
        Verdict::Caught,
        Verdict::Missed,
        Verdict::FalseAlarm,
        Verdict::Unsupported,
    ];
    let word = first.split(' ').next().unwrap_or_default();
    let verdict = verdicts.into_iter().find(|v| v.name() == word);
    let summary = match (verdict, first.split_once(" under ")) {
        (Some(_), Some((_, rest))) => format!("under {rest}"),
        _ => first.to_owned(),
    };
    let sure = verdict.is_some() && matches!(code, 0 | 1);
    Outcome {
        check: check(
            entry,
            verdict.filter(|_| sure).unwrap_or(Verdict::Inconclusive),
            sure && code == 0,
            summary,
            began,
        ),
        unsure: !sure,
        details: said.lines().skip(1).collect::<Vec<_>>().join("\n"),
    }
}

/// A test program for the wrapper, which knows none of our options.
fn script(path: &Path) -> std::io::Result<()> {
    std::fs::write(
        path,
        "#!/bin/sh\nexec \"$RACETRAP_CASES_PROGRAM\" dev cases --catalog \"$RACETRAP_CASES_CATALOG\" -- \"$@\"\n",
    )?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755))?;
    }
    Ok(())
}
