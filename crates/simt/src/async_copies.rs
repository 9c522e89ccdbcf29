//! `cp.async`: what one warp-instruction copies (PTX ISA, "cp.async"). When it does so, [`crate::operations`] says.

use super::alu::Row64;
use super::ids::*;

/// A copy of 4, 8 or 16 bytes for each lane.
#[derive(Clone, Debug)]
pub(crate) struct Rows {
    /// Index into [`super::Program::copy_ops`].
    pub op: u32,
    /// The first byte of the source: an offset in the arena.
    pub from: Row64,
    /// The first byte of the destination: an offset in the block's window.
    pub to: Row64,
    /// Bytes that are read; zeros fill the rest.
    pub bytes: [u8; LANES],
}

impl Rows {
    /// The source of some lanes in pieces of 1, 2 or 4 words, and the lanes that have each. A last word of which fewer bytes are read counts as a whole
    /// one.
    pub fn pieces(&self, mask: Mask) -> impl Iterator<Item = Piece> + use<> {
        let words = self.bytes.map(|bytes| bytes.div_ceil(4));
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

    #[test]
    fn pieces_cover_the_words_that_are_read() {
        for bytes in 0..=16u8 {
            let at = std::array::from_fn(|l| 16 * l as u64);
            let rows = Rows {
                op: 0,
                from: at,
                to: at,
                bytes: [bytes; LANES],
            };
            let mut covered = Vec::new();
            for piece in rows.pieces(0b10) {
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
