//! Mutation: which barriers, fences, scopes and atomics of a kernel are needed.
//!
//! ```text
//! PTX tree ─ operator (one instruction) ─ site (all of a kernel's, by source place) ─► mutants
//!     each mutant ─ lowered ─ catalog::probe, or kernel (by check) ─► needed or redundant
//! ```
//!
//! What orders the steps of a case's host plan is mutated in the same way ([`step`]).
//!
//! A mutant is the kernel with one thing removed or made weaker. It is *needed* if the detectors, the oracle or what
//! the kernel prints then say that something is wrong, and *redundant on the inputs tried* if they don't. Two uses: a reader learns
//! which barrier of a kernel orders what; and over correct kernels it is a test of the detectors, for a needed
//! barrier whose removal nobody notices is a bug that would be missed.
//!
//! What it can't see: what a fence between strong accesses keeps out of the results of a kernel that has no oracle, inputs that
//! were not tried, and anything that the compiler would do differently if the source itself were changed.

pub mod case;
pub mod explain;
pub mod judged;
pub mod kernel;
pub mod operator;
mod plain;
pub mod render;
pub mod site;
pub mod step;

pub use judged::{Judged, Subject};
pub use operator::{Change, Kind, Mutation};
pub use site::{Mutant, Unit, mutants, mutated};
