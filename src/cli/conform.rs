//! `racetrap conform`: the simulator against hardware, value for value.

use super::Failure;
use super::progress::Progress;
use crate::conformance::Generator;
use crate::conformance::compare::{Difference, compare, differing};
use crate::conformance::device::Gpu;
use crate::conformance::family::Family;
use crate::conformance::recording;
use crate::conformance::run::simulate;
use crate::exit;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Bytes of a file of whole columns, and how many such files are written.
const SHARD: usize = 15 << 20;
const SHARDS: usize = 6;

#[derive(clap::Args, Debug)]
pub struct ConformArgs {
    /// How many programs: the first ones try every instruction, the others are random
    #[arg(long, default_value_t = 2000, value_name = "N")]
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
    /// Run on the GPU too, by this program
    #[arg(long, value_name = "RACETRAP-DEVICE", num_args = 0..=1, default_missing_value = "racetrap-device")]
    device: Option<PathBuf>,
    /// Write what the GPU gave to this folder
    #[arg(long, value_name = "DIR", requires = "device")]
    record: Option<PathBuf>,
    /// Write the programs to this folder
    #[arg(long, value_name = "DIR")]
    emit: Option<PathBuf>,
    /// Examples shown of each difference
    #[arg(long, default_value_t = 8, value_name = "N")]
    shown: usize,
    /// Programs at a time
    #[arg(long, short, default_value_t = 1, value_name = "N")]
    jobs: usize,
}

/// What became of a program.
#[derive(Default)]
struct Ran {
    line: Option<String>,
    /// Whole columns that differ or are approximate.
    columns: Vec<(usize, Vec<u8>)>,
    differences: Vec<Difference>,
    problem: Option<String>,
    device: Option<String>,
}

pub fn conform(args: &ConformArgs) -> Result<(String, u8), Failure> {
    let generator = Generator::new(args.seed);
    let wanted = |n: &u32| args.family.is_empty() || args.family.contains(&generator.family(*n));
    let numbers: Vec<u32> = match args.only {
        Some(n) => vec![n],
        None => (0..args.programs).filter(wanted).collect(),
    };
    let next = AtomicUsize::new(0);
    let all: Mutex<BTreeMap<u32, Ran>> = Mutex::default();
    let progress = Progress::bar(numbers.len(), std::io::stderr().is_terminal());
    std::thread::scope(|scope| {
        for _ in 0..args.jobs.max(1) {
            scope.spawn(|| {
                let mut gpu = None;
                while let Some(&number) = numbers.get(next.fetch_add(1, Relaxed)) {
                    let ran = one(args, &generator, number, &mut gpu);
                    progress.step();
                    if let Ok(mut all) = all.lock() {
                        all.insert(number, ran);
                    }
                }
            });
        }
    });
    progress.end();
    let all = all.into_inner().unwrap_or_default();
    if let Some(folder) = &args.record {
        write_recording(folder, args, &all)
            .map_err(|e| Failure::usage(format!("can't write to {}: {e}", folder.display())))?;
    }
    let (text, code) = report(args, &all);
    if let Some(folder) = &args.record {
        let _ = std::fs::write(folder.join("report.txt"), &text);
    }
    Ok((text, code))
}

fn one(args: &ConformArgs, generator: &Generator, number: u32, gpu: &mut Option<Gpu>) -> Ran {
    let program = generator.program(number);
    let mut ran = Ran::default();
    if let Some(folder) = &args.emit {
        let _ = std::fs::create_dir_all(folder);
        let _ = std::fs::write(folder.join(format!("{number}.ptx")), &program.ptx);
    }
    let real = args.device.as_ref().map(|path| {
        let mut worker = match gpu.take() {
            Some(worker) => worker,
            None => Gpu::start(path)?,
        };
        let real = worker.run(&program);
        // What has failed once is not asked again.
        *gpu = real.is_ok().then_some(worker);
        real
    });
    let real = match real.transpose() {
        Ok(real) => real,
        Err(error) => {
            ran.problem = Some(error.to_string());
            None
        }
    };
    let simulated = match simulate(&program) {
        Ok(simulated) => Some(simulated),
        Err(error) => {
            ran.problem.get_or_insert(error.to_string());
            None
        }
    };
    let Some((real, about)) = real else {
        return ran;
    };
    ran.device = Some(format!("{}, driver {}", about.name, about.driver));
    ran.line = Some(recording::line(&program, &real));
    let columns: Vec<usize> = match &simulated {
        Some(simulated) if program.family != Family::Approximate => {
            differing(&program, &real, simulated)
        }
        _ => (0..program.outputs.len()).collect(),
    };
    ran.columns = columns
        .into_iter()
        .map(|o| (o, real[program.outputs[o].range()].to_vec()))
        .collect();
    if let Some(simulated) = simulated {
        ran.differences = compare(&program, &real, &simulated, args.shown);
    }
    ran
}

fn write_recording(
    folder: &Path,
    args: &ConformArgs,
    all: &BTreeMap<u32, Ran>,
) -> std::io::Result<()> {
    std::fs::create_dir_all(folder)?;
    let device = all
        .values()
        .find_map(|r| r.device.as_deref())
        .unwrap_or("none");
    let mut text = format!("# {device}\n# seed {}\n", args.seed);
    for line in all.values().filter_map(|r| r.line.as_deref()) {
        text += line;
        text.push('\n');
    }
    std::fs::write(folder.join("hashes.txt"), text)?;
    // Whole columns: number of the program, of the column, length, bytes.
    let mut shards: Vec<Vec<u8>> = vec![Vec::new()];
    'all: for (number, ran) in all {
        for (output, bytes) in &ran.columns {
            if shards
                .last()
                .is_some_and(|s| s.len() + bytes.len() + 12 > SHARD)
            {
                if shards.len() == SHARDS {
                    break 'all;
                }
                shards.push(Vec::new());
            }
            if let Some(shard) = shards.last_mut() {
                for word in [*number, *output as u32, bytes.len() as u32] {
                    shard.extend(word.to_le_bytes());
                }
                shard.extend(bytes);
            }
        }
    }
    for (n, shard) in shards.iter().enumerate() {
        std::fs::write(folder.join(format!("columns-{n}.bin")), shard)?;
    }
    Ok(())
}

fn report(args: &ConformArgs, all: &BTreeMap<u32, Ran>) -> (String, u8) {
    let mut out = String::new();
    let mut groups: BTreeMap<&str, Vec<&Difference>> = BTreeMap::new();
    for ran in all.values() {
        for d in &ran.differences {
            groups.entry(&d.spelling).or_default().push(d);
        }
    }
    for (spelling, group) in &groups {
        let threads: usize = group.iter().map(|d| d.threads).sum();
        let _ = writeln!(
            out,
            "{spelling}: {threads} values in {} programs",
            group.len()
        );
        if let Some(d) = group.first() {
            let _ = writeln!(out, "    program {}: {}", d.program, d.text);
        }
        for example in group.iter().flat_map(|d| &d.examples).take(args.shown) {
            let _ = writeln!(out, "    {example}");
        }
    }
    let mut problems: BTreeMap<String, Vec<u32>> = BTreeMap::new();
    for (number, ran) in all {
        if let Some(problem) = &ran.problem {
            problems.entry(problem.clone()).or_default().push(*number);
        }
    }
    for (problem, programs) in &problems {
        let shown: Vec<_> = programs.iter().take(8).map(u32::to_string).collect();
        let _ = writeln!(
            out,
            "{} programs ({}): {problem}",
            programs.len(),
            shown.join(", ")
        );
    }
    let device = all.values().find_map(|r| r.device.as_deref());
    let compared = all.values().filter(|r| r.line.is_some()).count();
    let _ = writeln!(
        out,
        "{} programs, {compared} compared with {}: {} instructions differ, {} programs could not run",
        all.len(),
        device.unwrap_or("nothing"),
        groups.len(),
        problems.values().map(Vec::len).sum::<usize>(),
    );
    let code = match () {
        () if !problems.is_empty() => exit::INCONCLUSIVE,
        () if !groups.is_empty() => exit::FINDINGS,
        () => exit::OK,
    };
    (out, code)
}
