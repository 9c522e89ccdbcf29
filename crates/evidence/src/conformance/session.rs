//! Many programs, several at a time: on the simulator, and on a GPU or against a recording.

use super::Generator;
use super::compare::{Comparison, compare, differing};
use super::device::{DeviceError, Gpu};
use super::family::Family;
use super::recording::{Recorded, Recording};
use super::run::{RunError, simulate};
use device::job::DeviceInfo;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// What the simulator is compared with.
#[derive(Debug)]
pub enum Against {
    /// Nothing: the simulator runs alone.
    Nothing,
    /// A GPU.
    Device {
        /// The program that runs jobs on it.
        program: PathBuf,
        /// How far the driver's compiler optimises, 0 to 4; `None` for as far as it does by itself.
        jit_level: Option<u8>,
    },
    /// What a GPU gave before.
    Recording(Recording),
}

/// Why a program was not compared.
#[derive(Debug, thiserror::Error)]
pub enum Problem {
    /// The simulator did not run it.
    #[error(transparent)]
    Simulator(#[from] RunError),
    /// The GPU did not run it.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// The generator has changed since the recording was made.
    #[error("the recording is of another program")]
    AnotherProgram,
    /// The recording does not go so far.
    #[error("not in the recording")]
    NotRecorded,
}

/// What became of a program.
#[derive(Debug, Default)]
pub struct Ran {
    /// How the results compare, if they could be compared.
    pub comparison: Option<Comparison>,
    /// What to keep of the GPU's outputs.
    pub recorded: Option<Recorded>,
    /// The GPU.
    pub about: Option<DeviceInfo>,
    /// Why there is no comparison.
    pub problem: Option<Problem>,
}

/// How a session runs.
#[derive(Clone, Copy, Debug)]
pub struct How {
    /// Programs at a time.
    pub jobs: usize,
    /// Examples of each difference.
    pub shown: usize,
    /// What a program may take on the GPU, its compilation included.
    pub each: Duration,
    /// After that, no further program is begun.
    pub until: Option<Instant>,
}

/// Runs programs in their order, several at a time, and tells of each that is done.
pub fn run(
    generator: &Generator,
    numbers: &[u32],
    against: &Against,
    how: How,
    done: impl Fn(u32, &BTreeMap<u32, Ran>) + Sync,
) -> BTreeMap<u32, Ran> {
    let next = AtomicUsize::new(0);
    let all: Mutex<BTreeMap<u32, Ran>> = Mutex::default();
    std::thread::scope(|scope| {
        for _ in 0..how.jobs.max(1) {
            scope.spawn(|| {
                let mut gpu = None;
                while let Some(&number) = numbers.get(next.fetch_add(1, Relaxed)) {
                    if how.until.is_some_and(|end| Instant::now() > end) {
                        return;
                    }
                    let mut ran = Ran::default();
                    if let Err(problem) = one(generator, number, against, how, &mut gpu, &mut ran) {
                        ran.problem = Some(problem);
                    }
                    if let Ok(mut all) = all.lock() {
                        all.insert(number, ran);
                        done(number, &all);
                    }
                }
            });
        }
    });
    all.into_inner().unwrap_or_default()
}

fn one(
    generator: &Generator,
    number: u32,
    against: &Against,
    how: How,
    gpu: &mut Option<Gpu>,
    ran: &mut Ran,
) -> Result<(), Problem> {
    let program = generator.program(number);
    match against {
        Against::Nothing => {
            simulate(&program)?;
            ran.comparison = Some(Comparison::default());
        }
        Against::Recording(recording) => {
            let recorded = recording
                .programs
                .get(&number)
                .ok_or(Problem::NotRecorded)?;
            let simulated = simulate(&program)?;
            let comparison = recorded.compare(&program, &simulated, how.shown);
            ran.comparison = Some(comparison.ok_or(Problem::AnotherProgram)?);
        }
        Against::Device {
            program: path,
            jit_level,
        } => {
            let worker = gpu.get_or_insert_with(|| Gpu::new(path, *jit_level));
            let (real, about) = worker.run(&program, how.each)?;
            ran.about = Some(about);
            let simulated = simulate(&program);
            let wrong = match &simulated {
                Ok(simulated) => differing(&program, &real, simulated),
                _ => Vec::new(),
            };
            let approximate = program.family == Family::Approximate;
            let kept = generator.is_kept_whole(number);
            let all =
                (0..program.outputs.len()).filter(|o| kept || !approximate && wrong.contains(o));
            ran.recorded = Some(Recorded::of(&program, &real, all));
            ran.comparison = Some(compare(&program, &real, &simulated?, &wrong, how.shown));
        }
    }
    Ok(())
}

/// The recording that a session with a GPU makes.
pub fn recording(seed: u64, ran: &BTreeMap<u32, Ran>) -> Recording {
    let about = ran.values().find_map(|r| r.about.as_ref());
    let programs = ran
        .iter()
        .filter_map(|(number, r)| Some((*number, r.recorded.clone()?)))
        .collect();
    Recording {
        device: about.map_or(String::from("none"), |a| {
            format!("{}, driver {}", a.name, a.driver)
        }),
        seed,
        programs,
    }
}
