//! What can go wrong before there is a report, and when a buffer is read from one.

use ::check::ErrorKind;
use std::fmt;

/// Why a kernel could not be checked. `Display` and `Debug` show the whole message, with the place and the remedy.
#[derive(Clone, PartialEq)]
pub struct Error(::check::Error);

impl Error {
    /// The step that failed.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }
}

impl From<::check::Error> for Error {
    fn from(error: ::check::Error) -> Error {
        Error(error)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.render(false).trim_end())
    }
}

/// The same: it is what `unwrap` prints in a failing test.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {self}", self.kind())
    }
}

impl std::error::Error for Error {}

/// Why a buffer can't be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BufferError {
    /// No argument of that name is a buffer.
    #[error("no buffer is called `{name}`; there are: {}", known.join(", "))]
    Unknown {
        /// The name asked for.
        name: String,
        /// The names that there are.
        known: Vec<String>,
    },
    /// Its elements have another size.
    #[error("`{name}` holds {held}, not {wanted}")]
    WrongType {
        /// The buffer.
        name: String,
        /// Type of its elements.
        held: &'static str,
        /// The type asked for.
        wanted: &'static str,
    },
    /// Nothing was written to one of its elements.
    #[error("`{name}[{index}]` was never written")]
    Unwritten {
        /// The buffer.
        name: String,
        /// The first such element.
        index: usize,
    },
}
