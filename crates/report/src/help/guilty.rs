//! The places of a finding, as help reads them.

use crate::source::SourceFile;
use std::ops::Range;
use std::sync::Arc;

/// A source line on the call path of an instruction.
#[derive(Clone, Debug)]
pub(crate) struct Frame {
    pub file: Arc<SourceFile>,
    pub line: u32,
    pub columns: Range<u32>,
    /// The function that the line belongs to, if it was inlined.
    pub function: Option<String>,
}

/// One end of a finding with its frames, innermost first. There is always at least one.
#[derive(Clone, Debug)]
pub(crate) struct Guilty {
    pub frames: Vec<Frame>,
    /// Whether the frames are source lines; otherwise there is one PTX line.
    pub in_source: bool,
    /// The source line that could not be read.
    pub unread: Option<String>,
    /// Whether the instruction itself is in a toolkit function.
    pub toolkit: bool,
    /// Whether it is in a toolkit function, or one was inlined there.
    pub library: bool,
    pub instruction: String,
}

impl Guilty {
    /// `line 6`
    pub fn place(&self) -> String {
        format!("line {}", self.frames[0].line)
    }

    /// Whether the instruction is the toolkit's, inlined or not.
    pub fn toolkit_code(&self) -> bool {
        self.toolkit || self.library
    }

    /// The code of the innermost frame, from its column to the end of its line.
    pub fn statement(&self) -> &str {
        let frame = &self.frames[0];
        let line = frame.file.line(frame.line).unwrap_or_default();
        let start = frame.columns.start as usize;
        line.get(start..)
            .unwrap_or_default()
            .split("//")
            .next()
            .unwrap_or_default()
    }

    /// The line of the innermost frame.
    pub fn line(&self) -> u32 {
        self.frames.first().map_or(0, |frame| frame.line)
    }

    /// Whether both are on one line of one file.
    pub fn same_line(&self, other: &Guilty) -> bool {
        let (a, b) = (&self.frames[0], &other.frames[0]);
        a.line == b.line && a.file.path == b.file.path
    }
}
