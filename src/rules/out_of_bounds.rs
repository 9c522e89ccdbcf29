//! # out-of-bounds
