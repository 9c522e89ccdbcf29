//! `racetrap mutate`: which barriers, fences, scopes and atomics of a kernel are needed.

use super::check::{KernelArgs, jobs, mutants};
use super::choice::choice;
use super::progress::Progress;
use super::run::{Where, select};
use catalog::case_result;
use catalog::load::{Catalog, Entry};
use catalog::runner::parallel;
use clap::Args;
use mutate::case::{Settings, judge};
use mutate::judged::{self, Subject};
use mutate::render::{json, terminal};
use mutate::{Kind, Unit};
use report::Failure;
use report::exit;
use std::path::Path;
use std::time::Instant;

/// What the command is about.
pub const ABOUT: &str = "\
Tell which barriers, fences, scopes and atomics of a kernel are needed, and which are redundant.

One thing is removed or weakened at a time, in the PTX, so that the compiler has no part in it:
a barrier, a fence, a `volatile`, an ordering, a scope, an atomic operation. All copies that the
compiler made of one place in the source, by unrolling or inlining, are changed together. Then
the kernel runs as `racetrap run` and `racetrap check` run it, until a detector, the case's oracle
or what it prints says that something is wrong.

`needed` comes with that finding. `redundant` holds for the inputs that were tried: think before
you remove it. Fences between atomics or volatile accesses alone may look redundant, and are
needed on hardware that reorders.

Of a case with a host plan, what orders its steps is removed in the same way: an event that is
recorded, a wait for one, a wait of the host, a stream's being a blocking one.

Of the catalogue's correct kernels every mutant must be noticed, or explained by the case (key
`equivalent`): a test of the detectors. They are mutated as compiled for sm_90.";

const EXAMPLES: &str = "\
Examples:
  racetrap mutate kernel.cu --entry scan --block 256
      a kernel of your own, launched as `racetrap check` launches it
  racetrap mutate reduce/shared/halves
      a case of the catalogue; a part of the name selects several
  racetrap mutate kernel.ptx --each --only remove-barrier,remove-fence
      barriers and fences alone, each instruction by itself
  racetrap mutate --format json > mutants.json
      all correct kernels of the catalogue, for programs (docs/mutate.schema.json)

Exit status: 0 all told (of cases: every mutant as expected), 1 the kernel itself has findings, or a
case's mutant is not as expected, 2 bad input, 3 could not tell.";

/// Options of `racetrap mutate`.
#[derive(Args, Clone, Debug)]
#[command(after_help = EXAMPLES)]
pub struct MutateArgs {
    /// A `.cu` or `.ptx` file, or cases whose names contain this [default: all correct cases]
    #[arg(value_name = "KERNEL-OR-CASE")]
    targets: Vec<String>,
    #[command(flatten)]
    place: Where,
    /// Mutate every instruction by itself, not all copies of a place in the source together
    #[arg(long)]
    each: bool,
    /// Only mutations of these kinds
    #[arg(long, value_name = "KIND,…", value_delimiter = ',', value_parser = choice::<Kind>())]
    only: Vec<Kind>,
    /// Runs of each mutant of a case, at most [default: as the case says]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    runs: Option<u32>,
    /// Show each mutant with its source lines, of several kernels too
    #[arg(short, long)]
    verbose: bool,
    /// How to print what came out
    #[arg(long, value_enum, default_value_t = Shown::Text)]
    format: Shown,
    #[command(flatten)]
    kernel: KernelArgs,
}

/// How mutants are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Shown {
    /// For people.
    Text,
    /// One JSON document (docs/mutate.schema.json).
    Json,
}

/// Runs the command.
///
/// # Errors
///
/// What stops it before anything is tried.
pub fn mutate(args: &MutateArgs, color: bool) -> Result<(String, u8), Failure> {
    let started = Instant::now();
    let (files, patterns): (Vec<String>, Vec<String>) =
        args.targets.iter().cloned().partition(|t| is_file(t));
    let mut subjects = Vec::new();
    let mut head = String::new();
    for file in &files {
        let progress = Progress::spinner(true);
        let tried = mutants(
            &args.kernel,
            Path::new(file),
            args.unit(),
            &args.only,
            |text| {
                progress.say(text);
            },
        )?;
        progress.end();
        head += &format!("{}\n  {}\n\n", tried.subject.name, tried.launch.join(" "));
        subjects.push(tried.subject);
    }
    let mut left_out = 0;
    if files.is_empty() || !patterns.is_empty() {
        if let Some(option) = args.kernel.of_one_kernel().filter(|_| files.is_empty()) {
            return Err(Failure::usage(format!(
                "`{option}` is for a file: a case of the catalogue says itself how it is launched and compiled"
            ))
            .help("`racetrap mutate kernel.cu …` takes a kernel of yours"));
        }
        let catalog = args.place.load()?;
        let is_folder = |p: &&String| {
            Path::new(p).is_dir() && catalog.select(std::slice::from_ref(*p)).is_err()
        };
        if let Some(folder) = patterns.iter().find(is_folder) {
            return Err(Failure::usage(format!("`{folder}` is a folder")).help(
                "give a `.cu` or `.ptx` file, or, after `--catalog`, the folder of a catalogue",
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
                "`racetrap check {file}` shows all, with the same options"
            )),
            None => failure.help(format!("`racetrap run {} -v` shows it", one.name)),
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
        out += &format!("{left_out} buggy {cases} left out: mutants are of correct kernels\n");
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

/// Whether a target is meant as a file: cases have no extension.
fn is_file(target: &str) -> bool {
    let extension = Path::new(target).extension().and_then(|e| e.to_str());
    extension.is_some_and(|e| {
        ["cu", "ptx", "cuh", "cc", "cpp", "cxx", "c"].contains(&e.to_ascii_lowercase().as_str())
    }) || Path::new(target).is_file()
}

fn only_buggy(catalog: &Catalog, entry: &Entry) -> Failure {
    let failure = Failure::usage(format!(
        "`{}` is a buggy case: mutants tell which barriers a correct kernel needs",
        entry.id
    ));
    let twin = entry.case.twin.as_ref().and_then(|twin| {
        let id = format!("{}/{twin}", entry.family());
        catalog.find(&id).map(|_| id)
    });
    match twin {
        Some(twin) => failure.help(format!(
            "`racetrap mutate {twin}` does it for its fixed twin; `racetrap run {} -v` shows the bug",
            entry.id
        )),
        None => failure.help(format!("`racetrap run {} -v` shows what is wrong with it", entry.id)),
    }
}
