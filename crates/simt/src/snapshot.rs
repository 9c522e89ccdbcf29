//! Copies of what is allocated on a device, to run a launch again: in another way, or under another schedule.

use super::device::Device;
use super::memory::Heap;
use std::ops::Range;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Words that a core copies at once.
const PIECE: usize = 1 << 18;

/// A copy of a part of a device's memory.
struct Snapshot {
    words: Vec<u32>,
    /// Cells of [`Written`](super::memory::Written).
    valid: Vec<u64>,
}

/// A copy of what is allocated on a device, device-side `malloc` included.
#[derive(Debug)]
pub struct Image {
    /// By the arena's words: where they lie, and the copies.
    parts: Vec<(Range<usize>, Snapshot)>,
    heap: Heap,
}

impl std::fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} words", self.words.len())
    }
}

impl Device {
    fn part(&self, words: Range<usize>) -> Snapshot {
        let words = words.start..words.end.min(self.arena.words.len());
        Snapshot {
            words: self.arena.words[words.clone()]
                .iter()
                .map(|w| w.load(Relaxed))
                .collect(),
            valid: self.arena.valid.copy_of(words),
        }
    }

    fn put_part(&self, first: usize, from: &Snapshot) {
        for (word, old) in self.arena.words[first..].iter().zip(&from.words) {
            word.store(*old, Relaxed);
        }
        let words = first..first + from.words.len();
        self.arena.valid.put_back(words, &from.valid);
    }

    /// A copy of what is allocated; `None` if that is more than so many bytes.
    pub fn image(&self, most: u64) -> Option<Image> {
        self.image_by(most, 1)
    }

    /// [`Device::image`], made by so many cores.
    pub(crate) fn image_by(&self, most: u64, jobs: usize) -> Option<Image> {
        if self.in_use() > most {
            return None;
        }
        let allocations = self.allocations().iter().filter(|a| !a.freed);
        let pieces: Vec<Range<usize>> = allocations
            .flat_map(|a| {
                let (first, end) = (a.offset / 4, (a.offset + a.bytes).div_ceil(4));
                let starts = (first as usize..end as usize).step_by(PIECE);
                starts.map(move |start| start..(start + PIECE).min(end as usize))
            })
            .collect();
        let next = AtomicUsize::new(0);
        let copy = || -> Vec<(Range<usize>, Snapshot)> {
            let mine = || pieces.get(next.fetch_add(1, Relaxed)).cloned();
            std::iter::from_fn(mine)
                .map(|words| (words.clone(), self.part(words)))
                .collect()
        };
        let jobs = jobs.min(pieces.len());
        let parts = match jobs {
            0 | 1 => copy(),
            _ => crate::cores::each(0..jobs, |_| copy())
                .into_iter()
                .flatten()
                .collect(),
        };
        let heap = self.heap.lock().unwrap_or_else(PoisonError::into_inner);
        Some(Image {
            parts,
            heap: heap.clone(),
        })
    }

    /// Puts back what was allocated when the copy was made.
    pub fn put_back(&mut self, image: &Image) {
        for (words, part) in &image.parts {
            self.put_part(words.start, part);
        }
        let heap = self.heap.get_mut().unwrap_or_else(PoisonError::into_inner);
        *heap = image.heap.clone();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_brings_back_what_was_there_and_what_was_not() {
        let mut device = Device::new(1 << 20);
        let at = device.alloc(64, "a").unwrap();
        device.write(at + 4, &[1, 2, 3]).unwrap();
        let image = device.image(1 << 10).unwrap();
        device.write(at, &[9; 64]).unwrap();
        device.put_back(&image);
        assert_eq!(device.read(at + 4, 3).unwrap(), [1, 2, 3]);
        let written = device.written(at, 8).unwrap();
        assert_eq!(
            written,
            [false, false, false, false, true, true, true, false]
        );
        assert!(device.image(16).is_none());
    }
}
