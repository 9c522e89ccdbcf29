//! Kernels through the simulator, from PTX text to results in memory.

extern crate racetrap_simt as simt;

mod float;
mod integer;
mod kernels;
mod waits;
