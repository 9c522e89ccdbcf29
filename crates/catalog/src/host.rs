//! The host plan of a case: the steps of a host program, beyond launches on one stream.
//!
//! ```yaml
//! plan:
//!   - copy: {from: given, to: data, stream: upload}
//!   - record: {event: uploaded, stream: upload}
//!   - wait: {event: uploaded, stream: work}
//!   - launch: {entry: scale, grid: 4, block: 64, args: [data, n], stream: work}
//!   - copy: {from: data, to: result, stream: work}
//!   - synchronize: work
//!   - host: {from: result, to: seen}
//! ```
//!
//! Streams and events need no declaration. A named stream is non-blocking (`cudaStreamNonBlocking`): it waits for no other
//! stream. A step without a stream, or with `stream: default`, is on the legacy default stream (`kernel<<<…>>>`). The default
//! stream waits for earlier work on blocking streams (`cudaStreamCreate`), and they wait for it (CUDA C++ Programming Guide,
//! "Default Stream", "Implicit Synchronization"). The case lists its blocking streams beside the plan:
//!
//! ```yaml
//! streams: {work: blocking}
//! plan:
//!   - copy: {from: given, to: data, stream: work}
//!   - launch: {entry: scale, grid: 4, block: 64, args: [data, n]}   # after the copy, because `work` is blocking
//! ```
//!
//! At the end of the plan the host waits for everything, and the oracle checks the buffers. Tag a guilty step like a line of a
//! kernel, in a comment on the line where it starts: `- copy: {…}  #~ data-race#1 write`.

use super::launch::Launch;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use session::expression::Expression;

/// A step. Give exactly one of the keys.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Step {
    /// Launches a kernel.
    #[serde(default)]
    pub launch: Option<Launch>,
    /// Copies memory on a stream (`cudaMemcpyAsync`). The host continues immediately.
    #[serde(default)]
    pub copy: Option<Copy>,
    /// The host copies host memory to host memory (`memcpy`), to fill a buffer or to read one.
    #[serde(default)]
    pub host: Option<Copy>,
    /// Records an event on a stream (`cudaEventRecord`).
    #[serde(default)]
    pub record: Option<Mark>,
    /// Lets a stream wait for an event (`cudaStreamWaitEvent`).
    #[serde(default)]
    pub wait: Option<Mark>,
    /// Lets the host wait for a stream (`cudaStreamSynchronize`), for the `default` stream, or for `all` streams
    /// (`cudaDeviceSynchronize`).
    #[serde(default)]
    pub synchronize: Option<String>,
}

/// A copy: source, destination and size.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Copy {
    /// The source buffer.
    pub from: String,
    /// The destination buffer.
    pub to: String,
    /// The first element to read; the default is 0.
    #[serde(default)]
    pub from_element: Option<Expression>,
    /// The first element to write; the default is 0.
    #[serde(default)]
    pub to_element: Option<Expression>,
    /// The number of elements of `from` to copy; the default is all from the first one on.
    #[serde(default)]
    pub count: Option<Expression>,
    /// The stream; the default is the `default` stream. Not allowed for a `host` step.
    #[serde(default)]
    pub stream: Option<String>,
}

/// An event and a stream.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Mark {
    /// The event.
    pub event: String,
    /// The stream; the default is the `default` stream.
    #[serde(default)]
    pub stream: Option<String>,
}

/// How a stream is created.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum StreamKind {
    /// With `cudaStreamCreate`: it and the default stream wait for each other.
    Blocking,
    /// With `cudaStreamNonBlocking`: it and the default stream do not wait for each other.
    NonBlocking,
}

/// The kind of memory of a buffer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Memory {
    /// Global memory of the device (`cudaMalloc`).
    #[default]
    Device,
    /// Page-locked host memory (`cudaMallocHost`), which kernels can also address ("mapped": CUDA C++ Programming Guide,
    /// "Mapped Memory").
    Pinned,
    /// Unified memory (`cudaMallocManaged`). Such cases do not run on a GPU, because the system decides whether the host may
    /// access it while a kernel runs.
    Managed,
}

impl Memory {
    /// Whether it is the default.
    pub(super) fn is_usual(&self) -> bool {
        *self == Memory::Device
    }

    /// Whether the host can access it.
    pub fn is_of_host(self) -> bool {
        self != Memory::Device
    }
}

/// The name of all streams in [`Step::synchronize`].
pub const ALL: &str = "all";

/// The legacy default stream, used by steps without a stream.
pub const DEFAULT: &str = "default";

impl Step {
    /// The keys that are given; exactly one is valid.
    pub fn keys(&self) -> Vec<&'static str> {
        [
            ("launch", self.launch.is_some()),
            ("copy", self.copy.is_some()),
            ("host", self.host.is_some()),
            ("record", self.record.is_some()),
            ("wait", self.wait.is_some()),
            ("synchronize", self.synchronize.is_some()),
        ]
        .into_iter()
        .filter_map(|(key, given)| given.then_some(key))
        .collect()
    }

    /// The stream of the step; `None` for steps and waits of the host.
    pub fn stream(&self) -> Option<&str> {
        let named = match self {
            Step {
                launch: Some(l), ..
            } => &l.stream,
            Step { copy: Some(c), .. } => &c.stream,
            Step {
                record: Some(m), ..
            }
            | Step { wait: Some(m), .. } => &m.stream,
            _ => return None,
        };
        Some(named.as_deref().unwrap_or(DEFAULT))
    }
}
