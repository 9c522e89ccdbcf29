//! A line of the packed half of the shadow ([`super::lines`]): the last weak write and the weak reads of [`LINE`](super::span::LINE) granules.

use super::block::View;
use super::clock::Stamp;
use super::entry::Race;
use super::reads::{self, Reads, Used};
use super::span::Span;
use simt::observer::HALF;

/// Where a line's state is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum State {
    /// In its spans.
    #[default]
    Packed,
    /// In the cells.
    Open,
    /// In the cells, strong accesses among it.
    Strong,
}

/// Which lanes of which warp have read which granules of a line of shared memory, without a word to the line: see [`super::rows`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reader(pub(super) u32);

impl Reader {
    /// Several, or lanes that read the same granules.
    pub const ANY: Reader = Reader(0);

    /// Half of a warp, lane after lane, with `first` as the first granule; granules are as large as what a lane reads. The other half may
    /// read elsewhere.
    #[inline(always)]
    pub fn adjacent(half: usize, first: u32, v: &View<'_>) -> Reader {
        // Where lane 0 reads, or would: of a line, this says what [`Span::map`] says. A block has up to 32 warps.
        Reader((v.warp << 27) | (first + (2 * HALF - half * HALF) as u32))
    }
}

/// A line, but for reads beyond the first: what most accesses look at, side by side with the same of its neighbours in the processor's
/// cache.
#[derive(Clone, Debug, Default)]
pub struct Line {
    pub(super) state: State,
    /// How many reads are kept: one is in `first`, more are in [`Reads`].
    used: Used,
    /// In global memory, the granules of which reads of two blocks are kept that stand for those of all others.
    /// In shared memory, the [`Reader`] since the block's last barrier, of the reads that the line has not been told of.
    pub(super) represented: u32,
    /// In shared memory, the stamp of the last read.
    pub(super) latest_read: Stamp,
    /// Of one that is not packed, the stamp of the last access.
    pub(super) latest: Stamp,
    pub(super) write: Span,
    /// The read, where there is one.
    first: Span,
}

impl Line {
    /// An open line in shared memory is packed again once a barrier has ordered all of it.
    #[inline(always)]
    pub(super) fn is_packed(&mut self, v: &View<'_>) -> bool {
        if self.state == State::Open && !v.global && self.latest < v.block_floor {
            // Its reads were forgotten when it was opened.
            self.write = Span::default();
            self.state = State::Packed;
        }
        self.state == State::Packed
    }

    /// Whether it is an open one of global memory, without strong accesses.
    #[inline(always)]
    pub(super) fn is_open_global(&self, v: &View<'_>) -> bool {
        v.global && self.state == State::Open
    }

    pub(super) fn forget_reads(&mut self) {
        (self.used, self.represented) = (Used::default(), 0);
    }

    /// All reads.
    pub(super) fn spans<'r>(&'r self, reads: Option<&'r Reads>) -> &'r [Span] {
        match (self.used, reads) {
            (Used::Few(0), _) => &[],
            (Used::Few(1), _) => std::slice::from_ref(&self.first),
            (used, Some(reads)) => reads.spans(used),
            (_, None) => unreachable!("more than one read is in the page's list"),
        }
    }

    /// A read. False if it has to be put among others.
    #[inline(always)]
    pub(super) fn read(&mut self, new: Span, v: &View<'_>) -> Result<bool, Race> {
        if !self.write.is_before(new, v) {
            return Err(Race);
        }
        if v.global {
            // Reads of two blocks are kept already: whatever this one could race with, one of them does.
            if !v.fine_sync && new.granules() & !self.represented == 0 {
                return Ok(true);
            }
        } else {
            self.latest_read = v.now.max(self.latest_read);
        }
        Ok(match self.used {
            Used::Few(0) => {
                (self.first, self.used) = (new, Used::Few(1));
                true
            }
            Used::Few(1) => {
                let first = std::slice::from_mut(&mut self.first);
                reads::put(first, &mut self.represented, new, v)
            }
            _ => false,
        })
    }

    /// Puts a read among others, or a second one beside the first.
    pub(super) fn read_among(
        &mut self,
        reads: &mut Reads,
        new: Span,
        v: &View<'_>,
    ) -> Result<(), Race> {
        reads.add(self.first, &mut self.used, &mut self.represented, new, v)
    }

    #[inline(always)]
    pub(super) fn write(
        &mut self,
        reads: Option<&Reads>,
        new: Span,
        v: &View<'_>,
    ) -> Result<(), Race> {
        let settled = !v.global && self.latest_read < v.block_floor;
        let before = self.write.is_before(new, v)
            && (settled || self.spans(reads).iter().all(|r| r.is_before(new, v)));
        if !before {
            return Err(Race);
        }
        if self.write.is_replaced(new, v) || new.contains(self.write) {
            self.write = new;
        } else if self.write.continues(new) {
            self.write.extend(new);
        } else {
            return Err(Race);
        }
        Ok(())
    }

    /// Whether somebody has read, and written, a granule of a packed line; `None` for an open one.
    pub(super) fn uses(&self, reads: Option<&Reads>, granule: usize) -> Option<(bool, bool)> {
        let covers = |s: Span| {
            s.stamp() != 0 && (usize::from(s.from())..usize::from(s.to())).contains(&granule)
        };
        (self.state == State::Packed).then(|| {
            (
                self.spans(reads).iter().any(|s| covers(*s)),
                covers(self.write),
            )
        })
    }

    /// Whether anything has happened in it, and whether it may have been more than weak reads.
    pub(super) fn is_used(&self, reads: Option<&Reads>) -> (bool, bool) {
        if self.state != State::Packed {
            return (true, true);
        }
        let written = self.write.stamp() != 0;
        (
            written || self.spans(reads).iter().any(|r| r.stamp() != 0),
            written,
        )
    }
}
