//! The public face: what somebody's `#[test]` calls.

mod argument;
mod error;
mod report;
mod request;

pub use argument::{Argument, Buffer, Element};
pub use error::{BufferError, Error};
pub use report::{Explored, Finding, Format, Level, Place, Promise, Report, Verdict};
pub use request::{Check, Extent};

/// Why a kernel could not be checked.
pub use ::check::ErrorKind;
