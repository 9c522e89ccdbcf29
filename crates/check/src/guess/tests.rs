//! Kernels whose guesses are given up, and kernels whose errors are none of a guess.

mod beside;
mod instead;
