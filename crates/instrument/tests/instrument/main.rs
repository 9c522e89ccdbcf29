//! Tests of the instrumentation, with the simulator in the GPU's place.

mod assembled;
mod catalogue;
mod lines;
mod observed;
mod outside;
mod watched;
