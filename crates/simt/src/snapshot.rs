//! Copies of what is allocated on a device, to run a launch again: in another way, or under another schedule. Of all of it, or of what
//! somebody is about to write to.

use super::children::Children;
use super::device::Device;
use super::memory::Heap;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{OnceLock, PoisonError};

/// Words of a piece.
const PIECE: usize = 1 << 18;

/// A copy of a part of a device's memory.
struct Copy {
    words: Vec<u32>,
    /// Cells of [`Written`](super::memory::Written).
    valid: Vec<u64>,
}

/// A part of an allocation.
struct Piece {
    /// Of the arena.
    words: Range<usize>,
    /// Whether a core has set out to copy it.
    begun: AtomicBool,
    copy: OnceLock<Copy>,
}

/// A copy of what is allocated on a device, device-side `malloc` included. Cores that run at the same time may share it.
pub struct Image {
    /// In the order of their addresses.
    pieces: Vec<Piece>,
    heap: Heap,
    /// What kernels have asked for, too.
    children: Children,
}

impl std::fmt::Debug for Image {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let copied = self.pieces.iter().filter(|p| p.copy.get().is_some());
        write!(f, "{} of {} pieces", copied.count(), self.pieces.len())
    }
}

impl Image {
    /// Copies the pieces of these bytes of the arena, unless that has been done. Of an image on demand, every core calls it before it writes
    /// there.
    pub(crate) fn keep(&self, device: &Device, bytes: Range<u64>) {
        let words = (bytes.start / 4) as usize..bytes.end.div_ceil(4) as usize;
        let from = self.pieces.partition_point(|p| p.words.end <= words.start);
        let pieces = &self.pieces[from..];
        let pieces = &pieces[..pieces.partition_point(|p| p.words.start < words.end)];
        let copy = |piece: &Piece| {
            piece.copy.get_or_init(|| device.copy_of(&piece.words));
        };
        // Cores that come at the same time share the work …
        let free = |piece: &&Piece| !piece.begun.swap(true, Relaxed);
        pieces.iter().filter(free).for_each(copy);
        // … and wait for each other.
        pieces.iter().for_each(copy);
    }
}

impl Device {
    fn copy_of(&self, words: &Range<usize>) -> Copy {
        let words = words.start..words.end.min(self.arena.words.len());
        Copy {
            words: self.arena.words[words.clone()]
                .iter()
                .map(|w| w.load(Relaxed))
                .collect(),
            valid: self.arena.valid.copy_of(words),
        }
    }

    /// A copy of what is allocated; `None` if that is more than so many bytes.
    pub fn image(&self, most: u64) -> Option<Image> {
        let image = (self.in_use() <= most).then(|| self.image_on_demand())?;
        image.keep(self, 0..self.arena_bytes());
        Some(image)
    }

    /// A copy of what is allocated, of which nothing is there yet: see [`Image::keep`].
    pub(crate) fn image_on_demand(&self) -> Image {
        let allocations = self.allocations().iter().filter(|a| !a.freed);
        let pieces = allocations.flat_map(|a| {
            let (first, end) = (a.offset / 4, (a.offset + a.bytes).div_ceil(4));
            let starts = (first as usize..end as usize).step_by(PIECE);
            starts.map(move |start| Piece {
                words: start..(start + PIECE).min(end as usize),
                begun: AtomicBool::default(),
                copy: OnceLock::new(),
            })
        });
        let heap = self.heap.lock().unwrap_or_else(PoisonError::into_inner);
        let children = self.children.lock();
        let children = children.unwrap_or_else(PoisonError::into_inner);
        Image {
            pieces: pieces.collect(),
            heap: heap.clone(),
            children: children.clone(),
        }
    }

    /// The first word that holds something else now: its byte offset in the arena, and both values.
    pub fn first_difference(&self, image: &Image) -> Option<(u64, [u32; 2])> {
        image.pieces.iter().find_map(|piece| {
            let copy = piece.copy.get()?;
            let first = piece.words.start;
            let now = self.arena.words[first..].iter().zip(&copy.words);
            let mut other = now.enumerate().filter_map(|(at, (now, then))| {
                let now = now.load(Relaxed);
                (now != *then).then_some((4 * (first + at) as u64, [*then, now]))
            });
            other.next()
        })
    }

    /// What is not as it was when the copy was made, if anything is: memory, which of it has been written, the heap, what kernels have asked for.
    pub(crate) fn differs_from(&mut self, image: &Image) -> Option<String> {
        if let Some((offset, [then, now])) = self.first_difference(image) {
            return Some(format!(
                "the word at byte {offset} of memory: {then:#x}, and {now:#x}"
            ));
        }
        let written = |piece: &&Piece| {
            let copy = piece.copy.get();
            copy.is_some_and(|copy| self.arena.valid.copy_of(piece.words.clone()) != copy.valid)
        };
        if let Some(piece) = image.pieces.iter().find(written) {
            return Some(format!("what has been written of words {:?}", piece.words));
        }
        let heap = self.heap.get_mut().unwrap_or_else(PoisonError::into_inner);
        if *heap != image.heap {
            return Some(format!("the heap: {:?}, and {heap:?}", image.heap));
        }
        let children = self.children.get_mut();
        let children = children.unwrap_or_else(PoisonError::into_inner);
        (*children != image.children)
            .then(|| format!("children: {:?}, and {children:?}", image.children))
    }

    /// Puts back what was allocated when the copy was made, as far as it was copied.
    pub fn put_back(&mut self, image: &Image) {
        for piece in &image.pieces {
            let Some(copy) = piece.copy.get() else {
                continue;
            };
            let first = piece.words.start;
            for (word, old) in self.arena.words[first..].iter().zip(&copy.words) {
                word.store(*old, Relaxed);
            }
            let words = first..first + copy.words.len();
            self.arena.valid.put_back(words, &copy.valid);
        }
        let heap = self.heap.get_mut().unwrap_or_else(PoisonError::into_inner);
        *heap = image.heap.clone();
        let children = self.children.get_mut();
        *children.unwrap_or_else(PoisonError::into_inner) = image.children.clone();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::GLOBAL_BASE;

    /// The bytes of an allocation in the arena.
    fn bytes(at: u64, count: u64) -> Range<u64> {
        at - GLOBAL_BASE..at - GLOBAL_BASE + count
    }

    #[test]
    fn what_was_there_comes_back_and_what_was_not_goes() {
        let mut device = Device::new(1 << 20);
        let at = device.alloc(64, "a").unwrap();
        device.write(at + 4, &[1, 2, 3]).unwrap();
        let image = device.image_on_demand();
        image.keep(&device, bytes(at, 64));
        device.write(at, &[9; 64]).unwrap();
        // Too late to be kept.
        image.keep(&device, bytes(at, 64));
        device.put_back(&image);
        assert_eq!(device.read(at + 4, 3).unwrap(), [1, 2, 3]);
        let written = device.written(at, 8).unwrap();
        assert_eq!(
            written,
            [false, false, false, false, true, true, true, false]
        );
    }

    #[test]
    fn an_image_is_of_all_that_is_allocated() {
        let mut device = Device::new(1 << 20);
        let all = [64, 3, 4096].map(|bytes| device.alloc(bytes, "a").unwrap());
        let image = device.image(1 << 14).unwrap();
        for at in all {
            device.write(at, &[9; 3]).unwrap();
        }
        device.put_back(&image);
        for at in all {
            assert_eq!(device.written(at, 3).unwrap(), [false; 3]);
        }
        assert!(device.image(16).is_none());
    }

    #[test]
    fn of_several_allocations_those_that_were_kept_come_back() {
        let mut device = Device::new(64 << 20);
        // Several pieces, the last of them not full.
        let large = 4 * PIECE as u64 * 5 / 2;
        let sizes = [64, large, 64, 3];
        let all = sizes.map(|bytes| device.alloc(bytes, "a").unwrap());
        for (at, size) in all.into_iter().zip(sizes) {
            device.write(at, &vec![1; size as usize]).unwrap();
        }
        let image = device.image_on_demand();
        // As if another core had just set out to copy it.
        image.pieces[2].begun.store(true, Relaxed);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| image.keep(&device, bytes(all[1], large)));
            }
        });
        image.keep(&device, bytes(all[3], 3));
        assert_eq!(format!("{image:?}"), "4 of 6 pieces");
        for (at, size) in all.into_iter().zip(sizes) {
            device.write(at, &vec![2; size as usize]).unwrap();
        }
        device.put_back(&image);
        for ((at, size), now) in all.into_iter().zip(sizes).zip([2, 1, 2, 1]) {
            let is = device.read(at, size).unwrap();
            assert!(is.iter().all(|byte| *byte == now), "{size} bytes");
        }
    }
}
