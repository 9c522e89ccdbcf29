//! # data-race
