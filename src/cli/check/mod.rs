//! `racetrap check`: somebody's own kernel, from its file to a verdict.

mod argument;
pub(super) mod entry;
mod explore;
mod geometry;
pub(super) mod input;
mod mutants;
mod parameters;
mod plan;
mod tail_merge;
mod verdict;

use super::choice::choice;
use super::progress::Progress;
use clap::Args;
use detect::rules::Level;
pub use explore::Found;
use explore::{Exploration, Explored};
pub(super) use input::refused;
pub(super) use mutants::mutants;
use report::Failure;
use report::{Format, Report, Sources, merge};
use simt::{Dim3, Limits, LowerError, Program, ScheduleSpec};
use std::path::PathBuf;
use std::time::{Duration, Instant};
use toolchain::CompileOptions;

const EXAMPLES: &str = "\
Examples:
  racetrap check reverse.cu
      compiles it, guesses launch and arguments, prints what it guessed
  racetrap check scan.cu --entry scan --grid 4 --block 256 --arg n=1000
      sets what it should not guess
  racetrap check k.ptx --block 16,16 --arg '0=i32[64]:@in.bin' --arg '2={1, 2.5}'
      PTX has no names of parameters, so they go by index
  racetrap check kernel.cu --format github --deny warning
      in CI: annotations at the lines, warnings fail too

Values of --arg:
  1024, -7, 0x40, 1.5          a number
  TYPE[ELEMENTS]:FILL          a buffer; TYPE: i8 u8 i16 u16 i32 u32 i64 u64 f32 f64
                               FILL: random, random:LOW..=HIGH, iota, zeros, const:NUMBER, uninitialized, @FILE
  {1, 2.5, 7:i64}, 0x0100…     a struct, by fields or by bytes

Exit status: 0 no error, 1 findings, 2 bad input, 3 could not tell.";

/// Options of `racetrap check`.
#[derive(Args, Clone, Debug)]
#[command(after_help = EXAMPLES)]
pub struct CheckArgs {
    /// The kernel: CUDA source (needs nvcc) or PTX (needs nothing)
    #[arg(value_name = "FILE.{cu,ptx}")]
    file: PathBuf,

    #[command(flatten)]
    kernel: KernelArgs,

    /// How to print what was found
    #[arg(long, value_parser = choice::<Format>(), default_value = "text", help_heading = "Output")]
    format: Format,
    /// Exit with 1 for findings of this level too
    #[arg(long, value_name = "LEVEL", value_enum, help_heading = "Output")]
    deny: Option<Deny>,
    /// Judge performance too: bank conflicts, coalescing, divergent branches
    #[arg(long, help_heading = "Output")]
    perf: bool,
}

/// Which kernel of a file, how it is launched, run and compiled.
#[derive(Args, Clone, Debug)]
pub struct KernelArgs {
    /// The kernel's name, plain or mangled; needless where there is one
    #[arg(long, value_name = "NAME")]
    entry: Option<String>,

    /// Blocks
    #[arg(long, value_name = "X[,Y[,Z]]", value_parser = geometry::parse, help_heading = "Launch")]
    grid: Option<Dim3>,
    /// Threads of a block
    #[arg(long, value_name = "X[,Y[,Z]]", value_parser = geometry::parse, help_heading = "Launch")]
    block: Option<Dim3>,
    /// Dynamic shared memory of a block
    #[arg(long, value_name = "BYTES", help_heading = "Launch")]
    shared: Option<u32>,
    /// Launch cooperatively: all blocks resident, grid.sync() works
    #[arg(long, help_heading = "Launch")]
    cooperative: bool,
    /// An argument, by the parameter's name or index; those not given are guessed
    #[arg(
        long = "arg",
        value_name = "NAME_OR_INDEX=VALUE",
        help_heading = "Launch"
    )]
    arguments: Vec<String>,

    /// How many schedules to try where the result may depend on them
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=10_000), help_heading = "Schedules")]
    schedules: u32,
    /// Seed of random inputs and schedules
    #[arg(
        long,
        value_name = "S",
        default_value_t = 1,
        help_heading = "Schedules"
    )]
    pub(super) seed: u64,
    /// Try one schedule alone: lockstep, lane-by-lane, random:SEED, pct:SEED:DEPTH, weak, weak:SEED, replay:TRACE
    #[arg(long, value_name = "SPEC", help_heading = "Schedules")]
    pub(super) schedule: Option<ScheduleSpec>,
    /// Budget of a launch, in warp-instructions
    #[arg(long, value_name = "STEPS", default_value_t = Limits::default().steps, value_parser = clap::value_parser!(u64).range(1..), help_heading = "Schedules")]
    max_steps: u64,
    /// Budget of everything, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 120.0, value_parser = seconds, help_heading = "Schedules")]
    pub(super) timeout: f64,
    /// Cores to use [default: all]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024), help_heading = "Schedules")]
    pub(super) jobs: Option<u32>,

    /// Define a macro for the compiler
    #[arg(short = 'D', value_name = "NAME[=VALUE]", help_heading = "Compiler")]
    defines: Vec<String>,
    /// Add a folder of headers for the compiler
    #[arg(short = 'I', value_name = "FOLDER", help_heading = "Compiler")]
    includes: Vec<PathBuf>,
    /// C++ standard for the compiler: c++17, c++20
    #[arg(long, value_name = "STANDARD", help_heading = "Compiler")]
    std: Option<String>,
    /// GPU architecture to compile for [default: sm_75]
    #[arg(long, value_name = "sm_NN", help_heading = "Compiler")]
    arch: Option<String>,
}

impl KernelArgs {
    /// What the compiler is told.
    fn compiler(&self) -> CompileOptions {
        CompileOptions {
            defines: self.defines.clone(),
            includes: self.includes.clone(),
            std: self.std.clone(),
            arch: self.arch.clone(),
        }
    }

    /// What the user gave of the launch's shape.
    fn given(&self) -> geometry::Given {
        geometry::Given {
            grid: self.grid,
            block: self.block,
            shared: self.shared,
        }
    }

    /// The first option that says how a kernel is launched or compiled, which a case of the catalogue says itself.
    pub(super) fn of_one_kernel(&self) -> Option<&'static str> {
        let given = [
            ("--entry", self.entry.is_some()),
            ("--grid", self.grid.is_some()),
            ("--block", self.block.is_some()),
            ("--shared", self.shared.is_some()),
            ("--cooperative", self.cooperative),
            ("--arg", !self.arguments.is_empty()),
            ("-D", !self.defines.is_empty()),
            ("-I", !self.includes.is_empty()),
            ("--std", self.std.is_some()),
            ("--arch", self.arch.is_some()),
        ];
        given.iter().find(|(_, is)| *is).map(|(name, _)| *name)
    }
}

/// What `--deny` makes fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Deny {
    /// Warnings.
    Warning,
    /// Warnings and notes.
    Note,
}

fn seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(s) if s > 0.0 && s < 1e7 => Ok(s),
        _ => Err("a positive number of seconds".into()),
    }
}

/// What `check` prints and how it exits.
pub struct Checked {
    /// On stdout.
    pub output: String,
    /// One of [`report::exit`].
    pub code: u8,
    /// What every schedule and build found, before it was merged and worded.
    pub findings: Vec<Found>,
}

/// Runs the command.
///
/// # Errors
///
/// What stops it before there is a verdict.
pub fn check(args: &CheckArgs, color: bool) -> Result<Checked, Failure> {
    let started = Instant::now();
    let progress = Progress::spinner(true);
    let options = args.kernel.compiler();
    let mut sources = Sources::new();
    let input = input::read(&args.file, &options, &mut sources, |text| {
        progress.say(text)
    })?;
    let entry = entry::choose(
        &input.builds[0].module,
        args.kernel.entry.as_deref(),
        &input.path,
    )?
    .to_string();
    let programs = programs(&input, &entry)?;

    let geometry = geometry::complete(args.kernel.given(), &input, &entry)?;
    affordable(&geometry, args.kernel.max_steps)?;
    let threads = geometry.grid.count() * geometry.block.count();
    let parameters =
        parameters::Parameters::of(&input.builds[0].module, &entry, input.source.as_ref());
    let mut plan = plan::Plan::new(
        parameters,
        &args.kernel.arguments,
        threads,
        args.kernel.seed,
    )?;

    let schedules = schedules(&args.kernel, &programs);
    let exploration = Exploration {
        geometry: &geometry,
        cooperative: args.kernel.cooperative,
        schedules: &schedules,
        limits: Limits {
            steps: args.kernel.max_steps,
            ..Limits::default()
        },
        until: Some(started + Duration::from_secs_f64(args.kernel.timeout)),
        jobs: jobs(args.kernel.jobs),
        perf: args.perf,
        defines: &args.kernel.defines,
        remember: false,
    };
    let mut explored: Vec<Explored> = Vec::new();
    for (build, program) in input.builds.iter().zip(&programs) {
        let mut one = exploration.explore(build, program, &mut plan, &mut sources, |text| {
            progress.say(text)
        })?;
        if build.name == Some(toolchain::Optimisation::Unoptimised.name()) {
            // Nobody ships this build: its speed is of no interest.
            one.diagnostics.retain(|d| d.level != Level::Note);
        }
        explored.push(one);
    }
    progress.end();
    tail_merge::downgrade(&mut explored, &input.builds);

    let mut diagnostics = Vec::new();
    let mut findings = Vec::new();
    for one in &mut explored {
        findings.append(&mut one.findings);
        merge(&mut diagnostics, std::mem::take(&mut one.diagnostics));
    }
    let setting = verdict::setting(args, &input, &entry, &geometry, &plan, &explored);
    for diagnostic in &mut diagnostics {
        let schedule = diagnostic.replay.take().unwrap_or_default();
        diagnostic.replay = Some(verdict::replay(args, &input, &setting, &schedule));
    }
    diagnostics.sort_by_key(|d| std::cmp::Reverse(d.level));
    let check = verdict::judge(
        args,
        &input,
        setting,
        diagnostics,
        &explored,
        started.elapsed(),
    );
    let code = verdict::code(
        &check,
        args.deny.map(|d| match d {
            Deny::Warning => Level::Warning,
            Deny::Note => Level::Note,
        }),
    );
    let output = match args.format {
        Format::Text => {
            let mut text = verdict::preamble(&check, &geometry, &plan, &explored, color);
            text += &report::terminal::render(
                &Report {
                    checks: vec![check],
                },
                color,
            );
            text
        }
        format => report::render(
            &Report {
                checks: vec![check],
            },
            format,
        ),
    };
    Ok(Checked {
        output,
        code,
        findings,
    })
}

fn programs(input: &input::Input, entry: &str) -> Result<Vec<Program>, Failure> {
    input.builds.iter().map(|b| program(b, entry)).collect()
}

fn program(build: &input::Build, entry: &str) -> Result<Program, Failure> {
    Program::lower(&build.module, &build.ptx.text, entry).map_err(|error| {
        let failure = Failure::usage(format!("`{}` can't be run: {error}", build.ptx.path));
        match error {
            LowerError::NoSuchEntry { .. } => {
                failure.help("the two builds have different kernels: name one with `--entry`")
            }
            LowerError::AddressSize => failure,
            LowerError::Declaration { line, .. } => {
                let span = build.ptx.range(line, &(0..u32::MAX));
                failure.at(build.ptx.clone(), span, "here")
            }
        }
    })
}

/// Refuses launches that can't end within the step budget: every warp takes some steps.
fn affordable(geometry: &geometry::Geometry, steps: u64) -> Result<(), Failure> {
    const LEAST: u64 = 4;
    let warps = geometry
        .grid
        .count()
        .saturating_mul(geometry.block.count().div_ceil(32));
    if warps.saturating_mul(LEAST) <= steps {
        return Ok(());
    }
    let shown = report::terminal::thousands;
    Err(Failure::usage(format!(
        "this launch has {} threads in {} warps: it can't end within {} warp-instructions",
        shown(geometry.grid.count().saturating_mul(geometry.block.count())),
        shown(warps),
        shown(steps)
    ))
    .help("use a smaller `--grid`: a race shows between two blocks as between two million; or raise `--max-steps`"))
}

fn schedules(args: &KernelArgs, programs: &[Program]) -> Vec<ScheduleSpec> {
    if let Some(one) = &args.schedule {
        return vec![one.clone()];
    }
    let weak = programs.iter().any(|p| p.facts.stale_values);
    ScheduleSpec::all(args.seed, weak)
        .take(args.schedules as usize)
        .collect()
}

/// Cores to use: as many as asked for, or all.
pub(super) fn jobs(given: Option<u32>) -> usize {
    match given {
        Some(jobs) => jobs as usize,
        None => std::thread::available_parallelism().map_or(1, usize::from),
    }
}
