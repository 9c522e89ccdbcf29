//! The rules of this house, as tests: what depends on what, which features packages ask for, what documents look like, when tests run, what errors are.

mod doctests;
mod errors;
mod features;
mod layers;
mod modules;
mod readme;
mod suites;
