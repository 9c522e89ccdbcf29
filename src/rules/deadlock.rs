//! # deadlock
