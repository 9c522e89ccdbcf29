//! Puts race checks into PTX: a module goes in, and one comes out that computes the same and reports the data races of its threads.
//!
//! ```text
//! ast::Module ─ rewrite (access, sync: what is inserted where) ─► ast::Module + runtime.ptx ─► the driver, or the simulator
//!                 ├─ runs: which checks stand for several accesses
//!                 └─ site: which number stands for which line          findings ◄─ layout ◄─ memory that the launch wrote
//! ```
//!
//! **The mechanism.** Each unit of memory (a word, or less where a program's accesses are narrower) has one *record* in shadow memory: the last
//! access that matters, with its launch, block, thread, epoch and place in the program ([`layout`] draws the bits). In front of each access to
//! global, shared or generic memory stands a call of the runtime (`runtime/runtime.cu`) with the guard of the access. It exchanges the record
//! (writes) or renews it where that changes anything (reads), and compares: two accesses of different threads, one of them a write, clash
//! unless something orders them or both are atomic enough towards each other. It follows HiRace (Jacobson and others, SC'24), a state machine a
//! location, extended by strength and scope of accesses and by what may order blocks.
//!
//! **What orders.** Whole-block barriers are exact: threads count those that they passed (the *epoch*), and two accesses of one block are ordered if
//! their epochs differ. `__syncwarp` likewise counts within a warp. Everything else orders *perhaps*, and what is ordered perhaps is no finding; it
//! is counted as assumed:
//!
//! - within a block: any thread of the block has, in this epoch, passed a partial, named or split barrier, waited for an mbarrier, or acquired;
//! - between blocks of a launch: the earlier access's block has released at device scope in the epoch of the access or later, and the later access's
//!   block has acquired at device scope. A release by any thread of the block counts, and an acquire by any thread, so whatever chain of
//!   barriers and other blocks the order took, it began with the one and ended with the other.
//! - Counters that would wrap stay at their highest value, which means *perhaps*; the epoch of shared records wraps, and then the block clears
//!   them between two barriers.
//!
//! **Blind spots.** One record a unit forgets: of several readers it keeps one and that there were others, and a read that is ordered after a write
//! of its own block hides that write from other blocks. Blocks are told apart by 14 bits of their number. Texture, tensor, bulk and `wmma`
//! accesses, and those to other blocks' shared memory are not watched, but counted.
//!
//! A kernel gets one more parameter ([`layout::Config`]), a function one more (where its thread's state is, in local memory), and so do
//! calls and prototypes of calls; functions that are defined nowhere are the driver's, and stay.

mod access;
mod emit;
pub mod layout;
mod merged_checks;
mod module;
mod rewrite;
mod runtime;
mod site;
mod sync;

pub use module::{Instrumented, Kernel, Refused, instrument};
pub use runtime::TEXT as RUNTIME;
pub use site::{Site, SiteAccess, Sites};
