//! Finds and calls the CUDA compiler.
//!
//! No GPU is needed. [`Nvcc::find`] searches the usual places for CUDA, the one that [`setup`](mod@setup) installs to, and that of `ci/cuda-toolkit.sh`.
//! [`Nvcc::compile`] compiles a `.cu` file to PTX.

pub mod cache;
pub mod cuda_text;
mod device_part;
mod find;
mod nvcc;
mod nvrtc;
#[cfg(target_os = "linux")]
pub mod pipe;
mod release;
pub mod sandbox;
mod sass;
pub mod scratch;
pub mod seccomp;
pub mod setup;

pub use find::{Program, Searched, find_program};
pub use nvcc::{ARCH, CompileError, CompileOptions, Nvcc, Optimisation, SOURCE_FOLDER, system};
pub use release::{Compiler, InstallError, NoRelease, RELEASES, Release, cache_folder};
pub use sass::{SassError, SassTools};
