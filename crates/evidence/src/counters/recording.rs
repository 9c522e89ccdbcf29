//! What hardware counted, kept in `sanitizer/counters/`.

use super::tally::Counts;
use crate::unparsed;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// What one GPU counted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Recording {
    /// The GPU, such as `NVIDIA H200`.
    pub gpu: String,
    /// The version of `ncu`.
    pub ncu: String,
    /// By case.
    pub cases: BTreeMap<String, Measured>,
}

/// What was counted for a case.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Measured {
    /// Of the job that ran, so that a changed kernel or plan is told.
    pub job: String,
    /// The sums.
    pub counts: Counts,
}

/// A recording that can't be read.
#[derive(Debug, thiserror::Error)]
pub enum RecordingError {
    /// The file can't be read.
    #[error("`{}`: {error}", file.display())]
    Unreadable {
        /// The file.
        file: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// It is a file of something else.
    #[error("`{}` has no counters in it: {}", file.display(), unparsed(error))]
    Syntax {
        /// The file.
        file: PathBuf,
        /// Why.
        error: serde_json::Error,
    },
}

impl Recording {
    /// Reads a recording.
    ///
    /// # Errors
    ///
    /// A file that is not there, or none of ours.
    pub fn read(file: &Path) -> Result<Recording, RecordingError> {
        let text = std::fs::read_to_string(file).map_err(|error| RecordingError::Unreadable {
            file: file.to_owned(),
            error,
        })?;
        serde_json::from_str(&text).map_err(|error| RecordingError::Syntax {
            file: file.to_owned(),
            error,
        })
    }

    /// The file's text.
    pub fn text(&self) -> String {
        let mut text = serde_json::to_string_pretty(self)
            .unwrap_or_else(|e| unreachable!("a recording is plain JSON: {e}"));
        text.push('\n');
        text
    }
}
