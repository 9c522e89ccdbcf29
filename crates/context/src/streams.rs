//! The streams and events that there are, by their handles.

use crate::call::Call;
use crate::timeline::Agent;
use std::collections::HashMap;
use std::time::Instant;

/// `cudaStreamLegacy`
pub const LEGACY_HANDLE: u64 = 1;

/// `cudaStreamPerThread`
pub const PER_THREAD_HANDLE: u64 = 2;

/// A stream.
#[derive(Clone, Copy, Debug)]
pub struct Stream {
    pub(crate) agent: Agent,
    /// Its number, for the reader.
    pub number: usize,
    /// `cudaStreamNonBlocking` and the like.
    pub flags: u32,
    /// Its priority.
    pub priority: i32,
    /// How the reader is told of one that is the library's own.
    pub(crate) own: Option<&'static str>,
}

/// An event.
#[derive(Clone, Copy, Debug)]
pub struct Event {
    /// When it was last recorded.
    pub recorded: Option<Instant>,
    /// `cudaEventDisableTiming` and the like.
    pub flags: u32,
}

/// All streams and events.
#[derive(Debug, Default)]
pub struct Streams {
    pub(crate) streams: HashMap<u64, Stream>,
    pub(crate) events: HashMap<u64, Event>,
    pub(crate) created: usize,
    pub(crate) ended: HashMap<u64, Call>,
    /// By stream: those that have branched off from it and are not used at the moment.
    pub(crate) branches: HashMap<u64, Vec<u64>>,
    /// What the program set of its streams: 64 bytes each, by stream and number of the attribute.
    pub(crate) attributes: HashMap<(u64, u32), [u8; 64]>,
    /// The stream of a launch that is run again.
    pub(crate) elsewhere: Option<String>,
}
