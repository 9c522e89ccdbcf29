//! # barrier-after-exit
