//! Runs on a GPU.

pub mod job;
pub mod receipt;
