//! Allocations as the host program knows them, and what it may do with addresses.

use crate::alias;
use crate::arena::PAGE;
use crate::context::Context;
use crate::error::{Error, Result};
use crate::record::Call;
use detect::rules::Rule;
use simt::memory::GLOBAL_BASE;

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
            None => format!("allocation {} ({} bytes)", self.number, self.bytes),
        }
    }
}

/// Memory of the host that is registered (`cudaHostRegister`).
#[derive(Clone, Debug)]
pub struct Registered {
    /// Size.
    bytes: u64,
    /// Its address in the arena, once it is the device's, too.
    device: Option<u64>,
    /// Whether it can't be.
    apart: bool,
    /// Who registered it.
    call: Call,
}

/// Freed allocations that are remembered, so that their use is told as such.
const QUARANTINE: usize = 256;

impl Context {
    /// Allocates memory.
    ///
    /// # Errors
    ///
    /// It does not fit.
    pub fn allocate(&mut self, bytes: u64, kind: Kind, call: Call) -> Result<u64> {
        let full = |_| Error::MEMORY_ALLOCATION;
        let name = format!("allocation {}", self.numbers + 1);
        let address = match kind {
            Kind::Pinned => self.device.alloc_host_aligned(bytes, &name, PAGE),
            Kind::Reserved => self.device.alloc_aligned(bytes, &name, 2 << 20),
            Kind::Managed => self.device.alloc_aligned(bytes, &name, PAGE),
            _ => self.device.alloc(bytes, &name),
        };
        let address = address.map_err(full)?;
        if kind.is_open() {
            self.share(address, bytes)?;
        }
        self.numbers += 1;
        let block = Block {
            address,
            bytes,
            kind,
            number: self.numbers,
            name: None,
            call,
            freed: None,
            of_graph: false,
            registered: false,
        };
        self.blocks.insert(address, block);
        if kind.is_open() {
            self.shares();
        }
        self.totals.peak = self.totals.peak.max(self.device.in_use());
        Ok(address)
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

    /// The allocation that an address lies in.
    pub fn block(&self, address: u64) -> Option<&Block> {
        let (_, block) = self.blocks.range(..=address).next_back()?;
        let inside = address < block.address + block.bytes.max(1) && block.freed.is_none();
        inside.then_some(block)
    }

    /// Where the device finds memory of the host. Registered memory becomes the device's when it is asked for first.
    ///
    /// # Errors
    ///
    /// It is none that the device can address; or it is registered, and of a kind that can't be shared, which is said.
    pub fn device_address(&mut self, host: u64, function: &str) -> Result<u64> {
        if self.block(host).is_some_and(|block| block.kind.is_open()) {
            return Ok(host);
        }
        let start = self
            .registered_around(host, 1)
            .ok_or(Error::INVALID_VALUE)?;
        let address = self.adopted(start).inspect_err(|_| {
            self.missing(&format!("{function} of registered memory of this kind"));
        })?;
        Ok(address + (host - start))
    }

    /// Where an operation finds memory of the host that it is given: an address of the device's if all of it is registered, else the same address.
    /// An operation that goes on while the host does something else makes registered memory the device's, so that the two can be compared.
    pub fn host_view(&mut self, host: u64, bytes: u64, goes_on: bool) -> u64 {
        if self.registered.is_empty() {
            return host;
        }
        let Some(start) = self.registered_around(host, bytes) else {
            return host;
        };
        let known = &self.registered[&start];
        let whole = start <= host && host + bytes <= start + known.bytes;
        if !whole || known.apart || known.device.is_none() && !goes_on {
            return host;
        }
        match self.adopted(start) {
            Ok(address) => address + (host - start),
            Err(_) => host,
        }
    }

    /// The address of registered memory in the arena, which it is put into when it is asked for first.
    fn adopted(&mut self, start: u64) -> Result<u64> {
        let known = self.registered.get(&start).cloned();
        let known = known.ok_or(Error::INVALID_VALUE)?;
        if let Some(address) = known.device {
            return Ok(address);
        }
        let address = match known.apart {
            true => Err(Error::NOT_SUPPORTED),
            false => self.adopt(start, known.bytes, known.call.clone()),
        };
        let (device, apart) = (address.ok(), address.is_err());
        let now = Registered {
            device,
            apart,
            ..known
        };
        self.registered.insert(start, now);
        address
    }

    /// Puts registered memory into the arena: the address of its first byte there.
    fn adopt(&mut self, host: u64, bytes: u64, call: Call) -> Result<u64> {
        let into = host % PAGE;
        let address = self.allocate(into + bytes, Kind::Pinned, call)?;
        let page = host - into;
        if self.arena.adopt(address, page, into + bytes).is_err() {
            self.release(address, Call::default(), |_| true)?;
            return Err(Error::NOT_SUPPORTED);
        }
        if let Some(block) = self.blocks.get_mut(&address) {
            block.registered = true;
        }
        alias::add(page, address, host..host + bytes);
        Ok(address + into)
    }

    /// Registers memory of the host (`cudaHostRegister`).
    ///
    /// # Errors
    ///
    /// It is empty, or some of it is registered already.
    pub fn register(&mut self, host: u64, bytes: u64, call: Call) -> Result<()> {
        if host == 0 || bytes == 0 || host.checked_add(bytes).is_none() {
            return Err(Error::INVALID_VALUE);
        }
        if self.registered_around(host, bytes).is_some() {
            return Err(Error::HOST_MEMORY_ALREADY_REGISTERED);
        }
        let new = Registered {
            bytes,
            device: None,
            apart: false,
            call,
        };
        self.registered.insert(host, new);
        Ok(())
    }

    /// Takes a registration back (`cudaHostUnregister`).
    ///
    /// # Errors
    ///
    /// None begins there.
    pub fn unregister(&mut self, host: u64, call: Call) -> Result<()> {
        let known = self.registered.remove(&host);
        let known = known.ok_or(Error::HOST_MEMORY_NOT_REGISTERED)?;
        if let Some(address) = known.device {
            let into = host % PAGE;
            alias::remove(host - into);
            let back = self.arena.disown(host - into, into + known.bytes);
            back.map_err(|_| Error::OPERATING_SYSTEM)?;
            self.release(address - into, call, |_| true)?;
        }
        Ok(())
    }

    /// Whether memory of the host is registered.
    pub fn is_registered(&self, host: u64) -> bool {
        self.registered_around(host, 1).is_some()
    }

    /// The start of a registered range that a range touches.
    fn registered_around(&self, host: u64, bytes: u64) -> Option<u64> {
        let end = host.saturating_add(bytes);
        let (start, known) = self.registered.range(..end).next_back()?;
        (host < start + known.bytes).then_some(*start)
    }

    /// Bytes that are left, and all.
    pub fn room(&self) -> (u64, u64) {
        let all = self.device.limit();
        (all.saturating_sub(self.device.in_use()), all)
    }

    /// Frees everything but variables (`cudaDeviceReset`).
    pub fn reset(&mut self) {
        let all = self.blocks.values();
        let left: Vec<u64> = all
            .filter(|b| b.freed.is_none() && b.name.is_none())
            .map(|b| b.address)
            .collect();
        for address in left {
            let _ = self.release(address, Call::default(), |_| true);
        }
        self.abandon();
        self.sticky = None;
    }

    /// Whether an address is one of the device's, of whatever kind.
    pub fn is_device_address(&self, address: u64) -> bool {
        self.arena.contains(address)
    }

    /// Frees memory of a kind that `accepts` takes; a null pointer is no error.
    ///
    /// # Errors
    ///
    /// Nothing is allocated there, or of another kind: a finding, too.
    pub fn release(
        &mut self,
        address: u64,
        call: Call,
        accepts: impl Fn(Kind) -> bool,
    ) -> Result<()> {
        if address == 0 {
            return Ok(());
        }
        let wrong = match self.blocks.get(&address) {
            Some(block) if block.freed.is_none() && accepts(block.kind) => None,
            Some(block) if block.freed.is_none() => Some((
                format!(
                    "`{}` frees {}, which is {}",
                    call.function,
                    block.label(),
                    block.kind.name()
                ),
                Some((block.call.clone(), "it was allocated here")),
            )),
            Some(block) => Some((
                format!(
                    "`{}` frees {} for the second time",
                    call.function,
                    block.label()
                ),
                block.freed.clone().map(|c| (c, "it was freed here")),
            )),
            None => match self.block(address) {
                Some(block) => Some((
                    format!(
                        "`{}` frees an address in the middle of {}",
                        call.function,
                        block.label()
                    ),
                    Some((block.call.clone(), "it was allocated here")),
                )),
                None => Some((
                    format!(
                        "`{}` frees an address at which nothing is allocated",
                        call.function
                    ),
                    None,
                )),
            },
        };
        if let Some((title, other)) = wrong {
            let help = "free every allocation once, with the function that belongs to the one that allocated it";
            self.misuse(Rule::InvalidApiUse, title, call, other, Some(help));
            return Err(Error::INVALID_VALUE);
        }
        let block = self.blocks.get_mut(&address).ok_or(Error::INVALID_VALUE)?;
        block.freed = Some(call);
        let (bytes, kind, of_graph) = (block.bytes, block.kind, block.of_graph);
        let _ = self.device.free(address);
        if kind.is_open() {
            self.shares();
            let _ = self.arena.open(address, bytes.max(1), false);
        }
        self.arena.discard(address, bytes);
        if of_graph {
            return Ok(());
        }
        self.quarantine.push_back(address);
        if self.quarantine.len() > QUARANTINE
            && let Some(oldest) = self.quarantine.pop_front()
        {
            self.device.forget(oldest);
            self.blocks.remove(&oldest);
        }
        Ok(())
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

    /// Checks that a range lies in one allocation; otherwise it is a finding.
    ///
    /// # Errors
    ///
    /// It does not.
    pub fn check(&mut self, address: u64, bytes: u64, call: &Call) -> Result<()> {
        if bytes == 0 {
            return Ok(());
        }
        let function = &call.function;
        let (title, other, help) = match self.block(address) {
            Some(block) if address + bytes <= block.address + block.bytes => return Ok(()),
            Some(block) => {
                let room = block.address + block.bytes - address;
                let title = format!(
                    "`{function}` takes {bytes} bytes of {}, of which {room} are left from this address on",
                    block.label()
                );
                let place = (block.call.clone(), "it was allocated here");
                (
                    title,
                    Some(place),
                    "the size of a copy is in bytes: `count * sizeof(element)`",
                )
            }
            None => {
                let before = self.blocks.range(..=address).next_back();
                let freed = before
                    .map(|(_, b)| b)
                    .filter(|b| b.freed.is_some() && address < b.address + b.bytes.max(1));
                match freed {
                    Some(block) => (
                        format!("`{function}` uses {}, which was freed", block.label()),
                        block.freed.clone().map(|c| (c, "it was freed here")),
                        "free memory after its last use",
                    ),
                    None => (
                        format!("`{function}` uses {address:#x}, at which nothing is allocated"),
                        None,
                        "pass a pointer that an allocation gave, and check that the allocation succeeded",
                    ),
                }
            }
        };
        self.misuse(Rule::InvalidApiUse, title, call.clone(), other, Some(help));
        Err(Error::INVALID_VALUE)
    }

    /// Writes to a range that was [checked](Context::check).
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

    /// Reads a range that was [checked](Context::check).
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

    /// Copies between ranges that were [checked](Context::check), with what is known of their having been written.
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

    /// A range as an operation's footprint has it.
    pub(crate) fn range(address: u64, bytes: u64) -> Option<(u64, u64)> {
        Some((address.checked_sub(GLOBAL_BASE)?, bytes)).filter(|(_, b)| *b > 0)
    }
}
