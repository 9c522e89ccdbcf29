//! # divergent-barrier
