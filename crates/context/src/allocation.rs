//! Allocating, freeing and registering memory, and what the host program may do with addresses: what is wrong with that is a finding.

use crate::alias;
use crate::call::Call;
use crate::context::Context;
use crate::error::{Error, Result};
use crate::host_access;
use crate::memory::{Block, Kind, Registered, nameless};
use crate::pages::PAGE;
use detect::rules::Rule;

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
        let name = nameless(self.memory.numbers + 1);
        let address = match kind {
            Kind::Pinned => self.memory.device.alloc_host_aligned(bytes, &name, PAGE),
            Kind::Reserved => self.memory.device.alloc_aligned(bytes, &name, 2 << 20),
            Kind::Managed => self.memory.device.alloc_aligned(bytes, &name, PAGE),
            _ => self.memory.device.alloc(bytes, &name),
        };
        let address = address.map_err(full)?;
        if kind.is_open() {
            self.memory.share(address, bytes)?;
        }
        self.memory.numbers += 1;
        let block = Block {
            address,
            bytes,
            kind,
            number: self.memory.numbers,
            name: None,
            call,
            freed: None,
            of_graph: false,
            registered: false,
        };
        self.memory.blocks.insert(address, block);
        if kind.is_open() {
            self.shares();
        }
        self.findings.totals.peak = self.findings.totals.peak.max(self.memory.device.in_use());
        Ok(address)
    }

    /// Where the device finds memory of the host. Registered memory becomes the device's when it is asked for first.
    ///
    /// # Errors
    ///
    /// It is none that the device can address; or it is registered, and of a kind that can't be shared, which is said.
    pub fn device_address(&mut self, host: u64, function: &str) -> Result<u64> {
        if self
            .memory
            .block(host)
            .is_some_and(|block| block.kind.is_open())
        {
            return Ok(host);
        }
        let start = self
            .memory
            .registered_around(host, 1)
            .ok_or(Error::INVALID_VALUE)?;
        let address = self.adopted(start).inspect_err(|_| {
            self.findings
                .missing(&format!("{function} of registered memory of this kind"));
        })?;
        Ok(address + (host - start))
    }

    /// Where an operation finds memory of the host that it is given: an address of the device's if all of it is registered, else the same address.
    /// An operation that goes on while the host does something else makes registered memory the device's, so that the two can be compared.
    pub fn host_view(&mut self, host: u64, bytes: u64, goes_on: bool) -> u64 {
        if self.memory.registered.is_empty() {
            return host;
        }
        let Some(start) = self.memory.registered_around(host, bytes) else {
            return host;
        };
        let known = &self.memory.registered[&start];
        let left = host
            .checked_sub(start)
            .and_then(|into| known.bytes.checked_sub(into));
        let whole = left.is_some_and(|left| bytes <= left);
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
        let known = self.memory.registered.get(&start).cloned();
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
        self.memory.registered.insert(start, now);
        address
    }

    /// Puts registered memory into the arena: the address of its first byte there.
    fn adopt(&mut self, host: u64, bytes: u64, call: Call) -> Result<u64> {
        let into = host % PAGE;
        let address = self.allocate(into + bytes, Kind::Pinned, call)?;
        let page = host - into;
        let closable = alias::closable(host..host + bytes);
        // Its other threads may write there meanwhile.
        host_access::install(self.memory.arena.bytes());
        if self
            .memory
            .arena
            .adopt(address, page, into + bytes)
            .is_err()
        {
            self.release(address, Call::default(), |_| true)?;
            return Err(Error::NOT_SUPPORTED);
        }
        if let Some(block) = self.memory.blocks.get_mut(&address) {
            block.registered = true;
        }
        let file = self.memory.arena.file();
        alias::add(page, address, into + bytes, closable, file);
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
        if self.memory.registered_around(host, bytes).is_some() {
            return Err(Error::HOST_MEMORY_ALREADY_REGISTERED);
        }
        let new = Registered {
            bytes,
            device: None,
            apart: false,
            call,
        };
        self.memory.registered.insert(host, new);
        Ok(())
    }

    /// Takes a registration back (`cudaHostUnregister`).
    ///
    /// # Errors
    ///
    /// None begins there.
    pub fn unregister(&mut self, host: u64, call: Call) -> Result<()> {
        let known = self.memory.registered.remove(&host);
        let known = known.ok_or(Error::HOST_MEMORY_NOT_REGISTERED)?;
        if let Some(address) = known.device {
            let into = host % PAGE;
            let (device, pages) = (address - into, into + known.bytes);
            host_access::install(self.memory.arena.bytes());
            let back = self.memory.arena.disown(device, host - into, pages);
            alias::remove(host - into, back.is_err());
            back.map_err(|_| Error::OPERATING_SYSTEM)?;
            self.release(address - into, call, |_| true)?;
        }
        Ok(())
    }

    /// Frees everything but variables (`cudaDeviceReset`).
    pub fn reset(&mut self) {
        // Registered memory is the program's own, and goes back to it.
        let registered: Vec<u64> = self.memory.registered.keys().copied().collect();
        for host in registered {
            let _ = self.unregister(host, Call::default());
        }
        let all = self.memory.blocks.values();
        let left: Vec<u64> = all
            .filter(|b| b.freed.is_none() && b.name.is_none())
            .map(|b| b.address)
            .collect();
        for address in left {
            let _ = self.release(address, Call::default(), |_| true);
        }
        self.abandon();
        self.findings.sticky = None;
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
        // What is registered is the program's own: it is given back, and not freed.
        let mut registered = self.memory.registered.iter();
        let registered = registered.any(|(host, r)| r.device == Some(address + host % PAGE));
        let wrong = match self.memory.blocks.get(&address) {
            Some(block) if block.freed.is_none() && accepts(block.kind) && !registered => None,
            Some(block) if block.freed.is_none() && registered => Some((
                format!("`{}` frees registered memory", call.function),
                Some((block.call.clone(), "the device has had it since here")),
            )),
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
            None => match self.memory.block(address) {
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
        let block = self
            .memory
            .blocks
            .get_mut(&address)
            .ok_or(Error::INVALID_VALUE)?;
        block.freed = Some(call);
        let (bytes, kind, of_graph) = (block.bytes, block.kind, block.of_graph);
        let _ = self.memory.device.free(address);
        if kind.is_open() {
            self.shares();
            let _ = self.memory.arena.open(address, bytes.max(1), false);
        }
        self.memory.arena.discard(address, bytes);
        if of_graph {
            return Ok(());
        }
        self.memory.quarantine.push_back(address);
        if self.memory.quarantine.len() > QUARANTINE
            && let Some(oldest) = self.memory.quarantine.pop_front()
        {
            self.memory.device.forget(oldest);
            self.memory.blocks.remove(&oldest);
        }
        Ok(())
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
        let (title, other, help) = match self.memory.block(address) {
            Some(block) if bytes <= block.address + block.bytes - address => return Ok(()),
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
                let before = self.memory.blocks.range(..=address).next_back();
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
}
