//! The catalogue: correct and buggy kernels, and what must be found in each.
//!
//! A case is two files: a kernel (`kernels/<family>/*.cu`) and a YAML file
//! (`cases/<family>/*.yaml`, the types of [`case`]). From there to a verdict:
//! the YAML is read and checked, the launch geometry, the inputs and the
//! schedule are drawn from a seed, the kernel's pinned PTX runs on a backend,
//! its findings are matched with the annotations of the kernel's lines and its
//! outputs with the oracle's.

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
pub mod equivalent;
pub mod error;
pub mod example;
pub mod expect;
pub mod expression;
pub mod gpu;
pub mod host;
pub mod load;
pub mod locate;
pub mod native;
pub mod oracle;
pub mod pinned;
pub mod plan;
pub mod probe;
pub mod refused;
pub mod renew;
pub mod runner;
pub mod shrink;
pub mod simulate;
pub mod token;
pub mod tree;
pub mod values;
