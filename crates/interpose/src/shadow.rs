//! Shadow memory on the device: a table of pages, and a shadow for each page in which the program has memory.
//!
//! Everything is done on a stream of our own that waits for no other, so that nothing of ours makes the program's streams wait.

use crate::bounds::{Bounds, LINE, Mark, Meant};
use crate::order::Set;
use crate::real_driver::real;
use instrument::layout::{self, Config, PAGE, Results};
use std::collections::{BTreeMap, BTreeSet};

type Stream = usize;

/// Room for findings.
const FINDINGS: u32 = 1024;
const FINDINGS_BYTES: usize = FINDINGS as usize * layout::FINDING_BYTES as usize;
/// Accesses kept beside records.
pub const KEPT: u32 = 1 << 18;
/// Nodes of graphs that can be told apart.
pub const SLOTS: u32 = 1 << 16;
/// `CU_STREAM_NON_BLOCKING`
const NON_BLOCKING: u32 = 1;

/// `CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK`
pub const RESERVED: u32 = 111;

/// An attribute of a device.
pub fn attribute(which: u32, device: i32) -> u32 {
    let mut value = 0i32;
    real!(cuDeviceGetAttribute(&mut value => *mut i32, which => u32, device => i32));
    value.max(0) as u32
}

/// The shadow of one device.
pub struct Shadow {
    /// The device.
    pub device: i32,
    /// Ours, which waits for no other.
    pub stream: Stream,
    /// Where the table is.
    pub pages: u64,
    sync: u64,
    /// Memory of the host.
    findings: u64,
    tallies: u64,
    kept: u64,
    concurrent: u64,
    /// Numbers of graphs' nodes by slot ([`SLOTS`]).
    pub numbers: u64,
    /// Address of what launches share.
    pub config: u64,
    /// Bytes of a record's unit, as a shift.
    pub shift: u32,
    /// Pages that have a shadow, and where, by their place in the table, and the chunks that it lies in: address and bytes.
    covered: BTreeMap<u64, (u64, u64)>,
    chunks: Vec<(u64, u64)>,
    /// What is somebody's.
    pub bounds: Bounds,
    /// Pages in which modules have variables: of others that may lie there nobody is told.
    open: BTreeSet<u64>,
    /// Memory of the program that got no shadow, in bytes.
    pub refused: u64,
    /// Bytes of a block's shared memory that the system keeps for itself, at the beginning.
    pub reserved: u64,
}

impl Shadow {
    /// For the current device.
    pub fn new(device: i32, shift: u32) -> Option<Shadow> {
        let mut stream: Stream = 0;
        if real!(cuStreamCreate(&mut stream => *mut Stream, NON_BLOCKING => u32)) != 0 {
            return None;
        }
        let mut shadow = Shadow {
            device,
            stream,
            pages: 0,
            sync: 0,
            findings: 0,
            tallies: 0,
            kept: 0,
            concurrent: 0,
            numbers: 0,
            config: 0,
            shift,
            covered: BTreeMap::new(),
            chunks: Vec::new(),
            bounds: Bounds::default(),
            open: BTreeSet::new(),
            refused: 0,
            reserved: u64::from(attribute(RESERVED, device)),
        };
        shadow.pages = shadow.zeros(layout::PAGES * 8)?;
        shadow.sync = shadow.zeros(layout::SYNC_BYTES * 256)?;
        shadow.findings = host_zeros(FINDINGS_BYTES)?;
        shadow.tallies = shadow.zeros(layout::tallies_bytes(FINDINGS))?;
        shadow.kept = shadow.zeros(layout::KEPT_BYTES * u64::from(KEPT))?;
        shadow.concurrent = shadow.zeros(256 * 32)?;
        shadow.numbers = shadow.zeros(u64::from(SLOTS) * 4)?;
        shadow.config = shadow.zeros(layout::CONFIG_BYTES)?;
        shadow.configure();
        Some(shadow)
    }

    /// Writes down what launches share.
    fn configure(&self) {
        let config = Config {
            pages: self.pages,
            sync: self.sync,
            findings: self.findings,
            tallies: self.tallies,
            kept: self.kept,
            concurrent: self.concurrent,
            finding_count: FINDINGS,
            kept_mask: KEPT - 1,
            global_shift: self.shift,
            numbers: self.numbers,
        };
        let bytes = config.bytes();
        real!(cuMemcpyHtoDAsync_v2(self.config => u64, bytes.as_ptr() => *const u8, bytes.len() => usize, self.stream => Stream));
        self.wait();
    }

    /// Memory of so many bytes, all zero.
    fn zeros(&self, bytes: u64) -> Option<u64> {
        let mut address = 0u64;
        if real!(cuMemAlloc_v2(&mut address => *mut u64, bytes as usize => usize)) != 0 {
            return None;
        }
        self.clear(address, bytes);
        self.wait();
        Some(address)
    }

    fn clear(&self, address: u64, bytes: u64) {
        real!(cuMemsetD8Async(address => u64, 0 => u8, bytes as usize => usize, self.stream => Stream));
    }

    /// Waits for what we do, and for nothing else.
    pub fn wait(&self) {
        real!(cuStreamSynchronize(self.stream => Stream));
    }

    /// The launches that nothing orders with one; their device may be at work. The set stays until [`Shadow::wait`].
    pub fn set_concurrent(&self, number: u32, set: &Set) {
        let to = self.concurrent + u64::from(number) * size_of::<Set>() as u64;
        real!(cuMemcpyHtoDAsync_v2(to => u64, set.as_ptr() => *const u32, size_of::<Set>() => usize, self.stream => Stream));
    }

    /// Whether an address has a shadow.
    pub fn is_covered(&self, address: u64) -> bool {
        let page = address / PAGE;
        self.shadow_of(page).is_some()
    }

    /// The program has allocated memory.
    pub fn allocate(&mut self, address: u64, bytes: u64) {
        if bytes == 0 {
            return;
        }
        let marks = self.bounds.allocate(address, bytes);
        if self.cover(address, bytes) {
            self.mark_pages(address / PAGE, (address + bytes - 1) / PAGE);
        }
        self.mark(&marks);
        self.wait();
    }

    /// Memory was freed ([`Bounds::free`]).
    pub fn free(&mut self, address: u64, number: u64) {
        let marks = self.bounds.free(address, number);
        self.mark(&marks);
        self.wait();
    }

    /// A module has a variable there.
    pub fn variable(&mut self, address: u64, bytes: u64) {
        if bytes == 0 {
            return;
        }
        self.cover(address, bytes);
        for page in address / PAGE..=(address + bytes - 1) / PAGE {
            if self.open.insert(page) && self.shift == 2 {
                self.fill(page * PAGE, PAGE, 0);
            }
        }
        self.wait();
    }

    /// Where the shadow of a covered page is.
    fn shadow_of(&self, page: u64) -> Option<u64> {
        match self.covered.get(&(page % layout::PAGES)) {
            Some((known, shadow)) if *known == page => Some(*shadow),
            _ => None,
        }
    }

    /// Sets both halves of the headers of all lines of some memory.
    fn fill(&self, address: u64, bytes: u64, value: u32) {
        let end = address + bytes;
        let mut at = address;
        while at < end {
            let page = at / PAGE;
            let until = end.min((page + 1) * PAGE);
            let (first, last) = (at % PAGE / LINE, (until - 1) % PAGE / LINE);
            if let Some(shadow) = self.shadow_of(page)
                && (value == 0 || !self.open.contains(&page))
            {
                let words = (last + 1 - first) as usize * 2;
                real!(cuMemsetD32Async(shadow + first * 8 => u64, value => u32, words => usize, self.stream => Stream));
            }
            at = until;
        }
    }

    fn mark(&self, marks: &[Mark]) {
        if self.shift != 2 {
            return;
        }
        for mark in marks {
            match *mark {
                Mark::Lines {
                    address,
                    bytes,
                    somebodys,
                } => {
                    let value = if somebodys { 0 } else { layout::NOTHING };
                    self.fill(address, bytes, value);
                }
                Mark::Part { line, words } => {
                    let page = line / PAGE;
                    let Some(shadow) = self.shadow_of(page).filter(|_| !self.open.contains(&page))
                    else {
                        continue;
                    };
                    let records = shadow + layout::HEADERS + line % PAGE / 4 * 8;
                    self.clear(records, words * 8);
                    let (at, others) = (records + words * 8, (LINE / 4 - words) as usize);
                    real!(cuMemsetD32Async(at => u64, layout::NOTHING => u32, others * 2 => usize, self.stream => Stream));
                    self.fill(line, LINE, layout::PART);
                }
            }
        }
    }

    /// Marks covered pages whose shadow is zero.
    fn mark_pages(&self, first: u64, last: u64) {
        let pages = self.covered.values().map(|(page, _)| *page);
        let mut pages: Vec<u64> = pages.filter(|p| (first..=last).contains(p)).collect();
        pages.sort_unstable();
        for run in pages.chunk_by(|a, b| a + 1 == *b) {
            let end = (run[run.len() - 1] + 1) * PAGE;
            self.mark(&self.bounds.between(run[0] * PAGE, end));
        }
    }

    /// Memory gets a shadow: whether some of it had none.
    fn cover(&mut self, address: u64, bytes: u64) -> bool {
        let (first, last) = (address / PAGE, (address + bytes - 1) / PAGE);
        let mut missing = Vec::new();
        for page in first..=last {
            match self.covered.get(&(page % layout::PAGES)) {
                None => missing.push(page),
                Some((known, _)) if *known == page => {}
                // Memory that lies a multiple of 2 TiB away has its place in the table.
                Some(_) => self.refused += PAGE,
            }
        }
        // Places in the table go on from its end to its beginning.
        let next = |a: &u64, b: &u64| a + 1 == *b && !b.is_multiple_of(layout::PAGES);
        for run in missing.chunk_by(next) {
            let of_page = layout::page_shadow(self.shift);
            let total = of_page * run.len() as u64;
            let Some(chunk) = self.zeros(total + layout::HEADERS) else {
                self.refused += PAGE * run.len() as u64;
                continue;
            };
            self.chunks.push((chunk, total + layout::HEADERS));
            let shadow = chunk.next_multiple_of(layout::HEADERS);
            let shadows = (0..run.len() as u64).map(|number| shadow + number * of_page);
            let entries: Vec<u64> = run
                .iter()
                .zip(shadows)
                .map(|(page, shadow)| layout::entry(page * PAGE, shadow).1)
                .collect();
            let to = self.pages + run[0] % layout::PAGES * 8;
            real!(cuMemcpyHtoDAsync_v2(to => u64, entries.as_ptr() => *const u64, entries.len() * 8 => usize, self.stream => Stream));
            self.wait();
            let shadows = (0..).map(|number| shadow + number * of_page);
            let places = run.iter().zip(shadows);
            self.covered
                .extend(places.map(|(page, shadow)| (page % layout::PAGES, (*page, shadow))));
        }
        !missing.is_empty()
    }

    /// Records stand for fewer bytes from now on: all memory gets a new shadow. The device has nothing to do.
    pub fn refine(&mut self, shift: u32) {
        if shift >= self.shift {
            return;
        }
        real!(cuCtxSynchronize());
        self.shift = shift;
        self.configure();
        for (chunk, _) in std::mem::take(&mut self.chunks) {
            real!(cuMemFree_v2(chunk => u64));
        }
        self.clear(self.pages, layout::PAGES * 8);
        self.wait();
        let covered = std::mem::take(&mut self.covered).into_values();
        let mut pages: Vec<u64> = covered.map(|(page, _)| page).collect();
        pages.sort_unstable();
        for run in pages.chunk_by(|a, b| a + 1 == *b) {
            self.cover(run[0] * PAGE, run.len() as u64 * PAGE);
        }
    }

    /// Numbers of launches are used again: what they left is forgotten. The device has nothing to do.
    pub fn renew(&mut self) {
        for (chunk, bytes) in &self.chunks {
            self.clear(*chunk, *bytes);
        }
        self.clear(self.sync, layout::SYNC_BYTES * 256);
        self.clear(self.kept, layout::KEPT_BYTES * u64::from(KEPT));
        self.clear(self.concurrent, 256 * 32);
        self.mark_pages(0, u64::MAX);
        self.wait();
    }

    /// What an access to nobody's memory was meant for. `None`: the driver has given the memory out without our knowing.
    pub fn outside(&self, address: u64) -> Option<Meant> {
        const RANGE_START: u32 = 11;
        let mut start = 0u64;
        let asked = real!(cuPointerGetAttribute(&mut start => *mut u64, RANGE_START => u32, address => u64));
        match asked == 0 && !self.bounds.begins(start) {
            true => None,
            false => self.bounds.meant(address),
        }
    }

    /// What was found, without asking the device: not how often.
    pub fn results_at_hand(&self) -> Results {
        Results::read(&self.findings_now(), &[], FINDINGS)
    }

    /// A copy of the findings, word by word: the device may be writing.
    fn findings_now(&self) -> Vec<u8> {
        let words = self.findings as *const u32;
        // SAFETY: it is that long and stays; the device writes whole words, and says last that it has.
        let word = |at: usize| unsafe { words.add(at).read_volatile() };
        let all = 0..FINDINGS_BYTES / size_of::<u32>();
        all.flat_map(|at| word(at).to_le_bytes()).collect()
    }

    /// What was found, and whether the device could still be asked how often.
    pub fn results(&self) -> (Results, bool) {
        let mut tallies = vec![0u8; layout::tallies_bytes(FINDINGS) as usize];
        let read = real!(cuMemcpyDtoHAsync_v2(tallies.as_mut_ptr() => *mut u8, self.tallies => u64, tallies.len() => usize, self.stream => Stream));
        let waited = real!(cuStreamSynchronize(self.stream => Stream));
        let alive = read == 0 && waited == 0;
        if !alive {
            tallies.clear();
        }
        let findings = self.findings_now();
        (Results::read(&findings, &tallies, FINDINGS), alive)
    }
}

/// Memory of the host that the device can write to.
fn host_zeros(bytes: usize) -> Option<u64> {
    /// `CU_MEMHOSTALLOC_PORTABLE`, `CU_MEMHOSTALLOC_DEVICEMAP`
    const FLAGS: u32 = 1 | 2;
    let mut address = 0u64;
    if real!(cuMemHostAlloc(&mut address => *mut u64, bytes => usize, FLAGS => u32)) != 0 {
        return None;
    }
    // SAFETY: it is that long, and nobody else's.
    unsafe { std::ptr::write_bytes(address as *mut u8, 0, bytes) };
    Some(address)
}
