//! Asynchronous copies that a warp has begun and not completed (PTX ISA, "Data Movement and Conversion Instructions: Asynchronous copy").
//!
//! A thread begins copies (`cp.async`), closes groups of them (`cp.async.commit_group`), and waits until all but its newest groups are
//! complete (`cp.async.wait_group`). In between a copy may be performed at any time; here it is as late as the manual lets it be, when its
//! thread waits for it, so that a program that forgets to wait sees old values.

use super::alu::Row64;
use super::ids::*;
use std::collections::VecDeque;

/// Copies that a warp may have begun and not completed. A program that begins more has the oldest ones performed early, which is as legal.
const ROOM: usize = 1024;

/// What one warp-instruction has begun.
#[derive(Clone, Debug)]
pub(crate) struct Pending {
    /// Its number among those of its warp.
    pub number: u64,
    /// Index into [`super::Program::copy_ops`].
    pub op: u32,
    pub site: Site,
    /// The lanes for which it is not complete.
    pub mask: Mask,
    /// The first byte of the source: an offset in the arena.
    pub from: Row64,
    /// The first byte of the destination: an offset in the block's window.
    pub to: Row64,
    /// Bytes that are read; zeros fill the rest.
    pub bytes: [u8; LANES],
    /// For each lane, how many groups it had closed before.
    group: [u32; LANES],
}

/// Those of a warp.
#[derive(Debug, Default)]
pub(crate) struct Copies {
    pending: VecDeque<Pending>,
    /// Those that have arrived at an mbarrier, and that their lanes have not waited for.
    arrived: VecDeque<Pending>,
    /// For each lane, groups that it has closed.
    closed: [u32; LANES],
    begun: u64,
}

impl Copies {
    /// The number of the next copy.
    pub fn next(&self) -> u64 {
        self.begun
    }

    /// Keeps a copy, in the group that each lane closes next. If there is no room, gives back the oldest one, to be performed now.
    pub fn begin(&mut self, mut copy: Pending) -> Option<Pending> {
        copy.group = self.closed;
        copy.number = self.begun;
        self.begun += 1;
        self.pending.push_back(copy);
        (self.pending.len() > ROOM).then(|| self.pending.pop_front())?
    }

    /// `cp.async.commit_group`
    pub fn close_group(&mut self, lanes: Mask) {
        for (lane, closed) in self.closed.iter_mut().enumerate() {
            *closed += lanes >> lane & 1;
        }
    }

    /// `cp.async.wait_group`: takes out what the lanes wait for, all groups but their `newest` ones, the oldest copy first.
    pub fn wait(&mut self, lanes: Mask, newest: u32) -> Vec<Pending> {
        take(&mut self.pending, &self.closed, lanes, newest)
    }

    /// The same, of copies that have arrived at an mbarrier.
    pub fn wait_for_arrived(&mut self, lanes: Mask, newest: u32) -> Vec<Pending> {
        take(&mut self.arrived, &self.closed, lanes, newest)
    }

    /// Keeps a copy that has arrived at an mbarrier; of too many, the newest ones.
    pub fn keep_arrived(&mut self, copy: Pending) {
        self.arrived.push_back(copy);
        if self.arrived.len() > ROOM {
            self.arrived.pop_front();
        }
    }
}

/// Takes out of some copies what the lanes wait for.
fn take(
    copies: &mut VecDeque<Pending>,
    closed: &[u32; LANES],
    lanes: Mask,
    newest: u32,
) -> Vec<Pending> {
    let mut complete = Vec::new();
    for copy in copies.iter_mut() {
        let mut ends = 0;
        for lane in 0..LANES {
            let over = copy.group[lane].saturating_add(newest) < closed[lane];
            ends |= Mask::from(over) << lane;
        }
        ends &= lanes & copy.mask;
        if ends != 0 {
            copy.mask &= !ends;
            complete.push(Pending {
                mask: ends,
                ..copy.clone()
            });
        }
    }
    copies.retain(|copy| copy.mask != 0);
    complete
}

impl Pending {
    /// A copy to begin.
    pub fn new(
        op: u32,
        site: Site,
        mask: Mask,
        from: Row64,
        to: Row64,
        bytes: [u8; LANES],
    ) -> Pending {
        Pending {
            number: 0,
            op,
            site,
            mask,
            from,
            to,
            bytes,
            group: [0; LANES],
        }
    }

    /// The source in pieces of 1, 2 or 4 words, and the lanes that have each. A last word of which fewer bytes are read counts as a whole
    /// one.
    pub fn pieces(&self) -> impl Iterator<Item = Piece> + use<> {
        let words = self.bytes.map(|bytes| bytes.div_ceil(4));
        let mask = self.mask;
        PIECES
            .into_iter()
            .filter_map(move |(first, words_of_it, of)| {
                let has = |l: usize| of.contains(&words[l]);
                let lanes = mask & (0..LANES).fold(0, |m, l| m | Mask::from(has(l)) << l);
                (lanes != 0).then_some(Piece {
                    first,
                    words: words_of_it,
                    lanes,
                })
            })
    }
}

/// A part of a source that some lanes read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    /// Its first word.
    pub first: u8,
    /// Its words: 1, 2 or 4.
    pub words: u8,
    /// The lanes.
    pub lanes: Mask,
}

/// The first word of a piece, its words, and the sources that have it, by their words.
const PIECES: [(u8, u8, &[u8]); 4] = [(0, 4, &[4]), (0, 2, &[2, 3]), (2, 1, &[3]), (0, 1, &[1])];

#[cfg(test)]
mod tests {
    use super::*;

    fn copy(mask: Mask, bytes: u8) -> Pending {
        let at = std::array::from_fn(|l| 16 * l as u64);
        Pending::new(0, Site(0), mask, at, at, [bytes; LANES])
    }

    fn masks(copies: &[Pending]) -> Vec<(u64, Mask)> {
        copies.iter().map(|c| (c.number, c.mask)).collect()
    }

    #[test]
    fn a_lane_waits_for_all_but_its_newest_groups() {
        let mut copies = Copies::default();
        copies.begin(copy(0b11, 16));
        copies.close_group(0b11);
        copies.begin(copy(0b11, 16));
        copies.close_group(0b01);
        // Of lane 1 the second copy is in no group yet.
        assert_eq!(masks(&copies.wait(0b11, 1)), [(0, 0b01)]);
        assert_eq!(masks(&copies.wait(0b11, 0)), [(0, 0b10), (1, 0b01)]);
        assert_eq!(masks(&copies.wait(0b11, 0)), []);
        copies.close_group(0b10);
        assert_eq!(masks(&copies.wait(0b10, 0)), [(1, 0b10)]);
    }

    #[test]
    fn an_empty_group_counts() {
        let mut copies = Copies::default();
        copies.begin(copy(1, 4));
        copies.close_group(1);
        copies.close_group(1);
        assert_eq!(masks(&copies.wait(1, 2)), []);
        assert_eq!(masks(&copies.wait(1, 1)), [(0, 1)]);
    }

    #[test]
    fn the_oldest_makes_room() {
        let mut copies = Copies::default();
        for _ in 0..ROOM {
            assert!(copies.begin(copy(1, 4)).is_none());
        }
        assert_eq!(copies.begin(copy(1, 4)).map(|c| c.number), Some(0));
    }

    #[test]
    fn pieces_cover_the_words_that_are_read() {
        for bytes in 0..=16u8 {
            let mut covered = Vec::new();
            for piece in copy(0b10, bytes).pieces() {
                assert_eq!(piece.lanes, 0b10);
                covered.extend(piece.first..piece.first + piece.words);
            }
            assert_eq!(
                covered,
                Vec::from_iter(0..bytes.div_ceil(4)),
                "{bytes} bytes"
            );
        }
    }
}
