//! Real GPUs: the protocol of the device process, and the client that drives it.
//!
//! The driver lives in a process of its own, the binary `racetrap-device`: the only one that is linked with it, so
//! that everything else starts on any machine, and the only one that a kernel can take down or hang. A [`client::Client`]
//! starts it, sends it [`job::Job`]s and gets [`job::Reply`]s, and kills it when a job takes too long. Errors of the GPU are
//! [`error::DeviceError`]s. A [`receipt::Receipt`] is what a test leaves for whoever ran it under a tool.
//!
//! Nothing here knows of cases: [`catalog`] makes jobs of plans.

pub mod client;
pub mod error;
pub mod job;
pub mod receipt;
