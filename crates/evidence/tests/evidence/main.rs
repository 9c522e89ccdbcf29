//! What was recorded on GPUs, against the simulator and the catalogue.

extern crate racetrap_evidence as evidence;

mod conformance;
mod programs;
mod recordings;
