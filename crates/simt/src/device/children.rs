//! What kernels ask a device to do after them ([`crate::children`]).

use super::Device;
use crate::children::{Child, ChildOrder, KernelName};
use crate::memory::{GLOBAL_BASE, Words};

impl Device {
    /// What the kernels that have run asked for, in the order in which they asked.
    pub fn take_children(&mut self) -> Vec<Child> {
        let children = self.children.get_mut();
        std::mem::take(
            &mut children
                .unwrap_or_else(std::sync::PoisonError::into_inner)
                .ready,
        )
    }

    /// A buffer for the parameters of a launch; 0 where there is no room.
    pub(crate) fn parameter_buffer(
        &self,
        kernel: &KernelName,
        grid: [u32; 3],
        block: [u32; 3],
        shared: u32,
    ) -> u64 {
        let mut heap = self
            .heap
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        let buffer = heap.malloc(u64::from(kernel.bytes).max(8));
        drop(heap);
        if buffer != 0 {
            let mut children = self
                .children
                .lock()
                .unwrap_or_else(std::sync::PoisonError::into_inner);
            children
                .prepared
                .insert(buffer, (kernel.clone(), grid, block, shared));
        }
        buffer
    }

    /// Launches what a buffer was made for; whether there is such a thing.
    pub(crate) fn launch_prepared(&self, buffer: u64, order: ChildOrder) -> bool {
        let mut children = self
            .children
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        let Some((kernel, grid, block, shared)) = children.prepared.remove(&buffer) else {
            return false;
        };
        let at = buffer - GLOBAL_BASE;
        let bytes = 0..u64::from(kernel.bytes);
        let params = bytes.map(|i| self.arena.read(at + i, 1, 0) as u8).collect();
        let mut heap = self
            .heap
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        let _ = heap.free(buffer);
        children.ready.push(Child::Launch {
            kernel: kernel.name,
            grid,
            block,
            shared,
            params,
            order,
        });
        true
    }
}
