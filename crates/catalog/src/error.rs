//! What can be wrong with the catalogue's files, one variant a failure mode.

use std::fmt;
use std::path::PathBuf;

/// A place in a file of the catalogue.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The file, relative to the catalogue's root: `cases/scan/warp/volatile.yaml`.
    pub file: String,
    /// Line from 1, or 0 where the whole file is meant.
    pub line: usize,
    /// Column from 1, in characters; 0 where the whole line is meant.
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

/// A proposal for a misspelt word, at the end of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hint {
    /// One word is close.
    DidYouMean(String),
    /// None is; these are the possible ones.
    OneOf(Vec<String>),
}

impl Hint {
    /// For `word`, from the words that would have been right.
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
            Hint::OneOf(words) if words.is_empty() => f.write_str("there are none"),
            Hint::OneOf(words) => write!(f, "known: {}", words.join(", ")),
        }
    }
}

/// Something is wrong with a file of the catalogue.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CatalogError {
    /// A file or folder can't be read.
    #[error("{}: {reason}", path.display())]
    Unreadable {
        /// The file or folder.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// The folder has no case in it.
    #[error("{}: no case here (`cases/<family>/<case>.yaml` below this folder)", path.display())]
    Empty {
        /// The folder.
        path: PathBuf,
    },
    /// Not YAML, or a value of the wrong shape.
    #[error("{place}: {message}")]
    Syntax {
        /// Where.
        place: Place,
        /// What the reader says.
        message: String,
    },
    /// A key that the format doesn't know.
    #[error("{place}: unknown key `{key}` ({hint})")]
    UnknownKey {
        /// The key's place.
        place: Place,
        /// The key.
        key: String,
        /// What was meant.
        hint: Hint,
    },
    /// A word that is none of those that can stand here.
    #[error("{place}: `{word}` can't stand here ({hint})")]
    UnknownWord {
        /// The word's place.
        place: Place,
        /// The word.
        word: String,
        /// What was meant.
        hint: Hint,
    },
    /// An expression that can't be parsed.
    #[error("{place}: bad expression `{text}`: {problem}")]
    BadExpression {
        /// The place inside the expression.
        place: Place,
        /// The expression.
        text: String,
        /// What is wrong at the place.
        problem: String,
    },
    /// A name that stands for nothing here.
    #[error("{place}: no {kind} `{name}` in this case ({hint})")]
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
    /// A size and a buffer of one name.
    #[error("{place}: `{name}` is both a size and a buffer")]
    AmbiguousName {
        /// The buffer's place.
        place: Place,
        /// The name.
        name: String,
    },
    /// Sizes or buffers that are defined by each other.
    #[error("{place}: `{name}` is defined by itself ({cycle})")]
    Circular {
        /// Where.
        place: Place,
        /// One of them.
        name: String,
        /// The chain: `a → b → a`.
        cycle: String,
    },
    /// Something that the format allows and the catalogue does not.
    #[error("{place}: {problem}")]
    Inconsistent {
        /// Where.
        place: Place,
        /// What, and what to do.
        problem: String,
    },
    /// The twin is no case.
    #[error("{place}: no case `{twin}` in this folder to be the twin ({hint})")]
    MissingTwin {
        /// Where it is named.
        place: Place,
        /// The name.
        twin: String,
        /// What was meant.
        hint: Hint,
    },
    /// A case that is expected to be caught has no twin.
    #[error(
        "{place}: the simulator is expected to catch a bug here, but the case names no fixed `twin`"
    )]
    NoTwin {
        /// The expectation.
        place: Place,
    },
    /// The twin is itself buggy.
    #[error("{place}: the twin `{twin}` is itself buggy: its own twin is `{of_twin}`")]
    TwinOfTwin {
        /// Where it is named.
        place: Place,
        /// The twin.
        twin: String,
        /// The twin's twin.
        of_twin: String,
    },
    /// The kernel file does not exist.
    #[error("{place}: no kernel `kernels/{kernel}` ({hint})")]
    MissingKernel {
        /// Where it is named.
        place: Place,
        /// Its path below `kernels/`.
        kernel: String,
        /// What was meant.
        hint: Hint,
    },
    /// A kernel file that no case runs.
    #[error("{file}: no case runs this kernel; add `cases/…/<case>.yaml` with `kernel: {kernel}`")]
    OrphanKernel {
        /// The file.
        file: String,
        /// Its path below `kernels/`.
        kernel: String,
    },
    /// The kernel's PTX was never pinned.
    #[error("{place}: its PTX `{ptx}` is missing; make it with `{RENEW}`")]
    MissingPtx {
        /// The case's kernel key.
        place: Place,
        /// The PTX file.
        ptx: String,
    },
    /// What the compiler says of a kernel that it is to refuse was never pinned.
    #[error("{place}: what the compiler says of it, `{file}`, is missing; make it with `{RENEW}`")]
    MissingDiagnostics {
        /// The case's kernel key.
        place: Place,
        /// The file.
        file: String,
    },
    /// The pinned PTX (or what the compiler said) was made from other sources or flags.
    #[error("{file}: stale: {reason}; renew it with `{RENEW}`")]
    StalePtx {
        /// The pinned file.
        file: String,
        /// What differs.
        reason: String,
    },
    /// A pinned file that no case needs.
    #[error("{file}: no case needs this file any more; remove it, or run `{RENEW}`")]
    OrphanPtx {
        /// The PTX file.
        file: String,
    },
    /// No oracle of that name.
    #[error("{place}: no oracle `{name}` ({hint})")]
    UnknownOracle {
        /// Where.
        place: Place,
        /// The name.
        name: String,
        /// What was meant.
        hint: Hint,
    },
    /// An oracle is asked with the wrong arguments.
    #[error("{place}: the oracle is `{signature}`, and gets {given} argument(s) here")]
    OracleArguments {
        /// Where.
        place: Place,
        /// How it is called.
        signature: String,
        /// How many arguments it was given.
        given: usize,
    },
    /// A buggy case that nothing can catch.
    #[error(
        "{place}: a buggy case needs its guilty lines annotated in `kernels/{kernel}` (`//~[{case}] data-race#1 write`), or `wrong-results: true`"
    )]
    NoAnnotation {
        /// The case.
        place: Place,
        /// Its kernel.
        kernel: String,
        /// Its stem.
        case: String,
    },
    /// A tag on a line that a correct case keeps.
    #[error(
        "{place}: this tag applies to `{case}`, which is correct; tie it to the buggy case: `//~[case] …`"
    )]
    CorrectCaseTagged {
        /// The tag.
        place: Place,
        /// The correct case.
        case: String,
    },
    /// An annotation that can't be parsed.
    #[error("{place}: bad annotation: {problem}")]
    BadAnnotation {
        /// Where.
        place: Place,
        /// What is wrong.
        problem: String,
    },
    /// A word in an annotation that is no rule or action.
    #[error("{place}: no {kind} `{word}` ({hint})")]
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
    /// An annotation tied to a case that does not run this kernel.
    #[error("{place}: no case `{case}` runs this kernel ({hint})")]
    UnknownCase {
        /// Where.
        place: Place,
        /// The name.
        case: String,
        /// What was meant.
        hint: Hint,
    },
    /// An annotation that applies to no case.
    #[error("{place}: this annotation applies to no case: none keeps its line")]
    AnnotationUnderNoCase {
        /// Where.
        place: Place,
    },
    /// A preprocessor condition that is not understood, around an annotation.
    #[error("{place}: can't follow this condition around annotated lines: {problem}")]
    BadCondition {
        /// Where.
        place: Place,
        /// What is wrong.
        problem: String,
    },
}

/// The command that renews everything generated.
pub const RENEW: &str = "cargo run -- dev renew";

/// Everything that is wrong with the catalogue, in the order of its files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CatalogErrors(pub Vec<CatalogError>);

impl fmt::Display for CatalogErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines: Vec<_> = self.0.iter().map(CatalogError::to_string).collect();
        f.write_str(&lines.join("\n"))
    }
}

impl std::error::Error for CatalogErrors {}
