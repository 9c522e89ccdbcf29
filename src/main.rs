//! The `racetrap` program; see [`racetrap::cli`].

fn main() -> std::process::ExitCode {
    racetrap::cli::main()
}
