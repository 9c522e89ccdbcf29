//! Draws the inputs of an assignment: sizes, seeds, and the launches that follow.

use crate::assignment::{
    Argument, Assignment, Buffer, BuildKind, Dimensions, Input, InputFile, Layout, OUTPUT, Program,
    Size,
};
use crate::hash;
use crate::program::files;
use check::argument::{BufferSpec, Value};
use check::geometry::Given;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use session::buffer::ElementType;
use session::expression::{EvaluationError, Expression};
use session::fill::{ContentsError, Fill, Source};
use simt::Dim3;
use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

/// The name that follows `-e`.
pub const EXPECTED: &str = "expected";
/// Elements of a buffer, at most.
const ELEMENTS: u64 = 1 << 24;

/// An input that is drawn.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Drawn {
    /// The input's place in the assignment.
    pub input: usize,
    /// The sizes.
    pub sizes: BTreeMap<String, i64>,
    /// Seed of the values.
    pub seed: u64,
    /// The launch.
    pub launch: Given,
    /// The arguments, by the indices of the parameters.
    pub arguments: Vec<check::Argument>,
    /// The words after a program's name.
    pub words: Vec<String>,
    /// The files in its folder.
    pub files: BTreeMap<String, Arc<[u8]>>,
}

/// An input that can't be drawn: a mistake of the assignment.
#[derive(Debug, thiserror::Error)]
#[error("input `{input}`: {what}")]
pub struct InputError {
    /// The input.
    pub input: String,
    /// What is wrong.
    pub what: Undrawn,
}

/// Why an input can't be drawn.
#[derive(Debug, thiserror::Error)]
pub enum Undrawn {
    /// No size lies in a range.
    #[error("the range {low}..={high} of `{name}` is empty")]
    EmptyRange {
        /// The size.
        name: String,
        /// The lowest.
        low: i64,
        /// The highest.
        high: i64,
    },
    /// So many bytes of shared memory there can't be.
    #[error("`shared` is no size")]
    Shared,
    /// A grid or a block has no such size.
    #[error("`{what}` is {value}")]
    Dimension {
        /// Which of the two.
        what: String,
        /// The size.
        value: i64,
    },
    /// A buffer or a file has no such length.
    #[error("`{name}` can't have this length: from {least} to {ELEMENTS} elements")]
    Length {
        /// The argument or the file.
        name: String,
        /// The least that it can have.
        least: u64,
    },
    /// Rows of this many columns don't fill the file.
    #[error("`{name}`: its length is no number of such rows")]
    Columns {
        /// The file.
        name: String,
    },
    /// A fill that only a command line has.
    #[error(
        "`{name}`: this is no fill of an assignment: it has no `copy`, no `@`, and files no `uninitialized`"
    )]
    Fill {
        /// The argument or the file.
        name: String,
    },
    /// A file of another length than its buffer.
    #[error("`{name}`: {} has {has} bytes, but the buffer {wanted}", path.display())]
    FileLength {
        /// The argument.
        name: String,
        /// The file.
        path: PathBuf,
        /// Its bytes.
        has: u64,
        /// The buffer's.
        wanted: u64,
    },
    /// A file that can't be used.
    #[error("`{name}`: {error}")]
    File {
        /// The argument or the file's name for the program.
        name: String,
        /// Why.
        #[source]
        error: FileError,
    },
    /// An expression without a value.
    #[error("`{what}`: {error}")]
    Expression {
        /// What it is for.
        what: String,
        /// Why.
        #[source]
        error: EvaluationError,
    },
    /// Values that can't be made.
    #[error("`{name}`: {error}")]
    Values {
        /// The argument or the file.
        name: String,
        /// Why.
        #[source]
        error: ContentsError,
    },
}

/// A file of an assignment that can't be read.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// Its path leads elsewhere.
    #[error("{} does not lie below the assignment's folder", path.display())]
    Outside {
        /// The path.
        path: PathBuf,
    },
    /// It is too large.
    #[error("{} has {bytes} bytes: that is too much", path.display())]
    TooLarge {
        /// The path.
        path: PathBuf,
        /// Its size.
        bytes: u64,
    },
    /// The system refuses.
    #[error("{}: {error}", path.display())]
    Unreadable {
        /// The path.
        path: PathBuf,
        /// What it says.
        #[source]
        error: std::io::Error,
    },
}

/// Draws all inputs; their files lie below `folder`.
///
/// # Errors
///
/// Sizes that no launch can have.
pub fn draw(assignment: &Assignment, folder: &Path) -> Result<Vec<Drawn>, InputError> {
    let mut all = Vec::new();
    for (index, input) in assignment.inputs.iter().enumerate() {
        for number in 0..input.draws {
            let one = Drawing::of((assignment, folder), index, input, number).drawn();
            all.push(one.map_err(|what| InputError {
                input: input.id.clone(),
                what,
            })?);
        }
    }
    Ok(all)
}

/// An input with other sizes, and values of the same seed.
///
/// # Errors
///
/// Sizes that no launch can have.
pub fn resized(
    assignment: &Assignment,
    folder: &Path,
    drawn: &Drawn,
    sizes: BTreeMap<String, i64>,
) -> Result<Drawn, Undrawn> {
    Drawing {
        assignment,
        folder,
        index: drawn.input,
        input: &assignment.inputs[drawn.input],
        seed: drawn.seed,
        sizes,
    }
    .with_sizes()
}

/// The bytes of a file below the assignment's folder.
///
/// # Errors
///
/// It leads out of the folder, can't be read, or is too large.
pub(crate) fn bytes_of(folder: &Path, path: &Path) -> Result<Vec<u8>, FileError> {
    let inside = path
        .components()
        .all(|c| matches!(c, Component::Normal(_) | Component::CurDir));
    let owned = || path.to_owned();
    if !inside {
        return Err(FileError::Outside { path: owned() });
    }
    let wrong = |error| FileError::Unreadable {
        path: owned(),
        error,
    };
    let bytes = std::fs::metadata(folder.join(path)).map_err(wrong)?.len();
    if bytes > 8 * ELEMENTS {
        return Err(FileError::TooLarge {
            path: owned(),
            bytes,
        });
    }
    std::fs::read(folder.join(path)).map_err(wrong)
}

struct Drawing<'a> {
    assignment: &'a Assignment,
    folder: &'a Path,
    index: usize,
    input: &'a Input,
    seed: u64,
    sizes: BTreeMap<String, i64>,
}

impl<'a> Drawing<'a> {
    fn of(
        (assignment, folder): (&'a Assignment, &'a Path),
        index: usize,
        input: &'a Input,
        number: u32,
    ) -> Drawing<'a> {
        let secret = match input.visible {
            true => "",
            false => assignment.secret.as_deref().unwrap_or_default(),
        };
        let seed = assignment.seed.to_string();
        let seed = hash::seed([&seed, secret, &input.id, &number.to_string()]);
        Drawing {
            assignment,
            folder,
            index,
            input,
            // Short enough to be typed.
            seed: seed & 0xffff_ffff,
            sizes: BTreeMap::new(),
        }
    }

    fn drawn(mut self) -> Result<Drawn, Undrawn> {
        let mut random = Pcg64Mcg::seed_from_u64(self.seed ^ 0x7369_7a65);
        for (name, size) in &self.input.sizes.0 {
            let value = match size {
                Size::Is(expression) => self.number(name, expression)?,
                Size::Drawn(low, high) => {
                    let (low, high) = (self.number(name, low)?, self.number(name, high)?);
                    if low > high {
                        let name = name.clone();
                        return Err(Undrawn::EmptyRange { name, low, high });
                    }
                    random.random_range(low..=high)
                }
            };
            self.sizes.insert(name.clone(), value);
        }
        self.with_sizes()
    }

    /// The rest, of the sizes that are there.
    fn with_sizes(self) -> Result<Drawn, Undrawn> {
        let mut drawn = Drawn {
            input: self.index,
            seed: self.seed,
            ..Drawn::default()
        };
        if let Some(program) = &self.assignment.program {
            for (index, (name, file)) in program.files.0.iter().enumerate() {
                let bytes = self.file(name, file, index)?;
                drawn.files.insert(name.clone(), Arc::from(bytes));
            }
            drawn.words = self.words(program);
        }
        let Some(kernel) = &self.assignment.kernel else {
            drawn.sizes = self.sizes;
            return Ok(drawn);
        };
        let shared = match &kernel.shared {
            None => 0,
            Some(expression) => {
                u32::try_from(self.number("shared", expression)?).map_err(|_| Undrawn::Shared)?
            }
        };
        drawn.launch = Given {
            grid: Some(self.dimensions("grid", &kernel.grid)?),
            block: Some(self.dimensions("block", &kernel.block)?),
            shared: Some(shared),
            cluster: None,
        };
        for (index, (name, argument)) in kernel.arguments.0.iter().enumerate() {
            drawn.arguments.push(check::Argument {
                parameter: index.to_string(),
                value: match argument {
                    Argument::Number(expression) => {
                        Value::Scalar(self.number(name, expression)?.to_string(), None)
                    }
                    Argument::Float(number) => Value::Scalar(number.to_string(), None),
                    Argument::Buffer(buffer) => Value::Buffer(self.buffer(name, buffer, index)?),
                },
            });
        }
        drawn.sizes = self.sizes;
        Ok(drawn)
    }

    /// The words after a program's name.
    fn words(&self, program: &Program) -> Vec<String> {
        if self.assignment.build.kind == BuildKind::Wb {
            let inputs: Vec<&str> = program
                .files
                .0
                .iter()
                .map(|(name, _)| name.as_str())
                .collect();
            // What is expected is compared elsewhere: the program finds an empty file.
            let words = [
                "-e",
                EXPECTED,
                "-i",
                &inputs.join(","),
                "-o",
                OUTPUT,
                "-t",
                program.output.word(),
            ];
            return words.map(str::to_owned).into();
        }
        let filled = |word: &String| {
            let sizes = self.sizes.iter();
            sizes.fold(word.clone(), |word, (name, size)| {
                word.replace(&format!("{{{name}}}"), &size.to_string())
            })
        };
        program.arguments.iter().map(filled).collect()
    }

    /// A file as a program finds it.
    fn file(&self, name: &str, file: &InputFile, index: usize) -> Result<Vec<u8>, Undrawn> {
        if let Some(path) = &file.file {
            return bytes_of(self.folder, path).map_err(|error| Undrawn::File {
                name: name.to_owned(),
                error,
            });
        }
        let length = u64::try_from(self.number(name, &file.length)?).ok();
        let length = length.filter(|n| *n <= ELEMENTS);
        let length = length.ok_or_else(|| Undrawn::Length {
            name: name.to_owned(),
            least: 0,
        })?;
        let columns = match &file.columns {
            None => None,
            Some(columns) => {
                let columns = u64::try_from(self.number(name, columns)?)
                    .ok()
                    .filter(|n| *n > 0);
                let columns = columns.filter(|n| length.is_multiple_of(*n));
                Some(columns.ok_or_else(|| Undrawn::Columns {
                    name: name.to_owned(),
                })?)
            }
        };
        let fill = match &file.fill {
            Fill::Random(Some((low, high))) => {
                Fill::random_in(self.number(name, low)?, self.number(name, high)?)
            }
            Fill::Copy(_) | Fill::File(_) | Fill::Uninitialized => {
                return Err(Undrawn::Fill {
                    name: name.to_owned(),
                });
            }
            other => other.clone(),
        };
        let mut source = Seeded {
            random: Pcg64Mcg::seed_from_u64(self.seed ^ index as u64),
            sizes: &self.sizes,
        };
        let bytes = fill.bytes(file.element, length, &mut source);
        let bytes = bytes
            .map_err(|error| Undrawn::Values {
                name: name.to_owned(),
                error,
            })?
            .unwrap_or_default();
        let layout = file.layout.unwrap_or(match self.assignment.build.kind {
            BuildKind::Wb => Layout::Wb,
            _ => Layout::Binary,
        });
        Ok(files::write(layout, file.element, &bytes, columns))
    }

    fn value(&self, name: &str) -> Option<i64> {
        self.sizes.get(name).copied()
    }

    fn number(&self, what: &str, expression: &Expression) -> Result<i64, Undrawn> {
        let value = expression.evaluate(&|name| self.value(name));
        value.map_err(|error| Undrawn::Expression {
            what: what.to_owned(),
            error,
        })
    }

    fn dimensions(&self, what: &str, dimensions: &Dimensions) -> Result<Dim3, Undrawn> {
        let mut all = [1u32; 3];
        for (to, expression) in all.iter_mut().zip(dimensions.parts()) {
            let value = self.number(what, expression)?;
            *to = u32::try_from(value)
                .ok()
                .filter(|n| *n > 0)
                .ok_or_else(|| Undrawn::Dimension {
                    what: what.to_owned(),
                    value,
                })?;
        }
        let [x, y, z] = all;
        Ok(Dim3 { x, y, z })
    }

    fn buffer(&self, name: &str, buffer: &Buffer, index: usize) -> Result<BufferSpec, Undrawn> {
        let length = self.number(name, &buffer.length)?;
        let length = u64::try_from(length)
            .ok()
            .filter(|n| (1..=ELEMENTS).contains(n));
        let length = length.ok_or_else(|| Undrawn::Length {
            name: name.to_owned(),
            least: 1,
        })?;
        if let Some(path) = &buffer.file {
            let bytes = bytes_of(self.folder, path).map_err(|error| Undrawn::File {
                name: name.to_owned(),
                error,
            })?;
            let wanted = length * buffer.element.bytes() as u64;
            if bytes.len() as u64 != wanted {
                return Err(Undrawn::FileLength {
                    name: name.to_owned(),
                    path: path.clone(),
                    has: bytes.len() as u64,
                    wanted,
                });
            }
            return Ok(BufferSpec {
                element: buffer.element,
                length: Some(length),
                fill: Fill::Bytes(Arc::from(bytes)),
            });
        }
        let fill = match &buffer.fill {
            // Where it can, a fill stays in the words that `racetrap check --arg` knows, so that a command can repeat it.
            Fill::Random(Some((low, high))) => {
                Fill::random_in(self.number(name, low)?, self.number(name, high)?)
            }
            Fill::Each(expression) if expression.names().iter().any(|n| *n != "i") => {
                self.bytes(name, buffer, length, index)?
            }
            Fill::Literal(_) => self.bytes(name, buffer, length, index)?,
            Fill::Copy(_) | Fill::File(_) => {
                return Err(Undrawn::Fill {
                    name: name.to_owned(),
                });
            }
            other => other.clone(),
        };
        Ok(BufferSpec {
            element: buffer.element,
            length: Some(length),
            fill,
        })
    }

    fn bytes(
        &self,
        name: &str,
        buffer: &Buffer,
        length: u64,
        index: usize,
    ) -> Result<Fill, Undrawn> {
        let mut source = Seeded {
            random: Pcg64Mcg::seed_from_u64(self.seed ^ index as u64),
            sizes: &self.sizes,
        };
        let bytes = buffer.fill.bytes(buffer.element, length, &mut source);
        let bytes = bytes
            .map_err(|error| Undrawn::Values {
                name: name.to_owned(),
                error,
            })?
            .unwrap_or_default();
        Ok(Fill::Bytes(Arc::from(bytes)))
    }
}

struct Seeded<'a> {
    random: Pcg64Mcg,
    sizes: &'a BTreeMap<String, i64>,
}

impl Source for Seeded<'_> {
    fn value(&self, name: &str) -> Option<i64> {
        self.sizes.get(name).copied()
    }

    fn range(&self, element: ElementType, length: u64) -> Option<(i64, i64)> {
        (!element.is_float()).then_some((
            0,
            i64::try_from(length).unwrap_or(i64::MAX).clamp(1, 128) - 1,
        ))
    }

    fn integer(&mut self, _: u64, low: i64, high: i64) -> i64 {
        self.random.random_range(low..=high)
    }

    fn fraction(&mut self, _: ElementType) -> f64 {
        self.random.random()
    }
}
