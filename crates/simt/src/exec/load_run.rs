//! Loads of a full warp from shared memory that are performed together ([`crate::lower::load_runs`]).
//!
//! How the words lie is looked at once for each base, and the range is checked at the ends of all loads from it. Where that fails, the
//! loads are performed in their places, each as any other. The observer is told of them in their order.

use super::Core;
use super::whole_row::{BaseRow, load};
use crate::hooks::Hooks;
use crate::memory::{Shared, Words};
use crate::observer::*;
use crate::op::*;
use crate::program::LoadRun;
use crate::state::*;

/// A run whose first load has been executed in the turn that runs.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Loaded {
    /// Its number, as in [`RunPlace::run`].
    run: u32,
    /// Loads that are done.
    done: u32,
}

impl Loaded {
    /// Whether a load has been performed already.
    #[inline(always)]
    fn includes(&self, place: RunPlace) -> bool {
        place.run == self.run && place.place < self.done
    }
}

impl<O: Hooks> Core<'_, O> {
    /// Whether a load of a run, at `pc`, is done: by the first one of the run, which is it if the turn goes on to the run's end, with `left` more
    /// instructions. A split of all lanes is the only one of its warp, so that nobody stands there.
    #[inline(always)]
    pub(super) fn is_loaded(
        &mut self,
        block: &mut Block,
        w: usize,
        place: RunPlace,
        pc: u32,
        left: u32,
    ) -> bool {
        if place.place != 0 {
            return self.loaded.includes(place);
        }
        self.loaded = Loaded::default();
        let last = self.program.load_runs[place.run as usize - 1].last;
        left >= last - pc && self.load_run(block, w, place.run)
    }

    /// Whether a load, at `pc`, is the first one of a run that the quantum, with `left` more instructions, does not go on to the end of.
    #[inline(always)]
    pub(super) fn is_cut(&self, place: RunPlace, pc: u32, left: u32) -> bool {
        place.place == 0 && left < self.program.load_runs[place.run as usize - 1].last - pc
    }

    /// Performs a run's loads, from its first one on: true if that is done, at least.
    #[inline(always)]
    fn load_run(&mut self, block: &mut Block, w: usize, number: u32) -> bool {
        if self.history.is_some() || self.changes.is_some() {
            return false;
        }
        let program = self.program;
        let run = &program.load_runs[number as usize - 1];
        let Some(bases) = self.bases_of(&block.warps[w], run, &block.shared) else {
            return false;
        };
        let who = block.who(w);
        if bases.written {
            self.load_all(block, w, run, &bases);
            self.loaded = Loaded {
                run: number,
                done: run.loads.len() as u32,
            };
            return true;
        }
        let mut done = 0;
        for (of, read) in run.loads.iter().zip(&run.reads[..]) {
            let RunWords { first, layout, .. } = &bases.words[usize::from(of.base)];
            let access = RowAccess {
                first: first.map(|at| u64::from(at).wrapping_add(of.offset as u64)),
                ..SharedRead {
                    site: read.site,
                    first: [0; 2],
                    layout: *layout,
                }
                .row(who)
            };
            let (to, written) = load(&block.shared, &access);
            if !written {
                break;
            }
            block.warps[w].w[of.d.0 as usize] = to;
            if O::WATCHES {
                self.observer.row_access(&access);
            }
            done += 1;
        }
        self.loaded = Loaded { run: number, done };
        done != 0
    }

    /// Performs a run all of whose words have been written.
    #[inline(always)]
    fn load_all(&mut self, block: &mut Block, w: usize, run: &LoadRun, bases: &Bases) {
        let (warp, shared) = (&mut block.warps[w], &block.shared);
        for of in &run.loads {
            let RunWords { first, layout, .. } = &bases.words[usize::from(of.base)];
            let at = first.map(|at| at.wrapping_add(of.offset as u32));
            let (low, high) = warp.w[of.d.0 as usize].split_at_mut(HALF);
            copy_half(shared, layout[0], at[0], low);
            copy_half(shared, layout[1], at[1], high);
        }
        if O::WATCHES {
            self.observer.shared_run(&SharedRun {
                who: block.who(w),
                reads: &run.reads,
                bases: bases.words,
                used: run.bases.len(),
            });
        }
    }

    /// Where the words of all bases lie; none where a load is for others to perform.
    #[inline(always)]
    fn bases_of(&self, warp: &Warp, run: &LoadRun, shared: &Shared) -> Option<Bases> {
        let mut bases = Bases {
            words: [RunWords::default(); RunWords::MOST],
            written: true,
        };
        let end = i64::try_from(shared.bytes).ok()?.checked_sub(4)?;
        for (of, to) in run.bases.iter().zip(&mut bases.words) {
            let BaseRow {
                first,
                layouts: [Some(low), Some(high)],
            } = self.base_row(warp, of.base)?
            else {
                return None;
            };
            to.layout = [low, high];
            for (half, first) in first.into_iter().enumerate() {
                // An address outside of shared memory is no window of it: what wraps around is for others.
                let first = i64::from(u32::try_from(first).ok()?);
                let more = if to.layout[half] == Layout::Adjacent {
                    4 * (HALF as i64 - 1)
                } else {
                    0
                };
                let from = first.saturating_add(of.least);
                let last = first.saturating_add(of.most).saturating_add(more);
                if from < 0 || last > end || from & 3 != 0 {
                    return None;
                }
                bases.written &=
                    last - from < FAR && shared.is_written(from as usize / 4, last as usize / 4);
                to.first[half] = first as u32;
                to.ends[half] = (from as u32, last as u32 + 3);
            }
        }
        Some(bases)
    }
}

/// Bytes from the first to the last word of a base, from which on each load looks for itself whether its words have been written.
const FAR: i64 = 4096;

/// Where the words of a run lie.
struct Bases {
    /// By base.
    words: [RunWords; RunWords::MOST],
    /// All words from the first load's to the last one's of each base have been written.
    written: bool,
}

/// Copies the words of half a warp, which are known to be there.
#[inline(always)]
fn copy_half(shared: &Shared, layout: Layout, at: u32, to: &mut [u32]) {
    let word = (at >> 2) as usize;
    match layout {
        Layout::Adjacent => to.copy_from_slice(&shared.run::<HALF>(word)),
        Layout::Same => to.fill(shared.get(word, 0)),
    }
}
