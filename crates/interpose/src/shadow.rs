//! Shadow memory on the device: a table of pages, and a shadow for each page in which the program has memory.
//!
//! Everything is done on a stream of our own that waits for no other, so that nothing of ours makes the program's streams wait.

use crate::real_driver::real;
use instrument::layout::{self, PAGE};
use std::collections::BTreeMap;

type Stream = usize;

/// Bytes of addresses that the table covers: memory of a process lies close together.
const SPAN: u64 = 2 << 40;
/// Room for findings.
pub const FINDINGS: u32 = 1024;
/// Accesses kept beside records.
pub const KEPT: u32 = 1 << 18;
/// `CU_STREAM_NON_BLOCKING`
const NON_BLOCKING: u32 = 1;

/// The shadow of one device.
pub struct Shadow {
    /// The device.
    pub device: i32,
    stream: Stream,
    /// Where the table is, and what it covers.
    pub pages: u64,
    pub lowest: u64,
    pub sync: u64,
    pub findings: u64,
    pub kept: u64,
    /// Bytes of a record's unit, as a shift.
    pub shift: u32,
    /// Shadow by page number, and the chunks that it lies in: address and bytes.
    covered: BTreeMap<u64, u64>,
    chunks: Vec<(u64, u64)>,
    /// Memory of the program that got no shadow, in bytes.
    pub refused: u64,
    /// Bytes of a block's shared memory that the system keeps for itself, at the beginning.
    pub reserved: u64,
}

impl Shadow {
    /// For the current device, whose memory lies around an address.
    pub fn new(device: i32, address: u64, shift: u32) -> Option<Shadow> {
        let mut stream: Stream = 0;
        if real!(cuStreamCreate(&mut stream => *mut Stream, NON_BLOCKING => u32)) != 0 {
            return None;
        }
        let mut shadow = Shadow {
            device,
            stream,
            pages: 0,
            lowest: (address & !(PAGE - 1)).saturating_sub(SPAN / 2),
            sync: 0,
            findings: 0,
            kept: 0,
            shift,
            covered: BTreeMap::new(),
            chunks: Vec::new(),
            refused: 0,
            reserved: u64::from(crate::launches::attribute(
                crate::launches::RESERVED,
                device,
            )),
        };
        shadow.lowest &= !(PAGE - 1);
        shadow.pages = shadow.zeros(SPAN / PAGE * 8)?;
        shadow.sync = shadow.zeros(layout::SYNC_BYTES * 256)?;
        shadow.findings = shadow.zeros(shadow.findings_bytes())?;
        shadow.kept = shadow.zeros(layout::KEPT_BYTES * u64::from(KEPT))?;
        Some(shadow)
    }

    /// Bytes of findings and counters.
    pub fn findings_bytes(&self) -> u64 {
        u64::from(FINDINGS) * layout::FINDING_BYTES + layout::COUNTERS * 8
    }

    /// Bytes of addresses that the table covers.
    pub fn span(&self) -> u64 {
        SPAN
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

    fn wait(&self) {
        real!(cuStreamSynchronize(self.stream => Stream));
    }

    /// The program has memory there.
    pub fn cover(&mut self, address: u64, bytes: u64) {
        let inside = address >= self.lowest && address + bytes <= self.lowest + SPAN;
        if bytes == 0 || !inside {
            self.refused += bytes;
            return;
        }
        let page = |address: u64| (address - self.lowest) / PAGE;
        let (first, last) = (page(address), page(address + bytes - 1));
        let missing: Vec<u64> = (first..=last)
            .filter(|page| !self.covered.contains_key(page))
            .collect();
        for run in missing.chunk_by(|a, b| a + 1 == *b) {
            let of_page = (PAGE >> self.shift) * 8;
            let total = of_page * run.len() as u64;
            let Some(chunk) = self.zeros(total) else {
                self.refused += PAGE * run.len() as u64;
                continue;
            };
            self.chunks.push((chunk, total));
            let entries: Vec<u64> = (0..run.len() as u64).map(|i| chunk + i * of_page).collect();
            let to = self.pages + run[0] * 8;
            real!(cuMemcpyHtoDAsync_v2(to => u64, entries.as_ptr() => *const u64, entries.len() * 8 => usize, self.stream => Stream));
            self.wait();
            self.covered.extend(run.iter().copied().zip(entries));
        }
    }

    /// Records stand for fewer bytes from now on: all memory gets a new shadow. The device has nothing to do.
    pub fn refine(&mut self, shift: u32) {
        if shift >= self.shift {
            return;
        }
        real!(cuCtxSynchronize());
        self.shift = shift;
        for (chunk, _) in std::mem::take(&mut self.chunks) {
            real!(cuMemFree_v2(chunk => u64));
        }
        self.clear(self.pages, SPAN / PAGE * 8);
        self.wait();
        for (page, _) in std::mem::take(&mut self.covered) {
            self.cover(self.lowest + page * PAGE, PAGE);
        }
    }

    /// Numbers of launches are used again: what they left is forgotten. The device has nothing to do.
    pub fn renew(&mut self) {
        real!(cuCtxSynchronize());
        for (chunk, bytes) in &self.chunks {
            self.clear(*chunk, *bytes);
        }
        self.clear(self.sync, layout::SYNC_BYTES * 256);
        self.clear(self.kept, layout::KEPT_BYTES * u64::from(KEPT));
        self.wait();
    }

    /// What is at [`Shadow::findings`]; `None` where the device has failed.
    pub fn read_findings(&self) -> Option<Vec<u8>> {
        let mut memory = vec![0u8; self.findings_bytes() as usize];
        let read = real!(cuMemcpyDtoHAsync_v2(memory.as_mut_ptr() => *mut u8, self.findings => u64, memory.len() => usize, self.stream => Stream));
        let waited = real!(cuStreamSynchronize(self.stream => Stream));
        (read == 0 && waited == 0).then_some(memory)
    }
}
