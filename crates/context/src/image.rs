//! Arrays, textures and surfaces (CUDA C++ Programming Guide, "Texture and Surface Memory").
//!
//! An array is an allocation whose rows lie one behind the other. How a GPU lays it out is not documented, and no program can see it.

pub use crate::arrays::{Array, Arrays};
use crate::call::Call;
use crate::context::Context;
use crate::error::{Error, Result};
use crate::memory::Kind;
use detect::rules::Rule;
use simt::memory::GLOBAL_BASE;
use simt::texture::Geometry;
pub use simt::texture::{AddressMode, ChannelKind, Format, Image, Level, Sampler, Texture};

/// `cudaArrayLayered`
pub const LAYERED: u32 = 1;
/// `cudaArrayCubemap`
pub const CUBE: u32 = 4;

/// The shape of an array.
fn shape(extent: [u64; 3], flags: u32) -> Geometry {
    match (flags & LAYERED != 0, flags & CUBE != 0, extent) {
        (true, true, _) => Geometry::Acube,
        (false, true, _) => Geometry::Cube,
        (true, _, [_, 0, _]) => Geometry::A1d,
        (true, ..) => Geometry::A2d,
        (_, _, [_, 0, _]) => Geometry::D1,
        (_, _, [_, _, 0]) => Geometry::D2,
        _ => Geometry::D3,
    }
}

/// Where levels of an image lie, and their bytes in all; `None` where they would be too large.
fn levels(format: Format, extent: [u64; 3], flags: u32, count: u32) -> Option<(Vec<Level>, u64)> {
    const LARGEST: u64 = 1 << 20;
    if extent.iter().any(|n| *n > LARGEST) {
        return None;
    }
    let layered = flags & (LAYERED | CUBE) != 0;
    let mut levels = Vec::new();
    let mut offset = 0u64;
    for index in 0..count {
        let shrunk = |n: u64| (n >> index).max(1);
        let size = [
            shrunk(extent[0]),
            shrunk(extent[1]),
            if layered {
                extent[2].max(1)
            } else {
                shrunk(extent[2])
            },
        ];
        let pitch = size[0] * u64::from(format.texel());
        let slice = pitch.checked_mul(size[1])?;
        levels.push(Level {
            offset,
            size: size.map(|n| n as u32),
            pitch,
            slice,
        });
        offset = offset
            .checked_add(slice.checked_mul(size[2])?)?
            .checked_next_multiple_of(512)?;
    }
    Some((levels, offset))
}

impl Context {
    /// Allocates an array with so many levels; its handle.
    ///
    /// # Errors
    ///
    /// Sizes contradict each other, or it does not fit.
    pub fn create_array(
        &mut self,
        format: Format,
        extent: [u64; 3],
        flags: u32,
        count: u32,
        call: Call,
    ) -> Result<u64> {
        let largest = extent.into_iter().max().unwrap_or(0);
        let cube = flags & CUBE != 0;
        if extent[0] == 0 || count == 0 || count > 1 + largest.max(1).ilog2() {
            return Err(Error::INVALID_VALUE);
        }
        if cube && (extent[0] != extent[1] || extent[2] == 0 || !extent[2].is_multiple_of(6)) {
            return Err(Error::INVALID_VALUE);
        }
        let (mut levels, bytes) =
            levels(format, extent, flags, count).ok_or(Error::INVALID_VALUE)?;
        let address = self.allocate(bytes, Kind::Array, call)?;
        for level in &mut levels {
            level.offset += address - GLOBAL_BASE;
        }
        let array = Array {
            address,
            extent,
            flags,
            image: Image {
                format,
                levels,
                array: true,
                shape: Some(shape(extent, flags)),
            },
            part_of: None,
        };
        let handle = self.handle();
        self.memory.arrays.arrays.insert(handle, array);
        Ok(handle)
    }

    /// An array by its handle.
    ///
    /// # Errors
    ///
    /// There is none: a finding, too, where it was freed.
    pub fn array(&mut self, handle: u64, call: impl FnOnce() -> Call) -> Result<Array> {
        if let Some(array) = self.memory.arrays.arrays.get(&handle) {
            return Ok(array.clone());
        }
        if let Some(freed) = self.memory.arrays.freed.get(&handle).cloned() {
            let call = call();
            let title = format!("`{}` uses an array that was freed", call.function);
            let other = Some((freed, "it was freed here"));
            self.misuse(Rule::InvalidApiUse, title, call, other, None);
        }
        Err(Error::INVALID_RESOURCE_HANDLE)
    }

    /// One level of an array as an array of its own; its handle.
    ///
    /// # Errors
    ///
    /// There is no such level.
    pub fn array_level(
        &mut self,
        handle: u64,
        index: u32,
        call: impl FnOnce() -> Call,
    ) -> Result<u64> {
        let whole = self.array(handle, call)?;
        let known = self.memory.arrays.arrays.iter().find(|(_, a)| {
            a.part_of == Some(handle)
                && whole.image.levels.get(index as usize) == a.image.levels.first()
        });
        if let Some((known, _)) = known {
            return Ok(*known);
        }
        let level = *whole
            .image
            .levels
            .get(index as usize)
            .ok_or(Error::INVALID_VALUE)?;
        let mut extent = level.size.map(u64::from);
        for (size, whole) in extent.iter_mut().zip(whole.extent) {
            *size = (*size).min(whole);
        }
        let array = Array {
            extent,
            image: Image {
                format: whole.image.format,
                levels: vec![level],
                array: true,
                shape: whole.image.shape,
            },
            part_of: Some(handle),
            ..whole
        };
        let part = self.handle();
        self.memory.arrays.arrays.insert(part, array);
        Ok(part)
    }

    /// Frees an array and its levels.
    ///
    /// # Errors
    ///
    /// There is none.
    pub fn free_array(&mut self, handle: u64, call: Call) -> Result<()> {
        let array = self.array(handle, || call.clone())?;
        if array.part_of.is_some() {
            return Err(Error::INVALID_VALUE);
        }
        self.memory
            .arrays
            .arrays
            .retain(|h, a| *h != handle && a.part_of != Some(handle));
        self.memory.arrays.freed.insert(handle, call.clone());
        self.release(array.address, call, |kind| kind == Kind::Array)
    }

    /// An image that lies in memory of the program's own: `count` texels, or rows of them `pitch` bytes apart.
    ///
    /// # Errors
    ///
    /// It is not within one allocation.
    pub fn linear_image(
        &mut self,
        address: u64,
        format: Format,
        [width, height]: [u64; 2],
        pitch: u64,
        call: &Call,
    ) -> Result<Image> {
        let row = width
            .checked_mul(u64::from(format.texel()))
            .ok_or(Error::INVALID_VALUE)?;
        let rows = pitch.checked_mul(height.saturating_sub(1));
        let bytes = rows
            .and_then(|r| r.checked_add(row))
            .ok_or(Error::INVALID_VALUE)?;
        let size = [width, height.max(1), 1].map(u32::try_from);
        let [Ok(width), Ok(height), Ok(depth)] = size else {
            return Err(Error::INVALID_VALUE);
        };
        self.check(address, bytes, call)?;
        let level = Level {
            offset: address
                .checked_sub(GLOBAL_BASE)
                .ok_or(Error::INVALID_VALUE)?,
            size: [width, height, depth],
            pitch,
            slice: 0,
        };
        Ok(Image {
            format,
            levels: vec![level],
            array: false,
            shape: (pitch > 0).then_some(Geometry::D2),
        })
    }

    /// A new texture; its number.
    ///
    /// # Errors
    ///
    /// Its parts contradict each other.
    pub fn create_texture(&mut self, image: Image, sampler: Sampler) -> Result<u64> {
        let Format { bits, kind, .. } = image.format;
        let integer = kind != ChannelKind::Float;
        if integer && sampler.normalized_read && bits == 32 {
            return Err(Error::INVALID_NORM_SETTING);
        }
        if integer && !sampler.normalized_read && sampler.linear {
            return Err(Error::INVALID_FILTER_SETTING);
        }
        let sampler = Sampler {
            normalized_read: sampler.normalized_read && integer,
            ..sampler
        };
        let number = self.handle();
        self.memory
            .device
            .images
            .textures
            .insert(number, Texture { image, sampler });
        Ok(number)
    }

    /// A new surface; its number.
    pub fn create_surface(&mut self, image: Image) -> u64 {
        let number = self.handle();
        self.memory.device.images.surfaces.insert(number, image);
        number
    }

    /// Destroys a texture.
    ///
    /// # Errors
    ///
    /// There is none.
    pub fn destroy_texture(&mut self, number: u64) -> Result<()> {
        let gone = self.memory.device.images.textures.remove(&number);
        gone.map(|_| ()).ok_or(Error::INVALID_VALUE)
    }

    /// Destroys a surface.
    ///
    /// # Errors
    ///
    /// There is none.
    pub fn destroy_surface(&mut self, number: u64) -> Result<()> {
        let gone = self.memory.device.images.surfaces.remove(&number);
        gone.map(|_| ()).ok_or(Error::INVALID_VALUE)
    }
}
