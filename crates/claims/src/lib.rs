//! Decides claims that documents make about CUDA: `cases/claims/*.yaml`, `racetrap claims`.
//!
//! A claim lists predictions that follow from it, each of which can be decided objectively: by a run or a count on the
//! simulator, by the compiler's PTX, or by the results or times of a GPU. The verdict is *confirmed* if all predictions hold,
//! *refuted* if none does, and *depends* if some do. A prediction that cannot be examined leaves the claim *undecided*.

pub mod claim;
pub mod count;
pub mod decide;
pub mod show;
pub mod time;

pub use claim::{Claim, Ruling};
pub use decide::{Decided, Facts, decide};
