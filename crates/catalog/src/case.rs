//! A case as its YAML file says it: `cases/<family>/<case>.yaml`.
//!
//! The types here are the file format: unknown keys are refused, and the doc
//! comments become the descriptions of the JSON schema (`cases/schema.json`).

use super::compiled::PtxExpectations;
use super::expression::Expression;
use super::host::{Memory, Step, StreamKind};
use super::values::{ElementType, Extent, Fill, Number, OracleCall, SizeSpec};
use crate::equivalent::Equivalent;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One case of the catalogue: a kernel as one set of defines compiles it, how it is launched, what
/// it must compute, and what must be found in it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Case {
    /// One line for people: what runs and, in a buggy case, what is wrong.
    pub title: String,
    /// Where it comes from: documents and their listings, such as `004 listing 9`.
    #[serde(default)]
    pub documents: Vec<String>,
    /// The kernel's path below `kernels/`, such as `scan/warp.cu`.
    pub kernel: String,
    /// Preprocessor symbols: a name, and its value or nothing.
    #[serde(default)]
    pub defines: BTreeMap<String, Option<DefineValue>>,
    /// The fixed case of a buggy one, by its file's stem in the same folder. Its presence says that this case is
    /// buggy; a twin is itself correct.
    #[serde(default)]
    pub twin: Option<String>,
    /// What goes wrong and why, or what makes a suspicious-looking kernel right.
    #[serde(default)]
    pub why: String,
    /// Named integers, drawn or computed. Those that a launch's `block` and `grid` use are its
    /// geometry. Smaller is simpler: a counterexample is shrunk towards the lower end of a range and the first choice.
    #[serde(default)]
    pub sizes: BTreeMap<String, SizeSpec>,
    /// Memory, by name: the device's or the host's.
    #[serde(default)]
    pub buffers: BTreeMap<String, Buffer>,
    /// What is launched, in order, on one stream. Left out where the compiler is to refuse the kernel.
    #[serde(default)]
    pub launches: Vec<Launch>,
    /// What the host does, step by step, in place of `launches`: with streams, events, copies and memory of its own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub plan: Vec<Step>,
    /// How streams of the `plan` were made; those not listed are `non-blocking`. The `default` stream, which is that of steps that name
    /// none, is the legacy one: it waits for all that `blocking` streams were given before, and they wait for it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub streams: BTreeMap<String, StreamKind>,
    /// What the buffers must hold at the end, by buffer. Names are those after the last `swap`.
    #[serde(default)]
    pub oracle: BTreeMap<String, Oracle>,
    /// Exactly what the kernel must print.
    #[serde(default)]
    pub prints: Option<String>,
    /// Of a buggy case: whether the bug shows in the results of some runs. `true` demands a counterexample
    /// with a wrong result, `false` demands that there is none, nothing demands nothing.
    #[serde(default)]
    pub wrong_results: Option<bool>,
    /// Performance notes to count, with the figures that every one of them must have. Without this key they are not
    /// looked for.
    #[serde(default)]
    pub perf: BTreeMap<PerfRule, PerfCounts>,
    /// What the compiler must have made of the kernel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ptx: Option<PtxExpectations>,
    /// Of a correct case: the mutants (`racetrap mutate`) of which nothing can be noticed, because they behave like the
    /// kernel. Every other one must be noticed.
    #[serde(default)]
    pub equivalent: Vec<Equivalent>,
    /// Budgets, where the usual ones don't fit.
    #[serde(default)]
    pub limits: CaseLimits,
    /// The verdict of every detector.
    pub expect: Expectations,
}

/// The value of a preprocessor symbol.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum DefineValue {
    /// A number.
    Number(i64),
    /// A word, such as a type's name.
    Word(String),
}

/// A piece of memory.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Buffer {
    /// The elements' type.
    #[serde(rename = "type")]
    pub element: ElementType,
    /// Elements. A buffer that is a copy of another one has that one's length if it names none.
    #[serde(default)]
    pub length: Option<Expression>,
    /// What it holds at the start.
    pub values: Fill,
    /// Where it lies.
    #[serde(default, skip_serializing_if = "Memory::is_usual")]
    pub memory: Memory,
    /// The kernel's `__constant__` or `__device__` variable that it is. Without a symbol, it is allocated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub symbol: Option<String>,
}

/// One kernel launch, or a loop of them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Launch {
    /// The `__global__` function, by its plain name.
    pub entry: String,
    /// Blocks: `x`, `[x, y]` or `[x, y, z]`.
    #[serde(default)]
    pub grid: Extent,
    /// Threads of a block: `x`, `[x, y]` or `[x, y, z]`.
    #[serde(default)]
    pub block: Extent,
    /// Bytes of dynamic shared memory.
    #[serde(default)]
    pub shared: Option<Expression>,
    /// The arguments: names of buffers, numbers, or expressions over the sizes.
    #[serde(default)]
    pub args: Vec<Argument>,
    /// A cooperative launch, in which the grid can synchronise.
    #[serde(default)]
    pub cooperative: bool,
    /// Launches again and again with a variable that changes; its name is a size inside this launch.
    #[serde(default)]
    pub repeat: BTreeMap<String, Repeat>,
    /// Two buffers whose names change places after every (repetition of the) launch.
    #[serde(default)]
    pub swap: Option<[String; 2]>,
    /// The stream, in a `plan`, if not the `default` one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stream: Option<String>,
}

/// An argument of a launch.
#[derive(Clone, Debug, PartialEq)]
pub enum Argument {
    /// A number with a fraction or an exponent.
    Float(f64),
    /// A buffer's name, an integer or an expression over the sizes.
    Value(Expression),
}

/// The values that a loop's variable takes: `from`, then `next` for as long as `while` holds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Repeat {
    /// The first value.
    pub from: Expression,
    /// Goes on while this is not 0; it may compare (`d < n`).
    #[serde(rename = "while")]
    pub condition: Expression,
    /// The value that follows, computed from the present one.
    pub next: Expression,
}

/// What one buffer must hold at the end. Exactly one of `is`, `each`, `values` and `kernel` is given; `is` alone may be
/// written without the key.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema, Default)]
#[serde(rename_all = "kebab-case")]
#[schemars(default, deny_unknown_fields, transform = or_word)]
pub struct Oracle {
    /// A named function of the initial buffers and the sizes, such as `inclusive_scan(data)`.
    pub is: Option<OracleCall>,
    /// An expression for each element, with `i` its index.
    pub each: Option<Expression>,
    /// The elements themselves.
    pub values: Option<Vec<Number>>,
    /// A sequential `__global__` function of the same kernel file, run by one thread on copies of the initial buffers.
    pub kernel: Option<String>,
    /// The arguments of `kernel`; the buffer of this name holds its result.
    pub args: Vec<Argument>,
    /// How many elements from the start are compared (all, if not given).
    pub first: Option<Expression>,
    /// How far a floating-point element may be off.
    pub tolerance: Tolerance,
}

/// How far a floating-point result may be off: by the larger of the two.
#[derive(Clone, Copy, Debug, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Tolerance {
    /// Absolute difference.
    #[serde(default)]
    pub absolute: f64,
    /// Difference relative to the expected value.
    #[serde(default)]
    pub relative: f64,
}

/// A rule about speed.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum PerfRule {
    /// Lanes of a warp address different words of one shared-memory bank.
    BankConflict,
    /// A warp moves more memory sectors than its data fills.
    UncoalescedAccess,
    /// A branch sends lanes of a warp both ways.
    DivergentBranch,
}

/// The figures that each note of a rule must have, summed over a run's launches; those left out are not compared.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct PerfCounts {
    /// Warp-level requests (`bank-conflict`, `uncoalesced-access`).
    #[serde(default)]
    pub requests: Option<Expression>,
    /// Passes through the banks (`bank-conflict`).
    #[serde(default)]
    pub wavefronts: Option<Expression>,
    /// Most passes of one request (`bank-conflict`).
    #[serde(default)]
    pub degree: Option<Expression>,
    /// 32-byte sectors moved (`uncoalesced-access`).
    #[serde(default)]
    pub sectors: Option<Expression>,
    /// Sectors that the data would fill (`uncoalesced-access`).
    #[serde(default)]
    pub ideal: Option<Expression>,
    /// Warp-level executions (`divergent-branch`).
    #[serde(default)]
    pub executed: Option<Expression>,
    /// Of these, divergent (`divergent-branch`).
    #[serde(default)]
    pub divergent: Option<Expression>,
}

/// Budgets of a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct CaseLimits {
    /// Runs of the property test.
    #[serde(default)]
    pub runs: Option<u32>,
    /// Warp-instructions of a launch, after which it makes no progress.
    #[serde(default)]
    pub steps: Option<u64>,
    /// Seconds that a run on a GPU may take before it is killed; of use where the kernel is known never to end.
    #[serde(default)]
    pub seconds: Option<u32>,
}

/// What each detector must say.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "ReadExpectations", rename_all = "kebab-case")]
pub struct Expectations {
    /// racetrap's own simulator. `caught` where the compiler is to refuse the kernel.
    pub simulator: Expectation,
    /// The compiler, where it is to refuse the kernel, so that nothing runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compiler: Option<Refusal>,
    /// compute-sanitizer's racecheck.
    pub racecheck: Option<Expectation>,
    /// compute-sanitizer's synccheck.
    pub synccheck: Option<Expectation>,
    /// compute-sanitizer's memcheck.
    pub memcheck: Option<Expectation>,
    /// compute-sanitizer's initcheck.
    pub initcheck: Option<Expectation>,
    /// The results of a run on a GPU with no tool.
    pub native: Option<Expectation>,
}

/// What the compiler must say of a kernel that it is to refuse.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Refusal {
    /// Its errors, as nvcc words them and without file and line: all of them, each once. Their lines are those that the
    /// kernel tags `compile-error`.
    pub errors: Vec<String>,
}

/// What each detector must say: `simulator`, or `compiler` where the compiler is to refuse the kernel.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
#[schemars(rename = "Expectations")]
struct ReadExpectations {
    /// racetrap's own simulator.
    #[serde(default)]
    simulator: Option<Expectation>,
    /// The compiler, where it is to refuse the kernel, so that nothing runs.
    #[serde(default)]
    compiler: Option<Refusal>,
    /// compute-sanitizer's racecheck.
    #[serde(default)]
    racecheck: Option<Expectation>,
    /// compute-sanitizer's synccheck.
    #[serde(default)]
    synccheck: Option<Expectation>,
    /// compute-sanitizer's memcheck.
    #[serde(default)]
    memcheck: Option<Expectation>,
    /// compute-sanitizer's initcheck.
    #[serde(default)]
    initcheck: Option<Expectation>,
    /// The results of a run on a GPU with no tool.
    #[serde(default)]
    native: Option<Expectation>,
}

/// Neither, or both, of `simulator` and `compiler`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
enum ExpectationsError {
    #[error("`expect` names no verdict: `simulator: caught` or `simulator: clean`")]
    Neither,
    #[error(
        "what the compiler refuses never runs: `expect` has `compiler` or the detectors, not both"
    )]
    Both,
}

impl TryFrom<ReadExpectations> for Expectations {
    type Error = ExpectationsError;

    fn try_from(read: ReadExpectations) -> Result<Expectations, ExpectationsError> {
        let detectors = [
            &read.simulator,
            &read.racecheck,
            &read.synccheck,
            &read.memcheck,
            &read.initcheck,
            &read.native,
        ];
        if read.compiler.is_some() && detectors.iter().any(|d| d.is_some()) {
            return Err(ExpectationsError::Both);
        }
        let refused = read.compiler.as_ref().map(|_| Expectation {
            verdict: ExpectedVerdict::Caught,
            why: None,
        });
        Ok(Expectations {
            simulator: read
                .simulator
                .or(refused)
                .ok_or(ExpectationsError::Neither)?,
            compiler: read.compiler,
            racecheck: read.racecheck,
            synccheck: read.synccheck,
            memcheck: read.memcheck,
            initcheck: read.initcheck,
            native: read.native,
        })
    }
}

/// A verdict, and why where it is a miss. Written as the verdict alone, or with its reason:
/// `{verdict: missed, why: it does not watch global memory}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields, transform = or_word)]
pub struct Expectation {
    /// The verdict.
    pub verdict: ExpectedVerdict,
    /// What the detector cannot see; a miss must say it.
    pub why: Option<String>,
}

/// A verdict that a case can expect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ExpectedVerdict {
    /// The bug is found, exactly as annotated.
    Caught,
    /// Nothing is found, and there is nothing to find.
    Clean,
    /// The bug is not found.
    Missed,
    /// Something is found where nothing is wrong.
    FalseAlarm,
    /// The detector says that it can't judge this kernel.
    Unsupported,
}

/// Allows the short form of a type that may be written as one word.
fn or_word(schema: &mut schemars::Schema) {
    let mut long = std::mem::take(schema);
    let description = long.remove("description");
    *schema = schemars::json_schema!({ "anyOf": [{ "type": "string" }, long] });
    if let Some(description) = description {
        schema.insert("description".to_owned(), description);
    }
}

/// The JSON schema of a case's file, as `cases/schema.json` holds it.
pub fn schema() -> String {
    let mut text = serde_json::to_string_pretty(&schemars::schema_for!(Case))
        .unwrap_or_else(|e| unreachable!("a schema is plain JSON: {e}"));
    text.push('\n');
    text
}

impl Case {
    /// Whether something is wrong with the kernel: it has a fixed twin.
    pub fn is_buggy(&self) -> bool {
        self.twin.is_some()
    }

    /// What the compiler must say, if it is to refuse the kernel: then nothing runs.
    pub fn refusal(&self) -> Option<&Refusal> {
        self.expect.compiler.as_ref()
    }

    /// Whether it is run on GPUs, too: unified memory behaves differently from one system to the next, and what the compiler
    /// refuses runs nowhere.
    pub fn is_for_gpus(&self) -> bool {
        self.refusal().is_none() && self.buffers.values().all(|b| b.memory != Memory::Managed)
    }

    /// Everything that is launched, in order.
    pub fn launched(&self) -> impl Iterator<Item = &Launch> {
        let planned = self.plan.iter().filter_map(|step| step.launch.as_ref());
        self.launches.iter().chain(planned)
    }

    /// Whether it is buggy or the simulator is expected to find something: a case of which the twin may
    /// have been forgotten.
    pub fn is_meant_buggy(&self) -> bool {
        let verdict = self.expect.simulator.verdict;
        self.is_buggy() || matches!(verdict, ExpectedVerdict::Caught | ExpectedVerdict::Missed)
    }

    /// The `-D` arguments of the compiler, sorted by name: `NAME` or `NAME=value`.
    pub fn define_flags(&self) -> Vec<String> {
        self.defines
            .iter()
            .map(|(name, value)| match value {
                None => name.clone(),
                Some(DefineValue::Number(n)) => format!("{name}={n}"),
                Some(DefineValue::Word(w)) => format!("{name}={w}"),
            })
            .collect()
    }
}

impl From<PerfRule> for detect::rules::Rule {
    fn from(rule: PerfRule) -> Self {
        match rule {
            PerfRule::BankConflict => detect::rules::Rule::BankConflict,
            PerfRule::UncoalescedAccess => detect::rules::Rule::UncoalescedAccess,
            PerfRule::DivergentBranch => detect::rules::Rule::DivergentBranch,
        }
    }
}
