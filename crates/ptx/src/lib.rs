//! The PTX front end: tokens, parser, syntax tree, printer, what instructions mean, control-flow graph
//! and source locations.
//!
//! ```text
//! bytes ─ token ─ parser ─► ast::Module ─┬─ flatten ─ cfg (graph)
//!                                        ├─ semantics (typed instructions)
//!                                        ├─ validate (what ptxas refuses)
//!                                        ├─ source (names)
//!                                        ├─ link (several modules to one)
//!                                        └─ print
//! ```
pub mod ast;
pub mod cfg;
pub mod constant;
pub mod error;
mod filter;
pub mod flatten;
pub mod graph;
pub mod link;
pub mod names;
pub mod nearest;
pub mod parser;
pub mod print;
pub mod prune;
mod rename;
pub mod semantics;
pub mod source;
pub mod token;
pub mod validate;

pub use cfg::{Cfg, CfgError};
pub use error::{ParseError, ParseErrorKind};
pub use filter::{KernelFilter, matches_kernel};
pub use flatten::{Declared, Flat, FlatInstr, ScopeId};
pub use link::{LinkError, link};
pub use names::{
    demangle, is_of_library, matches_entry, shortened, stable_name, without_signature,
};
pub use parser::{parse, parse_bytes, parse_items};
pub use print::print;
pub use source::{SourceLine, SourceMap};
pub use validate::{Invalid, InvalidKind, validate};
