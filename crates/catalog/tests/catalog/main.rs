//! The catalogue's files: mistakes in them, what they state of PTX and compilers, plans of host programs, results.

extern crate racetrap_catalog as catalog;

mod bad_catalog;
mod case_schema;
mod diff_agrees;
mod host_plans;
mod native;
mod pinned_ptx;
mod ptx_expectations;
mod refused;
