//! Which words of the device's memory are somebody's: what the program has allocated and not freed, and how the headers and records of its shadow say
//! so (`instrument/runtime/runtime.cu`, `H_NOTHING`, `H_PART`).
//!
//! # Blind spots
//!
//! Memory that is freed on a stream stays somebody's until it is given out again: when the stream gets there, nobody knows.

use std::collections::BTreeMap;

/// Bytes of memory that have one header.
pub const LINE: u64 = 64;
/// How many blocks that were freed are known.
const REMEMBERED: usize = 4096;

/// What is to be written over the shadow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// All lines that these bytes touch are somebody's, or nobody's.
    Lines {
        address: u64,
        bytes: u64,
        somebodys: bool,
    },
    /// Of the line that begins at this address, so many words are somebody's, and the others nobody's.
    Part { line: u64, words: u64 },
}

/// What an access was meant for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Meant {
    pub address: u64,
    pub bytes: u64,
    /// Whether it was freed.
    pub freed: bool,
}

#[derive(Clone, Copy, Debug)]
struct Block {
    bytes: u64,
    /// Which allocation it is: another one may come to the same address.
    number: u64,
}

/// The program's memory.
#[derive(Debug, Default)]
pub struct Bounds {
    allocated: BTreeMap<u64, Block>,
    /// Bytes by address.
    freed: BTreeMap<u64, u64>,
    last: u64,
}

impl Bounds {
    /// The program has been given memory.
    pub fn allocate(&mut self, address: u64, bytes: u64) -> Vec<Mark> {
        let end = address + bytes;
        let overlaps = |at: u64, size: u64| at < end && at + size > address;
        self.freed.retain(|at, size| !overlaps(*at, *size));
        // What was freed on a stream was not told.
        let below = self.allocated.range(..end).rev();
        let over = below.take_while(|(at, block)| overlaps(**at, block.bytes));
        let over: Vec<u64> = over.map(|(at, _)| *at).collect();
        for at in over {
            self.allocated.remove(&at);
        }
        self.last += 1;
        let number = self.last;
        self.allocated.insert(address, Block { bytes, number });
        let lines = Mark::Lines {
            address,
            bytes,
            somebodys: true,
        };
        [lines].into_iter().chain(part(address, bytes)).collect()
    }

    /// The allocation at an address.
    pub fn number(&self, address: u64) -> Option<u64> {
        self.allocated.get(&address).map(|block| block.number)
    }

    /// This allocation was freed, and nothing uses it any more. Other threads may have been given some of it since.
    pub fn free(&mut self, address: u64, number: u64) -> Vec<Mark> {
        let Some(block) = self.allocated.get(&address).copied() else {
            return Vec::new();
        };
        if block.number != number {
            return Vec::new();
        }
        self.allocated.remove(&address);
        if self.freed.len() == REMEMBERED {
            self.freed.pop_first();
        }
        self.freed.insert(address, block.bytes);
        self.between(address, address + block.bytes)
    }

    /// All marks of memory whose shadow is zero, which says that it is somebody's: from a line on and up to one.
    pub fn between(&self, from: u64, to: u64) -> Vec<Mark> {
        let mut out = Vec::new();
        let mut nobodys = |from: u64, to: u64| {
            if from < to {
                out.push(Mark::Lines {
                    address: from,
                    bytes: to - from,
                    somebodys: false,
                });
            }
        };
        let (before, within) = (
            self.allocated.range(..from).next_back(),
            self.allocated.range(from..to),
        );
        let mut at = from;
        let mut parts = Vec::new();
        for (address, block) in before.into_iter().chain(within) {
            nobodys(at, *address);
            let end = address + block.bytes;
            at = at.max(end.next_multiple_of(LINE));
            parts.extend(part(*address, block.bytes).filter(|_| end > from && end < to));
        }
        nobodys(at, to);
        out.extend(parts);
        out
    }

    /// Whether an allocation begins there.
    pub fn begins(&self, address: u64) -> bool {
        self.allocated.contains_key(&address)
    }

    /// The allocation that an address lies in: where it begins, and its bytes.
    pub fn around(&self, address: u64) -> Option<(u64, u64)> {
        let (at, block) = self.allocated.range(..=address).next_back()?;
        (address < at + block.bytes).then_some((*at, block.bytes))
    }

    /// What an access to nobody's memory was meant for: what was freed there, or what lies before, or else the first.
    pub fn meant(&self, address: u64) -> Option<Meant> {
        let freed = self.freed.range(..=address).next_back();
        if let Some((at, bytes)) = freed.filter(|(at, bytes)| address < **at + **bytes) {
            return Some(Meant {
                address: *at,
                bytes: *bytes,
                freed: true,
            });
        }
        let before = self.allocated.range(..=address).next_back();
        let (at, block) = before.or(self.allocated.first_key_value())?;
        let is_inside = (*at..at + block.bytes).contains(&address);
        (!is_inside).then_some(Meant {
            address: *at,
            bytes: block.bytes,
            freed: false,
        })
    }
}

/// The mark of a block's last line, if it does not fill it.
fn part(address: u64, bytes: u64) -> Option<Mark> {
    let end = (address + bytes).next_multiple_of(4);
    let words = end % LINE / 4;
    (words != 0).then_some(Mark::Part {
        line: end - words * 4,
        words,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::{HashMap, HashSet};

    /// Words of 4 bytes in a line.
    const WORDS: u64 = LINE / 4;

    /// What the device knows: lines that are not all somebody's, and words that are nobody's.
    #[derive(Default)]
    struct Shadow {
        lines: HashMap<u64, bool>,
        words: HashSet<u64>,
    }

    impl Shadow {
        fn apply(&mut self, marks: &[Mark]) {
            for mark in marks {
                match *mark {
                    Mark::Lines {
                        address,
                        bytes,
                        somebodys,
                    } => {
                        for line in address / LINE..(address + bytes).div_ceil(LINE) {
                            match somebodys {
                                true => drop(self.lines.remove(&line)),
                                false => drop(self.lines.insert(line, false)),
                            }
                        }
                    }
                    Mark::Part { line, words } => {
                        self.lines.insert(line / LINE, true);
                        let first = line / 4;
                        self.words
                            .retain(|word| !(first..first + words).contains(word));
                        self.words.extend(first + words..first + WORDS);
                    }
                }
            }
        }

        fn is_somebodys(&self, word: u64) -> bool {
            match self.lines.get(&(word * 4 / LINE)) {
                None => true,
                Some(part) => *part && !self.words.contains(&word),
            }
        }
    }

    /// Numbers that look random (Marsaglia, "Xorshift RNGs").
    fn next(state: &mut u64, end: u64) -> u64 {
        *state ^= *state << 13;
        *state ^= *state >> 7;
        *state ^= *state << 17;
        *state % end
    }

    #[test]
    fn every_word_is_somebodys_or_nobodys_as_the_program_has_it() {
        const END: u64 = 1 << 14;
        const ALIGNMENT: u64 = 256;
        let mut random = 0x9e37_79b9_7f4a_7c15;
        for _ in 0..200 {
            let (mut bounds, mut shadow) = (Bounds::default(), Shadow::default());
            let mut live: Vec<(u64, u64)> = Vec::new();
            shadow.apply(&bounds.between(0, END));
            for _ in 0..60 {
                let one = next(&mut random, live.len() as u64 + 2) as usize;
                if one < live.len() {
                    let (address, _) = live.swap_remove(one);
                    let number = bounds.number(address).unwrap();
                    shadow.apply(&bounds.free(address, number));
                    // Once more is nothing.
                    assert_eq!(bounds.free(address, number), []);
                } else if next(&mut random, 12) == 0 {
                    // Numbers of launches are used again: the shadow begins anew.
                    shadow = Shadow::default();
                    shadow.apply(&bounds.between(0, END));
                } else {
                    let address = next(&mut random, END / ALIGNMENT) * ALIGNMENT;
                    let bytes = 1 + next(&mut random, 1500);
                    let end = address + bytes;
                    if end <= END && !live.iter().any(|(a, b)| *a < end && a + b > address) {
                        live.push((address, bytes));
                        shadow.apply(&bounds.allocate(address, bytes));
                    }
                }
                for word in 0..END / 4 {
                    let at = word * 4;
                    let known = live.iter().any(|(a, b)| (*a..a + b).contains(&at));
                    assert_eq!(shadow.is_somebodys(word), known, "{at:#x} {live:x?}");
                    assert!(known || live.is_empty() || bounds.meant(at).is_some());
                }
            }
        }
    }

    #[test]
    fn who_frees_late_frees_nothing_that_others_were_given() {
        let mut bounds = Bounds::default();
        bounds.allocate(0x1000, 100);
        let number = bounds.number(0x1000).unwrap();
        bounds.allocate(0x1000, 200);
        assert_eq!(bounds.free(0x1000, number), []);
        assert!(bounds.begins(0x1000));
    }
}
