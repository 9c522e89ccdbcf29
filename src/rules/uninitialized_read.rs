//! # uninitialized-read
