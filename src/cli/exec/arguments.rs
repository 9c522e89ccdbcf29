//! The command line of `racetrap exec`, as options of the run and as the command that repeats it.

use crate::cli::accept::AcceptArgs;
use crate::cli::expected::Expected;
use crate::cli::report_files::AlsoArgs;
use crate::cli::value_enums::choice;
use check::verdict::quote;
use clap::Args;
use context::options::Options;
use report::{Format, exit};
use std::ffi::OsString;
use std::io::IsTerminal as _;
use std::path::PathBuf;
use toolchain::CompileOptions;

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
pub(super) enum On {
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
    pub(super) command: Vec<OsString>,

    /// Watch launches of the kernels that this pattern matches: a name, with `*` for any text (can be given again)
    #[arg(long, value_name = "PATTERN", help_heading = "What is watched")]
    pub(super) kernel: Vec<String>,
    /// Do not watch launches of the kernels that this pattern matches (can be given again)
    #[arg(long, value_name = "PATTERN", help_heading = "What is watched")]
    pub(super) skip_kernel: Vec<String>,
    /// Watch the first launches of each kernel and geometry [default: 3; on a GPU all]
    #[arg(long, value_name = "N", help_heading = "What is watched")]
    pub(super) first: Option<u64>,
    /// Of the later launches, watch every Nth [default: those whose number is a power of two]
    #[arg(long, value_name = "N", help_heading = "What is watched")]
    pub(super) every: Option<u64>,
    /// Judge performance too: bank conflicts, coalescing, divergent branches
    #[arg(long, help_heading = "What is watched")]
    pub(super) perf: bool,

    /// Do not watch what the host itself does to memory that work of the device uses (see `--help`)
    ///
    /// Pages of pinned, mapped and managed memory are closed to the program until it has waited for the work that uses them. A system call
    /// that is given such a page fails (`EFAULT`), where the program could have been lucky on a GPU.
    #[arg(long, help_heading = "What is watched")]
    pub(super) no_host_accesses: bool,

    /// Try up to this many schedules of a watched launch whose outcome may depend on the order of threads
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=10_000), help_heading = "Budgets")]
    pub(super) schedules: u32,
    /// Time that further schedules may take, in percent of the kernels' own; at least 3 seconds
    #[arg(long, value_name = "PERCENT", default_value_t = 50, value_parser = clap::value_parser!(u32).range(0..=1_000_000), help_heading = "Budgets")]
    pub(super) budget: u32,
    /// Stop the program after this many seconds
    #[arg(long, value_name = "SECONDS", help_heading = "Budgets")]
    pub(super) timeout: Option<f64>,
    /// Budget of a launch, in warp-instructions
    #[arg(long, value_name = "STEPS", default_value_t = 1 << 40, help_heading = "Budgets")]
    pub(super) max_steps: u64,
    /// Budget of a launch, in seconds
    #[arg(
        long,
        value_name = "SECONDS",
        default_value_t = 600.0,
        help_heading = "Budgets"
    )]
    pub(super) launch_timeout: f64,

    /// Where kernels run: on the simulator, or on the GPU with race checks in their PTX
    #[arg(long, value_enum, default_value_t = On::Simulator, value_name = "WHERE", help_heading = "Device")]
    pub(super) on: On,

    /// Cores that the simulated GPU may use [default: all] (see `--help`)
    ///
    /// Blocks of one launch are dealt out where nothing that they do depends on their order. Launches that are not watched are dealt out where
    /// those of the same kernel that were watched showed that. If such a launch has a race all the same, its results may differ from run to run; with
    /// 1 they never do. [default: all]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024), help_heading = "Device")]
    pub(super) jobs: Option<u32>,
    /// Which GPU to simulate: sm_75, sm_80, sm_90 [default: the oldest that the program is for]
    #[arg(long, value_name = "sm_NN", value_parser = capability, help_heading = "Device")]
    pub(super) device: Option<u32>,
    /// Its memory, in MiB
    #[arg(long, value_name = "MIB", default_value_t = 16384, value_parser = clap::value_parser!(u64).range(1..=262_144), help_heading = "Device")]
    pub(super) memory: u64,

    /// Execute kernels with the plain engine: slow, and the way to doubt us (see `--help`)
    ///
    /// It executes lane after lane and byte after byte, on one core, without any of the shortcuts that the usual engine takes. Both must give
    /// the same memory, output, findings and counts. If they differ, please report it.
    #[arg(long, help_heading = "Device")]
    pub(super) plain: bool,

    #[command(flatten)]
    pub(super) accept: AcceptArgs,
    #[command(flatten)]
    pub(super) also: AlsoArgs,

    /// How to print what was found
    #[arg(long, visible_alias = "output", value_parser = choice::<Format>(), default_value = "text", help_heading = "Output")]
    pub(super) format: Format,
    /// Write the report to a file instead of stderr
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(super) report: Option<PathBuf>,
    /// Write down what happened around each finding: all accesses of the location with values, barriers (`html` has it always)
    #[arg(long, help_heading = "Output")]
    pub(super) trace: bool,
    /// Say nothing where there is nothing to say
    #[arg(long, short, help_heading = "Output")]
    pub(super) quiet: bool,
    /// Exit with this status if there are errors or warnings
    #[arg(long, value_name = "STATUS", default_value_t = exit::FINDINGS, help_heading = "Output")]
    pub(super) exit_code: u8,

    /// Define a macro for the compiler
    #[arg(short = 'D', value_name = "NAME[=VALUE]", help_heading = "Compiler")]
    pub(super) defines: Vec<String>,
    /// Add a folder of headers for the compiler
    #[arg(short = 'I', value_name = "FOLDER", help_heading = "Compiler")]
    pub(super) includes: Vec<PathBuf>,
    /// C++ standard for the compiler: c++17, c++20
    #[arg(long, value_name = "STANDARD", help_heading = "Compiler")]
    pub(super) std: Option<String>,
    /// Another option for the compiler (can be given again)
    #[arg(
        long,
        value_name = "OPTION",
        allow_hyphen_values = true,
        help_heading = "Compiler"
    )]
    pub(super) nvcc: Vec<String>,
}

/// `sm_90` or `90`
pub(super) fn capability(text: &str) -> Result<u32, Expected> {
    let digits = text
        .trim_start_matches("sm_")
        .trim_start_matches("compute_");
    match digits.parse() {
        Ok(number @ (75 | 80 | 86 | 87 | 89 | 90 | 100 | 103 | 110 | 120 | 121)) => Ok(number),
        _ => Err(Expected("one of sm_75, sm_80, sm_90")),
    }
}

impl ExecArgs {
    pub(super) fn options(&self, capability: u32) -> Options {
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
            pulse: self.on == On::Simulator && std::io::stderr().is_terminal(),
            host: !self.no_host_accesses,
            jobs: crate::cli::check::jobs(self.jobs),
            traces: self.trace || self.format == Format::Html || self.also.has(Format::Html),
            ..Options::default()
        }
    }

    /// The same command, without what says how to report.
    pub(super) fn repeated(&self) -> String {
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
    pub(super) fn is_source(&self) -> bool {
        self.command[0].to_string_lossy().ends_with(".cu")
    }

    pub(super) fn compiler(&self) -> CompileOptions {
        CompileOptions {
            defines: self.defines.clone(),
            includes: self.includes.clone(),
            std: self.std.clone(),
            arch: None,
            ..CompileOptions::default()
        }
    }
}

/// An option of ours that stands behind the program, and so is the program's.
pub(super) fn misplaced(command: &[OsString]) -> Option<&str> {
    const OURS: [&str; 6] = [
        "--also",
        "--baseline",
        "--format",
        "--perf",
        "--plain",
        "--report",
    ];
    let words = command.iter().skip(1).map_while(|word| word.to_str());
    let own = words.take_while(|word| *word != "--");
    let mut names = own.map(|word| word.split_once('=').map_or(word, |(name, _)| name));
    names.find(|name| OURS.contains(name))
}

#[cfg(test)]
mod tests {
    use super::misplaced;
    use std::ffi::OsString;

    #[test]
    fn options_behind_the_program_are_noticed() {
        let of = |line: &str| {
            let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            misplaced(&words).map(str::to_owned)
        };
        assert_eq!(of("prog.cu --format html").as_deref(), Some("--format"));
        assert_eq!(of("prog.cu 7 --report=r.html").as_deref(), Some("--report"));
        // What is no option of ours, and what is plainly the program's.
        assert_eq!(of("./prog --size 7"), None);
        assert_eq!(of("./prog -- --format html"), None);
    }
}
