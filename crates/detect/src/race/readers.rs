//! Who has read a granule of open memory: the states that [`super::cells`] describes, from one to the next.

use super::block::View;
use super::cells::{Cells, PAIR, TWIN};
use super::entry::{Entry, FAR, LIST, lane_of, site_of};
use simt::ids::{Mask, Site};

impl Cells {
    /// The weak readers that are known of one by one.
    pub(super) fn readers(&self, at: usize) -> impl Iterator<Item = Entry> + '_ {
        let (stamp, mask) = (self.r_stamp[at], self.r_mask[at]);
        let (warp, tag) = (self.r_warp[at], self.r_tag[at]);
        let mut few = [None; 2];
        let mut many: &[Entry] = &[];
        let entry = |warp, mask, tag| {
            let site = site_of(tag);
            Entry {
                warp,
                stamp,
                mask,
                site,
            }
        };
        let (mask2, tag2) = (self.r_mask2[at], self.r_tag2[at]);
        if stamp == LIST {
            many = self.lists.get(site_of(tag));
        } else if tag & PAIR != 0 {
            few[0] = Some(entry(warp, mask, tag));
            few[1] = Some(entry(mask2, 1 << lane_of(tag2), tag2));
        } else if mask != 0 {
            let second = if tag & TWIN != 0 { mask2 } else { 0 };
            few[0] = Some(entry(warp, mask & !second, tag)).filter(|e| e.mask != 0);
            few[1] = Some(entry(warp, second, tag2)).filter(|e| e.mask != 0);
        }
        few.into_iter().flatten().chain(many.iter().copied())
    }

    /// Remembers a weak read of one cell by some lanes.
    pub fn add_reader(&mut self, at: usize, mask: Mask, v: &View<'_>, site: Site) {
        let new = Entry {
            warp: v.me,
            stamp: v.now,
            mask,
            site: site.0,
        };
        let lane = mask.trailing_zeros();
        let (stamp, warp) = (self.r_stamp[at], self.r_warp[at]);
        let pair = self.r_tag[at] & PAIR != 0 && stamp != LIST;
        if self.r_mask[at] != 0 && !pair {
            if warp == v.me && stamp == v.now && stamp >= v.warp_floor && self.add_lanes(at, &new) {
                return;
            }
            let old_mask = self.r_mask[at];
            let left = if warp == v.me {
                old_mask & !mask
            } else {
                old_mask
            };
            if left & v.unordered(lane, warp, old_mask, stamp) == 0 {
                return self.set_single(at, new);
            }
            let first = self.readers(at).next();
            match first.filter(|_| !v.fine_sync && warp != v.me) {
                Some(old) => self.set_pair(at, old, new, v),
                None => {
                    let old = self.readers(at).collect();
                    self.set_list(at, old, new, v);
                }
            }
        } else if stamp == LIST {
            let known = self.lists.get_mut(site_of(self.r_tag[at]));
            if known.iter().all(|e| e.warp == v.me && e.stamp == v.now) {
                // One warp at several instructions: it has learnt nothing in between.
                return add_entry(known, new, v);
            }
            let mut entries = self.lists.remove(site_of(self.r_tag[at]));
            if v.fine_sync {
                return self.set_list(at, entries, new, v);
            }
            entries.retain(|e| v.unordered(lane, e.warp, e.mask, e.stamp) != 0);
            // One of another block stays unordered when a barrier orders those of this one.
            let far = entries.iter().find(|e| !v.in_block(e.warp));
            match far.or(entries.iter().find(|e| e.warp != v.me)) {
                Some(&other) => self.set_pair(at, other, new, v),
                None if entries.is_empty() => self.set_single(at, new),
                None => self.set_list(at, entries, new, v),
            }
        } else if stamp == 0 {
            self.set_single(at, new);
        } else {
            let other = self
                .readers(at)
                .find(|e| v.unordered(lane, e.warp, e.mask, e.stamp) != 0);
            match other {
                None => self.set_single(at, new),
                // A pair of another block becomes a far one; all others stay.
                Some(old) if stamp != FAR && !v.in_block(warp) => {
                    self.set_pair(at, old, new, v);
                }
                Some(_) => {}
            }
        }
    }

    /// Adds a reader that is as old as it is, when a line is opened.
    pub(super) fn insert_reader(&mut self, at: usize, e: Entry, v: &View<'_>) {
        let (stamp, warp) = (self.r_stamp[at], self.r_warp[at]);
        if stamp == 0 {
            return self.set_single(at, e);
        }
        let single = stamp != LIST && self.r_tag[at] & PAIR == 0;
        if single && (stamp, warp) == (e.stamp, e.warp) && self.add_lanes(at, &e) {
            return;
        }
        let live = |warp, stamp| v.in_block(warp) && stamp >= v.block_floor;
        let apart = !v.fine_sync && warp != e.warp && live(warp, stamp) && live(e.warp, e.stamp);
        let first = self.readers(at).next();
        if let Some(old) = first.filter(|_| single && apart) {
            return self.set_pair(at, old, e, v);
        }
        let pair = stamp != LIST && !single;
        if pair && !v.fine_sync && v.in_block(e.warp) {
            // The pair stands for it: whoever is unordered with it is so with one of the two.
            return;
        }
        let old = self.readers(at).collect();
        if stamp == LIST {
            self.lists.remove(site_of(self.r_tag[at]));
        }
        self.set_list(at, old, e, v);
    }

    fn set_single(&mut self, at: usize, e: Entry) {
        self.r_stamp[at] = e.stamp;
        self.r_warp[at] = e.warp;
        self.r_mask[at] = e.mask;
        self.r_tag[at] = e.site << 5;
    }

    fn set_pair(&mut self, at: usize, old: Entry, new: Entry, v: &View<'_>) {
        self.r_stamp[at] = if v.in_block(old.warp) {
            old.stamp.min(new.stamp)
        } else {
            FAR
        };
        self.r_warp[at] = old.warp;
        self.r_mask[at] = old.mask;
        self.r_tag[at] = old.site << 5 | PAIR;
        self.r_mask2[at] = new.warp;
        self.r_tag2[at] = new.site << 5 | new.mask.trailing_zeros();
    }

    /// Adds lanes to a single reader or twin of the same warp and stamp, if they fit.
    fn add_lanes(&mut self, at: usize, new: &Entry) -> bool {
        let (tag, tag2) = (self.r_tag[at], self.r_tag2[at]);
        let twin = tag & TWIN != 0;
        let mask2 = &mut self.r_mask2[at];
        if site_of(tag) == new.site {
            *mask2 &= !new.mask;
        } else if twin && site_of(tag2) == new.site {
            *mask2 |= new.mask;
        } else if !twin {
            *mask2 = new.mask;
            self.r_tag2[at] = new.site << 5;
            self.r_tag[at] |= TWIN;
        } else {
            return false;
        }
        self.r_mask[at] |= new.mask;
        true
    }

    fn set_list(&mut self, at: usize, mut entries: Vec<Entry>, new: Entry, v: &View<'_>) {
        add_entry(&mut entries, new, v);
        self.r_stamp[at] = LIST;
        // In no block, so that the fast loops leave it alone.
        self.r_warp[at] = u32::MAX;
        self.r_mask[at] = 0;
        self.r_tag[at] = self.lists.insert(entries) << 5;
    }
}

/// Adds an entry to a list sorted by warp; what it dominates by program order goes.
fn add_entry(entries: &mut Vec<Entry>, new: Entry, v: &View<'_>) {
    if entries.len() >= 16 && entries.len().is_power_of_two() {
        // What is ordered before a later reader need not be kept: whoever comes after the
        // later one comes after both.
        let lane = new.mask.trailing_zeros();
        entries.retain(|e| v.unordered(lane, e.warp, e.mask, e.stamp) != 0);
    }
    let from = entries.partition_point(|e| e.warp < new.warp);
    let to = entries.partition_point(|e| e.warp <= new.warp);
    for e in &mut entries[from..to] {
        e.mask &= !new.mask;
    }
    let same = entries[from..to]
        .iter()
        .position(|e| e.stamp == new.stamp && e.site == new.site);
    match same {
        Some(i) => entries[from + i].mask |= new.mask,
        None => entries.insert(to, new),
    }
    if entries[from..=to.min(entries.len() - 1)]
        .iter()
        .any(|e| e.mask == 0)
    {
        entries.retain(|e| e.mask != 0);
    }
}
