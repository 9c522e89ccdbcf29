//! Runs jobs on a GPU: lines of [`device::job::Job`] on the standard input, a line of
//! [`device::job::Reply`] for each on the standard output.
//!
//! Kernels print to the standard output of their process, and so do tools that look into it. So the descriptor
//! that replies go to is put aside first, and what is printed goes to a file from which each reply takes its
//! part. After an error from which the GPU does not recover for this process, it ends; whoever wants more starts a new one.

// The one place that calls the driver. Nothing of it is in a test build (`cargo test --all-targets` makes one), so that this
// starts without a driver.
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
    eprintln!("racetrap-device: runs on Linux alone");
    std::process::ExitCode::from(127)
}
