//! What is asked for and what comes of it, where a barrier is to be put.

use crate::edit::Edit;
use std::fmt;

/// What is to be put between two places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// A barrier of the block.
    Block,
    /// One of the block; of the warp where only a warp comes together. One warp's lanes were seen, and others run the code, too.
    BlockOrWarp,
    /// As the code has them: only one warp runs it, so both are right.
    Either,
    /// One of the warp.
    Warp,
    /// One of the cluster.
    Cluster,
}

/// Why no barrier is placed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unplaced {
    /// The source is not there, is not CUDA C++, or is not read that far: where a barrier may stand is for the reader to see.
    Unread,
    /// One is there already that all of its threads reach.
    There,
    /// Not all of its threads come there. The line of the condition that keeps some away, where it is around the place.
    Apart(Option<u32>),
}

/// A barrier that is put into a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Barrier {
    /// One of the block.
    Block,
    /// One of the warp.
    Warp,
    /// One of the cluster, with its code.
    Cluster(&'static str),
}

impl fmt::Display for Barrier {
    /// Its code in CUDA C++.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Barrier::Block => "__syncthreads()",
            Barrier::Warp => "__syncwarp()",
            Barrier::Cluster(code) => code,
        })
    }
}

/// Where a barrier goes.
#[derive(Clone, Debug)]
pub(crate) struct Placed {
    /// The barrier.
    pub barrier: Barrier,
    /// The line of a barrier that is there, and is moved.
    pub moved: Option<u32>,
    /// Where, in words: `between line 6 and line 8`.
    pub place: String,
    /// The change.
    pub edit: Edit,
}

/// What all threads of a cluster meet at: where the file has cooperative groups, and where not.
pub const CLUSTER: [&str; 2] = [
    "cooperative_groups::this_cluster().sync()",
    "asm volatile(\"barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;\" ::: \"memory\")",
];
