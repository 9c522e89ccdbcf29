//! Measures the timed predictions of claims on a GPU, and stores the times.
//!
//! Both runs of a prediction are measured alternately in one process. Each turn runs many repetitions between two events on the
//! run's stream, with nothing else between them: steps of the host in a plan (its own copies, waiting) are omitted, and other
//! streams start and end together with the first one. The median of all repetitions counts. If the GPU is faster than the
//! driver can launch, a repetition includes the launch time, as a user of the program sees it.
//!
//! The times are stored in `sanitizer/times/<gpu>-cuda<version>.json`, with the fingerprints of what ran.

use super::claim::{Claim, Run, RunError, Time, Values};
use catalog::draw::Sizes;
use catalog::gpu::{self, JobError};
use catalog::load::{Catalog, Entry};
use catalog::simulate::{PrepareError, Prepared};
use device::client::RunJob;
use device::job::{DeviceInfo, Job, Reply, Step};
use evidence::{Detector, Fingerprint, unparsed};
use include_dir::{Dir, include_dir};
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::time::Duration;

static EMBEDDED: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/times");

/// The version of the file format.
pub const FORMAT: u32 = 1;
/// Repetitions before those that count.
const WARM_UP: usize = 3;
/// Repetitions of one turn, and turns of each run.
const REPETITIONS: usize = 21;
const TURNS: usize = 3;
/// How long a turn may take.
const LIMIT: Duration = Duration::from_secs(30);

/// What one GPU took.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Times {
    /// [`FORMAT`].
    pub format: u32,
    /// The GPU and its driver.
    pub device: DeviceInfo,
    /// By claim, then prediction.
    pub timings: Vec<Timing>,
}

/// The two runs of a prediction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Timing {
    /// The claim.
    pub claim: String,
    /// Its prediction, from 0.
    pub prediction: usize,
    /// The run that is said to be slower.
    pub slow: Taken,
    /// The run that is said to be faster.
    pub fast: Taken,
}

/// The time of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Taken {
    /// The case.
    pub case: String,
    /// The sizes that were given.
    pub with: Sizes,
    /// What its buffers held.
    pub inputs: Values,
    /// Nanoseconds, the median of all repetitions.
    pub median: f64,
    /// The tenth part of repetitions that was quickest took no longer than this, nanoseconds.
    pub quick: f64,
    /// The tenth part that was slowest took at least this, nanoseconds.
    pub slow: f64,
    /// Repetitions.
    pub runs: usize,
    /// What ran.
    pub of: Fingerprint,
}

impl Taken {
    /// Whether it is the time of this run as it is now.
    pub fn is_of(
        &self,
        run: &Run,
        catalog: &Catalog,
        entry: &Entry,
        capability: (u32, u32),
    ) -> bool {
        (&self.case, &self.with, self.inputs) == (&run.case, &run.with, run.inputs)
            && self.of == Fingerprint::of(catalog, entry, capability, Detector::Native)
    }
}

/// Times that can't be had.
#[derive(Debug, thiserror::Error)]
pub enum TimeError {
    /// A file that can't be read.
    #[error("`{path}`: {error}")]
    Unreadable {
        /// Which.
        path: String,
        /// Why.
        error: std::io::Error,
    },
    /// A file of something else.
    #[error("`{path}` contains no times: {problem}")]
    File {
        /// Which.
        path: String,
        /// Why.
        problem: String,
    },
    /// A run.
    #[error("{claim}: `{case}`: {problem}")]
    Run {
        /// The claim.
        claim: String,
        /// The case.
        case: String,
        /// Why.
        problem: String,
    },
}

impl Times {
    /// Those inside this binary that are of the newest driver.
    pub fn newest() -> Result<Option<Times>, TimeError> {
        let files = EMBEDDED.files();
        let json = files.filter(|f| f.path().extension().is_some_and(|e| e == "json"));
        let mut all = Vec::new();
        for file in json {
            let name = file.path().display().to_string();
            all.push(Times::parse(
                &name,
                file.contents_utf8().unwrap_or_default(),
            )?);
        }
        all.sort_by_key(|t| version(&t.device.driver));
        Ok(all.pop())
    }

    /// Reads a file.
    pub fn read(path: &Path) -> Result<Times, TimeError> {
        let name = path.display().to_string();
        let text = std::fs::read_to_string(path).map_err(|error| TimeError::Unreadable {
            path: name.clone(),
            error,
        })?;
        Times::parse(&name, &text)
    }

    fn parse(path: &str, text: &str) -> Result<Times, TimeError> {
        let failed = |problem: String| TimeError::File {
            path: path.to_owned(),
            problem,
        };
        let times: Times = serde_json::from_str(text).map_err(|e| failed(unparsed(&e)))?;
        match times.format {
            FORMAT => Ok(times),
            other => Err(failed(format!(
                "it has format {other}, but this racetrap reads format {FORMAT}"
            ))),
        }
    }

    /// The file's text.
    pub fn text(&self) -> String {
        let mut text = serde_json::to_string_pretty(self)
            .unwrap_or_else(|e| unreachable!("times are plain JSON: {e}"));
        text.push('\n');
        text
    }

    /// The runs of a prediction.
    pub fn find(&self, claim: &str, prediction: usize) -> Option<&Timing> {
        let is = |t: &&Timing| t.claim == claim && t.prediction == prediction;
        self.timings.iter().find(is)
    }
}

/// A version's numbers, for comparing.
fn version(text: &str) -> Vec<u64> {
    let numbers = text.split(|c: char| !c.is_ascii_digit());
    numbers.filter_map(|n| n.parse().ok()).collect()
}

/// Measures all timed predictions of these claims on the GPU that `client` drives. `progress` is told each before it is measured.
///
/// # Errors
///
/// [`TimeError::Run`]
pub fn measure(
    catalog: &Catalog,
    claims: &[Claim],
    client: &mut dyn RunJob,
    device: &DeviceInfo,
    progress: &dyn Fn(&str),
) -> Result<Times, TimeError> {
    let mut timings = Vec::new();
    for claim in claims {
        for (prediction, of) in claim.predicts.iter().enumerate() {
            if let Some(time) = &of.time {
                progress(&format!("{}: {}", claim.id, of.what));
                let [slow, fast] = both(catalog, &claim.id, time, client, device)?;
                timings.push(Timing {
                    claim: claim.id.clone(),
                    prediction,
                    slow,
                    fast,
                });
            }
        }
    }
    Ok(Times {
        format: FORMAT,
        device: device.clone(),
        timings,
    })
}

fn both(
    catalog: &Catalog,
    claim: &str,
    time: &Time,
    client: &mut dyn RunJob,
    device: &DeviceInfo,
) -> Result<[Taken; 2], TimeError> {
    let runs = [&time.slow, &time.fast];
    let failed = |run: &Run, problem: String| TimeError::Run {
        claim: claim.to_owned(),
        case: run.case.clone(),
        problem,
    };
    let jobs = runs.map(|run| {
        let job = job(catalog, run, device.compute_capability);
        job.map_err(|error| failed(run, error.to_string()))
    });
    let [slow, fast] = jobs;
    let jobs = [slow?, fast?];
    let mut all = [Vec::new(), Vec::new()];
    for _ in 0..TURNS {
        for ((run, (job, _)), taken) in runs.iter().zip(&jobs).zip(&mut all) {
            let problem = match client.run(job, LIMIT) {
                Ok(Reply::Done(done)) => {
                    taken.extend(done.intervals.iter().skip(WARM_UP).map(|ns| *ns as f64));
                    continue;
                }
                Ok(Reply::Failed { error, .. }) => error.to_string(),
                Err(error) => error.to_string(),
            };
            return Err(failed(run, problem));
        }
    }
    let taken = |at: usize, mut ns: Vec<f64>| {
        ns.sort_by(f64::total_cmp);
        let part = |tenths: usize| ns[(ns.len() - 1) * tenths / 10];
        Taken {
            case: runs[at].case.clone(),
            with: runs[at].with.clone(),
            inputs: runs[at].inputs,
            median: part(5),
            quick: part(1),
            slow: part(9),
            runs: ns.len(),
            of: jobs[at].1.clone(),
        }
    };
    let [slow, fast] = all;
    Ok([taken(0, slow), taken(1, fast)])
}

/// Why a run is no job for a GPU.
#[derive(Debug, thiserror::Error)]
enum NoJob {
    #[error("there is no such case")]
    NoCase,
    #[error(transparent)]
    Prepare(#[from] PrepareError),
    #[error(transparent)]
    Run(#[from] RunError),
    #[error(transparent)]
    Job(#[from] JobError),
    /// What the client finds wrong with it.
    #[error("{0}")]
    Refused(String),
}

/// The repetitions of a run as one job, and what it runs.
fn job(catalog: &Catalog, run: &Run, capability: (u32, u32)) -> Result<(Job, Fingerprint), NoJob> {
    let entry = catalog.find(&run.case).ok_or(NoJob::NoCase)?;
    let prepared = Prepared::new(catalog, entry)?;
    let ptx = gpu::ptx(catalog, &prepared, capability)?;
    let plan = run.plan(entry)?;
    let job = gpu::job(&prepared, &plan, ptx)?;
    let job = repeated(job, WARM_UP + REPETITIONS);
    match job.problem() {
        None => Ok((
            job,
            Fingerprint::of(catalog, entry, capability, Detector::Native),
        )),
        Some(problem) => Err(NoJob::Refused(problem)),
    }
}

/// The same job again and again, each repetition between two events.
fn repeated(job: Job, times: usize) -> Job {
    let once: Vec<Step> = job
        .steps
        .iter()
        .filter(|s| !matches!(s, Step::Host { .. } | Step::Synchronize { .. }))
        .cloned()
        .collect();
    let mut streams: Vec<usize> = once.iter().filter_map(Step::stream).collect();
    streams.sort_unstable();
    streams.dedup();
    let first = streams.first().copied().unwrap_or_default();
    let mut event = once.iter().fold(0, |next, step| match step {
        Step::Record { event, .. } | Step::Wait { event, .. } => next.max(event + 1),
        _ => next,
    });
    let mut new = || {
        event += 1;
        event - 1
    };
    let (mut steps, mut intervals) = (Vec::new(), Vec::new());
    for _ in 0..times {
        let start = new();
        let record = |event, stream| Step::Record { event, stream };
        let wait = |event, stream| Step::Wait { event, stream };
        steps.push(record(start, first));
        for stream in streams.iter().skip(1) {
            steps.push(wait(start, *stream));
        }
        steps.extend(once.iter().cloned());
        for stream in streams.iter().skip(1) {
            let done = new();
            steps.extend([record(done, *stream), wait(done, first)]);
        }
        let end = new();
        steps.push(record(end, first));
        intervals.push([start, end]);
    }
    Job {
        steps,
        intervals,
        read: Vec::new(),
        read_host: Vec::new(),
        ..job
    }
}

/// A time as people write it.
pub fn seconds(nanoseconds: f64) -> String {
    match nanoseconds {
        ns if ns < 1e3 => format!("{ns:.0} ns"),
        ns if ns < 1e6 => format!("{:.1} µs", ns / 1e3),
        ns if ns < 1e9 => format!("{:.2} ms", ns / 1e6),
        ns => format!("{:.2} s", ns / 1e9),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use device::job::Place;

    #[test]
    fn repetitions_lie_between_events() {
        let place = |offset| Place::Host { index: 0, offset };
        let copy = |stream| Step::Copy {
            from: place(0),
            to: place(4),
            bytes: 4,
            stream,
        };
        let host = Step::Host {
            from: place(0),
            to: place(4),
            bytes: 4,
        };
        let record = |event, stream| Step::Record { event, stream };
        let wait = |event, stream| Step::Wait { event, stream };
        let job = Job {
            steps: vec![
                copy(3),
                record(0, 3),
                host,
                copy(1),
                Step::Synchronize { stream: 3 },
            ],
            read: vec![0],
            ..Job::default()
        };
        let all = repeated(job, 2);
        assert_eq!(all.intervals, [[1, 3], [4, 6]]);
        let once = |base: usize| {
            vec![
                record(base, 1),
                wait(base, 3),
                copy(3),
                record(0, 3),
                copy(1),
                record(base + 1, 3),
                wait(base + 1, 1),
                record(base + 2, 1),
            ]
        };
        assert_eq!(all.steps, [once(1), once(4)].concat());
        assert!(all.read.is_empty());
    }

    #[test]
    fn times_are_written_for_people() {
        let all = [512.0, 2_560.0, 3_500_000.0, 2e9].map(seconds);
        assert_eq!(all, ["512 ns", "2.6 µs", "3.50 ms", "2.00 s"]);
    }
}
