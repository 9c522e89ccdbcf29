//! Whole programs: builds them, runs them on the simulator, and collects what is found.
//!
//! 1. [`program`] looks at the executable: whether it would use a library that is put in its way; [`target`] says which GPU it is for.
//! 2. [`library`] makes a folder with the drop-in libraries under the names that programs look for.
//!    [`build`] builds a project for them, by a [`toolkit`] that has them; [`cmake`] looks whether that is the project's toolkit.
//! 3. [`run`] starts the program with that folder first in the loader's path. In its process the library (`racetrap-cuda`) simulates,
//!    detects, and writes [records](context::record).
//!    On a GPU ([`gpu`]) the library (`racetrap-interpose`) stands in front of NVIDIA's driver instead, and writes the same records.
//!    A process can also watch itself ([`inside`]): it loads the library before anything else asks for the driver.
//! 4. [`collect`] reads them, finds the host program's lines ([`lines`]), and makes a [`report::Report`].

mod atomic_file;
pub mod build;
pub mod cmake;
pub mod collect;
pub mod gpu;
pub mod inside;
pub mod library;
pub mod lines;
mod pointers;
pub mod program;
pub mod run;
mod stub_tools;
pub mod target;
pub mod toolkit;
pub mod untrusted_program;
