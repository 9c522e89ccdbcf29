//! One JSON document, for programs. Its schema is `docs/mutate.schema.json`, generated from the types of this file.
//!
//! `version` is 2. Fields may be added without raising it; a field that goes or changes its meaning raises it.

use crate::judged::{self, Judged, Outcome, Subject};
use crate::operator::Kind;
use report::json::{Finding, Tool, columns};
use schemars::JsonSchema;
use serde::Serialize;

/// Version of the document's layout.
pub const VERSION: u32 = 2;

/// The document.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "racetrap mutate")]
pub struct Document {
    /// Version of this layout: 2.
    version: u32,
    /// The program that wrote it.
    tool: Tool,
    /// One for each kernel or case.
    kernels: Vec<Kernel>,
    /// Sums over them.
    totals: Totals,
}

/// Sums.
#[derive(Serialize, JsonSchema)]
struct Totals {
    /// Mutants.
    mutants: usize,
    /// Those without which something goes wrong.
    needed: usize,
    /// Those that no run could have shown to be needed.
    not_exercised: usize,
    /// Those without which nothing went wrong, although they had something to order.
    no_failure_found: usize,
    /// Those of the last two kinds that the case explains.
    explained: usize,
    /// Those of which nothing can be said.
    unknown: usize,
}

/// One kernel or case.
#[derive(Serialize, JsonSchema)]
struct Kernel {
    /// The case's name, or `reverse.cu: reverse`.
    name: String,
    /// Whether all is as it should be.
    ok: bool,
    /// Why its mutants were not tried.
    #[serde(skip_serializing_if = "Option::is_none")]
    refused: Option<String>,
    /// What is not as it should be, one sentence each.
    problems: Vec<String>,
    /// The mutants, in the order of the source's lines; those of the plan last.
    mutants: Vec<Mutant>,
    /// Sets of mutants of which each shows nothing, and all together fail.
    together: Vec<Together>,
}

/// Mutants of which one at least is needed.
#[derive(Serialize, JsonSchema)]
struct Together {
    /// Their indices in `mutants`, from 0.
    members: Vec<usize>,
    /// What goes wrong without all of them, in a line.
    what: String,
    /// The finding that appears, where it is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    finding: Option<Finding>,
}

/// One mutant.
#[derive(Serialize, JsonSchema)]
struct Mutant {
    /// The kind of mutation.
    mutation: Kind,
    /// What it was, of orders and scopes: `acquire`, `gpu`.
    #[serde(skip_serializing_if = "Option::is_none")]
    from: Option<&'static str>,
    /// What it becomes, of orders and scopes: `relaxed`, `cta`.
    #[serde(skip_serializing_if = "Option::is_none")]
    to: Option<&'static str>,
    /// In words: `barrier removed`.
    change: String,
    /// The file of the changed place: the source, or the PTX where that names no source; of a step, the case.
    file: String,
    /// Its line, from 1.
    line: u32,
    /// Its first column, in characters, from 1.
    column: usize,
    /// One past its last column.
    end_column: usize,
    /// The lines of the PTX that are changed, from 1.
    ptx_lines: Vec<u32>,
    /// The first of the changed instructions; empty where a step of the plan is changed.
    instruction: String,
    /// What came of it.
    outcome: Word,
    /// What goes wrong, in a line; or why it is not exercised, or why nothing can be said.
    #[serde(skip_serializing_if = "Option::is_none")]
    what: Option<String>,
    /// The finding that appears, where it is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    finding: Option<Finding>,
    /// The smallest run that shows it.
    #[serde(skip_serializing_if = "Option::is_none")]
    smallest: Option<String>,
    /// Where no failure was found: the runs in which nothing went wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    runs: Option<u32>,
    /// Where no failure was found, or it is not exercised: launches and inputs that were tried.
    #[serde(skip_serializing_if = "Option::is_none")]
    launches: Option<usize>,
    /// Where no failure was found: whether every schedule gives the right results on the inputs tried.
    #[serde(skip_serializing_if = "Option::is_none")]
    every_schedule: Option<bool>,
    /// Where no failure was found: what that leaves open.
    #[serde(skip_serializing_if = "Option::is_none")]
    caveat: Option<&'static str>,
    /// Why the case says that it changes nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    explained: Option<String>,
}

/// What came of a mutant.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum Word {
    /// Something goes wrong without it.
    Needed,
    /// No run could have shown that it is needed: nobody came to it, or it had nothing to order.
    NotExercised,
    /// Nothing went wrong without it, on the inputs tried.
    NoFailureFound,
    /// Nothing can be said.
    Unknown,
}

impl From<&Judged> for Mutant {
    fn from(one: &Judged) -> Mutant {
        let (column, end_column) = columns(&one.place);
        let mut mutant = Mutant {
            mutation: one.change.kind,
            from: one.change.from,
            to: one.change.to,
            change: one.change.to_string(),
            file: one.place.source.path.clone(),
            line: one.place.line,
            column,
            end_column,
            ptx_lines: one.ptx_lines.clone(),
            instruction: one.place.instruction.clone().unwrap_or_default(),
            outcome: Word::Unknown,
            what: None,
            finding: None,
            smallest: None,
            runs: None,
            launches: None,
            every_schedule: None,
            caveat: None,
            explained: one.explained.clone(),
        };
        match &one.outcome {
            Outcome::Needed(sign) => {
                mutant.outcome = Word::Needed;
                mutant.what = Some(sign.what.clone());
                mutant.finding = sign.diagnostic.as_ref().map(Finding::from);
                mutant.smallest = sign.example.as_ref().map(ToString::to_string);
            }
            Outcome::NotExercised { why, launches } => {
                mutant.outcome = Word::NotExercised;
                mutant.what = Some(why.clone());
                mutant.launches = Some(*launches);
            }
            Outcome::NoFailure {
                runs,
                launches,
                every_schedule,
            } => {
                mutant.outcome = Word::NoFailureFound;
                mutant.runs = Some(*runs);
                mutant.launches = Some(*launches);
                mutant.every_schedule = Some(*every_schedule);
                mutant.caveat = one.change.caveat();
            }
            Outcome::Unknown(verdict, why) => {
                mutant.what = Some(format!("{}: {why}", verdict.name()));
            }
        }
        mutant
    }
}

impl From<&judged::Together> for Together {
    fn from(group: &judged::Together) -> Together {
        Together {
            members: group.members.clone(),
            what: group.sign.what.clone(),
            finding: group.sign.diagnostic.as_ref().map(Finding::from),
        }
    }
}

/// The document as text.
pub fn render(subjects: &[Subject]) -> String {
    let sums = judged::sums(subjects);
    let kernel = |subject: &Subject| Kernel {
        name: subject.name.clone(),
        ok: subject.exit_code() == report::exit::OK,
        refused: subject.refused.as_ref().map(|(_, why)| why.clone()),
        problems: subject.problems(),
        mutants: subject.mutants.iter().map(Mutant::from).collect(),
        together: subject.together.iter().map(Together::from).collect(),
    };
    let document = Document {
        version: VERSION,
        tool: Tool::default(),
        kernels: subjects.iter().map(kernel).collect(),
        totals: Totals {
            mutants: sums.mutants,
            needed: sums.needed,
            not_exercised: sums.not_exercised,
            no_failure_found: sums.no_failure,
            explained: sums.explained,
            unknown: sums.unknown,
        },
    };
    serde_json::to_string_pretty(&document).expect("plain data serialises") + "\n"
}

/// The document's JSON schema.
pub fn schema() -> String {
    let schema = schemars::schema_for!(Document);
    serde_json::to_string_pretty(&schema).expect("a schema serialises") + "\n"
}
