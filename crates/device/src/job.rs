//! Jobs for the device process and its answers, each one line of JSON.
//!
//! A job contains all that it needs: PTX, memory and steps. The process does not know cases, oracles or verdicts. It
//! allocates memory and loads PTX anew for each job, so that no job sees what another one left.

use super::error::DeviceError;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::collections::BTreeMap;

/// Bytes; base64 in JSON.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bytes(pub Vec<u8>);

impl Serialize for Bytes {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&STANDARD.encode(&self.0))
    }
}

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Bytes, D::Error> {
        let text = String::deserialize(from)?;
        STANDARD.decode(text).map(Bytes).map_err(de::Error::custom)
    }
}

impl From<Vec<u8>> for Bytes {
    fn from(bytes: Vec<u8>) -> Bytes {
        Bytes(bytes)
    }
}

/// A piece of work for the GPU.
///
/// The answer to a job without PTX and steps describes the GPU.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Job {
    /// The module with the kernels; empty if no module is to be loaded.
    #[serde(default)]
    pub ptx: String,
    /// Global memory; each buffer is a separate allocation.
    #[serde(default)]
    pub buffers: Vec<Buffer>,
    /// Host memory for copies, page-locked so that they are asynchronous.
    #[serde(default)]
    pub host: Vec<Buffer>,
    /// The kinds of all streams that are not non-blocking. They are created before the first step.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub streams: BTreeMap<usize, StreamKind>,
    /// The steps, in the order in which the host performs them.
    #[serde(default)]
    pub steps: Vec<Step>,
    /// The indices of the buffers to send back when everything has ended.
    #[serde(default)]
    pub read: Vec<usize>,
    /// The indices of the host memory to send back.
    #[serde(default)]
    pub read_host: Vec<usize>,
    /// Pairs of events to measure the time between. If there are any, single launches are not timed and the host waits only
    /// at the end, so that it does not disturb the measurement.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub intervals: Vec<[usize; 2]>,
}

/// A piece of memory.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Buffer {
    /// Its length in bytes. A buffer of no bytes has the address 0.
    pub bytes: u64,
    /// The initial contents; `None` to leave it uninitialised. Shorter data fills the beginning.
    #[serde(default)]
    pub data: Option<Bytes>,
    /// How many bytes from its start to send back; `None` for all. A tool that looks for uninitialised memory takes this read
    /// for a use.
    #[serde(default)]
    pub read_bytes: Option<u64>,
    /// The module variable to use instead of a separate allocation; not for host memory. Without data the variable keeps its
    /// initial value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub symbol: Option<String>,
}

impl Buffer {
    /// A buffer that holds `data`.
    pub fn of(data: Vec<u8>) -> Buffer {
        Buffer {
            bytes: data.len() as u64,
            data: Some(Bytes(data)),
            read_bytes: None,
            symbol: None,
        }
    }

    /// An uninitialised buffer.
    pub fn uninitialized(bytes: u64) -> Buffer {
        Buffer {
            bytes,
            data: None,
            read_bytes: None,
            symbol: None,
        }
    }
}

/// A stream that waits for others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StreamKind {
    /// Created without a flag (`CU_STREAM_DEFAULT`): it and the legacy default stream wait for each other.
    Blocking,
    /// The legacy default stream itself (`CU_STREAM_LEGACY`).
    Legacy,
}

/// A step of the host. Streams and events are numbered from 0 and created on first use. Streams do not wait for each other
/// (`CU_STREAM_NON_BLOCKING`), except those in [`Job::streams`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Step {
    /// Launches a kernel.
    Launch(Launch),
    /// Records an event (`cuEventRecord`).
    Record {
        /// The event.
        event: usize,
        /// The stream whose work so far it covers.
        #[serde(default)]
        stream: usize,
    },
    /// Lets a stream wait for an event (`cuStreamWaitEvent`). Waiting for an event that was never recorded has no effect.
    Wait {
        /// The event.
        event: usize,
        /// The stream that waits.
        #[serde(default)]
        stream: usize,
    },
    /// Copies memory on a stream.
    Copy {
        /// The source.
        from: Place,
        /// The destination.
        to: Place,
        /// The number of bytes.
        bytes: u64,
        /// The stream.
        #[serde(default)]
        stream: usize,
    },
    /// The host copies host memory to host memory immediately (`memcpy`). This is how it fills and reads memory while streams
    /// run.
    Host {
        /// The source.
        from: Place,
        /// The destination.
        to: Place,
        /// The number of bytes.
        bytes: u64,
    },
    /// Lets the host wait until a stream is idle (`cuStreamSynchronize`).
    Synchronize {
        /// The stream.
        #[serde(default)]
        stream: usize,
    },
}

impl Step {
    /// The stream of the step; `None` for steps of the host itself.
    pub fn stream(&self) -> Option<usize> {
        match self {
            Step::Launch(launch) => Some(launch.stream),
            Step::Record { stream, .. }
            | Step::Wait { stream, .. }
            | Step::Copy { stream, .. }
            | Step::Synchronize { stream } => Some(*stream),
            Step::Host { .. } => None,
        }
    }
}

/// `kernel<<<grid, block, shared, stream>>>(params)`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Launch {
    /// The kernel's name in the PTX (mangled).
    pub entry: String,
    /// Grid dimensions in blocks.
    pub grid: [u32; 3],
    /// Block dimensions in threads.
    pub block: [u32; 3],
    /// Dynamic shared memory of a block in bytes.
    #[serde(default)]
    pub shared: u32,
    /// The parameters in order.
    #[serde(default)]
    pub params: Vec<Param>,
    /// `cuLaunchCooperativeKernel`: all blocks are resident, `grid.sync()` works.
    #[serde(default)]
    pub cooperative: bool,
    /// Blocks of a cluster, if the launch says (`CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster: Option<[u32; 3]>,
    /// Whether it may begin before the launch in front of it in its stream has ended (`CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION`). No launch
    /// of a job with such a one is timed: an event between two launches would order them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub dependent: bool,
    /// The stream.
    #[serde(default)]
    pub stream: usize,
}

/// A parameter of a launch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Param {
    /// The address of a buffer, by its index.
    Buffer(usize),
    /// The address of host memory, by its index: it is the same for the device (CUDA Driver API, "Unified Addressing").
    Host(usize),
    /// The bytes of a value, as wide as the parameter.
    Bytes(Bytes),
}

/// A place in memory where a copy starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Place {
    /// Global memory.
    Buffer {
        /// Index into [`Job::buffers`].
        index: usize,
        /// Bytes from its start.
        #[serde(default)]
        offset: u64,
    },
    /// Host memory.
    Host {
        /// Index into [`Job::host`].
        index: usize,
        /// Bytes from its start.
        #[serde(default)]
        offset: u64,
    },
}

/// The answer to a job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reply {
    /// The job completed.
    Done(Done),
    /// The job failed.
    Failed {
        /// The error and its place in the job.
        error: DeviceError,
        /// The GPU, if it was reached.
        device: Option<DeviceInfo>,
        /// The kernels' output so far, if it is available.
        printed: String,
    },
}

/// The maximum number of streams and events of a job.
const STREAMS: usize = 64;
const EVENTS: usize = 4096;

impl Job {
    /// Validates the job and returns the problem, if any.
    pub fn problem(&self) -> Option<String> {
        if self.ptx.contains('\0') {
            return Some("the PTX contains a NUL".to_owned());
        }
        for (what, buffers) in [("buffer", &self.buffers), ("host memory", &self.host)] {
            for (index, buffer) in buffers.iter().enumerate() {
                let given = buffer.data.as_ref().map_or(0, |d| d.0.len() as u64);
                if given > buffer.bytes || buffer.read_bytes > Some(buffer.bytes) {
                    return Some(format!("more bytes than {what} {index} has"));
                }
                if let (Some(symbol), true) = (&buffer.symbol, self.ptx.is_empty()) {
                    return Some(format!("the variable `{symbol}` needs a module"));
                }
            }
        }
        let recorded = |event: &usize| {
            let mut steps = self.steps.iter();
            steps.any(|s| matches!(s, Step::Record { event: e, .. } if e == event))
        };
        if let Some(event) = self.intervals.iter().flatten().find(|e| !recorded(e)) {
            return Some(format!(
                "an interval uses event {event}, which is never recorded"
            ));
        }
        if self.streams.keys().any(|stream| *stream >= STREAMS) {
            return Some(format!("stream numbers must be below {STREAMS}"));
        }
        let missing = |what: &str, index: &usize| format!("there is no {what} {index}");
        if let Some(index) = self.read.iter().find(|i| **i >= self.buffers.len()) {
            return Some(missing("buffer", index));
        }
        if let Some(index) = self.read_host.iter().find(|i| **i >= self.host.len()) {
            return Some(missing("host memory", index));
        }
        self.steps
            .iter()
            .enumerate()
            .find_map(|(at, step)| Some(format!("step {at}: {}", self.step_problem(step)?)))
    }

    fn step_problem(&self, step: &Step) -> Option<String> {
        if step.stream() >= Some(STREAMS) {
            return Some(format!("stream numbers must be below {STREAMS}"));
        }
        match step {
            Step::Launch(_) if self.ptx.is_empty() => Some("a launch needs PTX".to_owned()),
            Step::Launch(launch) => launch.params.iter().find_map(|param| match param {
                Param::Buffer(index) if *index >= self.buffers.len() => {
                    Some(format!("there is no buffer {index}"))
                }
                Param::Host(index) if *index >= self.host.len() => {
                    Some(format!("there is no host memory {index}"))
                }
                _ => None,
            }),
            Step::Host {
                from: Place::Buffer { .. },
                ..
            }
            | Step::Host {
                to: Place::Buffer { .. },
                ..
            } => Some("the host can copy only host memory".to_owned()),
            Step::Record { event, .. } | Step::Wait { event, .. } => {
                (*event >= EVENTS).then(|| format!("event numbers must be below {EVENTS}"))
            }
            Step::Copy {
                from, to, bytes, ..
            }
            | Step::Host { from, to, bytes } => [from, to].into_iter().find_map(|place| {
                let (what, buffers, index, offset) = match place {
                    Place::Buffer { index, offset } => ("buffer", &self.buffers, index, offset),
                    Place::Host { index, offset } => ("host memory", &self.host, index, offset),
                };
                match buffers.get(*index) {
                    None => Some(format!("there is no {what} {index}")),
                    Some(b) if offset.checked_add(*bytes).is_none_or(|end| end > b.bytes) => {
                        Some(format!("the copy exceeds the end of {what} {index}"))
                    }
                    Some(_) => None,
                }
            }),
            Step::Synchronize { .. } => None,
        }
    }

    /// Whether all steps are on one stream and the host does nothing meanwhile. Then the process can wait for each step and
    /// attribute errors to it.
    pub fn is_sequential(&self) -> bool {
        // Who waited for the first of two launches would order them.
        let dependent = |step: &Step| matches!(step, Step::Launch(launch) if launch.dependent);
        if self.steps.iter().any(dependent) {
            return false;
        }
        let mut streams = self.steps.iter().map(Step::stream);
        let Some(first) = streams.next() else {
            return true;
        };
        first.is_some() && streams.all(|stream| stream == first)
    }
}

/// The parameters of a launch in memory, each aligned for every type.
///
/// The driver reads as many parameters, and as many bytes of each, as the kernel declares. Where a job gives less, it reads
/// zeros (for up to [`MORE`] missing parameters).
#[derive(Clone, Debug)]
pub struct ParamBlock {
    units: Vec<u128>,
    offsets: Vec<usize>,
}

/// Maximum size of a kernel's parameters in bytes (PTX ISA, "Kernel Function Parameters").
const PARAM_BYTES: usize = 32_764;
/// Maximum number of missing parameters.
const MORE: usize = 1024;

impl ParamBlock {
    /// Lays parameters out; `addresses` are those of the buffers, `host` those of host memory.
    pub fn new(params: &[Param], addresses: &[u64], host: &[u64]) -> ParamBlock {
        let mut units: Vec<u128> = Vec::new();
        let mut offsets = Vec::new();
        for param in params {
            offsets.push(units.len());
            let bytes = match param {
                Param::Buffer(index) => &addresses[*index].to_le_bytes()[..],
                Param::Host(index) => &host[*index].to_le_bytes(),
                Param::Bytes(bytes) => &bytes.0,
            };
            units.extend(bytes.chunks(16).map(|chunk| {
                let mut unit = [0; 16];
                unit[..chunk.len()].copy_from_slice(chunk);
                u128::from_le_bytes(unit)
            }));
        }
        let zeros = units.len();
        units.resize(zeros + PARAM_BYTES.div_ceil(16), 0);
        offsets.resize(params.len() + MORE, zeros);
        ParamBlock { units, offsets }
    }

    /// The address of each parameter, including those that may be missing.
    pub fn values(&self) -> impl Iterator<Item = &u128> {
        self.offsets.iter().map(|offset| &self.units[*offset])
    }
}

/// The results of a job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Done {
    /// The buffers of [`Job::read`], in the same order.
    pub buffers: Vec<Bytes>,
    /// The host memory of [`Job::read_host`], in the same order.
    #[serde(default)]
    pub host: Vec<Bytes>,
    /// What the kernels printed.
    pub printed: String,
    /// The time of each launch in nanoseconds, between an event before and one after it on its stream (with a resolution of
    /// about half a microsecond).
    pub nanoseconds: Vec<u64>,
    /// [`Job::intervals`] in nanoseconds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub intervals: Vec<u64>,
    /// The GPU.
    pub device: DeviceInfo,
}

/// A GPU.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceInfo {
    /// Its name, such as `NVIDIA H200`.
    pub name: String,
    /// The driver's version, such as `580.65.06 (CUDA 13.0)`.
    pub driver: String,
    /// Compute capability, major and minor.
    pub compute_capability: (u32, u32),
}

impl std::fmt::Display for DeviceInfo {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (major, minor) = self.compute_capability;
        write!(
            f,
            "{}, compute capability {major}.{minor}, driver {}",
            self.name, self.driver
        )
    }
}

#[cfg(test)]
mod tests;
