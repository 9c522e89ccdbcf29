//! The file of known findings: what a project has accepted so far, so that only new findings fail.
//!
//! An entry names the rule, the file, the kernel and the texts of the guilty lines, not their numbers: it survives edits elsewhere in
//! the file. It accepts as many findings as it counts. The file is JSON, sorted, one property a line, so that its history can be read.

use super::{Accepted, Complaint, kernel, lines};
use crate::terminal::counted;
use crate::{Check, Diagnostic, Report};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// The version of the file's layout.
const VERSION: u32 = 1;

/// What tells one known finding from another.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    file: String,
    kernel: String,
    rule: String,
    lines: Vec<String>,
}

/// How often a known finding is accepted, and why.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Known {
    count: u64,
    reason: Option<String>,
}

/// The known findings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Baseline {
    entries: BTreeMap<Key, Known>,
}

/// The file.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    version: u32,
    findings: Vec<Entry>,
}

/// One known finding in the file.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    file: String,
    kernel: String,
    rule: String,
    lines: Vec<String>,
    #[serde(default = "one")]
    count: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

fn one() -> u64 {
    1
}

/// What an update of a baseline changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// Findings that it has now.
    pub findings: u64,
    /// Findings that are new.
    pub added: u64,
    /// Findings that are no longer found.
    pub dropped: u64,
}

/// Why a text is no baseline.
#[derive(Debug, thiserror::Error)]
pub enum BaselineError {
    /// It is no JSON of the layout.
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    /// It has a layout of another version.
    #[error("version {0} of the layout is not known, only {VERSION}")]
    Version(u32),
}

impl fmt::Display for Changes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}: {} added, {} dropped",
            counted(self.findings, "finding"),
            self.added,
            self.dropped
        )
    }
}

impl Key {
    fn of(check: &Check, diagnostic: &Diagnostic) -> Key {
        Key {
            file: check.judged.file.clone(),
            kernel: kernel(check, diagnostic).to_owned(),
            rule: diagnostic.rule.name().to_owned(),
            lines: lines(diagnostic),
        }
    }

    /// Whether the report would have the finding if it were still there. A check without a verdict may have missed it.
    fn is_looked_for(&self, report: &Report) -> bool {
        report.checks.iter().any(|check| {
            let judged = &check.judged;
            let kernels = judged.kernels.as_ref();
            let ran =
                self.kernel.is_empty() || kernels.is_none_or(|all| all.contains(&self.kernel));
            judged.file == self.file && ran && judged.doubt.is_none()
        })
    }
}

impl Baseline {
    /// Reads a baseline file.
    ///
    /// # Errors
    ///
    /// It is no JSON of this layout.
    pub fn parse(text: &str) -> Result<Baseline, BaselineError> {
        let file: File = serde_json::from_str(text)?;
        if file.version != VERSION {
            return Err(BaselineError::Version(file.version));
        }
        let mut entries: BTreeMap<Key, Known> = BTreeMap::new();
        for entry in file.findings {
            let key = Key {
                file: entry.file,
                kernel: entry.kernel,
                rule: entry.rule,
                lines: entry.lines,
            };
            let known = entries.entry(key).or_default();
            known.count = known.count.saturating_add(entry.count);
            known.reason = known.reason.take().or(entry.reason);
        }
        Ok(Baseline { entries })
    }

    /// The file's text.
    pub fn render(&self) -> String {
        let entry = |(key, known): (&Key, &Known)| Entry {
            file: key.file.clone(),
            kernel: key.kernel.clone(),
            rule: key.rule.clone(),
            lines: key.lines.clone(),
            count: known.count,
            reason: known.reason.clone(),
        };
        let file = File {
            version: VERSION,
            findings: self.entries.iter().map(entry).collect(),
        };
        serde_json::to_string_pretty(&file).expect("plain data serialises") + "\n"
    }

    /// The baseline that accepts all findings of a report which no comment accepts. Entries for kernels that did not run stay, and
    /// reasons of those that did.
    pub fn updated(&self, report: &Report) -> (Baseline, Changes) {
        let mut new = Baseline::default();
        for check in &report.checks {
            for diagnostic in &check.diagnostics {
                let commented = matches!(diagnostic.accepted, Some(Accepted::Comment { .. }));
                if diagnostic.expected || commented {
                    continue;
                }
                let key = Key::of(check, diagnostic);
                let reason = self.entries.get(&key).and_then(|k| k.reason.clone());
                let known = new.entries.entry(key).or_default();
                known.count += 1;
                known.reason = reason;
            }
        }
        for (key, known) in &self.entries {
            if !key.is_looked_for(report) && !new.entries.contains_key(key) {
                new.entries.insert(key.clone(), known.clone());
            }
        }
        let more = |a: &Baseline, b: &Baseline| -> u64 {
            let had = |key| b.entries.get(key).map_or(0, |k| k.count);
            let all = a.entries.iter();
            all.map(|(key, k)| k.count.saturating_sub(had(key))).sum()
        };
        let changes = Changes {
            findings: new.entries.values().map(|k| k.count).sum(),
            added: more(&new, self),
            dropped: more(self, &new),
        };
        (new, changes)
    }

    /// Marks the findings that are known, and tells which entries of kernels that ran were not found.
    pub(super) fn accept(&self, report: &mut Report) -> Vec<Complaint> {
        let mut left: BTreeMap<&Key, u64> =
            self.entries.iter().map(|(key, k)| (key, k.count)).collect();
        for check in &mut report.checks {
            for index in 0..check.diagnostics.len() {
                let diagnostic = &check.diagnostics[index];
                if !diagnostic.counts() {
                    continue;
                }
                let key = Key::of(check, diagnostic);
                let Some(count) = left.get_mut(&key).filter(|count| **count > 0) else {
                    continue;
                };
                *count -= 1;
                check.diagnostics[index].accepted = Some(Accepted::Baseline {
                    reason: self.entries[&key].reason.clone(),
                });
            }
        }
        let unused = left
            .into_iter()
            .filter(|(key, count)| *count > 0 && key.is_looked_for(report));
        unused
            .map(|(key, count)| {
                let of = match key.kernel.as_str() {
                    "" => String::new(),
                    kernel => format!(" in `{kernel}`"),
                };
                let mut message = format!("the baseline lists `{}`{of} of {}", key.rule, key.file);
                if !key.lines.is_empty() {
                    message += &format!(" at `{}`", key.lines.join("` and `"));
                }
                message += &match count {
                    n if n == self.entries[key].count => ", which was not found".to_owned(),
                    n => format!(", which was found {} less often", times(n)),
                };
                Complaint {
                    message,
                    at: None,
                    help: "if it is fixed, drop the entry: run again with `--update-baseline`"
                        .to_owned(),
                }
            })
            .collect()
    }
}

fn times(number: u64) -> String {
    match number {
        1 => "once".to_owned(),
        n => format!("{n} times"),
    }
}
