//! Functions that the driver provides to device code: `vprintf`, `__assertfail`,
//! `malloc`, `free` (CUDA C++ Programming Guide, "Formatted Output", "Assertion",
//! "Dynamic Global Memory Allocation and Operations").

use super::Core;
use crate::alu::Mask;
use crate::children::{Child, ChildOrder, KERNEL_BASE, STREAMS};
use crate::hooks::Hooks;
use crate::ids::*;
use crate::memory::*;
use crate::observer::{DriverCall, FaultKind, MemoryFault, Space};
use crate::op::*;
use crate::state::*;
use crate::stop::Stop;
use std::fmt::Write;

/// Longest text read from device memory, bytes.
const TEXT: usize = 4096;
/// Most printed text that is kept, bytes.
const OUTPUT: usize = 1 << 20;

impl<O: Hooks> Core<'_, O> {
    pub(crate) fn system(
        &mut self,
        block: &mut Block,
        w: usize,
        s: usize,
        call: &SystemCall,
        site: Site,
    ) -> Result<(), Stop> {
        let mask = block.warps[w].splits[s].mask;
        let base = block.warps[w].splits[s].base;
        if O::WATCHES {
            let what = match call.which {
                System::Vprintf => Some(DriverCall::Print),
                System::Malloc => Some(DriverCall::Allocate),
                System::Free => Some(DriverCall::Free),
                System::DeviceMalloc => Some(DriverCall::Allocate),
                System::DeviceFree => Some(DriverCall::Free),
                System::AssertFail
                | System::SetConditional
                | System::ParameterBuffer
                | System::LaunchDevice
                | System::StreamCreate
                | System::MemcpyAsync
                | System::Success => None,
            };
            if let Some(what) = what {
                self.observer.driver_call(site, block.who(w), mask, what);
            }
        }
        for l in lanes_of(mask) {
            let arg = |core: &Self, block: &Block, k: usize| core.argument(block, w, s, call, k, l);
            let (a, b) = (arg(self, block, 0), arg(self, block, 1));
            let result = match call.which {
                System::Vprintf => {
                    let (text, count) = self.format(block, w, l, a, b);
                    let mut output = self
                        .output
                        .lock()
                        .unwrap_or_else(std::sync::PoisonError::into_inner);
                    if output.len() < OUTPUT {
                        output.push_str(&text);
                    }
                    count
                }
                System::AssertFail => {
                    let file = arg(self, block, 1);
                    let function = arg(self, block, 3);
                    return Err(Stop::Assert {
                        site,
                        block: block.id,
                        thread: block.who(w).thread(LaneId(l as u8)),
                        message: self.text(block, w, l, a),
                        file: self.text(block, w, l, file),
                        line: arg(self, block, 2) as u32,
                        function: self.text(block, w, l, function),
                    });
                }
                System::Malloc => {
                    let mut heap = self
                        .device
                        .heap
                        .lock()
                        .unwrap_or_else(std::sync::PoisonError::into_inner);
                    heap.malloc(a)
                }
                System::SetConditional => {
                    let at = self.find_range(a.wrapping_sub(GLOBAL_BASE), 4);
                    match at.filter(|range| !range.freed && a.is_multiple_of(4)) {
                        Some(range) => {
                            self.keep(&range);
                            self.device.arena.write(a - GLOBAL_BASE, 4, l, b);
                        }
                        None if O::WATCHES => {
                            self.bad_free(block, w, l, a, site, FaultKind::NotAllocated);
                        }
                        None => {}
                    }
                    0
                }
                System::ParameterBuffer => self.parameter_buffer(block, w, s, call, a, l),
                // The numbers of errors are those of the runtime: invalid value, out of memory.
                System::LaunchDevice => u64::from(!{
                    let order = ChildOrder::of(b, block.id);
                    self.device.launch_prepared(a, order)
                }),
                System::StreamCreate => {
                    let stream = {
                        let children = self.device.children.lock();
                        let mut children =
                            children.unwrap_or_else(std::sync::PoisonError::into_inner);
                        children.streams += 1;
                        STREAMS + children.streams
                    };
                    u64::from(!self.put(block, w, l, a, stream))
                }
                System::DeviceMalloc => {
                    let address = {
                        let heap = self.device.heap.lock();
                        heap.unwrap_or_else(std::sync::PoisonError::into_inner)
                            .malloc(b)
                    };
                    match self.put(block, w, l, a, address) {
                        true if address == 0 => 2,
                        written => u64::from(!written),
                    }
                }
                System::MemcpyAsync => {
                    let bytes = arg(self, block, 2);
                    let children = self.device.children.lock();
                    let mut children = children.unwrap_or_else(std::sync::PoisonError::into_inner);
                    // `cudaMemcpyAsync(to, from, bytes, kind, stream)`
                    let order = ChildOrder::of(arg(self, block, 4), block.id);
                    children.ready.push(Child::Copy {
                        to: a,
                        from: b,
                        bytes,
                        order,
                    });
                    0
                }
                System::Success => 0,
                System::Free | System::DeviceFree => {
                    let freed = match a {
                        0 => Ok(()),
                        a => {
                            let mut heap = self
                                .device
                                .heap
                                .lock()
                                .unwrap_or_else(std::sync::PoisonError::into_inner);
                            heap.free(a)
                        }
                    };
                    if let (Err(kind), true) = (freed, O::WATCHES) {
                        self.bad_free(block, w, l, a, site, kind);
                    }
                    0
                }
            };
            let warp = &mut block.warps[w];
            match call.results.first() {
                Some(Carried::Frame { offset, bytes }) => {
                    warp.local
                        .write(u64::from(base + offset), (*bytes).min(8), l, result);
                }
                Some(Carried::Register(slot, RegisterClass::W(_))) => {
                    warp.w[slot.0 as usize][l] = result as u32
                }
                Some(Carried::Register(slot, _)) => warp.d[slot.0 as usize][l] = result,
                None => {}
            }
        }
        Ok(())
    }

    /// An argument as a lane hands it over, 8 bytes at most; 0 where there is none.
    pub(super) fn argument(
        &self,
        block: &Block,
        w: usize,
        s: usize,
        call: &SystemCall,
        k: usize,
        l: usize,
    ) -> u64 {
        let warp = &block.warps[w];
        match call.args.get(k) {
            Some(Carried::Frame { offset, bytes }) => {
                let at = u64::from(warp.splits[s].base + offset);
                warp.local.read(at, (*bytes).min(8), l)
            }
            Some(Carried::Register(slot, class)) => self.register(warp, *slot, *class, l),
            None => 0,
        }
    }

    /// `cudaGetParameterBufferV2`
    fn parameter_buffer(
        &self,
        block: &Block,
        w: usize,
        s: usize,
        call: &SystemCall,
        kernel: u64,
        l: usize,
    ) -> u64 {
        let index = kernel.wrapping_sub(KERNEL_BASE) as usize;
        let Some(kernel) = self.program.kernels.get(index) else {
            return 0;
        };
        let warp = &block.warps[w];
        let dim = |k: usize| match call.args.get(k) {
            Some(Carried::Frame { offset, .. }) => [0, 4, 8].map(|at| {
                let at = u64::from(warp.splits[s].base + offset + at);
                warp.local.read(at, 4, l) as u32
            }),
            _ => [0; 3],
        };
        let shared = self.argument(block, w, s, call, 3, l) as u32;
        self.device.parameter_buffer(kernel, dim(1), dim(2), shared)
    }

    /// Writes eight bytes to a generic address; whether it could.
    fn put(&self, block: &Block, w: usize, l: usize, address: u64, value: u64) -> bool {
        let local = &block.warps[w].local;
        match address {
            a if !a.is_multiple_of(8) => false,
            a if a >= GLOBAL_BASE => {
                let found = self.find_range(a - GLOBAL_BASE, 8);
                let found = found.filter(|range| !range.freed);
                if let Some(range) = &found {
                    self.keep(range);
                    self.device.arena.write(a - GLOBAL_BASE, 8, l, value);
                }
                found.is_some()
            }
            a if a >= LOCAL_BASE && a - LOCAL_BASE + 8 <= local.bytes() => {
                local.write(a - LOCAL_BASE, 8, l, value);
                true
            }
            _ => false,
        }
    }

    /// How many arguments the format of a `vprintf` may ask for, at most.
    pub(super) fn conversions(
        &self,
        block: &Block,
        w: usize,
        s: usize,
        call: &SystemCall,
        l: usize,
    ) -> u64 {
        let format = self.argument(block, w, s, call, 0, l);
        self.text(block, w, l, format).matches('%').count() as u64
    }

    fn bad_free(
        &mut self,
        block: &Block,
        w: usize,
        l: usize,
        address: u64,
        site: Site,
        kind: FaultKind,
    ) {
        let mask: Mask = 1 << l;
        self.observer.fault(&MemoryFault {
            site,
            who: block.who(w),
            mask,
            space: Some(Space::Global),
            address: &[address; LANES],
            bytes: 1,
            write: true,
            kind,
            pointer: None,
        });
    }

    /// 1, 2, 4 or 8 aligned bytes anywhere in generic memory; `None` where not all of them lie in one piece of it.
    fn bytes(&self, block: &Block, w: usize, l: usize, address: u64, count: u32) -> Option<u64> {
        let warp = &block.warps[w];
        // Where they begin in a piece of memory that begins at `start` and has so many bytes.
        let within = |start: u64, size: u64| {
            let at = address.checked_sub(start)?;
            (at < size && u64::from(count) <= size - at).then_some(at)
        };
        if let Some(at) = address.checked_sub(GLOBAL_BASE) {
            // They are in order, and apart.
            let after = self.ranges.partition_point(|r| r.start <= at);
            let range = self.ranges[..after].last()?;
            let inside = at < range.end && u64::from(count) <= range.end - at;
            return inside.then(|| self.device.arena.read(at, count, l));
        }
        if let Some(at) = within(SHARED_BASE, block.shared.bytes) {
            return Some(block.shared.read(at, count, l));
        }
        let at = within(LOCAL_BASE, warp.local.bytes()).or(within(0, warp.local.bytes()))?;
        Some(warp.local.read(at, count, l))
    }

    fn text(&self, block: &Block, w: usize, l: usize, mut address: u64) -> String {
        let mut text = Vec::new();
        while text.len() < TEXT {
            // Eight at a time where they lie together.
            let piece = |count: u32| {
                let aligned = address.is_multiple_of(u64::from(count));
                let read = || self.bytes(block, w, l, address, count);
                aligned
                    .then(read)
                    .flatten()
                    .map(|bytes| (bytes, count as usize))
            };
            let Some((word, count)) = piece(8).or_else(|| piece(1)) else {
                break;
            };
            let bytes = &word.to_le_bytes()[..count];
            let end = bytes.iter().position(|byte| *byte == 0);
            text.extend_from_slice(&bytes[..end.unwrap_or(count)]);
            let Some(next) = address.checked_add(count as u64) else {
                break;
            };
            if end.is_some() {
                break;
            }
            address = next;
        }
        text.truncate(TEXT);
        String::from_utf8_lossy(&text).into_owned()
    }

    fn number(&self, block: &Block, w: usize, l: usize, address: u64, bytes: u64) -> u64 {
        (0..bytes).fold(0, |n, i| {
            let byte = self.bytes(block, w, l, address.wrapping_add(i), 1);
            n | byte.unwrap_or(0) << (8 * i)
        })
    }

    /// `printf` as the device does it; the text and the number of arguments.
    fn format(&self, block: &Block, w: usize, l: usize, format: u64, mut at: u64) -> (String, u64) {
        let format = self.text(block, w, l, format);
        let mut out = String::new();
        let mut count = 0;
        let mut rest = format.as_str();
        while let Some(percent) = rest.find('%') {
            out.push_str(&rest[..percent]);
            rest = &rest[percent + 1..];
            let end =
                rest.find(|c: char| c.is_ascii_alphabetic() && !"hlLqjzt".contains(c) || c == '%');
            let Some(end) = end else {
                out.push('%');
                break;
            };
            let (spec, kind) = (&rest[..end], rest.as_bytes()[end] as char);
            rest = &rest[end + 1..];
            if kind == '%' {
                out.push('%');
                continue;
            }
            count += 1;
            let wide = spec.contains(['l', 'j', 'z', 't', 'q']) || "feEgGaAsp".contains(kind);
            let bytes = if wide { 8 } else { 4 };
            at = at.next_multiple_of(bytes);
            let bits = self.number(block, w, l, at, bytes);
            at += bytes;
            let text = match kind {
                'd' | 'i' if wide => (bits as i64).to_string(),
                'd' | 'i' => (bits as u32 as i32).to_string(),
                'u' => bits.to_string(),
                'x' => format!("{bits:x}"),
                'X' => format!("{bits:X}"),
                'o' => format!("{bits:o}"),
                'c' => char::from(bits as u8).to_string(),
                'p' => format!("{bits:#x}"),
                's' => self.text(block, w, l, bits),
                'f' | 'F' => fixed(bits, spec),
                'e' | 'E' | 'g' | 'G' | 'a' | 'A' => f64::from_bits(bits).to_string(),
                other => format!("%{spec}{other}"),
            };
            let _ = write!(out, "{}", padded(&text, spec, kind));
        }
        out.push_str(rest);
        (out, count)
    }
}

fn fixed(bits: u64, spec: &str) -> String {
    let digits: String = spec
        .split('.')
        .nth(1)
        .unwrap_or("6")
        .chars()
        .take_while(char::is_ascii_digit)
        .collect();
    let precision = digits.parse().unwrap_or(0).min(100);
    format!("{:.precision$}", f64::from_bits(bits))
}

fn padded(text: &str, spec: &str, kind: char) -> String {
    let flags: String = spec.chars().take_while(|c| "-+ #0".contains(*c)).collect();
    let width: String = spec[flags.len()..]
        .chars()
        .take_while(char::is_ascii_digit)
        .collect();
    let width = width.parse().unwrap_or(0usize).min(1000);
    let text = if flags.contains('+') && "dif".contains(kind) && !text.starts_with('-') {
        format!("+{text}")
    } else {
        text.to_owned()
    };
    if flags.contains('-') {
        format!("{text:<width$}")
    } else if flags.contains('0') && kind != 's' {
        let (sign, digits) = text
            .strip_prefix('-')
            .map_or(("", text.as_str()), |d| ("-", d));
        let room = width.saturating_sub(sign.len());
        format!("{sign}{digits:0>room$}")
    } else {
        format!("{text:>width$}")
    }
}
