//! The simulator.
pub mod alu;
