//! Tests of what a run's records become.

use super::*;
use context::record::KernelTotals;

fn totals(launches: &[(&str, u64)]) -> Record {
    let kernels = launches.iter().map(|(name, launches)| KernelTotals {
        name: (*name).to_owned(),
        launches: *launches,
        watched: *launches,
        ..KernelTotals::default()
    });
    Record::Totals(Totals {
        kernels: kernels.collect(),
        ..Totals::default()
    })
}

/// Sums of what came later have nothing of what was before, and neither have doubts.
#[test]
fn what_came_since() {
    let folder = tempfile::tempdir().unwrap();
    let doubt = |text: &str| Record::Doubt {
        text: text.to_owned(),
        budget: false,
    };
    let line = |record| {
        let line = Record_ { process: 1, record };
        serde_json::to_string(&line).unwrap() + "\n"
    };
    let before = line(doubt("early")) + &line(totals(&[("a", 3), ("b", 1)]));
    let after = line(doubt("late")) + &line(totals(&[("a", 5), ("b", 1), ("c", 2)]));
    let records = context::options::records(folder.path());
    std::fs::write(&records, before.clone() + &after).unwrap();
    let since = Collected::since(folder.path(), before.len());
    assert_eq!(since.doubts, ["late"]);
    let counted: Vec<_> = since.kernels().map(|k| (&*k.name, k.launches)).collect();
    assert_eq!(counted, [("a", 2), ("c", 2)]);
    assert_eq!(Collected::since(folder.path(), 0).launches(), 8);
}
