//! The file format of a claim: `cases/claims/<id>.yaml`.

use catalog::case::ExpectedVerdict;
use catalog::draw::{Inputs, SizeError, Sizes, given_sizes};
use catalog::error::CatalogError;
use catalog::expression::Expression;
use catalog::load::{CLAIMS, Catalog, Entry, parsed};
use catalog::plan::{Plan, PlanError, plan};
use catalog::ptx_expectations::PtxExpectations;
use evidence::Detector;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A claim.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Claim {
    /// Its name, that of its file.
    #[serde(skip)]
    pub id: String,
    /// The documents that make it, and where: `004 section 2.5`.
    pub documents: Vec<String>,
    /// The claim, in our words.
    pub says: String,
    /// Predictions that follow from the claim.
    pub predicts: Vec<Prediction>,
    /// The expected verdict.
    pub verdict: Ruling,
    /// What is true instead, if the claim is not, or not always, true. Written for a student.
    #[serde(default)]
    pub instead: Option<String>,
}

/// The verdict on a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Ruling {
    /// All predictions hold.
    Confirmed,
    /// No prediction holds.
    Refuted,
    /// Some predictions hold.
    Depends,
    /// Some prediction could not be examined.
    #[serde(skip)]
    Undecided,
}

impl Ruling {
    /// The name shown to the user.
    pub fn name(self) -> &'static str {
        match self {
            Ruling::Confirmed => "confirmed",
            Ruling::Refuted => "refuted",
            Ruling::Depends => "depends",
            Ruling::Undecided => "undecided",
        }
    }
}

/// A prediction that can be examined. Give exactly one key besides `what`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Prediction {
    /// The prediction, in words.
    pub what: String,
    /// The simulator's verdict on a case.
    #[serde(default)]
    pub simulator: Option<Verdict>,
    /// Whether a case's results are right in all runs on the simulator.
    #[serde(default)]
    pub results: Option<Results>,
    /// What the compiler makes of a case's kernel, on every pinned target.
    #[serde(default)]
    pub ptx: Option<Compiled>,
    /// What a GPU showed: a plain run, or a tool of compute-sanitizer.
    #[serde(default)]
    pub gpu: Option<Gpu>,
    /// Whether a launch is accepted.
    #[serde(default)]
    pub launch: Option<Launches>,
    /// Counts of one run on the simulator in lockstep.
    #[serde(default)]
    pub count: Option<Count>,
    /// The times of two cases on a GPU, compared.
    #[serde(default)]
    pub time: Option<Time>,
}

/// A case's verdict.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Verdict {
    /// The case.
    pub case: String,
    /// `clean` or `caught`.
    pub verdict: ExpectedVerdict,
}

/// A case's results.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Results {
    /// The case.
    pub case: String,
    /// Whether they are right under every schedule tried.
    pub right: bool,
}

/// What the compiler makes of a kernel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Compiled {
    /// The case.
    pub case: String,
    /// What its PTX must contain.
    pub holds: PtxExpectations,
}

/// What a GPU showed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Gpu {
    /// The case.
    pub case: String,
    /// The detector: `native` (only the results), `racecheck`, `synccheck` …
    #[serde(default = "native")]
    pub by: Detector,
    /// What it shows.
    pub shows: Shows,
}

fn native() -> Detector {
    Detector::Native
}

/// What a plain run on a GPU or a tool may show.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Shows {
    /// No error.
    Nothing,
    /// Wrong results, a fault, or reports.
    Something,
    /// It does not end.
    Hang,
}

/// A run with these sizes, regardless of the ranges in the case. Free sizes that are not given take their lowest value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Run {
    /// The case.
    pub case: String,
    /// Sizes.
    #[serde(default)]
    pub with: Sizes,
    /// The contents of `random` buffers.
    #[serde(default)]
    pub inputs: Values,
}

impl Run {
    /// The plan of the case, with these sizes and inputs.
    ///
    /// # Errors
    /// What the case does not allow.
    pub fn plan(&self, entry: &Entry) -> Result<Plan, RunError> {
        let sizes = given_sizes(&entry.case, &self.with)?;
        Ok(plan(&entry.case, sizes, self.inputs.into())?)
    }
}

/// Why a case has no such run.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The case has no such sizes.
    #[error(transparent)]
    Sizes(#[from] SizeError),
    /// The sizes give no run.
    #[error(transparent)]
    Plan(#[from] PlanError),
}

/// What `random` buffers hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Values {
    /// Random values.
    #[default]
    Random,
    /// The same value everywhere.
    Same,
}

impl From<Values> for Inputs {
    fn from(values: Values) -> Inputs {
        match values {
            Values::Random => Inputs::Random(1),
            Values::Same => Inputs::Ones,
        }
    }
}

/// Whether a launch is accepted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Launches {
    /// The run.
    pub of: Run,
    /// Whether it is accepted.
    pub accepted: bool,
}

/// What is counted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Count {
    /// The run.
    pub of: Run,
    /// A condition over the sizes and the counts ([`super::count::NAMES`]).
    pub holds: Expression,
    /// Figures to show, by name.
    #[serde(default)]
    pub figures: BTreeMap<String, Expression>,
}

/// Two runs whose times are compared. At least one bound is given.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Time {
    /// The one that is said to be slower.
    pub slow: Run,
    /// The one that is said to be faster.
    pub fast: Run,
    /// The least that `slow / fast` may be.
    #[serde(default)]
    pub at_least: Option<f64>,
    /// The most that `slow / fast` may be.
    #[serde(default)]
    pub at_most: Option<f64>,
}

impl Time {
    /// Whether a ratio lies within the bounds.
    pub fn allows(&self, ratio: f64) -> bool {
        self.at_least.is_none_or(|bound| ratio >= bound)
            && self.at_most.is_none_or(|bound| ratio <= bound)
    }
}

impl Prediction {
    /// The keys that are given; there should be one.
    fn keys(&self) -> usize {
        [
            self.simulator.is_some(),
            self.results.is_some(),
            self.gpu.is_some(),
            self.ptx.is_some(),
            self.launch.is_some(),
            self.count.is_some(),
            self.time.is_some(),
        ]
        .into_iter()
        .filter(|given| *given)
        .count()
    }

    /// The cases that the simulator tries for it.
    pub fn tried(&self) -> Option<&str> {
        let verdict = self.simulator.as_ref().map(|v| v.case.as_str());
        verdict.or(self.results.as_ref().map(|r| r.case.as_str()))
    }

    /// The cases that it names, and the sizes that it gives them.
    fn named(&self) -> Vec<(&str, Option<&Sizes>)> {
        let mut runs: Vec<&Run> = Vec::new();
        runs.extend(self.launch.iter().map(|l| &l.of));
        runs.extend(self.count.iter().map(|c| &c.of));
        runs.extend(self.time.iter().flat_map(|t| [&t.slow, &t.fast]));
        let runs = runs.into_iter().map(|r| (r.case.as_str(), Some(&r.with)));
        let gpu = self.gpu.iter().map(|g| (g.case.as_str(), None));
        let tried = self.tried().map(|case| (case, None));
        let ptx = self.ptx.iter().map(|p| (p.case.as_str(), None));
        runs.chain(gpu).chain(tried).chain(ptx).collect()
    }
}

/// A claim that makes no sense.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ClaimError {
    /// It can't be read.
    #[error(transparent)]
    Yaml(#[from] CatalogError),
    /// Something in it.
    #[error("{file}: {problem}")]
    Problem {
        /// The file.
        file: String,
        /// What.
        problem: String,
    },
}

/// All claims of a catalogue by name, or everything that is wrong with them.
pub fn claims(catalog: &Catalog) -> Result<Vec<Claim>, Vec<ClaimError>> {
    let (mut claims, mut errors) = (Vec::new(), Vec::new());
    for (file, text) in catalog.tree.below(CLAIMS, ".yaml") {
        match parsed::<Claim>(file, text) {
            Ok(mut claim) => {
                let name = file.trim_start_matches(CLAIMS);
                claim.id = name.trim_end_matches(".yaml").to_owned();
                errors.extend(problems(catalog, &claim).into_iter().map(|problem| {
                    ClaimError::Problem {
                        file: file.to_owned(),
                        problem,
                    }
                }));
                claims.push(claim);
            }
            Err(error) => errors.push(error.into()),
        }
    }
    match errors.is_empty() {
        true => Ok(claims),
        false => Err(errors),
    }
}

fn problems(catalog: &Catalog, claim: &Claim) -> Vec<String> {
    let mut problems = Vec::new();
    if claim.predicts.is_empty() {
        problems.push("a claim that predicts nothing can't be decided".to_owned());
    }
    if claim.verdict != Ruling::Confirmed && claim.instead.is_none() {
        problems.push("`instead` is to say what is true in its place".to_owned());
    }
    for prediction in &claim.predicts {
        let what = &prediction.what;
        if prediction.keys() != 1 {
            problems.push(format!(
                "`{what}` is to have one of `simulator`, `results`, `ptx`, `gpu`, `launch`, `count`, `time`"
            ));
        }
        if let Some(time) = &prediction.time
            && time.at_least.is_none()
            && time.at_most.is_none()
        {
            problems.push(format!("`{what}` is to have `at-least` or `at-most`"));
        }
        for (case, with) in prediction.named() {
            let Some(entry) = catalog.find(case) else {
                problems.push(format!("`{what}`: there is no case `{case}`"));
                continue;
            };
            let sizes = with.into_iter().flat_map(Sizes::keys);
            for size in sizes.filter(|size| !entry.case.sizes.contains_key(*size)) {
                problems.push(format!("`{what}`: `{case}` has no size `{size}`"));
            }
        }
        if let Some(count) = &prediction.count {
            let expressions = count.figures.values().chain([&count.holds]);
            for name in expressions.flat_map(Expression::names) {
                let size = catalog.find(&count.of.case);
                let size = size.is_some_and(|e| e.case.sizes.contains_key(name));
                if !size && !super::count::NAMES.iter().any(|(known, _)| *known == name) {
                    problems.push(format!("`{what}`: nothing counts `{name}`"));
                }
            }
        }
    }
    problems
}

/// The JSON schema of a claim's file, as `cases/claims/schema.json` holds it.
pub fn schema() -> String {
    let mut text = serde_json::to_string_pretty(&schemars::schema_for!(Claim))
        .unwrap_or_else(|e| unreachable!("a schema is plain JSON: {e}"));
    text.push('\n');
    text
}
