//! What comes of a check.

use super::explore::{Explored, Found, Memory};
use super::geometry::Geometry;
use super::plan::Plan;
use session::Independence;

/// What came of a check.
#[derive(Debug)]
pub struct Checked {
    /// The verdict and the findings, worded.
    pub check: report::Check,
    /// What every schedule and build found, before it was merged and worded.
    pub findings: Vec<Found>,
    /// How the kernel was launched.
    pub geometry: Geometry,
    /// With which arguments.
    pub plan: Plan,
    /// What came out of each build.
    pub explored: Vec<Explored>,
    /// What the first build's first schedule left in memory.
    pub memory: Memory,
    /// What a clean verdict promises; `None` where there are findings.
    pub independence: Option<Independence>,
}
