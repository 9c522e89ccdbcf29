//! The PTX front end: tokens, parser, syntax tree, printer, control-flow graph
//! and source locations.
pub mod ast;
pub mod error;
pub mod flatten;
pub mod parser;
pub mod token;

pub use error::{ParseError, ParseErrorKind};
pub use flatten::{Declared, Flat, FlatInstr, ScopeId};
pub use parser::{parse, parse_bytes};
