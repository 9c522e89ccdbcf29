//! # bank-conflict
