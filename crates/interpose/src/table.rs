//! The names that the driver exports.

include!(concat!(env!("OUT_DIR"), "/names.rs"));
