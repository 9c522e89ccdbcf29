//! Tests of the crate's public interface.

mod corpus;
mod course;
mod formats;
mod judge;
mod labelled;
mod leaks;
mod programs;
mod schema;
