//! What is known of one block: a floor for all of it, floors for its warps, and bounds for single lanes ([`super::clock`]).

use super::trie::Join;
use simt::ids::Mask;
use std::sync::Arc;

/// A time in a warp: grows when one of its threads synchronises. See [`super`].
pub type Stamp = u32;

/// What is known of one warp.
#[derive(Clone, Debug, Default)]
struct WarpClock {
    warp: u32,
    floor: Stamp,
    lanes: Option<Arc<[Stamp; 32]>>,
}

/// What is known of one block.
#[derive(Clone, Debug, Default)]
pub struct BlockClock {
    floor: Stamp,
    /// By ascending warp.
    warps: Vec<WarpClock>,
}

impl BlockClock {
    /// Everything in the block stamped below `floor`.
    pub fn floor(floor: Stamp) -> BlockClock {
        BlockClock {
            floor,
            warps: Vec::new(),
        }
    }

    fn warp_mut(&mut self, warp: u32) -> &mut WarpClock {
        let at = match self.warps.binary_search_by_key(&warp, |w| w.warp) {
            Ok(at) => at,
            Err(at) => {
                self.warps.insert(
                    at,
                    WarpClock {
                        warp,
                        ..WarpClock::default()
                    },
                );
                at
            }
        };
        &mut self.warps[at]
    }

    /// Adds everything of a warp stamped below `floor`.
    pub fn raise_warp(&mut self, warp: u32, floor: Stamp) {
        if floor > self.floor {
            let w = self.warp_mut(warp);
            w.floor = w.floor.max(floor);
        }
    }

    /// Adds everything of some lanes stamped below `bound`.
    pub fn raise_lanes(&mut self, warp: u32, lanes: Mask, bound: Stamp) {
        if lanes == u32::MAX {
            return self.raise_warp(warp, bound);
        }
        if bound <= self.floor {
            return;
        }
        let w = self.warp_mut(warp);
        if bound <= w.floor {
            return;
        }
        let bounds = Arc::make_mut(w.lanes.get_or_insert_with(|| Arc::new([0; 32])));
        for (lane, b) in bounds.iter_mut().enumerate() {
            if lanes >> lane & 1 == 1 {
                *b = (*b).max(bound);
            }
        }
    }

    /// The lanes of a warp whose events at `stamp` are known.
    pub(super) fn covered(&self, warp: u32, stamp: Stamp) -> Mask {
        if stamp < self.floor {
            return u32::MAX;
        }
        let Ok(at) = self.warps.binary_search_by_key(&warp, |w| w.warp) else {
            return 0;
        };
        let w = &self.warps[at];
        if stamp < w.floor {
            return u32::MAX;
        }
        w.lanes.as_deref().map_or(0, |bounds| {
            (0..32).fold(0, |m, lane| m | u32::from(stamp < bounds[lane]) << lane)
        })
    }
}

impl Join for BlockClock {
    fn join(&mut self, other: &BlockClock) -> bool {
        let mut changed = other.floor > self.floor;
        if changed {
            self.floor = other.floor;
            let floor = self.floor;
            self.warps.retain(|w| w.floor > floor || w.lanes.is_some());
        }
        for theirs in &other.warps {
            if theirs.floor <= self.floor && theirs.lanes.is_none() {
                continue;
            }
            let floor = self.floor;
            let ours = self.warp_mut(theirs.warp);
            if theirs.floor > ours.floor.max(floor) {
                ours.floor = theirs.floor;
                changed = true;
            }
            let Some(new) = &theirs.lanes else { continue };
            let known = ours.floor.max(floor);
            match &mut ours.lanes {
                Some(old) if Arc::ptr_eq(old, new) => {}
                Some(old) => {
                    if (0..32).any(|l| new[l] > old[l].max(known)) {
                        let old = Arc::make_mut(old);
                        (0..32).for_each(|l| old[l] = old[l].max(new[l]));
                        changed = true;
                    }
                }
                None => {
                    if new.iter().any(|&b| b > known) {
                        ours.lanes = Some(new.clone());
                        changed = true;
                    }
                }
            }
        }
        changed
    }

    fn covers(&self, other: &BlockClock) -> bool {
        if other.floor > self.floor {
            return false;
        }
        other.warps.iter().all(|theirs| {
            let at = self.warps.binary_search_by_key(&theirs.warp, |w| w.warp);
            let ours = at.ok().map(|at| &self.warps[at]);
            let known = ours.map_or(self.floor, |w| w.floor.max(self.floor));
            let lanes = match (ours.and_then(|w| w.lanes.as_ref()), &theirs.lanes) {
                (_, None) => true,
                (Some(old), Some(new)) => {
                    Arc::ptr_eq(old, new) || (0..32).all(|l| new[l] <= old[l].max(known))
                }
                (None, Some(new)) => new.iter().all(|bound| *bound <= known),
            };
            theirs.floor <= known && lanes
        })
    }
}
