//! The library in front of NVIDIA's driver: a program loads it as `libcuda.so.1`, it loads the real one, and every name that it does not
//! define itself jumps there ([`real_driver`]).
//!
//! 1. Modules ([`modules`]): where an image has PTX, the driver gets [instrumented](instrument) PTX in its place; all others run as they are.
//! 2. Memory ([`shadow`]): pages of 2 MiB get shadow memory when the program allocates in them.
//! 3. Launches ([`launches`]): a kernel of an instrumented module gets one parameter more, a number of its own, and room for the shadow of its shared
//!    memory.
//! 4. Findings ([`findings`]): read when the host has waited, worded by `report`, and written as [records](context::record) that `racetrap exec` reads.
//! 5. Order ([`order`]): launches that neither streams nor events nor the host order are compared with each other, and with copies ([`copies`]).
//!
//! 6. Graphs ([`replays`]): their kernels read the number of each launch on the device.
//!
//! [`hooks`] has the entry points, and nothing but the way to these. Launches on a second device are not watched: they are counted and told.

mod bounds;
mod copies;
mod exports;
mod findings;
mod hooks;
mod launches;
mod modules;
mod order;
mod real_driver;
mod replays;
mod shadow;
mod state;
mod stopped;
