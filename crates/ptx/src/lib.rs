//! The PTX front end: tokens, parser, syntax tree, printer, what instructions mean, control-flow graph
//! and source locations.
//!
//! ```text
//! bytes ─ token ─ parser ─► ast::Module ─┬─ flatten ─ cfg (graph)
//!                                        ├─ semantics (typed instructions)
//!                                        ├─ validate (what ptxas refuses)
//!                                        ├─ source (names)
//!                                        └─ print
//! ```
pub mod ast;
pub mod cfg;
pub mod constant;
pub mod error;
pub mod flatten;
pub mod graph;
pub mod names;
pub mod nearest;
pub mod parser;
pub mod print;
pub mod semantics;
pub mod source;
pub mod token;
pub mod validate;

pub use cfg::{Cfg, CfgError};
pub use error::{ParseError, ParseErrorKind};
pub use flatten::{Declared, Flat, FlatInstr, ScopeId};
pub use names::{demangle, matches_entry};
pub use parser::{parse, parse_bytes};
pub use print::print;
pub use source::{SourceLine, SourceMap};
pub use validate::{Invalid, InvalidKind, validate};
