//! `racetrap check`: somebody's own kernel, from its file to a verdict.

mod dump;
mod fix;

use super::accept::AcceptArgs;
use super::check_progress::Watched;
use super::expected::Expected;
use super::report_files::AlsoArgs;
use super::value_enums::choice;
use check::geometry;
use check::{Argument, Budgets, Checked, Kernels, Request, Schedules, Source, verdict};
use clap::Args;
use detect::rules::Level;
use ptx::KernelFilter;
use report::{Failure, Format, Report, SourceFile, Verdict, exit};
use simt::{Dim3, Engine, Limits, ScheduleSpec};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use toolchain::CompileOptions;

const EXAMPLES: &str = "\
Examples:
  racetrap check reverse.cu
      compiles the kernel, reads launch and arguments from the host code or infers them, and prints them
  racetrap check scan.cu --entry scan --grid 4 --block 256 --arg n=1000
      sets these values instead of inferring them
  racetrap check main.cu kernels.cu helper.ptx --entry scan
      links several files
  racetrap check k.ptx --block 16,16 --arg '0=i32[64]:@in.bin' --arg '2={1, 2.5}'
      refers to PTX parameters by index
  racetrap check kernel.cu --format html > report.html
      a page with the source, a picture of each race, and filters
  racetrap check kernels.cu --kernel 'scan*' --skip-kernel '*_slow'
      checks the kernels that match
  racetrap check k.cu --entry first --then 'second<<<4,128>>>' --programmatic
      two kernels, of which the second may begin before the first has ended
  racetrap check kernel.cu --format github --deny warning
      in CI: annotates the lines; warnings also fail
  racetrap check kernel.cu --fix
      shows a change of the source that mends the findings, tried beforehand; --fix=write makes it
  racetrap check kernel.cu --all --baseline racetrap.json --update-baseline
      accepts what is found now; without --update-baseline only new findings fail

Values of --arg:
  1024, -7, 0x40, 1.5          a number
  TYPE[ELEMENTS]:FILL          a buffer; TYPE: i8 u8 i16 u16 i32 u32 i64 u64 f32 f64
                               FILL: random, random:LOW..=HIGH, iota, zeros, const:NUMBER, each:EXPRESSION, {1, 2},
                               first:COUNT:FILL (the rest uninitialised), uninitialized, @FILE
  {1, 2.5, 7:i64}, 0x0100…     a struct, by fields or by bytes
  &NAME                        the buffer of another parameter, once more
  fn:NAME                      the address of a device function
  tensor:TYPE[DIMS]:box=BOX    a tensor map, the innermost dimension last; TYPE: f16 bf16 tf32 too.
                               Then swizzle=32B|64B|128B, step=STEPS, fill=nan, and FILL, or
                               of=PARAMETER, whose buffer it is, for example
                               tensor:f16[64,128]:box=64,64:swizzle=128B

Known findings: a comment on the line, or on the line before, accepts one rule there and has to say why:
  total[0] = x; // racetrap: allow(same-value-write): all write the same

Exit status: 0 no errors, 1 findings, 2 invalid input, 3 inconclusive. Accepted findings do not count.";

/// Options of `racetrap check`.
#[derive(Args, Clone, Debug)]
#[command(after_help = EXAMPLES)]
pub struct CheckArgs {
    /// The kernel: CUDA source (needs nvcc) or PTX. Several files are linked to one program
    #[arg(value_name = "FILE.{cu,ptx}", required = true)]
    files: Vec<PathBuf>,

    /// How many settings of guessed numbers to try: sizes are the number of threads, one less, a prime, one more, 1, 0; floats are 1, 0, -1, 0.001
    #[arg(long, value_name = "N", default_value_t = check::DEFAULT_INPUTS, value_parser = clap::value_parser!(u32).range(1..=100), help_heading = "Launch")]
    inputs: u32,
    #[command(flatten)]
    kernel: KernelArgs,
    /// Launch this kernel directly behind it, with the same shape and arguments of the same names, or as `NAME<<<GRID,BLOCK[,SHARED]>>>`
    ///
    /// The second kernel comes behind the first one in a stream. A parameter that has the name of one of the first kernel is passed the same; `--arg
    /// KERNEL.PARAMETER=…` says otherwise. The findings are those of both kernels.
    #[arg(
        long,
        value_name = "KERNEL",
        requires = "entry",
        help_heading = "Launch"
    )]
    then: Option<String>,
    /// Launch the kernel of --then so that it may begin before the first one has ended (cudaLaunchAttributeProgrammaticStreamSerialization)
    #[arg(long, requires = "then", help_heading = "Launch")]
    programmatic: bool,
    /// Execute kernels with the plain engine: slow, and the way to doubt us (see `--help`)
    ///
    /// It executes lane after lane and byte after byte, on one core, without any of the shortcuts that the usual engine takes. Both must give
    /// the same memory, output, findings and counts. If they differ, please report it.
    #[arg(long, help_heading = "Schedules")]
    plain: bool,

    /// Check all kernels of the file
    #[arg(long, conflicts_with = "entry")]
    all: bool,
    /// Check the kernels that this pattern matches: a name, with `*` for any text (can be given again)
    #[arg(long = "kernel", value_name = "PATTERN", conflicts_with = "entry")]
    only: Vec<String>,
    /// Leave out the kernels that this pattern matches (can be given again)
    #[arg(long = "skip-kernel", value_name = "PATTERN", conflicts_with = "entry")]
    skip: Vec<String>,
    #[command(flatten)]
    accept: AcceptArgs,
    #[command(flatten)]
    also: AlsoArgs,
    /// Output format
    #[arg(long, visible_alias = "output", value_parser = choice::<Format>(), default_value = "text", help_heading = "Output")]
    format: Format,
    /// Also exit with 1 for findings of this level
    #[arg(long, value_name = "LEVEL", value_enum, help_heading = "Output")]
    deny: Option<Deny>,
    /// Show what the kernel left in a buffer, or write its bytes to a file
    #[arg(long, value_name = "BUFFER[=FILE]", help_heading = "Output")]
    dump: Vec<String>,
    /// Show the changes that mend the findings, or write them into the file
    ///
    /// Each change that a help names is applied to a copy, compiled and checked again, and shown only if the finding is gone and nothing
    /// new came. `sarif` and `github` carry these changes, too. Headers of toolkits and libraries are never changed.
    #[arg(long, value_name = "WHAT", value_enum, num_args = 0..=1, require_equals = true, default_missing_value = "show", help_heading = "Output")]
    fix: Option<fix::Fix>,
    /// Write down what happened around each finding: all accesses of the location with values, barriers (`html` has it always)
    #[arg(long, help_heading = "Output")]
    trace: bool,
    /// Also report performance: bank conflicts, coalescing, divergent branches
    #[arg(long, help_heading = "Output")]
    perf: bool,
}

impl CheckArgs {
    /// The first file.
    fn file(&self) -> &Path {
        self.files.first().map_or(Path::new(""), PathBuf::as_path)
    }

    /// Which kernels are checked, if not only the one that is named or that there is.
    fn kernels(&self) -> Option<Kernels> {
        let filter = KernelFilter {
            only: self.only.clone(),
            skip: self.skip.clone(),
        };
        if !filter.is_empty() {
            return Some(Kernels::Matching(filter));
        }
        if self.all {
            return Some(Kernels::All);
        }
        let named = &self.kernel.entry;
        (named.len() > 1).then(|| Kernels::Named(named.clone()))
    }

    /// Puts the second kernel into a request.
    fn second(&self, request: &mut Request) -> Result<(), Failure> {
        let Some(text) = &self.then else {
            return Ok(());
        };
        if self.kernel.entry.len() > 1 {
            return Err(Failure::usage(
                "`--then` follows one kernel: give one `--entry`",
            ));
        }
        request.then = Some(check::then::parse(text, self.programmatic)?);
        if self.programmatic && request.compiler.arch.is_none() {
            // Older GPUs have no dependent launches, and code for them has neither waits nor triggers.
            request.compiler.arch = Some("sm_90".to_owned());
        }
        Ok(())
    }

    /// Whether every kernel of the files is checked.
    fn is_complete(&self) -> bool {
        match self.kernels() {
            None => self.kernel.entry.is_empty(),
            Some(kernels) => kernels == Kernels::All,
        }
    }

    /// The source files, as they are shown.
    fn texts(&self) -> Vec<Arc<SourceFile>> {
        let read = |path: &PathBuf| {
            let shown = path.display().to_string();
            let bytes = check::input::read_bytes(path, &shown, check::input::FILE_BYTES).ok()?;
            let text = String::from_utf8_lossy(&bytes).into_owned();
            Some(Arc::new(SourceFile::new(shown, text)))
        };
        self.files.iter().filter_map(read).collect()
    }
}

/// Which kernel of a file, how it is launched, run and compiled.
#[derive(Args, Clone, Debug)]
pub struct KernelArgs {
    /// The kernel's plain or mangled name, with template arguments if need be; not needed if there is only one kernel. `check`
    /// takes several
    #[arg(long, value_name = "NAME")]
    entry: Vec<String>,

    /// Blocks
    #[arg(long, value_name = "X[,Y[,Z]]", value_parser = geometry::parse, help_heading = "Launch")]
    grid: Option<Dim3>,
    /// Threads of a block
    #[arg(long, value_name = "X[,Y[,Z]]", value_parser = geometry::parse, help_heading = "Launch")]
    block: Option<Dim3>,
    /// Dynamic shared memory of a block
    #[arg(long, value_name = "BYTES", help_heading = "Launch")]
    shared: Option<u32>,
    /// Blocks of a cluster, as the attribute `cudaLaunchAttributeClusterDimension` says
    #[arg(long, value_name = "X[,Y[,Z]]", value_parser = geometry::parse, help_heading = "Launch")]
    cluster: Option<Dim3>,
    /// Launch cooperatively: all blocks are resident and can call grid.sync()
    #[arg(long, help_heading = "Launch")]
    cooperative: bool,
    /// An argument, by parameter name or index; omitted arguments are inferred
    #[arg(
        long = "arg",
        value_name = "NAME_OR_INDEX=VALUE",
        help_heading = "Launch"
    )]
    arguments: Vec<String>,
    /// Set a `__device__` or `__constant__` variable before the launch; values are those of --arg
    #[arg(long = "set", value_name = "NAME=VALUE", help_heading = "Launch")]
    variables: Vec<String>,

    /// Number of schedules to try if the result may depend on the schedule
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
    /// Try only one schedule: lockstep, lane-by-lane, in-step, random:SEED, pct:SEED:DEPTH, weak, weak:SEED, reverse:ORDER, replay:TRACE
    #[arg(long, value_name = "SPEC", help_heading = "Schedules")]
    pub(super) schedule: Option<ScheduleSpec>,
    /// Maximum number of warp-instructions of a launch
    #[arg(long, value_name = "STEPS", default_value_t = Limits::default().steps, value_parser = clap::value_parser!(u64).range(1..), help_heading = "Schedules")]
    max_steps: u64,
    /// Time limit for the whole check, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 120.0, value_parser = seconds, help_heading = "Schedules")]
    pub(super) timeout: f64,
    /// Memory of the simulated device, such as 512M or 4G [default: 2G, at most a quarter of the machine's]
    #[arg(long, value_name = "SIZE", value_parser = size, help_heading = "Schedules")]
    memory: Option<u64>,
    /// Cores to use [default: all]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024), help_heading = "Schedules")]
    pub(super) jobs: Option<u32>,

    /// Define a macro for the compiler
    #[arg(short = 'D', value_name = "NAME[=VALUE]", help_heading = "Compiler")]
    defines: Vec<String>,
    /// Add a folder of headers for the compiler
    #[arg(short = 'I', value_name = "FOLDER", help_heading = "Compiler")]
    includes: Vec<PathBuf>,
    /// Include a header before the source
    #[arg(long = "include", value_name = "FILE", help_heading = "Compiler")]
    before: Vec<PathBuf>,
    /// Pass an option on to the compiler: `--compiler-option=--use_fast_math`
    #[arg(
        long = "compiler-option",
        value_name = "OPTION",
        allow_hyphen_values = true,
        help_heading = "Compiler"
    )]
    further: Vec<String>,
    /// Compile again what was compiled before; otherwise PTX is kept in $XDG_CACHE_HOME/racetrap/ptx
    #[arg(long, help_heading = "Compiler")]
    no_cache: bool,
    /// C++ standard for the compiler: c++17, c++20
    #[arg(long, value_name = "STANDARD", help_heading = "Compiler")]
    std: Option<String>,
    /// GPU architecture to compile for [default: the oldest that has what the source uses, from sm_75 on]
    #[arg(long, value_name = "sm_NN", help_heading = "Compiler")]
    arch: Option<String>,
}

impl KernelArgs {
    /// What the compiler is told.
    fn compiler(&self) -> CompileOptions {
        CompileOptions {
            defines: self.defines.clone(),
            includes: self.includes.clone(),
            before: self.before.clone(),
            further: self.further.clone(),
            cache: match self.no_cache {
                true => None,
                false => toolchain::cache_folder().map(|folder| folder.join("racetrap/ptx")),
            },
            std: self.std.clone(),
            arch: self.arch.clone(),
            ..CompileOptions::default()
        }
    }

    /// The check that these options ask for.
    ///
    /// # Errors
    ///
    /// An `--arg` that can't be read.
    pub(super) fn request(&self, file: &Path) -> Result<Request, Failure> {
        let arguments: Result<Vec<Argument>, check::Error> = self
            .arguments
            .iter()
            .map(|text| check::argument::parse(text))
            .collect();
        let variables: Result<Vec<Argument>, check::Error> = self
            .variables
            .iter()
            .map(|text| check::argument::parse_set(text))
            .collect();
        if self.entry.len() > 1 {
            return Err(Failure::usage("one `--entry` at a time here"));
        }
        Ok(Request {
            entry: self.entry.first().cloned(),
            variables: variables?,
            launch: geometry::Given {
                grid: self.grid,
                block: self.block,
                shared: self.shared,
                cluster: self.cluster,
            },
            cooperative: self.cooperative,
            arguments: arguments?,
            schedules: match &self.schedule {
                Some(one) => Schedules::Only(one.clone()),
                None => Schedules::UpTo(self.schedules),
            },
            seed: self.seed,
            budgets: Budgets {
                steps: self.max_steps,
                time: Some(Duration::from_secs_f64(self.timeout)),
                memory: self.memory.unwrap_or_else(check::device_memory),
                jobs: jobs(self.jobs),
            },
            compiler: self.compiler(),
            ..Request::new(Source::File(file.to_path_buf()))
        })
    }

    /// The first option that says how a kernel is launched or compiled, which a case of the catalogue says itself.
    pub(super) fn of_one_kernel(&self) -> Option<&'static str> {
        let given = [
            ("--entry", !self.entry.is_empty()),
            ("--grid", self.grid.is_some()),
            ("--block", self.block.is_some()),
            ("--shared", self.shared.is_some()),
            ("--cooperative", self.cooperative),
            ("--cluster", self.cluster.is_some()),
            ("--arg", !self.arguments.is_empty()),
            ("--set", !self.variables.is_empty()),
            ("--include", !self.before.is_empty()),
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

fn seconds(text: &str) -> Result<f64, Expected> {
    match text.parse::<f64>() {
        Ok(s) if s > 0.0 && s < 1e7 => Ok(s),
        _ => Err(Expected("a positive number of seconds")),
    }
}

/// A number of bytes: `1000000`, `512M`, `4G`.
fn size(text: &str) -> Result<u64, Expected> {
    let (digits, shift) = match text.trim_end_matches(['i', 'B', 'b']) {
        text if text.ends_with(['k', 'K']) => (&text[..text.len() - 1], 10),
        text if text.ends_with(['m', 'M']) => (&text[..text.len() - 1], 20),
        text if text.ends_with(['g', 'G']) => (&text[..text.len() - 1], 30),
        text => (text, 0),
    };
    let bytes = digits.trim().parse::<u64>().ok();
    let bytes = bytes.and_then(|n| n.checked_mul(1 << shift));
    match bytes {
        Some(bytes) if (1 << 20..=1 << 40).contains(&bytes) => Ok(bytes),
        _ => Err(Expected("a size from 1M to 1024G, such as 512M or 4G")),
    }
}

/// Runs the command: what it prints, and how it exits.
///
/// # Errors
///
/// What stops it before there is a verdict.
pub fn check(args: &CheckArgs, color: bool) -> Result<(String, u8), Failure> {
    let text = args.format == Format::Text;
    let known = args.accept.load()?;
    let all = match checked(args) {
        Err(failure) if !text => {
            // Whoever reads a format is told there, too.
            eprint!("{}", failure.render(false));
            let report = Report {
                checks: vec![failed(&args.file().display().to_string(), &failure)],
            };
            args.also.write(&report)?;
            return Ok((report::render(&report, args.format), failure.code));
        }
        other => other?,
    };
    let mut codes = Vec::new();
    let mut report = Report::default();
    // By check, what is shown before and behind it.
    let mut around = Vec::new();
    for (name, checked) in all {
        match checked {
            Ok(checked) => {
                let head = verdict::preamble(&checked, color);
                around.push(Some((head, dump::dump(&checked, &args.dump, text)?)));
                report.checks.push(checked.check);
            }
            Err(failure) => {
                codes.push(failure.code);
                eprint!("{}", failure.render(color && text));
                let file = args.file().display();
                around.push(None);
                report
                    .checks
                    .push(failed(&format!("{file}: {name}"), &failure));
            }
        }
    }
    known.apply(
        &mut report,
        &args.texts(),
        args.is_complete(),
        color && text,
    )?;
    let judged = report.checks.iter().zip(&around);
    codes.extend(
        judged
            .filter(|(_, around)| around.is_some())
            .map(|(check, _)| verdict::code(check, args.deny.map(Level::from))),
    );
    let mended = fix::fix(args, &mut report)?;
    args.also.write(&report)?;
    let output = match text {
        true => shown(report, &around, color) + &mended,
        false => report::render(&report, args.format),
    };
    Ok((output, worst(&codes)))
}

/// The checks as text. Failures have been told already.
fn shown(report: Report, around: &[Option<(String, String)>], color: bool) -> String {
    let mut output = String::new();
    for (check, around) in report.checks.into_iter().zip(around) {
        let Some((head, dumped)) = around else {
            continue;
        };
        let one = Report {
            checks: vec![check],
        };
        let separator = if output.is_empty() { "" } else { "\n" };
        let shown = report::terminal::render(&one, color);
        output += &format!("{separator}{head}{shown}{dumped}");
    }
    output
}

/// The exit code of several kernels: findings count most, then bad input, then what could not be told.
fn worst(codes: &[u8]) -> u8 {
    let order = [exit::FINDINGS, exit::USAGE, exit::INCONCLUSIVE];
    let found = order.into_iter().find(|code| codes.contains(code));
    found.unwrap_or(exit::OK)
}

/// The report of a check that failed before there was a verdict.
fn failed(name: &str, failure: &Failure) -> report::Check {
    let message = failure.render(false);
    let message = message.strip_prefix("error: ").unwrap_or(&message);
    report::Check {
        name: name.to_owned(),
        verdict: Verdict::Inconclusive,
        ok: false,
        summary: message.trim_end().to_owned(),
        schedule_independent: None,
        setting: None,
        diagnostics: Vec::new(),
        unseen: report::Unseen::default(),
        judged: report::Judged::default(),
        output: String::new(),
        time: Duration::ZERO,
    }
}

/// Checks the kernels; each with what came of it.
fn checked(args: &CheckArgs) -> Result<Vec<(String, Result<Checked, Failure>)>, Failure> {
    let mut one = args.kernel.clone();
    one.entry.truncate(1);
    let mut request = one.request(args.file())?;
    request.further = args.files[1..].to_vec();
    args.second(&mut request)?;
    request.perf = args.perf;
    if args.plain {
        request.engine = Engine::Plain;
    }
    request.trace = args.trace || args.format == Format::Html || args.also.has(Format::Html);
    request.inputs = args.inputs;
    let watch = Watched::begin(request.budgets.time);
    let all = match args.kernels() {
        Some(kernels) => {
            let all = check::check_each(&request, &kernels, &watch)?.into_iter();
            all.map(|(name, checked)| (name, checked.map_err(Failure::from)))
                .collect()
        }
        None => vec![(String::new(), Ok(check::check(&request, &watch)?))],
    };
    watch.end();
    Ok(all)
}

impl From<Deny> for Level {
    fn from(deny: Deny) -> Level {
        match deny {
            Deny::Warning => Level::Warning,
            Deny::Note => Level::Note,
        }
    }
}

/// Cores to use: as many as asked for, or all.
pub(super) fn jobs(given: Option<u32>) -> usize {
    match given {
        Some(jobs) => jobs as usize,
        None => std::thread::available_parallelism().map_or(1, usize::from),
    }
}
