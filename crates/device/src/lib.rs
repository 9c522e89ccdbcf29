//! Runs jobs on real GPUs: the protocol of the device process and its client.
//!
//! The CUDA driver is used in a separate process, the binary `racetrap-device`. Only this binary is linked with the driver, so
//! all others start on any machine; and only this process can be crashed or hung by a kernel. A [`client::Client`] starts it,
//! sends it [`job::Job`]s, receives [`job::Reply`]s, and kills it when a job takes too long. Errors of the GPU are
//! [`error::DeviceError`]s. A test that runs under a tool writes a [`receipt::Receipt`].
//!
//! This crate does not know cases: the crate `catalog` turns plans into jobs.

pub mod client;
pub mod error;
pub mod job;
pub mod receipt;
