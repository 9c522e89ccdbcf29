//! # misaligned-access
