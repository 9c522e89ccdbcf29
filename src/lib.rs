//! racetrap catches GPU race bugs, with a GPU and without one.
//!
//! # In your tests
//!
//! [`Check`] runs a kernel of yours on the simulator under several schedules and returns a [`Report`]. A test asserts that the kernel
//! is clean; if it is not, the panic shows the findings with their lines. CUDA source needs nvcc ([`Check::cuda`]), PTX needs
//! nothing ([`Check::ptx`]).
//!
//! ```
//! use racetrap::{Buffer, Check};
//!
//! let ptx = "
//!     .version 8.0
//!     .target sm_75
//!     .address_size 64
//!     .visible .entry write(.param .u64 out) {
//!         .reg .b64 %a; .reg .b32 %t;
//!         ld.param.u64 %a, [out];
//!         mov.u32 %t, %tid.x;
//!         st.global.u32 [%a], %t;   // by every thread
//!         ret;
//!     }";
//! let check = Check::ptx(ptx).entry("write").grid(1).arg(Buffer::uninitialized::<i32>(1));
//!
//! // One thread: no race, whatever the schedule.
//! let report = check.clone().block(1).run()?;
//! report.assert_clean();
//! assert_eq!(report.buffer::<i32>("0")?, [0]);
//!
//! // Two threads.
//! let report = check.block(2).run()?;
//! let finding = &report.findings()[0];
//! assert_eq!(finding.rule, "data-race");
//! assert_eq!(finding.places[0].line, 9);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Without its default features, this crate is that library alone, and builds no command line: name it as
//! `racetrap = { version = "…", default-features = false }`, with `features = ["catalog"]` for [`catalog_tests!`].
//!
//! What is documented here is the whole public interface. The crates that it is built on (`racetrap-ptx`, `racetrap-simt` …) may change
//! at any time.
//!
//! A [`catalog_tests!`] program makes a test of each case of a catalogue, on the simulator and on a GPU; `racetrap new` makes a project
//! with one.
//!
//! # The map, for those who change racetrap
//!
//! From a kernel to a verdict in six hops:
//!
//! 1. **Case**: [`catalog`] reads a YAML file and the kernel that it names, and draws sizes, inputs and a
//!    schedule from a seed; for somebody's own kernel `check` does, with the help of [`toolchain`].
//! 2. **PTX**: [`ptx::parse`] makes a syntax tree of what the compiler wrote.
//! 3. **Program**: [`simt::Program::lower`] decodes the tree, once.
//! 4. **Run**: a [`session::Session`] launches it on a simulated [`simt::Device`], under a
//!    [`simt::ScheduleSpec`], watched through [`simt::observer::Observer`].
//! 5. **Findings**: [`detect`] judges what it sees by the PTX memory model and says what it found in the
//!    words of [`detect::finding`] and [`detect::rules`].
//! 6. **Verdict**: [`catalog::expect`] matches findings with the tags on the kernel's lines; [`report`] words and
//!    renders them; [`report::exit`] has the exit codes.
//!
//! Beside this way, [`ptxdiff`] compares two kernels' PTX and names what the compiler did, for [`cli`]'s `diff` and for what cases say
//! of their PTX ([`catalog::compiled`]).
//!
//! On a GPU, [`catalog::gpu`] makes a job of the same plan, [`device`] has it done by a process of its own, and
//! [`catalog::native`] compares the results with the same oracle.
//!
//! # What always holds
//!
//! Detectors know neither the backend nor the instruction set; the simulator knows no rule; a renderer looks at
//! nothing but a report. A run is determined by program, input and schedule. What racetrap cannot execute stops
//! with the instruction's line and is never taken for clean. ARCHITECTURE.md says more.

mod api;
#[cfg(feature = "command")]
#[doc(hidden)]
pub mod cli;
#[cfg(feature = "catalog")]
#[doc(hidden)]
pub mod harness;

pub use api::{
    Argument, Buffer, BufferError, Check, Element, Error, ErrorKind, Explored, Extent, Finding,
    Format, Level, Place, Promise, Report, Verdict,
};
