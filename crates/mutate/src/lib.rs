//! Mutation testing: which barriers, fences, scopes and atomics of a kernel are needed.
//!
//! ```text
//! PTX tree ─ operator (one instruction) ─ site (all of a kernel's, by source place) ─► mutants
//!     each mutant ─ lowered ─ catalog::probe, or kernel (by check) ─► needed, not exercised, or no failure found
//! ```
//!
//! The ordering steps of a case's host plan are mutated in the same way ([`step`]).
//!
//! A mutant is the kernel with one thing removed or weakened. That thing is *needed* if the detectors, the oracle or the
//! kernel's output then show an error. If they do not, either no run *exercised* it ([`exercise`]: no thread came to it, or nothing that
//! several threads touched lay on its two sides), or *no failure was found*, which is told with what was tried; what is dispensable by
//! itself and not together is told, too ([`combinations`]). This has two uses. A user learns what each barrier of a kernel orders. And for
//! correct kernels it tests the detectors: a needed barrier whose removal is not detected is a bug that they would miss.
//!
//! Limitations: without an oracle, a mutant without a fence between strong accesses may give wrong results unnoticed; inputs
//! that were not tried; and anything that the compiler would do differently if the source itself changed.

mod asynchronous;
pub mod case;
mod change;
pub mod combinations;
pub mod exercise;
pub mod explain;
pub mod judged;
pub mod kernel;
pub mod operator;
pub mod render;
pub mod site;
pub mod step;
pub mod trial;
mod weak_update;

pub use judged::{Judged, Subject};
pub use operator::{Change, Kind, Mutation};
pub use site::{Mutant, Unit, mutants, mutated};
