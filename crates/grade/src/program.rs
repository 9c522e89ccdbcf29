//! Whole programs: a submission with a `main` of its own, run as `racetrap exec` runs programs, by nobody's leave but its own.
//!
//! ```text
//! sources, Makefile ─ build ──► an executable, looked at before it runs (exec::untrusted_program)
//! inputs            ─ run   ──► files in, records and files out
//!                   ─ again ──► its launches, run once more where its code never ran
//!                   ─ observe ─► outcomes, root causes and counts, as those of kernels are
//! ```
//!
//! The host's code is the student's, and runs on this machine. So it runs as one process that starts no other, under Landlock and a
//! list of system calls, with limits of time, memory and files ([`toolchain::sandbox::Alone`]). It sees the system's libraries, its own
//! sources and the files of one input. The expected results are not there: they are compared afterwards, out of its reach. It can make
//! no file, and what it leaves in those that it may write was not there before.
//!
//! Which kernels were launched, and on which memory, is told by the library in the program's process, in records that are sealed
//! ([`context::seal`]): records that are missing or made up are noticed, and a person decides. What the kernels did is not taken from there:
//! their launches run [again] in this process. Code that finds the seal's key in the memory of its process can so say no more than
//! which of the program's kernels to look at. Blind spot: such code can hide what the host program does wrong with streams, its own
//! accesses and the API.

pub mod build;
pub mod files;
pub mod observe;
mod outcome;
mod replay;
pub mod run;
