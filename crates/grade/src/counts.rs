//! What a grade can depend on without a clock: counts of a run, by metric.

use crate::assignment::Metric;
use detect::counts::Counts;
use std::collections::BTreeMap;

/// The counts by metric.
pub fn by_metric(counts: &Counts) -> BTreeMap<Metric, f64> {
    let each = match counts.requests {
        0 => 0.0,
        requests => counts.sectors as f64 / requests as f64,
    };
    let whole = |n: u64| n as f64;
    BTreeMap::from([
        (Metric::BankConflicts, whole(counts.conflicts)),
        (Metric::SectorsPerRequest, each),
        (Metric::DivergentBranches, whole(counts.divergent)),
        (Metric::GlobalReads, whole(counts.reads)),
        (Metric::GlobalWrites, whole(counts.writes)),
        (Metric::Atomics, whole(counts.atomics)),
        (Metric::Barriers, whole(counts.barriers)),
    ])
}
