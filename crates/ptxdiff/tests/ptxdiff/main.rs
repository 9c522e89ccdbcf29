//! What a diff finds, and what it must not see.

extern crate racetrap_ptxdiff as ptxdiff;

mod accesses;
mod effects;
mod listings;
mod pairs;
mod properties;
mod suite;
