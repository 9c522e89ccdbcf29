//! Errors of planning a run.

use super::LAUNCHES;
use crate::draw::SizeError;
use session::expression::EvaluationError;

/// A run that can't be planned. These are mistakes of the case.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum PlanError {
    /// A size.
    #[error(transparent)]
    Size(#[from] SizeError),
    /// An expression elsewhere.
    #[error("{what}: {error}")]
    Evaluation {
        /// What it is for.
        what: String,
        /// Why it has no value.
        error: EvaluationError,
    },
    /// A length, a grid or a number of bytes that makes no sense.
    #[error("{what} is {value}, which is {problem}")]
    Unusable {
        /// What.
        what: String,
        /// Its value.
        value: i64,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// A copy of a buffer that is shorter.
    #[error(
        "buffer `{name}` has {length} elements, but it is a copy of `{from}`, which has {available}"
    )]
    ShortCopy {
        /// The copy.
        name: String,
        /// Its length.
        length: u64,
        /// What it copies.
        from: String,
        /// That one's length.
        available: u64,
    },
    /// A copy beyond the end of a buffer.
    #[error(
        "the copy from `{from}` to `{to}` has {bytes} bytes, but `{name}` has only {left} from its offset on"
    )]
    LongCopy {
        /// What it reads.
        from: String,
        /// What it writes.
        to: String,
        /// How many bytes.
        bytes: u64,
        /// The buffer that is too short.
        name: String,
        /// What it has.
        left: u64,
    },
    /// A copy onto itself.
    #[error("the copy within `{name}` overlaps itself")]
    Overlap {
        /// The buffer.
        name: String,
    },
    /// A loop of launches that does not end.
    #[error("`{entry}` is launched more than {LAUNCHES} times: its `repeat` does not end")]
    EndlessRepeat {
        /// The kernel.
        entry: String,
    },
    /// A name that stands for nothing; [`crate::check`] refuses such cases first.
    #[error("there is no buffer `{name}`")]
    NoBuffer {
        /// The name.
        name: String,
    },
}
