//! # no-progress
