//! What the library tells `racetrap exec`: a line of JSON for each thing, written as soon as it is known, so that nothing is lost
//! however the program ends.

pub use crate::call::{Call, Frame, LaunchName, Script};
use crate::seal::Seal;
use crate::taped::Taped;
use detect::counts::Counts;
use detect::rules::{Level, Rule};
use report::trace::Trace;
use report::unjudged::Unjudged;
use report::{About, Diagnostic, Label, SourceFile, SourcePlace, Who};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io::Write as _;
use std::sync::Arc;

/// One line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Line {
    /// The process.
    pub process: u32,
    /// How many lines it had to say before, so that one that is missing is noticed: a full disk, or a program that changes the file.
    #[serde(default)]
    pub number: Option<u64>,
    /// What it says.
    pub record: Record,
}

/// One thing that a process says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Record {
    /// It has called the library for the first time.
    Started {
        /// Its program.
        program: String,
    },
    /// A text that labels refer to.
    Source {
        /// Its number.
        id: usize,
        /// Its path as shown.
        path: String,
        /// The text.
        text: String,
    },
    /// Who made an allocation that the next finding names by its number.
    Allocation {
        /// The number.
        number: usize,
        /// The call.
        call: Call,
    },
    /// A finding.
    Finding(Box<Finding>),
    /// A launch that is about to run, for whoever runs it again.
    Launch(Box<Taped>),
    /// A finding was seen again.
    Again {
        /// Its number.
        id: usize,
        /// How often, in all.
        count: u64,
    },
    /// A function that is not there was called.
    Missing {
        /// Its name.
        function: String,
    },
    /// Something keeps the result from being told.
    Doubt {
        /// What, in a sentence.
        text: String,
        /// Whether it is that a launch took more warp-instructions than it may.
        #[serde(default)]
        budget: bool,
    },
    /// A finding's launch left other results under another schedule, which makes an error of it.
    Differs {
        /// The finding's number in the process.
        id: usize,
        /// Where, and both values, in a sentence.
        text: String,
    },
    /// Something ran that is not judged in full.
    Unjudged {
        /// What.
        what: Unjudged,
    },
    /// What was done so far.
    Totals(Totals),
    /// The program has come to its end.
    Ended,
}

/// A finding on its way.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// Its number in the process.
    pub id: usize,
    /// The rule.
    pub rule: Rule,
    /// How bad it is.
    pub level: Level,
    /// One line.
    pub title: String,
    /// The places.
    pub labels: Vec<Place>,
    /// Further facts.
    pub notes: Vec<String>,
    /// The remedy.
    pub help: Option<String>,
    /// How often.
    pub count: u64,
    /// What tells findings of one cause.
    pub about: About,
    /// The launch in which it was found.
    pub launch: Option<LaunchName>,
    /// Where the host program called, innermost first.
    pub call: Option<Call>,
    /// What happened around it, if it was asked for.
    #[serde(default)]
    pub trace: Option<Trace>,
}

/// A label on its way.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Place {
    /// The text's number; `None` for a call of the host program.
    pub source: Option<usize>,
    /// The call.
    pub call: Option<Call>,
    /// Line, from 1.
    pub line: u32,
    /// Bytes of the line.
    pub columns: (u32, u32),
    /// What happened there.
    pub text: String,
    /// First thread, its block, how many threads.
    pub who: Option<([u32; 3], [u32; 3], u32)>,
    /// The instruction.
    pub instruction: Option<String>,
}

/// Sums.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Totals {
    /// By kernel.
    pub kernels: Vec<KernelTotals>,
    /// Kernels that were registered and never launched.
    pub idle: Vec<String>,
    /// The lines of the kernels that were watched, and whether a thread ran them then; known at the end.
    pub lines: Vec<(SourcePlace, bool)>,
    /// Calls of functions of the library.
    pub calls: u64,
    /// Calls of those that can be [left out](crate::options::LeaveOut).
    #[serde(default)]
    pub functions: BTreeMap<String, u64>,
    /// Bytes of device memory in use at most.
    pub peak: u64,
    /// Compute capability of the simulated GPU: 75, 80, 90.
    #[serde(default)]
    pub capability: u32,
    /// Architectures for which the modules that were used have PTX that this GPU can't run.
    #[serde(default)]
    pub newer: BTreeSet<u32>,
    /// Pairs of accesses that were taken to be ordered by fences, atomics or partial barriers, on a GPU.
    #[serde(default)]
    pub assumed: u64,
}

/// Sums of one kernel.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct KernelTotals {
    /// Its name, demangled.
    pub name: String,
    /// Launches.
    pub launches: u64,
    /// Launches that were watched.
    pub watched: u64,
    /// Warp-instructions.
    pub steps: u64,
    /// Threads launched.
    pub threads: u64,
    /// Seconds.
    pub seconds: f64,
    /// Launches that were tried under several schedules, and how many runs of them there were in all.
    pub explored: (u64, u64),
    /// What threads did in the launches that were watched, where that is counted.
    #[serde(default)]
    pub counts: Counts,
    /// The most blocks of a launch, threads of a block, and bytes of a block's shared memory.
    #[serde(default)]
    pub largest: (u64, u64, u64),
}

impl KernelTotals {
    /// Takes away what was there before.
    pub fn less(&mut self, before: &KernelTotals) {
        self.launches -= before.launches.min(self.launches);
        self.watched -= before.watched.min(self.watched);
        self.steps -= before.steps.min(self.steps);
        self.threads -= before.threads.min(self.threads);
        self.seconds -= before.seconds;
        self.explored.0 -= before.explored.0.min(self.explored.0);
        self.explored.1 -= before.explored.1.min(self.explored.1);
    }
}

/// Where records go.
#[derive(Debug)]
enum To {
    Nowhere,
    File(std::fs::File),
    /// They are kept.
    Here(Vec<Record>),
}

/// The way to the parent.
#[derive(Debug)]
pub struct Recorder {
    to: To,
    seal: Option<Seal>,
    /// Lines so far, of this process.
    lines: (u32, u64),
    /// By the text's address, which stays its own for as long as it is kept.
    sources: HashMap<usize, usize>,
    kept: Vec<Arc<SourceFile>>,
}

impl Recorder {
    /// Writes to a file, or nowhere; lines are sealed where there is a key.
    pub fn new(path: Option<&std::path::Path>, key: Option<&str>) -> Recorder {
        let open = |p| {
            std::fs::OpenOptions::new()
                .append(true)
                .create(true)
                .open(p)
        };
        Recorder {
            to: path
                .and_then(|p| open(p).ok())
                .map_or(To::Nowhere, To::File),
            seal: key.map(Seal::new),
            lines: (std::process::id(), 0),
            sources: HashMap::new(),
            kept: Vec::new(),
        }
    }

    /// Keeps records.
    pub fn kept() -> Recorder {
        Recorder {
            to: To::Here(Vec::new()),
            ..Recorder::new(None, None)
        }
    }

    /// The records that were kept.
    pub fn take(&mut self) -> Vec<Record> {
        match &mut self.to {
            To::Here(records) => std::mem::take(records),
            To::Nowhere | To::File(_) => Vec::new(),
        }
    }

    /// Whether anybody reads.
    pub fn is_heard(&self) -> bool {
        !matches!(self.to, To::Nowhere)
    }

    /// Writes one record, in one call of the system: several processes may write to one file.
    pub fn write(&mut self, record: Record) {
        let file = match &mut self.to {
            To::Nowhere => return,
            To::Here(records) => return records.push(record),
            To::File(file) => file,
        };
        let process = std::process::id();
        if self.lines.0 != process {
            self.lines = (process, 0);
        }
        let line = Line {
            process,
            number: Some(self.lines.1),
            record,
        };
        // Also where it can't be written.
        self.lines.1 += 1;
        if let Ok(mut text) = serde_json::to_vec(&line) {
            if let Some(seal) = &mut self.seal {
                seal.seal(&mut text);
            }
            text.push(b'\n');
            let _ = file.write_all(&text);
        }
    }

    /// Writes a finding, with the texts that it refers to. `calls` are the host program's own places, by label.
    pub fn finding(
        &mut self,
        id: usize,
        diagnostic: &Diagnostic,
        calls: &HashMap<usize, Call>,
        launch: Option<LaunchName>,
        call: Option<Call>,
    ) {
        let mut labels = Vec::new();
        for (index, label) in diagnostic.labels.iter().enumerate() {
            let call = calls.get(&index).cloned();
            let source = match call {
                Some(_) => None,
                None => Some(self.source(&label.source)),
            };
            labels.push(Place {
                source,
                call,
                line: label.line,
                columns: (label.columns.start, label.columns.end),
                text: label.text.clone(),
                who: label.who.map(|w| (w.thread, w.block, w.threads)),
                instruction: label.instruction.clone(),
            });
        }
        self.write(Record::Finding(Box::new(Finding {
            id,
            rule: diagnostic.rule,
            level: diagnostic.level,
            title: diagnostic.title.clone(),
            labels,
            notes: diagnostic.notes.clone(),
            help: diagnostic.help.clone(),
            count: diagnostic.count,
            about: diagnostic.about.clone(),
            launch,
            call,
            trace: diagnostic.trace.clone(),
        })));
    }

    fn source(&mut self, file: &Arc<SourceFile>) -> usize {
        if let Some(id) = self.sources.get(&Arc::as_ptr(file).addr()) {
            return *id;
        }
        let id = self.kept.len();
        self.kept.push(file.clone());
        self.sources.insert(Arc::as_ptr(file).addr(), id);
        self.write(Record::Source {
            id,
            path: file.path.clone(),
            text: file.text.clone(),
        });
        id
    }
}

impl Place {
    /// The label again, given its text and line.
    pub fn label(
        &self,
        source: Arc<SourceFile>,
        line: u32,
        columns: std::ops::Range<u32>,
    ) -> Label {
        let who = self.who.map(|(thread, block, threads)| Who {
            thread,
            block,
            threads,
        });
        Label {
            source,
            line,
            columns,
            text: self.text.clone(),
            who,
            instruction: self.instruction.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_survives_its_way() {
        let folder = std::env::temp_dir().join(format!("racetrap-record-{}", std::process::id()));
        let mut recorder = Recorder::new(Some(&folder), None);
        let source = Arc::new(SourceFile::new("k.cu".into(), "a\nb\n".into()));
        let label = Label {
            source,
            line: 2,
            columns: 0..1,
            text: "thread (0,0,0) reads".into(),
            who: None,
            instruction: Some("ld".into()),
        };
        let diagnostic = Diagnostic {
            rule: Rule::DataRace,
            level: Level::Error,
            title: "t".into(),
            labels: vec![label.clone(), label.clone()],
            notes: vec!["n".into()],
            help: None,
            edit: None,
            no_change: None,
            replay: None,
            count: 3,
            builds: Vec::new(),
            expected: false,
            accepted: None,
            trace: None,
            launched: None,
            about: report::About::default(),
        };
        recorder.finding(4, &diagnostic, &HashMap::new(), None, None);
        let text = std::fs::read_to_string(&folder).unwrap();
        std::fs::remove_file(&folder).unwrap();
        let lines: Vec<Line> = text
            .lines()
            .map(|l| serde_json::from_str(l).unwrap())
            .collect();
        let [source, finding] = &lines[..] else {
            panic!("{text}")
        };
        let Record::Source { id, path, text } = &source.record else {
            panic!("{source:?}")
        };
        let Record::Finding(finding) = &finding.record else {
            panic!("{finding:?}")
        };
        assert_eq!(finding.labels[1].source, Some(*id));
        let again = Arc::new(SourceFile::new(path.clone(), text.clone()));
        assert_eq!(finding.labels[1].label(again, 2, 0..1), label);
    }
}
