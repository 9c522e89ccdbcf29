//! What the value of an option must be, said where it is something else.

/// Why a value is refused: what it must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(super) struct Expected(pub &'static str);
