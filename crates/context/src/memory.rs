//! Memory as the host program knows it: the device, its allocations, and memory of the host that was registered.

use crate::arena::Arena;
use crate::arrays::Arrays;
use crate::call::Call;
use crate::error::{Error, Result};
use simt::Device;
use simt::memory::GLOBAL_BASE;
use std::collections::{BTreeMap, VecDeque};

/// What kind of memory an allocation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `cudaMalloc`
    Device,
    /// `cudaMallocManaged`, `__managed__`
    Managed,
    /// `cudaMallocHost`, `cudaHostAlloc`
    Pinned,
    /// `__device__`, `__constant__`
    Variable,
    /// `cudaMallocArray` and the like
    Array,
    /// `cuMemAddressReserve`
    Reserved,
}

impl Kind {
    /// Whether the host may read and write it.
    pub fn is_open(self) -> bool {
        matches!(self, Kind::Managed | Kind::Pinned)
    }

    /// `managed memory`
    pub fn name(self) -> &'static str {
        match self {
            Kind::Device => "device memory",
            Kind::Managed => "managed memory",
            Kind::Pinned => "pinned memory",
            Kind::Variable => "a device variable",
            Kind::Array => "an array",
            Kind::Reserved => "a range of addresses",
        }
    }
}

/// An allocation.
#[derive(Clone, Debug)]
pub struct Block {
    /// First byte.
    pub address: u64,
    /// Size.
    pub bytes: u64,
    /// What it is.
    pub kind: Kind,
    /// Its number, from 1, for the reader.
    pub number: usize,
    /// The name of a variable.
    pub name: Option<String>,
    /// Who allocated it.
    pub call: Call,
    /// Who freed it.
    pub freed: Option<Call>,
    /// Whether it belongs to a graph, which allocates it again at the same address.
    pub of_graph: bool,
    /// Whether it is memory of the host that was registered.
    pub registered: bool,
}

impl Block {
    /// How the reader is told of it.
    pub fn label(&self) -> String {
        match &self.name {
            Some(name) => format!("`{name}`"),
            None => format!("{} ({} bytes)", nameless(self.number), self.bytes),
        }
    }
}

/// What an allocation is called until the lines of the host program are known, whose pointer gives it a name.
pub(crate) fn nameless(number: usize) -> String {
    format!("allocation {number}")
}

/// The numbers of the allocations that a text calls so, and where: the bytes of the text.
pub fn nameless_in(text: &str) -> impl Iterator<Item = (usize, std::ops::Range<usize>)> + '_ {
    const WORD: &str = "allocation ";
    text.match_indices(WORD).filter_map(|(at, _)| {
        let digits = text[at + WORD.len()..]
            .split(|c: char| !c.is_ascii_digit())
            .next()?;
        Some((digits.parse().ok()?, at..at + WORD.len() + digits.len()))
    })
}

/// Memory of the host that is registered (`cudaHostRegister`).
#[derive(Clone, Debug)]
pub struct Registered {
    /// Size.
    pub(crate) bytes: u64,
    /// Its address in the arena, once it is the device's, too.
    pub(crate) device: Option<u64>,
    /// Whether it can't be.
    pub(crate) apart: bool,
    /// Who registered it.
    pub(crate) call: Call,
}

/// All of it.
#[derive(Debug)]
pub struct Memory {
    pub(crate) arena: Arena,
    pub(crate) device: Device,
    /// Allocations by their address, some that were freed among them.
    pub(crate) blocks: BTreeMap<u64, Block>,
    /// Those that were freed last.
    pub(crate) quarantine: VecDeque<u64>,
    /// Memory of the host that is registered, by its start.
    pub(crate) registered: BTreeMap<u64, Registered>,
    /// How many allocations there were.
    pub(crate) numbers: usize,
    pub(crate) arrays: Arrays,
    graph_peak: u64,
}

impl Memory {
    /// None in use.
    pub(crate) fn new(arena: Arena, mut device: Device) -> Memory {
        device.images.all = true;
        Memory {
            arena,
            device,
            blocks: BTreeMap::new(),
            quarantine: VecDeque::new(),
            registered: BTreeMap::new(),
            numbers: 0,
            arrays: Arrays::default(),
            graph_peak: 0,
        }
    }

    /// The allocation that an address lies in.
    pub fn block(&self, address: u64) -> Option<&Block> {
        let (_, block) = self.blocks.range(..=address).next_back()?;
        let inside = address < block.address + block.bytes.max(1) && block.freed.is_none();
        inside.then_some(block)
    }

    /// Whether memory of the host is registered.
    pub fn is_registered(&self, host: u64) -> bool {
        self.registered_around(host, 1).is_some()
    }

    /// The start of a registered range that a range touches.
    pub(crate) fn registered_around(&self, host: u64, bytes: u64) -> Option<u64> {
        let end = host.saturating_add(bytes);
        let (start, known) = self.registered.range(..end).next_back()?;
        (host < start + known.bytes).then_some(*start)
    }

    /// Bytes that are left, and all.
    pub fn room(&self) -> (u64, u64) {
        let all = self.device.limit();
        (all.saturating_sub(self.device.in_use()), all)
    }

    /// Whether an address is one of the device's, of whatever kind.
    pub fn is_device_address(&self, address: u64) -> bool {
        self.arena.contains(address)
    }

    /// An allocation belongs to a graph: once freed, its address is given to nobody else.
    pub fn keep_for_graph(&mut self, address: u64) {
        if let Some(block) = self.blocks.get_mut(&address) {
            block.of_graph = true;
        }
    }

    /// A graph allocates its memory, again where it was freed; what is in it is undefined.
    ///
    /// # Errors
    ///
    /// It was not made for a graph, or does not fit.
    pub fn allocate_again(&mut self, address: u64) -> Result<()> {
        let block = self.blocks.get_mut(&address).filter(|b| b.of_graph);
        let block = block.ok_or(Error::INVALID_VALUE)?;
        block.freed = None;
        let renewed = self.device.renew(address);
        renewed.map_err(|_| Error::MEMORY_ALLOCATION)
    }

    /// Bytes of graphs' memory: in use, and at most.
    pub fn graph_memory(&mut self) -> (u64, u64) {
        let all = self
            .blocks
            .values()
            .filter(|b| b.of_graph && b.freed.is_none());
        let now = all.map(|b| b.bytes).sum();
        self.graph_peak = self.graph_peak.max(now);
        (now, self.graph_peak)
    }

    /// Writes to a range that was [checked](crate::Context::check).
    ///
    /// # Errors
    ///
    /// It was not.
    pub fn write(&mut self, address: u64, bytes: &[u8]) -> Result<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        let written = self.device.write(address, bytes);
        written.map_err(|_| Error::INVALID_VALUE)
    }

    /// Reads a range that was [checked](crate::Context::check).
    ///
    /// # Errors
    ///
    /// It was not.
    pub fn read(&self, address: u64, into: &mut [u8]) -> Result<()> {
        if into.is_empty() {
            return Ok(());
        }
        let bytes = self.device.read(address, into.len() as u64);
        into.copy_from_slice(&bytes.map_err(|_| Error::INVALID_VALUE)?);
        Ok(())
    }

    /// Copies between ranges that were [checked](crate::Context::check), with what is known of their having been written.
    ///
    /// # Errors
    ///
    /// They were not.
    pub fn copy(&mut self, to: u64, from: u64, bytes: u64) -> Result<()> {
        if bytes == 0 {
            return Ok(());
        }
        let copied = self.device.copy(from, to, bytes);
        copied.map_err(|_| Error::INVALID_VALUE)?;
        if self.block(to).is_some_and(|b| b.kind.is_open()) {
            let _ = self.device.assume_written(to, bytes);
        }
        Ok(())
    }

    /// Fills a checked range with a pattern.
    ///
    /// # Errors
    ///
    /// It was not checked.
    pub fn fill(&mut self, address: u64, pattern: &[u8], count: u64) -> Result<()> {
        const PIECE: u64 = 1 << 20;
        let size = pattern.len() as u64;
        let piece = pattern.repeat(count.min(PIECE) as usize);
        let mut done = 0;
        while done < count {
            let now = (count - done).min(PIECE);
            self.write(address + done * size, &piece[..(now * size) as usize])?;
            done += now;
        }
        Ok(())
    }

    /// Lets the host at memory that it shares with the device.
    pub(crate) fn share(&mut self, address: u64, bytes: u64) -> Result<()> {
        self.arena
            .open(address, bytes.max(1), true)
            .map_err(|_| Error::OPERATING_SYSTEM)?;
        self.device
            .assume_written(address, bytes)
            .map_err(|_| Error::UNKNOWN)
    }

    /// A range as an operation's footprint has it.
    pub(crate) fn range(address: u64, bytes: u64) -> Option<(u64, u64)> {
        Some((address.checked_sub(GLOBAL_BASE)?, bytes)).filter(|(_, b)| *b > 0)
    }
}
