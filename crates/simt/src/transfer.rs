//! A device's memory on its way to another process, in which the same launch is run again.
//!
//! Nobody need trust the sender: what does not fit together is refused ([`Misfit`]).

use super::device::{Device, Variable};
use super::memory::{Allocation, GAP, Heap};
use super::texture::{Image, Images, Texture};
use serde::{Deserialize, Serialize};
use std::sync::PoisonError;
use std::sync::atomic::Ordering::Relaxed;

/// Words of a page.
pub const PAGE_WORDS: usize = 1024;

/// What a device holds, but for the bytes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Layout {
    /// Allocations in the order of their offsets.
    pub allocations: Vec<Allocation>,
    /// Variables: the module, the name, the address.
    pub variables: Vec<(u32, String, u64)>,
    /// Textures by number.
    pub textures: Vec<(u64, Texture)>,
    /// Surfaces by number.
    pub surfaces: Vec<(u64, Image)>,
    /// The heap of device-side `malloc`: offset and end, the next block's offset, the blocks.
    pub heap: Option<((u64, u64), u64, Vec<Allocation>)>,
}

/// A page of memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// The words.
    pub words: Vec<u32>,
    /// For each word, a bit for each of its bytes that was written.
    pub valid: Vec<u8>,
}

impl Default for Page {
    /// Nothing is written.
    fn default() -> Page {
        Page {
            words: vec![0; PAGE_WORDS],
            valid: vec![0; PAGE_WORDS],
        }
    }
}

/// A layout that no device has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Misfit {
    /// It needs more memory than it may.
    #[error("its memory lies too far apart, or is too large")]
    Large,
    /// Its parts contradict each other.
    #[error("its parts contradict each other")]
    Contradiction,
}

impl Layout {
    /// The pages that allocations lie in, each once.
    pub fn pages(&self) -> Vec<u64> {
        let bytes = PAGE_WORDS as u64 * 4;
        let live = self.allocations.iter().filter(|a| !a.freed && a.bytes > 0);
        let mut pages: Vec<u64> = live
            .flat_map(|a| a.offset / bytes..(a.offset + a.bytes).div_ceil(bytes))
            .collect();
        pages.dedup();
        pages
    }

    /// One past the last allocation and its gap.
    pub fn end(&self) -> u64 {
        let last = self.allocations.last();
        last.map_or(0, |a| {
            a.offset.saturating_add(a.bytes).saturating_add(2 * GAP)
        })
    }

    fn check(&self, most: u64) -> Result<(), Misfit> {
        let mut free = 0;
        for allocation in &self.allocations {
            let end = allocation.offset.checked_add(allocation.bytes);
            let end = end.filter(|end| *end <= most).ok_or(Misfit::Large)?;
            if allocation.offset < free || !allocation.offset.is_multiple_of(4) {
                return Err(Misfit::Contradiction);
            }
            free = end;
        }
        if self.end() > most {
            return Err(Misfit::Large);
        }
        let images = self.textures.iter().map(|(_, texture)| &texture.image);
        for image in images.chain(self.surfaces.iter().map(|(_, image)| image)) {
            let fits = |bytes: Option<u64>| bytes.is_some_and(|end| end <= self.end());
            let inside = image.levels.iter().all(|l| fits(l.end(image.format)));
            if image.levels.is_empty() || !inside || !image.format.is_known() {
                return Err(Misfit::Contradiction);
            }
        }
        if let Some(((start, end), next, blocks)) = &self.heap {
            let within = |from: u64, to: u64| *start <= from && from <= to && to <= *end;
            let all = blocks.iter();
            let mut all = all.map(|b| (b.offset, b.offset.saturating_add(b.bytes)));
            let held = |a: &Allocation| a.offset <= *start && *end <= a.offset + a.bytes;
            if !within(*next, *end)
                || !all.all(|(from, to)| within(from, to))
                || !self.allocations.iter().any(held)
            {
                return Err(Misfit::Contradiction);
            }
        }
        Ok(())
    }
}

impl Device {
    /// What it holds, but for the bytes.
    pub fn layout(&self) -> Layout {
        let heap = self.heap.lock().unwrap_or_else(PoisonError::into_inner);
        let images = &self.images;
        let mut layout = Layout {
            allocations: self.allocations().to_vec(),
            variables: self.named_variables().collect(),
            textures: images
                .textures
                .iter()
                .map(|(n, t)| (*n, t.clone()))
                .collect(),
            surfaces: images
                .surfaces
                .iter()
                .map(|(n, i)| (*n, i.clone()))
                .collect(),
            heap: heap
                .range
                .map(|range| (range, heap.next, heap.blocks.clone())),
        };
        layout.textures.sort_by_key(|(number, _)| *number);
        layout.surfaces.sort_by_key(|(number, _)| *number);
        layout
    }

    /// Becomes a device with this layout, whose memory ends before `most`. Its bytes are as they happen to be.
    ///
    /// # Errors
    ///
    /// [`Misfit`]
    pub fn set_layout(&mut self, layout: &Layout, most: u64) -> Result<(), Misfit> {
        layout.check(most)?;
        let variables = layout.variables.iter();
        let variables = variables.map(|(module, name, address)| Variable {
            module: *module,
            name: name.clone(),
            address: *address,
        });
        self.replace(layout.allocations.clone(), variables.collect());
        self.arena.resize(layout.end());
        self.images = Images {
            textures: layout.textures.iter().cloned().collect(),
            surfaces: layout.surfaces.iter().cloned().collect(),
            all: true,
        };
        let heap = self.heap.get_mut().unwrap_or_else(PoisonError::into_inner);
        *heap = match &layout.heap {
            None => Heap::default(),
            Some((range, next, blocks)) => Heap {
                range: Some(*range),
                next: *next,
                blocks: blocks.clone(),
            },
        };
        Ok(())
    }

    /// A page of memory; what lies beyond the end was never written.
    pub fn page(&self, number: u64) -> Page {
        let mut page = Page::default();
        let first = (number as usize).saturating_mul(PAGE_WORDS);
        let words = self.arena.words.get(first..).unwrap_or_default();
        for (to, from) in page.words.iter_mut().zip(words) {
            *to = from.load(Relaxed);
        }
        for (word, to) in page.valid.iter_mut().enumerate().take(words.len()) {
            *to = self.arena.valid.get(first + word);
        }
        page
    }

    /// Puts a page in; what lies beyond the end is left out.
    pub fn set_page(&mut self, number: u64, page: &Page) {
        let first = (number as usize).saturating_mul(PAGE_WORDS);
        let words = self.arena.words.get(first..).unwrap_or_default();
        for (to, from) in words.iter().zip(&page.words) {
            to.store(*from, Relaxed);
        }
        for (word, from) in page.valid.iter().enumerate().take(words.len()) {
            self.arena.valid.put(first + word, *from & 0xf);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_is_the_same_elsewhere() {
        let mut device = Device::new(1 << 20);
        let first = device.alloc(5000, "first").unwrap();
        let second = device.alloc(64, "second").unwrap();
        device.write(first + 4090, &[1, 2, 3, 4]).unwrap();
        device.free(second).unwrap();
        device.bind_variable(1, "v", first);
        let layout = device.layout();
        let mut other = Device::new(1 << 20);
        other.set_layout(&layout, 1 << 20).unwrap();
        for page in layout.pages() {
            other.set_page(page, &device.page(page));
        }
        assert_eq!(other.layout(), layout);
        assert_eq!(other.read(first, 5000), device.read(first, 5000));
        assert_eq!(other.written(first, 5000), device.written(first, 5000));
        assert!(other.read(second, 4).is_err());
        assert_eq!(other.in_use(), 5000);
        assert_eq!(other.variable_of(1, "v"), Some(first));
    }

    #[test]
    fn what_no_device_has_is_refused() {
        let at = |offset, bytes| Allocation {
            name: String::new(),
            offset,
            bytes,
            freed: false,
            host: false,
        };
        let of = |allocations: Vec<Allocation>| Layout {
            allocations,
            ..Layout::default()
        };
        let mut device = Device::new(1 << 20);
        let mut refuses = |layout: &Layout| device.set_layout(layout, 1 << 20).unwrap_err();
        assert_eq!(refuses(&of(vec![at(1 << 40, 4)])), Misfit::Large);
        assert_eq!(refuses(&of(vec![at(u64::MAX - 3, 4)])), Misfit::Large);
        assert_eq!(refuses(&of(vec![at((1 << 20) - 4, 4)])), Misfit::Large);
        let twice = of(vec![at(4096, 64), at(4096, 64)]);
        assert_eq!(refuses(&twice), Misfit::Contradiction);
        let mut heap = of(vec![at(4096, 64)]);
        heap.heap = Some(((4096, 4160), 4096, vec![at(0, u64::MAX)]));
        assert_eq!(refuses(&heap), Misfit::Contradiction);
        heap.heap = Some(((4096, 9000), 4096, vec![]));
        assert_eq!(refuses(&heap), Misfit::Contradiction);
    }
}
