//! Accesses of whole warps to adjacent words, or to one word, in the fewest steps.
//!
//! Most accesses are of this kind ([`RowAccess`]), and most of them meet nothing: the last write of their lines is settled by a barrier. A
//! write is put into the packed lines ([`super::lines`]) at once. A read of shared memory is not even that: it is
//! *set aside* in a log, and the barrier that settles it empties the log without looking at it. Whatever could depend on it (an access
//! that is not of this kind, a write to a line that was read since the last barrier, a barrier or warp barrier that does more than raise a
//! floor) first has the log told to the lines, read by read, with the stamp and floor that each had. Lines are independent of each
//! other, and nothing happens to a line between a read of it and the telling, except that each thread which read it may write what it
//! read: that is program order, and a line keeps its write and its reads apart. So the shadow is what it would be without a log.
//!
//! A run of loads ([`SharedRun`]) takes one place in the log, and what a warp does again and again takes one, too: a read that is in the log
//! already adds nothing.
//!
//! Reads are set aside only where nothing but barriers orders the threads of a block: exact clocks would know more when the log is told
//! than they did when the read was made.

use super::block::View;
use super::cells::Cells;
use super::clock::Stamp;
use super::line::Reader;
use super::pages::Shadow;
use super::span::{LINE, Part};
use simt::ids::{LANES, Mask};
use simt::observer::{HALF, Layout, RowAccess, RunRead, RunWords, SharedRead, SharedRun, WarpRef};
use std::collections::HashSet;
use std::sync::Arc;

/// Places that [`ReadLog::repeated`] has.
const REPEATED: usize = 128;
/// Runs that a log holds at most.
const RUNS: usize = 256;

/// A read that was set aside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Read {
    stamp: Stamp,
    warp_floor: Stamp,
    warp: u32,
    what: What,
}

/// What a warp read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    /// Two halves of a row.
    Rows(SharedRead),
    /// A run of them, by its place in [`ReadLog::runs`].
    Run(u32),
}

impl Read {
    #[inline(always)]
    fn of(what: What, v: &View<'_>) -> Read {
        Read {
            stamp: v.now,
            warp_floor: v.warp_floor,
            warp: v.warp,
            what,
        }
    }
}

/// A run of reads that was set aside.
#[derive(Clone, Debug)]
struct Run {
    reads: Arc<[RunRead]>,
    bases: [RunWords; RunWords::MOST],
    used: usize,
}

/// Reads that were set aside since the last barrier of a block.
#[derive(Clone, Debug, Default)]
pub struct ReadLog {
    /// Places for reads; what is behind `len` is of no interest.
    places: Vec<Read>,
    len: usize,
    /// Reads that were made again and again, by warp and instruction; looked at once the log is half full.
    repeated: Vec<Option<Read>>,
    /// The runs among them.
    runs: Vec<Run>,
    /// As [`ReadLog::repeated`]: places of runs.
    repeated_runs: Vec<usize>,
}

impl ReadLog {
    /// Whether nothing is set aside.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Whether there are so many at most, none of them a run, and a condition holds for each: its warp, its stamp, what it is.
    pub fn all_of_few(
        &self,
        most: usize,
        condition: impl Fn(u32, Stamp, &SharedRead) -> bool,
    ) -> bool {
        self.len <= most
            && self.places[..self.len].iter().all(|read| match &read.what {
                What::Rows(rows) => condition(read.warp, read.stamp, rows),
                What::Run(_) => false,
            })
    }

    /// A barrier has settled all of them.
    pub fn clear(&mut self) {
        self.len = 0;
        self.runs.clear();
    }

    /// The reads, as accesses of block `who` with the points of view that they had, which end the log.
    pub fn tell<'v>(
        &mut self,
        now: &View<'v>,
        who: WarpRef,
        mut each: impl FnMut(&RowAccess<'_>, &View<'v>),
    ) {
        for read in &self.places[..std::mem::take(&mut self.len)] {
            let who = WarpRef {
                warp: simt::ids::WarpId(read.warp),
                ..who
            };
            let view = View {
                warp: read.warp,
                me: now.first + read.warp,
                now: read.stamp,
                warp_floor: read.warp_floor,
                ..*now
            };
            match read.what {
                What::Rows(rows) => each(&rows.row(who), &view),
                What::Run(place) => {
                    let Run { reads, bases, used } = &self.runs[place as usize];
                    let run = SharedRun {
                        who,
                        reads,
                        bases: *bases,
                        used: *used,
                    };
                    run.each().for_each(|read| each(&read.row(who), &view));
                }
            }
        }
        self.runs.clear();
    }

    /// Sets a run of reads aside. False if there is no room.
    #[inline(always)]
    fn add_run(&mut self, run: &SharedRun<'_>, v: &View<'_>, granules: usize) -> bool {
        let read = Read::of(What::Run(self.runs.len() as u32), v);
        if self.places.is_empty() {
            self.make_room(granules, read);
        }
        if !self.has_room() {
            return false;
        }
        self.places[self.len] = read;
        self.len += 1;
        self.runs.push(Run {
            reads: Arc::clone(run.reads),
            bases: run.bases,
            used: run.used,
        });
        true
    }

    /// Sets a read aside. False if there is no room.
    #[inline(always)]
    fn add(&mut self, read: &SharedRead, v: &View<'_>, granules: usize) -> bool {
        let read = Read::of(What::Rows(*read), v);
        if self.len >= self.places.len() / 2 {
            if self.places.is_empty() {
                self.make_room(granules, read);
            } else if self.is_repeated(&read) {
                return true;
            }
        }
        if !self.has_room() {
            return false;
        }
        self.places[self.len] = read;
        self.len += 1;
        true
    }

    /// Whether there is room for one more.
    #[inline(always)]
    fn has_room(&mut self) -> bool {
        self.len < self.places.len() && self.runs.len() < RUNS || self.leave_out_repeated()
    }

    /// Leaves out what is in the full log more than once: the reads of a loop that nobody waits in. Whether that made enough room to be worth it.
    #[cold]
    #[inline(never)]
    fn leave_out_repeated(&mut self) -> bool {
        let mut seen = HashSet::with_capacity(self.len);
        let (mut len, mut runs) = (0, 0);
        for at in 0..self.len {
            let read = &mut self.places[at];
            let who = (read.stamp, read.warp_floor, read.warp);
            let what = match read.what {
                What::Rows(rows) => Ok(rows),
                What::Run(run) => {
                    let run = &self.runs[run as usize];
                    Err((Arc::as_ptr(&run.reads).cast::<RunRead>(), run.bases))
                }
            };
            if !seen.insert((who, what)) {
                continue;
            }
            if let What::Run(run) = &mut read.what {
                self.runs.swap(runs, *run as usize);
                *run = runs as u32;
                runs += 1;
            }
            self.places.swap(len, at);
            len += 1;
        }
        self.runs.truncate(runs);
        self.repeated.fill(None);
        self.repeated_runs.fill(0);
        self.len = len;
        len <= self.places.len() / 4 * 3 && runs <= RUNS / 4 * 3
    }

    #[cold]
    fn make_room(&mut self, granules: usize, any: Read) {
        self.places.resize(granules.clamp(64, 1024), any);
        self.repeated.resize(REPEATED, None);
        self.repeated_runs.resize(REPEATED, 0);
    }

    /// Whether a warp has just made the same run, which is set aside; if not, the run is about to be put at the end of the log. A run is many
    /// reads, so that it is worth a look each time.
    #[inline(always)]
    fn has_just(&mut self, run: &SharedRun<'_>, v: &View<'_>) -> bool {
        if self.places.is_empty() {
            return false;
        }
        let site = run.reads.first().map_or(0, |first| first.site.0);
        let hash = site ^ v.warp.wrapping_mul(0x9e37_79b1) >> 16;
        let place = &mut self.repeated_runs[hash as usize % REPEATED];
        let last = std::mem::replace(place, self.len);
        let same = self.places[..self.len].get(last).is_some_and(|other| {
            let What::Run(at) = other.what else {
                return false;
            };
            let at = &self.runs[at as usize];
            (other.stamp, other.warp_floor, other.warp) == (v.now, v.warp_floor, v.warp)
                && Arc::ptr_eq(&at.reads, run.reads)
                && at.bases == run.bases
        });
        if same {
            *place = last;
        }
        same
    }

    #[inline(always)]
    fn is_repeated(&mut self, read: &Read) -> bool {
        let What::Rows(rows) = read.what else {
            return false;
        };
        let place = rows.site.0 ^ read.warp.wrapping_mul(0x9e37_79b1) >> 16;
        let last = &mut self.repeated[place as usize % REPEATED];
        let same = *last == Some(*read);
        *last = Some(*read);
        same
    }
}

/// First and last line of half a warp's words.
#[inline(always)]
fn lines_of(first: u32, layout: Layout) -> [usize; 2] {
    let more = match layout {
        Layout::Adjacent => HALF as u32 - 1,
        Layout::Same => 0,
    };
    [first as usize / LINE, (first + more) as usize / LINE]
}

/// Who reads, in each half of a warp.
#[inline(always)]
fn readers_of(first: [u32; 2], layout: [Layout; 2], v: &View<'_>) -> [Reader; 2] {
    std::array::from_fn(|half| match layout[half] {
        Layout::Adjacent => Reader::adjacent(half, first[half], v),
        Layout::Same => Reader::ANY,
    })
}

/// Granules of 4 bytes at the beginning of both halves.
#[inline(always)]
fn granules(access: &RowAccess<'_>) -> [u32; 2] {
    let [low, high] = access.first;
    [(low / 4) as u32, (high / 4) as u32]
}

/// Lines that one warp has read in one way since anything else happened, of the first 64.
#[derive(Clone, Copy, Debug, Default)]
pub struct JustRead {
    lines: u64,
    readers: [Reader; 2],
}

/// A read of shared memory, in granules of 4 bytes, where [`View::fine_sync`] is false. False if nothing was done.
///
/// What is true of a line for one read is true for the next one by the same lanes: `just` has the lines that need no second look.
#[inline(always)]
pub fn set_aside(
    shared: &mut Cells,
    log: &mut ReadLog,
    read: &SharedRead,
    v: &View<'_>,
    just: &mut JustRead,
) -> bool {
    let first = read.first.map(|at| at / 4);
    let [a, b] = lines_of(first[0], read.layout[0]);
    let [c, d] = lines_of(first[1], read.layout[1]);
    let readers = readers_of(first, read.layout, v);
    let near = a | b | c | d;
    let lines = match near < 64 {
        true => 1 << a | 1 << b | 1 << c | 1 << d,
        false => 0,
    };
    let again = readers == just.readers;
    if again && lines != 0 && lines & !just.lines == 0 {
        return log.add(read, v, shared.granules());
    }
    // Mostly two of them are the same, if not all.
    let readable = shared.is_readable(a, v)
        && (b == a || shared.is_readable(b, v))
        && (c == a && d == b || shared.is_readable(c, v) && shared.is_readable(d, v));
    if !readable {
        return false;
    }
    if !log.add(read, v, shared.granules()) {
        return false;
    }
    let [low, high] = readers;
    shared.has_read(a, low, v);
    if b != a {
        shared.has_read(b, low, v);
    }
    if c != a || d != b || low != high {
        shared.has_read(c, high, v);
        shared.has_read(d, high, v);
    }
    just.lines = if again { just.lines | lines } else { lines };
    just.readers = readers;
    true
}

/// A run of reads of shared memory; as [`set_aside`]. The lines between the words of a base count as read, too: at worst the log is told
/// before a write to them.
#[inline(always)]
pub fn set_run_aside(
    shared: &mut Cells,
    log: &mut ReadLog,
    run: &SharedRun<'_>,
    v: &View<'_>,
) -> bool {
    // While it is set aside, nobody has written to its lines.
    if log.has_just(run, v) {
        return true;
    }
    // Mostly both halves lie alike.
    let lines = |words: &RunWords| {
        let [a, b] = words
            .ends
            .map(|(from, to)| from as usize / 4 / LINE..=to as usize / 4 / LINE);
        let b = if a == b { None } else { Some(b) };
        std::iter::once(a).chain(b).flatten()
    };
    let mut all = run.words().iter().flat_map(lines);
    if !all.all(|line| shared.is_readable(line, v)) || !log.add_run(run, v, shared.granules()) {
        return false;
    }
    for line in run.words().iter().flat_map(lines) {
        shared.has_read(line, Reader::ANY, v);
    }
    true
}

/// Whether a write meets reads that were set aside, other than of its own lanes, each where it writes.
#[inline]
pub fn meets_reads(shared: &Cells, access: &RowAccess<'_>, v: &View<'_>) -> bool {
    let first = granules(access);
    let [a, b] = lines_of(first[0], access.layout[0]);
    let [c, d] = lines_of(first[1], access.layout[1]);
    let [low, high] = readers_of(first, access.layout, v);
    shared.is_read_by_others(a, low, v)
        || b != a && shared.is_read_by_others(b, low, v)
        || (c != a || d != b || low != high)
            && (shared.is_read_by_others(c, high, v) || shared.is_read_by_others(d, high, v))
}

/// An access to packed lines. False if it has to be told again, as any access is: a line is not packed, or there may be a race.
pub fn packed(shadow: &mut impl Shadow, access: &RowAccess<'_>, v: &View<'_>, shift: u32) -> bool {
    let [low, high] = access.layout;
    if access.is_adjacent() {
        return adjacent(shadow, access, v, shift, (0, LANES));
    }
    if low == Layout::Same && high == Layout::Same && access.first[0] == access.first[1] {
        return same(shadow, access, v, shift, (0, Mask::MAX));
    }
    let mut half = |layout, half, lanes| match layout {
        Layout::Adjacent => adjacent(shadow, access, v, shift, (half, HALF)),
        Layout::Same => same(shadow, access, v, shift, (half, lanes)),
    };
    half(low, 0, 0xffff) && half(high, 1, 0xffff_0000)
}

#[inline(always)]
fn adjacent(
    shadow: &mut impl Shadow,
    access: &RowAccess<'_>,
    v: &View<'_>,
    shift: u32,
    (half, lanes): (usize, usize),
) -> bool {
    let width = 4 >> shift;
    let (first, count) = (access.first[half] >> shift, lanes * width);
    let number = half * HALF * width;
    match shadow.piece(first, count) {
        Some((page, at)) => lines(page, at, count, (number, width), access, v),
        None => in_pieces(shadow, first, count, (number, width), access, v),
    }
}

/// [`adjacent`], where not all memory is in one place.
#[inline(never)]
fn in_pieces(
    shadow: &mut impl Shadow,
    first: u64,
    count: usize,
    (number, width): (usize, usize),
    access: &RowAccess<'_>,
    v: &View<'_>,
) -> bool {
    let mut fits = true;
    shadow.pieces(first, count, |page, at, from, n| {
        fits = fits && lines(page, at, n, (number + from, width), access, v);
    });
    fits
}

/// Lines of one place, of which `count` granules are accessed from `at` on: the first one with this `number`, counted from lane 0's first,
/// `width` by each lane.
#[inline(always)]
fn lines(
    page: &mut Cells,
    at: usize,
    count: usize,
    (number, width): (usize, usize),
    access: &RowAccess<'_>,
    v: &View<'_>,
) -> bool {
    let mut done = 0;
    while done < count {
        let part = Part {
            line: (at + done) / LINE,
            from: (at + done) % LINE,
            count: (LINE - (at + done) % LINE).min(count - done),
            number: number + done,
            width,
        };
        done += part.count;
        let fits = match access.write {
            true => page.write_packed(&part, v, access.site),
            false => page.read_packed(&part, v, access.site),
        };
        if fits.is_err() {
            return false;
        }
    }
    true
}

#[inline]
fn same(
    shadow: &mut impl Shadow,
    access: &RowAccess<'_>,
    v: &View<'_>,
    shift: u32,
    (half, lanes): (usize, Mask),
) -> bool {
    if access.write {
        return false;
    }
    let width = 4 >> shift;
    let mut fits = true;
    let first = access.first[half] >> shift;
    // What one lane accesses is aligned to its size, and of a line at most.
    shadow.pieces(first, width, |page, at, _, n| {
        let part = Part {
            line: at / LINE,
            from: at % LINE,
            count: n,
            number: 0,
            width,
        };
        fits &= page.read_alike(&part, lanes, v, access.site).is_ok();
    });
    fits
}
