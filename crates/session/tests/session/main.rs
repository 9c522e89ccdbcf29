//! Litmus tests of the memory model: which outcomes a session must find, and which it must never show.

extern crate racetrap_session as session;

mod litmus;
mod weak_memory;
