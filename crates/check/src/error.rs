//! Why a kernel could not be checked.

use report::{Failure, SourceFile};
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// The step that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The file can't be read, or is neither CUDA source nor PTX.
    Input,
    /// There is no CUDA compiler, or it can't be run.
    NoCompiler,
    /// The compiler refuses the source.
    Refused,
    /// The file has no such kernel, or several of the name.
    Kernel,
    /// An argument does not fit its parameter, or names none.
    Argument,
    /// No GPU can launch the kernel so, or the launch can't end within its budgets.
    Launch,
    /// The device's memory is full.
    Memory,
    /// The compiler did not end in time.
    Time,
    /// The compiler failed, and not because of the source: it was killed, or lacks a part of itself.
    Compiler,
    /// The check was cancelled.
    Cancelled,
}

/// Why a kernel could not be checked: the step that failed, and the message with its place and remedy.
#[derive(Clone, Debug, PartialEq)]
pub struct Error {
    /// The step that failed.
    pub kind: ErrorKind,
    /// The message.
    pub failure: Box<Failure>,
}

impl Error {
    /// An error that is worded.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Error {
        let failure = match kind {
            ErrorKind::Memory | ErrorKind::Time | ErrorKind::Compiler | ErrorKind::Cancelled => {
                Failure::inconclusive(message)
            }
            _ => Failure::usage(message),
        };
        Error {
            kind,
            failure: Box::new(failure),
        }
    }

    /// With a remedy.
    pub fn help(mut self, help: impl Into<String>) -> Error {
        self.failure.help = Some(help.into());
        self
    }

    /// With another program's words, or a list.
    pub fn text(mut self, text: impl Into<String>) -> Error {
        self.failure.text = Some(text.into());
        self
    }

    /// With a place.
    pub fn at(
        mut self,
        source: Arc<SourceFile>,
        span: Range<usize>,
        label: impl Into<String>,
    ) -> Error {
        *self.failure = self.failure.at(source, span, label);
        self
    }

    /// The message as printed, ending in a line feed.
    pub fn render(&self, color: bool) -> String {
        self.failure.render(color)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.failure.fmt(f)
    }
}

impl std::error::Error for Error {}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        *error.failure
    }
}
