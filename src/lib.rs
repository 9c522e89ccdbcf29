//! racetrap catches GPU race bugs, with a GPU and without one.

pub mod ptx;
pub mod simt;
