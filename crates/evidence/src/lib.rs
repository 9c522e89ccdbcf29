//! Evidence: the stored results of GPU runs of the catalogue, `sanitizer/evidence/*.json`.
//!
//! A GPU run produces recordings of the tools and receipts of plain runs. [`merge`] judges the recordings
//! ([`crate::sanitizer`]), reads the receipts, and puts one [`Observation`] for each case and detector into an [`Evidence`].
//! Each observation has the [`Fingerprint`] of what ran, which shows when it no longer applies to the current kernel.

pub mod conformance;
pub mod counters;
pub mod matrix;
pub mod merge;
pub mod observation;
pub mod races;
pub mod sanitizer;
mod under;

pub use observation::{Detector, Fingerprint, Observation, ToolReport, Untold};
pub use under::Under;

use device::job::DeviceInfo;
use include_dir::{Dir, include_dir};
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::path::Path;

static EMBEDDED: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/evidence");

/// The version of the file format.
pub const FORMAT: u32 = 1;

/// What one GPU has said.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Evidence {
    /// [`FORMAT`].
    pub format: u32,
    /// The GPU and its driver.
    pub device: DeviceInfo,
    /// The version of compute-sanitizer, `2025.3.1`; `None` where only plain runs are in here.
    pub sanitizer: Option<String>,
    /// By case, then detector.
    pub observations: Vec<Observation>,
}

/// An evidence file that can't be used.
#[derive(Debug, thiserror::Error)]
pub enum EvidenceError {
    /// It can't be read or written.
    #[error("`{path}`: {error}")]
    File {
        /// Which.
        path: String,
        /// Why.
        error: std::io::Error,
    },
    /// It is no evidence.
    #[error("`{path}` is not an evidence file: {}", unparsed(error))]
    Syntax {
        /// Which.
        path: String,
        /// Why.
        error: serde_json::Error,
    },
    /// It is of another version of racetrap.
    #[error("`{path}` has format {found}, but this racetrap reads format {FORMAT}")]
    Format {
        /// Which.
        path: String,
        /// Its format.
        found: u32,
    },
}

impl Evidence {
    /// Reads a file.
    pub fn read(path: &Path) -> Result<Evidence, EvidenceError> {
        let name = path.display().to_string();
        let text = std::fs::read_to_string(path).map_err(|error| EvidenceError::File {
            path: name.clone(),
            error,
        })?;
        Evidence::parse(&name, &text)
    }

    fn parse(name: &str, text: &str) -> Result<Evidence, EvidenceError> {
        let path = name.to_owned();
        let evidence: Evidence =
            serde_json::from_str(text).map_err(|error| EvidenceError::Syntax {
                path: path.clone(),
                error,
            })?;
        match evidence.format {
            FORMAT => Ok(evidence),
            found => Err(EvidenceError::Format { path, found }),
        }
    }

    /// The files inside this binary, that of the newest tool first.
    pub fn embedded() -> Result<Vec<Evidence>, EvidenceError> {
        let files = EMBEDDED
            .files()
            .filter(|file| file.path().extension().is_some_and(|e| e == "json"));
        let mut all = Vec::new();
        for file in files {
            let name = file.path().display().to_string();
            let text = file.contents_utf8().unwrap_or_default();
            all.push(Evidence::parse(&name, text)?);
        }
        Ok(Evidence::newest_first(all))
    }

    /// Sorted, that of the newest tool first.
    pub fn newest_first(mut all: Vec<Evidence>) -> Vec<Evidence> {
        all.sort_by_key(|e| {
            Reverse((
                numbers(e.sanitizer.as_deref()),
                numbers(Some(&e.device.driver)),
            ))
        });
        all
    }

    /// As a file.
    pub fn text(&self) -> String {
        let text = serde_json::to_string_pretty(self)
            .unwrap_or_else(|e| unreachable!("evidence is plain JSON: {e}"));
        text + "\n"
    }

    /// The name of its file: `nvidia-h200-cuda13.0.json`.
    pub fn file_name(&self) -> String {
        let gpu: Vec<String> = self
            .device
            .name
            .split(|c: char| !c.is_ascii_alphanumeric())
            .filter(|word| !word.is_empty())
            .map(str::to_lowercase)
            .collect();
        let cuda = self
            .device
            .driver
            .split_once("CUDA ")
            .map_or("unknown", |(_, version)| version.trim_end_matches(')'));
        format!("{}-cuda{cuda}.json", gpu.join("-"))
    }

    /// What a detector has said about a case.
    pub fn find(&self, case: &str, detector: Detector) -> Option<&Observation> {
        self.observations
            .iter()
            .find(|seen| seen.case == case && seen.detector == detector)
    }

    /// The GPU, the driver and the tool in a line.
    pub fn source(&self) -> String {
        match &self.sanitizer {
            Some(version) => format!("{}; compute-sanitizer {version}", self.device),
            None => self.device.to_string(),
        }
    }
}

/// What is wrong with a text that should be JSON, in words: an empty one has no place to point to.
pub fn unparsed(error: &serde_json::Error) -> String {
    match (error.is_eof(), error.line(), error.column()) {
        (true, 0 | 1, 0) => "it is empty".to_owned(),
        _ => error.to_string(),
    }
}

/// The numbers of a version, for comparing.
fn numbers(version: Option<&str>) -> Vec<u32> {
    version
        .unwrap_or_default()
        .split(|c: char| !c.is_ascii_digit())
        .filter_map(|number| number.parse().ok())
        .collect()
}

#[cfg(test)]
mod tests;
