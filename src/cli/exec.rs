//! `racetrap exec`: a whole program, host code and all, on the simulated device.

mod arguments;

use super::check_progress::pace;
use super::progress::Progress;
pub use arguments::ExecArgs;
use arguments::{On, capability, misplaced};
use clap::Args;
use context::options::Options;
use context::pulse::Pulse;
use detect::rules::Level;
use exec::collect::Collected;
use exec::run::Ended;
use exec::{build, cmake, gpu, library, program, run, target, toolkit};
use report::{Failure, Format, exit};
use std::ffi::OsString;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use toolchain::{Nvcc, Searched};

/// What `--help` says.
pub const ABOUT: &str = "\
Run a CUDA program, host code and all, on a simulated GPU, and report its races, barrier bugs, memory errors and misuse of the API.

The program runs in its own process, with its own arguments, input, output and files; device memory and kernels are simulated there. \
It must use the shared CUDA runtime and contain PTX: `racetrap build -- make` builds it so, and a `.cu` file is compiled so. \
Python's Numba, numba-cuda and Triton are made to hand over their PTX. The report goes to stderr after the program has ended.";

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
    if let Some(option) = misplaced(&command).filter(|_| !args.quiet) {
        eprintln!(
            "note: `{option}` stands behind `{name}`, so the program gets it; options of racetrap stand in front of the program"
        );
    }
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
    let shown = options.pulse.then(|| {
        let folder = folder.to_owned();
        let over = timeout.map(|limit| started + limit);
        Progress::paced(move || running(Pulse::read(&folder), over))
    });
    let ended = run::run(command, folder, options, preload, timeout, &live)
        .map_err(|e| failed(&format!("run `{name}`"), &e))?;
    drop(shown);
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

/// The launch that runs, how fast that goes, and what is left of its time or the program's.
fn running(pulse: Option<Pulse>, over: Option<Instant>) -> String {
    let Some(pulse) = pulse else {
        return String::new();
    };
    let took = Duration::from_secs_f64(pulse.seconds);
    let limit = Duration::try_from_secs_f64(pulse.limit).unwrap_or(Duration::MAX);
    let program = over.map(|over| took + over.saturating_duration_since(Instant::now()));
    let limit = program.map_or(limit, |program| program.min(limit));
    let pace = pace(pulse.steps, took, Some(limit));
    format!("launch {}, {}: {pace}", pulse.launch, pulse.kernel)
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsString;

    fn of(line: &str) -> Option<String> {
        let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        misplaced(&words).map(str::to_owned)
    }

    #[test]
    fn an_option_behind_the_program_is_noticed() {
        assert_eq!(of("prog.cu --format html").as_deref(), Some("--format"));
        assert_eq!(
            of("./prog 12 --report=out.html").as_deref(),
            Some("--report")
        );
        assert_eq!(of("./prog --size 12"), None);
        // The user has said whose it is.
        assert_eq!(of("prog.cu -- --format html"), None);
    }

    #[test]
    fn the_line_names_launch_kernel_pace_and_what_is_left() {
        let pulse = Pulse {
            launch: 12,
            kernel: "reduce(float*)".into(),
            steps: 12_000_000,
            seconds: 4.0,
            limit: 600.0,
        };
        assert_eq!(
            running(Some(pulse.clone()), None),
            "launch 12, reduce(float*): 3.0 M warp-instructions (96 M of threads) a second, 596 s left"
        );
        let program = running(Some(pulse), Some(Instant::now()));
        assert!(program.ends_with(", 0 s left"), "{program}");
        assert_eq!(running(None, None), "");
    }
}
