//! A simulated device: its global memory with allocations, variables and the heap.

mod children;

use super::children::Children;
use super::memory::*;
use super::program::{GlobalVariable, Program, Target};
use super::texture::Images;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, AtomicU64};

/// `cudaMalloc` aligns to 256 bytes at least (CUDA C++ Programming Guide, "Device Memory Accesses").
const ALIGN: u64 = 256;

/// The name of what a cooperative launch's barrier lives in.
pub(crate) const WORKSPACE: &str = "cooperative launch workspace";

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
pub(crate) struct Variable {
    pub module: u32,
    pub name: String,
    pub address: u64,
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

    /// A device whose arena is memory that somebody else has reserved, all zero: `words` hold the bytes, `valid` says
    /// which of them have been written, each cell of [`WRITTEN_WORDS`](crate::memory::WRITTEN_WORDS) words. Where `words` are also mapped at [`GLOBAL_BASE`], device addresses are the process's.
    pub fn lent(words: &'static [AtomicU32], valid: &'static [AtomicU64], limit: u64) -> Device {
        let mut device = Device::new(limit);
        device.arena.valid = Written::lent(valid);
        device.room = Some(words.len().min(device.arena.valid.words()) as u64 * 4);
        device.arena.words = Cells::Lent(words);
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

    /// A cooperative launch goes on while others begin: its workspace, at this offset, is given to none of them.
    pub(crate) fn keep_workspace(&mut self, offset: Option<u64>) {
        let mut all = self.allocations.iter_mut();
        if let Some(workspace) = all.find(|a| Some(a.offset) == offset) {
            workspace.name = format!("{WORKSPACE} (in use)");
        }
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
        let words = words_of(renewed.offset, renewed.bytes);
        self.arena.valid.forget_all(words);
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
        let words = words_of(gone.offset, gone.bytes);
        self.arena.valid.forget_all(words);
    }

    /// Takes all of an allocation's bytes for written: whoever shares them with the device writes them unseen.
    ///
    /// # Errors
    /// [`MemoryError::NotAllocated`]
    pub fn assume_written(&mut self, address: u64, bytes: u64) -> Result<(), MemoryError> {
        let offset = self.range(address, bytes)?;
        self.arena.valid.mark_all(words_of(offset, bytes));
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
        let left = |a: &Allocation| a.bytes.checked_sub(offset.checked_sub(a.offset)?);
        let inside = |a: &Allocation| !a.freed && left(a).is_some_and(|left| bytes <= left);
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
        let mut all = Vec::with_capacity(4 * (last.max(first) - first) as usize);
        for word in words {
            all.extend_from_slice(&self.arena.get(word as usize, 0).to_le_bytes());
        }
        all.drain(..(offset - first * 4) as usize);
        all.truncate(bytes as usize);
        Ok(all)
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
                self.arena.valid.put(to + word, valid);
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

    /// The variables: module, name, address.
    pub(crate) fn named_variables(&self) -> impl Iterator<Item = (u32, String, u64)> {
        let all = self.variables.iter();
        all.map(|v| (v.module, v.name.clone(), v.address))
    }

    /// Takes other allocations and variables, of which nothing is known but their places.
    pub(crate) fn replace(&mut self, allocations: Vec<Allocation>, variables: Vec<Variable>) {
        let live = allocations.iter().filter(|a| !a.freed);
        self.in_use = live.map(|a| a.bytes).sum();
        self.allocations = allocations;
        self.variables = variables;
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

/// The arena's words that a range of its bytes touches.
fn words_of(offset: u64, bytes: u64) -> std::ops::Range<usize> {
    (offset / 4) as usize..(offset + bytes).div_ceil(4) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::Ordering::Relaxed;

    fn lent(bytes: usize) -> Device {
        let words = (0..bytes / 4)
            .map(|_| AtomicU32::new(0))
            .collect::<Vec<_>>();
        let valid = (0..bytes / 64)
            .map(|_| AtomicU64::new(0))
            .collect::<Vec<_>>();
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
        let valid: &'static [AtomicU64] =
            Vec::from_iter((0..256).map(|_| AtomicU64::new(0))).leak();
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
