//! What help comes to.

use crate::edit::Edit;
use crate::no_change::NoChange;

/// The `help:` line for a finding, and the change that it advises where one can be named.
#[derive(Clone, Debug)]
pub(crate) struct Advice {
    pub text: String,
    /// The change, or why none is named; `None` is for the rule to say.
    pub change: Result<Edit, Option<NoChange>>,
    /// The barrier that would have ordered the two, as the text names it.
    pub barrier: Option<&'static str>,
}

impl From<String> for Advice {
    fn from(text: String) -> Advice {
        Advice::with(text, None)
    }
}

impl Advice {
    /// With the change that it advises, if its place was found.
    pub fn with(text: impl Into<String>, edit: Option<Edit>) -> Advice {
        Advice {
            text: text.into(),
            change: edit.ok_or(None),
            barrier: None,
        }
    }

    /// Without a change, for a reason.
    pub fn explained(why: NoChange, text: impl Into<String>) -> Advice {
        Advice {
            text: text.into(),
            change: Err(Some(why)),
            barrier: None,
        }
    }

    /// The same, of a barrier that is missing.
    pub fn missing(self, barrier: &'static str) -> Advice {
        Advice {
            barrier: Some(barrier),
            ..self
        }
    }
}
