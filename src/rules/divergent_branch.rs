//! # divergent-branch
