//! Programs that random ones came to, kept as examples.

use super::*;

#[test]
fn a_barrier_that_only_arrivals_complete_teaches_nobody() {
    let mut scene = Scene::new(Detectors::new(false), 1, 64);
    scene.arrive(warp(0, 0), 1, ALL);
    scene.go(warp(0, 0), 1, write(0));
    scene.barrier_of(0, 1, &[], &[(0, ALL)], false);
    scene.go(warp(0, 1), 1, write(0));
    scene.barrier(0);
    scene.go(warp(0, 0), 1, read(0));
    let found = scene.observer.take_findings();
    assert_eq!(found.len(), 1, "only the two writes race: {found:#?}");
}

/// An access by lanes of a warp, with nothing else to say of it.
fn does(
    kind: AccessKind,
    order: Order,
    scope: Scope,
    element: u32,
    base: u64,
    stride: u64,
) -> Does {
    Does {
        space: Space::Global,
        kind,
        order,
        scope,
        element,
        elements: 1,
        base,
        stride,
        wrote: ALL,
        halves: None,
        non_coherent: false,
    }
}

/// What a block has read is ordered by its barrier, and must not stand for what another one has.
#[test]
fn readers_of_another_block_outlive_a_barrier() {
    let weak =
        |kind, element, base, stride| does(kind, Order::Weak, Scope::Cta, element, base, stride);
    let steps = [
        Step::Go(0, 0, 9, weak(AccessKind::Read, 8, 0, 8)),
        Step::Go(1, 0, ALL, weak(AccessKind::Read, 1, 0, 1)),
        Step::Go(0, 0, 1, weak(AccessKind::Write, 1, 0, 0)),
        Step::Go(0, 1, ALL, weak(AccessKind::Read, 4, 4, 8)),
        Step::Barrier(0),
        Step::Go(0, 0, 4, weak(AccessKind::Write, 4, 12, 8)),
    ];
    let kinds = Kinds {
        fine: false,
        strong: false,
    };
    agree(kinds, &steps).unwrap();
}

/// Who observes a strong write comes after that one, not after those that it replaced.
#[test]
fn a_replaced_access_is_not_ordered_with_who_observes_the_later_one() {
    let strong = |kind| does(kind, Order::Relaxed, Scope::Gpu, 4, 0, 0);
    let weak = |kind| does(kind, Order::Weak, Scope::Sys, 4, 0, 0);
    let kinds = Kinds {
        fine: true,
        strong: true,
    };
    for (first, races) in [(AccessKind::Write, 1), (AccessKind::Atomic, 0)] {
        let steps = [
            Step::Go(0, 0, 1, strong(first)),
            Step::Go(0, 0, 1, strong(first)),
            Step::Go(1, 0, 1, strong(AccessKind::Read)),
            Step::Go(1, 0, 1, weak(AccessKind::Write)),
        ];
        agree(kinds, &steps).unwrap();
        let found = play(Detectors::new(false), kinds, &steps).take_findings();
        assert_eq!(found.len(), races, "{first:?}: {found:#?}");
    }
}

/// The barrier orders the one of two readers that did not exit, though the other's warp has published more.
#[test]
fn a_reader_that_waits_is_ordered_where_another_has_exited() {
    let weak = |element, base| {
        does(
            AccessKind::Read,
            Order::Weak,
            Scope::Sys,
            element,
            base,
            element.into(),
        )
    };
    let write = does(AccessKind::Write, Order::Relaxed, Scope::Cta, 4, 0, 0);
    let steps = [
        Step::WarpSync(1, 1, ALL),
        Step::Go(1, 1, 9, weak(2, 2)),
        Step::Go(0, 0, 1, weak(1, 0)),
        Step::Go(1, 2, 1, weak(4, 0)),
        Step::Exit(1, 1, ALL),
        Step::Barrier(1),
        Step::Go(1, 0, 1, write),
    ];
    let kinds = Kinds {
        fine: false,
        strong: true,
    };
    agree(kinds, &steps).unwrap();
}

/// An acquiring read whose scope is too narrow may still be part of a wider acquire pattern.
#[test]
fn a_wide_fence_acquires_what_a_narrow_acquire_read() {
    let steps = [
        Step::Go(
            0,
            0,
            1,
            does(AccessKind::Read, Order::Relaxed, Scope::Cta, 4, 0, 0),
        ),
        Step::Go(
            0,
            0,
            1,
            does(AccessKind::Write, Order::Release, Scope::Gpu, 4, 256, 0),
        ),
        Step::Go(
            1,
            1,
            2,
            does(AccessKind::Reduction, Order::AcqRel, Scope::Sys, 4, 256, 0),
        ),
        Step::Go(
            1,
            0,
            1,
            does(AccessKind::Atomic, Order::Acquire, Scope::Cta, 4, 256, 0),
        ),
        Step::Fence(1, 0, 1, FenceOrder::Acquire, Scope::Gpu),
        Step::Go(
            1,
            0,
            1,
            does(AccessKind::Write, Order::Relaxed, Scope::Cta, 8, 0, 0),
        ),
    ];
    let kinds = Kinds {
        fine: true,
        strong: true,
    };
    agree(kinds, &steps).unwrap();
}

/// A lane's later read is the one that counts, whichever place it took in the line.
#[test]
fn a_later_read_of_a_lane_outlives_its_earlier_one() {
    let weak = |kind, element, elements, base, stride| Does {
        elements,
        ..does(kind, Order::Weak, Scope::Cta, element, base, stride)
    };
    let steps = [
        Step::Go(1, 0, ALL, weak(AccessKind::Read, 1, 1, 1, 1)),
        Step::Go(1, 1, 1, weak(AccessKind::Read, 4, 2, 32, 0)),
        Step::Barrier(1),
        Step::Go(1, 1, 3, weak(AccessKind::Read, 2, 4, 32, 8)),
        Step::Go(1, 0, 4, weak(AccessKind::Write, 2, 2, 16, 8)),
    ];
    let kinds = Kinds {
        fine: false,
        strong: false,
    };
    agree(kinds, &steps).unwrap();
}

/// What a warp has read in one way is no excuse to write it in another one.
#[test]
fn a_write_by_other_lanes_than_those_that_read_is_a_race() {
    use Layout::Adjacent;
    let row = |at| [(at, Adjacent), (at + 64, Adjacent)];
    // A row of words, then the lanes next to those.
    let twice = [Step::Reads(0, 0, vec![row(16), row(0)])];
    let once = [
        Step::Reads(0, 0, vec![row(16)]),
        Step::Reads(0, 0, vec![row(0)]),
    ];
    // The upper half of the warp where the lower one writes.
    let crossed = [Step::Reads(0, 0, vec![[(256, Adjacent), (16, Adjacent)]])];
    let far = [(16, Adjacent), (512, Adjacent)];
    let all = [
        (&twice[..], row(16)),
        (&once[..], row(16)),
        (&crossed[..], far),
    ];
    for (reads, to) in all {
        let mut steps = reads.to_vec();
        steps.push(Step::Go(0, 0, ALL, write(0).halves(to)));
        steps.push(Step::Barrier(0));
        let kinds = Kinds {
            fine: false,
            strong: false,
        };
        agree(kinds, &steps).unwrap();
        let found = play(Detectors::new(false), kinds, &steps).take_findings();
        assert_eq!(found.len(), 1, "{steps:?}: {found:#?}");
    }
}

/// A narrow release does not undo a wide one: a later strong write is part of both release patterns.
#[test]
fn a_narrow_release_leaves_a_wide_one_as_it_is() {
    let at = |kind, order, scope, base| does(kind, order, scope, 4, base, 0);
    let steps = [
        Step::Go(0, 1, 1, at(AccessKind::Read, Order::Relaxed, Scope::Cta, 0)),
        Step::Go(
            0,
            1,
            1,
            at(AccessKind::Write, Order::Release, Scope::Gpu, 256),
        ),
        Step::Go(
            0,
            1,
            1,
            at(AccessKind::Atomic, Order::Release, Scope::Cta, 256),
        ),
        Step::Go(
            0,
            1,
            1,
            at(AccessKind::Write, Order::Relaxed, Scope::Sys, 256),
        ),
        Step::Go(
            1,
            1,
            2,
            at(AccessKind::Read, Order::Acquire, Scope::Sys, 256),
        ),
        Step::Go(
            1,
            1,
            2,
            at(AccessKind::Atomic, Order::Relaxed, Scope::Cta, 0),
        ),
    ];
    let kinds = Kinds {
        fine: true,
        strong: true,
    };
    agree(kinds, &steps).unwrap();
}

/// Who continued a chain of atomics comes after what came before it, though another of its block has continued it since.
#[test]
fn all_who_continue_a_chain_come_after_its_beginning() {
    let add = |scope| does(AccessKind::Reduction, Order::Relaxed, scope, 4, 0, 0);
    let kinds = Kinds {
        fine: true,
        strong: true,
    };
    for (second, races) in [(0, 0), (1, 1)] {
        let steps = [
            Step::Go(0, 0, 1, add(Scope::Gpu)),
            Step::Go(1, second, 1, add(Scope::Gpu)),
            Step::Go(1, 2, 1, add(Scope::Gpu)),
            Step::Go(1, 0, 1, add(Scope::Cta)),
        ];
        agree(kinds, &steps).unwrap();
        let found = play(Detectors::new(false), kinds, &steps).take_findings();
        assert_eq!(found.len(), races, "{found:#?}");
    }
}

#[test]
fn fetches_from_what_nobody_writes_are_not_judged() {
    let races = |unwritten: &[std::ops::Range<u64>]| {
        let mut scene = Scene::new(Detectors::new(false), 2, 32);
        scene.shape.unwritten = unwritten.into();
        scene.go(warp(0, 0), ALL, write(64).global().by_lane());
        let fetch = read(64).global().non_coherent();
        scene.go(warp(1, 0), ALL, fetch.by_lane());
        let findings = scene.observer.take_findings();
        findings.iter().any(|f| f.rule == Rule::DataRace)
    };
    assert!(races(&[]));
    assert!(races(&[0..64, 192..4096]), "the fetch is elsewhere");
    assert!(races(&[0..8, 65..4096]), "a part of it is elsewhere");
    assert!(!races(&[0..64, 64..192]));
}
