//! A piece of memory, and who of a launch touched its granules.

use super::{AccessRecord, Class};
use simt::ids::{BlockId, ThreadId};
use std::ops::Range;

/// Granules of a page, as a power of two.
pub(super) const PAGE: u32 = 10;
/// Granules of a page.
pub(super) const SIZE: usize = 1 << PAGE;

/// Weak, strong but narrow, strong and wide; reads and writes.
pub(super) const KINDS: usize = 6;

/// Nobody.
const NONE: u64 = u64::MAX;
/// Bits of a class: what is beyond is the thread's number in its block, and the block.
const CLASS: u32 = 22;
/// Bits of a thread's number: a block has 1,024 threads at most.
const THREAD: u32 = 10;

/// The classes that can be told apart.
pub(super) const CLASSES: usize = (1 << CLASS) - 1;

/// A thread and what it did, in one number: of two, the smaller one is that of the first thread.
pub(super) fn pack(block: BlockId, thread: ThreadId, class: usize) -> u64 {
    u64::from(block.0) << (THREAD + CLASS) | u64::from(thread.0) << CLASS | class as u64
}

/// From a thread to the next one that did the same.
pub(super) const NEXT_THREAD: u64 = 1 << CLASS;

/// For each granule and one kind of access, who did it.
pub(super) type Cells = Box<[u64; SIZE]>;

/// A page's cells, by kind, as far as there was such an access.
#[derive(Clone, Debug, Default)]
pub(super) struct Page {
    kinds: [Option<Cells>; KINDS],
    /// Bytes of a granule, as a power of two.
    shift: u32,
}

/// Puts a thread where nobody or a later one is. What a thread did first stays.
#[inline(always)]
fn put(cell: &mut u64, who: u64) {
    let earlier = who >> CLASS < *cell >> CLASS;
    *cell = if earlier { who } else { *cell };
}

/// Puts threads that follow each other into cells that do, two to the power `each` a thread.
#[inline]
pub(super) fn put_run(cells: &mut [u64], first: u64, each: u32) {
    for (i, cell) in cells.iter_mut().enumerate() {
        put(cell, first + (i as u64 >> each) * NEXT_THREAD);
    }
}

/// Puts one thread into all the cells.
#[inline]
pub(super) fn put_one(cells: &mut [u64], who: u64) {
    for cell in cells {
        put(cell, who);
    }
}

impl Page {
    pub(super) fn new(shift: u32) -> Page {
        Page {
            kinds: Default::default(),
            shift,
        }
    }

    /// The cells of a kind of access.
    #[inline]
    pub(super) fn cells(&mut self, kind: usize) -> &mut [u64; SIZE] {
        self.kinds[kind].get_or_insert_with(|| Box::new([NONE; SIZE]))
    }

    /// Takes over what is on another page of the same memory, whose classes have these numbers here.
    pub(super) fn merge(&mut self, mut other: Page, classes: &[u64]) {
        for (ours, theirs) in self.kinds.iter_mut().zip(&mut other.kinds) {
            let Some(mut theirs) = theirs.take() else {
                continue;
            };
            for who in theirs.iter_mut().filter(|who| **who != NONE) {
                let class = *who as usize & CLASSES;
                *who = *who >> CLASS << CLASS | classes[class];
            }
            match ours {
                None => *ours = Some(theirs),
                Some(ours) => {
                    for (ours, theirs) in ours.iter_mut().zip(theirs.iter()) {
                        put(ours, *theirs);
                    }
                }
            }
        }
    }

    /// Whether something wrote.
    pub(super) fn writes(&self) -> bool {
        self.kinds.iter().skip(1).step_by(2).any(Option::is_some)
    }

    /// Who touched the granule that holds the byte `at`, on a page that begins at `start`, and where the next granule begins.
    pub(super) fn at(
        &self,
        start: u64,
        at: u64,
        classes: &[Class],
        to: &mut Vec<AccessRecord>,
    ) -> u64 {
        let granule = (at - start) >> self.shift;
        let byte = start + (granule << self.shift);
        for cells in self.kinds.iter().flatten() {
            let who = cells[granule as usize];
            if who == NONE {
                continue;
            }
            let class = &classes[who as usize & CLASSES];
            to.push(AccessRecord {
                site: class.site,
                block: BlockId((who >> (THREAD + CLASS)) as u32),
                thread: ThreadId((who >> CLASS) as u32 & ((1 << THREAD) - 1)),
                action: class.action,
                order: Some((class.order, class.scope)),
                address: byte - byte % u64::from(class.bytes.max(1)),
                bytes: class.bytes,
            });
        }
        byte + (1 << self.shift)
    }

    /// The bytes that were touched on a page that begins at `start`, and whether something wrote there.
    pub(super) fn ranges(&self, start: u64) -> Vec<(Range<u64>, bool)> {
        let mut ranges: Vec<(Range<u64>, bool)> = Vec::new();
        for granule in 0..SIZE {
            let by = |cells: &Option<Cells>| cells.as_ref().is_some_and(|c| c[granule] != NONE);
            let read = self.kinds.iter().step_by(2).any(by);
            let written = self.kinds.iter().skip(1).step_by(2).any(by);
            if !read && !written {
                continue;
            }
            let from = start + ((granule as u64) << self.shift);
            let to = from + (1 << self.shift);
            match ranges.last_mut() {
                Some((last, writes)) if last.end == from && *writes == written => last.end = to,
                _ => ranges.push((from..to, written)),
            }
        }
        ranges
    }
}
