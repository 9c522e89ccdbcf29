//! The command line.
//!
//! One file a command; each returns what it prints and how it exits, or a
//! [`Failure`]: the one message with the place and the remedy.

mod accept;
pub mod check;
mod check_progress;
mod claims;
mod dev;
mod diff;
mod doctor;
mod exec;
mod expected;
mod explain;
mod gpu;
#[cfg(feature = "grade")]
mod grade;
mod manual;
mod mutate;
mod new;
mod progress;
mod report_files;
mod run;
mod sanitize;
mod setup;
#[cfg(unix)]
mod signals;
mod test;
mod value_enums;

use report::Failure;

use clap::{CommandFactory, Parser, Subcommand};
use report::exit;
use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;

const ABOUT: &str = "Catches GPU race bugs, with a GPU and without one";

const LONG_ABOUT: &str = "\
racetrap runs CUDA kernels on a simulator that needs no GPU and reports their races and barrier
bugs: both guilty lines, how to fix them, and what a clean verdict promises.";

const EXAMPLES: &str = "\
Examples:
  racetrap check kernel.cu       find the races of your kernel
  racetrap mutate kernel.cu      find out which of its barriers are needed
  racetrap diff A B              compare two kernels' PTX
  racetrap grade task.yaml ada/  grade a student's kernel
  racetrap explain data-race     learn what a finding means and how to fix it
  racetrap run scan -v           run the scans of the catalogue and show their findings
  racetrap doctor                see which optional tools are installed

Exit status: 0 as expected, 1 findings or unexpected verdicts, 2 usage or bad input,
3 inconclusive.";

/// The program's arguments.
#[derive(Parser, Debug)]
#[command(name = "racetrap", version, about = ABOUT, long_about = LONG_ABOUT, after_help = EXAMPLES)]
pub struct Cli {
    /// Colours in what is printed
    #[arg(long, global = true, value_enum, default_value_t = Color::Auto, value_name = "WHEN")]
    color: Color,
    #[command(subcommand)]
    command: Command,
}

/// When to print in colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Color {
    /// On terminals, unless NO_COLOR is set.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

#[derive(Subcommand, Debug)]
enum Command {
    /// Check a kernel of your own, CUDA source or PTX
    Check(Box<check::CheckArgs>),
    /// Run a CUDA program, host code and all, on a simulated GPU
    #[command(long_about = exec::ABOUT)]
    Exec(Box<exec::ExecArgs>),
    /// Run a build so that `exec` can run what it makes
    Build(exec::BuildArgs),
    /// Run a program under NVIDIA's compute-sanitizer, on a GPU
    #[command(long_about = sanitize::ABOUT)]
    Sanitize(Box<sanitize::SanitizeArgs>),
    /// Find out which barriers, fences, scopes and atomics of a kernel are needed
    #[command(long_about = mutate::ABOUT)]
    Mutate(Box<mutate::MutateArgs>),
    /// Grade submissions of a course assignment
    #[cfg(feature = "grade")]
    #[command(long_about = grade::ABOUT)]
    Grade(Box<grade::GradeArgs>),
    /// Grade submissions of a course assignment (not in this build)
    #[cfg(not(feature = "grade"))]
    #[command(disable_help_flag = true)]
    Grade {
        /// What it would be called with
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
        arguments: Vec<OsString>,
    },
    /// Compare the PTX of two kernels and name what the compiler did
    Diff(Box<diff::DiffArgs>),
    /// Explain a rule or an effect of `diff`; without a name, list them
    Explain {
        /// The rule or effect, such as data-race or store-elided
        rule: Option<String>,
    },
    /// Run a catalogue of correct and buggy kernels
    Run(run::RunArgs),
    /// Test the cases of a catalogue on the simulator, on a GPU, or under a tool of compute-sanitizer
    #[command(long_about = test::ABOUT)]
    Test(test::TestArgs),
    /// Make a project for kernels with tests: on the simulator, and on GPUs
    #[command(long_about = new::ABOUT)]
    New(new::NewArgs),
    /// List the cases of the catalogue
    List(run::ListArgs),
    /// Repeat one run of a case
    Replay(run::ReplayArgs),
    /// Decide claims that documents make about CUDA
    Claims(claims::ClaimsArgs),
    /// Show which optional tools are installed, what each is for, and how to get it
    Doctor,
    /// Get the CUDA compiler, without root
    #[command(long_about = setup::ABOUT)]
    Setup(setup::SetupArgs),
    /// Write the manual pages into a folder
    Man {
        /// The folder
        #[arg(value_name = "FOLDER")]
        folder: std::path::PathBuf,
    },
    /// Print completions for a shell
    Completions {
        /// The shell
        #[arg(value_enum)]
        shell: clap_complete::Shell,
    },
    /// Work on racetrap, a catalogue, or evidence from GPUs
    Dev(dev::DevArgs),
}

/// Runs the program and returns its exit code.
pub fn main() -> ExitCode {
    let cli = Cli::parse_from(arguments(std::env::args_os()));
    anstream::ColorChoice::from(cli.color).write_global();
    let color = wants_color(cli.color, &std::io::stdout());
    #[cfg(unix)]
    signals::handle();
    match command(&cli, color) {
        Ok((text, code)) => match print(&text) {
            Ok(()) => ExitCode::from(code),
            Err(error) => {
                eprintln!("error: can't write to stdout: {error}");
                ExitCode::from(exit::INCONCLUSIVE)
            }
        },
        Err(failure) => {
            let color = wants_color(cli.color, &std::io::stderr());
            let _ = std::io::stderr().write_all(failure.render(color).as_bytes());
            ExitCode::from(failure.code)
        }
    }
}

/// The arguments as the parser wants them. Those of another program's command line stay as they are.
fn arguments(all: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let all: Vec<OsString> = all.collect();
    match all.get(1).and_then(|command| command.to_str()) {
        Some("exec" | "build" | "sanitize") => all,
        _ => all.into_iter().map(as_nvcc_writes_it).collect(),
    }
}

/// Takes nvcc's long options with one dash, `-std=c++17` and `-arch=sm_90`, for what they mean.
fn as_nvcc_writes_it(argument: OsString) -> OsString {
    match argument.to_str() {
        Some(text) if text.starts_with("-std") || text.starts_with("-arch") => {
            format!("-{text}").into()
        }
        _ => argument,
    }
}

fn command(cli: &Cli, color: bool) -> Result<(String, u8), Failure> {
    match &cli.command {
        Command::Check(args) => check::check(args, color),
        #[cfg(feature = "grade")]
        Command::Grade(args) => grade::grade(args),
        #[cfg(not(feature = "grade"))]
        Command::Grade { arguments } => Err(without_grade(arguments)),
        Command::Exec(args) => {
            let color = wants_color(cli.color, &std::io::stderr());
            exec::exec(args, color)
        }
        Command::Build(args) => exec::build(args),
        Command::Sanitize(args) => {
            let color = wants_color(cli.color, &std::io::stderr());
            sanitize::sanitize(args, color)
        }
        Command::Run(args) => run::run(args, color),
        Command::Test(args) => test::test(args, color),
        Command::New(args) => new::new(args),
        Command::List(args) => run::list(args, color),
        Command::Replay(args) => run::replay(args, color),
        Command::Claims(args) => claims::claims(args, color),
        Command::Diff(args) => diff::diff(args, color),
        Command::Mutate(args) => mutate::mutate(args, color),
        Command::Dev(args) => dev::dev(args, color),
        Command::Explain { rule } => {
            explain::explain(rule.as_deref(), color).map(|text| (text, exit::OK))
        }
        Command::Doctor => Ok((doctor::doctor(color), exit::OK)),
        Command::Setup(args) => setup::setup(args),
        Command::Man { folder } => manual::write(folder),
        Command::Completions { shell } => {
            let mut text = Vec::new();
            clap_complete::generate(*shell, &mut Cli::command(), "racetrap", &mut text);
            Ok((String::from_utf8_lossy(&text).into_owned(), exit::OK))
        }
    }
}

/// What is said where the command `grade` was left out of the build.
#[cfg(not(feature = "grade"))]
fn without_grade(arguments: &[OsString]) -> Failure {
    let arguments: Vec<_> = arguments.iter().map(|a| a.to_string_lossy()).collect();
    let called = format!("racetrap grade {}", arguments.join(" "));
    Failure::usage(format!("`{}`: this racetrap was built without the command `grade`", called.trim_end())).help(
        "release archives have it; in a checkout, `cargo install --path . --features grade` installs it, and \
         `cargo run --release --features grade -- grade …` runs it",
    )
}

/// The command line's reference, docs/cli.md: what `--help` prints.
fn reference() -> String {
    let mut out = String::from(
        "# The command line\n\nWhat `racetrap --help` and `racetrap COMMAND --help` print. Generated by \
         `cargo run -- dev renew`; exit statuses are those of [`crates/report/src/exit.rs`](../crates/report/src/exit.rs).\n",
    );
    let mut section = |name: &str, command: &mut clap::Command| {
        let help = command.render_long_help().to_string();
        let lines: Vec<&str> = help.lines().map(str::trim_end).collect();
        out += &format!(
            "\n## {name}\n\n```text\n{}\n```\n",
            lines.join("\n").trim_end()
        );
    };
    let mut whole = Cli::command().term_width(100).bin_name("racetrap");
    whole.build();
    section("racetrap", &mut whole);
    for command in whole.get_subcommands_mut() {
        let name = format!("racetrap {}", command.get_name());
        if command.get_name() == "help" {
            continue;
        }
        section(&name, command);
        if command.get_name() == "dev" {
            for command in command.get_subcommands_mut() {
                if command.get_name() != "help" {
                    section(&format!("{name} {}", command.get_name()), command);
                }
            }
        }
    }
    out
}

impl From<Color> for anstream::ColorChoice {
    fn from(color: Color) -> anstream::ColorChoice {
        match color {
            Color::Auto => anstream::ColorChoice::Auto,
            Color::Always => anstream::ColorChoice::Always,
            Color::Never => anstream::ColorChoice::Never,
        }
    }
}

/// Whether to print in colour to `stream`: as asked for, or on terminals unless `NO_COLOR` says no.
fn wants_color(color: Color, stream: &dyn anstream::stream::IsTerminal) -> bool {
    let terminal = stream.is_terminal();
    match color {
        Color::Always => true,
        Color::Never => false,
        Color::Auto => {
            terminal
                && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty())
                && std::env::var_os("TERM").is_none_or(|t| t != "dumb")
        }
    }
}

/// Writes to stdout. A reader that has gone (`racetrap list | head`) is no error.
fn print(text: &str) -> std::io::Result<()> {
    // What machines read spells control characters out.
    let for_readers = !text.starts_with(['{', '[', '<']);
    let text = match for_readers {
        true => report::safe(text),
        false => text.into(),
    };
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn options_for_the_compiler_may_look_as_they_do_there() {
        let given = [
            "racetrap",
            "check",
            "a.cu",
            "-std=c++17",
            "-arch",
            "sm_90",
            "-DN=3",
            "-Iinclude",
        ];
        let cli = Cli::try_parse_from(given.iter().map(|a| as_nvcc_writes_it(a.into())));
        assert!(matches!(cli.unwrap().command, Command::Check(_)));
    }
}
