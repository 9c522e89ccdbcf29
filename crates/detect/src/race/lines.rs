//! Lines: the packed half of the shadow.
//!
//! Most accesses of a warp are to adjacent memory, lane after lane. What one such access
//! leaves in a line of [`LINE`] granules fits in one [`Span`] of 16 bytes, however many
//! granules it covers, and one comparison per span tells whether the next access is ordered
//! after it. A line holds the last weak write and a few weak reads in that form; in shared memory, where
//! every barrier makes room again without touching it, many, placed by who reads where ([`super::reads`]).
//! What does not fit (two writers, very many readers, strong accesses, anything that the
//! floors alone don't order) opens the line: its spans are written out into [`Cells`], granule
//! by granule, and it stays open until a barrier of the block has ordered everything in it.
//!
//! Both halves keep the same facts, so a verdict does not depend on which one a line is in.

use super::block::View;
use super::cells::{Cells, LIST, Race, site_of, tag};
use super::clock::Stamp;
use super::reads::{self, Reads, Used};
use super::span::Span;
use simt::ids::{Mask, Site};
use simt::observer::HALF;

/// Granules of a line.
pub const LINE: usize = 32;

/// Part of an access: the granules of one line.
#[derive(Clone, Copy, Debug)]
pub struct Part {
    /// The line.
    pub line: usize,
    /// The first granule in it.
    pub from: usize,
    /// Granules.
    pub count: usize,
    /// The number of the first one, counted from lane 0's first granule.
    pub number: usize,
    /// Granules of a lane, a power of two.
    pub width: usize,
}

/// Where a line's state is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
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
pub struct Reader(u32);

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
    state: State,
    /// How many reads are kept: one is in `first`, more are in [`Reads`].
    used: Used,
    /// In global memory, the granules of which reads of two blocks are kept that stand for those of all others.
    /// In shared memory, the [`Reader`] since the block's last barrier, of the reads that the line has not been told of.
    represented: u32,
    /// In shared memory, the stamp of the last read.
    latest_read: Stamp,
    /// Of one that is not packed, the stamp of the last access.
    latest: Stamp,
    write: Span,
    /// The read, where there is one.
    first: Span,
}

impl Line {
    /// An open line in shared memory is packed again once a barrier has ordered all of it.
    #[inline(always)]
    fn is_packed(&mut self, v: &View<'_>) -> bool {
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

    fn forget_reads(&mut self) {
        (self.used, self.represented) = (Used::default(), 0);
    }

    /// All reads.
    fn spans<'r>(&'r self, reads: Option<&'r Reads>) -> &'r [Span] {
        match (self.used, reads) {
            (Used::Few(0), _) => &[],
            (Used::Few(1), _) => std::slice::from_ref(&self.first),
            (used, Some(reads)) => reads.spans(used),
            (_, None) => unreachable!("more than one read is in the page's list"),
        }
    }

    /// A read. False if it has to be put among others.
    #[inline(always)]
    fn read(&mut self, new: Span, v: &View<'_>) -> Result<bool, Race> {
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
    fn read_among(&mut self, reads: &mut Reads, new: Span, v: &View<'_>) -> Result<(), Race> {
        reads.add(self.first, &mut self.used, &mut self.represented, new, v)
    }

    #[inline(always)]
    fn write(&mut self, reads: Option<&Reads>, new: Span, v: &View<'_>) -> Result<(), Race> {
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
    fn uses(&self, reads: Option<&Reads>, granule: usize) -> Option<(bool, bool)> {
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
    fn is_used(&self, reads: Option<&Reads>) -> (bool, bool) {
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

impl Cells {
    /// Whether somebody has read, and written, a granule of a packed line; `None` for an open one.
    pub fn uses(&self, at: usize) -> Option<(bool, bool)> {
        let line = at / LINE;
        self.lines[line].uses(self.reads.get(line), at % LINE)
    }

    /// Whether anything has happened in a line, and whether it may have been more than weak reads.
    pub fn is_used(&self, line: usize) -> (bool, bool) {
        self.lines[line].is_used(self.reads.get(line))
    }

    /// Whether a line is packed, and its last write settled.
    #[inline(always)]
    pub fn is_readable(&mut self, line: usize, v: &View<'_>) -> bool {
        self.repack(line, v);
        let line = &mut self.lines[line];
        line.is_packed(v) && line.write.is_settled(v)
    }

    /// Somebody has read a line of shared memory; what exactly is for others to remember.
    #[inline(always)]
    pub fn has_read(&mut self, line: usize, reader: Reader, v: &View<'_>) {
        let line = &mut self.lines[line];
        let others = line.latest_read >= v.block_floor && line.represented != reader.0;
        line.represented = if others { Reader::ANY.0 } else { reader.0 };
        line.latest_read = v.now.max(line.latest_read);
    }

    /// Whether anybody but this reader has read a line of shared memory since the block's last barrier.
    #[inline(always)]
    pub fn is_read_by_others(&self, line: usize, reader: Reader, v: &View<'_>) -> bool {
        let line = &self.lines[line];
        line.latest_read >= v.block_floor && (line.represented != reader.0 || reader == Reader::ANY)
    }

    /// A weak read of adjacent granules within one packed line. An error means that nothing was
    /// done: it may be a race, or the line has to be opened.
    #[inline]
    pub fn read_packed(&mut self, part: &Part, v: &View<'_>, site: Site) -> Result<(), Race> {
        self.read_span(part.line, Span::new(part, v, site), v)
    }

    /// A weak read of the same granules by lanes next to each other; as [`Cells::read_packed`].
    #[inline]
    pub fn read_alike(
        &mut self,
        part: &Part,
        lanes: Mask,
        v: &View<'_>,
        site: Site,
    ) -> Result<(), Race> {
        self.read_span(part.line, Span::alike(part, lanes, v, site), v)
    }

    #[inline(always)]
    fn read_span(&mut self, at: usize, new: Span, v: &View<'_>) -> Result<(), Race> {
        self.repack(at, v);
        let lines = self.lines.len();
        let line = &mut self.lines[at];
        if !line.is_packed(v) {
            return Err(Race);
        }
        if line.read(new, v)? {
            return Ok(());
        }
        if self.reads.is_empty() {
            self.reads = vec![Reads::default(); lines];
        }
        line.read_among(&mut self.reads[at], new, v)
    }

    /// A weak write; as [`Cells::read_packed`].
    #[inline(always)]
    pub fn write_packed(&mut self, part: &Part, v: &View<'_>, site: Site) -> Result<(), Race> {
        self.repack(part.line, v);
        let line = &mut self.lines[part.line];
        if !line.is_packed(v) {
            return Err(Race);
        }
        line.write(self.reads.get(part.line), Span::new(part, v, site), v)?;
        self.written = true;
        Ok(())
    }

    /// Whether nothing is remembered of a line of shared memory that has happened since the block's last barrier, reads of a packed one left
    /// out unless `reads`.
    #[inline]
    pub fn is_untouched(&self, line: usize, reads: bool, v: &View<'_>) -> bool {
        let line = &self.lines[line];
        match line.state {
            State::Packed => {
                line.write.is_settled(v) && !(reads && line.latest_read >= v.block_floor)
            }
            State::Open | State::Strong => line.latest < v.block_floor,
        }
    }

    /// A line of shared memory in which a barrier has ordered all that was strong is packed again.
    #[inline(always)]
    fn repack(&mut self, line: usize, v: &View<'_>) {
        let known = &self.lines[line];
        if known.state == State::Strong && !v.global && !v.fine_sync && known.latest < v.block_floor
        {
            self.forget_line(line);
        }
    }

    #[inline(never)]
    fn forget_line(&mut self, line: usize) {
        for at in line * LINE..line * LINE + LINE {
            self.forget_strong(at);
        }
        self.lines[line].state = State::Open;
    }

    /// Opens the line of a granule, for an access of the viewing warp.
    #[inline]
    pub fn open(&mut self, at: usize, strong: bool, v: &View<'_>) {
        let line = &mut self.lines[at / LINE];
        if line.state == State::Strong {
            line.latest = line.latest.max(v.now);
            return;
        }
        if line.state == State::Packed {
            self.write_out(at / LINE, v);
        }
        let line = &mut self.lines[at / LINE];
        line.latest = line.latest.max(v.now);
        if strong {
            line.state = State::Strong;
        }
    }

    /// Strong accesses have been forgotten in all lines.
    pub(super) fn nothing_strong(&mut self) {
        for line in &mut self.lines {
            if line.state == State::Strong {
                line.state = State::Open;
            }
        }
    }

    /// Writes a packed line's spans out into its cells.
    fn write_out(&mut self, line: usize, v: &View<'_>) {
        self.make_room();
        let (start, end) = (line * LINE, line * LINE + LINE);
        for at in start..end {
            // Left from the last time the line was open.
            if self.r_stamp[at] == LIST {
                self.lists.remove(site_of(self.r_tag[at]));
            }
        }
        for row in [
            &mut self.w_stamp,
            &mut self.w_warp,
            &mut self.w_tag,
            &mut self.r_stamp,
            &mut self.r_warp,
            &mut self.r_mask,
            &mut self.r_tag,
        ] {
            row[start..end].fill(0);
        }
        let packed = &mut self.lines[line];
        let write = std::mem::take(&mut packed.write);
        let mut reads = packed.spans(self.reads.get(line)).to_vec();
        packed.forget_reads();
        // A warp's reads in the order in which they were made: the later ones dominate.
        reads.sort_by_key(|r| r.stamp());
        for granule in write.from()..write.to() {
            let at = start + usize::from(granule);
            self.w_stamp[at] = write.stamp();
            self.w_warp[at] = write.warp();
            let lane = write.lanes(granule).trailing_zeros();
            self.w_tag[at] = tag(Site(write.site()), lane);
        }
        for read in reads.iter().filter(|r| v.global || !r.is_settled(v)) {
            for granule in read.from()..read.to() {
                self.insert_reader(start + usize::from(granule), read.entry(granule), v);
            }
        }
        let line = &mut self.lines[line];
        line.state = State::Open;
        line.latest = write
            .stamp()
            .max(reads.iter().map(|r| r.stamp()).max().unwrap_or(0));
    }
}
