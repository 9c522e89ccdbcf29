//! Machine code as `nvdisasm` prints it for each target, recorded by `tests/suite/make.py`.

use ptxdiff::sass::{Counts, Kind, SassFunction, parse};
use std::collections::BTreeMap;
use std::io::Read;

fn listings() -> BTreeMap<String, Vec<SassFunction>> {
    let path = testing::root().join("crates/ptxdiff/tests/suite/listings.gz");
    let mut text = String::new();
    flate2::read::GzDecoder::new(std::fs::File::open(path).unwrap())
        .read_to_string(&mut text)
        .unwrap();
    let targets = text.split("//// ").skip(1).map(|part| {
        let (name, listing) = part.split_once('\n').unwrap();
        (name.to_owned(), parse(listing))
    });
    targets.collect()
}

/// What each kernel has in machine code of every target.
const KERNELS: &[(&str, &[(Kind, usize)])] = &[
    (
        "reversed",
        &[
            (Kind::GlobalLoads, 1),
            (Kind::SharedStores, 1),
            (Kind::BlockBarriers, 1),
            (Kind::SharedLoads, 1),
            (Kind::GlobalStores, 1),
            (Kind::Reductions, 0),
        ],
    ),
    (
        "stencil",
        &[
            (Kind::GlobalLoads, 3),
            (Kind::BlockBarriers, 1),
            (Kind::SharedLoads, 3),
            (Kind::GlobalStores, 1),
        ],
    ),
    (
        "shuffled",
        &[
            (Kind::WarpExchanges, 5),
            (Kind::GlobalLoads, 1),
            (Kind::GlobalStores, 1),
        ],
    ),
    (
        "transposed",
        &[
            (Kind::GlobalLoads, 4),
            (Kind::SharedStores, 4),
            (Kind::SharedLoads, 4),
            (Kind::GlobalStores, 4),
        ],
    ),
];

#[test]
fn every_targets_instructions_are_counted() {
    let listings = listings();
    assert_eq!(listings.len(), 12);
    for (target, functions) in &listings {
        assert_eq!(functions.len(), 10, "{target}");
        for function in functions {
            let counts = Counts::of_sass(function);
            assert!(
                counts.of(Kind::Instructions) >= 10,
                "{target}: {}",
                function.name
            );
            assert!(
                function.instructions.iter().all(|i| i.line.is_some()),
                "{target}: {}",
                function.name
            );
        }
        for (name, wanted) in KERNELS {
            let function = functions.iter().find(|f| f.name == *name).unwrap();
            let counts = Counts::of_sass(function);
            for (kind, count) in *wanted {
                assert_eq!(
                    counts.of(*kind),
                    *count,
                    "{target}: {name}: {}",
                    kind.name()
                );
            }
        }
        let histogram = functions.iter().find(|f| f.name == "histogram").unwrap();
        let counts = Counts::of_sass(histogram);
        // The result is not used: an atomic operation without one, however the target calls it.
        assert_eq!(
            counts.of(Kind::Reductions) + counts.of(Kind::Atomics),
            2,
            "{target}: {counts:?}"
        );
        assert_eq!(counts.of(Kind::BlockBarriers), 2, "{target}");
    }
}
