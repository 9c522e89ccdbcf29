//! The loop of the process: a job in, a reply out.

use crate::gpu::Gpu;
use crate::output::Output;
use device::error::DeviceError;
use device::job::{Done, Job, Reply};
use report::exit;
use std::io::{self, BufRead as _, Write as _};
use std::process::ExitCode;
use std::time::Duration;

const USAGE: &str = "usage: racetrap-device [--tied] [--jit-level LEVEL] < JOBS
Runs kernels on a GPU: a JSON job on each line of the standard input, a JSON reply on each line of the standard output.
  --tied             end when the parent process ends, whatever a kernel is doing
  --jit-level LEVEL  how far the driver's compiler optimises: 0 to 4, 4 unless given";

/// How far the driver's compiler optimises at most, and unless asked otherwise (CUDA Driver API, `CU_JIT_OPTIMIZATION_LEVEL`).
const MOST_OPTIMISED: usize = 4;

fn misused() -> ExitCode {
    eprintln!("{USAGE}");
    ExitCode::from(exit::USAGE)
}

/// The program.
pub fn main() -> ExitCode {
    let mut level = MOST_OPTIMISED;
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--tied" => end_with_parent(),
            "--help" | "-h" => {
                println!("{USAGE}");
                return ExitCode::from(exit::OK);
            }
            "--jit-level" => match arguments.next().and_then(|text| text.parse().ok()) {
                Some(wanted) if wanted <= MOST_OPTIMISED => level = wanted,
                _ => return misused(),
            },
            _ => return misused(),
        }
    }
    match serve(level) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            eprintln!("racetrap-device: {error}");
            ExitCode::from(exit::USAGE)
        }
    }
}

/// Answers job after job.
fn serve(jit_level: usize) -> io::Result<u8> {
    let mut output = Output::take()?;
    let mut gpu: Option<Gpu> = None;
    for line in io::stdin().lock().lines() {
        let line = line?;
        if line.trim().is_empty() {
            continue;
        }
        let result = one(&line, &mut gpu, jit_level);
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

fn one(line: &str, gpu: &mut Option<Gpu>, jit_level: usize) -> Result<Done, DeviceError> {
    let bad = |problem| DeviceError::BadJob { problem };
    let job: Job = serde_json::from_str(line).map_err(|e| bad(e.to_string()))?;
    if let Some(problem) = job.problem() {
        return Err(bad(problem));
    }
    let gpu = match gpu {
        Some(gpu) => gpu,
        None => gpu.insert(Gpu::start(jit_level)?),
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
