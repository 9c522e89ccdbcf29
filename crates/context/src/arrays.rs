//! The arrays that there are, by their handles.

use crate::call::Call;
use simt::memory::GLOBAL_BASE;
use simt::texture::Image;
use std::collections::HashMap;

/// A CUDA array, or one with several levels.
#[derive(Clone, Debug)]
pub struct Array {
    /// Its memory.
    pub address: u64,
    /// Texels of a row, rows, slices; 0 where there is no such dimension.
    pub extent: [u64; 3],
    /// `cudaArrayLayered` and the like.
    pub flags: u32,
    /// Format and levels.
    pub image: Image,
    /// The array of levels that it is a level of.
    pub part_of: Option<u64>,
}

impl Array {
    /// Address of a texel of the first level: `x` in bytes.
    pub fn place(&self, x: u64, y: u64, z: u64) -> u64 {
        let level = &self.image.levels[0];
        GLOBAL_BASE + level.offset + z * level.slice + y * level.pitch + x
    }
}

/// All arrays, by handle.
#[derive(Debug, Default)]
pub struct Arrays {
    pub(crate) arrays: HashMap<u64, Array>,
    pub(crate) freed: HashMap<u64, Call>,
}
