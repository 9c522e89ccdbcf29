//! What a finding's ends refer to: launches, and what a host program does besides.

use super::KernelView;
use super::memory::MemoryNames;
use super::scene::variables;
use super::source::SourceFile;
use simt::Device;
use std::ops::Range;
use std::sync::Arc;

/// One step of a host program, as a diagnostic needs it.
#[derive(Clone, Debug)]
pub enum View<'a> {
    /// A launch.
    Kernel(KernelView<'a>),
    /// Anything else.
    Host(HostView),
}

/// Who does what no stream does.
pub const HOST: &str = "the host";

/// A copy, or something that the host itself does.
#[derive(Clone, Debug)]
pub struct HostView {
    /// Who does it: `the copy from `a` to `b` on stream `s``, `the host`.
    pub who: String,
    /// The text that describes the step.
    pub source: Arc<SourceFile>,
    /// Its line there.
    pub line: u32,
    /// Names in memory.
    pub memory: MemoryNames,
}

impl HostView {
    /// The step of a line, after it.
    pub fn new(who: &str, device: &Device, source: &Arc<SourceFile>, line: u32) -> HostView {
        let global = variables(device);
        HostView {
            who: who.to_owned(),
            source: source.clone(),
            line,
            memory: MemoryNames {
                constant: global.clone(),
                global,
                ..MemoryNames::default()
            },
        }
    }

    /// Whether the host does it itself, while it issues the other steps.
    pub fn is_host_itself(&self) -> bool {
        self.who == HOST
    }

    /// The step's bytes in its line: without the list's dash and a comment.
    pub fn columns(&self) -> Range<u32> {
        step_columns(self.source.line(self.line).unwrap_or_default())
    }
}

/// The bytes of a step in its line of a case's file: without the list's dash and a comment.
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

    /// Names in memory.
    pub fn memory(&self) -> &MemoryNames {
        match self {
            View::Kernel(view) => &view.memory,
            View::Host(view) => &view.memory,
        }
    }
}
