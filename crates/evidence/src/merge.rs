//! Merges the results of a GPU run.
//!
//! Searches folders for recordings of tools (a folder `VERSION/TOOL/CASE` with a `run.json`, see [`Recording`]) and receipts of
//! plain runs (any other JSON file that is a receipt). The same files always give the same evidence.

use super::{Detector, Evidence, FORMAT, Fingerprint, Observation, Under, Untold};
use crate::sanitizer::Recording;
use catalog::load::Catalog;
use device::job::DeviceInfo;
use device::receipt::Receipt;
use std::path::{Path, PathBuf};

/// What a GPU run left behind can't be put together.
#[derive(Debug, thiserror::Error)]
pub enum MergeError {
    /// A file or folder can't be read.
    #[error("`{path}`: {error}")]
    Unreadable {
        /// Which.
        path: String,
        /// Why.
        error: std::io::Error,
    },
    /// A recording lies where none belongs.
    #[error("`{path}` is not a folder VERSION/TOOL/CASE")]
    Misplaced {
        /// Which.
        path: String,
    },
    /// A JSON file that is neither.
    #[error("`{path}` is neither a recording nor a receipt of a plain run: {error}")]
    Stranger {
        /// Which.
        path: String,
        /// Why not a receipt.
        error: serde_json::Error,
    },
    /// A case that the catalogue does not have.
    #[error("`{path}` belongs to the case `{case}`, which is not in the catalogue")]
    UnknownCase {
        /// Which.
        path: String,
        /// The case.
        case: String,
    },
    /// Things of two GPUs, or of two versions of the tool.
    #[error("`{path}` comes from {found}, but others come from {first}: merge them separately")]
    Mixed {
        /// Which.
        path: String,
        /// Where it comes from.
        found: String,
        /// Where others come from.
        first: String,
    },
    /// Two things about one case and detector.
    #[error("`{path}` and another file both belong to `{case}` and {detector}")]
    Twice {
        /// Which.
        path: String,
        /// The case.
        case: String,
        /// The detector.
        detector: &'static str,
    },
    /// No GPU in any of them.
    #[error("these folders contain no run on a GPU")]
    NoDevice,
}

/// Something that was left behind.
enum Left {
    Recording(Under, String, Recording),
    Receipt(Receipt),
}

/// Judges and sums up everything below the folders.
pub fn merge(catalog: &Catalog, folders: &[PathBuf]) -> Result<Evidence, MergeError> {
    let mut left = Vec::new();
    for folder in folders {
        search(folder, folder, &mut left)?;
    }
    let device = one_device(&left)?;
    let sanitizer = one_version(&left)?;
    let mut observations: Vec<Observation> = Vec::new();
    for (path, what) in &left {
        let case = match what {
            Left::Recording(_, case, _) => case,
            Left::Receipt(receipt) => &receipt.case,
        };
        let entry = catalog.find(case).ok_or_else(|| MergeError::UnknownCase {
            path: path.clone(),
            case: case.clone(),
        })?;
        let detector = match what {
            Left::Recording(under, ..) => Detector::from(*under),
            Left::Receipt(_) => Detector::Native,
        };
        let of = Fingerprint::of(catalog, entry, device.compute_capability, detector);
        let seen = match what {
            Left::Recording(under, _, recording) => {
                let judged = Untold::or_judgement(*under, entry, recording);
                Observation::of_run(entry, *under, &judged, of)
            }
            Left::Receipt(receipt) => Observation::of_receipt(entry, receipt, of),
        };
        if observations
            .iter()
            .any(|other| other.case == seen.case && other.detector == seen.detector)
        {
            return Err(MergeError::Twice {
                path: path.clone(),
                case: seen.case,
                detector: seen.detector.name(),
            });
        }
        observations.push(seen);
    }
    observations.sort_by(|a, b| (&a.case, a.detector).cmp(&(&b.case, b.detector)));
    Ok(Evidence {
        format: FORMAT,
        device,
        sanitizer,
        observations,
    })
}

impl Evidence {
    /// Takes over what an older evidence of the same GPU, driver and tool knows and this one does not; returns how
    /// much that was. Nothing is taken over about cases that are gone.
    pub fn keep(&mut self, older: Evidence, catalog: &Catalog) -> usize {
        let same_tool = self.sanitizer.is_none()
            || older.sanitizer.is_none()
            || self.sanitizer == older.sanitizer;
        if older.device != self.device || !same_tool {
            return 0;
        }
        self.sanitizer = self.sanitizer.take().or(older.sanitizer);
        let before = self.observations.len();
        for seen in older.observations {
            if catalog.find(&seen.case).is_some() && self.find(&seen.case, seen.detector).is_none()
            {
                self.observations.push(seen);
            }
        }
        self.observations
            .sort_by(|a, b| (&a.case, a.detector).cmp(&(&b.case, b.detector)));
        self.observations.len() - before
    }
}

fn search(root: &Path, folder: &Path, left: &mut Vec<(String, Left)>) -> Result<(), MergeError> {
    let unreadable = |path: &Path, error| MergeError::Unreadable {
        path: path.display().to_string(),
        error,
    };
    if folder.join("run.json").is_file() {
        let (tool, case) = named(root, folder).ok_or_else(|| MergeError::Misplaced {
            path: folder.display().to_string(),
        })?;
        let recording = Recording::read(folder).map_err(|e| unreadable(folder, e))?;
        left.push((
            folder.display().to_string(),
            Left::Recording(tool, case, recording),
        ));
        return Ok(());
    }
    let entries = std::fs::read_dir(folder).map_err(|e| unreadable(folder, e))?;
    let mut paths = Vec::new();
    for entry in entries {
        paths.push(entry.map_err(|e| unreadable(folder, e))?.path());
    }
    paths.sort();
    for path in paths {
        if path.is_dir() {
            search(root, &path, left)?;
        } else if path.extension().is_some_and(|e| e == "json") {
            let text = std::fs::read_to_string(&path).map_err(|e| unreadable(&path, e))?;
            let name = path.display().to_string();
            let receipt: Receipt =
                serde_json::from_str(&text).map_err(|error| MergeError::Stranger {
                    path: name.clone(),
                    error,
                })?;
            // What a tool said is in its recording; its receipt alone says nothing.
            if receipt.tool.is_none() {
                left.push((name, Left::Receipt(receipt)));
            }
        }
    }
    Ok(())
}

/// Tool and case in `…/VERSION/TOOL/CASE`.
fn named(root: &Path, folder: &Path) -> Option<(Under, String)> {
    // The folder given may itself be the version's or the tool's.
    let whole: Vec<String> = root
        .components()
        .chain(folder.strip_prefix(root).ok()?.components())
        .map(|part| part.as_os_str().to_string_lossy().into_owned())
        .collect();
    let at = whole
        .iter()
        .rposition(|part| Under::named(part).is_some())?;
    let case = whole[at + 1..].join("/");
    (!case.is_empty()).then_some((Under::named(&whole[at])?, case))
}

fn one_device(left: &[(String, Left)]) -> Result<DeviceInfo, MergeError> {
    let mut first: Option<DeviceInfo> = None;
    for (path, what) in left {
        let device = match what {
            Left::Receipt(receipt) => receipt.device.clone(),
            Left::Recording(_, _, recording) => recording
                .receipt
                .as_deref()
                .and_then(|text| serde_json::from_str::<Receipt>(text).ok())
                .and_then(|receipt| receipt.device),
        };
        match (&first, device) {
            (_, None) => {}
            (None, device) => first = device,
            (Some(first), Some(device)) if *first != device => {
                return Err(MergeError::Mixed {
                    path: path.clone(),
                    found: device.to_string(),
                    first: first.to_string(),
                });
            }
            _ => {}
        }
    }
    first.ok_or(MergeError::NoDevice)
}

fn one_version(left: &[(String, Left)]) -> Result<Option<String>, MergeError> {
    let mut first: Option<String> = None;
    for (path, what) in left {
        let Left::Recording(Under::Sanitizer(_), _, recording) = what else {
            continue;
        };
        match (&first, &recording.run.version) {
            (_, None) => {}
            (None, version) => first.clone_from(version),
            (Some(first), Some(version)) if first != version => {
                return Err(MergeError::Mixed {
                    path: path.clone(),
                    found: format!("compute-sanitizer {version}"),
                    first: format!("compute-sanitizer {first}"),
                });
            }
            _ => {}
        }
    }
    Ok(first)
}
