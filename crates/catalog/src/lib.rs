//! The catalogue: correct and buggy kernels, and what racetrap must find in each.
//!
//! A case consists of a kernel (`kernels/<family>/*.cu`) and a YAML file (`cases/<family>/*.yaml`, with the types of [`case`]).
//! To reach a verdict, the crate reads and checks the YAML, draws launch geometry, inputs and schedule from a seed, runs the
//! pinned PTX on a backend, and matches the findings with the annotations in the kernel and the outputs with the oracle.

pub mod across;
pub mod annotation;
pub mod arguments;
pub mod case;
pub mod case_result;
pub mod check;
pub mod compare;
pub mod compiled;
pub mod condition;
pub mod draw;
pub mod entry;
pub mod equivalent;
pub mod error;
pub mod example;
pub mod expect;
pub mod gpu;
pub mod host;
pub mod launch;
pub mod load;
pub mod locate;
pub mod native;
pub mod oracle;
pub mod pattern;
pub mod pinned;
pub mod plan;
pub mod probe;
pub mod ptx_expectations;
pub mod refused;
pub mod renew;
pub mod run_results;
pub mod runner;
mod short_forms;
pub mod shrink;
pub mod simulate;
pub mod target;
pub mod tensor;
pub mod token;
pub mod tree;
pub mod values;
pub mod verify;
pub mod yaml;

pub use session::expression;
