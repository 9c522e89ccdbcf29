//! Errors in the files of the catalogue: one variant for each failure mode.

use std::fmt;
use std::path::PathBuf;

/// A place in a catalogue file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The file, relative to the catalogue's root: `cases/scan/warp/volatile.yaml`.
    pub file: String,
    /// The line, counted from 1; 0 for the whole file.
    pub line: usize,
    /// The column in characters, counted from 1; 0 for the whole line.
    pub column: usize,
}

impl Place {
    /// The file as a whole.
    pub fn file(file: &str) -> Place {
        Place {
            file: file.to_owned(),
            line: 0,
            column: 0,
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if self.line > 0 {
            write!(f, ":{}", self.line)?;
        }
        if self.column > 0 {
            write!(f, ":{}", self.column)?;
        }
        Ok(())
    }
}

/// A suggestion for a misspelt word, shown at the end of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hint {
    /// The closest valid word.
    DidYouMean(String),
    /// All valid words, if none is close.
    OneOf(Vec<String>),
}

impl Hint {
    /// The hint for `word`, given the valid words.
    pub fn new<'a>(word: &str, known: impl Iterator<Item = &'a str> + Clone) -> Hint {
        match report::nearest(word, known.clone()) {
            Some(near) => Hint::DidYouMean(near.to_owned()),
            None => Hint::OneOf(known.map(str::to_owned).collect()),
        }
    }
}

impl fmt::Display for Hint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Hint::DidYouMean(word) => write!(f, "did you mean `{word}`?"),
            Hint::OneOf(words) if words.is_empty() => f.write_str("there is none"),
            Hint::OneOf(words) => write!(f, "known: {}", words.join(", ")),
        }
    }
}

/// An error in a catalogue file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CatalogError {
    /// A file or folder cannot be read.
    #[error("{}: {reason}", path.display())]
    Unreadable {
        /// The file or folder.
        path: PathBuf,
        /// The cause.
        reason: String,
    },
    /// The folder contains no case.
    #[error("{}: found no case (expected `cases/<family>/<case>.yaml` below this folder)", path.display())]
    Empty {
        /// The folder.
        path: PathBuf,
    },
    /// Malformed YAML, or a value of the wrong type.
    #[error("{place}: {message}")]
    Syntax {
        /// Where.
        place: Place,
        /// The YAML reader's message.
        message: String,
    },
    /// An unknown key.
    #[error("{place}: unknown key `{key}` ({hint})")]
    UnknownKey {
        /// The key's place.
        place: Place,
        /// The key.
        key: String,
        /// What was meant.
        hint: Hint,
    },
    /// A word that is not allowed here.
    #[error("{place}: `{word}` is not allowed here ({hint})")]
    UnknownWord {
        /// The word's place.
        place: Place,
        /// The word.
        word: String,
        /// What was meant.
        hint: Hint,
    },
    /// A malformed expression.
    #[error("{place}: invalid expression `{text}`: {problem}")]
    BadExpression {
        /// The place inside the expression.
        place: Place,
        /// The expression.
        text: String,
        /// The error at this place.
        problem: String,
    },
    /// An undefined name.
    #[error("{place}: this case has no {kind} `{name}` ({hint})")]
    UnknownName {
        /// Where.
        place: Place,
        /// `size`, `buffer`, `size or buffer`.
        kind: &'static str,
        /// The name.
        name: String,
        /// What was meant.
        hint: Hint,
    },
    /// A size and a buffer with the same name.
    #[error("{place}: `{name}` is both a size and a buffer")]
    AmbiguousName {
        /// The buffer's place.
        place: Place,
        /// The name.
        name: String,
    },
    /// Sizes or buffers with circular definitions.
    #[error("{place}: the definition of `{name}` is circular ({cycle})")]
    Circular {
        /// Where.
        place: Place,
        /// One of the names.
        name: String,
        /// The chain: `a → b → a`.
        cycle: String,
    },
    /// Something that the format allows but the catalogue does not.
    #[error("{place}: {problem}")]
    Inconsistent {
        /// Where.
        place: Place,
        /// The problem and what to do about it.
        problem: String,
    },
    /// The twin does not exist.
    #[error("{place}: the twin `{twin}` is not a case in this folder ({hint})")]
    MissingTwin {
        /// Where it is named.
        place: Place,
        /// The name.
        twin: String,
        /// What was meant.
        hint: Hint,
    },
    /// A case that is expected to be caught has no twin.
    #[error("{place}: the case expects the simulator to catch a bug, but names no fixed `twin`")]
    NoTwin {
        /// The expectation.
        place: Place,
    },
    /// The twin is itself a buggy case.
    #[error("{place}: the twin `{twin}` is itself a buggy case, with the twin `{of_twin}`")]
    TwinOfTwin {
        /// Where it is named.
        place: Place,
        /// The twin.
        twin: String,
        /// The twin's twin.
        of_twin: String,
    },
    /// The kernel file does not exist.
    #[error("{place}: the kernel `kernels/{kernel}` does not exist ({hint})")]
    MissingKernel {
        /// Where it is named.
        place: Place,
        /// Its path below `kernels/`.
        kernel: String,
        /// What was meant.
        hint: Hint,
    },
    /// A kernel file that no case runs.
    #[error(
        "{file}: no case runs this kernel; add a `cases/…/<case>.yaml` with `kernel: {kernel}`"
    )]
    OrphanKernel {
        /// The file.
        file: String,
        /// Its path below `kernels/`.
        kernel: String,
    },
    /// The kernel's pinned PTX is missing.
    #[error("{place}: the pinned PTX `{ptx}` is missing")]
    MissingPtx {
        /// The case's kernel key.
        place: Place,
        /// The PTX file.
        ptx: String,
    },
    /// The pinned compiler messages of a kernel that must not compile are missing.
    #[error("{place}: the pinned compiler messages `{file}` are missing")]
    MissingDiagnostics {
        /// The case's kernel key.
        place: Place,
        /// The file.
        file: String,
    },
    /// The pinned PTX (or compiler messages) was made from other sources or flags.
    #[error("{file}: out of date: {reason}")]
    StalePtx {
        /// The pinned file.
        file: String,
        /// What differs.
        reason: String,
    },
    /// A pinned file that no case needs.
    #[error("{file}: no case uses this file")]
    OrphanPtx {
        /// The PTX file.
        file: String,
    },
    /// An unknown oracle.
    #[error("{place}: unknown oracle `{name}` ({hint})")]
    UnknownOracle {
        /// Where.
        place: Place,
        /// The name.
        name: String,
        /// What was meant.
        hint: Hint,
    },
    /// An oracle with the wrong number of arguments.
    #[error("{place}: the oracle `{signature}` is called with {given} argument(s)")]
    OracleArguments {
        /// Where.
        place: Place,
        /// Its signature.
        signature: String,
        /// How many arguments it was given.
        given: usize,
    },
    /// A buggy case without an expected finding.
    #[error(
        "{place}: a buggy case needs tags on its guilty lines in `kernels/{kernel}` (`//~[{case}] data-race#1 write`), or `wrong-results: true`"
    )]
    NoAnnotation {
        /// The case.
        place: Place,
        /// Its kernel.
        kernel: String,
        /// Its stem.
        case: String,
    },
    /// A tag that applies to a correct case.
    #[error(
        "{place}: this tag applies to `{case}`, which is correct; name the buggy case in it: `//~[case] …`"
    )]
    CorrectCaseTagged {
        /// The tag.
        place: Place,
        /// The correct case.
        case: String,
    },
    /// A malformed annotation.
    #[error("{place}: invalid annotation: {problem}")]
    BadAnnotation {
        /// Where.
        place: Place,
        /// What is wrong.
        problem: String,
    },
    /// An unknown rule or action in an annotation.
    #[error("{place}: unknown {kind} `{word}` ({hint})")]
    UnknownTag {
        /// Where.
        place: Place,
        /// `rule` or `action`.
        kind: &'static str,
        /// The word.
        word: String,
        /// What was meant.
        hint: Hint,
    },
    /// An annotation that names a case which does not run this kernel.
    #[error("{place}: no case named `{case}` runs this kernel ({hint})")]
    UnknownCase {
        /// Where.
        place: Place,
        /// The name.
        case: String,
        /// What was meant.
        hint: Hint,
    },
    /// An annotation that applies to no case.
    #[error("{place}: this annotation applies to no case: no case compiles its line")]
    AnnotationUnderNoCase {
        /// Where.
        place: Place,
    },
    /// An unsupported preprocessor condition around an annotation.
    #[error(
        "{place}: cannot evaluate this preprocessor condition around annotated lines: {problem}"
    )]
    BadCondition {
        /// Where.
        place: Place,
        /// What is wrong.
        problem: String,
    },
}

/// The command that renews everything generated.
pub const RENEW: &str = "racetrap dev renew";

/// All errors in the catalogue, in the order of its files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CatalogErrors(pub Vec<CatalogError>);

impl CatalogError {
    /// What to do where making the derived files again mends it, as the end of a sentence; `renew` is the command that does so.
    fn remedy(&self, renew: &str) -> Option<String> {
        Some(match self {
            CatalogError::MissingPtx { .. } => format!("create it with `{renew}`"),
            CatalogError::MissingDiagnostics { .. } => format!("create them with `{renew}`"),
            CatalogError::StalePtx { .. } => format!("renew it with `{renew}`"),
            CatalogError::OrphanPtx { .. } => format!("remove it or run `{renew}`"),
            _ => return None,
        })
    }
}

impl CatalogErrors {
    /// Whether some are mended by making derived files again.
    pub fn are_renewable(&self) -> bool {
        self.0.iter().any(|error| error.remedy(RENEW).is_some())
    }

    /// The errors in lines, where this command makes derived files.
    pub fn renewed_by(&self, command: &str) -> String {
        let line = |error: &CatalogError| match error.remedy(command) {
            Some(remedy) => format!("{error}; {remedy}"),
            None => error.to_string(),
        };
        self.0.iter().map(line).collect::<Vec<_>>().join("\n")
    }
}

impl fmt::Display for CatalogErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.renewed_by(RENEW))
    }
}

impl std::error::Error for CatalogErrors {}
