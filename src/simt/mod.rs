//! The simulator: executes PTX warp by warp.
pub mod alu;
pub mod ids;
pub mod observer;
