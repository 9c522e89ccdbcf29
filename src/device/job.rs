//! What the device process is asked to do, and what it answers: one line of JSON each.
//!
//! A job is complete in itself: PTX, memory, steps. The process knows nothing of cases, oracles or verdicts.
//! Memory is allocated anew for each job and PTX is loaded anew, so that no job
//! sees what another one left.

use super::error::DeviceError;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

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
/// A job with no PTX and no steps is answered with what the GPU is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Job {
    /// The module that launches take their kernels from; none is loaded if this is empty.
    #[serde(default)]
    pub ptx: String,
    /// Global memory, each buffer an allocation of its own.
    #[serde(default)]
    pub buffers: Vec<Buffer>,
    /// Host memory that copies read and write, page-locked so that they are asynchronous.
    #[serde(default)]
    pub host: Vec<Buffer>,
    /// What to do, in the order in which the host does it.
    #[serde(default)]
    pub steps: Vec<Step>,
    /// The buffers to send back, by index, when everything has come to its end.
    #[serde(default)]
    pub read: Vec<usize>,
    /// The pieces of host memory to send back then, by index.
    #[serde(default)]
    pub read_host: Vec<usize>,
}

/// A piece of memory.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Buffer {
    /// Its length in bytes. A buffer of no bytes has the address 0.
    pub bytes: u64,
    /// What it holds at the start; `None`: nobody writes it. Shorter data fills the beginning.
    #[serde(default)]
    pub data: Option<Bytes>,
    /// How many bytes from its start are sent back, if it is to be sent back; all, if `None`. A tool that looks for
    /// memory that was never written takes this reading for a use of it.
    #[serde(default)]
    pub read_bytes: Option<u64>,
}

impl Buffer {
    /// A buffer that holds `data`.
    pub fn of(data: Vec<u8>) -> Buffer {
        Buffer {
            bytes: data.len() as u64,
            data: Some(Bytes(data)),
            read_bytes: None,
        }
    }

    /// A buffer that nobody writes at the start.
    pub fn uninitialized(bytes: u64) -> Buffer {
        Buffer {
            bytes,
            data: None,
            read_bytes: None,
        }
    }
}

/// Something that the host does. Streams and events are numbers from 0, made when first named; streams don't wait for
/// each other (`CU_STREAM_NON_BLOCKING`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Step {
    /// Launches a kernel.
    Launch(Launch),
    /// Records an event (`cuEventRecord`).
    Record {
        /// The event.
        event: usize,
        /// The stream whose work so far it stands for.
        #[serde(default)]
        stream: usize,
    },
    /// Lets a stream wait for an event (`cuStreamWaitEvent`). An event that was never recorded is no reason to wait.
    Wait {
        /// The event.
        event: usize,
        /// The stream that waits.
        #[serde(default)]
        stream: usize,
    },
    /// Copies memory on a stream.
    Copy {
        /// From where.
        from: Place,
        /// To where.
        to: Place,
        /// How many bytes.
        bytes: u64,
        /// The stream.
        #[serde(default)]
        stream: usize,
    },
    /// Lets the host wait until a stream has nothing left to do (`cuStreamSynchronize`).
    Synchronize {
        /// The stream.
        #[serde(default)]
        stream: usize,
    },
}

impl Step {
    /// The stream that it is about.
    pub fn stream(&self) -> usize {
        match self {
            Step::Launch(launch) => launch.stream,
            Step::Record { stream, .. }
            | Step::Wait { stream, .. }
            | Step::Copy { stream, .. }
            | Step::Synchronize { stream } => *stream,
        }
    }
}

/// `kernel<<<grid, block, shared, stream>>>(params)`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Launch {
    /// The kernel's name in the PTX (mangled).
    pub entry: String,
    /// Blocks.
    pub grid: [u32; 3],
    /// Threads of a block.
    pub block: [u32; 3],
    /// Dynamic shared memory of a block, bytes.
    #[serde(default)]
    pub shared: u32,
    /// The parameters in order.
    #[serde(default)]
    pub params: Vec<Param>,
    /// `cuLaunchCooperativeKernel`: all blocks are resident, `grid.sync()` works.
    #[serde(default)]
    pub cooperative: bool,
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
    /// A value as it lies in memory, as wide as the parameter.
    Bytes(Bytes),
}

/// A place in memory that a copy begins at.
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
    /// Everything came to its end.
    Done(Done),
    /// Something did not.
    Failed {
        /// What, and where in the job.
        error: DeviceError,
        /// The GPU, if it came so far.
        device: Option<DeviceInfo>,
        /// What the kernels printed before, as far as it was handed over.
        printed: String,
    },
}

/// What a job left behind.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Done {
    /// What [`Job::read`] asked for, in its order.
    pub buffers: Vec<Bytes>,
    /// What [`Job::read_host`] asked for, in its order.
    #[serde(default)]
    pub host: Vec<Bytes>,
    /// What the kernels printed.
    pub printed: String,
    /// The time of each launch in order, nanoseconds, between an event before it and one after it on its stream
    /// (these resolve about half a microsecond).
    pub nanoseconds: Vec<u64>,
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
mod tests {
    use super::*;

    #[test]
    fn a_job_is_one_line_and_comes_back_the_same() {
        let job = Job {
            ptx: ".version 8.0\n.target sm_75\n".to_owned(),
            buffers: vec![Buffer::of(vec![0, 255, 10]), Buffer::uninitialized(64)],
            host: vec![Buffer::of(vec![1; 5])],
            steps: vec![
                Step::Launch(Launch {
                    entry: "_Z1kPi".to_owned(),
                    grid: [1, 2, 3],
                    block: [32, 1, 1],
                    shared: 48 << 10,
                    params: vec![Param::Buffer(1), Param::Bytes(vec![7, 0, 0, 0].into())],
                    cooperative: true,
                    stream: 1,
                }),
                Step::Record {
                    event: 3,
                    stream: 1,
                },
                Step::Wait {
                    event: 3,
                    stream: 0,
                },
                Step::Copy {
                    from: Place::Host {
                        index: 0,
                        offset: 1,
                    },
                    to: Place::Buffer {
                        index: 0,
                        offset: 0,
                    },
                    bytes: 3,
                    stream: 0,
                },
                Step::Synchronize { stream: 0 },
            ],
            read: vec![1, 0],
            read_host: vec![0],
        };
        let text = serde_json::to_string(&job).unwrap();
        assert!(!text.contains('\n'));
        assert_eq!(serde_json::from_str::<Job>(&text).unwrap(), job);
    }

    #[test]
    fn what_is_not_said_has_a_usual_value() {
        let job: Job = serde_json::from_str(
            r#"{"buffers":[{"bytes":4,"data":"AQI="}],"steps":[{"launch":{"entry":"k","grid":[1,1,1],"block":[1,1,1],"params":[{"buffer":0},{"bytes":"/w=="}]}},{"synchronize":{}}]}"#,
        )
        .unwrap();
        assert_eq!(job.buffers[0].data, Some(Bytes(vec![1, 2])));
        assert_eq!(job.steps[1], Step::Synchronize { stream: 0 });
        let Step::Launch(launch) = &job.steps[0] else {
            panic!("{job:?}")
        };
        assert_eq!(launch.params[1], Param::Bytes(Bytes(vec![255])));
        assert!(!launch.cooperative && launch.shared == 0);
    }

    #[test]
    fn misspelt_jobs_are_refused() {
        for text in [
            r#"{"buffer":[]}"#,
            r#"{"steps":[{"lunch":{}}]}"#,
            r#"{"buffers":[{"bytes":1,"data":"*"}]}"#,
        ] {
            assert!(serde_json::from_str::<Job>(text).is_err(), "{text}");
        }
    }
}
