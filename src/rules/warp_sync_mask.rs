//! # warp-sync-mask
