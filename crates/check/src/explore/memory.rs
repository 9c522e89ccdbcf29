//! The buffers of a launch in a device's memory: how they get there, and what a run left in them.

use crate::error::{Error, ErrorKind};
use crate::plan::PlannedBuffer;
use session::buffer::{ElementType, Placement};
use simt::Device;
use simt::memory::{GLOBAL_BASE, MemoryError};
use std::hash::{DefaultHasher, Hash, Hasher};

/// The buffers of a launch, as a run left them.
#[derive(Debug, Default)]
pub struct Memory {
    pub(super) device: Option<Device>,
    pub(super) buffers: Vec<Buffer>,
}

/// A buffer on a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Buffer {
    /// Its name: the parameter's in the source, or its index.
    pub name: String,
    /// The parameter that it belongs to.
    pub parameter: usize,
    /// Type of the elements.
    pub element: ElementType,
    /// Whether the user or the source says that type.
    pub typed: bool,
    /// Its address.
    pub address: u64,
    /// Its size.
    pub bytes: u64,
}

impl Memory {
    /// The buffers, in the order of the parameters.
    pub fn buffers(&self) -> &[Buffer] {
        &self.buffers
    }

    /// A buffer's bytes, and which of them have been written.
    pub fn read(&self, buffer: &Buffer) -> Option<(Vec<u8>, Vec<bool>)> {
        let device = self.device.as_ref()?;
        let bytes = device.read(buffer.address, buffer.bytes).ok()?;
        let written = device.written(buffer.address, buffer.bytes).ok()?;
        Some((bytes, written))
    }
}

/// A hash of what lies in global memory.
pub(super) fn left_in(device: &Device) -> u64 {
    let mut hash = DefaultHasher::new();
    for allocation in device.allocations().iter().filter(|a| !a.freed) {
        let at = GLOBAL_BASE + allocation.offset;
        if let Ok(bytes) = device.read(at, allocation.bytes) {
            (allocation.offset, bytes).hash(&mut hash);
        }
    }
    hash.finish()
}

/// Puts a buffer into a device's memory, with room behind it: what reaches far outside must not land in another one.
pub(super) fn place(
    device: &mut Device,
    planned: PlannedBuffer,
    buffers: &mut Vec<Buffer>,
) -> Result<u64, Error> {
    let placement = Placement {
        name: &planned.name,
        bytes: planned.bytes,
        initial: planned.initial.as_deref(),
        gap: planned.gap,
        of_host: false,
    };
    let full = |error: MemoryError| {
        Error::new(
            ErrorKind::Argument,
            format!("the arguments do not fit in the device: {error}"),
        )
        .help(format!(
            "use fewer elements: `--arg {}=TYPE[ELEMENTS]`",
            planned.name
        ))
    };
    let address = placement.place(device).map_err(full)?;
    buffers.push(Buffer {
        name: planned.name.clone(),
        parameter: planned.parameter,
        element: planned.element,
        typed: planned.typed,
        address,
        bytes: planned.bytes,
    });
    Ok(address)
}
