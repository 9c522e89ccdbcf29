//! Executes a plan of launches on the simulator. The `device` crate does the same on a real GPU, with the same buffers and
//! launches.

pub mod buffer;
pub mod concurrent;
pub mod coverage;
pub mod dependent;
pub mod explore;
pub mod explorer;
pub mod expression;
pub mod fill;
pub mod host_order;
pub mod order;
pub mod reversal;
pub mod simulator;

pub use dependent::InTurn;
pub use order::{Command, Order, StreamKind};
pub use simulator::{Independence, Options, Outcome, Session};
