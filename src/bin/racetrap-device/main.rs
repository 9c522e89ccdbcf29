//! Runs jobs on a GPU: reads one [`device::job::Job`] a line from standard input, and writes one [`device::job::Reply`] a line
//! to standard output.
//!
//! Kernels print to the standard output of their process, and so do tools that watch it. So the program first saves the
//! descriptor for replies and redirects standard output to a file, from which each reply takes its part. After an error from
//! which the GPU does not recover for this process, the program ends; the client then starts a new one.

// Only this module calls the driver. A test build (`cargo test --all-targets`) leaves it out, so that it starts without a
// driver.
#![allow(unsafe_code)]

#[cfg(all(target_os = "linux", not(test)))]
mod driver;
#[cfg(all(target_os = "linux", not(test)))]
mod gpu;
#[cfg(all(target_os = "linux", not(test)))]
mod output;
#[cfg(all(target_os = "linux", not(test)))]
mod run;
#[cfg(all(target_os = "linux", not(test)))]
mod serve;

#[cfg(all(target_os = "linux", not(test)))]
fn main() -> std::process::ExitCode {
    serve::main()
}

/// As if the loader had not found the driver.
#[cfg(any(not(target_os = "linux"), test))]
fn main() -> std::process::ExitCode {
    eprintln!("racetrap-device: runs only on Linux");
    std::process::ExitCode::from(127)
}
