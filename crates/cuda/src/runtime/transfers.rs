//! What copies and fills are: from where to where, and how much. [`copy`](super::copy) and [`fill`](super::fill) do them, and nodes of
//! [graphs](super::graph) hold them.

use std::os::raw::c_int;

/// Rows of bytes in memory, and how far apart they are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rows {
    pub address: u64,
    /// From one row to the next.
    pub pitch: usize,
    /// From one slice to the next.
    pub slice: usize,
}

impl Rows {
    pub(super) fn flat(address: u64) -> Rows {
        Rows {
            address,
            pitch: 0,
            slice: 0,
        }
    }

    pub(super) fn row(&self, y: usize, z: usize) -> u64 {
        let rows = y.wrapping_mul(self.pitch);
        let at = z.wrapping_mul(self.slice).wrapping_add(rows);
        self.address.wrapping_add(at as u64)
    }

    /// Bytes from the first to the last.
    pub(super) fn span(&self, [width, height, depth]: [usize; 3]) -> u64 {
        match width.min(height).min(depth) {
            0 => 0,
            _ => {
                let rows = (height - 1).saturating_mul(self.pitch);
                let slices = (depth - 1).saturating_mul(self.slice);
                slices.saturating_add(rows).saturating_add(width) as u64
            }
        }
    }

    /// Whether rows, and slices, of such a size lie apart from each other.
    pub(super) fn are_apart(&self, [width, height, depth]: [usize; 3]) -> bool {
        (height <= 1 || self.pitch >= width)
            && (depth <= 1 || self.slice as u64 >= self.span([width, height, 1]))
    }
}

/// What a copy is.
#[derive(Clone, Debug)]
pub(crate) struct Copy {
    pub to: Rows,
    pub from: Rows,
    /// Bytes of a row, rows, slices.
    pub size: [usize; 3],
    pub kind: c_int,
    pub stream: u64,
    pub asynchronous: bool,
}

/// A copy of bytes that lie one behind the other.
pub(super) fn flat(
    to: u64,
    from: u64,
    bytes: usize,
    kind: c_int,
    stream: u64,
    asynchronous: bool,
) -> Copy {
    Copy {
        to: Rows::flat(to),
        from: Rows::flat(from),
        size: [bytes, 1, 1],
        kind,
        stream,
        asynchronous,
    }
}

/// What a fill is.
#[derive(Clone, Debug)]
pub(crate) struct Fill {
    pub to: Rows,
    /// What is repeated.
    pub pattern: Vec<u8>,
    /// Bytes of a row, rows, slices.
    pub size: [usize; 3],
    pub stream: u64,
    /// Whether the host goes on in any case.
    pub asynchronous: bool,
}
