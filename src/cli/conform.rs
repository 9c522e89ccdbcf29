//! `racetrap conform`: the simulator against hardware, value for value.

use super::Failure;
use super::progress::Progress;
use crate::conformance::Generator;
use crate::conformance::family::Family;
use crate::conformance::recording::Recording;
use crate::conformance::report::report;
use crate::conformance::session::{Against, recording, run};
use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};

/// Bytes of whole columns in a recording: more than that are only there where much differs.
const COLUMNS: usize = 15 << 20;

#[derive(clap::Args, Debug)]
pub struct ConformArgs {
    /// How many programs: the first ones try every instruction, the others are random
    #[arg(long, default_value_t = 2400, value_name = "N")]
    programs: u32,
    /// Which programs and inputs
    #[arg(long, default_value_t = 0, value_name = "SEED")]
    seed: u64,
    /// Only programs of this family
    #[arg(long, value_enum, value_name = "FAMILY")]
    family: Vec<Family>,
    /// Only this program
    #[arg(long, value_name = "NUMBER")]
    only: Option<u32>,
    /// Compare with the GPU of this machine, by way of racetrap-device
    #[arg(long, value_name = "PATH", num_args = 0..=1, default_missing_value = "racetrap-device")]
    device: Option<PathBuf>,
    /// Write what the GPU gave to this folder
    #[arg(long, value_name = "DIR", requires = "device")]
    record: Option<PathBuf>,
    /// Compare with what is recorded in this folder
    #[arg(
        long,
        value_name = "DIR",
        conflicts_with = "device",
        default_value = "tests/conformance/h200"
    )]
    recording: PathBuf,
    /// Write the programs to this folder, and do nothing else
    #[arg(long, value_name = "DIR")]
    emit: Option<PathBuf>,
    /// Examples shown of each difference
    #[arg(long, default_value_t = 8, value_name = "N")]
    shown: usize,
    /// Programs at a time
    #[arg(long, short, default_value_t = 1, value_name = "N")]
    jobs: usize,
}

pub fn conform(args: &ConformArgs) -> Result<(String, u8), Failure> {
    let generator = Generator::new(args.seed);
    let wanted = |n: &u32| args.family.is_empty() || args.family.contains(&generator.family(*n));
    let numbers: Vec<u32> = match args.only {
        Some(n) => vec![n],
        None => (0..args.programs).filter(wanted).collect(),
    };
    if let Some(folder) = &args.emit {
        return emit(&generator, &numbers, folder);
    }
    let (against, with) = match &args.device {
        Some(path) => (
            Against::Device(path.clone()),
            String::from("compared with the GPU"),
        ),
        None => {
            let known = Recording::load(&args.recording).map_err(|e| {
                Failure::usage(e.to_string()).help(
                    "a recording is a folder that `racetrap conform --device --record DIR` has written",
                )
            })?;
            let with = format!("compared with recordings of {}", known.device);
            if known.seed != args.seed {
                return Err(Failure::usage(format!(
                    "the recording is of seed {}, not {}",
                    known.seed, args.seed
                )));
            }
            (Against::Recording(known), with)
        }
    };
    let progress = Progress::bar(numbers.len(), std::io::stderr().is_terminal());
    let ran = run(
        &generator,
        &numbers,
        &against,
        args.jobs,
        args.shown,
        || progress.step(),
    );
    progress.end();
    let (text, code) = report(&generator, &ran, &with, args.shown);
    if let Some(folder) = &args.record {
        let failed = |e: &dyn std::fmt::Display| Failure::usage(format!("can't record: {e}"));
        recording(args.seed, &ran, COLUMNS)
            .save(folder)
            .map_err(|e| failed(&e))?;
        std::fs::write(folder.join("report.txt"), &text).map_err(|e| failed(&e))?;
    }
    Ok((text, code))
}

fn emit(generator: &Generator, numbers: &[u32], folder: &Path) -> Result<(String, u8), Failure> {
    let write = || {
        std::fs::create_dir_all(folder)?;
        numbers.iter().try_for_each(|&n| {
            std::fs::write(folder.join(format!("{n}.ptx")), generator.program(n).ptx)
        })
    };
    write().map_err(|e| Failure::usage(format!("can't write to {}: {e}", folder.display())))?;
    let text = format!(
        "{} programs written to {}\n",
        numbers.len(),
        folder.display()
    );
    Ok((text, crate::exit::OK))
}
