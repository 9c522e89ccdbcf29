//! What comes of a check.

use super::explore::{Explored, Found, Memory};
use super::hypothesis::Hypothesis;
use session::Independence;

/// What came of a check.
#[derive(Debug)]
pub struct Checked {
    /// The verdict and the findings, worded.
    pub check: report::Check,
    /// What every schedule and build found, before it was merged and worded.
    pub findings: Vec<Found>,
    /// What the kernel is judged with.
    pub hypothesis: Hypothesis,
    /// Hypotheses that were run as a whole.
    pub tried: u32,
    /// What came out of each build.
    pub explored: Vec<Explored>,
    /// What the first build's first schedule left in memory.
    pub memory: Memory,
    /// What a clean verdict promises; `None` where there are findings.
    pub independence: Option<Independence>,
}
