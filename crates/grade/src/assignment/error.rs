//! What is wrong with an assignment.

use std::path::PathBuf;

/// A mistake in an assignment, with its place.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AssignmentError {
    /// The file can't be read.
    #[error("{}: {reason}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The cause.
        reason: String,
    },
    /// It is no YAML of this kind.
    #[error("{0}")]
    Syntax(String),
    /// A value that does not fit the others.
    #[error("{file}:{line}:{column}: `{key}`: {what}")]
    Wrong {
        /// The file.
        file: String,
        /// The line, from 1.
        line: usize,
        /// The column, from 1.
        column: usize,
        /// The key: `parts[2].requires`.
        key: String,
        /// What is wrong.
        what: String,
    },
}
