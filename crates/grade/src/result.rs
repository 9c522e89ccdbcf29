//! What is known of a graded submission: one value. Every format is a view of it, and it is what a class keeps in files.
//!
//! It holds everything, hidden inputs included, and is for those who teach. What students may see of it is [`view`](crate::view).

use crate::assignment::{Kind, Metric, Visibility};
use detect::rules::{Level, Rule};
use report::trace::Trace;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The version of the result's format.
pub const FORMAT: u32 = 1;

/// A graded submission.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Graded {
    /// Version of this format: 1.
    pub format: u32,
    /// The assignment's `id`.
    pub assignment: String,
    /// The assignment's title.
    pub title: String,
    /// What was handed in.
    pub submission: Submitted,
    /// Points that are decided.
    pub points: f64,
    /// Points that there are.
    pub of: f64,
    /// What a person has to decide; empty where the score is final.
    pub review: Vec<Review>,
    /// The parts, in the assignment's order.
    pub parts: Vec<PartResult>,
    /// Why the submission can't be built, or does not keep to what is asked for.
    pub refused: Option<Refused>,
    /// The root causes of findings: of a rule and a pair of lines there is one.
    pub causes: Vec<Cause>,
    /// The inputs.
    pub inputs: Vec<InputResult>,
    /// What a dispute needs.
    pub provenance: Provenance,
}

impl Graded {
    /// Whether the score is final.
    pub fn is_final(&self) -> bool {
        self.review.is_empty()
    }
}

/// What was handed in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Submitted {
    /// Its name: the folder's or the file's.
    pub name: String,
    /// SHA-256 of the names and bytes of the files that count, in hexadecimal digits.
    pub sha256: String,
    /// The files that count, with their bytes and SHA-256.
    pub files: BTreeMap<String, FileHash>,
    /// Files that were not asked for, and are not looked at.
    pub ignored: Vec<String>,
}

/// A file's size and hash.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FileHash {
    /// Bytes.
    pub bytes: u64,
    /// SHA-256 in hexadecimal digits.
    pub sha256: String,
}

/// What a person has to decide.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Review {
    /// The part.
    pub part: String,
    /// Why.
    pub why: String,
}

/// What came of a part.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PartResult {
    /// Its name.
    pub id: String,
    /// What people call it.
    pub title: String,
    /// What it judges.
    pub check: Kind,
    /// Points that it can earn.
    pub of: f64,
    /// Points that it earned; `None` until a person decides.
    pub earned: Option<f64>,
    /// How it went.
    pub state: State,
    /// Why points are lost, or why a person has to decide.
    pub losses: Vec<Loss>,
    /// When students see it.
    pub visibility: Visibility,
}

/// How a part went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// All points.
    Passed,
    /// Some points.
    Partial,
    /// No points.
    Failed,
    /// No points, because another part did not earn enough.
    Skipped,
    /// It could not be decided.
    NeedsReview,
    /// A person reads it.
    Manual,
}

/// Why points are lost.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "because", rename_all = "kebab-case")]
pub enum Loss {
    /// The submission can't be built.
    Refused,
    /// A root cause.
    Cause {
        /// Its place in [`Graded::causes`].
        cause: usize,
        /// What it costs.
        points: f64,
    },
    /// The results of an input are wrong.
    Input {
        /// The input.
        input: String,
        /// How many of its draws are wrong.
        wrong: usize,
        /// How many are right under one schedule, and wrong under another.
        #[serde(default)]
        dependent: usize,
    },
    /// A count is over its limit.
    Count {
        /// What is counted.
        metric: Metric,
        /// The input with the worst count.
        input: String,
        /// The count.
        count: f64,
        /// The reference's count, where that is the measure.
        reference: Option<f64>,
        /// The limit for all points.
        full: f64,
    },
    /// Another part did not earn enough.
    Requires {
        /// That part.
        part: String,
    },
    /// It could not be decided.
    Undecided {
        /// The input, where it is one's.
        input: Option<String>,
        /// Why.
        why: String,
    },
}

/// Why a submission is not built.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Refused {
    /// In a sentence, for the student.
    pub what: String,
    /// The compiler's words.
    pub messages: String,
}

/// A root cause: a rule, and the lines of its guilty places.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Cause {
    /// The rule.
    pub rule: Rule,
    /// How grave it is.
    pub level: Level,
    /// The guilty lines, in their order.
    pub lines: Vec<Line>,
    /// The name of the memory that it is about.
    pub memory: Option<String>,
    /// How to mend it.
    pub help: Option<String>,
    /// The lines around the guilty ones, by file.
    #[serde(default)]
    pub excerpts: BTreeMap<String, BTreeMap<u32, String>>,
    /// The smallest sizes that still show it, where smaller ones were tried.
    #[serde(default)]
    pub smallest: Option<Smallest>,
    /// What it looked like on each input that shows it, smallest first.
    pub seen: Vec<Seen>,
}

/// A line of a source.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Line {
    /// The file.
    pub file: String,
    /// The line, from 1.
    pub line: u32,
    /// Its text, where it is the student's.
    pub text: Option<String>,
}

/// The smallest counterexample that was found for a root cause.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Smallest {
    /// The input from whose sizes it was made.
    pub input: String,
    /// The sizes.
    pub sizes: BTreeMap<String, i64>,
    /// The command that repeats it.
    pub replay: String,
}

/// A place of a finding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Place {
    /// The file.
    pub file: String,
    /// The line, from 1.
    pub line: u32,
    /// Bytes of the line: from, to.
    pub columns: (u32, u32),
    /// What happened there.
    pub text: String,
    /// The first thread, its block, and how many threads.
    pub who: Option<([u32; 3], [u32; 3], u32)>,
    /// The instruction; none of a line that only leads there.
    pub instruction: Option<String>,
}

/// What a root cause looked like on an input.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Seen {
    /// The input.
    pub input: String,
    /// What happened, in a sentence.
    pub title: String,
    /// Who did what at which line, in the order of time: the earlier access first.
    pub steps: Vec<String>,
    /// The places, the later access first, and the lines that lead there.
    #[serde(default)]
    pub places: Vec<Place>,
    /// What happened around it.
    #[serde(default)]
    pub trace: Option<Trace>,
    /// Further facts.
    pub notes: Vec<String>,
    /// The command that repeats it.
    pub replay: Option<String>,
    /// How often it was seen.
    pub count: u64,
}

/// What an input showed. One of several draws is the worst one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct InputResult {
    /// Its name.
    pub id: String,
    /// Whether students may know it.
    pub visible: bool,
    /// Its draws.
    pub draws: Vec<DrawResult>,
}

impl InputResult {
    /// How many of its draws have wrong results, whatever the schedule.
    pub fn wrong(&self) -> usize {
        let wrong = |draw: &&DrawResult| matches!(draw.outcome, Outcome::Wrong { .. });
        self.draws.iter().filter(wrong).count()
    }

    /// How many of its draws have results that are right under one schedule and wrong under another.
    pub fn dependent(&self) -> usize {
        let dependent =
            |draw: &&DrawResult| matches!(draw.outcome, Outcome::ScheduleDependent { .. });
        self.draws.iter().filter(dependent).count()
    }
}

/// One draw of an input.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DrawResult {
    /// The sizes.
    pub sizes: BTreeMap<String, i64>,
    /// Seed of its values.
    pub seed: u64,
    /// What came of it.
    pub outcome: Outcome,
    /// What is promised of other schedules, and how many were tried.
    pub promise: String,
    /// The counts.
    pub counts: BTreeMap<Metric, f64>,
    /// The reference's counts.
    pub reference: BTreeMap<Metric, f64>,
}

/// What came of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "is", rename_all = "kebab-case")]
pub enum Outcome {
    /// All results are as expected.
    Right,
    /// They are not.
    Wrong {
        /// In a sentence.
        what: String,
        /// The first differences.
        differences: Vec<Difference>,
        /// How many elements are wrong.
        elements: u64,
    },
    /// They are under one schedule, and not under another: something between threads has no order.
    ScheduleDependent {
        /// In a sentence.
        what: String,
        /// The first differences.
        differences: Vec<Difference>,
    },
    /// It could not be told.
    Undecided {
        /// Why.
        why: String,
    },
}

impl Outcome {
    /// Joins what came of a run with what came of another one under the schedule in which all warps advance together.
    pub fn or_in_step(self, in_step: Outcome) -> Outcome {
        match (self, in_step) {
            (
                Outcome::Wrong {
                    what, differences, ..
                },
                Outcome::Right,
            ) => Outcome::ScheduleDependent {
                what: format!("{what}; all are right where all warps advance together"),
                differences,
            },
            (
                Outcome::Right,
                Outcome::Wrong {
                    what, differences, ..
                },
            ) => Outcome::ScheduleDependent {
                what: format!("where all warps advance together, {what}"),
                differences,
            },
            (first, _) => first,
        }
    }
}

/// An element that is not as expected.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Difference {
    /// The buffer and the element: `out[3]`.
    pub place: String,
    /// What it is; `None` where nothing was written.
    pub found: Option<String>,
    /// What is expected.
    pub expected: String,
}

/// What a dispute needs: by which programs and from what a score was made.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Provenance {
    /// Version of this program.
    pub racetrap: String,
    /// Version of the compiler; `None` where compiled code was kept from before.
    pub nvcc: Option<String>,
    /// SHA-256 of the assignment: its file, harness and reference.
    pub assignment: String,
    /// Seed of visible inputs and of schedules.
    pub seed: u64,
    /// How long it took, in seconds.
    pub seconds: f64,
    /// How many schedules of each input were tried, at most.
    pub schedules: u32,
}

/// Points to two decimal places, as gradebooks keep them.
pub fn round(points: f64) -> f64 {
    (points * 100.0).round() / 100.0
}
