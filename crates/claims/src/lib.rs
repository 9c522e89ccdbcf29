//! What the documents claim, and whether it is so: `cases/claims/*.yaml`, `racetrap claims`.
//!
//! A claim is written as what would follow from it: predictions, each of which something decides that nobody can argue with. The
//! simulator tries a case or counts what it does; the compiler's PTX has an instruction or not; a GPU was right, or took
//! so long. The verdict follows: *confirmed* where all predictions hold, *refuted* where none does, *depends* where some do.
//! A prediction that can't be looked at leaves the claim undecided, and it says so.

pub mod claim;
pub mod count;
pub mod decide;
pub mod show;
pub mod time;

pub use claim::{Claim, Ruling};
pub use decide::{Decided, Facts, decide};
