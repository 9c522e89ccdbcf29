//! Kernels through the simulator, from PTX text to results in memory.

extern crate racetrap_simt as simt;

mod both;
mod calls;
mod endless;
mod files;
mod float;
mod kernels;
mod mbarrier;
mod memory;
mod progress;
mod run;
mod spellings;
mod waits;
