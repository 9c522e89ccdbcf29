//! What runs in a session show: litmus tests of the memory model, with the outcomes that must be found and those that must never be shown;
//! what a run promises of other schedules; instructions under guards;
//! limits, and what is kept of a run that reaches one.

extern crate racetrap_session as session;

#[global_allocator]
static ALLOCATOR: meter::Metered = meter::Metered;

mod bulk;
mod clusters;
mod communication;
mod engines;
mod guards;
mod joint;
mod kernel;
mod limits;
mod litmus;
mod promises;
mod reversal;
mod stops;
mod tensor;
mod weak_memory;
mod wgmma;
