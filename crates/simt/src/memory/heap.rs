//! The heap of device-side `malloc`.

use super::{Allocation, GAP, GLOBAL_BASE, HEAP};
use crate::observer::FaultKind;

/// The heap of device-side `malloc`.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Heap {
    /// Offset and end in the arena, once reserved.
    pub(crate) range: Option<(u64, u64)>,
    pub(crate) next: u64,
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
