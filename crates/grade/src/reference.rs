//! Opens a course: reads its assignment, draws its inputs, and runs its reference on them, for what is expected of submissions.

use crate::assignment::read::{self, AssignmentError};
use crate::assignment::{BuildKind, Optimisation};
use crate::build::{BuildError, Compiler, Source};
use crate::course::{Course, Expected};
use crate::hash::sha256;
use crate::input::{self, Drawn, InputError};
use crate::program::{files, run as program};
use crate::result::Refused;
use crate::run::{Run, RunError};
use crate::submission::{CollectError, Files, collect};
use session::buffer::ElementType;
use session::expression::EvaluationError;
use session::fill::{self, Fill};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Why nothing can be graded. These are mistakes of the assignment, or of the machine.
#[derive(Debug, thiserror::Error)]
pub enum CourseError {
    /// The assignment's file.
    #[error(transparent)]
    Assignment(#[from] AssignmentError),
    /// An input.
    #[error(transparent)]
    Input(#[from] InputError),
    /// The reference can't be read.
    #[error("the reference: {0}")]
    Collect(#[from] CollectError),
    /// A file of the course, or the compiler.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// The reference does not compile.
    #[error("the reference: {what}\n{messages}")]
    Refused {
        /// In a sentence.
        what: String,
        /// The compiler's words.
        messages: String,
    },
    /// The reference did not run to its end.
    #[error("the reference on input `{input}`: {what}")]
    Reference {
        /// The input.
        input: String,
        /// What happened.
        what: String,
    },
}

impl Expected {
    /// What is expected under a name. A head without sizes says nothing.
    fn set(&mut self, name: &str, numbers: files::Numbers) {
        self.buffers.insert(name.to_owned(), numbers.bytes);
        if !numbers.shape.is_empty() {
            self.shapes.insert(name.to_owned(), numbers.shape);
        }
    }
}

impl Course {
    /// Reads an assignment and runs its reference.
    ///
    /// # Errors
    ///
    /// A mistake of the assignment.
    pub fn open(path: &Path, mut compiler: Compiler) -> Result<Course, CourseError> {
        let (assignment, text) = read::read(path)?;
        let folder = match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder.to_path_buf(),
            _ => PathBuf::from("."),
        };
        let pinned = folder.join("pinned");
        if compiler.pinned.is_none() && pinned.is_dir() {
            compiler.pinned = Some(pinned);
        }
        compiler.hides(&folder)?;
        for path in &assignment.build.harness {
            compiler.hides(&folder.join(path))?;
        }
        let drawn = input::draw(&assignment, &folder)?;
        let mut course = Course {
            hash: String::new(),
            expected: vec![Expected::default(); drawn.len()],
            assignment,
            folder,
            drawn,
            compiler,
        };
        let mut parts = vec![text];
        if let Some(solution) = course.solution() {
            course.compiler.hides(&solution)?;
            let files = collect(&solution, &course.assignment.submission)?;
            parts.push(files.hash());
            let source = course.source(&files)?;
            parts.extend(source.files.values().cloned());
            match course.assignment.build.kind {
                BuildKind::Kernel => course.run_reference(&source)?,
                BuildKind::Program | BuildKind::Wb => course.run_program(&source)?,
            }
        } else {
            let source = course.source(&Files::default())?;
            parts.extend(source.files.values().cloned());
        }
        course.hash = sha256(parts);
        match course.assignment.build.kind {
            BuildKind::Kernel => course.expect_expressions()?,
            BuildKind::Program | BuildKind::Wb => course.expect_files()?,
        }
        Ok(course)
    }

    fn run_reference(&mut self, source: &Source) -> Result<(), CourseError> {
        let build = crate::assignment::Build {
            builds: vec![Optimisation::Optimised],
            ..self.assignment.build.clone()
        };
        let compiled = match self.compiler.compile(source, &build)? {
            Ok(compiled) => compiled,
            Err(refused) => {
                return Err(CourseError::Refused {
                    what: refused.what,
                    messages: refused.messages,
                });
            }
        };
        // Whoever runs it waits for it once.
        let until = Instant::now() + Duration::from_secs(600);
        for (index, drawn) in self.drawn.iter().enumerate() {
            let run = Run {
                only: None,
                course: self,
                drawn,
                ptx: compiled.ptx(Optimisation::Optimised),
                steps: self.assignment.limits.steps,
                schedules: 1,
                until,
                trace: false,
            };
            let fail = |what: String| CourseError::Reference {
                input: self.input_id(drawn).to_owned(),
                what,
            };
            let ran = run.check().map_err(|error| match error {
                RunError::Refused(refused) => fail(refused.what),
                RunError::Undecided(why) => fail(why),
            })?;
            if let Some(why) = ran.ended_badly() {
                return Err(fail(why));
            }
            let mut buffers = BTreeMap::new();
            for (name, parameter, element) in self.compared() {
                let (bytes, written) = ran.buffer(parameter).unwrap_or_default();
                let wanted = self
                    .elements(name, drawn)
                    .map_err(|e| fail(e.to_string()))?;
                let bytes = match wanted {
                    Some(elements) => bytes[..bytes.len().min(elements * element.bytes())].to_vec(),
                    None => bytes,
                };
                if written.iter().take(bytes.len()).any(|w| !w) {
                    return Err(fail(format!(
                        "not all of `{name}` is written: compare less with `first`"
                    )));
                }
                buffers.insert(name.to_owned(), bytes);
            }
            let counts = match self.assignment.counts() {
                true => run.counts(&ran).unwrap_or_default(),
                false => BTreeMap::new(),
            };
            self.expected[index] = Expected {
                buffers,
                counts,
                steps: Some(ran.steps()),
                ..Expected::default()
            };
        }
        Ok(())
    }

    /// Runs the reference's program on all inputs.
    fn run_program(&mut self, source: &Source) -> Result<(), CourseError> {
        let built = match self.compiler.program(source, &self.assignment.build)? {
            Ok(built) => built,
            Err(Refused { what, messages }) => return Err(CourseError::Refused { what, messages }),
        };
        for (index, drawn) in self.drawn.iter().enumerate() {
            let run = program::Run {
                in_step: false,
                assignment: &self.assignment,
                drawn,
                built: &built,
                steps: self.assignment.limits.steps,
                schedules: 1,
                pictures: false,
                until: Instant::now() + Duration::from_secs(600),
            };
            let ran = run.run()?;
            let fail = |what: String| CourseError::Reference {
                input: self.input_id(drawn).to_owned(),
                what,
            };
            let doubt = ran.broken.clone().or(ran.partial.clone());
            let doubt = doubt.or(ran.collected.doubts.first().cloned());
            let missing = ran.collected.missing.first();
            let missing =
                missing.map(|function| format!("it calls `{function}`, which is not simulated"));
            if let Some(what) = doubt.or(missing) {
                return Err(fail(what));
            }
            if ran.end != program::End::Status(0) {
                return Err(fail(format!(
                    "it does not end with status 0: {:?}",
                    ran.end
                )));
            }
            let nobody = crate::assignment::Program::default();
            let asked = self.assignment.program.as_ref().unwrap_or(&nobody);
            if let Some(pattern) = ran.not_launched(asked) {
                return Err(fail(format!("it launches no kernel `{pattern}`")));
            }
            let mut expected = Expected {
                counts: ran.counts(),
                steps: Some(ran.steps()),
                calls: ran.collected.functions.clone(),
                ..Expected::default()
            };
            for name in self.assignment.compare.keys() {
                let bytes = ran.outputs.get(name).map(Vec::as_slice).unwrap_or_default();
                let mut numbers = program::numbers(&self.assignment, name, bytes);
                if bytes.is_empty() {
                    numbers.trouble = Some("nothing is written".into());
                }
                if let Some(trouble) = &numbers.trouble {
                    return Err(fail(format!("`{name}`: {trouble}")));
                }
                expected.set(name, numbers);
            }
            self.expected[index] = expected;
        }
        Ok(())
    }

    /// What is expected of a program's files, where the assignment says it.
    fn expect_files(&mut self) -> Result<(), CourseError> {
        for index in 0..self.drawn.len() {
            for (name, how) in &self.assignment.compare {
                let drawn = &self.drawn[index];
                let input = &self.assignment.inputs[drawn.input];
                let fail = |what: String| CourseError::Reference {
                    input: input.id.clone(),
                    what: format!("`{name}`: {what}"),
                };
                let numbers = if let Some(path) = input.expected.get(name) {
                    let bytes =
                        input::bytes_of(&self.folder, path).map_err(|e| fail(e.to_string()))?;
                    let numbers = program::numbers(&self.assignment, name, &bytes);
                    if let Some(trouble) = numbers.trouble {
                        return Err(fail(trouble));
                    }
                    numbers
                } else if let Some(each) = &how.each {
                    let (_, element, _) = program::form(&self.assignment, name, how);
                    let length = self
                        .elements(name, drawn)
                        .map_err(|e| fail(e.to_string()))?
                        .unwrap_or(0);
                    let fill = Fill::Each(each.clone());
                    let bytes = fill.bytes(element, length as u64, &mut Sizes(&drawn.sizes));
                    files::Numbers {
                        bytes: bytes.map_err(|e| fail(e.to_string()))?.unwrap_or_default(),
                        ..files::Numbers::default()
                    }
                } else if let Some(elements) = self
                    .elements(name, drawn)
                    .map_err(|e| fail(e.to_string()))?
                {
                    let (_, element, _) = program::form(&self.assignment, name, how);
                    if let Some(bytes) = self.expected[index].buffers.get_mut(name) {
                        bytes.truncate(elements * element.bytes());
                    }
                    continue;
                } else {
                    continue;
                };
                self.expected[index].set(name, numbers);
            }
        }
        Ok(())
    }

    /// How many elements of a buffer are compared; `None` for all.
    fn elements(&self, name: &str, drawn: &Drawn) -> Result<Option<usize>, EvaluationError> {
        let Some(first) = self
            .assignment
            .compare
            .get(name)
            .and_then(|c| c.first.as_ref())
        else {
            return Ok(None);
        };
        let value = first.evaluate(&|name| drawn.sizes.get(name).copied());
        Ok(Some(usize::try_from(value?).unwrap_or(0)))
    }

    /// Fills in what the assignment says is expected.
    fn expect_expressions(&mut self) -> Result<(), CourseError> {
        let compared: Vec<(String, usize, ElementType)> = self
            .compared()
            .map(|(n, i, e)| (n.to_owned(), i, e))
            .collect();
        for index in 0..self.drawn.len() {
            for (name, parameter, element) in &compared {
                let each = self.assignment.compare[name].each.clone();
                let input = &self.assignment.inputs[self.drawn[index].input];
                let file = input.expected.get(name);
                if each.is_none() && file.is_none() {
                    continue;
                }
                let drawn = &self.drawn[index];
                let fail = |what: String| CourseError::Reference {
                    input: self.input_id(drawn).to_owned(),
                    what: format!("`{name}`: {what}"),
                };
                let length = match &drawn.arguments[*parameter].value {
                    check::argument::Value::Buffer(spec) => spec.length.unwrap_or(0),
                    _ => 0,
                };
                let length = match self
                    .elements(name, drawn)
                    .map_err(|e| fail(e.to_string()))?
                {
                    Some(elements) => length.min(elements as u64),
                    None => length,
                };
                let bytes = match (file, each) {
                    (Some(file), _) => {
                        let bytes =
                            input::bytes_of(&self.folder, file).map_err(|e| fail(e.to_string()))?;
                        let wanted = length * element.bytes() as u64;
                        if bytes.len() as u64 != wanted {
                            let has = bytes.len();
                            return Err(fail(format!(
                                "{} has {has} bytes, but {wanted} are compared",
                                file.display()
                            )));
                        }
                        bytes
                    }
                    (None, Some(each)) => {
                        let bytes =
                            Fill::Each(each).bytes(*element, length, &mut Sizes(&drawn.sizes));
                        bytes.map_err(|e| fail(e.to_string()))?.unwrap_or_default()
                    }
                    (None, None) => continue,
                };
                self.expected[index].buffers.insert(name.clone(), bytes);
            }
        }
        Ok(())
    }
}

struct Sizes<'a>(&'a BTreeMap<String, i64>);

impl fill::Source for Sizes<'_> {
    fn value(&self, name: &str) -> Option<i64> {
        self.0.get(name).copied()
    }
    fn range(&self, _: ElementType, _: u64) -> Option<(i64, i64)> {
        None
    }
    fn integer(&mut self, _: u64, low: i64, _: i64) -> i64 {
        low
    }
    fn fraction(&mut self, _: ElementType) -> f64 {
        0.0
    }
}
