//! A host plan as a case's YAML says it: what the host program does, in order, beyond launches on one stream.
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
//! Streams and events need no declaration. A stream that is named is a non-blocking one (`cudaStreamNonBlocking`): it waits for no
//! other one. A step that names none is on the legacy default stream (`kernel<<<…>>>`), as is one with `stream: default`. That one
//! waits for all that blocking streams (`cudaStreamCreate`) were given before, and they wait for it (CUDA C++ Programming Guide,
//! "Default Stream", "Implicit Synchronization"). Which streams are blocking, the case says beside its plan:
//!
//! ```yaml
//! streams: {work: blocking}
//! plan:
//!   - copy: {from: given, to: data, stream: work}
//!   - launch: {entry: scale, grid: 4, block: 64, args: [data, n]}   # after the copy, for `work` is blocking
//! ```
//!
//! When the plan has ended, the host waits for everything, and the oracle looks at the buffers. A guilty
//! step carries tags as a kernel's line does, in a comment on the line where it begins:
//! `- copy: {…}  #~ data-race#1 write`.

use super::case::Launch;
use super::expression::Expression;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One step. Exactly one of the keys is given.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Step {
    /// Launches a kernel.
    #[serde(default)]
    pub launch: Option<Launch>,
    /// Copies memory on a stream (`cudaMemcpyAsync`): the host goes on at once.
    #[serde(default)]
    pub copy: Option<Copy>,
    /// The host itself copies from one piece of host memory to another (`memcpy`): it fills a buffer, or looks at one.
    #[serde(default)]
    pub host: Option<Copy>,
    /// Records an event on a stream (`cudaEventRecord`).
    #[serde(default)]
    pub record: Option<Mark>,
    /// Lets a stream wait for an event (`cudaStreamWaitEvent`).
    #[serde(default)]
    pub wait: Option<Mark>,
    /// Lets the host wait for a stream (`cudaStreamSynchronize`), for the `default` one, or for `all` of them
    /// (`cudaDeviceSynchronize`).
    #[serde(default)]
    pub synchronize: Option<String>,
}

/// From where, to where, how much.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Copy {
    /// The buffer that is read.
    pub from: String,
    /// The buffer that is written.
    pub to: String,
    /// The first element that is read; 0, if not given.
    #[serde(default)]
    pub from_element: Option<Expression>,
    /// The first element that is written; 0, if not given.
    #[serde(default)]
    pub to_element: Option<Expression>,
    /// Elements of `from` that are copied; as many as there are from the first one on, if not given.
    #[serde(default)]
    pub count: Option<Expression>,
    /// The stream, if not the `default` one; not of a `host` step.
    #[serde(default)]
    pub stream: Option<String>,
}

/// An event and a stream.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Mark {
    /// The event.
    pub event: String,
    /// The stream, if not the `default` one.
    #[serde(default)]
    pub stream: Option<String>,
}

/// How a stream was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum StreamKind {
    /// By `cudaStreamCreate`: the default stream waits for it, and it waits for the default stream.
    Blocking,
    /// With `cudaStreamNonBlocking`: it and the default stream don't wait for each other.
    NonBlocking,
}

/// Where a buffer lies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Memory {
    /// Global memory of the device (`cudaMalloc`).
    #[default]
    Device,
    /// Page-locked host memory (`cudaMallocHost`), which kernels can address, too ("mapped": CUDA C++ Programming Guide,
    /// "Mapped Memory").
    Pinned,
    /// Unified memory (`cudaMallocManaged`). Not run on a GPU: there, it depends on the system whether the
    /// host may touch it while a kernel runs.
    Managed,
}

impl Memory {
    /// Whether it need not be said.
    pub(super) fn is_usual(&self) -> bool {
        *self == Memory::Device
    }

    /// Whether the host can touch it.
    pub fn is_of_host(self) -> bool {
        self != Memory::Device
    }
}

/// What [`Step::synchronize`] calls all streams.
pub const ALL: &str = "all";

/// The legacy default stream: that of steps that name none.
pub const DEFAULT: &str = "default";

impl Step {
    /// The keys that are given; there should be one.
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

    /// The stream that it names or, with none, works on; `None` for what the host does or waits for.
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
