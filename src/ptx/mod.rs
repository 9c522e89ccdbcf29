//! The PTX front end: tokens, parser, syntax tree, printer, control-flow graph
//! and source locations.
pub mod ast;
