//! racetrap catches GPU race bugs, with a GPU and without one.

pub mod backend;
pub mod catalog;
pub mod cli;
pub mod detect;
pub mod exit;
pub mod expect;
pub mod finding;
pub mod ptx;
pub mod report;
pub mod rules;
pub mod simt;
pub mod toolchain;
