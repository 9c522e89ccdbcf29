//! What the ends of a finding refer to: launches and the other steps of a host program.

use super::KernelView;
use super::kernel_view::variables;
use super::memory::MemoryNames;
use super::source::SourceFile;
use simt::Device;
use std::ops::Range;
use std::sync::Arc;

/// What a diagnostic needs to know about one step of a host program.
#[derive(Clone, Debug)]
pub enum View<'a> {
    /// A kernel launch.
    Kernel(KernelView<'a>),
    /// Any other step.
    Host(HostView),
}

/// Names the host in messages about steps that run on no stream.
pub const HOST: &str = "the host";

/// A copy, or a step of the host itself.
#[derive(Clone, Debug)]
pub struct HostView {
    /// Who performs it: `the copy from `a` to `b` on stream `s``, `the host`.
    pub who: String,
    /// The text that describes the step.
    pub source: Arc<SourceFile>,
    /// Its line in `source`.
    pub line: u32,
    /// What advice calls it, where that is no line: `` `cudaMemcpy` ``.
    pub named: Option<String>,
    /// The names of its buffers.
    pub memory: MemoryNames,
}

impl HostView {
    /// The view of the completed step at `line` of `source`.
    pub fn new(who: &str, device: &Device, source: &Arc<SourceFile>, line: u32) -> HostView {
        let global = variables(device);
        HostView {
            who: who.to_owned(),
            source: source.clone(),
            line,
            named: None,
            memory: MemoryNames {
                constant: global.clone(),
                global,
                ..MemoryNames::default()
            },
        }
    }

    /// Whether the host performs the step itself, between the steps that it issues.
    pub fn is_host_itself(&self) -> bool {
        self.who == HOST
    }

    /// The columns of the step in its line, without the list dash and a comment.
    pub fn columns(&self) -> Range<u32> {
        step_columns(self.source.line(self.line).unwrap_or_default())
    }
}

/// The columns of a step in its line of a case file, without the list dash and a comment.
pub fn step_columns(text: &str) -> Range<u32> {
    let end = text.find(" #").unwrap_or(text.len());
    let end = text[..end].trim_end().len();
    let start = text.len() - text.trim_start_matches([' ', '-']).len();
    start.min(end) as u32..end as u32
}

impl<'a> View<'a> {
    /// The launch, if it is one.
    pub fn kernel(&self) -> Option<&KernelView<'a>> {
        match self {
            View::Kernel(view) => Some(view),
            View::Host(_) => None,
        }
    }

    /// The names of its variables and buffers.
    pub fn memory(&self) -> &MemoryNames {
        match self {
            View::Kernel(view) => &view.memory,
            View::Host(view) => &view.memory,
        }
    }
}
