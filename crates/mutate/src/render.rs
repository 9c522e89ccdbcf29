//! How mutants are shown: for people, and as one JSON document.

pub mod json;
pub mod terminal;
