//! A CUDA context in a program's own process, on the simulator: what the drop-in libraries `libcudart.so` and `libcuda.so.1` are thin over.
//!
//! 1. The program registers [fat binaries](fatbin), or loads PTX: [`module`] picks, [links](mod@ptx::link) and lowers it when it is first used.
//! 2. It allocates ([`memory`]): device memory lies at its real addresses ([`arena`]), so that a device pointer is an address of the process.
//! 3. It launches and copies ([`launch`], [`stream`]): everything is done when it is issued, but for launches that wait for others ([`suspended`]), and
//!    [`timeline`] keeps what the host program has ordered.
//! 4. What is found is worded at once ([`report`]) and written as a [record] that `racetrap exec` reads, however the program ends.
//!
//! Nothing here takes a pointer of the host program: entry points turn those into slices and addresses.

pub mod alias;
mod allocation;
pub mod arena;
pub mod arrays;
pub mod call;
pub mod calls;
mod concurrent_races;
pub mod context;
mod dependent;
pub mod error;
mod explore;
pub mod fatbin;
pub mod findings;
pub mod host_access;
pub mod image;
mod interrupt;
pub mod launch;
mod launches;
mod lifetime;
pub mod memory;
pub mod module;
pub mod modules;
pub mod operation;
pub mod options;
mod output;
mod page_replacement;
pub mod pages;
pub mod property;
pub mod pulse;
pub mod python;
pub mod record;
pub mod repeat;
pub mod report;
pub mod seal;
pub mod stream;
pub mod streams;
pub mod suspended;
mod tape;
pub mod taped;
pub mod timeline;
mod trace;

pub use context::{Context, context, existing};
pub use error::{Error, Result};
pub use ptx::link;
