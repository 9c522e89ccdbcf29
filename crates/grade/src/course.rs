//! An assignment that is ready to grade: read, drawn, and its [reference](crate::reference) run.

use crate::assignment::{Assignment, Metric};
use crate::build::{BuildError, Compiler, Source};
use crate::input::Drawn;
use crate::program::build::with_header;
use crate::submission::Files;
use session::buffer::ElementType;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// An assignment that is ready to grade.
#[derive(Clone, Debug)]
pub struct Course {
    /// What was asked for.
    pub assignment: Assignment,
    /// The folder of its file.
    pub folder: PathBuf,
    /// SHA-256 of its file, harness and reference.
    pub hash: String,
    /// The inputs, drawn.
    pub drawn: Vec<Drawn>,
    /// What is expected of each.
    pub expected: Vec<Expected>,
    /// How submissions are compiled.
    pub compiler: Compiler,
}

/// What is expected of an input.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Expected {
    /// Bytes of what is compared, by name.
    pub buffers: BTreeMap<String, Vec<u8>>,
    /// The sizes that a program writes before its numbers.
    pub shapes: BTreeMap<String, Vec<u64>>,
    /// The reference's counts.
    pub counts: BTreeMap<Metric, f64>,
    /// The reference's warp-instructions, if there is one.
    pub steps: Option<u64>,
    /// How often its program calls what can be left out.
    pub calls: BTreeMap<String, u64>,
}

impl Course {
    /// Where the reference is.
    pub fn solution(&self) -> Option<PathBuf> {
        let reference = self.assignment.reference.as_ref()?;
        Some(self.folder.join(&reference.solution))
    }

    /// A submission beside the harness.
    ///
    /// # Errors
    ///
    /// A file of the harness can't be read.
    pub fn source(&self, files: &Files) -> Result<Source, BuildError> {
        let required = self.assignment.submission.require.first();
        let required = required.map(String::as_str).unwrap_or_default();
        let build = &self.assignment.build;
        Source::new(files, required, build, &self.folder).map(|source| with_header(source, build))
    }

    /// The buffers that are compared: name, index of the parameter, type.
    pub fn compared(&self) -> impl Iterator<Item = (&str, usize, ElementType)> {
        use crate::assignment::Argument;
        let arguments = self
            .assignment
            .kernel
            .iter()
            .flat_map(|kernel| &kernel.arguments.0);
        let arguments = arguments.enumerate();
        arguments.filter_map(|(index, (name, argument))| match argument {
            Argument::Buffer(buffer) if self.assignment.compare.contains_key(name) => {
                Some((name.as_str(), index, buffer.element))
            }
            _ => None,
        })
    }

    /// The name of a drawn input.
    pub fn input_id(&self, drawn: &Drawn) -> &str {
        &self.assignment.inputs[drawn.input].id
    }
}

/// A kernel that takes so many warp-instructions, and a multiple of the reference's, does not end.
pub(crate) const LEAST_STEPS: u64 = 100_000;

/// Budget of a run in warp-instructions, and whether exceeding it is the kernel's fault.
pub(crate) fn steps(course: &Course, index: usize) -> (u64, bool) {
    let limits = &course.assignment.limits;
    let Some(reference) = course.expected[index].steps else {
        return (limits.steps, false);
    };
    let enough = reference
        .saturating_mul(limits.times_reference)
        .saturating_add(LEAST_STEPS);
    (
        enough.min(limits.steps.max(LEAST_STEPS)),
        enough <= limits.steps,
    )
}
