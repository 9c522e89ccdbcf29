//! What executes a plan of launches: the simulator here, a real GPU behind the
//! same vocabulary of buffers and launches elsewhere.

pub mod buffer;
pub mod concurrent;
pub mod explore;
pub mod order;
pub mod simulator;

pub use order::{Command, Order, StreamKind};
pub use simulator::{Independence, Options, Outcome, Session};
