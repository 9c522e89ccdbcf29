//! The kernel, its launch and its arguments.

use super::input::Named;
use schemars::JsonSchema;
use serde::Deserialize;
use session::buffer::ElementType;
use session::expression::Expression;
use session::fill::Fill;
use std::collections::BTreeMap;
use std::path::PathBuf;

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
