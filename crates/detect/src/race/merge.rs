//! Whether forks that ran different blocks at the same time got in each other's way.
//!
//! Blocks of different forks are never ordered, so any conflict that is not morally
//! strong is a race, and which race is for a run on one core to say.

use super::Detector;
use super::access_shape::AccessShape;
use super::cells::Cells;
use super::entry::SLOW;
use super::pages::Pages;
use super::span::LINE;

/// What forks have done to a granule, as far as others must know.
#[derive(Clone, Copy, Default)]
struct Kinds {
    weak_read: bool,
    weak_write: bool,
    strong_write: bool,
    /// The class of all strong accesses, or [`MIXED`]; 0 if there are none.
    class: u16,
}

/// Strong accesses of which no other strong one is morally strong with all.
const MIXED: u16 = SLOW;

impl Kinds {
    fn of(page: &Cells, at: usize) -> Kinds {
        if let Some((weak_read, weak_write)) = page.uses(at) {
            return Kinds {
                weak_read,
                weak_write,
                ..Kinds::default()
            };
        }
        let mut kinds = Kinds {
            weak_read: page.r_stamp[at] != 0,
            weak_write: page.w_stamp[at] != 0,
            ..Kinds::default()
        };
        let strong = page.strong_accesses(at);
        kinds.strong_write = !strong.writes.is_empty();
        let classes = strong.writes.iter().map(|w| w.class);
        for class in classes.chain(strong.reads.iter().map(|r| r.class)) {
            kinds.add(class);
        }
        kinds
    }

    fn add(&mut self, class: AccessShape) {
        let old = AccessShape(self.class);
        if !class.wide() || self.class != 0 && (self.class == MIXED || !old.same_extent(class)) {
            self.class = MIXED;
        } else {
            self.class = class.0;
        }
    }

    fn conflicts(&self, other: &Kinds) -> bool {
        let weak = |a: &Kinds, b: &Kinds| {
            let reads = b.weak_read || b.class != 0;
            a.weak_write && (reads || b.weak_write) || a.weak_read && b.strong_write
        };
        let strong = self.class != 0
            && other.class != 0
            && (self.strong_write || other.strong_write)
            && (self.class == MIXED
                || other.class == MIXED
                || !AccessShape(self.class).same_extent(AccessShape(other.class)));
        weak(self, other) || weak(other, self) || strong
    }

    fn join(&mut self, other: &Kinds) {
        self.weak_read |= other.weak_read;
        self.weak_write |= other.weak_write;
        self.strong_write |= other.strong_write;
        if other.class == MIXED {
            self.class = MIXED;
        } else if other.class != 0 {
            self.add(AccessShape(other.class));
        }
    }
}

/// Whether two forks conflict on some granule.
pub fn conflicts(forks: &[Detector]) -> bool {
    let all: Vec<&Pages> = forks.iter().map(|fork| &fork.global).collect();
    Pages::any_in_common(&all, |pages| {
        pages.iter().any(|page| page.written) && page_conflicts(pages)
    })
}

fn page_conflicts(pages: &[&Cells]) -> bool {
    (0..pages[0].lines.len()).any(|line| {
        let uses = || pages.iter().map(|p| p.is_used(line));
        let shared = uses().filter(|(used, _)| *used).count() > 1;
        shared && uses().any(|(_, written)| written) && line_conflicts(pages, line)
    })
}

fn line_conflicts(pages: &[&Cells], line: usize) -> bool {
    let mut all = [Kinds::default(); LINE];
    for page in pages {
        for (granule, seen) in all.iter_mut().enumerate() {
            let kinds = Kinds::of(page, line * LINE + granule);
            if seen.conflicts(&kinds) {
                return true;
            }
            seen.join(&kinds);
        }
    }
    false
}
