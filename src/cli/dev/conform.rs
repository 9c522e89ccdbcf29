//! `racetrap dev conform`: compares the simulator's results with hardware, bit for bit.

use crate::cli::gpu;
use crate::cli::progress::Progress;
use crate::cli::value_enums::choice;
use evidence::conformance::Generator;
use evidence::conformance::family::Family;
use evidence::conformance::recording::Recording;
use evidence::conformance::report::report;
use evidence::conformance::session::{Against, How, Ran, recording, run};
use report::Failure;
use report::exit;
use std::collections::BTreeMap;
use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant};

#[derive(clap::Args, Debug)]
pub struct ConformArgs {
    /// Number of programs: the first ones try every instruction, the others are random
    #[arg(long, default_value_t = 2400, value_name = "N")]
    programs: u32,
    /// Seed of programs and inputs
    #[arg(long, default_value_t = 0, value_name = "SEED")]
    seed: u64,
    /// Run only programs of this family
    #[arg(long, value_parser = choice::<Family>(), value_name = "FAMILY")]
    family: Vec<Family>,
    /// Run only this program
    #[arg(long, value_name = "NUMBER")]
    only: Option<u32>,
    /// Compare with this machine's GPU through racetrap-device
    #[arg(long, value_name = "PATH", num_args = 0..=1, default_missing_value = "racetrap-device")]
    device: Option<PathBuf>,
    /// How far the driver's compiler optimises, 0 to 4: what differs with 4 and not with 0 differs by an optimisation
    #[arg(
        long,
        value_name = "LEVEL",
        requires = "device",
        conflicts_with = "record",
        value_parser = clap::value_parser!(u8).range(0..=4)
    )]
    jit_level: Option<u8>,
    /// Record the results of the GPU, measured now or taken from the given recording, in this folder
    #[arg(long, value_name = "DIR")]
    record: Option<PathBuf>,
    /// Shrink the recording: leave out programs that could not be compared, store only selected columns in full, and at
    /// most this many bytes of them
    #[arg(long, value_name = "BYTES", requires = "record")]
    keep: Option<usize>,
    /// Compare with the recording in this folder
    #[arg(
        long,
        value_name = "DIR",
        conflicts_with = "device",
        default_value = "tests/conformance/h200"
    )]
    recording: PathBuf,
    /// Only write the programs to this folder
    #[arg(long, value_name = "DIR")]
    emit: Option<PathBuf>,
    /// Number of examples to show for each difference
    #[arg(long, default_value_t = 8, value_name = "N")]
    shown: usize,
    /// Time limit in seconds for a program on the GPU, including its compilation
    #[arg(long, default_value_t = 20, value_name = "SECONDS")]
    each: u64,
    /// Start no further program after this many seconds
    #[arg(long, value_name = "SECONDS")]
    limit: Option<u64>,
    /// Number of programs to run in parallel
    #[arg(long, short, default_value_t = 1, value_name = "N")]
    jobs: usize,
}

pub fn conform(args: &ConformArgs) -> Result<(String, u8), Failure> {
    let generator = Generator::new(args.seed);
    let wanted = |n: &u32| args.family.is_empty() || args.family.contains(&generator.family(*n));
    let mut numbers: Vec<u32> = match args.only {
        Some(n) => vec![n],
        None => (0..args.programs).filter(wanted).collect(),
    };
    if let Some(folder) = &args.emit {
        return emit(&generator, &numbers, folder);
    }
    let (against, with) = match &args.device {
        Some(named) => {
            let (program, _, gpu) = gpu::answering(named, "cannot compare with hardware")?;
            let against = Against::Device {
                program,
                jit_level: args.jit_level,
            };
            (against, format!("compared with {gpu}"))
        }
        None => {
            let known = Recording::load(&args.recording).map_err(|e| {
                Failure::usage(e.to_string())
                    .help("create a recording with `racetrap dev conform --device --record DIR`")
            })?;
            let with = format!("compared with recordings of {}", known.device);
            if known.seed != args.seed {
                return Err(Failure::usage(format!(
                    "the recording is of seed {}, not {}",
                    known.seed, args.seed
                )));
            }
            if args.only.is_none() {
                numbers.retain(|n| known.programs.contains_key(n));
            }
            (Against::Recording(known), with)
        }
    };
    let begun = Instant::now();
    let how = How {
        jobs: args.jobs,
        shown: args.shown,
        each: Duration::from_secs(args.each),
        until: args
            .limit
            .map(|seconds| begun + Duration::from_secs(seconds)),
    };
    let told = LiveProgress::new(numbers.len());
    let ran = run(&generator, &numbers, &against, how, |number, ran| {
        told.done(number, ran);
        if let Some(folder) = &args.record
            && args.device.is_some()
            && told.is_time_to_save()
        {
            // A saved state in case the run is interrupted. Whether it can be written shows at the end.
            let _ = recording(args.seed, ran).save(folder);
        }
    });
    told.progress.end();
    let (mut text, mut code) = report(&generator, &ran, &with, args.shown);
    if ran.len() < numbers.len() {
        text += &format!(
            "{} programs were not started within {} s\n",
            numbers.len() - ran.len(),
            begun.elapsed().as_secs()
        );
        code = if code == exit::OK {
            exit::INCONCLUSIVE
        } else {
            code
        };
    }
    if let Some(folder) = &args.record {
        let failed =
            |e: &dyn std::fmt::Display| Failure::usage(format!("cannot write the recording: {e}"));
        let mut made = match against {
            Against::Recording(known) => known,
            _ => recording(args.seed, &ran),
        };
        if let Some(limit) = args.keep {
            let compared = ran.iter().filter(|(_, r)| r.comparison.is_some());
            let compared: Vec<u32> = compared.map(|(number, _)| *number).collect();
            made.shrink(&compared, |n| generator.is_kept_whole(n), limit);
        }
        made.save(folder).map_err(|e| failed(&e))?;
        std::fs::write(folder.join("report.txt"), &text).map_err(|e| failed(&e))?;
    }
    Ok((text, code))
}

/// Reports progress: a live line on a terminal, otherwise an occasional line.
struct LiveProgress {
    progress: Progress,
    terminal: bool,
    total: usize,
    begun: Instant,
    last: Mutex<Instant>,
    saved: Mutex<Instant>,
}

impl LiveProgress {
    /// Between lines, and between saved states of a recording.
    const EVERY: Duration = Duration::from_secs(5);

    fn new(total: usize) -> LiveProgress {
        let (terminal, begun) = (std::io::stderr().is_terminal(), Instant::now());
        LiveProgress {
            progress: Progress::bar(total, terminal),
            terminal,
            total,
            begun,
            last: Mutex::new(begun),
            saved: Mutex::new(begun),
        }
    }

    fn done(&self, number: u32, ran: &BTreeMap<u32, Ran>) {
        self.progress.step();
        if self.terminal {
            return;
        }
        if let Some(problem) = ran.get(&number).and_then(|r| r.problem.as_ref()) {
            eprintln!("program {number}: {problem}");
        }
        if is_due(&self.last) {
            let seconds = self.begun.elapsed().as_secs();
            let wrong = ran.values().filter_map(|r| r.comparison.as_ref());
            let wrong = wrong.filter(|c| !c.differences.is_empty()).count();
            eprintln!(
                "{} of {} programs in {seconds} s, {wrong} differ",
                ran.len(),
                self.total
            );
        }
    }

    fn is_time_to_save(&self) -> bool {
        is_due(&self.saved)
    }
}

/// Whether it is long ago; then it is now.
fn is_due(last: &Mutex<Instant>) -> bool {
    let Ok(mut last) = last.lock() else {
        return false;
    };
    let due = last.elapsed() > LiveProgress::EVERY;
    if due {
        *last = Instant::now();
    }
    due
}

fn emit(generator: &Generator, numbers: &[u32], folder: &Path) -> Result<(String, u8), Failure> {
    let write = || {
        std::fs::create_dir_all(folder)?;
        numbers.iter().try_for_each(|&n| {
            std::fs::write(folder.join(format!("{n}.ptx")), generator.program(n).ptx)
        })
    };
    write().map_err(|e| Failure::usage(format!("cannot write to {}: {e}", folder.display())))?;
    let text = format!(
        "{} programs written to {}\n",
        numbers.len(),
        folder.display()
    );
    Ok((text, exit::OK))
}
