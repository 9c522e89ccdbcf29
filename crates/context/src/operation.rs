//! Operations of the host program: what is to be launched, and what is remembered of an operation while others may run at the same time.

use crate::call::{Call, LaunchName};
use crate::module::Kernel;
use simt::Dim3;
use std::sync::Arc;

/// What is to be launched.
#[derive(Clone, Debug)]
pub struct Request {
    /// The kernel.
    pub kernel: Arc<Kernel>,
    /// Blocks.
    pub grid: [u32; 3],
    /// Threads of a block.
    pub block: [u32; 3],
    /// Bytes of dynamic shared memory.
    pub shared: u64,
    /// The parameter block.
    pub params: Vec<u8>,
    /// Whether all blocks are resident together.
    pub cooperative: bool,
    /// Whether it may begin before the launch in front of it in the stream has ended.
    pub programmatic: bool,
    /// Blocks of a cluster, if the launch says.
    pub cluster: Option<[u32; 3]>,
    /// The stream's handle.
    pub stream: u64,
}

/// An operation, as it is remembered while others may run at the same time.
#[derive(Clone, Debug)]
pub struct Work {
    /// The kernel and its geometry; `None` for copies and the host.
    pub kernel: Option<(Arc<Kernel>, LaunchName)>,
    /// The call.
    pub call: Call,
    /// The stream, or `the host`.
    pub stream: String,
    /// What it does to the lifetime of memory.
    pub lifetime: Option<Lifetime>,
}

impl Work {
    /// A launch.
    pub fn launch(request: &Request, name: &LaunchName, call: Call) -> Work {
        Work {
            kernel: Some((request.kernel.clone(), name.clone())),
            call,
            stream: name.stream.clone(),
            lifetime: None,
        }
    }

    /// A copy, or something that the host does.
    pub fn host(call: Call, stream: String) -> Work {
        Work {
            kernel: None,
            call,
            stream,
            lifetime: None,
        }
    }
}

/// What an operation of a stream does to the lifetime of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lifetime {
    /// It begins.
    Begins,
    /// It ends.
    Ends,
}

/// How many there are of these extents; what is too large for the number is the largest one.
pub(crate) fn volume(extents: [u32; 3]) -> u64 {
    extents
        .into_iter()
        .fold(1, |n, extent| n.saturating_mul(u64::from(extent)))
}

pub(crate) fn dim([x, y, z]: [u32; 3]) -> Dim3 {
    Dim3 { x, y, z }
}

/// `launch 3 of `kernel` on stream 1`, for the reader.
pub(crate) fn describe(work: &Work) -> String {
    match &work.kernel {
        Some((_, name)) => format!(
            "launch {} of `{}` on {}",
            name.number, name.kernel, work.stream
        ),
        None if work.stream == "the host" => "the host".to_owned(),
        None => format!("`{}` on {}", work.call.function, work.stream),
    }
}
