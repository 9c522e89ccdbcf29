//! Tensor maps: what a tensor in global memory looks like, and which part of it one copy moves (PTX ISA, "Tensors"; CUDA Driver API, "Tensor Map Object
//! Management").
//!
//! A tensor map is an opaque object of 128 bytes. NVIDIA's layout is nobody's business, and this is ours ([`layout`]): the arguments that it was made
//! from, each in a place of its own, between two words by which it is recognised. So `tensormap.replace` is a store. Whatever else lies where a copy
//! looks for its map is no map, and so is one whose arguments no encoder would take.
//!
//! [`copies`] says which bytes a copy moves.

pub(crate) mod copies;

use std::fmt;

/// Bytes of a tensor map.
pub const BYTES: usize = 128;
/// What its address is a multiple of ("tensorMap address must be aligned to 64 bytes").
pub const ALIGNMENT: u64 = 64;
/// Dimensions of a tensor, at most.
pub const RANK: usize = 5;

/// Where what lies in a tensor map.
pub mod layout {
    /// Both ends: the word by which a map is recognised, and once more.
    pub const ENDS: [usize; 2] = [0, super::BYTES - 8];
    /// The word.
    pub const MAGIC: u64 = u64::from_le_bytes(*b"rt-tmap1");
    /// 8 bytes.
    pub const ADDRESS: usize = 8;
    /// 8 bytes each.
    pub const STRIDES: usize = 16;
    /// 4 bytes each; 0 is 2^32.
    pub const DIMS: usize = 48;
    /// Of a tile: 4 bytes each. Of pixels: 2 bytes each.
    pub const SHAPE: usize = 68;
    /// A byte each, from here on.
    pub const ELEMENT: usize = 88;
    /// One less than it is.
    pub const RANK: usize = 89;
    pub(super) const IM2COL: usize = 90;
    /// As the driver numbers it.
    pub const INTERLEAVE: usize = 91;
    /// As the driver numbers it.
    pub const SWIZZLE: usize = 92;
    /// 1 for NaN.
    pub const FILL: usize = 93;
    pub(super) const PROMOTION: usize = 94;
    /// A byte each.
    pub const STEPS: usize = 96;
}

/// `CUtensorMapDataType`, as far as a GPU of compute capability 9.0 has them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
#[allow(missing_docs)]
pub enum Element {
    U8,
    U16,
    U32,
    S32,
    U64,
    S64,
    F16,
    F32,
    F64,
    Bf16,
    F32Ftz,
    Tf32,
    Tf32Ftz,
}

impl Element {
    const ALL: [Element; 13] = [
        Element::U8,
        Element::U16,
        Element::U32,
        Element::S32,
        Element::U64,
        Element::S64,
        Element::F16,
        Element::F32,
        Element::F64,
        Element::Bf16,
        Element::F32Ftz,
        Element::Tf32,
        Element::Tf32Ftz,
    ];

    /// Of this number in `CUtensorMapDataType`.
    pub fn numbered(number: u32) -> Option<Element> {
        Element::ALL.get(number as usize).copied()
    }

    /// Its size.
    pub fn bytes(self) -> u32 {
        match self {
            Element::U8 => 1,
            Element::U16 | Element::F16 | Element::Bf16 => 2,
            Element::U64 | Element::S64 | Element::F64 => 8,
            _ => 4,
        }
    }

    /// Whether it is a floating-point number.
    pub fn is_float(self) -> bool {
        self as u8 >= Element::F16 as u8
    }
}

/// `CUtensorMapInterleave`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
#[allow(missing_docs)]
pub enum Interleave {
    #[default]
    None,
    Bytes16,
    Bytes32,
}

/// `CUtensorMapSwizzle`, as far as a GPU of compute capability 9.0 has it: in spans of so many bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
#[allow(missing_docs)]
pub enum Swizzle {
    #[default]
    None,
    Bytes32,
    Bytes64,
    Bytes128,
}

impl Swizzle {
    /// The bytes among which pieces of 16 change places.
    pub fn span(self) -> Option<u64> {
        match self {
            Swizzle::None => None,
            Swizzle::Bytes32 => Some(32),
            Swizzle::Bytes64 => Some(64),
            Swizzle::Bytes128 => Some(128),
        }
    }
}

/// Which elements a copy moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// A box of so many elements along each dimension (PTX ISA, "Tiled Mode").
    Tile {
        /// The innermost first.
        extent: [u32; RANK],
    },
    /// So many pixels of a bounding box (PTX ISA, "im2col mode").
    Im2col {
        /// How far it begins behind the first pixel, along W, H, D.
        lower: [i32; 3],
        /// How far it ends behind the last pixel.
        upper: [i32; 3],
        /// Elements of a pixel.
        channels: u32,
        /// Pixels.
        pixels: u32,
    },
}

/// A tensor, and how copies move parts of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TensorMap {
    /// Type of its elements.
    pub element: Element,
    /// Its dimensions.
    pub rank: usize,
    /// Generic address of the first element.
    pub address: u64,
    /// Elements along each dimension, the innermost first.
    pub dims: [u64; RANK],
    /// Bytes from one element to the next along each dimension but the innermost.
    pub strides: [u64; RANK - 1],
    /// What a copy moves.
    pub shape: Shape,
    /// Every how many elements are moved, along each dimension.
    pub steps: [u32; RANK],
    /// How channels lie in memory.
    pub interleave: Interleave,
    /// How rows lie in shared memory.
    pub swizzle: Swizzle,
    /// `CUtensorMapL2promotion`: costs, which are not modelled.
    pub l2_promotion: u32,
    /// Whether elements that the tensor has not are NaN rather than zero.
    pub fills_nan: bool,
}

/// The arguments of an encoder as they came, with enumerations as numbers.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct Arguments<'a> {
    pub element: u32,
    pub rank: u32,
    pub address: u64,
    /// As many as the rank says, or more.
    pub dims: &'a [u64],
    /// One less.
    pub strides: &'a [u64],
    pub steps: &'a [u32],
    pub interleave: u32,
    pub swizzle: u32,
    pub l2_promotion: u32,
    pub fill: u32,
}

/// Why there is no such tensor map (CUDA Driver API, "cuTensorMapEncodeTiled", "cuTensorMapEncodeIm2col").
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs)]
pub enum MapError {
    #[error("there is no element type {0} on a GPU of compute capability 9.0")]
    Element(u32),
    #[error("a tensor of {0} dimensions: {1} are possible")]
    Rank(u32, &'static str),
    #[error("the tensor's address {0:#x} is not a multiple of {1}")]
    Address(u64, u64),
    #[error("{1} elements along dimension {0} (0 is the innermost): 1 to 2^32 are possible")]
    Dimension(usize, u64),
    #[error(
        "a stride of {1} bytes along dimension {0} (0 is the innermost): multiples of {2} below 2^40 are possible"
    )]
    Stride(usize, u64, u64),
    #[error(
        "a box of {1} elements along dimension {0} (0 is the innermost): 1 to 256 are possible"
    )]
    Box(usize, u32),
    #[error("a row of {0} bytes in the box, which is not a multiple of 16")]
    Row(u64),
    #[error("a row of {0} bytes in the box, which is longer than the swizzle's span of {1}")]
    Span(u64, u64),
    #[error("a step of {1} along dimension {0} (0 is the innermost): 1 to 8 are possible")]
    Step(usize, u32),
    #[error("there is no interleaved layout {0}")]
    Interleave(u32),
    #[error("there is no swizzle {0} on a GPU of compute capability 9.0")]
    Swizzle(u32),
    #[error("an interleaved layout of 32 bytes goes with a swizzle of 32 bytes alone")]
    Interleaved,
    #[error("there is no L2 promotion {0}")]
    Promotion(u32),
    #[error("there is no filling {0} of elements of this type")]
    Fill(u32),
    #[error("corners {1} and {2} along dimension {0} (0 is the innermost) of a bounding box")]
    Corner(usize, i32, i32),
    #[error("{0} channels of a pixel: 1 to 256 are possible")]
    Channels(u32),
    #[error("{0} pixels: 1 to 1024 are possible")]
    Pixels(u32),
}

impl TensorMap {
    /// What `cuTensorMapEncodeTiled` makes.
    ///
    /// # Errors
    ///
    /// What is wrong with the arguments, as its page has it.
    pub fn tile(a: &Arguments<'_>, extent: &[u32]) -> Result<TensorMap, MapError> {
        let mut map = TensorMap::checked(a, 1, "1 to 5")?;
        let mut own = [1; RANK];
        for (dimension, extent) in extent.iter().take(map.rank).enumerate() {
            if !(1..=256).contains(extent) {
                return Err(MapError::Box(dimension, *extent));
            }
            own[dimension] = *extent;
        }
        map.shape = Shape::Tile { extent: own };
        map.check_row(own[0])?;
        Ok(map)
    }

    /// What `cuTensorMapEncodeIm2col` makes. The corners are given in the order of the dimensions W, H, D.
    ///
    /// # Errors
    ///
    /// As [`TensorMap::tile`].
    pub fn im2col(
        a: &Arguments<'_>,
        lower: &[i32],
        upper: &[i32],
        channels: u32,
        pixels: u32,
    ) -> Result<TensorMap, MapError> {
        let mut map = TensorMap::checked(a, 3, "3 to 5")?;
        let range = match map.rank {
            3 => -32768..=32767,
            4 => -128..=127,
            _ => -16..=15,
        };
        let mut corners = [[0; 3]; 2];
        for at in 0..map.rank - 2 {
            let (low, high) = (
                lower.get(at).copied().unwrap_or(0),
                upper.get(at).copied().unwrap_or(0),
            );
            // "The bounding box … must have non-zero area."
            let last = i128::from(map.dims[at + 1]) - 1 + i128::from(high);
            if !range.contains(&low) || !range.contains(&high) || last < i128::from(low) {
                return Err(MapError::Corner(at + 1, low, high));
            }
            (corners[0][at], corners[1][at]) = (low, high);
        }
        if !(1..=256).contains(&channels) {
            return Err(MapError::Channels(channels));
        }
        if !(1..=1024).contains(&pixels) {
            return Err(MapError::Pixels(pixels));
        }
        let [lower, upper] = corners;
        map.shape = Shape::Im2col {
            lower,
            upper,
            channels,
            pixels,
        };
        map.check_row(channels)?;
        Ok(map)
    }

    /// The same tensor at another address (`cuTensorMapReplaceAddress`, `tensormap.replace`).
    ///
    /// # Errors
    ///
    /// It is not aligned.
    pub fn at(self, address: u64) -> Result<TensorMap, MapError> {
        let unit = match self.interleave {
            Interleave::Bytes32 => 32,
            _ => 16,
        };
        match address.is_multiple_of(unit) {
            true => Ok(TensorMap { address, ..self }),
            false => Err(MapError::Address(address, unit)),
        }
    }

    /// What both have in common.
    fn checked(a: &Arguments<'_>, least: u32, ranks: &'static str) -> Result<TensorMap, MapError> {
        let element = Element::numbered(a.element).ok_or(MapError::Element(a.element))?;
        let interleave = match a.interleave {
            0 => Interleave::None,
            1 => Interleave::Bytes16,
            2 => Interleave::Bytes32,
            other => return Err(MapError::Interleave(other)),
        };
        let swizzle = match a.swizzle {
            0 => Swizzle::None,
            1 => Swizzle::Bytes32,
            2 => Swizzle::Bytes64,
            3 => Swizzle::Bytes128,
            other => return Err(MapError::Swizzle(other)),
        };
        let (least, ranks) = match interleave {
            Interleave::None => (least, ranks),
            _ => (3, "3 to 5"),
        };
        if !(least..=RANK as u32).contains(&a.rank) {
            return Err(MapError::Rank(a.rank, ranks));
        }
        let rank = a.rank as usize;
        let unit = match interleave {
            Interleave::Bytes32 => 32,
            _ => 16,
        };
        if !a.address.is_multiple_of(unit) {
            return Err(MapError::Address(a.address, unit));
        }
        let mut map = TensorMap {
            element,
            rank,
            address: a.address,
            dims: [1; RANK],
            strides: [0; RANK - 1],
            shape: Shape::Tile { extent: [1; RANK] },
            steps: [1; RANK],
            interleave,
            swizzle,
            l2_promotion: a.l2_promotion,
            fills_nan: a.fill == 1,
        };
        for (dimension, size) in a.dims.iter().take(rank).enumerate() {
            if !(1..=1 << 32).contains(size) {
                return Err(MapError::Dimension(dimension, *size));
            }
            map.dims[dimension] = *size;
        }
        for (at, stride) in a.strides.iter().take(rank - 1).enumerate() {
            if !stride.is_multiple_of(unit) || *stride >= 1 << 40 {
                return Err(MapError::Stride(at + 1, *stride, unit));
            }
            map.strides[at] = *stride;
        }
        for (dimension, step) in a.steps.iter().take(rank).enumerate() {
            if !(1..=8).contains(step) {
                return Err(MapError::Step(dimension, *step));
            }
            // "When interleave is CU_TENSOR_MAP_INTERLEAVE_NONE, the first element of this array is ignored."
            let counts = dimension > 0 || interleave != Interleave::None;
            map.steps[dimension] = if counts { *step } else { 1 };
        }
        if interleave == Interleave::Bytes32 && swizzle != Swizzle::Bytes32 {
            return Err(MapError::Interleaved);
        }
        if a.l2_promotion > 3 {
            return Err(MapError::Promotion(a.l2_promotion));
        }
        if a.fill > 1 || a.fill == 1 && !element.is_float() {
            return Err(MapError::Fill(a.fill));
        }
        Ok(map)
    }

    /// Whether the box's rows fit.
    fn check_row(&self, elements: u32) -> Result<(), MapError> {
        if self.interleave != Interleave::None {
            return Ok(());
        }
        let row = u64::from(elements) * u64::from(self.element.bytes());
        if !row.is_multiple_of(16) {
            return Err(MapError::Row(row));
        }
        match self.swizzle.span() {
            Some(span) if row > span => Err(MapError::Span(row, span)),
            _ => Ok(()),
        }
    }

    /// The object in memory.
    pub fn to_bytes(&self) -> [u8; BYTES] {
        let mut to = [0; BYTES];
        let mut put = |at: usize, bytes: &[u8]| to[at..][..bytes.len()].copy_from_slice(bytes);
        for end in layout::ENDS {
            put(end, &layout::MAGIC.to_le_bytes());
        }
        put(layout::ADDRESS, &self.address.to_le_bytes());
        for (d, stride) in self.strides.iter().enumerate() {
            put(layout::STRIDES + 8 * d, &stride.to_le_bytes());
        }
        for (d, size) in self.dims.iter().enumerate() {
            put(layout::DIMS + 4 * d, &(*size as u32).to_le_bytes());
        }
        put(layout::ELEMENT, &[self.element as u8]);
        put(layout::RANK, &[self.rank as u8 - 1]);
        put(layout::INTERLEAVE, &[self.interleave as u8]);
        put(layout::SWIZZLE, &[self.swizzle as u8]);
        put(layout::FILL, &[self.fills_nan.into()]);
        put(layout::PROMOTION, &[self.l2_promotion as u8]);
        put(layout::STEPS, &self.steps.map(|step| step as u8));
        match self.shape {
            Shape::Tile { extent } => {
                for (d, n) in extent.iter().enumerate() {
                    put(layout::SHAPE + 4 * d, &n.to_le_bytes());
                }
            }
            Shape::Im2col {
                lower,
                upper,
                channels,
                pixels,
            } => {
                put(layout::IM2COL, &[1]);
                let corners = lower.into_iter().chain(upper);
                let all = corners.chain([channels as i32, pixels as i32]);
                for (k, n) in all.enumerate() {
                    put(layout::SHAPE + 2 * k, &(n as u16).to_le_bytes());
                }
            }
        }
        to
    }

    /// What lies in memory, if it is a tensor map.
    pub fn from_bytes(bytes: &[u8; BYTES]) -> Option<TensorMap> {
        let word = |at: usize| bytes.get(at..)?.first_chunk().copied();
        let is_end = |at: &usize| word(*at).map(u64::from_le_bytes) == Some(layout::MAGIC);
        if !layout::ENDS.iter().all(is_end) {
            return None;
        }
        let half = |at: usize| -> Option<u32> {
            let half: [u8; 4] = *bytes.get(at..)?.first_chunk()?;
            Some(u32::from_le_bytes(half))
        };
        let short = |at: usize| -> Option<[u8; 2]> { bytes.get(at..)?.first_chunk().copied() };
        let mut dims = [0; RANK];
        for (d, size) in dims.iter_mut().enumerate() {
            *size = match half(layout::DIMS + 4 * d)? {
                0 => 1 << 32,
                size => u64::from(size),
            };
        }
        let mut strides = [0; RANK - 1];
        for (d, stride) in strides.iter_mut().enumerate() {
            *stride = u64::from_le_bytes(word(layout::STRIDES + 8 * d)?);
        }
        let mut steps = [0; RANK];
        for (d, step) in steps.iter_mut().enumerate() {
            *step = u32::from(bytes[layout::STEPS + d]);
        }
        let number = |at: usize| u32::from(bytes[at]);
        let arguments = Arguments {
            element: number(layout::ELEMENT),
            rank: number(layout::RANK) + 1,
            address: u64::from_le_bytes(word(layout::ADDRESS)?),
            dims: &dims,
            strides: &strides,
            steps: &steps,
            interleave: number(layout::INTERLEAVE),
            swizzle: number(layout::SWIZZLE),
            l2_promotion: number(layout::PROMOTION),
            fill: number(layout::FILL),
        };
        if bytes[layout::IM2COL] == 0 {
            let mut extent = [0; RANK];
            for (d, n) in extent.iter_mut().enumerate() {
                *n = half(layout::SHAPE + 4 * d)?;
            }
            return TensorMap::tile(&arguments, &extent).ok();
        }
        let mut corners = [0; 6];
        for (k, n) in corners.iter_mut().enumerate() {
            *n = i16::from_le_bytes(short(layout::SHAPE + 2 * k)?).into();
        }
        let channels = u16::from_le_bytes(short(layout::SHAPE + 12)?).into();
        let pixels = u16::from_le_bytes(short(layout::SHAPE + 14)?).into();
        let (lower, upper) = corners.split_at(3);
        TensorMap::im2col(&arguments, lower, upper, channels, pixels).ok()
    }
}

impl fmt::Display for TensorMap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dims = self.dims[..self.rank].iter().rev();
        let dims: Vec<String> = dims.map(u64::to_string).collect();
        write!(f, "a tensor map of {}", dims.join(" × "))
    }
}

#[cfg(test)]
mod tests;
