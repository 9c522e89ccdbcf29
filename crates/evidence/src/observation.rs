//! An observation: the result of one detector for one case.

use crate::sanitizer::judge::{Report, is_endless};
use crate::sanitizer::{self, Judgement, Kind, Recording, Severity, Tool, ToolError};
use crate::{Under, races};
use catalog::case::{Case, Expectation, Expectations};
use catalog::load::{Catalog, Entry};
use catalog::pinned::{Pin, body_hash, stable_hash};
use device::receipt::Receipt;
use report::Verdict;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Who says something about a case.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Detector {
    /// racetrap's simulator.
    Simulator,
    /// racetrap's checks in kernels on a GPU.
    Gpu,
    /// compute-sanitizer's racecheck.
    Racecheck,
    /// compute-sanitizer's synccheck.
    Synccheck,
    /// compute-sanitizer's memcheck.
    Memcheck,
    /// compute-sanitizer's initcheck.
    Initcheck,
    /// The results of a run on a GPU with no tool.
    Native,
}

impl Detector {
    /// All, in the order in which they are shown.
    pub const ALL: [Detector; 7] = [
        Detector::Simulator,
        Detector::Gpu,
        Detector::Racecheck,
        Detector::Synccheck,
        Detector::Memcheck,
        Detector::Initcheck,
        Detector::Native,
    ];

    /// As in a case's `expect`.
    pub fn name(self) -> &'static str {
        match self {
            Detector::Simulator => "simulator",
            Detector::Gpu => "gpu",
            Detector::Racecheck => "racecheck",
            Detector::Synccheck => "synccheck",
            Detector::Memcheck => "memcheck",
            Detector::Initcheck => "initcheck",
            Detector::Native => "native",
        }
    }

    /// What a case expects of it.
    pub fn expectation(self, expect: &Expectations) -> Option<&Expectation> {
        match self {
            Detector::Simulator => Some(&expect.simulator),
            Detector::Gpu => expect.gpu.as_ref(),
            Detector::Racecheck => expect.racecheck.as_ref(),
            Detector::Synccheck => expect.synccheck.as_ref(),
            Detector::Memcheck => expect.memcheck.as_ref(),
            Detector::Initcheck => expect.initcheck.as_ref(),
            Detector::Native => expect.native.as_ref(),
        }
    }
}

impl fmt::Display for Detector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl From<Tool> for Detector {
    fn from(tool: Tool) -> Detector {
        match tool {
            Tool::Racecheck => Detector::Racecheck,
            Tool::Synccheck => Detector::Synccheck,
            Tool::Memcheck => Detector::Memcheck,
            Tool::Initcheck => Detector::Initcheck,
        }
    }
}

/// What a detector said about a case, and about what exactly.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Observation {
    /// The case's name.
    pub case: String,
    /// Who says it.
    pub detector: Detector,
    /// The verdict.
    pub verdict: Verdict,
    /// Why, where nothing could be said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What a tool reported.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reports: Vec<ToolReport>,
    /// Runs that were begun.
    pub runs: u32,
    /// Of these, with wrong results.
    pub wrong: u32,
    /// The error that ended the runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Whether a run did not end and was killed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub hung: bool,
    /// Wall-clock time of all runs, seconds.
    pub seconds: f64,
    /// What ran.
    pub of: Fingerprint,
}

/// Reports of one kind at the same places.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolReport {
    /// What is wrong.
    pub kind: Kind,
    /// How bad the tool finds it.
    pub severity: Severity,
    /// The lines of the kernel's file.
    pub lines: Vec<u32>,
    /// How often.
    pub count: u64,
    /// The annotations that it hits.
    pub hits: Vec<String>,
}

impl From<&Report> for ToolReport {
    fn from(report: &Report) -> ToolReport {
        ToolReport {
            kind: report.kind.clone(),
            severity: report.severity,
            lines: report.places.iter().filter_map(|(_, line)| *line).collect(),
            count: report.count,
            hits: report.hits.clone(),
        }
    }
}

/// Why a run says nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Untold {
    /// In words.
    pub reason: String,
    /// What to do about it.
    pub help: &'static str,
    /// Whether it is because of a kernel that never ends.
    pub endless: bool,
}

impl Untold {
    /// Judges a recording by what it was made under.
    ///
    /// # Errors
    ///
    /// Nothing can be said.
    pub fn or_judgement(
        under: Under,
        entry: &Entry,
        recording: &Recording,
    ) -> Result<Judgement, Untold> {
        match under {
            Under::Sanitizer(tool) => {
                let judged = sanitizer::judge(tool, entry, recording);
                judged.map_err(|error| Untold::from(&error, entry))
            }
            Under::Races => races::judge(entry, recording).map_err(|error| Untold {
                reason: error.to_string(),
                help: error.help(),
                endless: false,
            }),
        }
    }

    /// From a tool's failure.
    pub fn from(error: &ToolError, entry: &Entry) -> Untold {
        Untold {
            reason: error.to_string(),
            help: error.help(),
            endless: is_endless(error, entry),
        }
    }
}

/// Hashes of what ran.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fingerprint {
    /// The kernel's source, what it includes, and the compiler's flags.
    pub source: String,
    /// The pinned PTX.
    pub ptx: String,
    /// How the case runs it: sizes, buffers, launches, oracle.
    pub case: String,
    /// Of racetrap's checks on a GPU: the PTX with these checks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checks: Option<String>,
}

impl Fingerprint {
    /// Of a case as it is now, as a detector runs it on a GPU of this compute capability.
    pub fn of(
        catalog: &Catalog,
        entry: &Entry,
        capability: (u32, u32),
        detector: Detector,
    ) -> Fingerprint {
        let target = entry.case.target_on(capability);
        let pin = Pin::new(&entry.case, target.unwrap_or(entry.case.simulated()));
        let text = catalog.tree.text(&pin.ptx);
        Fingerprint {
            source: pin.source_hash(&catalog.tree),
            ptx: text.and_then(body_hash).unwrap_or_default().to_owned(),
            case: stable_hash([how(&entry.case).as_str()]),
            checks: (detector == Detector::Gpu).then(|| checks(text.unwrap_or_default())),
        }
    }
}

/// Hash of PTX with race checks: it changes with the kernel, with what is put into it, and with the runtime.
fn checks(text: &str) -> String {
    let checked = ptx::parse(text)
        .ok()
        .and_then(|tree| instrument::instrument(&tree).ok());
    let printed = checked.map(|checked| ptx::print(&checked.module));
    stable_hash([printed.unwrap_or_default().as_str()])
}

/// A case without what does not change its runs: words, and what is expected of whom.
fn how(case: &Case) -> String {
    let mut value = serde_json::to_value(case).unwrap_or_default();
    if let Some(keys) = value.as_object_mut() {
        for words in [
            "title",
            "documents",
            "why",
            "twin",
            "expect",
            "wrong-results",
            "perf",
            "ptx",
            "equivalent",
            "limits",
        ] {
            keys.remove(words);
        }
    }
    in_order(&value)
}

/// JSON with its keys in order, however the JSON library was built.
fn in_order(value: &serde_json::Value) -> String {
    use serde_json::Value;
    match value {
        Value::Object(map) => {
            let mut keys: Vec<_> = map
                .iter()
                .map(|(key, value)| format!("{key:?}:{}", in_order(value)))
                .collect();
            keys.sort();
            format!("{{{}}}", keys.join(","))
        }
        Value::Array(all) => {
            let all: Vec<_> = all.iter().map(in_order).collect();
            format!("[{}]", all.join(","))
        }
        other => other.to_string(),
    }
}

impl Observation {
    fn blank(entry: &Entry, detector: Detector, of: Fingerprint) -> Observation {
        Observation {
            case: entry.id.clone(),
            detector,
            verdict: Verdict::Inconclusive,
            reason: None,
            reports: Vec::new(),
            runs: 0,
            wrong: 0,
            error: None,
            hung: false,
            seconds: 0.0,
            of,
        }
    }

    fn with(mut self, receipt: &Receipt) -> Observation {
        self.runs = receipt.runs;
        self.wrong = receipt.wrong;
        self.error = receipt.error.clone();
        self.hung = receipt.hung;
        self.seconds = receipt.seconds;
        self
    }

    /// Of a run under something.
    pub fn of_run(
        entry: &Entry,
        under: Under,
        judged: &Result<Judgement, Untold>,
        of: Fingerprint,
    ) -> Observation {
        let blank = Observation::blank(entry, under.into(), of);
        match judged {
            Ok(judgement) => Observation {
                verdict: judgement.verdict,
                reason: match judgement.verdict {
                    Verdict::Unsupported => judgement.reason.clone(),
                    _ => None,
                },
                reports: judgement.reports.iter().map(ToolReport::from).collect(),
                ..blank.with(&judgement.receipt)
            },
            Err(untold) => Observation {
                // A kernel that does not end leaves a tool with nothing to say: no failure of the tool's.
                verdict: match untold.endless {
                    true => Verdict::Unsupported,
                    false => Verdict::Inconclusive,
                },
                hung: untold.endless,
                reason: Some(untold.reason.clone()),
                ..blank
            },
        }
    }

    /// Of a plain run: the bug shows in wrong results, an error or a kernel that does not end, or it does not show.
    pub fn of_receipt(entry: &Entry, receipt: &Receipt, of: Fingerprint) -> Observation {
        let mut seen = Observation::blank(entry, Detector::Native, of).with(receipt);
        let shows = receipt.wrong > 0 || receipt.error.is_some() || receipt.hung;
        seen.verdict = match (entry.case.is_meant_buggy(), shows) {
            _ if receipt.runs == 0 => Verdict::Inconclusive,
            (true, true) => Verdict::Caught,
            (true, false) => Verdict::Missed,
            (false, true) => Verdict::FalseAlarm,
            (false, false) => Verdict::Clean,
        };
        if receipt.runs == 0 {
            let error = receipt.error.clone();
            seen.reason = Some(error.unwrap_or_else(|| "nothing ran".to_owned()));
        }
        seen
    }
}
