//! Runs jobs on a GPU: lines of [`racetrap::device::job::Job`] on the standard input, a line of
//! [`racetrap::device::job::Reply`] for each on the standard output.
//!
//! Kernels print to the standard output of their process, and so do tools that look into it. So the descriptor
//! that replies go to is put aside first, and what is printed goes to a file from which each reply takes its
//! part. After an error from which the GPU does not recover for this process, it ends; whoever wants more starts a new one.

// The one place that calls the driver.
#![allow(unsafe_code)]

#[cfg(target_os = "linux")]
mod driver;
#[cfg(target_os = "linux")]
mod gpu;
#[cfg(target_os = "linux")]
mod output;
#[cfg(target_os = "linux")]
mod run;
#[cfg(target_os = "linux")]
mod serve;

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    serve::main()
}

/// As if the loader had not found the driver.
#[cfg(not(target_os = "linux"))]
fn main() -> std::process::ExitCode {
    eprintln!("racetrap-device: runs on Linux alone");
    std::process::ExitCode::from(127)
}
