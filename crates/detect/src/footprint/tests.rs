use super::*;
use simt::ids::WarpId;
use simt::observer::WarpRef;
use simt::observer::{Access, AccessKind, LaunchShape, Layout, RowAccess, Space};

fn shape(granule: u32) -> LaunchShape {
    let one = simt::Dim3::ONE;
    LaunchShape {
        cluster: simt::Dim3::ONE,
        grid: one,
        block: one,
        shared_bytes: 0,
        reserved_shared: 0..0,
        global_bytes: 1 << 20,
        shared_granule: 4,
        global_granule: granule,
        strong_shared: false,
        strong_global: true,
        unwritten: Default::default(),
        non_coherent: false,
        async_copies: false,
        async_proxy: false,
        fine_sync: false,
        control_only: std::sync::Arc::new([]),
        hands_on: std::sync::Arc::new([]),
        effects: Default::default(),
        stale_values: false,
        polls: false,
        launch: 0,
    }
}

fn kernel(granule: u32, accesses: &[(AccessKind, Order, Scope, u64, u32)]) -> Footprint {
    let mut recorder = Recorder::default().begin(&shape(granule));
    for (site, (kind, order, scope, address, element)) in accesses.iter().enumerate() {
        recorder.access(&Access {
            site: Site(site as u32),
            who: WarpRef {
                block: BlockId(0),
                warp: WarpId(0),
            },
            mask: 1,
            space: Space::Global,
            address: &[*address; 32],
            neighbours: None,
            element: *element,
            elements: 1,
            kind: *kind,
            non_coherent: false,
            fragment: false,
            asynchronous: false,
            order: *order,
            scope: *scope,
            wrote: 1,
            dropped: 0,
            initial: 0,
            stores: None,
        });
    }
    recorder.finish()
}

use AccessKind::{Atomic, Read, Write};
use Order::{Relaxed, Volatile, Weak};
use Scope::{Cta, Gpu, Sys};

fn rules(a: &Footprint, b: &Footprint) -> Vec<Rule> {
    let (there, back) = (a.conflicts(b), b.conflicts(a));
    assert_eq!((there.0.len(), there.1), (back.0.len(), back.1));
    there.0.iter().map(|c| c.rule).collect()
}

#[test]
fn two_kernels() {
    let read = kernel(4, &[(Read, Weak, Sys, 256, 4)]);
    let write = kernel(4, &[(Write, Weak, Sys, 256, 4)]);
    let beside = kernel(4, &[(Write, Weak, Sys, 260, 4)]);
    let wide = kernel(4, &[(Atomic, Relaxed, Gpu, 256, 4)]);
    let narrow = kernel(4, &[(Atomic, Relaxed, Cta, 256, 4)]);
    let volatile = kernel(4, &[(Read, Volatile, Sys, 256, 4)]);
    assert_eq!(rules(&read, &read), []);
    assert_eq!(rules(&read, &write), [Rule::DataRace]);
    assert_eq!(rules(&write, &write), [Rule::DataRace]);
    assert_eq!(rules(&write, &beside), []);
    assert_eq!(rules(&wide, &wide), []);
    assert!(wide.conflicts(&wide).1, "they see each other's order");
    assert_eq!(rules(&wide, &narrow), [Rule::InsufficientScope]);
    assert_eq!(rules(&wide, &volatile), []);
    assert_eq!(rules(&wide, &read), [Rule::DataRace]);
    assert_eq!(rules(&narrow, &write), [Rule::DataRace]);
}

#[test]
fn what_is_of_no_interest_is_left_out() {
    let mut recorder = Recorder::only(Some([256..260, 512..1024].into())).begin(&shape(4));
    for at in [0, 256, 260, 508, 512, 1020, 1024] {
        recorder.add_for_test(at);
    }
    let touched: Vec<u64> = recorder.finish().ranges().map(|(r, _)| r.start).collect();
    assert_eq!(touched, [256, 512, 1020]);
}

impl Recorder {
    fn add_for_test(&mut self, at: u64) {
        self.access(&Access {
            site: Site(0),
            who: WarpRef {
                block: BlockId(0),
                warp: WarpId(0),
            },
            mask: 1,
            space: Space::Global,
            address: &[at; 32],
            neighbours: None,
            element: 4,
            elements: 1,
            kind: Write,
            non_coherent: false,
            fragment: false,
            asynchronous: false,
            order: Weak,
            scope: Sys,
            wrote: 1,
            dropped: 0,
            initial: 0,
            stores: None,
        });
    }
}

#[test]
fn granules_may_differ() {
    let fine = kernel(1, &[(Write, Weak, Sys, 259, 1)]);
    let coarse = kernel(8, &[(Read, Weak, Sys, 256, 8)]);
    assert_eq!(rules(&fine, &coarse), [Rule::DataRace]);
    let behind = kernel(8, &[(Read, Weak, Sys, 264, 8)]);
    assert_eq!(rules(&fine, &behind), []);
    let strong = |bytes| kernel(4, &[(Write, Relaxed, Gpu, 256, bytes)]);
    assert_eq!(rules(&strong(4), &strong(4)), []);
    assert_eq!(rules(&strong(8), &strong(4)), [Rule::DataRace]);
}

#[test]
fn copies_and_the_host_are_weak() {
    let upload = Footprint::of_host(Some((0, 64)), Some((256, 64)), 4);
    let atomic = kernel(4, &[(Atomic, Relaxed, Gpu, 300, 4)]);
    let (conflicts, _) = upload.conflicts(&atomic);
    assert_eq!(conflicts.len(), 1);
    assert_eq!(conflicts[0].rule, Rule::DataRace);
    assert_eq!(
        (conflicts[0].address, conflicts[0].first.address),
        (300, 300)
    );
    let reuse = Footprint::of_host(None, Some((0, 64)), 4);
    assert_eq!(rules(&upload, &reuse), [Rule::DataRace]);
    let look = Footprint::of_host(Some((0, 64)), None, 4);
    assert_eq!(rules(&upload, &look), []);
}

/// Who is kept of those that touched a byte.
fn kept(footprint: &Footprint, byte: u64) -> Vec<AccessRecord> {
    let mut records = Vec::new();
    for part in &footprint.parts {
        if part.start <= byte && byte < part.end {
            footprint.at(part, byte, &mut records);
        }
    }
    records
}

#[test]
fn who_stands_for_many_does_not_depend_on_their_order() {
    let mut forward = Recorder::default().begin(&shape(4));
    let mut backward = Recorder::default().begin(&shape(4));
    let access = |recorder: &mut Recorder, block: u32| {
        recorder.access(&Access {
            site: Site(block),
            who: WarpRef {
                block: BlockId(block),
                warp: WarpId(0),
            },
            mask: 0b1100,
            space: Space::Global,
            address: &[0; 32],
            neighbours: None,
            element: 4,
            elements: 1,
            kind: Write,
            non_coherent: false,
            fragment: false,
            asynchronous: false,
            order: Weak,
            scope: Sys,
            wrote: 0b1100,
            dropped: 0,
            initial: 0,
            stores: None,
        });
    };
    (0..3).for_each(|block| access(&mut forward, block));
    let mut fork = backward.fork();
    access(&mut fork, 2);
    access(&mut backward, 1);
    backward.merge(fork);
    let mut fork = backward.fork();
    access(&mut fork, 0);
    backward.merge(fork);
    let (a, b) = (forward.finish(), backward.finish());
    let (a, b) = (kept(&a, 0), kept(&b, 0));
    assert_eq!(a, b);
    let [kept] = &a[..] else {
        panic!("{a:?}");
    };
    assert_eq!((kept.block, kept.thread), (BlockId(0), ThreadId(2)));
}

proptest::proptest! {
    #![proptest_config(testing::random(200))]

    /// Rows, and the same accesses lane by lane and shared out to cores, keep of each byte and kind the first thread in order.
    #[test]
    fn rows_are_kept_as_their_lanes_are(
        rows in proptest::collection::vec((0u32..3, 0u64..2100, 0u64..2100, 0u8..4, proptest::bool::ANY), 1..20),
        only in proptest::option::of((0u64..8000, 1u64..600)),
        granule in proptest::sample::select(vec![1u32, 2, 4]),
    ) {
        let range = |(start, bytes)| std::iter::once(start..start + bytes).collect::<Ranges>();
        let only = only.map(range);
        let new = || Recorder::only(only.clone()).begin(&shape(granule));
        let (mut by_rows, mut by_lanes, mut shared) = (new(), new(), new());
        let mut first = std::collections::HashMap::new();
        // A core has whole blocks.
        let mut cores: Vec<Recorder> = (0..3).map(|_| shared.fork()).collect();
        for (block, low, high, layouts, write) in rows {
            let half = |bit: u8| if layouts >> bit & 1 == 1 { Layout::Adjacent } else { Layout::Same };
            let row = RowAccess {
                site: Site(u32::from(write)),
                who: WarpRef { block: BlockId(block), warp: WarpId(1) },
                space: Space::Global,
                first: [low * 4, high * 4],
                layout: [half(0), half(1)],
                write,
                non_coherent: false,
                order: Weak,
                scope: Sys,
                stores: None,
            };
            by_rows.row_access(&row);
            cores[block as usize].row_access(&row);
            let addresses = row.addresses();
            by_lanes.access(&row.expanded(&addresses));
            for (lane, at) in addresses.iter().enumerate() {
                for byte in *at..at + 4 {
                    let who = (block, 32 + lane as u32);
                    let known = first.entry((byte, write)).or_insert(who);
                    *known = who.min(*known);
                }
            }
        }
        for core in cores {
            shared.merge(core);
        }
        let footprints = [by_rows.finish(), by_lanes.finish(), shared.finish()];
        for byte in 0..9000 {
            let [a, b, c] = footprints.each_ref().map(|f| kept(f, byte));
            proptest::prop_assert_eq!(&a, &b);
            proptest::prop_assert_eq!(&a, &c);
            let concerned = only.as_ref().is_none_or(|only| {
                let word = byte / 4 * 4..byte / 4 * 4 + 4;
                only[0].start < word.end && word.start < only[0].end
            });
            for write in [false, true] {
                let of_kind = a.iter().find(|record| record.writes() == write);
                let wanted = first.get(&(byte, write)).filter(|_| concerned);
                proptest::prop_assert_eq!(of_kind.map(|r| (r.block.0, r.thread.0)), wanted.copied());
            }
        }
        let mut bytes: Vec<u64> = footprints[0].ranges().flat_map(|(range, _)| range).collect();
        proptest::prop_assert!(bytes.is_sorted());
        bytes.retain(|byte| kept(&footprints[0], *byte).is_empty());
        proptest::prop_assert_eq!(bytes, Vec::<u64>::new());
    }
}
