//! Where strong accesses were made, and who made them.

use super::super::clock::Stamp;
use simt::ids::Mask;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// Granules of a page, as a power of two: weak accesses to pages without strong ones are of no interest.
pub(super) const PAGE: u32 = 8;
/// In sets of roles and pages: none yet.
pub(super) const NONE: u32 = u32::MAX;

/// Multiplies; the keys are addresses.
#[derive(Clone, Copy, Debug, Default)]
pub(in super::super) struct AddressHasher(u64);

impl Hasher for AddressHasher {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        for b in bytes {
            self.write_u64(u64::from(*b));
        }
    }
    fn write_u64(&mut self, n: u64) {
        let mixed = (self.0 ^ n).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = mixed ^ mixed >> 32;
    }
}

/// By address, or another number that is not chosen by an adversary.
pub(in super::super) type Map<V> = HashMap<u64, V, BuildHasherDefault<AddressHasher>>;

/// Some lanes of a warp that did the same things at one stamp.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub(super) warp: u32,
    pub(super) stamp: Stamp,
    pub(super) mask: Mask,
    /// Index of their [`Roles`].
    pub(super) roles: u32,
    /// Whether the warp has no other entry.
    pub(super) only: bool,
}

/// What happened to a granule.
#[derive(Clone, Debug, Default)]
pub(super) struct Record {
    /// The block that uses it, or [`MANY`].
    pub(super) block: u32,
    /// Index of its [`Roles`].
    pub(super) roles: u32,
    /// Who, the latest warp last; as long as it is one block, and no barrier of it came since.
    pub(super) entries: Vec<Entry>,
    /// Whether a strong store was the first thing to write it.
    pub(super) fresh: bool,
}

pub(super) const MANY: u32 = u32::MAX;

/// Where locations are: their records, found by pages.
#[derive(Clone, Debug, Default)]
pub struct Locations {
    pub(super) records: Vec<Record>,
    /// Where a page's part of `index` begins, by its number.
    pub(super) pages: Map<u32>,
    /// For each granule of the pages, the index of its record, or [`NONE`].
    pub(super) index: Vec<[u32; 1 << PAGE]>,
    /// The page that was looked up last.
    pub(super) last: Option<(u64, u32)>,
    /// Whether any record is [`Record::fresh`].
    pub(super) fresh: bool,
}

impl Locations {
    /// Forgets all, and keeps the memory for more.
    pub(in super::super) fn clear(&mut self) {
        if self.is_empty() {
            return;
        }
        self.records.clear();
        self.pages.clear();
        self.index.clear();
        (self.last, self.fresh) = (None, false);
    }

    /// Whether nothing was made anywhere.
    pub(super) fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    pub(super) fn page(&self, cell: u64) -> Option<&[u32; 1 << PAGE]> {
        let at = self.pages.get(&(cell >> PAGE))?;
        Some(&self.index[*at as usize])
    }

    pub(super) fn get(&self, cell: u64) -> Option<&Record> {
        let at = self.page(cell)?[(cell % (1 << PAGE)) as usize];
        self.records.get(at as usize)
    }

    /// The index of a granule's record, made for `block` if there is none.
    #[inline]
    pub(super) fn record(&mut self, cell: u64, block: u32) -> usize {
        let number = cell >> PAGE;
        let page = match self.last {
            Some((last, page)) if last == number => page,
            _ => {
                let page = *self.pages.entry(number).or_insert_with(|| {
                    self.index.push([NONE; 1 << PAGE]);
                    self.index.len() as u32 - 1
                });
                self.last = Some((number, page));
                page
            }
        };
        let at = &mut self.index[page as usize][(cell % (1 << PAGE)) as usize];
        if *at == NONE {
            *at = self.records.len() as u32;
            self.records.push(Record {
                block,
                ..Record::default()
            });
        }
        *at as usize
    }

    /// All granules that have a record.
    pub(super) fn cells(&self) -> impl Iterator<Item = (u64, &Record)> {
        self.pages.iter().flat_map(move |(number, page)| {
            let all = self.index[*page as usize].iter().enumerate();
            all.filter_map(move |(i, at)| {
                let record = self.records.get(*at as usize)?;
                Some((number << PAGE | i as u64, record))
            })
        })
    }
}
