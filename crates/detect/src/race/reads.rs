//! The reads of a packed line where there is more than one.

use super::block::View;
use super::entry::Race;
use super::span::Span;

/// Reads that a packed line holds.
const FEW: usize = 6;
/// Reads that a packed line of shared memory holds where those are too few; a power of two.
const MANY: usize = 64;
/// Places among the many that are tried for a read before all are looked at.
const PROBES: usize = 8;

/// How many reads a line holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Used {
    /// So many; up to one is in the line itself.
    Few(u8),
    /// In shared memory: any number, in [`Reads::many`].
    Many,
}

impl Default for Used {
    fn default() -> Used {
        Used::Few(0)
    }
}

/// The reads of a line.
#[derive(Clone, Debug, Default)]
pub struct Reads {
    few: [Span; FEW],
    /// In shared memory, all reads, once they have been too many for the few.
    many: Option<Box<[Span; MANY]>>,
}

impl Reads {
    pub(super) fn spans(&self, used: Used) -> &[Span] {
        match (used, &self.many) {
            (Used::Few(used), _) => &self.few[..usize::from(used)],
            (Used::Many, Some(many)) => &many[..],
            (Used::Many, None) => unreachable!("they are made when they become many"),
        }
    }

    /// Puts a read among them. If there is one so far, it is `first`, in the line.
    #[inline]
    pub(super) fn add(
        &mut self,
        first: Span,
        used: &mut Used,
        represented: &mut u32,
        new: Span,
        v: &View<'_>,
    ) -> Result<(), Race> {
        if let Used::Few(few) = *used {
            let count = usize::from(few);
            // A single one has been tried with [`put`].
            if count == 1 {
                self.few[0] = first;
            } else if put(&mut self.few[..count], represented, new, v) {
                return Ok(());
            }
            if count < FEW {
                self.few[count] = new;
                *used = Used::Few(few + 1);
                return Ok(());
            }
            if v.global {
                return Err(Race);
            }
            let many = self
                .many
                .get_or_insert_with(|| Box::new([Span::default(); MANY]));
            many.fill(Span::default());
            many[..FEW].copy_from_slice(&self.few);
            *used = Used::Many;
        }
        match &mut self.many {
            Some(many) => read_many(many, new, v),
            None => Err(Race),
        }
    }
}

/// Whether readers of two warps stand for all others that no floor covers.
fn are_pair(one: u32, other: u32, v: &View<'_>) -> bool {
    let both_here = v.in_block(one) && v.in_block(other);
    one != other && (both_here || v.locate(one).0 != v.locate(other).0)
}

/// Lets one of these reads stand for a new one: by taking its place, by growing, or because two of them already do. False if none can.
/// `represented` collects the granules of which reads of two blocks are kept.
#[inline]
pub(super) fn put(reads: &mut [Span], represented: &mut u32, new: Span, v: &View<'_>) -> bool {
    let (mut room, mut same, mut first, mut pair) = (None, None, None, false);
    for at in 0..reads.len() {
        let read = &mut reads[at];
        if read.is_replaced(new, v) {
            *read = Span::default();
            *represented = 0;
            room = room.or(Some(at));
        } else if read.continues(new) {
            read.extend(new);
            return true;
        } else if read.warp() == v.me
            && (read.stamp() < v.warp_floor || read.map() == new.map())
            && new.contains(*read)
            && (read.stamp() != v.now || read.site() == new.site() || same.is_some())
        {
            // The same lanes again, later in program order. Of two instructions both are remembered, as long as nothing
            // lies between that others could know of.
            reads[same.unwrap_or(at)] = new;
            return true;
        } else if read.warp() == v.me && read.map() == new.map() && new.contains(*read) {
            same = Some(at);
        } else if read.contains(new) && !read.is_settled(v) {
            if let Some(one) = first
                && are_pair(one, read.warp(), v)
            {
                pair = true;
                // Reads of one block stand for others until its next barrier alone.
                if v.locate(one).0 != v.locate(read.warp()).0 {
                    *represented |= new.granules();
                }
            }
            first = first.or(Some(read.warp()));
        }
    }
    // Two stand for all that follow: see the pairs in [`super::cells`].
    if pair && !v.fine_sync {
        return true;
    }
    if let Some(at) = room {
        reads[at] = new;
    }
    room.is_some()
}

/// A read of a line of shared memory among many.
#[inline(always)]
fn read_many(many: &mut [Span; MANY], new: Span, v: &View<'_>) -> Result<(), Race> {
    let first = (new.mixed() >> (32 - MANY.trailing_zeros())) as usize;
    let mut same = None;
    for probe in 0..PROBES {
        let at = (first + probe * 3) % MANY;
        let read = &mut many[at];
        if read.stamp() < v.block_floor {
            *read = new;
            return Ok(());
        }
        if read.continues(new) {
            read.extend(new);
            return Ok(());
        }
        if read.warp() == v.me && read.map() == new.map() && new.contains(*read) {
            // The same lanes again. Of two instructions both are remembered, as long as nothing lies between
            // that others could know of.
            if read.stamp() < v.now || read.site() == new.site() || same.is_some() {
                many[same.unwrap_or(at)] = new;
                return Ok(());
            }
            same = Some(at);
        }
    }
    if let Some(at) = same {
        many[at] = new;
        return Ok(());
    }
    crowded(many, new, v)
}

/// The same where all places for it are taken.
#[cold]
fn crowded(many: &mut [Span; MANY], new: Span, v: &View<'_>) -> Result<(), Race> {
    let (mut first, mut pair) = (None, false);
    for read in many.iter_mut() {
        if read.stamp() < v.block_floor {
            *read = new;
            return Ok(());
        }
        if read.continues(new) {
            read.extend(new);
            return Ok(());
        }
        if read.contains(new) {
            pair |= first.is_some_and(|one| are_pair(one, read.warp(), v));
            first = first.or(Some(read.warp()));
        }
    }
    // Two stand for all that follow: see the pairs in [`super::cells`].
    if pair && !v.fine_sync {
        Ok(())
    } else {
        Err(Race)
    }
}
