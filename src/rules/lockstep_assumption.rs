//! # lockstep-assumption
