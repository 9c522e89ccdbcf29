//! The simulator: executes PTX, a warp at a time, on any machine.
//!
//! [`Program::lower`] decodes a kernel once; [`launch()`] runs it over a [`Device`]'s
//! memory under a [`ScheduleSpec`], telling an [`observer::Observer`] what happens.
//!
//! A warp is a set of *splits*, lanes that share a program counter; lanes may be
//! scheduled apart, as they have been since Volta (CUDA C++ Programming Guide,
//! "Independent Thread Scheduling"), and come together again where their paths do.
//! Memory is sequentially consistent under most schedules: what is missing is found by the detectors
//! from what orders accesses, not by luck from what values they return. Where threads
//! decide by the values of strong loads that is not enough; under the `weak` schedules such loads
//! return older values too, where the memory model lets them (`weak_memory.rs`).

pub mod alu;
mod async_copies;
mod bulk_events;
mod call_stack;
pub mod children;
pub mod cores;
mod device;
#[cfg(test)]
mod event_log;
mod exec;
mod hooks;
pub mod ids;
mod inline;
mod launch;
pub mod lower;
pub mod matrix;
pub mod mbarrier;
pub mod memory;
pub mod observer;
pub mod op;
mod operations;
mod plain;
pub mod program;
pub mod schedule;
mod simd;
mod slot;
pub mod snapshot;
mod state;
mod stop;
pub mod tensor_map;
pub mod texture;
pub mod transfer;
mod undefined;
pub mod video;
mod weak_memory;

pub use device::Device;
pub use ids::Dim3;
pub use launch::{Launch, Waiting, launch, launch_or_wait, launch_unwatched, shared_limit, watch};
pub use lower::{Lines, LowerError, entries};
pub use program::Program;
pub use schedule::ScheduleSpec;
pub use stop::{BadCall, Engine, Limits, Live, NEVER_ENDS, Others, Pause, PhaseWait, Stats, Stop};
