//! A whole program: what it is given, what it leaves behind, and what its kernels must do.

use super::Named;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use session::buffer::ElementType;
use session::expression::Expression;
use session::fill::Fill;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// The file in which a `wb` program leaves its results, in `compare`.
pub const OUTPUT: &str = "output";
/// What a program prints, in `compare`.
pub const STDOUT: &str = "stdout";

/// How a program is run (`kind: program` and `wb`). It runs once for each input, in a folder of its own.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Program {
    /// The words after its name; `{n}` stands for the size `n` of the input. For `wb` they are made.
    pub arguments: Vec<String>,
    /// Files in its folder, by their names. For `wb` they are what follows `-i`, in this order.
    #[schemars(with = "BTreeMap<String, InputFile>")]
    pub files: Named<InputFile>,
    /// The one of the files that it reads from stdin.
    pub stdin: Option<String>,
    /// Further files that it may write, besides those that are compared. It can make no others.
    pub writes: Vec<String>,
    /// Names of kernels that must be launched, `*` for any text; by default any kernel will do.
    pub kernels: Vec<String>,
    /// What follows `-t` (`wb`).
    pub output: Output,
    /// Seconds that it may take on one input: a program that takes more has wrong results.
    pub seconds: f64,
    /// The share of the reference's warp-instructions that its kernels must execute, and of the elements of global memory that they must
    /// write. Below it, a person looks whether the host computes what kernels were to compute.
    pub least_work: f64,
}

impl Default for Program {
    fn default() -> Program {
        Program {
            arguments: Vec::new(),
            files: Named(Vec::new()),
            stdin: None,
            writes: Vec::new(),
            kernels: Vec::new(),
            output: Output::Vector,
            seconds: 10.0,
            least_work: 0.1,
        }
    }
}

/// A file that a program reads.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct InputFile {
    /// Type of its numbers.
    #[serde(rename = "type")]
    pub element: ElementType,
    /// How many there are.
    pub length: Expression,
    /// What they are, in the words of `racetrap check --arg`.
    pub fill: Fill,
    /// Numbers of a row, where they are a matrix or an image.
    #[serde(default)]
    pub columns: Option<Expression>,
    /// How they are written; `wb` for programs of that kind, else `binary`.
    #[serde(default)]
    pub layout: Option<Layout>,
    /// A file with just these bytes, below the assignment's folder, instead of `fill`.
    #[serde(default)]
    pub file: Option<PathBuf>,
}

/// How numbers are written in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Layout {
    /// As they lie in memory, little-endian.
    Binary,
    /// As text, with blanks or line breaks between them.
    Text,
    /// As libwb has them: the length (or rows and columns) first, then the numbers as text.
    Wb,
    /// A picture in the binary PPM format (P6), three bytes a pixel.
    Image,
    /// Words and numbers as a person reads them. Words must be equal; numbers as close as the tolerance says.
    Words,
}

/// What follows `-t` in libwb's conventions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Output {
    /// A vector of `float`.
    #[default]
    Vector,
    /// A matrix of `float`.
    Matrix,
    /// A vector of `int`.
    IntegralVector,
    /// A picture.
    Image,
}

impl Output {
    /// As it follows `-t`.
    pub fn word(self) -> &'static str {
        match self {
            Output::Vector => "vector",
            Output::Matrix => "matrix",
            Output::IntegralVector => "integral_vector",
            Output::Image => "image",
        }
    }

    /// The type of its numbers.
    pub fn element(self) -> ElementType {
        match self {
            Output::Vector | Output::Matrix => ElementType::F32,
            Output::IntegralVector => ElementType::I32,
            Output::Image => ElementType::U8,
        }
    }

    /// How it is written.
    pub fn layout(self) -> Layout {
        match self {
            Output::Image => Layout::Image,
            _ => Layout::Wb,
        }
    }
}
