//! Patterns of instructions: `st.shared`, `ld.volatile.shared`, `bar*`, `ld.shared.!volatile`.
//!
//! The first word is the opcode; a `*` behind it leaves the rest of the opcode open. Every further word is a qualifier that
//! the instruction must have, in whatever order PTX writes them; with a `!` in front, one that it must not have. A qualifier with a part behind `::`
//! (`.shared::cta`) counts under both names, `shared` and `shared::cta`. A `*` behind a qualifier leaves its rest open: `atom.*32`
//! is not one, `atom.add.u*` is.

use super::class::head;
use ptx::ast::Instruction;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// A pattern of instructions.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Pattern {
    text: String,
    opcode: Word,
    wanted: Vec<Word>,
    unwanted: Vec<Word>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Word {
    text: String,
    open: bool,
}

impl Word {
    fn fits(&self, word: &str) -> bool {
        match self.open {
            true => word.starts_with(&self.text),
            false => word == self.text,
        }
    }
}

/// The text is not a pattern.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{text}` is not an instruction pattern: {problem}; write for example `st.shared` or `ld.shared.!volatile`"
)]
pub struct PatternError {
    /// The text.
    pub text: String,
    /// What is wrong with it.
    pub problem: &'static str,
}

impl Pattern {
    /// Whether an instruction is meant.
    ///
    /// ```
    /// use ptx::ast::{Instruction, Span};
    /// use racetrap_ptxdiff::pattern::Pattern;
    ///
    /// let words = |text: &str| text.split('.').map(str::to_owned).collect();
    /// let store = Instruction { guard: None, opcode: "st".into(), modifiers: words("volatile.shared.u32"), operands: vec![], span: Span::default() };
    /// let fits = |pattern: &str| pattern.parse::<Pattern>().unwrap().fits(&store);
    /// assert!(fits("st") && fits("st.shared") && fits("st.shared.volatile") && fits("s*"));
    /// assert!(!fits("st.shared.!volatile") && !fits("st.global") && !fits("s"));
    /// ```
    pub fn fits(&self, instruction: &Instruction) -> bool {
        self.fits_words(&instruction.opcode, &instruction.modifiers)
    }

    /// The same for an opcode and its qualifiers, whatever they belong to.
    pub fn fits_words(&self, opcode: &str, qualifiers: &[String]) -> bool {
        let has = |word: &Word| {
            qualifiers
                .iter()
                .any(|q| word.fits(q) || word.fits(head(q)))
        };
        self.opcode.fits(opcode) && self.wanted.iter().all(has) && !self.unwanted.iter().any(has)
    }
}

impl FromStr for Pattern {
    type Err = PatternError;

    fn from_str(text: &str) -> Result<Pattern, PatternError> {
        let failed = |problem| PatternError {
            text: text.to_owned(),
            problem,
        };
        let word = |part: &str| {
            let (name, open) = match part.strip_suffix('*') {
                Some(name) => (name, true),
                None => (part, false),
            };
            let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == ':';
            match name {
                "" if !open => Err(failed("a part is empty")),
                name if !name.chars().all(plain) => Err(failed("words are letters and digits")),
                name => Ok(Word {
                    text: name.to_owned(),
                    open,
                }),
            }
        };
        let mut parts = text.split('.');
        let opcode = word(parts.next().unwrap_or_default())?;
        let mut pattern = Pattern {
            text: text.to_owned(),
            opcode,
            wanted: Vec::new(),
            unwanted: Vec::new(),
        };
        for part in parts {
            match part.strip_prefix('!') {
                Some(part) => pattern.unwanted.push(word(part)?),
                None => pattern.wanted.push(word(part)?),
            }
        }
        Ok(pattern)
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Serialize for Pattern {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

impl<'de> Deserialize<'de> for Pattern {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Pattern, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

impl JsonSchema for Pattern {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Pattern".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "string",
            "description": "Instructions by opcode and qualifiers: `st.shared`, `ld.volatile.shared`, `bar*`, `ld.shared.!volatile`. \
                            Qualifiers count in any order; `!` in front of one demands its absence; `*` leaves the rest of a word open.",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_behind_colons_count_under_both_names() {
        let fits = |pattern: &str| {
            let words = ["acquire", "shared::cta", "u32"].map(str::to_owned);
            pattern.parse::<Pattern>().unwrap().fits_words("ld", &words)
        };
        assert!(fits("ld.shared") && fits("ld.shared::cta") && fits("ld.u*"));
        assert!(!fits("ld.shared::cluster") && !fits("ld.!shared"));
    }

    #[test]
    fn what_is_no_pattern_is_told() {
        for text in ["", "st.", ".shared", "st shared", "st.!"] {
            let error = text.parse::<Pattern>().unwrap_err().to_string();
            assert!(
                error.starts_with(&format!("`{text}` is not an instruction pattern")),
                "{error}"
            );
        }
    }
}
