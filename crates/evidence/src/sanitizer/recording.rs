//! Recordings: the stored files of one run of a tool.
//!
//! A recording is a folder `VERSION/TOOL/CASE` with `records.xml` (of racetrap's own checks `report.json`), `log.txt`, `receipt.json` and
//! `run.json`, unchanged except for folder names of the machine. It contains only what a tool really wrote.

use crate::Under;
use serde::{Deserialize, Serialize};
use std::io;
use std::path::{Path, PathBuf};

/// What one run of a tool left behind.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Recording {
    /// The file of records; `None` where there is none.
    pub records: Option<String>,
    /// The tool's log; `None` where there is none.
    pub log: Option<String>,
    /// The receipt; `None` where there is none.
    pub receipt: Option<String>,
    /// How it was run.
    pub run: Run,
}

/// How a tool was run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// The exit status of `timeout compute-sanitizer …`.
    pub status: i32,
    /// The time limit, seconds.
    pub time_limit: u64,
    /// How long it ran, whole seconds; `None` in recordings of before this was kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds: Option<u64>,
    /// The tool's version: `2025.3.1`.
    pub version: Option<String>,
}

impl Run {
    /// Whether it ran as long as it might, give or take a second.
    pub fn reached_limit(&self) -> bool {
        let long =
            |seconds: u64| self.time_limit > 0 && seconds.saturating_add(1) >= self.time_limit;
        self.seconds.is_none_or(long)
    }
}

const RECORDS: &str = "records.xml";
/// The records of racetrap's own checks.
const REPORT: &str = "report.json";
const LOG: &str = "log.txt";
const RECEIPT: &str = "receipt.json";
const RUN: &str = "run.json";

/// Reads a file that may be missing.
///
/// # Errors
///
/// It is there and can't be read.
pub fn read_if_there(path: &Path) -> io::Result<Option<String>> {
    match std::fs::read(path) {
        Ok(bytes) => Ok(Some(String::from_utf8_lossy(&bytes).into_owned())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

impl Recording {
    /// Reads a recording that was kept.
    ///
    /// # Errors
    ///
    /// Files that can't be read; no `run.json`.
    pub fn read(folder: &Path) -> io::Result<Recording> {
        let run = std::fs::read_to_string(folder.join(RUN))?;
        Ok(Recording {
            records: match read_if_there(&folder.join(RECORDS))? {
                Some(records) => Some(records),
                None => read_if_there(&folder.join(REPORT))?,
            },
            log: read_if_there(&folder.join(LOG))?,
            receipt: read_if_there(&folder.join(RECEIPT))?,
            run: serde_json::from_str(&run)?,
        })
    }

    /// Keeps it below `root`; returns the folder. What an earlier run of the same case left there is gone.
    ///
    /// # Errors
    ///
    /// Files that can't be written.
    pub fn keep(&self, root: &Path, under: impl Into<Under>, case: &str) -> io::Result<PathBuf> {
        let under = under.into();
        let version = self.run.version.as_deref().unwrap_or("unknown-version");
        let folder = root.join(version).join(under.name()).join(case);
        let records = match under {
            Under::Races => REPORT,
            Under::Sanitizer(_) => RECORDS,
        };
        std::fs::create_dir_all(&folder)?;
        let run = serde_json::to_string_pretty(&self.run)? + "\n";
        for (name, text) in [
            (records, self.records.as_deref()),
            (LOG, self.log.as_deref()),
            (RECEIPT, self.receipt.as_deref()),
            (RUN, Some(run.as_str())),
        ] {
            let path = folder.join(name);
            match text {
                Some(text) => std::fs::write(path, without_folders(text))?,
                None if path.exists() => std::fs::remove_file(path)?,
                None => {}
            }
        }
        Ok(folder)
    }
}

/// The same text with absolute paths cut: `/home/me/racetrap/kernels/scan/warp.cu` becomes `kernels/scan/warp.cu`, any other
/// path its last part.
pub fn without_folders(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    // A path starts at a slash that follows neither a word nor another part of a path.
    while let Some(at) = rest.find('/') {
        let before = rest[..at].chars().next_back().or(out.chars().next_back());
        let starts = before.is_none_or(|c| c.is_whitespace() || "\"'>=(,:[".contains(c));
        let end = rest[at..]
            .find(|c: char| c.is_whitespace() || "\"'<>=(),:[];".contains(c))
            .map_or(rest.len(), |length| at + length);
        let path = &rest[at..end];
        let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
        if !starts || parts.len() < 2 {
            out.push_str(&rest[..end]);
        } else {
            out.push_str(&rest[..at]);
            let kernels = parts.iter().rposition(|part| *part == "kernels");
            let from = kernels.unwrap_or(parts.len() - 1);
            out.push_str(&parts[from..].join("/"));
        }
        rest = &rest[end..];
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sanitizer::Tool;

    #[test]
    fn no_folder_of_a_machine_is_kept() {
        for (given, kept) in [
            (
                "<path>/root/x/kernels/scan/warp.cu</path>",
                "<path>kernels/scan/warp.cu</path>",
            ),
            (
                "<path>kernels/scan/warp.cu</path>",
                "<path>kernels/scan/warp.cu</path>",
            ),
            (
                "at k(int *)+0x10 in /tmp/a/b.cu:12",
                "at k(int *)+0x10 in b.cu:12",
            ),
            ("</line></where>", "</line></where>"),
            (
                "Host Frame: [/lib/x86/libcuda.so.1]",
                "Host Frame: [libcuda.so.1]",
            ),
            ("a/b and 3 / 4 and /x", "a/b and 3 / 4 and /x"),
            (
                "<?xml version=\"1.0\"?>\n<a/>",
                "<?xml version=\"1.0\"?>\n<a/>",
            ),
        ] {
            assert_eq!(without_folders(given), kept);
        }
    }

    #[test]
    fn what_is_kept_is_read_again() {
        let folder = tempfile::tempdir().unwrap();
        let recording = Recording {
            records: Some("<a/>".to_owned()),
            log: Some("========= COMPUTE-SANITIZER\n".to_owned()),
            receipt: None,
            run: Run {
                status: 86,
                time_limit: 200,
                seconds: Some(3),
                version: Some("2025.3.1".to_owned()),
            },
        };
        let kept = recording
            .keep(folder.path(), Tool::Racecheck, "scan/warp/plain")
            .unwrap();
        assert!(kept.ends_with("2025.3.1/racecheck/scan/warp/plain"));
        assert_eq!(Recording::read(&kept).unwrap(), recording);
        let less = Recording {
            log: None,
            ..recording
        };
        let kept = less
            .keep(folder.path(), Tool::Racecheck, "scan/warp/plain")
            .unwrap();
        assert_eq!(Recording::read(&kept).unwrap(), less);
    }
}
