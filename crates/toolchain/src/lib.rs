//! The CUDA compiler: where it is, and how it is called.
//!
//! Nothing here needs a GPU. [`Nvcc::find`] looks where CUDA is usually found and
//! where `ci/cuda-toolkit.sh` puts it; [`Nvcc::compile`] turns a `.cu` file into PTX.

pub mod cuda_text;
mod find;
mod nvcc;
mod release;
pub mod sandbox;
mod sass;

pub use find::{Program, Searched, find_program};
pub use nvcc::{ARCH, CompileError, CompileOptions, Nvcc, Optimisation};
pub use release::{Compiler, InstallError, NoRelease, RELEASES, Release, cache_folder};
pub use sass::{SassError, SassTools};
