//! `racetrap mutate`: which barriers, fences, scopes and atomics of a kernel are needed.

use super::check::{KernelArgs, jobs};
use super::check_progress::Watched;
use super::progress::Progress;
use super::run::{Where, select};
use super::value_enums::choice;
use catalog::case_result;
use catalog::load::{Catalog, Entry};
use catalog::runner::parallel;
use clap::Args;
use mutate::case::{Settings, judge};
use mutate::judged::{self, Subject};
use mutate::kernel::mutants;
use mutate::render::{json, terminal};
use mutate::{Kind, Unit};
use report::Failure;
use report::exit;
use std::path::Path;
use std::time::Instant;

/// The help text.
pub const ABOUT: &str = "\
Find out which barriers, fences, scopes and atomics of a kernel are needed.

racetrap removes or weakens one thing at a time: a barrier, a fence, a `volatile`, an ordering, a
scope or an atomic operation. It does so in the PTX, so that the compiler cannot react to the change.
All copies that the compiler made of one source line by unrolling or inlining change together. Then
racetrap runs the kernel, like `racetrap run` and `racetrap check` do, until a detector, the case's
oracle or the kernel's output shows an error.

There are three verdicts. `needed` comes with the finding. `not exercised` means that no run could
have shown a need: no thread came to it, or nothing that several threads touch lay on its two sides.
`no failure found` holds only for the launches and inputs that were tried, so think before you remove
anything. What is dispensable by itself and not together (one of two adjacent barriers) is told, too.

Your own kernel runs on many launches and inputs: other blocks and grids, other sizes, small numbers,
the constants that it compares with, buffers with few values. What you give (`--grid`, `--block`,
`--arg`) stays as you gave it.

For a case with a host plan, racetrap also removes what orders its steps: recording an event, waiting
for an event, a wait of the host, or the blocking flag of a stream.

The catalogue uses this as a test of the detectors: every mutant of a correct case must be detected
or explained in the case (key `equivalent`). Cases are mutated as compiled for their newest target, which is sm_90 for most.";

const EXAMPLES: &str = "\
Examples:
  racetrap mutate kernel.cu --entry scan --block 256
      your own kernel, launched as `racetrap check` launches it
  racetrap mutate reduce/shared/halves
      a case of the catalogue; a part of a name selects several
  racetrap mutate kernel.ptx --each --only remove-barrier,remove-fence
      only barriers and fences, each instruction separately
  racetrap mutate --format json > mutants.json
      all correct cases of the catalogue, as JSON (docs/mutate.schema.json)

Exit status: 0 every mutant has a verdict (for cases: the expected one), 1 the kernel itself has
findings or a mutant of a case is not as expected, 2 invalid input, 3 inconclusive.";

/// Options of `racetrap mutate`.
#[derive(Args, Clone, Debug)]
#[command(after_help = EXAMPLES)]
pub struct MutateArgs {
    /// A `.cu` or `.ptx` file, or cases whose names contain this [default: all correct cases]
    #[arg(value_name = "KERNEL-OR-CASE")]
    targets: Vec<String>,
    #[command(flatten)]
    place: Where,
    /// Mutate every instruction separately instead of all copies of a source line together
    #[arg(long)]
    each: bool,
    /// Only these kinds of mutations
    #[arg(long, value_name = "KIND,…", value_delimiter = ',', value_parser = choice::<Kind>())]
    only: Vec<Kind>,
    /// Maximum number of runs of each mutant of a case [default: as stated in the case]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    runs: Option<u32>,
    /// Show each mutant with its source lines, also for several kernels
    #[arg(short, long)]
    verbose: bool,
    /// Output format
    #[arg(long, value_enum, default_value_t = Shown::Text)]
    format: Shown,
    #[command(flatten)]
    kernel: KernelArgs,
}

/// Output formats for mutants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Shown {
    /// Text for people.
    Text,
    /// A JSON document (docs/mutate.schema.json).
    Json,
}

/// Runs the command.
///
/// # Errors
///
/// Anything that prevents the first run.
pub fn mutate(args: &MutateArgs, color: bool) -> Result<(String, u8), Failure> {
    let started = Instant::now();
    let (files, patterns): (Vec<String>, Vec<String>) =
        args.targets.iter().cloned().partition(|t| is_file(t));
    let mut subjects = Vec::new();
    let mut head = String::new();
    for file in &files {
        let request = args.kernel.request(Path::new(file))?;
        let watch = Watched::begin(request.budgets.time);
        let tried = mutants(&request, args.unit(), &args.only, &watch, |text| {
            watch.say(text)
        })?;
        watch.end();
        head += &format!("{}\n  {}\n", tried.subject.name, tried.launch.join(" "));
        for note in &tried.notes {
            head += &format!("  {note}\n");
        }
        head.push('\n');
        subjects.push(tried.subject);
    }
    let mut left_out = 0;
    if files.is_empty() || !patterns.is_empty() {
        if let Some(option) = args.kernel.of_one_kernel().filter(|_| files.is_empty()) {
            return Err(Failure::usage(format!(
                "`{option}` applies only to a file: a case of the catalogue states how it is compiled and launched"
            ))
            .help("give your own kernel: `racetrap mutate kernel.cu …`"));
        }
        let catalog = args.place.load()?;
        let is_folder = |p: &&String| {
            Path::new(p).is_dir() && catalog.select(std::slice::from_ref(*p)).is_err()
        };
        if let Some(folder) = patterns.iter().find(is_folder) {
            return Err(Failure::usage(format!("`{folder}` is a folder")).help(
                "give a `.cu` or `.ptx` file; give the folder of a catalogue with `--catalog`",
            ));
        }
        let chosen = select(&catalog, &patterns)?;
        let correct: Vec<&Entry> = chosen
            .iter()
            .copied()
            .filter(|e| !e.case.is_meant_buggy())
            .collect();
        left_out = chosen.len() - correct.len();
        if correct.is_empty() {
            return Err(only_buggy(&catalog, chosen[0]));
        }
        subjects.extend(cases(args, &catalog, &correct));
    }
    let code = judged::exit_code(&subjects);
    if args.format == Shown::Json {
        return Ok((json::render(&subjects), code));
    }
    if let [one] = &subjects[..]
        && let Some((code, why)) = &one.refused
    {
        let failure = Failure::usage(format!("{}: {why}", one.name));
        let failure = Failure {
            code: *code,
            ..failure
        };
        return Err(match files.first() {
            _ if *code != exit::FINDINGS => failure,
            Some(file) => failure.help(format!(
                "`racetrap check {file}` with the same options shows all findings"
            )),
            None => failure.help(format!("`racetrap run {} -v` shows the finding", one.name)),
        });
    }
    let detailed = args.verbose || subjects.len() == 1;
    let width = subjects.iter().map(|s| s.name.len()).max().unwrap_or(0);
    let mut out = head;
    for subject in &subjects {
        if detailed {
            out += &terminal::mutants(subject, color);
        }
        if subjects.len() > 1 || !subject.problems().is_empty() {
            out += &terminal::line(subject, width, color);
        }
        if detailed && subjects.len() > 1 {
            out.push('\n');
        }
    }
    if !detailed {
        out.push('\n');
    }
    out += &terminal::total(&subjects, started.elapsed().as_secs_f64(), color);
    if left_out > 0 && !patterns.is_empty() {
        let cases = if left_out == 1 { "case" } else { "cases" };
        out += &format!("{left_out} buggy {cases} skipped: only correct kernels are mutated\n");
    }
    Ok((out, code))
}

impl MutateArgs {
    fn unit(&self) -> Unit {
        match self.each {
            true => Unit::Instruction,
            false => Unit::Place,
        }
    }
}

fn cases(args: &MutateArgs, catalog: &Catalog, correct: &[&Entry]) -> Vec<Subject> {
    let settings = Settings {
        trial: case_result::Settings {
            seed: args.kernel.seed,
            schedule: args.kernel.schedule.clone(),
            runs: args.runs,
            ..case_result::Settings::default()
        },
        unit: args.unit(),
        only: args.only.clone(),
        smallest: true,
    };
    let progress = Progress::bar(correct.len(), true);
    let subjects = parallel(correct.len(), jobs(args.kernel.jobs), &|index| {
        progress.say(&correct[index].id);
        let subject = judge(catalog, correct[index], &settings);
        progress.step();
        subject
    });
    progress.end();
    subjects
}

/// Whether a target is a file: cases have no extension.
fn is_file(target: &str) -> bool {
    let extension = Path::new(target).extension().and_then(|e| e.to_str());
    extension.is_some_and(|e| {
        ["cu", "ptx", "cuh", "cc", "cpp", "cxx", "c"].contains(&e.to_ascii_lowercase().as_str())
    }) || Path::new(target).is_file()
}

fn only_buggy(catalog: &Catalog, entry: &Entry) -> Failure {
    let failure = Failure::usage(format!(
        "`{}` is a buggy case, but only correct kernels are mutated",
        entry.id
    ));
    let twin = entry.case.twin.as_ref().and_then(|twin| {
        let id = format!("{}/{twin}", entry.family());
        catalog.find(&id).map(|_| id)
    });
    match twin {
        Some(twin) => failure.help(format!(
            "`racetrap mutate {twin}` mutates its fixed twin; `racetrap run {} -v` shows the bug",
            entry.id
        )),
        None => failure.help(format!("`racetrap run {} -v` shows its bug", entry.id)),
    }
}
