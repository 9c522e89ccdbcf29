//! Keeps what a launch does to memory while it runs.

use super::page::{CLASSES, KINDS, NEXT_THREAD, PAGE, Page, SIZE, pack, put_one, put_run};
use super::{Class, Footprint, Part, Who};
use crate::finding::Action;
use simt::ids::LaneId;
use simt::observer::{Access, AccessKind, HALF, LaunchShape, Layout, RowAccess, Scope, Space};
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

/// Offsets into the arena, in order and apart.
pub type Ranges = Arc<[Range<u64>]>;

/// Watches one launch.
#[derive(Clone, Debug, Default)]
pub struct Recorder {
    pages: Vec<Page>,
    /// Where in `pages` a page is, by its number.
    places: HashMap<u64, usize>,
    /// The page of each kind that was touched last, and its place.
    recent: [Option<(u64, usize)>; KINDS],
    classes: Vec<Class>,
    /// The class of an instruction's last access, by its site, and one more; 0 if there is none.
    of_site: Vec<u32>,
    /// What is of interest; everything, if `None`.
    only: Option<Ranges>,
    shift: u32,
    may_synchronise: bool,
}

impl Recorder {
    /// For launches of which no more than what they do to these ranges is of interest, if there are any.
    pub fn only(only: Option<Ranges>) -> Recorder {
        Recorder {
            only,
            ..Recorder::default()
        }
    }

    /// The same for a launch of this shape.
    pub fn begin(&self, shape: &LaunchShape) -> Recorder {
        Recorder {
            only: self.only.clone(),
            shift: shape.global_granule.max(1).trailing_zeros(),
            may_synchronise: shape.strong_global && shape.fine_sync,
            ..Recorder::default()
        }
    }

    /// For another core's share of the same launch.
    pub fn fork(&self) -> Recorder {
        Recorder {
            only: self.only.clone(),
            shift: self.shift,
            may_synchronise: self.may_synchronise,
            ..Recorder::default()
        }
    }

    /// How much of the bytes from `start` to `end` may be of interest: nothing, something, all.
    #[inline]
    fn concerns(&self, start: u64, end: u64) -> Concern {
        let Some(only) = &self.only else {
            return Concern::All;
        };
        let after = only.partition_point(|range| range.end <= start);
        match only.get(after) {
            Some(range) if range.start <= start && end <= range.end => Concern::All,
            Some(range) if range.start < end => Concern::Some,
            _ => Concern::None,
        }
    }

    /// The number of what an instruction does to an element.
    #[inline]
    fn class(&mut self, class: Class) -> usize {
        let site = class.site.0 as usize;
        if let Some(last) = self.of_site.get(site).and_then(|n| n.checked_sub(1))
            && self.classes[last as usize] == class
        {
            return last as usize;
        }
        self.new_class(class)
    }

    #[cold]
    fn new_class(&mut self, class: Class) -> usize {
        let site = class.site.0 as usize;
        if site >= self.of_site.len() {
            self.of_site.resize(site + 1, 0);
        }
        // Of one instruction there are few: a compare-and-swap that fails has only read.
        let known = match self.of_site[site] {
            0 => None,
            _ => self.classes.iter().position(|known| *known == class),
        };
        let number = known.unwrap_or_else(|| {
            // As many instructions as can't be told apart are in no program that can be read.
            if self.classes.len() < CLASSES {
                self.classes.push(class);
            }
            self.classes.len() - 1
        });
        self.of_site[site] = number as u32 + 1;
        number
    }

    #[inline]
    fn page(&mut self, kind: usize, number: u64) -> &mut Page {
        if let Some((recent, place)) = self.recent[kind]
            && recent == number
        {
            return &mut self.pages[place];
        }
        let (pages, shift) = (&mut self.pages, self.shift);
        let place = *self.places.entry(number).or_insert_with(|| {
            pages.push(Page::new(shift));
            pages.len() - 1
        });
        self.recent[kind] = Some((number, place));
        &mut self.pages[place]
    }

    /// One thread's access to adjacent granules.
    #[inline]
    fn one(&mut self, kind: usize, granules: Range<u64>, who: u64) {
        let mut at = granules.start;
        while at < granules.end {
            let (number, from) = (at >> PAGE, at as usize % SIZE);
            let count = (SIZE - from).min((granules.end - at) as usize);
            put_one(
                &mut self.page(kind, number).cells(kind)[from..from + count],
                who,
            );
            at += count as u64;
        }
    }

    /// A memory access of a warp.
    pub fn access(&mut self, access: &Access<'_>) {
        // Constant variables lie in the arena, too.
        if !matches!(access.space, Space::Global | Space::Const) {
            return;
        }
        for lane in (0..32u8).filter(|lane| access.mask >> lane & 1 == 1) {
            let action = match access.kind {
                AccessKind::Read => Action::Read,
                AccessKind::Write => Action::Write,
                // A compare-and-swap that fails has only read.
                _ if access.wrote >> lane & 1 == 0 => Action::Read,
                _ => Action::Atomic,
            };
            let class = Class {
                site: access.site,
                action,
                order: access.order,
                scope: access.scope,
                bytes: access.element,
            };
            for element in 0..access.elements {
                let address =
                    access.address[usize::from(lane)] + u64::from(element * access.element);
                let end = address + u64::from(access.element);
                if self.concerns(address, end) == Concern::None {
                    continue;
                }
                let number = self.class(class);
                let who = pack(access.who.block, access.who.thread(LaneId(lane)), number);
                let granules = address >> self.shift..((end - 1) >> self.shift) + 1;
                self.one(kind(&class), granules, who);
            }
        }
    }

    /// An access of a full warp to words that lie in two rows.
    pub fn row_access(&mut self, access: &RowAccess<'_>) {
        if access.space == Space::Shared {
            return;
        }
        let whole = match self.concerns(access.start(), access.end()) {
            Concern::None => return,
            Concern::Some => false,
            Concern::All => true,
        };
        if !whole || self.shift > 2 {
            let address = access.addresses();
            return self.access(&access.expanded(&address));
        }
        let class = Class {
            site: access.site,
            action: match access.write {
                true => Action::Write,
                false => Action::Read,
            },
            order: access.order,
            scope: access.scope,
            bytes: 4,
        };
        let number = self.class(class);
        let kind = kind(&class);
        let each = 2 - self.shift;
        for (half, layout) in access.layout.into_iter().enumerate() {
            let lane = LaneId((HALF * half) as u8);
            let first = pack(access.who.block, access.who.thread(lane), number);
            let granule = access.first[half] >> self.shift;
            if layout == Layout::Same {
                self.one(kind, granule..granule + (1 << each), first);
                continue;
            }
            let (at, cells) = (granule as usize % SIZE, HALF << each);
            let here = cells.min(SIZE - at);
            let page = self.page(kind, granule >> PAGE).cells(kind);
            put_run(&mut page[at..at + here], first, each);
            if here < cells {
                let page = self.page(kind, (granule >> PAGE) + 1).cells(kind);
                let next = first + (here as u64 >> each) * NEXT_THREAD;
                put_run(&mut page[..cells - here], next, each);
            }
        }
    }

    /// Takes a fork back.
    pub fn merge(&mut self, fork: Recorder) {
        let classes: Vec<u64> = fork.classes.iter().map(|c| self.class(*c) as u64).collect();
        let mut pages: Vec<Option<Page>> = fork.pages.into_iter().map(Some).collect();
        for (number, place) in fork.places {
            if let Some(page) = pages[place].take() {
                self.page(0, number).merge(page, &classes);
            }
        }
    }

    /// What the launch did.
    pub fn finish(self) -> Footprint {
        let mut pages: Vec<Option<Page>> = self.pages.into_iter().map(Some).collect();
        let mut places: Vec<(u64, usize)> = self.places.into_iter().collect();
        places.sort_unstable();
        let bytes = (SIZE as u64) << self.shift;
        let parts = places.into_iter().filter_map(|(number, place)| {
            Some(Part {
                start: number * bytes,
                end: (number + 1) * bytes,
                who: Who::Threads(pages[place].take()?),
            })
        });
        Footprint {
            parts: parts.collect(),
            classes: self.classes,
            may_synchronise: self.may_synchronise,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Concern {
    None,
    Some,
    All,
}

/// The kind under which an access is kept.
fn kind(class: &Class) -> usize {
    let strong = class.order.is_strong();
    let wide = strong && class.scope >= Scope::Gpu;
    let writes = class.action != Action::Read;
    2 * (usize::from(strong) + usize::from(wide)) + usize::from(writes)
}
