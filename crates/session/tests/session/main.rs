//! Litmus tests of the memory model: which outcomes a session must find, and which it must never show; and what a session promises of
//! other schedules.

extern crate racetrap_session as session;

mod litmus;
mod promises;
mod weak_memory;
