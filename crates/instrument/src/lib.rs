//! Puts race checks into PTX: a module goes in, and one comes out that computes the same and reports the data races of its threads.
//!
//! ```text
//! ast::Module ─ rewrite (access, sync: what is inserted where) ─► ast::Module + runtime.ptx ─► the driver, or the simulator
//!                 ├─ merged_checks: which checks stand for several accesses
//!                 ├─ points_to: which loads may be from buffers that a launch only reads
//!                 ├─ inline.ptx: usual checks, in the function itself
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
//! **The usual way is short.** Where each half of a warp accesses a line of 64 bytes of global memory, lane by word, one *header* stands for its 16
//! records, until somebody accesses a part of it otherwise; then the words get their records (`open_line`). Neighbouring reads of straight-line
//! code are checked as one, by lanes that share them, and reads in front of a store to the same place not at all (`merged_checks`). Of three
//! neighbouring words, as a stencil reads them, the header says that those beside the line were read too, and whoever writes at the end of a line
//! looks at the headers beside it (`written_beside`). What is usual stands in the function itself (`runtime/inline.ptx`), on registers that hold
//! the thread's state; whatever is not usual is left to the runtime's functions, which find the state in local memory.
//!
//! **What a launch only reads** needs no records: loads whose addresses come from parameters that no store goes through (`points_to`) pass by their check,
//! where they are inside the buffer that the host has handed over for them ([`ReadOnly`]).
//!
//! **What orders.** Whole-block barriers are exact: threads count those that they passed (the *epoch*), and two accesses of one block are ordered if
//! their epochs differ. `__syncwarp` likewise counts within a warp. Everything else orders *perhaps*, and what is ordered perhaps is no finding; it
//! is counted as assumed:
//!
//! - within a block: any thread of the block has, in this epoch, passed a partial, named or split barrier, waited for an mbarrier, or acquired;
//! - between launches that the host does not order: the earlier access's block has released at device scope since, because the later launch
//!   may have come after that by way of the host;
//! - between blocks of a launch: the earlier access's block has released at device scope in the epoch of the access or later, and the later access's
//!   block has acquired at device scope; or the earlier access is itself a strong write, and the later one's block has read strongly: it may have
//!   observed the write. A release by any thread of the block counts, and an acquire by any thread, so whatever chain of
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
mod check;
mod emit;
mod facts;
mod inline;
pub mod layout;
mod merged_checks;
mod module;
mod names;
mod parameters;
mod points_to;
mod registers;
mod rewrite;
mod runtime;
mod site;
mod sync;
mod walk;

pub use module::{Instrumented, Kernel, Refused, instrument};
pub use points_to::{Pointer, ReadOnly};
pub use runtime::TEXT as RUNTIME;
pub use site::{Site, SiteAccess, Sites};
