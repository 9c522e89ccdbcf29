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
use super::cells::Cells;
use super::entry::{LIST, Race, site_of, tag};
use super::line::{Reader, State};
use super::reads::Reads;
use super::span::{LINE, Part, Span};
use simt::ids::{Mask, Site};

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
