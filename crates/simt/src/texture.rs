//! Textures and surfaces: images in global memory, and what a fetch makes of them.
//!
//! An image is texels in rows and slices at an offset of the arena, so that detectors see its bytes like any others. Textures and
//! surfaces are known by the numbers that kernels are given (CUDA C++ Programming Guide, "Texture and Surface Memory"). What a fetch
//! reads is in `sample.rs`.

mod sample;

pub use sample::{Coordinates, Tap, Taps};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// What a channel's bits are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ChannelKind {
    /// Two's complement.
    Signed,
    /// Unsigned.
    Unsigned,
    /// Half or single precision.
    Float,
}

/// The format of a texel (`cudaChannelFormatDesc`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Format {
    /// Bits of a channel: 8, 16 or 32.
    pub bits: u8,
    /// Channels: 1, 2 or 4.
    pub channels: u8,
    /// What they are.
    pub kind: ChannelKind,
}

impl Format {
    /// Bytes of a texel.
    pub fn texel(self) -> u32 {
        u32::from(self.bits) / 8 * u32::from(self.channels)
    }

    /// Whether there is such a format.
    pub(crate) fn is_known(self) -> bool {
        matches!(self.bits, 8 | 16 | 32) && matches!(self.channels, 1 | 2 | 4)
    }
}

/// One level of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Level {
    /// Offset of its first byte in the arena.
    pub offset: u64,
    /// Texels of a row, rows of a slice, slices. Layers and faces of a cube are slices.
    pub size: [u32; 3],
    /// Bytes from one row to the next.
    pub pitch: u64,
    /// Bytes from one slice to the next.
    pub slice: u64,
}

impl Level {
    /// One past its last byte; `None` where that is no number, or where it has no texels.
    pub(crate) fn end(&self, format: Format) -> Option<u64> {
        let [width, height, depth] = self.size.map(u64::from);
        let row = width.checked_mul(u64::from(format.texel()))?;
        let rows = height.checked_sub(1)?.checked_mul(self.pitch)?;
        let slices = depth.checked_sub(1)?.checked_mul(self.slice)?;
        let all = row.checked_add(rows)?.checked_add(slices)?;
        self.offset.checked_add(all).filter(|_| width > 0)
    }
}

/// Texels in memory.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Image {
    /// Of each texel.
    pub format: Format,
    /// The largest one first; never empty.
    pub levels: Vec<Level>,
    /// Whether it is a CUDA array: no kernel has its address, so that nothing but a surface writes it (CUDA C++ Programming Guide, "CUDA
    /// Arrays": "opaque memory layouts").
    #[serde(default)]
    pub array: bool,
    /// The shape that it was made with. Linear memory has none.
    #[serde(default)]
    pub shape: Option<Geometry>,
}

/// What happens to a coordinate that lies outside (CUDA C++ Programming Guide, "Texture Memory": the addressing mode).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum AddressMode {
    /// The image repeats.
    Wrap,
    /// The nearest texel.
    Clamp,
    /// The image repeats, every other time reversed.
    Mirror,
    /// The border's colour.
    Border,
}

/// How a texture is read (`cudaTextureDesc`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sampler {
    /// By dimension.
    pub address: [AddressMode; 3],
    /// Whether texels are blended, or the nearest one is taken.
    pub linear: bool,
    /// Whether the image's width, height and depth are 1.
    pub normalized_coordinates: bool,
    /// Whether integers are read as fractions.
    pub normalized_read: bool,
    /// Whether 8-bit colours are converted to linear ones.
    pub srgb: bool,
    /// What lies outside.
    pub border: [f32; 4],
    /// Whether levels are blended.
    pub linear_levels: bool,
    /// Added to the level that a fetch asks for.
    pub level_bias: f32,
    /// The least and the greatest level.
    pub level_range: [f32; 2],
    /// How many times longer than wide the area of a pixel may be that is blended as such (`maxAnisotropy`).
    #[serde(default)]
    pub anisotropy: u32,
}

/// A texture.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Texture {
    /// What it reads.
    pub image: Image,
    /// How.
    pub sampler: Sampler,
}

/// The textures and surfaces of a device, by their numbers.
#[derive(Debug, Default)]
pub struct Images {
    /// Textures.
    pub textures: HashMap<u64, Texture>,
    /// Surfaces.
    pub surfaces: HashMap<u64, Image>,
    /// Whether these are all. A kernel alone has no host program to say what its images are.
    pub all: bool,
}

impl Images {
    /// Whether nobody has said what there is.
    pub fn is_unknown(&self) -> bool {
        !self.all && self.textures.is_empty() && self.surfaces.is_empty()
    }
}

/// The shape that an instruction takes its image for (PTX ISA, "tex": `.geom`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Geometry {
    /// `.1d`
    D1,
    /// `.2d`
    D2,
    /// `.3d`
    D3,
    /// `.a1d`: layers of rows
    A1d,
    /// `.a2d`: layers of planes
    A2d,
    /// `.cube`
    Cube,
    /// `.acube`: layers of cubes
    Acube,
}

impl Geometry {
    /// Coordinates besides the layer.
    pub fn coordinates(self) -> usize {
        match self {
            Geometry::D1 | Geometry::A1d => 1,
            Geometry::D2 | Geometry::A2d => 2,
            Geometry::D3 | Geometry::Cube | Geometry::Acube => 3,
        }
    }

    /// Whether the first coordinate is a layer.
    pub fn is_layered(self) -> bool {
        matches!(self, Geometry::A1d | Geometry::A2d | Geometry::Acube)
    }
}

impl Image {
    /// Where its levels lie in the arena.
    pub(crate) fn bytes(&self) -> std::ops::Range<u64> {
        let ends = self.levels.iter().filter_map(|l| l.end(self.format));
        let starts = self.levels.iter().map(|l| l.offset);
        starts.min().unwrap_or(0)..ends.max().unwrap_or(0)
    }

    /// Where a surface access goes: `x` in bytes, `y`, `z` in rows and slices (PTX ISA, "suld", "sust": `.b`). `None` is outside, unless
    /// `clamp` says that the nearest texels are meant.
    pub fn place(&self, [x, y, z]: [i32; 3], bytes: u32, clamp: bool) -> Option<u64> {
        let level = &self.levels[0];
        let row = level.size[0].saturating_mul(self.format.texel());
        let last = [
            i64::from(row) - i64::from(bytes),
            i64::from(level.size[1].max(1)) - 1,
            i64::from(level.size[2].max(1)) - 1,
        ];
        let mut at = [x, y, z].map(i64::from);
        for (value, last) in at.iter_mut().zip(last) {
            if clamp {
                *value = (*value).clamp(0, last.max(0));
            }
            if !(0..=last).contains(value) {
                return None;
            }
        }
        let [x, y, z] = at.map(|v| v as u64);
        Some(level.offset + z * level.slice + y * level.pitch + x)
    }
}
