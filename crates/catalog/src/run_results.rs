//! What a run of a case leaves behind: what comparing needs of any backend.

use super::oracle::Elements;
use super::plan::Plan;
use super::simulate::error::SimulateError;

/// What a run left behind, whatever it ran on.
pub trait RunResults {
    /// What a buffer holds at the end, at least as far as it is compared, and for each element whether it was ever
    /// written; `true` where that is not known.
    fn result(&self, plan: &Plan, buffer: usize) -> Result<(Elements, Vec<bool>), SimulateError>;

    /// What was printed.
    fn printed(&self) -> &str;
}
