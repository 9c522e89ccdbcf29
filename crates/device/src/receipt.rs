//! Receipts: files that record the run of a case on a GPU.
//!
//! A test that runs under a tool cannot judge itself, because the tool's output is known only after the process has ended.
//! So the test writes a receipt as proof that the kernels ran, and whoever started the tool judges both. A missing receipt,
//! or one without runs, says nothing about the case.

use super::job::DeviceInfo;
use serde::{Deserialize, Serialize};
use std::io;
use std::path::Path;

/// The run of one case on a GPU.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Receipt {
    /// The case's name, such as `scan/warp/plain`.
    pub case: String,
    /// The tool that the test ran under: `racecheck`, `synccheck`, `memcheck` or `initcheck`; `None` for none.
    pub tool: Option<String>,
    /// The GPU; `None` if no run reached it.
    pub device: Option<DeviceInfo>,
    /// The number of runs started on the GPU.
    pub runs: u32,
    /// The number of these that ended with a wrong result.
    pub wrong: u32,
    /// The first wrong result, in words.
    pub first_wrong: Option<String>,
    /// The error that ended the runs, by name and in words: `CUDA_ERROR_ILLEGAL_ADDRESS: …`.
    pub error: Option<String>,
    /// Whether a run exceeded its time limit and was killed.
    pub hung: bool,
    /// Wall-clock time of all runs in seconds.
    pub seconds: f64,
}

/// Why a receipt cannot be written or read.
#[derive(Debug, thiserror::Error)]
pub enum ReceiptError {
    /// The file.
    #[error("cannot access the receipt `{path}`: {error}")]
    File {
        /// Which.
        path: String,
        /// Why.
        error: io::Error,
    },
    /// Its contents are malformed.
    #[error("`{path}` is not a receipt: {error}")]
    Syntax {
        /// Which.
        path: String,
        /// Why.
        error: serde_json::Error,
    },
}

impl Receipt {
    /// A receipt without runs.
    pub fn blank(case: &str) -> Receipt {
        Receipt {
            case: case.to_owned(),
            tool: None,
            device: None,
            runs: 0,
            wrong: 0,
            first_wrong: None,
            error: None,
            hung: false,
            seconds: 0.0,
        }
    }

    /// Writes it as JSON, atomically: a reader sees the whole file or none.
    pub fn write(&self, path: &Path) -> Result<(), ReceiptError> {
        let failed = |error| ReceiptError::File {
            path: path.display().to_string(),
            error,
        };
        let folder = path.parent().filter(|p| !p.as_os_str().is_empty());
        let folder = folder.unwrap_or(Path::new("."));
        let text = serde_json::to_string_pretty(self).map_err(|e| failed(e.into()))? + "\n";
        std::fs::create_dir_all(folder).map_err(failed)?;
        let mut file = tempfile::NamedTempFile::new_in(folder).map_err(failed)?;
        io::Write::write_all(&mut file, text.as_bytes()).map_err(failed)?;
        file.persist(path).map_err(|e| failed(e.error))?;
        Ok(())
    }

    /// Reads a receipt.
    pub fn read(path: &Path) -> Result<Receipt, ReceiptError> {
        let text = std::fs::read_to_string(path).map_err(|error| ReceiptError::File {
            path: path.display().to_string(),
            error,
        })?;
        serde_json::from_str(&text).map_err(|error| ReceiptError::Syntax {
            path: path.display().to_string(),
            error,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_read_as_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("receipts/scan-warp-plain.json");
        let receipt = Receipt {
            tool: Some("racecheck".to_owned()),
            device: Some(DeviceInfo {
                name: "a GPU".to_owned(),
                driver: "13.0".to_owned(),
                compute_capability: (9, 0),
            }),
            runs: 4,
            wrong: 1,
            first_wrong: Some("data[3] = 1, expected 2".to_owned()),
            seconds: 0.25,
            ..Receipt::blank("scan/warp/plain")
        };
        receipt.write(&path).unwrap();
        assert_eq!(Receipt::read(&path).unwrap(), receipt);
        receipt.write(&path).unwrap();
        assert_eq!(
            std::fs::read_dir(path.parent().unwrap()).unwrap().count(),
            1
        );
    }

    #[test]
    fn what_is_no_receipt_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("r.json");
        assert!(matches!(
            Receipt::read(&path),
            Err(ReceiptError::File { .. })
        ));
        for text in ["", "{}", "{\"case\":\"a\",\"more\":1}"] {
            std::fs::write(&path, text).unwrap();
            let error = Receipt::read(&path).unwrap_err();
            assert!(matches!(error, ReceiptError::Syntax { .. }), "{error}");
        }
    }
}
