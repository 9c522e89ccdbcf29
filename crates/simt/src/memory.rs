//! Memory: the device's global memory, a block's shared memory, a lane's local memory.
//!
//! Global memory is one *arena*. Allocations lie in it with gaps between them, so
//! that an access beyond an allocation hits nothing. An address is
//! [`GLOBAL_BASE`] plus an offset into the arena; detectors index their shadow by
//! the offset. Constant variables are allocations of the arena too.
//!
//! Every word carries four bits that say which of its bytes have been written.

use super::children::Children;
use super::ids::LANES;
use super::observer::FaultKind;
use super::program::{GlobalVariable, Program, Target};
use super::texture::Images;
use std::cell::Cell;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU8, AtomicU32, Ordering::Relaxed};

/// Generic address of the first byte of the arena.
///
/// Few programs have anything mapped there (executables, heaps, libraries and sanitizers' shadows lie elsewhere), so that a process can
/// have the arena at this very address ([`Device::lent`]).
pub const GLOBAL_BASE: u64 = 0x0000_2000_0000_0000;
/// Generic address of a block's shared memory.
pub const SHARED_BASE: u64 = 0x0000_0100_0000_0000;
/// Generic address of a lane's local memory.
pub const LOCAL_BASE: u64 = 0x0000_0200_0000_0000;
/// Base of device function addresses: a function's address is this plus its index, far away from every data window.
pub(crate) const FUNCTION_BASE: u64 = 0x00f0_0000_0000_0000;
/// Generic address of the kernel's parameters.
pub const PARAM_BASE: u64 = 0x0000_0300_0000_0000;
/// Size of the shared, local and parameter windows, bytes.
pub const WINDOW: u64 = 1 << 24;

/// `cudaMalloc` aligns to 256 bytes at least (CUDA C++ Programming Guide, "Device Memory Accesses").
const ALIGN: u64 = 256;
/// Bytes between allocations that belong to nobody.
const GAP: u64 = 4096;
/// The device heap's default size (CUDA C++ Programming Guide, "Heap Memory Allocation").
const HEAP: u64 = 8 << 20;

/// What went wrong with an allocation.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MemoryError {
    /// The device is full.
    #[error("`{name}` needs {bytes} bytes of global memory, but only {left} of {limit} are left")]
    Full {
        /// What was to be allocated.
        name: String,
        /// Its size.
        bytes: u64,
        /// What is left.
        left: u64,
        /// The device's size.
        limit: u64,
    },
    /// No such allocation, or outside it.
    #[error("the {bytes} bytes at {address:#x} are not within one allocation")]
    NotAllocated {
        /// First byte.
        address: u64,
        /// Length.
        bytes: u64,
    },
}

/// An allocation of global memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Allocation {
    /// A name for people.
    pub name: String,
    /// Offset in the arena, bytes.
    pub offset: u64,
    /// Size in bytes.
    pub bytes: u64,
    /// Freed: no access is valid any more.
    pub freed: bool,
    /// Whether it is the host's memory, mapped into the device's addresses.
    pub host: bool,
}

/// The name of memory that belongs to nobody and only keeps allocations apart. Freed, it was never anything to use.
pub const GAP_NAME: &str = "<gap>";

impl Allocation {
    /// Device address of its first byte.
    pub fn address(&self) -> u64 {
        GLOBAL_BASE + self.offset
    }
}

/// Words of memory with the bytes of each that are valid.
pub(crate) trait Words {
    /// Whether this is global memory.
    const GLOBAL: bool = false;
    fn get(&self, word: usize, lane: usize) -> u32;
    fn set(&self, word: usize, lane: usize, value: u32);
    fn valid(&self, word: usize, lane: usize) -> u8;
    fn mark(&self, word: usize, lane: usize, bytes: u8);

    /// Reads adjacent words, and the bytes that are valid in all of them.
    fn load_run<const N: usize>(&self, word: usize, to: &mut [u32; N]) -> u8 {
        let mut valid = 0xf;
        for (i, to) in to.iter_mut().enumerate() {
            *to = self.get(word + i, i);
            valid &= self.valid(word + i, i);
        }
        valid
    }

    /// Writes adjacent words, one a lane.
    fn store_run(&self, word: usize, from: &[u32; LANES]) {
        for (lane, value) in from.iter().enumerate() {
            self.set(word + lane, lane, *value);
            self.mark(word + lane, lane, 0xf);
        }
    }

    /// Reads 1, 2, 4 or 8 aligned bytes.
    #[inline(always)]
    fn read(&self, at: u64, bytes: u32, lane: usize) -> u64 {
        let word = (at >> 2) as usize;
        match bytes {
            4 => u64::from(self.get(word, lane)),
            8 => u64::from(self.get(word, lane)) | u64::from(self.get(word + 1, lane)) << 32,
            _ => {
                let shift = (at & 3) * 8;
                u64::from(self.get(word, lane) >> shift) & ((1 << (8 * bytes)) - 1)
            }
        }
    }

    /// Writes 1, 2, 4 or 8 aligned bytes and marks them valid.
    #[inline(always)]
    fn write(&self, at: u64, bytes: u32, lane: usize, value: u64) {
        let word = (at >> 2) as usize;
        match bytes {
            4 => {
                self.set(word, lane, value as u32);
                self.mark(word, lane, 0xf);
            }
            8 => {
                self.set(word, lane, value as u32);
                self.set(word + 1, lane, (value >> 32) as u32);
                self.mark(word, lane, 0xf);
                self.mark(word + 1, lane, 0xf);
            }
            _ => {
                let shift = (at & 3) as u32 * 8;
                let mask = ((1u32 << (8 * bytes)) - 1) << shift;
                self.replace(word, lane, mask, (value as u32) << shift & mask);
                self.mark(word, lane, ((1u8 << bytes) - 1) << (at & 3));
            }
        }
    }

    /// Replaces the bits of a mask.
    fn replace(&self, word: usize, lane: usize, mask: u32, bits: u32) {
        self.set(word, lane, self.get(word, lane) & !mask | bits);
    }

    /// Whether all of 1, 2, 4, 8 or 16 aligned bytes are valid.
    #[inline(always)]
    fn is_valid(&self, at: u64, bytes: u32, lane: usize) -> bool {
        let word = (at >> 2) as usize;
        if bytes < 4 {
            let need = ((1u8 << bytes) - 1) << (at & 3);
            return self.valid(word, lane) & need == need;
        }
        (0..(bytes / 4) as usize).all(|i| self.valid(word + i, lane) == 0xf)
    }
}

/// Cells that the arena owns and lets grow, or that somebody has lent it.
#[derive(Debug)]
pub(crate) enum Cells<T: 'static> {
    Owned(Vec<T>),
    Lent(&'static [T]),
}

impl<T> Default for Cells<T> {
    fn default() -> Cells<T> {
        Cells::Owned(Vec::new())
    }
}

impl<T> std::ops::Deref for Cells<T> {
    type Target = [T];
    #[inline(always)]
    fn deref(&self) -> &[T] {
        match self {
            Cells::Owned(cells) => cells,
            Cells::Lent(cells) => cells,
        }
    }
}

impl<T: Default> Cells<T> {
    /// Makes room for so many, where they are owned.
    fn reserve(&mut self, count: usize) {
        if let Cells::Owned(cells) = self {
            cells.resize_with(count, T::default);
        }
    }
}

/// The arena. Blocks on several cores may use it at the same time.
#[derive(Debug, Default)]
pub(crate) struct Arena {
    pub(crate) words: Cells<AtomicU32>,
    pub(crate) valid: Cells<AtomicU8>,
    /// Serialises atomics on more than one word.
    wide: Mutex<()>,
}

impl Words for Arena {
    const GLOBAL: bool = true;
    #[inline(always)]
    fn get(&self, word: usize, _: usize) -> u32 {
        self.words[word].load(Relaxed)
    }
    #[inline(always)]
    fn set(&self, word: usize, _: usize, value: u32) {
        self.words[word].store(value, Relaxed);
    }
    #[inline(always)]
    fn valid(&self, word: usize, _: usize) -> u8 {
        self.valid[word].load(Relaxed)
    }
    #[inline(always)]
    fn mark(&self, word: usize, _: usize, bytes: u8) {
        if bytes == 0xf {
            self.valid[word].store(0xf, Relaxed);
        } else {
            self.valid[word].fetch_or(bytes, Relaxed);
        }
    }
    #[inline(always)]
    fn load_run<const N: usize>(&self, word: usize, to: &mut [u32; N]) -> u8 {
        let (words, valid) = (&self.words[word..word + N], &self.valid[word..word + N]);
        let mut all = 0xf;
        for i in 0..N {
            to[i] = words[i].load(Relaxed);
            all &= valid[i].load(Relaxed);
        }
        all
    }
    #[inline(always)]
    fn store_run(&self, word: usize, from: &[u32; LANES]) {
        let words = &self.words[word..word + LANES];
        let valid = &self.valid[word..word + LANES];
        for i in 0..LANES {
            words[i].store(from[i], Relaxed);
            valid[i].store(0xf, Relaxed);
        }
    }
    fn replace(&self, word: usize, _: usize, mask: u32, bits: u32) {
        let _ = self.words[word].fetch_update(Relaxed, Relaxed, |old| Some(old & !mask | bits));
    }
}

impl Arena {
    /// One atomic update of a word, against other cores too; the old value.
    pub fn update(&self, word: usize, mut f: impl FnMut(u32) -> u32) -> u32 {
        let old = self.words[word].fetch_update(Relaxed, Relaxed, |old| Some(f(old)));
        self.valid[word].store(0xf, Relaxed);
        old.unwrap_or_default()
    }

    /// Keeps other cores' wide atomics away.
    pub fn lock(&self) -> std::sync::MutexGuard<'_, ()> {
        self.wide
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Forgets that a byte was written.
    fn forget(&mut self, at: u64) {
        self.valid[(at >> 2) as usize].fetch_and(!(1 << (at & 3)), Relaxed);
    }

    fn resize(&mut self, bytes: u64) {
        let words = bytes.div_ceil(4) as usize;
        self.words.reserve(words);
        self.valid.reserve(words);
    }
}

/// A block's shared memory.
#[derive(Debug)]
pub(crate) struct Shared {
    words: Vec<Cell<u32>>,
    valid: Vec<Cell<u8>>,
    pub bytes: u64,
}

impl Shared {
    pub fn new(bytes: u32) -> Shared {
        let words = bytes.div_ceil(4) as usize;
        // What real shared memory holds at the start is undefined; a pattern shows misuse better than zeros.
        Shared {
            words: vec![Cell::new(0xcdcd_cdcd); words],
            valid: vec![Cell::new(0); words],
            bytes: u64::from(bytes),
        }
    }
}

impl Words for Shared {
    #[inline(always)]
    fn get(&self, word: usize, _: usize) -> u32 {
        self.words[word].get()
    }
    #[inline(always)]
    fn set(&self, word: usize, _: usize, value: u32) {
        self.words[word].set(value);
    }
    #[inline(always)]
    fn valid(&self, word: usize, _: usize) -> u8 {
        self.valid[word].get()
    }
    #[inline(always)]
    fn mark(&self, word: usize, _: usize, bytes: u8) {
        self.valid[word].set(self.valid[word].get() | bytes);
    }
    #[inline(always)]
    fn load_run<const N: usize>(&self, word: usize, to: &mut [u32; N]) -> u8 {
        let (words, valid) = (&self.words[word..word + N], &self.valid[word..word + N]);
        let mut all = 0xf;
        for i in 0..N {
            to[i] = words[i].get();
        }
        for byte in valid {
            all &= byte.get();
        }
        all
    }
    #[inline(always)]
    fn store_run(&self, word: usize, from: &[u32; LANES]) {
        let words = &self.words[word..word + LANES];
        for i in 0..LANES {
            words[i].set(from[i]);
        }
        self.valid[word..word + LANES]
            .iter()
            .for_each(|v| v.set(0xf));
    }
}

/// Local memory of a warp's lanes, a row of 32 words for each four bytes.
#[derive(Debug, Default)]
pub(crate) struct Local {
    words: Vec<Cell<u32>>,
    valid: Vec<Cell<u8>>,
}

impl Local {
    /// Makes room for so many bytes a lane.
    pub fn reserve(&mut self, bytes: u32) {
        let words = (bytes.div_ceil(4) as usize) * LANES;
        if words > self.words.len() {
            self.words.resize_with(words, Cell::default);
            self.valid.resize_with(words, Cell::default);
        }
    }
    pub fn bytes(&self) -> u64 {
        (self.words.len() / LANES * 4) as u64
    }
    /// Forgets that bytes were written: a new frame starts there.
    pub fn forget(&self, from: u32, to: u32, lane: usize) {
        for word in (from / 4) as usize..(to.div_ceil(4) as usize).min(self.words.len() / LANES) {
            self.valid[word * LANES + lane].set(0);
        }
    }
}

impl Words for Local {
    #[inline(always)]
    fn get(&self, word: usize, lane: usize) -> u32 {
        self.words[word * LANES + lane].get()
    }
    #[inline(always)]
    fn set(&self, word: usize, lane: usize, value: u32) {
        self.words[word * LANES + lane].set(value);
    }
    #[inline(always)]
    fn valid(&self, word: usize, lane: usize) -> u8 {
        self.valid[word * LANES + lane].get()
    }
    #[inline(always)]
    fn mark(&self, word: usize, lane: usize, bytes: u8) {
        let valid = &self.valid[word * LANES + lane];
        valid.set(valid.get() | bytes);
    }
}

/// A simulated device's global memory with its allocations.
#[derive(Debug)]
pub struct Device {
    pub(crate) arena: Arena,
    allocations: Vec<Allocation>,
    limit: u64,
    /// Variables of the programs that were loaded.
    variables: Vec<Variable>,
    pub(crate) heap: Mutex<Heap>,
    /// Bytes of the arena, where it can't grow.
    room: Option<u64>,
    in_use: u64,
    /// Textures and surfaces.
    pub images: Images,
    pub(crate) children: Mutex<Children>,
}

/// A variable of a loaded module.
#[derive(Debug)]
struct Variable {
    module: u32,
    name: String,
    address: u64,
}

/// The heap of device-side `malloc`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Heap {
    /// Offset and end in the arena, once reserved.
    range: Option<(u64, u64)>,
    next: u64,
    pub blocks: Vec<Allocation>,
}

impl Heap {
    /// A new block's address, or 0 when the heap is full.
    pub fn malloc(&mut self, bytes: u64) -> u64 {
        let Some((_, end)) = self.range else { return 0 };
        let bytes = bytes.max(1);
        let next = self.next;
        if bytes > HEAP || next + bytes + GAP > end {
            return 0;
        }
        let name = format!("malloc#{}", self.blocks.len() + 1);
        self.blocks.push(Allocation {
            name,
            offset: next,
            bytes,
            freed: false,
            host: false,
        });
        self.next = (next + bytes + 16).next_multiple_of(16);
        GLOBAL_BASE + next
    }

    /// Frees the block at an address.
    pub fn free(&mut self, address: u64) -> Result<(), FaultKind> {
        let mut blocks = self.blocks.iter_mut();
        let block = blocks.find(|b| b.address() == address);
        let block = block.ok_or(FaultKind::NotAllocated)?;
        match std::mem::replace(&mut block.freed, true) {
            true => Err(FaultKind::FreedTwice),
            false => Ok(()),
        }
    }
}

impl Device {
    /// An empty device with so many bytes of global memory.
    pub fn new(limit: u64) -> Device {
        Device {
            arena: Arena::default(),
            allocations: Vec::new(),
            limit,
            variables: Vec::new(),
            heap: Mutex::default(),
            room: None,
            in_use: 0,
            images: Images::default(),
            children: Mutex::default(),
        }
    }

    /// A device whose arena is memory that somebody else has reserved, all zero: `words` hold the bytes, `valid` says for each word
    /// which of them have been written. Where `words` are also mapped at [`GLOBAL_BASE`], device addresses are the process's.
    pub fn lent(words: &'static [AtomicU32], valid: &'static [AtomicU8], limit: u64) -> Device {
        let mut device = Device::new(limit);
        device.room = Some(words.len().min(valid.len()) as u64 * 4);
        device.arena.words = Cells::Lent(words);
        device.arena.valid = Cells::Lent(valid);
        device
    }

    /// Allocates global memory (`cudaMalloc`); its content is not initialised. Returns the device address.
    ///
    /// # Errors
    /// [`MemoryError::Full`]
    pub fn alloc(&mut self, bytes: u64, name: &str) -> Result<u64, MemoryError> {
        self.alloc_aligned(bytes, name, ALIGN)
    }

    /// The same at a multiple of `align`, a power of two.
    ///
    /// # Errors
    /// [`MemoryError::Full`]
    pub fn alloc_aligned(
        &mut self,
        bytes: u64,
        name: &str,
        align: u64,
    ) -> Result<u64, MemoryError> {
        let full = |left: u64, limit: u64| MemoryError::Full {
            name: name.to_owned(),
            bytes,
            left,
            limit,
        };
        let left = match self.room {
            // Where addresses are never given out again, the device's size bounds what is in use.
            Some(_) => self.limit.saturating_sub(self.in_use),
            None => self
                .limit
                .saturating_sub(self.end().next_multiple_of(ALIGN)),
        };
        if bytes > left {
            return Err(full(left, self.limit));
        }
        let align = align.max(ALIGN);
        let (at, offset) = self
            .place(bytes, align)
            .ok_or_else(|| full(0, self.limit))?;
        self.arena.resize(offset + bytes + GAP);
        self.allocations.insert(
            at,
            Allocation {
                name: name.to_owned(),
                offset,
                bytes,
                freed: false,
                host: false,
            },
        );
        self.in_use += bytes;
        Ok(GLOBAL_BASE + offset)
    }

    /// One past the last allocation and its gap.
    fn end(&self) -> u64 {
        let last = self.allocations.last();
        last.map_or(GAP, |a| a.offset + a.bytes + GAP)
    }

    /// Index and offset of a new allocation: behind all others, or where there is no room, in the first hole that forgotten ones left.
    fn place(&self, bytes: u64, align: u64) -> Option<(usize, u64)> {
        let offset = self.end().checked_next_multiple_of(align)?;
        let room = self.room.unwrap_or(u64::MAX);
        if offset.checked_add(bytes)?.checked_add(GAP)? <= room {
            return Some((self.allocations.len(), offset));
        }
        let ends = self.allocations.iter().map(|a| a.offset + a.bytes + GAP);
        let starts = self.allocations.iter().map(|a| a.offset);
        let holes = std::iter::once(GAP).chain(ends).zip(starts).enumerate();
        holes
            .map(|(at, (end, start))| (at, end.next_multiple_of(align), start))
            .find(|(_, offset, start)| offset + bytes + GAP <= *start)
            .map(|(at, offset, _)| (at, offset))
    }

    /// Allocates host memory that the device can address (`cudaMallocHost`, "unified virtual addressing").
    ///
    /// # Errors
    /// [`MemoryError::Full`]
    pub fn alloc_host(&mut self, bytes: u64, name: &str) -> Result<u64, MemoryError> {
        self.alloc_host_aligned(bytes, name, ALIGN)
    }

    /// The same at a multiple of `align`, a power of two.
    ///
    /// # Errors
    /// [`MemoryError::Full`]
    pub fn alloc_host_aligned(
        &mut self,
        bytes: u64,
        name: &str,
        align: u64,
    ) -> Result<u64, MemoryError> {
        let address = self.alloc_aligned(bytes, name, align)?;
        let new = self.allocations.iter_mut().find(|a| a.address() == address);
        if let Some(allocation) = new {
            allocation.host = true;
        }
        Ok(address)
    }

    /// Frees an allocation (`cudaFree`): later accesses are errors.
    ///
    /// # Errors
    /// [`MemoryError::NotAllocated`]
    pub fn free(&mut self, address: u64) -> Result<(), MemoryError> {
        let found = self
            .allocations
            .iter_mut()
            .find(|a| a.address() == address && !a.freed);
        let freed = found.ok_or(MemoryError::NotAllocated { address, bytes: 0 })?;
        freed.freed = true;
        self.in_use -= freed.bytes;
        Ok(())
    }

    /// Makes an allocation new: usable where it was freed, and with nothing written to it.
    ///
    /// # Errors
    /// [`MemoryError::NotAllocated`]
    pub fn renew(&mut self, address: u64) -> Result<(), MemoryError> {
        let mut all = self.allocations.iter_mut();
        let found = all.find(|a| a.address() == address);
        let renewed = found.ok_or(MemoryError::NotAllocated { address, bytes: 0 })?;
        if std::mem::replace(&mut renewed.freed, false) {
            self.in_use += renewed.bytes;
        }
        let words = renewed.offset / 4..(renewed.offset + renewed.bytes).div_ceil(4);
        for word in words {
            self.arena.valid[word as usize].store(0, Relaxed);
        }
        Ok(())
    }

    /// Forgets an allocation that was freed: accesses are not told from those that hit nothing any more, and its addresses may be given
    /// out again. What was written there is forgotten.
    pub fn forget(&mut self, address: u64) {
        let Some(at) = self
            .allocations
            .iter()
            .position(|a| a.address() == address && a.freed)
        else {
            return;
        };
        let gone = self.allocations.remove(at);
        let words = gone.offset / 4..(gone.offset + gone.bytes).div_ceil(4);
        for word in words {
            self.arena.valid[word as usize].store(0, Relaxed);
        }
    }

    /// Takes all of an allocation's bytes for written: whoever shares them with the device writes them unseen.
    ///
    /// # Errors
    /// [`MemoryError::NotAllocated`]
    pub fn assume_written(&mut self, address: u64, bytes: u64) -> Result<(), MemoryError> {
        let offset = self.range(address, bytes)?;
        for word in offset / 4..(offset + bytes).div_ceil(4) {
            self.arena.valid[word as usize].store(0xf, Relaxed);
        }
        Ok(())
    }

    /// Bytes of all allocations that are not freed.
    pub fn in_use(&self) -> u64 {
        self.in_use
    }

    /// Bytes of global memory.
    pub fn limit(&self) -> u64 {
        self.limit
    }

    fn range(&self, address: u64, bytes: u64) -> Result<u64, MemoryError> {
        let error = MemoryError::NotAllocated { address, bytes };
        let offset = address.checked_sub(GLOBAL_BASE).ok_or(error.clone())?;
        let inside =
            |a: &Allocation| offset >= a.offset && offset + bytes <= a.offset + a.bytes && !a.freed;
        if self.allocations.iter().any(inside) {
            Ok(offset)
        } else {
            Err(error)
        }
    }

    /// Writes from the host.
    ///
    /// # Errors
    /// [`MemoryError::NotAllocated`]
    pub fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), MemoryError> {
        let offset = self.range(address, bytes.len() as u64)?;
        self.put(offset, bytes);
        Ok(())
    }

    /// Writes at an offset of the arena, by words where it can.
    fn put(&self, offset: u64, bytes: &[u8]) {
        let by_bytes = |at: u64, bytes: &[u8]| {
            for (at, byte) in (at..).zip(bytes) {
                self.arena.write(at, 1, 0, u64::from(*byte));
            }
        };
        let head = (offset.next_multiple_of(4) - offset).min(bytes.len() as u64) as usize;
        by_bytes(offset, &bytes[..head]);
        let (words, tail) = bytes[head..].as_chunks::<4>();
        let mut at = offset + head as u64;
        for word in words {
            self.arena
                .write(at, 4, 0, u64::from(u32::from_le_bytes(*word)));
            at += 4;
        }
        by_bytes(at, tail);
    }

    /// Reads to the host; bytes never written read as they happen to be.
    ///
    /// # Errors
    /// [`MemoryError::NotAllocated`]
    pub fn read(&self, address: u64, bytes: u64) -> Result<Vec<u8>, MemoryError> {
        let offset = self.range(address, bytes)?;
        let (first, last) = (offset / 4, (offset + bytes).div_ceil(4));
        let words = first..last.max(first);
        let all = words.flat_map(|w| self.arena.get(w as usize, 0).to_le_bytes());
        let head = (offset - first * 4) as usize;
        Ok(all.skip(head).take(bytes as usize).collect())
    }

    /// Copies bytes, and whether they were ever written.
    ///
    /// # Errors
    /// [`MemoryError::NotAllocated`]
    pub fn copy(&mut self, from: u64, to: u64, bytes: u64) -> Result<(), MemoryError> {
        let start = self.range(from, bytes)?;
        if (start | bytes).is_multiple_of(4) && to.is_multiple_of(4) {
            let (from, to) = ((start / 4) as usize, (self.range(to, bytes)? / 4) as usize);
            for word in 0..(bytes / 4) as usize {
                self.arena.set(to + word, 0, self.arena.get(from + word, 0));
                let valid = self.arena.valid(from + word, 0);
                self.arena.valid[to + word].store(valid, Relaxed);
            }
            return Ok(());
        }
        let (data, written) = (self.read(from, bytes)?, self.written(from, bytes)?);
        let to = self.range(to, bytes)?;
        self.put(to, &data);
        for (at, written) in (to..).zip(written) {
            if !written {
                self.arena.forget(at);
            }
        }
        Ok(())
    }

    /// Which bytes something has written, for [`Device::read`]'s range.
    ///
    /// # Errors
    /// [`MemoryError::NotAllocated`]
    pub fn written(&self, address: u64, bytes: u64) -> Result<Vec<bool>, MemoryError> {
        let offset = self.range(address, bytes)?;
        Ok((0..bytes)
            .map(|i| self.arena.is_valid(offset + i, 1, 0))
            .collect())
    }

    /// Allocations in the order of their offsets.
    pub fn allocations(&self) -> &[Allocation] {
        &self.allocations
    }

    /// The allocation that an arena offset lies in, or the nearest one before it.
    pub fn allocation_at(&self, offset: u64) -> Option<Allocation> {
        let heap = self
            .heap
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        let in_heap = heap
            .blocks
            .iter()
            .find(|b| offset >= b.offset && offset < b.offset + b.bytes);
        in_heap.cloned().or_else(|| {
            let after = self.allocations.partition_point(|a| a.offset <= offset);
            after.checked_sub(1).map(|i| self.allocations[i].clone())
        })
    }

    /// Bytes of the arena in use.
    pub fn arena_bytes(&self) -> u64 {
        match self.allocations.is_empty() {
            true => 0,
            false => self.end(),
        }
    }

    /// Address of a module variable that a loaded program declares.
    pub fn variable(&self, name: &str) -> Option<u64> {
        self.variable_of(0, name)
    }

    /// The same of a program of this [module](Program::module).
    pub fn variable_of(&self, module: u32, name: &str) -> Option<u64> {
        let mut all = self.variables.iter();
        let found = all.find(|v| v.module == module && v.name == name)?;
        Some(found.address)
    }

    /// Lets an allocation be the variable of this name of a module, before the module is loaded.
    pub fn bind_variable(&mut self, module: u32, name: &str, address: u64) {
        self.variables.push(Variable {
            module,
            name: name.to_owned(),
            address,
        });
    }

    /// Loads a program's module (`cuModuleLoad`): its variables become
    /// allocations with their initial values, unless variables of these names are there
    /// already, from another kernel of the same module.
    ///
    /// # Errors
    /// [`MemoryError::Full`]
    pub fn load(&mut self, program: &Program) -> Result<(), MemoryError> {
        let module = program.module;
        let unknown = |g: &&GlobalVariable| self.variable_of(module, &g.name).is_none();
        let new: Vec<&GlobalVariable> = program.globals.iter().filter(unknown).collect();
        for g in &new {
            let address = self.alloc(g.bytes, &g.name)?;
            self.variables.push(Variable {
                module,
                name: g.name.clone(),
                address,
            });
            let mut init = g.init.clone();
            init.resize(g.bytes as usize, 0);
            self.write(address, &init)?;
        }
        for g in &new {
            let Some(at) = self.variable_of(module, &g.name) else {
                continue;
            };
            for (offset, target, addend) in &g.addresses {
                let address = match target {
                    Target::Variable(v) => {
                        let name = &program.globals[*v].name;
                        self.variable_of(module, name).unwrap_or(0)
                    }
                    Target::Function(f) => FUNCTION_BASE + *f as u64,
                };
                self.write(
                    at + offset,
                    &address.wrapping_add_signed(*addend).to_le_bytes(),
                )?;
            }
        }
        Ok(())
    }

    /// Makes room for device-side `malloc`.
    pub(crate) fn reserve_heap(&mut self) -> Result<(), MemoryError> {
        if self.heap.get_mut().is_ok_and(|h| h.range.is_some()) {
            return Ok(());
        }
        let offset = self.alloc(HEAP, "device heap")? - GLOBAL_BASE;
        if let Ok(heap) = self.heap.get_mut() {
            heap.range = Some((offset, offset + HEAP));
            heap.next = offset;
        }
        Ok(())
    }

    /// Whether an offset lies in the device heap.
    pub(crate) fn in_heap(&self, offset: u64) -> bool {
        let heap = self
            .heap
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        heap.range
            .is_some_and(|(start, end)| (start..end).contains(&offset))
    }
}

/// The kernel's parameters: the same for all lanes, never written.
#[derive(Debug, Default)]
pub(crate) struct Params {
    words: Vec<u32>,
    bytes: u64,
}

impl Params {
    pub fn new(bytes: &[u8]) -> Params {
        let mut padded = bytes.to_vec();
        padded.resize(bytes.len().next_multiple_of(4), 0);
        let words = padded
            .chunks_exact(4)
            .map(|c| u32::from_le_bytes([c[0], c[1], c[2], c[3]]))
            .collect();
        Params {
            words,
            bytes: bytes.len() as u64,
        }
    }
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}

impl Words for Params {
    #[inline(always)]
    fn get(&self, word: usize, _: usize) -> u32 {
        self.words[word]
    }
    fn set(&self, _: usize, _: usize, _: u32) {}
    #[inline(always)]
    fn valid(&self, _: usize, _: usize) -> u8 {
        0xf
    }
    fn mark(&self, _: usize, _: usize, _: u8) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lent(bytes: usize) -> Device {
        let words = (0..bytes / 4)
            .map(|_| AtomicU32::new(0))
            .collect::<Vec<_>>();
        let valid = (0..bytes / 4).map(|_| AtomicU8::new(0)).collect::<Vec<_>>();
        Device::lent(words.leak(), valid.leak(), 1 << 20)
    }

    #[test]
    fn a_lent_arena_gives_forgotten_addresses_out_again_once_it_is_full() {
        let mut device = lent(64 << 10);
        let first = device.alloc(20 << 10, "first").unwrap();
        let second = device.alloc(20 << 10, "second").unwrap();
        device.write(first, &[1, 2, 3]).unwrap();
        device.free(first).unwrap();
        assert!(matches!(
            device.alloc(20 << 10, "third"),
            Err(MemoryError::Full { .. })
        ));
        device.forget(first);
        assert_eq!(device.alloc(20 << 10, "third").unwrap(), first);
        assert_eq!(device.written(first, 3).unwrap(), [false; 3]);
        assert!(device.read(second, 20 << 10).is_ok());
        assert_eq!(device.in_use(), 40 << 10);
    }

    #[test]
    fn a_lent_arena_is_the_lenders_memory() {
        let words: &'static [AtomicU32] =
            Vec::from_iter((0..4096).map(|_| AtomicU32::new(0))).leak();
        let valid: &'static [AtomicU8] = Vec::from_iter((0..4096).map(|_| AtomicU8::new(0))).leak();
        let mut device = Device::lent(words, valid, 1 << 20);
        let at = device.alloc_aligned(8, "a", 4096).unwrap();
        assert_eq!(at % 4096, 0);
        device.write(at, &7u32.to_le_bytes()).unwrap();
        assert_eq!(words[((at - GLOBAL_BASE) / 4) as usize].load(Relaxed), 7);
        assert_eq!(
            device.written(at, 8).unwrap(),
            [true, true, true, true, false, false, false, false]
        );
    }
}
