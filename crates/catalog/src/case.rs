//! The file format of a case: `cases/<family>/<case>.yaml`.
//!
//! Unknown keys are rejected. The doc comments of these types become the descriptions in the JSON schema
//! (`cases/schema.json`).

use super::host::{Memory, Step, StreamKind};
pub use super::launch::{Argument, Launch, Repeat};
use super::ptx_expectations::PtxExpectations;
use super::target::{SIMULATED, Target};
use super::tensor::Tensor;
pub use super::values::DefineValue;
use super::values::{ElementType, Fill, Number, OracleCall, SizeSpec};
use crate::equivalent::Equivalent;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use session::expression::Expression;
use std::collections::BTreeMap;

/// A case of the catalogue: a kernel with its defines, how to launch it, what it must compute, and what racetrap must find in
/// it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Case {
    /// A one-line title: what runs and, for a buggy case, what is wrong.
    pub title: String,
    /// The documents and listings that it comes from, such as `004 listing 9`.
    #[serde(default)]
    pub documents: Vec<String>,
    /// The kernel's path below `kernels/`, such as `scan/warp.cu`.
    pub kernel: String,
    /// Preprocessor symbols: a name with a value or without one.
    #[serde(default)]
    pub defines: BTreeMap<String, Option<DefineValue>>,
    /// The targets that the kernel is compiled for. The simulator runs the newest, a GPU the newest that it can run.
    #[serde(default = "usual_targets", skip_serializing_if = "targets_are_usual")]
    #[schemars(length(min = 1))]
    pub targets: Vec<Target>,
    /// The correct twin of a buggy case: the stem of its file in the same folder. A case with this key is buggy, one without
    /// it is correct.
    #[serde(default)]
    pub twin: Option<String>,
    /// What goes wrong and why; for a correct case, why it is right.
    #[serde(default)]
    pub why: String,
    /// Named integers, drawn or computed. A launch's `block` and `grid` use them as its geometry. Counterexamples shrink
    /// towards the lower end of a range and the first choice of a list.
    #[serde(default)]
    pub sizes: BTreeMap<String, SizeSpec>,
    /// Buffers in device or host memory, by name.
    #[serde(default)]
    pub buffers: BTreeMap<String, Buffer>,
    /// Tensor maps, by name: arguments of launches.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tensors: BTreeMap<String, Tensor>,
    /// The launches, in order, on one stream. Omit them if the compiler must reject the kernel.
    #[serde(default)]
    pub launches: Vec<Launch>,
    /// The steps of the host, instead of `launches`: with streams, events, copies and host memory.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub plan: Vec<Step>,
    /// How the streams of the `plan` are created; streams not listed are `non-blocking`. Steps without a stream use the
    /// `default` stream, which is the legacy one: it waits for earlier work on `blocking` streams, and they wait for it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub streams: BTreeMap<String, StreamKind>,
    /// The expected contents of the buffers at the end. The names are those after the last `swap`.
    #[serde(default)]
    pub oracle: BTreeMap<String, Oracle>,
    /// The exact expected output of the kernel.
    #[serde(default)]
    pub prints: Option<String>,
    /// For a buggy case: whether some runs give wrong results. `true` requires a counterexample with a wrong result, `false`
    /// requires that there is none; without the key both are accepted.
    #[serde(default)]
    pub wrong_results: Option<bool>,
    /// Performance notes to look for, with the figures that each must have. Without this key racetrap does not look for them.
    #[serde(default)]
    pub perf: BTreeMap<PerfRule, PerfCounts>,
    /// What the compiler must have made of the kernel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ptx: Option<PtxExpectations>,
    /// For a correct case: the mutants (`racetrap mutate`) that behave like the kernel. Every other mutant must be detected.
    #[serde(default)]
    pub equivalent: Vec<Equivalent>,
    /// Budgets, if the defaults do not fit.
    #[serde(default)]
    pub limits: CaseLimits,
    /// The expected verdict of each detector.
    pub expect: Expectations,
}

/// A piece of memory.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Buffer {
    /// The type of its elements.
    #[serde(rename = "type")]
    pub element: ElementType,
    /// The number of elements. The default for a copy of another buffer is the length of that buffer.
    #[serde(default)]
    pub length: Option<Expression>,
    /// Its initial contents.
    pub values: Fill,
    /// The kind of memory.
    #[serde(default, skip_serializing_if = "Memory::is_usual")]
    pub memory: Memory,
    /// The kernel's `__constant__` or `__device__` variable to use. Without this key the buffer is allocated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub symbol: Option<String>,
}

/// The expected contents of a buffer. Give exactly one of `is`, `each`, `values` and `kernel`; if you give only `is`, you may
/// omit the key.
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
    /// A sequential `__global__` function of the same kernel file. One thread runs it on copies of the initial buffers.
    pub kernel: Option<String>,
    /// The arguments of `kernel`; its result is in the buffer with this entry's name.
    pub args: Vec<Argument>,
    /// The number of elements to compare, from the start; the default is all.
    pub first: Option<Expression>,
    /// The tolerance for floating-point elements.
    pub tolerance: Tolerance,
}

/// The tolerance for a floating-point result: the larger of the two.
#[derive(Clone, Copy, Debug, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Tolerance {
    /// The absolute difference.
    #[serde(default)]
    pub absolute: f64,
    /// The difference relative to the expected value.
    #[serde(default)]
    pub relative: f64,
}

/// A performance rule.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum PerfRule {
    /// Lanes of a warp address different words of the same shared-memory bank.
    BankConflict,
    /// A warp moves more memory sectors than its data fills.
    UncoalescedAccess,
    /// A branch sends lanes of a warp both ways.
    DivergentBranch,
}

/// The figures that each note of a rule must have, summed over the launches of a run. Omitted figures are not compared.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct PerfCounts {
    /// Warp-level requests (`bank-conflict`, `uncoalesced-access`).
    #[serde(default)]
    pub requests: Option<Expression>,
    /// Passes (`bank-conflict`).
    #[serde(default)]
    pub wavefronts: Option<Expression>,
    /// Maximum number of passes of a request (`bank-conflict`).
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
    /// The divergent ones of these (`divergent-branch`).
    #[serde(default)]
    pub divergent: Option<Expression>,
}

/// Budgets of a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct CaseLimits {
    /// Number of runs.
    #[serde(default)]
    pub runs: Option<u32>,
    /// Maximum number of warp-instructions of a launch; after that it counts as making no progress.
    #[serde(default)]
    pub steps: Option<u64>,
    /// Time limit in seconds for a run on a GPU. Set it for a kernel that is known never to end.
    #[serde(default)]
    pub seconds: Option<u32>,
}

/// The expected verdict of each detector.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "ReadExpectations", rename_all = "kebab-case")]
pub struct Expectations {
    /// racetrap's simulator; `caught` if the compiler must reject the kernel.
    pub simulator: Expectation,
    /// The compiler's errors, if it must reject the kernel; then nothing runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compiler: Option<Refusal>,
    /// racetrap's checks in kernels on a GPU.
    pub gpu: Option<Expectation>,
    /// compute-sanitizer's racecheck.
    pub racecheck: Option<Expectation>,
    /// compute-sanitizer's synccheck.
    pub synccheck: Option<Expectation>,
    /// compute-sanitizer's memcheck.
    pub memcheck: Option<Expectation>,
    /// compute-sanitizer's initcheck.
    pub initcheck: Option<Expectation>,
    /// The results of a run on a GPU without a tool.
    pub native: Option<Expectation>,
}

/// The expected errors for a kernel that the compiler must reject.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Refusal {
    /// All error messages of nvcc, without file and line, each once. The kernel marks their lines with the tag
    /// `compile-error`.
    pub errors: Vec<String>,
}

/// The expected verdict of each detector: `simulator`, or `compiler` if the compiler must reject the kernel.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
#[schemars(rename = "Expectations")]
struct ReadExpectations {
    /// racetrap's simulator.
    #[serde(default)]
    simulator: Option<Expectation>,
    /// The compiler's errors, if it must reject the kernel; then nothing runs.
    #[serde(default)]
    compiler: Option<Refusal>,
    /// racetrap's checks in kernels on a GPU.
    #[serde(default)]
    gpu: Option<Expectation>,
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
    /// The results of a run on a GPU without a tool.
    #[serde(default)]
    native: Option<Expectation>,
}

/// Neither, or both, of `simulator` and `compiler`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
enum ExpectationsError {
    #[error("`expect` needs a verdict: `simulator: caught` or `simulator: clean`")]
    Neither,
    #[error(
        "a kernel that the compiler rejects never runs: give either `compiler` or the detectors in `expect`, not both"
    )]
    Both,
}

impl TryFrom<ReadExpectations> for Expectations {
    type Error = ExpectationsError;

    fn try_from(read: ReadExpectations) -> Result<Expectations, ExpectationsError> {
        let detectors = [
            &read.simulator,
            &read.gpu,
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
            gpu: read.gpu,
            racecheck: read.racecheck,
            synccheck: read.synccheck,
            memcheck: read.memcheck,
            initcheck: read.initcheck,
            native: read.native,
        })
    }
}

/// A verdict, with a reason if it is a miss. Write only the verdict, or add the reason:
/// `{verdict: missed, why: it does not watch global memory}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields, transform = or_word)]
pub struct Expectation {
    /// The verdict.
    pub verdict: ExpectedVerdict,
    /// What the detector cannot see. Required for a miss.
    pub why: Option<String>,
}

/// A verdict that a case can expect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ExpectedVerdict {
    /// The detector finds the bug, exactly as annotated.
    Caught,
    /// The detector finds nothing in a correct case.
    Clean,
    /// The detector does not find the bug.
    Missed,
    /// The detector reports something that is not wrong.
    FalseAlarm,
    /// The detector cannot judge this kernel.
    Unsupported,
}

/// Allows the short form of a type that may be written as a single word.
fn or_word(schema: &mut schemars::Schema) {
    let mut long = std::mem::take(schema);
    let description = long.remove("description");
    *schema = schemars::json_schema!({ "anyOf": [{ "type": "string" }, long] });
    if let Some(description) = description {
        schema.insert("description".to_owned(), description);
    }
}

fn usual_targets() -> Vec<Target> {
    Target::USUAL.to_vec()
}

fn targets_are_usual(targets: &[Target]) -> bool {
    targets == Target::USUAL
}

/// The JSON schema of a case file, stored in `cases/schema.json`.
pub fn schema() -> String {
    let mut text = serde_json::to_string_pretty(&schemars::schema_for!(Case))
        .unwrap_or_else(|e| unreachable!("a schema is plain JSON: {e}"));
    text.push('\n');
    text
}

impl Case {
    /// Whether the case is buggy: it has a correct twin.
    pub fn is_buggy(&self) -> bool {
        self.twin.is_some()
    }

    /// The expected compiler errors, if the compiler must reject the kernel; then nothing runs.
    pub fn refusal(&self) -> Option<&Refusal> {
        self.expect.compiler.as_ref()
    }

    /// Whether it also runs on GPUs. Unified memory behaves differently on different systems, tensor maps are made for the simulator alone, and a
    /// rejected kernel never runs.
    pub fn is_for_gpus(&self) -> bool {
        self.refusal().is_none()
            && self.tensors.is_empty()
            && self.buffers.values().all(|b| b.memory != Memory::Managed)
    }

    /// The names of the targets that its PTX is pinned for.
    pub fn target_names(&self) -> impl Iterator<Item = &'static str> {
        self.targets.iter().map(|target| target.name())
    }

    /// The target whose PTX the simulator runs: the newest.
    pub fn simulated(&self) -> &'static str {
        let newest = self.targets.iter().max();
        newest.map_or(SIMULATED, |target| target.name())
    }

    /// The target whose PTX a GPU of this compute capability runs: the newest that it can run.
    pub fn target_on(&self, capability: (u32, u32)) -> Option<&'static str> {
        let can = self.targets.iter().filter(|t| t.runs_on(capability));
        can.max().map(|target| target.name())
    }

    /// Everything that is launched, in order.
    pub fn launched(&self) -> impl Iterator<Item = &Launch> {
        let planned = self.plan.iter().filter_map(|step| step.launch.as_ref());
        self.launches.iter().chain(planned)
    }

    /// Whether it is buggy or expects the simulator to find something. In the latter case its twin may be missing.
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
