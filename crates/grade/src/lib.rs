//! Grades course assignments, with no GPU.
//!
//! ```text
//! assignment.yaml ─ assignment ─ course ──► what is asked for, inputs drawn, the reference run
//! folder, archive ─ submission ─ build  ──► PTX beside the harness, from a compiler that sees nothing else
//!                 ─ observe (run, compare, counts) ──► outcomes of inputs, root causes
//!                 ─ score ──► Graded: one value that holds everything
//!                 ─ view ──► what a student may see of it ─ format ──► text, and what services read
//! ```
//!
//! A whole [program] is built and run instead of a kernel where the assignment says so; all else is the same.
//!
//! Nothing here reads a command line. Submissions come from strangers: they are collected under limits, compiled in the sandbox of
//! [`toolchain`], and run on the simulator.

pub mod assignment;
pub mod build;
mod causes;
pub mod class;
pub mod compare;
pub mod counts;
pub mod course;
pub mod forbidden_text;
pub mod format;
pub mod grade;
mod hash;
pub mod hint;
pub mod input;
pub mod input_files;
pub mod observe;
pub mod program;
pub mod result;
pub mod run;
pub mod score;
pub mod selftest;
mod shrink;
pub mod submission;
pub mod view;

pub use course::{Course, CourseError};
pub use grade::{GradeError, grade};
pub use result::Graded;
