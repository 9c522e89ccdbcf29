//! The PTX front end: what parses, what the tree says, and that printing it changes nothing.

extern crate racetrap_ptx as ptx;

mod errors;
mod flatten;
mod grammar;
mod parse;
mod print;
mod robust;
mod samples;
mod source;
mod tree;
