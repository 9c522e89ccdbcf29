//! The loop of the process: a job in, a reply out.

use crate::gpu::Gpu;
use crate::output::Output;
use device::error::DeviceError;
use device::job::{Done, Job, Reply};
use report::exit;
use std::io::{self, BufRead as _, Write as _};
use std::process::ExitCode;
use std::time::Duration;

const USAGE: &str = "usage: racetrap-device [--tied] < JOBS
Runs kernels on a GPU: a JSON job on each line of the standard input, a JSON reply on each line of the standard output.
  --tied  end when the parent process ends, whatever a kernel is doing";

/// The program.
pub fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    match arguments
        .iter()
        .map(String::as_str)
        .collect::<Vec<_>>()
        .as_slice()
    {
        [] => {}
        ["--tied"] => end_with_parent(),
        ["--help" | "-h"] => {
            println!("{USAGE}");
            return ExitCode::from(exit::OK);
        }
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(exit::USAGE);
        }
    }
    match serve() {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            eprintln!("racetrap-device: {error}");
            ExitCode::from(exit::USAGE)
        }
    }
}

/// Answers job after job.
fn serve() -> io::Result<u8> {
    let mut output = Output::take()?;
    let mut gpu: Option<Gpu> = None;
    for line in io::stdin().lock().lines() {
        let line = line?;
        if line.trim().is_empty() {
            continue;
        }
        let result = one(&line, &mut gpu);
        let printed = output.printed()?;
        let (reply, sticky) = match result {
            Ok(mut done) => {
                done.printed = printed;
                (Reply::Done(done), false)
            }
            Err(error) => {
                let sticky = error.is_sticky();
                let device = gpu.as_ref().map(|gpu| gpu.info.clone());
                let reply = Reply::Failed {
                    error,
                    device,
                    printed,
                };
                (reply, sticky)
            }
        };
        serde_json::to_writer(&mut output.replies, &reply)?;
        output.replies.write_all(b"\n")?;
        output.replies.flush()?;
        if sticky {
            // Nothing can be given back any more: the driver does it when the process is gone.
            std::process::exit(exit::FINDINGS.into());
        }
    }
    Ok(exit::OK)
}

fn one(line: &str, gpu: &mut Option<Gpu>) -> Result<Done, DeviceError> {
    let bad = |problem| DeviceError::BadJob { problem };
    let job: Job = serde_json::from_str(line).map_err(|e| bad(e.to_string()))?;
    if let Some(problem) = job.problem() {
        return Err(bad(problem));
    }
    let gpu = match gpu {
        Some(gpu) => gpu,
        None => gpu.insert(Gpu::start()?),
    };
    crate::run::run(gpu, &job)
}

/// Ends this process when its parent has ended: a kernel that hangs would otherwise occupy the GPU with nobody left to
/// end it.
fn end_with_parent() {
    let parent = std::os::unix::process::parent_id();
    std::thread::spawn(move || {
        while std::os::unix::process::parent_id() == parent {
            std::thread::sleep(Duration::from_millis(200));
        }
        std::process::exit(exit::INCONCLUSIVE.into());
    });
}
