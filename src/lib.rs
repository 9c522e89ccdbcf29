//! racetrap catches GPU race bugs, with a GPU and without one.

pub mod catalog;
pub mod finding;
pub mod ptx;
pub mod rules;
pub mod simt;
