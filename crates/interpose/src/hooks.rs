//! The entry points that the library has in the driver's place (CUDA Driver API; the types are those of its public header).

mod captures;
mod copies;
mod entry;
mod graphs;
mod launches;
mod loads;
mod memory;
mod names;
mod order;
mod waits;

pub use captures::*;
pub use copies::*;
pub use entry::is_capturing;
pub use graphs::*;
pub use launches::*;
pub use loads::*;
pub use memory::*;
pub use names::*;
pub use order::*;
pub use waits::*;
