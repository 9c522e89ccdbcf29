//! # use-after-free
