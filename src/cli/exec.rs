//! `racetrap exec`: a whole program, host code and all, on the simulated device.

use super::accept::AcceptArgs;
use super::report_files::AlsoArgs;
use super::value_enums::choice;
use check::verdict::quote;
use clap::Args;
use context::options::Options;
use detect::rules::Level;
use exec::collect::Collected;
use exec::run::Ended;
use exec::{build, cmake, gpu, library, program, run, target, toolkit};
use report::{Failure, Format, exit};
use std::ffi::OsString;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use toolchain::{CompileOptions, Nvcc, Searched};

/// What `--help` says.
pub const ABOUT: &str = "\
Run a CUDA program, host code and all, on a simulated GPU, and report its races, barrier bugs, memory errors and misuse of the API.

The program runs in its own process, with its own arguments, input, output and files; device memory and kernels are simulated there. \
It must use the shared CUDA runtime and contain PTX: `racetrap build -- make` builds it so, and a `.cu` file is compiled so. \
Python's Numba, numba-cuda and Triton are made to hand over their PTX. The report goes to stderr after the program has ended.";

const EXAMPLES: &str = "\
Examples:
  racetrap exec prog.cu
      compiles a program and runs it
  racetrap exec prog.cu -- 1024 --verbose
      the same with arguments
  racetrap build -- make && racetrap exec -- ./prog 1024
      builds with the project's own makefile, and runs what it made
  racetrap exec --kernel reduce --first 10 -- ./prog
      watches one kernel, in its first ten launches with each geometry

Exit status: 1 if there are errors or warnings that are not accepted, else the program's own; 3 where that is 0 and
the result can't be told (a function that is not supported, no launch at all).";

/// Where kernels run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum On {
    /// On the simulator
    Simulator,
    /// On the machine's GPU
    Gpu,
}

/// Options of `racetrap exec`.
#[derive(Args, Clone, Debug)]
#[command(after_help = EXAMPLES)]
pub struct ExecArgs {
    /// The program and its arguments; a `.cu` file is compiled first
    #[arg(
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "PROGRAM|FILE.cu"
    )]
    command: Vec<OsString>,

    /// Watch launches of the kernels that this pattern matches: a name, with `*` for any text (can be given again)
    #[arg(long, value_name = "PATTERN", help_heading = "What is watched")]
    kernel: Vec<String>,
    /// Do not watch launches of the kernels that this pattern matches (can be given again)
    #[arg(long, value_name = "PATTERN", help_heading = "What is watched")]
    skip_kernel: Vec<String>,
    /// Watch the first launches of each kernel and geometry [default: 3; on a GPU all]
    #[arg(long, value_name = "N", help_heading = "What is watched")]
    first: Option<u64>,
    /// Of the later launches, watch every Nth [default: those whose number is a power of two]
    #[arg(long, value_name = "N", help_heading = "What is watched")]
    every: Option<u64>,
    /// Judge performance too: bank conflicts, coalescing, divergent branches
    #[arg(long, help_heading = "What is watched")]
    perf: bool,

    /// Do not watch what the host itself does to memory that work of the device uses (see `--help`)
    ///
    /// Pages of pinned, mapped and managed memory are closed to the program until it has waited for the work that uses them. A system call
    /// that is given such a page fails (`EFAULT`), where the program could have been lucky on a GPU.
    #[arg(long, help_heading = "What is watched")]
    no_host_accesses: bool,

    /// Try up to this many schedules of a watched launch whose outcome may depend on the order of threads
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=10_000), help_heading = "Budgets")]
    schedules: u32,
    /// Time that further schedules may take, in percent of the kernels' own; at least 3 seconds
    #[arg(long, value_name = "PERCENT", default_value_t = 50, value_parser = clap::value_parser!(u32).range(0..=1_000_000), help_heading = "Budgets")]
    budget: u32,
    /// Stop the program after this many seconds
    #[arg(long, value_name = "SECONDS", help_heading = "Budgets")]
    timeout: Option<f64>,
    /// Budget of a launch, in warp-instructions
    #[arg(long, value_name = "STEPS", default_value_t = 1 << 40, help_heading = "Budgets")]
    max_steps: u64,
    /// Budget of a launch, in seconds
    #[arg(
        long,
        value_name = "SECONDS",
        default_value_t = 600.0,
        help_heading = "Budgets"
    )]
    launch_timeout: f64,

    /// Where kernels run: on the simulator, or on the GPU with race checks in their PTX
    #[arg(long, value_enum, default_value_t = On::Simulator, value_name = "WHERE", help_heading = "Device")]
    on: On,

    /// Cores that the simulated GPU may use [default: all] (see `--help`)
    ///
    /// Blocks of one launch are dealt out where nothing that they do depends on their order. Launches that are not watched are dealt out where
    /// those of the same kernel that were watched showed that. If such a launch has a race all the same, its results may differ from run to run; with
    /// 1 they never do. [default: all]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024), help_heading = "Device")]
    jobs: Option<u32>,
    /// Which GPU to simulate: sm_75, sm_80, sm_90 [default: the oldest that the program is for]
    #[arg(long, value_name = "sm_NN", value_parser = capability, help_heading = "Device")]
    device: Option<u32>,
    /// Its memory, in MiB
    #[arg(long, value_name = "MIB", default_value_t = 16384, value_parser = clap::value_parser!(u64).range(1..=262_144), help_heading = "Device")]
    memory: u64,

    /// Execute kernels with the plain engine: slow, and the way to doubt us (see `--help`)
    ///
    /// It executes lane after lane and byte after byte, on one core, without any of the shortcuts that the usual engine takes. Both must give
    /// the same memory, output, findings and counts. If they differ, please report it.
    #[arg(long, help_heading = "Device")]
    plain: bool,

    #[command(flatten)]
    accept: AcceptArgs,
    #[command(flatten)]
    also: AlsoArgs,

    /// How to print what was found
    #[arg(long, visible_alias = "output", value_parser = choice::<Format>(), default_value = "text", help_heading = "Output")]
    format: Format,
    /// Write the report to a file instead of stderr
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    report: Option<PathBuf>,
    /// Write down what happened around each finding: all accesses of the location with values, barriers (`html` has it always)
    #[arg(long, help_heading = "Output")]
    trace: bool,
    /// Say nothing where there is nothing to say
    #[arg(long, short, help_heading = "Output")]
    quiet: bool,
    /// Exit with this status if there are errors or warnings
    #[arg(long, value_name = "STATUS", default_value_t = exit::FINDINGS, help_heading = "Output")]
    exit_code: u8,

    /// Define a macro for the compiler
    #[arg(short = 'D', value_name = "NAME[=VALUE]", help_heading = "Compiler")]
    defines: Vec<String>,
    /// Add a folder of headers for the compiler
    #[arg(short = 'I', value_name = "FOLDER", help_heading = "Compiler")]
    includes: Vec<PathBuf>,
    /// C++ standard for the compiler: c++17, c++20
    #[arg(long, value_name = "STANDARD", help_heading = "Compiler")]
    std: Option<String>,
    /// Another option for the compiler (can be given again)
    #[arg(
        long,
        value_name = "OPTION",
        allow_hyphen_values = true,
        help_heading = "Compiler"
    )]
    nvcc: Vec<String>,
}

/// `sm_90` or `90`
fn capability(text: &str) -> Result<u32, String> {
    let digits = text
        .trim_start_matches("sm_")
        .trim_start_matches("compute_");
    match digits.parse() {
        Ok(number @ (75 | 80 | 86 | 87 | 89 | 90 | 100 | 103 | 110 | 120 | 121)) => Ok(number),
        _ => Err("one of sm_75, sm_80, sm_90".into()),
    }
}

impl ExecArgs {
    fn options(&self, capability: u32) -> Options {
        Options {
            capability,
            memory: self.memory << 20,
            first: self.first.unwrap_or(match self.on {
                On::Simulator => 3,
                On::Gpu => u64::MAX,
            }),
            every: self.every,
            schedules: self.schedules,
            budget: self.budget,
            kernels: self.kernel.clone(),
            skipped: self.skip_kernel.clone(),
            launch_seconds: self.launch_timeout,
            steps: self.max_steps,
            perf: self.perf,
            plain: self.plain,
            host: !self.no_host_accesses,
            jobs: super::check::jobs(self.jobs),
            traces: self.trace || self.format == Format::Html || self.also.has(Format::Html),
            ..Options::default()
        }
    }

    /// The same command, without what says how to report.
    fn repeated(&self) -> String {
        let usual = Options::default();
        let mut words = vec!["racetrap exec".to_owned()];
        let mut flag = |name: &str, value: String| words.push(format!("{name} {}", quote(&value)));
        for kernel in &self.kernel {
            flag("--kernel", kernel.clone());
        }
        for kernel in &self.skip_kernel {
            flag("--skip-kernel", kernel.clone());
        }
        if self.on == On::Gpu {
            flag("--on", "gpu".to_owned());
        }
        if let Some(first) = self.first {
            flag("--first", first.to_string());
        }
        if let Some(every) = self.every {
            flag("--every", every.to_string());
        }
        if self.schedules != usual.schedules {
            flag("--schedules", self.schedules.to_string());
        }
        if self.budget != usual.budget {
            flag("--budget", self.budget.to_string());
        }
        if self.max_steps != usual.steps {
            flag("--max-steps", self.max_steps.to_string());
        }
        if let Some(device) = self.device {
            flag("--device", format!("sm_{device}"));
        }
        if self.memory << 20 != usual.memory {
            flag("--memory", self.memory.to_string());
        }
        for define in &self.defines {
            flag("-D", define.clone());
        }
        for folder in &self.includes {
            flag("-I", folder.display().to_string());
        }
        if let Some(standard) = &self.std {
            flag("--std", standard.clone());
        }
        for option in &self.nvcc {
            flag("--nvcc", option.clone());
        }
        let switches = [
            (self.perf, "--perf"),
            (self.plain, "--plain"),
            (self.no_host_accesses, "--no-host-accesses"),
        ];
        words.extend(switches.iter().filter(|s| s.0).map(|s| s.1.to_owned()));
        if !self.is_source() {
            words.push("--".to_owned());
        }
        words.extend(self.command.iter().map(|w| quote(&w.to_string_lossy())));
        words.join(" ")
    }

    /// Whether the program is compiled first.
    fn is_source(&self) -> bool {
        self.command[0].to_string_lossy().ends_with(".cu")
    }

    fn compiler(&self) -> CompileOptions {
        CompileOptions {
            defines: self.defines.clone(),
            includes: self.includes.clone(),
            std: self.std.clone(),
            arch: None,
            ..CompileOptions::default()
        }
    }
}

/// Runs the command.
///
/// # Errors
///
/// The program can't be built or started, or would not use the simulated device.
pub fn exec(args: &ExecArgs, color: bool) -> Result<(String, u8), Failure> {
    let known = args.accept.load()?;
    let folder = tempfile::tempdir().map_err(|e| failed("make a temporary folder", &e))?;
    let mut command = args.command.clone();
    let name = command[0].to_string_lossy().into_owned();
    if args.on == On::Gpu {
        let options = for_gpu(args, folder.path())?;
        return run_and_report(
            args,
            color,
            &command,
            &name,
            folder.path(),
            &options,
            false,
            &known,
        );
    }
    if args.is_source() {
        let program = folder.path().join("program");
        compile(args, Path::new(&name), &program, folder.path())?;
        command[0] = program.into();
        if command.get(1).is_some_and(|a| a == "--") {
            command.remove(1);
        }
    }
    let (runtime, oldest) = suitable(&command[0].to_string_lossy())?;
    if !args.is_source() {
        install(folder.path(), runtime.as_deref())?;
    }
    let device = args.device.unwrap_or(oldest);
    let options = args.options(device);
    let preload = runtime.is_some();
    run_and_report(
        args,
        color,
        &command,
        &name,
        folder.path(),
        &options,
        preload,
        &known,
    )
}

/// The library in front of the driver goes into the folder.
fn for_gpu(args: &ExecArgs, folder: &Path) -> Result<Options, Failure> {
    if args.is_source() {
        return Err(Failure::usage("`--on gpu` runs programs, not sources".to_owned())
            .help("compile it: `nvcc -lineinfo -gencode arch=compute_75,code=compute_75 -o prog prog.cu`"));
    }
    let driver = gpu::driver().map_err(|e| {
        Failure::usage(e.to_string()).help("without `--on gpu`, the simulator runs the kernels")
    })?;
    let library = gpu::library().map_err(|e| Failure::usage(e.to_string()))?;
    gpu::install(&library, &folder.join("lib"))
        .map_err(|e| failed("make a folder for the library", &e))?;
    Ok(Options {
        driver: Some(driver),
        ..args.options(0)
    })
}

/// Runs a command with what lies in the folder, and reports what was found.
#[allow(clippy::too_many_arguments)]
fn run_and_report(
    args: &ExecArgs,
    color: bool,
    command: &[OsString],
    name: &str,
    folder: &Path,
    options: &Options,
    preload: bool,
    known: &super::accept::Known<'_>,
) -> Result<(String, u8), Failure> {
    let timeout = args
        .timeout
        .filter(|s| *s > 0.0)
        .map(Duration::from_secs_f64);
    let started = Instant::now();
    let live = simt::Live::new();
    let _listening = super::signals::listen(&live);
    let ended = run::run(command, folder, options, preload, timeout, &live)
        .map_err(|e| failed(&format!("run `{name}`"), &e))?;
    let collected = Collected::read(folder);
    let mut report = collected.report(name, ended, started.elapsed());
    let again = args.repeated();
    for diagnostic in &mut report.checks[0].diagnostics {
        diagnostic.replay = Some(again.clone());
    }
    let complete = collected.is_complete() && args.kernel.is_empty() && args.skip_kernel.is_empty();
    known.apply(&mut report, &[], complete, color)?;
    args.also.write(&report)?;
    let check = &report.checks[0];
    let told = |d: &report::Diagnostic| d.accepted.is_none();
    let silent = args.quiet && check.ok && !check.diagnostics.iter().any(told);
    if !silent {
        let mut text = match args.format {
            Format::Text => report::terminal::render(&report, color && args.report.is_none()),
            format => report::render(&report, format),
        };
        if collected.launches() == 0 && args.format == Format::Text {
            text += match collected.processes.is_empty() {
                true => UNSEEN,
                false => IDLE,
            };
        }
        let written = match &args.report {
            Some(path) => std::fs::write(path, &text),
            None => std::io::stderr().write_all(text.as_bytes()),
        };
        written.map_err(|e| failed("write the report", &e))?;
    }
    let code = match (
        check.count(Level::Error) + check.count(Level::Warning),
        ended,
    ) {
        (1.., _) => args.exit_code,
        (0, Ended::Exit(0)) if !check.ok => exit::INCONCLUSIVE,
        (0, ended) => u8::try_from(ended.status() & 0xff).unwrap_or(exit::FINDINGS),
    };
    Ok((String::new(), code))
}

const IDLE: &str = "\
  help: it ended before it launched anything: it may need arguments or input (`racetrap exec -- PROGRAM ARGUMENTS`), and what it printed
        may say why. Programs that it starts are seen, too, if `racetrap build` built them.
";

const UNSEEN: &str = "\
  help: racetrap sees programs that load `libcudart.so` or `libcuda.so.1`. Build with the shared runtime: `racetrap build -- COMMAND`.
        Programs whose libraries contain the runtime (PyTorch, CuPy from version 13 on) can't be watched.
";

/// Puts the libraries into a folder of their own, for a program that is for this runtime.
fn install(folder: &Path, runtime: Option<&str>) -> Result<PathBuf, Failure> {
    install_from(&found_library()?, folder, runtime)
}

fn found_library() -> Result<PathBuf, Failure> {
    library::find().map_err(|missing| {
        let places: Vec<String> = missing
            .searched
            .iter()
            .map(|p| p.display().to_string())
            .collect();
        Failure::usage(missing.to_string())
            .text(format!("looked for: {}", places.join(", ")))
            .help("in a checkout, `cargo build --workspace` builds it, and `cargo install --path .` puts it into the program; release archives have it in lib/racetrap")
    })
}

fn install_from(file: &Path, folder: &Path, runtime: Option<&str>) -> Result<PathBuf, Failure> {
    let libraries = folder.join("lib");
    std::fs::create_dir_all(&libraries)
        .and_then(|()| library::install(file, &libraries, runtime))
        .map_err(|e| failed("make a folder for the libraries", &e))?;
    Ok(libraries)
}

fn compile(args: &ExecArgs, file: &Path, to: &Path, folder: &Path) -> Result<(), Failure> {
    if !file.is_file() {
        return Err(Failure::usage(format!(
            "can't read `{}`: no such file",
            file.display()
        )));
    }
    let nvcc = Nvcc::find().map_err(no_compiler)?;
    let libraries = install(folder, library::runtime_of(&nvcc))?;
    let options = args.compiler();
    let named = || target::of_options(&args.nvcc);
    let capability = args.device.map(|device| device.to_string()).or_else(named);
    let capability = capability.unwrap_or_else(|| target::OLDEST.to_string());
    let output = build::compile(
        &nvcc.program.path,
        file,
        to,
        &libraries,
        &capability,
        &options,
        &args.nvcc,
    )
    .map_err(|e| failed("run nvcc", &e))?;
    match output.status.success() {
        true => Ok(()),
        false => {
            let mut messages = String::from_utf8_lossy(&output.stderr).into_owned();
            messages += &String::from_utf8_lossy(&output.stdout);
            let message = format!("nvcc refuses {}", file.display());
            Err(Failure::usage(message).text(messages.trim_end().to_owned()))
        }
    }
}

/// The runtime library that a program names, which is then to be loaded before all others, and the oldest GPU that the program is for.
///
/// # Errors
///
/// The program is not there, or would not use the libraries.
fn suitable(command: &str) -> Result<(Option<String>, u32), Failure> {
    let Some(path) = program::find(command) else {
        return Err(Failure::usage(format!("there is no program `{command}`"))
            .help("give the path of a program, or of a `.cu` file to compile"));
    };
    let data = std::fs::read(&path).map_err(|e| failed(&format!("read `{command}`"), &e))?;
    let known = program::Program::of(&data);
    if known.has_static_runtime() {
        return Err(Failure::usage(format!(
            "`{command}` contains the CUDA runtime (`-cudart static`, nvcc's default), which racetrap can't replace"
        ))
        .help("build it again with the shared runtime: `racetrap build -- make`, or add `-cudart shared -lineinfo` to nvcc's options; with CMake, configure a folder for it: `racetrap build -- cmake -B build-racetrap -S .`, then `racetrap build -- cmake --build build-racetrap`"));
    }
    let oldest = target::of_program(&data).map_or(target::OLDEST, target::gpu);
    Ok((known.runtime().map(str::to_owned), oldest))
}

fn no_compiler(searched: Searched) -> Failure {
    Failure::usage("no CUDA compiler (nvcc) was found")
        .text(format!("looked in: {}", searched.0.join(", ")))
        .help("`racetrap setup` gets one, without a GPU or root; or set CUDA_PATH; or run a program that was built elsewhere")
}

fn failed(what: &str, error: &std::io::Error) -> Failure {
    Failure::usage(format!("can't {what}: {error}"))
}

const BUILD_EXAMPLES: &str = "\
Examples:
  racetrap build -- make -j4
  racetrap build -- cmake -B build -S .      and then: racetrap build -- cmake --build build
  racetrap build -- nvcc -o prog prog.cu

Objects that were built before must be built again (`make clean`). The command finds `nvcc` in its
path, and a toolkit with racetrap's libraries in CUDA_PATH; for makefiles that name one:
`racetrap build -- sh -c 'make CUDA_DIR=$CUDA_PATH'`. Architectures that the compiler no longer has
are left out. A folder that CMake configured without racetrap keeps the runtime of that toolkit:
configure another one.";

/// Options of `racetrap build`.
#[derive(Args, Clone, Debug)]
#[command(after_help = BUILD_EXAMPLES)]
pub struct BuildArgs {
    /// The command that builds
    #[arg(
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "COMMAND"
    )]
    command: Vec<OsString>,
    /// The architecture to make PTX for [default: the newest that each compilation names, or else the command; or sm_75]
    #[arg(long, value_name = "sm_NN", value_parser = capability)]
    device: Option<u32>,
}

/// Runs `racetrap build`.
///
/// # Errors
///
/// There is no compiler, or the command can't be started.
pub fn build(args: &BuildArgs) -> Result<(String, u8), Failure> {
    let nvcc = Nvcc::find().map_err(no_compiler)?;
    let library = found_library()?;
    let runtime = library::runtime_of(&nvcc);
    let temporary = tempfile::tempdir().map_err(|e| failed("make a temporary folder", &e))?;
    // Whichever way leads to it, one compiler has one folder; what only stands for it (ccache) goes by its name.
    let real = nvcc.program.path.canonicalize().ok();
    let real = real.filter(|real| real.file_name() == nvcc.program.path.file_name());
    let real = real.unwrap_or_else(|| nvcc.program.path.clone());
    let kept = toolkit::kept_for(&real, &library, runtime)
        .filter(|kept| std::fs::create_dir_all(kept).is_ok());
    if kept.is_none() && cmake::is_cmake(&args.command) {
        eprintln!(
            "racetrap: warning: there is no cache folder that can be written, so what CMake configures now can't be built by a later command; set XDG_CACHE_HOME"
        );
    }
    let folder = kept.as_deref().unwrap_or(temporary.path());
    let libraries = install_from(&library, folder, runtime)?;
    let toolkit = toolkit::make(&folder.join("toolkit"), &real, &libraries)
        .map_err(|e| failed("make a folder for the compiler", &e))?;
    if let Some(other) = cmake::configured_with(&args.command, Path::new("."), &toolkit) {
        eprintln!("racetrap: {other}");
    }
    let name = args.command[0].to_string_lossy();
    let named = || target::of_build(&args.command).filter(|arch| *arch > target::OLDEST);
    let device = build::Device {
        given: args.device,
        otherwise: named().unwrap_or(target::OLDEST),
    };
    let status = build::build(&args.command, &toolkit, &libraries, device)
        .map_err(|e| failed(&format!("run `{name}`"), &e))?;
    let code = status.code().and_then(|c| u8::try_from(c).ok());
    Ok((String::new(), code.unwrap_or(exit::FINDINGS)))
}
