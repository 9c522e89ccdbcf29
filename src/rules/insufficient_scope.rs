//! # insufficient-scope
