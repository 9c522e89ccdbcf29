//! `racetrap dev judge`: judges the output of a tool. The wrappers of `sanitizer/` call it when a tool has ended.

use crate::cli::run::Where;
use crate::cli::value_enums::choice;
use anstyle::Style;
use catalog::annotation::action_name;
use catalog::case::ExpectedVerdict;
use catalog::load::{Catalog, Entry};
use clap::Args;
use evidence::sanitizer::judge::{Report, verdict};
use evidence::sanitizer::recording::{Run, read_if_there};
use evidence::sanitizer::{Judgement, Recording, ToolError, log};
use evidence::{Detector, Under, Untold};
use report::Failure;
use report::exit;
use report::{Verdict, terminal};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

const EXIT_STATUS: &str = "\
Exit status: 0 the verdict is the one that the case expects (a buggy case that expects none of this
tool is reported, with a note), 1 it is not, 2 bad input, 3 nothing can be said.";

/// Options of `racetrap dev judge`.
#[derive(Args, Clone, Debug)]
#[command(after_help = EXIT_STATUS)]
pub struct JudgeArgs {
    /// The tool that ran
    #[arg(long, value_parser = choice::<Under>(), value_name = "TOOL")]
    tool: Under,
    /// The case that was run
    #[arg(long, value_name = "CASE")]
    case: String,
    /// The tool's records, written with `--xml --save FILE`
    #[arg(long, value_name = "FILE")]
    records: PathBuf,
    /// The tool's log, written with `--log-file FILE`
    #[arg(long, value_name = "FILE")]
    log: PathBuf,
    /// The receipt that the test wrote
    #[arg(long, value_name = "FILE")]
    receipt: PathBuf,
    /// The tool's exit status in the shell: 124 for a timeout, 127 if the tool was not found
    #[arg(long, value_name = "N")]
    status: i32,
    /// The time limit in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 0)]
    time_limit: u64,
    /// The duration of the run
    #[arg(long, value_name = "SECONDS")]
    seconds: Option<u64>,
    /// The output of `compute-sanitizer --version`
    #[arg(long, value_name = "TEXT", default_value = "")]
    tool_version: String,
    /// Store all of these files below this folder
    #[arg(long, value_name = "FOLDER")]
    recordings: Option<PathBuf>,
    #[command(flatten)]
    place: Where,
}

/// Judges a run of a tool.
///
/// # Errors
///
/// The case does not exist, files cannot be read or stored, or there is no verdict.
pub fn judge(args: &JudgeArgs, color: bool) -> Result<(String, u8), Failure> {
    let catalog = args.place.load()?;
    let entry = catalog.find(&args.case).ok_or_else(|| {
        let failure = Failure::usage(format!("there is no case `{}`", args.case));
        match report::suggest(&args.case, catalog.cases.iter().map(|e| e.id.as_str())) {
            Some(near) => failure.help(near),
            None => failure.help("`racetrap list` lists all cases"),
        }
    })?;
    let recording = read(args)?;
    if let Some(folder) = &args.recordings {
        recording
            .keep(folder, args.tool, &entry.id)
            .map_err(|error| {
                Failure::inconclusive(format!(
                    "cannot store the recording in `{}`: {error}",
                    folder.display()
                ))
            })?;
    }
    let decided = Untold::or_judgement(args.tool, entry, &recording);
    answer(&catalog, entry, args.tool, decided, color)
}

fn read(args: &JudgeArgs) -> Result<Recording, Failure> {
    let file = |path: &Path| {
        read_if_there(path).map_err(|error| {
            let trouble = ToolError::Unreadable {
                path: path.display().to_string(),
                error,
            };
            inconclusive(&args.case, args.tool, &trouble.to_string(), trouble.help())
        })
    };
    Ok(Recording {
        records: file(&args.records)?,
        log: file(&args.log)?,
        receipt: file(&args.receipt)?,
        run: Run {
            status: args.status,
            time_limit: args.time_limit,
            seconds: args.seconds,
            version: match args.tool {
                Under::Races => Some(env!("CARGO_PKG_VERSION").to_owned()),
                Under::Sanitizer(_) => log::version(&args.tool_version),
            },
        },
    })
}

fn inconclusive(case: &str, tool: Under, trouble: &str, help: &'static str) -> Failure {
    Failure::inconclusive(format!("inconclusive {case} under {tool}: {trouble}")).help(help)
}

/// The text to print, and the exit code.
fn answer(
    catalog: &Catalog,
    entry: &Entry,
    tool: Under,
    decided: Result<Judgement, Untold>,
    color: bool,
) -> Result<(String, u8), Failure> {
    let expected = tool.expectation(entry);
    let judgement = match decided {
        Ok(judgement) => judgement,
        Err(trouble) => {
            let Untold { reason, help, .. } = &trouble;
            return match expected == Some(ExpectedVerdict::Unsupported) && trouble.endless {
                true => Ok((
                    format!(
                        "unsupported {} under {tool}: {reason}, as expected\n",
                        entry.id
                    ),
                    exit::OK,
                )),
                false => Err(inconclusive(&entry.id, tool, reason, help)),
            };
        }
    };
    let ok = tool.is_expected(&judgement, entry);
    let mut out = headline(entry, tool, &judgement, ok, color);
    let source = catalog.tree.text(&entry.kernel_file()).unwrap_or_default();
    for report in &judgement.reports {
        let _ = writeln!(out, "  {}", line(report, &entry.kernel_file(), source));
    }
    if judgement.verdict == Verdict::Caught {
        for missing in &judgement.missing {
            let _ = writeln!(out, "  not reported: {missing}");
        }
    }
    if judgement.left_out > 0 {
        let _ = writeln!(
            out,
            "  the tool omitted {} more reports",
            judgement.left_out
        );
    }
    if let (Some(reason), Verdict::Unsupported) = (&judgement.reason, judgement.verdict) {
        let _ = writeln!(out, "  {reason}");
    }
    let detector = Detector::from(tool);
    let said = detector.expectation(&entry.case.expect);
    match (ok, expected) {
        (None, _) | (_, None) => out.push_str(&format!(
            "note: the case has no expectation for {tool}; `expect: {{{detector}: {}}}` would record this result\n",
            judgement.verdict.name()
        )),
        (Some(false), Some(expected)) if judgement.verdict == verdict(expected) => {
            out.push_str("error: reports at lines without annotations\n");
        }
        (Some(false), Some(_)) if said.is_none() && !entry.case.is_meant_buggy() => {
            out.push_str("error: expected clean, as for every correct case\n");
        }
        (Some(false), Some(expected)) => out.push_str(&format!(
            "error: expected {}{}\n",
            verdict(expected).name(),
            said.and_then(|said| said.why.as_ref()).map(|why| format!(" ({why})")).unwrap_or_default()
        )),
        (Some(true), _) => {}
    }
    let code = if ok == Some(false) {
        exit::FINDINGS
    } else {
        exit::OK
    };
    Ok((out, code))
}

/// `caught scan/warp/plain under racecheck: 4 runs on NVIDIA H200`
fn headline(
    entry: &Entry,
    tool: Under,
    judgement: &Judgement,
    ok: Option<bool>,
    color: bool,
) -> String {
    let style = match color {
        true => terminal::verdict_style(judgement.verdict, ok != Some(false)),
        false => Style::new(),
    };
    let receipt = &judgement.receipt;
    let runs = match receipt.runs {
        1 => "1 run".to_owned(),
        runs => format!("{runs} runs"),
    };
    let device = receipt
        .device
        .as_ref()
        .map(|device| format!(" on {}", device.name))
        .unwrap_or_default();
    format!(
        "{style}{}{style:#} {} under {tool}: {runs}{device}\n",
        judgement.verdict.name(),
        entry.id
    )
}

/// `warning: race, 31 hazards: write at kernels/scan/warp.cu:21 …; read at line 19 …: data-race#1`
fn line(report: &Report, file: &str, source: &str) -> String {
    let mut out = format!("{}: {}", report.severity, report.kind);
    if report.count > 1 {
        let _ = write!(out, ", {} times", terminal::thousands(report.count));
    }
    for (at, (action, line)) in report.places.iter().enumerate() {
        let action = action.map_or("", action_name);
        let joint = if at == 0 { ":" } else { " and" };
        let place = match line {
            Some(line) => {
                let text = source.lines().nth(*line as usize - 1).unwrap_or_default();
                let text = text.split("//~").next().unwrap_or_default().trim();
                format!("at {file}:{line} `{text}`")
            }
            None => format!("outside {file}"),
        };
        let _ = write!(
            out,
            "{joint} {action}{}{place}",
            if action.is_empty() { "" } else { " " }
        );
    }
    match report.hits.is_empty() {
        true => out + "; not annotated",
        false => out + "; " + &report.hits.join(", "),
    }
}
