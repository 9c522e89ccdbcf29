use crate::Detectors;
use crate::footprint::Footprint;
use crate::scene::{ALL, Scene, read, warp, write};
use simt::observer::Events;

/// The words that a launch of one block of two warps touches too early, and all of them.
fn touched(act: impl FnOnce(&mut Scene<Detectors>)) -> (Vec<u64>, Vec<u64>) {
    let mut detectors = Detectors::new(false);
    detectors.record_dependency();
    let mut scene = Scene::new(detectors, 1, 64);
    scene.begin();
    act(&mut scene);
    let (early, all) = scene.observer.take_dependency().expect("it was asked for");
    let words = |f: &Footprint| -> Vec<u64> {
        let host = Footprint::of_host(None, Some((0, 4096)), 4);
        let (conflicts, _) = f.conflicts(&host);
        conflicts.iter().map(|c| c.first.address / 4).collect()
    };
    (words(&early), words(&all))
}

#[test]
fn who_has_not_waited_is_early() {
    let (early, all) = touched(|s| {
        s.go(warp(0, 0), 1, write(0).global());
        s.observer.dependency_wait(warp(0, 0), 1);
        s.go(warp(0, 0), 1, write(4).global());
        s.go(warp(0, 0), 2, read(8).global());
        s.go(warp(0, 1), 1, read(12).global());
        // Shared memory is nobody else's.
        s.go(warp(0, 1), 1, write(16));
    });
    assert_eq!(early, [0, 2, 3]);
    assert_eq!(all, [0, 1, 2, 3]);
}

#[test]
fn a_barrier_hands_the_wait_on_and_no_other_does() {
    let (early, _) = touched(|s| {
        s.barrier(0);
        s.go(warp(0, 1), 1, write(0).global());
        s.observer.dependency_wait(warp(0, 0), 1);
        s.go(warp(0, 1), 1, write(4).global());
        s.barrier(0);
        s.go(warp(0, 1), ALL, write(8).global());
    });
    assert_eq!(early, [0, 1]);
}

#[test]
fn what_is_not_followed_counts_as_handing_on() {
    let (early, _) = touched(|s| {
        s.observer.phase_completes(simt::ids::BlockId(0), 0);
        s.go(warp(0, 1), 1, write(0).global());
        s.observer.dependency_wait(warp(0, 0), 1);
        s.observer.phase_completes(simt::ids::BlockId(0), 0);
        s.go(warp(0, 1), 1, write(4).global());
    });
    assert_eq!(early, [0]);
}
