//! racetrap catches GPU race bugs, with a GPU and without one.
//!
//! # The map
//!
//! From a kernel to a verdict in six hops:
//!
//! 1. **Case**: [`catalog`] reads a YAML file and the kernel that it names, and draws sizes, inputs and a
//!    schedule from a seed; for somebody's own kernel [`cli`]'s `check` does, with the help of [`toolchain`].
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
//!
//! # From a program
//!
//! ```
//! use session::{Options, Session};
//! use simt::{Dim3, Launch, Program};
//!
//! let ptx = "
//!     .version 8.0
//!     .target sm_75
//!     .address_size 64
//!     .visible .entry write(.param .u64 out) {
//!         .reg .b64 %a;
//!         ld.param.u64 %a, [out];
//!         st.global.u32 [%a], 1;   // by every thread
//!         ret;
//!     }";
//! let module = ptx::parse(ptx)?;
//! let program = Program::lower(&module, ptx, "write")?;
//! let mut session = Session::new(Options::default());
//! let out = session.device().alloc(4, "out")?;
//! session.launch(&program, &Launch {
//!     grid: Dim3::ONE,
//!     block: Dim3::linear(2),
//!     dynamic_shared: 0,
//!     params: out.to_le_bytes().to_vec(),
//!     cooperative: false,
//!     number: 0,
//! })?;
//! let (outcome, _device) = session.finish();
//! assert_eq!(outcome.findings[0].rule.name(), "data-race");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#[doc(hidden)]
pub mod cli;
