//! What a course asks for: one YAML file.
//!
//! [`read()`](read::read) makes an [`Assignment`] of a file's text and says of each mistake on which line and under which key it is;
//! [`schema()`](read::schema) is the JSON Schema for editors.

mod check;
mod part;
mod program;
pub mod read;

pub use part::{Credit, Kind, Limit, Metric, Part, Required, Visibility};
pub use program::{InputFile, Layout, OUTPUT, Output, Program, STDOUT};

use detect::rules::Rule;
use schemars::JsonSchema;
use serde::de::{self, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use session::buffer::ElementType;
use session::expression::Expression;
use session::fill::Fill;
use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;
use std::path::PathBuf;

/// The version of the format that this program reads.
pub const FORMAT: u32 = 1;

/// An assignment.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Assignment {
    /// Version of this format: 1.
    pub racetrap_assignment: u32,
    /// A short name for files and tables: `reduction`.
    pub id: String,
    /// What people call it.
    pub title: String,
    /// What is handed in.
    pub submission: Submission,
    /// How it is built.
    pub build: Build,
    /// The kernel and its launch (`kind: kernel`).
    #[serde(default)]
    pub kernel: Option<Kernel>,
    /// How the program is run (`kind: program` and `wb`).
    #[serde(default)]
    pub program: Option<Program>,
    /// A solution, which says what results and counts are expected.
    #[serde(default)]
    pub reference: Option<Reference>,
    /// What is compared: buffers by the names of their parameters; of a program its files and `stdout`, or `output` of `wb`.
    pub compare: BTreeMap<String, Compare>,
    /// What the kernel is run on.
    pub inputs: Vec<Input>,
    /// What earns points.
    pub parts: Vec<Part>,
    /// What students are told.
    #[serde(default)]
    pub feedback: Feedback,
    /// What happens to a part that could not be decided.
    #[serde(default)]
    pub on_inconclusive: OnInconclusive,
    /// Budgets.
    #[serde(default)]
    pub limits: Limits,
    /// How many schedules of each input are tried, at most.
    #[serde(default = "default_schedules")]
    pub schedules: u32,
    /// Seed of visible inputs and of schedules.
    #[serde(default = "default_seed")]
    pub seed: u64,
    /// Any text that students don't know: the values of hidden inputs follow from it.
    #[serde(default)]
    pub secret: Option<String>,
    /// Submissions whose scores are known: they prove the rubric.
    #[serde(default)]
    pub selftest: Selftest,
}

impl Assignment {
    /// Whether anything is counted.
    pub fn counts(&self) -> bool {
        let counted = |kind| matches!(kind, Kind::Counts | Kind::Style);
        self.parts.iter().any(|p| counted(p.check))
    }
}

fn default_schedules() -> u32 {
    8
}

fn default_seed() -> u64 {
    1
}

/// What is handed in.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Submission {
    /// Files that must be there. The first one is compiled, unless there is a harness.
    pub require: Vec<String>,
    /// Patterns of further files that are taken; `*` is any text within a name.
    #[serde(default)]
    pub allow: Vec<String>,
    /// Texts that may not stand in the code (comments and the text of strings do not count).
    #[serde(default)]
    pub forbid: Vec<String>,
    /// Bytes of all files together, at most.
    #[serde(default = "default_bytes")]
    pub max_bytes: u64,
}

fn default_bytes() -> u64 {
    200_000
}

/// How a submission is built.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Build {
    /// What is built.
    #[serde(default)]
    pub kind: BuildKind,
    /// Files of the course that lie beside the student's, and take the place of those of the same name. Of a kernel the first one is
    /// compiled; it includes the student's. Of a program all sources are. Students can read them.
    #[serde(default)]
    pub harness: Vec<PathBuf>,
    /// GPU architecture.
    #[serde(default)]
    pub arch: Option<String>,
    /// Further options for the compiler.
    #[serde(default)]
    pub flags: Vec<String>,
    /// What `make` is told to make, which is also the program's file; without it all sources are compiled together (`kind: program`).
    #[serde(default)]
    pub make: Option<String>,
    /// Which builds are run (`kind: kernel`).
    #[serde(default = "default_builds")]
    pub builds: Vec<Optimisation>,
    /// Time for one compilation, in seconds.
    #[serde(default = "default_compile_seconds")]
    pub seconds: f64,
}

fn default_builds() -> Vec<Optimisation> {
    vec![Optimisation::Optimised]
}

fn default_compile_seconds() -> f64 {
    60.0
}

/// What is built.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BuildKind {
    /// Kernels alone: the assignment says how they are launched.
    #[default]
    Kernel,
    /// A program with a `main` of its own.
    Program,
    /// A program in the conventions of libwb: `-e EXPECTED -i INPUTS -o OUTPUT -t TYPE`, with a `wb.h` that racetrap brings along.
    Wb,
}

/// A build of the student's code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Optimisation {
    /// `-O3 -lineinfo`: its results and counts are judged.
    Optimised,
    /// `-G`: shows accesses that the optimiser removes.
    Unoptimised,
}

impl From<Optimisation> for toolchain::Optimisation {
    fn from(build: Optimisation) -> Self {
        match build {
            Optimisation::Optimised => toolchain::Optimisation::Optimised,
            Optimisation::Unoptimised => toolchain::Optimisation::Unoptimised,
        }
    }
}

/// The kernel and its launch. Numbers are expressions over the sizes of an input.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Kernel {
    /// The kernel's name.
    pub entry: String,
    /// Blocks: x, y, z.
    pub grid: Dimensions,
    /// Threads of a block: x, y, z.
    pub block: Dimensions,
    /// Bytes of dynamic shared memory.
    #[serde(default)]
    pub shared: Option<Expression>,
    /// Whether the launch is cooperative.
    #[serde(default)]
    pub cooperative: bool,
    /// The arguments in the order of the parameters, with names of the course's own.
    #[schemars(with = "BTreeMap<String, Argument>")]
    pub arguments: Named<Argument>,
}

/// One to three numbers.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Dimensions {
    /// x.
    One(Expression),
    /// x, y, z.
    Several(Vec<Expression>),
}

impl Dimensions {
    /// The expressions.
    pub fn parts(&self) -> &[Expression] {
        match self {
            Dimensions::One(x) => std::slice::from_ref(x),
            Dimensions::Several(all) => all,
        }
    }
}

/// An argument of the kernel.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Argument {
    /// An integer.
    Number(Expression),
    /// A floating-point number.
    Float(f64),
    /// A buffer in global memory.
    Buffer(Buffer),
}

/// A buffer in global memory.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Buffer {
    /// Type of its elements.
    #[serde(rename = "type")]
    pub element: ElementType,
    /// Number of elements.
    pub length: Expression,
    /// What it holds at the start, in the words of `racetrap check --arg`. Without it nothing is written there, so that a kernel that
    /// writes nothing never passes.
    #[serde(default = "uninitialized")]
    pub fill: Fill,
    /// A file with its bytes, below the assignment's folder, instead of `fill`.
    #[serde(default)]
    pub file: Option<PathBuf>,
}

fn uninitialized() -> Fill {
    Fill::Uninitialized
}

/// Where expected results come from.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Reference {
    /// A folder with a solution, which is built and run as a submission is.
    pub solution: PathBuf,
}

/// How a buffer is compared.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Compare {
    /// Relative tolerance, of the expected value.
    #[serde(default)]
    pub rtol: f64,
    /// Absolute tolerance.
    #[serde(default)]
    pub atol: f64,
    /// Units in the last place.
    #[serde(default)]
    pub ulp: u64,
    /// Type of the numbers in a program's file.
    #[serde(default, rename = "type")]
    pub element: Option<ElementType>,
    /// How a program writes them: `binary` by default, and `words` on `stdout`.
    #[serde(default)]
    pub layout: Option<Layout>,
    /// How many elements from the start are compared; all by default.
    #[serde(default)]
    pub first: Option<Expression>,
    /// What is expected of element `i`, where the reference does not say it.
    #[serde(default)]
    pub each: Option<Expression>,
    /// How many differences are shown.
    #[serde(default = "default_show")]
    pub show: usize,
}

fn default_show() -> usize {
    5
}

/// What the kernel is run on.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Input {
    /// Its name.
    pub id: String,
    /// The names that expressions use, in order; a later one may use those before it. `1..=4096` is drawn.
    #[schemars(with = "BTreeMap<String, Size>")]
    pub sizes: Named<Size>,
    /// Whether students may know the sizes and values.
    #[serde(default = "yes")]
    pub visible: bool,
    /// How many are drawn.
    #[serde(default = "one")]
    pub draws: u32,
    /// Files with the bytes that are expected in buffers that are compared, below the assignment's folder.
    #[serde(default)]
    pub expected: BTreeMap<String, PathBuf>,
}

fn yes() -> bool {
    true
}

fn one() -> u32 {
    1
}

/// Values with their names, in the order of the file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Named<T>(pub Vec<(String, T)>);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Named<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Named<T>, D::Error> {
        struct InOrder<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for InOrder<T> {
            type Value = Named<T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("names with their values")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Named<T>, A::Error> {
                let mut all: Vec<(String, T)> = Vec::new();
                while let Some((name, value)) = map.next_entry()? {
                    if all.iter().any(|(known, _)| *known == name) {
                        return Err(de::Error::custom(format!("`{name}` is given twice")));
                    }
                    all.push((name, value));
                }
                Ok(Named(all))
            }
        }
        deserializer.deserialize_map(InOrder(PhantomData))
    }
}

/// A size of an input.
#[derive(Clone, Debug, PartialEq)]
pub enum Size {
    /// An expression over the sizes before it.
    Is(Expression),
    /// Drawn from a range, both ends included.
    Drawn(Expression, Expression),
}

impl<'de> Deserialize<'de> for Size {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Size, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Written {
            Number(i64),
            Text(String),
        }
        let text = match Written::deserialize(deserializer)? {
            Written::Number(number) => return Ok(Size::Is(Expression::constant(number))),
            Written::Text(text) => text,
        };
        let wrong = de::Error::custom::<session::expression::ExpressionError>;
        match session::fill::range(&text) {
            Some(ends) => ends.map(|(low, high)| Size::Drawn(low, high)),
            None => Expression::parse(&text).map(Size::Is),
        }
        .map_err(wrong)
    }
}

impl JsonSchema for Size {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Size".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "description": "A number, an expression over the sizes before it, or a range `LOW..=HIGH` from which one is drawn.",
            "type": ["integer", "string"]
        })
    }
}

/// What students are told.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Feedback {
    /// Of findings that a visible input shows.
    pub visible: Told,
    /// Of findings that only hidden inputs show. No sizes, values or threads are told of these.
    pub hidden: Told,
    /// What help says.
    pub hints: Hints,
    /// Hints of the course's own, by rule.
    pub words: BTreeMap<Rule, String>,
}

impl Default for Feedback {
    fn default() -> Feedback {
        Feedback {
            visible: Told {
                before: Detail::Schedule,
                after: Detail::Schedule,
            },
            hidden: Told {
                before: Detail::Verdict,
                after: Detail::Lines,
            },
            hints: Hints::Question,
            words: BTreeMap::new(),
        }
    }
}

/// How much is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Told {
    /// Before the due date.
    pub before: Detail,
    /// After it.
    pub after: Detail,
}

/// How much is told of a finding.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Detail {
    /// That points are lost.
    Verdict,
    /// The rule that is broken.
    Rule,
    /// Both lines, and a hint.
    Lines,
    /// Which threads did what in which order, and the command that repeats it.
    Schedule,
}

/// What help says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Hints {
    /// Nothing.
    None,
    /// A question that points at both lines.
    Question,
    /// The fix.
    Fix,
}

/// What happens to a part that could not be decided.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum OnInconclusive {
    /// It has no score until a person gives one.
    #[default]
    NeedsReview,
}

/// Budgets of a submission.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Limits {
    /// Time for all runs of a submission, without compilation, in seconds.
    pub seconds: f64,
    /// Memory of the simulated device, in MiB. A program may have 256 MiB more in use.
    pub memory_mib: u64,
    /// Warp-instructions of one run.
    pub steps: u64,
    /// A kernel that takes so many times the reference's warp-instructions, and 100,000 more, does not end: its result is wrong.
    pub times_reference: u64,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            seconds: 30.0,
            memory_mib: 256,
            steps: 20_000_000,
            times_reference: 100,
        }
    }
}

/// Submissions whose scores are known.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Selftest {
    /// Folders or files, with the points that parts must get; `total` is their sum.
    pub submissions: BTreeMap<PathBuf, BTreeMap<String, Points>>,
    /// What mutants of the reference must lose or get, by the kind of mutation (`racetrap mutate --help`).
    pub mutants: Vec<MutantsLose>,
    /// What the reference of a program must lose or get without one of its calls of a function.
    pub without: Vec<WithoutLoses>,
}

/// Points that are expected.
#[derive(Clone, Debug, PartialEq)]
pub enum Points {
    /// So many.
    Exactly(f64),
    /// Fewer.
    Below(f64),
    /// So many or more.
    AtLeast(f64),
    /// None yet: a person decides.
    Review,
}

impl Points {
    /// Whether a part's points are so.
    pub fn met(&self, earned: Option<f64>) -> bool {
        match (self, earned) {
            (Points::Review, None) => true,
            (Points::Exactly(n), Some(e)) => (e - n).abs() < 1e-6,
            (Points::Below(n), Some(e)) => e < *n - 1e-9,
            (Points::AtLeast(n), Some(e)) => e > *n - 1e-9,
            _ => false,
        }
    }
}

impl fmt::Display for Points {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Points::Exactly(n) => write!(f, "{n}"),
            Points::Below(n) => write!(f, "<{n}"),
            Points::AtLeast(n) => write!(f, ">={n}"),
            Points::Review => f.write_str("review"),
        }
    }
}

impl<'de> Deserialize<'de> for Points {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Points, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Written {
            Number(f64),
            Text(String),
        }
        let text = match Written::deserialize(deserializer)? {
            Written::Number(number) => return Ok(Points::Exactly(number)),
            Written::Text(text) => text,
        };
        let number = |rest: &str| rest.trim().parse::<f64>().ok();
        let read = match text.trim() {
            "review" => Some(Points::Review),
            t if t.starts_with(">=") => number(&t[2..]).map(Points::AtLeast),
            t if t.starts_with('<') => number(&t[1..]).map(Points::Below),
            t => number(t).map(Points::Exactly),
        };
        read.ok_or_else(|| {
            de::Error::custom(format!(
                "`{text}` is not a number of points: write `5`, `<5`, `>=5` or `review`"
            ))
        })
    }
}

impl JsonSchema for Points {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Points".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "description": "Points: `5`, `<5`, `>=5`, or `review` where a person decides.",
            "type": ["number", "string"]
        })
    }
}

/// What a program must lose without a call.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct WithoutLoses {
    /// The function: `cudaMemcpy`. Each of its calls is left out by itself.
    pub call: String,
    /// Parts of which at least one must lose points.
    #[serde(default)]
    pub lose: Vec<String>,
    /// Points that parts must get; `total` is their sum.
    #[serde(default)]
    pub scores: BTreeMap<String, Points>,
    /// How many calls of it there must be on the first input.
    #[serde(default)]
    pub count: Option<u64>,
}

/// What mutants must lose.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct MutantsLose {
    /// The mutation: `remove-barrier`.
    pub mutation: mutate::Kind,
    /// Parts of which at least one must lose points.
    #[serde(default)]
    pub lose: Vec<String>,
    /// Points that parts must get; `total` is their sum.
    #[serde(default)]
    pub scores: BTreeMap<String, Points>,
    /// How many mutants there must be.
    #[serde(default)]
    pub count: Option<usize>,
}
