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
        let line = Record_ {
            process: 1,
            number: None,
            record,
        };
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

/// A line that is not there may have been a finding: what is left is not clean.
#[test]
fn lines_that_are_missing_leave_a_doubt() {
    let line = |process, number, record| {
        let line = Record_ {
            process,
            number: Some(number),
            record,
        };
        serde_json::to_string(&line).unwrap() + "\n"
    };
    let missing = |function: &str| Record::Missing {
        function: function.to_owned(),
    };
    let all = [
        line(1, 0, missing("a")),
        line(2, 0, missing("b")),
        line(1, 1, missing("c")),
        line(2, 1, missing("d")),
        // It has become another program.
        line(2, 0, missing("e")),
        line(2, 1, totals(&[("k", 1)])),
    ];
    let doubts = |lines: &[&str], from: usize| {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(context::options::records(folder.path()), lines.concat()).unwrap();
        match from {
            0 => Collected::read(folder.path()).doubts,
            _ => Collected::since(folder.path(), from).doubts,
        }
    };
    let lines: Vec<&str> = all.iter().map(String::as_str).collect();
    assert!(doubts(&lines, 0).is_empty());
    for from in 1..4 {
        let bytes = lines[..from].concat().len();
        assert!(doubts(&lines, bytes).is_empty(), "{from}");
    }
    // The first of a process, one in the middle, one that was cut off before the next was written.
    assert_eq!(doubts(&lines[2..], 0), [INCOMPLETE]);
    assert_eq!(
        doubts(&[lines[0], lines[1], lines[3], lines[5]], 0),
        [INCOMPLETE]
    );
    assert!(doubts(&[lines[0], lines[1], lines[5]], 0).is_empty());
    assert_eq!(doubts(&[lines[3], lines[4]], 0), [INCOMPLETE]);
    // What comes behind a part of a line can't be read, either.
    let (cut, third) = (&lines[0][..lines[0].len() / 2], line(1, 2, missing("f")));
    assert_eq!(doubts(&[cut, lines[2], &third], 0), [INCOMPLETE]);
}
