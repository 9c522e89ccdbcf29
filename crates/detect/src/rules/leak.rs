//! # leak
//!
//! Memory that the program allocated and had not freed when it ended. Found in whole programs (`racetrap exec`).
//!
//! ## Example
//!
//! ```cpp
//! for (int i = 0; i < 1000; i++) {
//!     cudaMalloc(&buffer, bytes);
//!     step<<<blocks, threads>>>(buffer);
//! }
//! ```
//!
//! The system takes everything back when a process ends, so a leak at the end costs nothing; one in a loop fills the device.
//!
//! ## Reference
//!
//! CUDA C++ Programming Guide, "Device Memory".
