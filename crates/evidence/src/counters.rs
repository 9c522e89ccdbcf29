//! Compares the simulator's counts with hardware counters: wavefronts of shared memory, sectors of global memory.
//!
//! Each case runs once, with its largest sizes, on the simulator and, as a job for `racetrap-device`, under NVIDIA's Nsight
//! Compute (`ncu`). Both run the same PTX and count by warp, so the sums over all launches must be equal. If `ptxas` merges or
//! drops accesses they differ; [`EXPLAINED`] lists such cases with the reason.

mod measured;
mod recording;
mod tally;

pub use measured::{METRICS, MeasureError, read_csv};
pub use recording::{Measured, Recording, RecordingError};
pub use tally::{Counts, Tally};

use catalog::draw::{Draws, runner};
use catalog::gpu;
use catalog::load::{Catalog, Entry};
use catalog::pinned::Pin;
use catalog::plan::{Plan, plan};
use catalog::simulate::Prepared;
use device::job::Job;
use proptest::strategy::{Strategy, ValueTree};
use simt::ScheduleSpec;

/// Cases whose counts differ for a reason that lies below PTX, and the reason.
pub const EXPLAINED: &[(&str, &str)] = &[
    ("matmul/tiled/correct", JOINED),
    ("matmul/tiled/parts", JOINED),
    ("scan/blocked/correct", JOINED),
    (
        "warp/votes-printed",
        "the driver turns a call of `vprintf` into loads and stores",
    ),
];

const JOINED: &str = "ptxas merges loads of adjacent words into one of 16 bytes (`LDS.128`), which takes fewer wavefronts";

/// A case that can't be counted, and why.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Uncounted(String);

impl Uncounted {
    fn new(why: impl ToString) -> Uncounted {
        Uncounted(why.to_string())
    }
}

/// A run of a case: the largest sizes, drawn inputs.
fn planned(entry: &Entry) -> Result<Plan, Uncounted> {
    let case = &entry.case;
    let draws = Draws {
        case,
        schedule: Some(ScheduleSpec::Lockstep),
        weak: false,
        run: 0,
    };
    let draw = draws
        .new_tree(&mut runner(0, &entry.id))
        .map_err(Uncounted::new)?
        .current();
    let sizes = draw.sizes(case).map_err(Uncounted::new)?;
    plan(case, sizes, draw.inputs).map_err(Uncounted::new)
}

/// What the simulator counts for a case, summed over its launches.
///
/// # Errors
///
/// A case that is not clean, or in which what is accessed depends on the order of threads: its counts are no property
/// of the kernel.
pub fn simulated(catalog: &Catalog, entry: &Entry) -> Result<Counts, Uncounted> {
    let prepared = Prepared::new(catalog, entry).map_err(Uncounted::new)?;
    let plan = planned(entry)?;
    let ran = prepared
        .run(&plan, &ScheduleSpec::Lockstep, None)
        .map_err(Uncounted::new)?;
    if let Some(stop) = &ran.stopped {
        return Err(Uncounted::new(stop));
    }
    let races = ran
        .findings
        .iter()
        .any(|f| f.rule.level() != detect::rules::Level::Note);
    if races {
        return Err(Uncounted::new("it is a buggy kernel"));
    }
    if ran.independence == session::Independence::Dependent {
        return Err(Uncounted::new(
            "what it accesses depends on the order of threads",
        ));
    }
    let mut tally = Tally::default();
    prepared.watch(&plan, &mut tally).map_err(Uncounted::new)?;
    Ok(tally.counts)
}

/// The same run as a job for the device process.
///
/// # Errors
///
/// Mistakes of the case.
pub fn job(catalog: &Catalog, entry: &Entry) -> Result<Job, Uncounted> {
    let prepared = Prepared::new(catalog, entry).map_err(Uncounted::new)?;
    let file = Pin::new(&entry.case, entry.case.simulated()).ptx;
    let ptx = catalog
        .tree
        .text(&file)
        .ok_or_else(|| Uncounted::new(format!("no PTX `{file}`")))?;
    gpu::job(&prepared, &planned(entry)?, ptx).map_err(Uncounted::new)
}
