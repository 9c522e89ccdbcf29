//! What a fetch reads and what it gives (CUDA C++ Programming Guide, "Texture Fetching"; PTX ISA, "tex", "tld4").
//!
//! Blending uses weights of eight bits after the point, as the guide says. How hardware rounds weights and sums is not documented: a
//! blended value may differ from a GPU's in the last bits of its weights.

use super::{AddressMode, ChannelKind, Format, Geometry, Level, Sampler, Texture};

/// A texel that a fetch reads, and how much it counts.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Tap {
    /// Its offset in the arena; `None` for the border.
    pub at: Option<u64>,
    /// Its part of the result.
    pub weight: f32,
}

/// The texels of one fetch: 8 of each of two levels at most.
#[derive(Clone, Copy, Debug, Default)]
pub struct Taps {
    all: [Tap; 16],
    count: usize,
}

impl std::ops::Deref for Taps {
    type Target = [Tap];
    fn deref(&self) -> &[Tap] {
        &self.all[..self.count]
    }
}

impl Taps {
    fn push(&mut self, at: Option<u64>, weight: f32) {
        if let Some(tap) = self.all.get_mut(self.count).filter(|_| weight != 0.0) {
            *tap = Tap { at, weight };
            self.count += 1;
        }
    }
}

/// Where a thread reads.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Coordinates {
    /// The layer, where there are layers.
    pub layer: u32,
    /// As the instruction has them.
    pub at: [f32; 3],
    /// Whether they count texels, so that their centres are meant.
    pub whole: bool,
}

/// The texels along one dimension: indices, `None` for the border, with weights.
type Axis = [(Option<u32>, f32); 2];

impl Sampler {
    /// The mode that counts: images repeat only where coordinates are normalised (CUDA Runtime API, "cudaTextureDesc").
    fn mode(&self, dimension: usize) -> AddressMode {
        match self.address[dimension] {
            AddressMode::Wrap | AddressMode::Mirror if !self.normalized_coordinates => {
                AddressMode::Clamp
            }
            mode => mode,
        }
    }

    /// A coordinate in texels.
    fn scaled(&self, mode: AddressMode, x: f32, size: u32) -> f32 {
        match (self.normalized_coordinates, mode) {
            (false, _) => x,
            (true, AddressMode::Wrap) => (x - x.floor()) * size as f32,
            (true, AddressMode::Mirror) => {
                let whole = x.floor();
                let part = x - whole;
                let is_even = whole.rem_euclid(2.0) == 0.0;
                size as f32 * if is_even { part } else { 1.0 - part }
            }
            (true, _) => x * size as f32,
        }
    }

    /// The nearest texel along one dimension.
    fn nearest(&self, mode: AddressMode, x: f32, whole: bool, size: u32) -> Option<u32> {
        let x = match whole {
            true => x,
            false => self.scaled(mode, x, size).floor(),
        };
        resolve(mode, x as i64, i64::from(size))
    }

    fn axis(&self, mode: AddressMode, x: f32, whole: bool, size: u32) -> Axis {
        if whole || !self.linear {
            return [(self.nearest(mode, x, whole, size), 1.0), (None, 0.0)];
        }
        let x = self.scaled(mode, x, size) - 0.5;
        let first = x.floor();
        let part = rounded(x - first);
        let index = |i: f32| resolve(mode, i as i64, i64::from(size));
        [(index(first), 1.0 - part), (index(first + 1.0), part)]
    }

    /// The levels that a fetch reads, with their weights.
    fn levels(&self, asked: Option<f32>, count: usize) -> [(usize, f32); 2] {
        let Some(asked) = asked.filter(|_| count > 1) else {
            return [(0, 1.0), (0, 0.0)];
        };
        let [least, most] = self.level_range;
        let level = (asked + self.level_bias).max(least).min(most);
        let level = level.max(0.0).min((count - 1) as f32);
        if !self.linear_levels {
            return [
                ((level + 0.5).floor().min((count - 1) as f32) as usize, 1.0),
                (0, 0.0),
            ];
        }
        let first = level.floor();
        let part = rounded(level - first);
        let next = (first as usize + 1).min(count - 1);
        [(first as usize, 1.0 - part), (next, part)]
    }
}

/// A fraction with eight bits after the point.
fn rounded(part: f32) -> f32 {
    (part * 256.0).round_ties_even() / 256.0
}

fn resolve(mode: AddressMode, i: i64, size: i64) -> Option<u32> {
    let size = size.max(1);
    let i = match mode {
        AddressMode::Clamp => i.clamp(0, size - 1),
        AddressMode::Wrap => i.rem_euclid(size),
        AddressMode::Mirror => {
            let i = i.rem_euclid(2 * size);
            if i < size { i } else { 2 * size - 1 - i }
        }
        AddressMode::Border if (0..size).contains(&i) => i,
        AddressMode::Border => return None,
    };
    Some(i as u32)
}

/// Face of a cube and coordinates in it, from 0 to 1 (CUDA C++ Programming Guide, "Cubemap Textures").
fn face([x, y, z]: [f32; 3]) -> (u32, [f32; 2]) {
    let (face, m, s, t) = if x.abs() > y.abs() && x.abs() > z.abs() {
        if x >= 0.0 {
            (0, x, -z, -y)
        } else {
            (1, -x, z, -y)
        }
    } else if y.abs() > z.abs() {
        if y >= 0.0 {
            (2, y, x, z)
        } else {
            (3, -y, x, -z)
        }
    } else if z >= 0.0 {
        (4, z, x, -y)
    } else {
        (5, -z, -x, -y)
    };
    (face, [(s / m + 1.0) / 2.0, (t / m + 1.0) / 2.0])
}

/// How coordinates on the face of a cube change with those of the direction.
fn step_on_face(at: [f32; 3], step: [f32; 3]) -> [f32; 2] {
    // They are quotients of the direction's coordinates, of which the largest divides.
    let [x, y, z] = at.map(f32::abs);
    let major = match () {
        () if x > y && x > z => 0,
        () if y > z => 1,
        () => 2,
    };
    let minor = [0, 1, 2].into_iter().filter(|d| *d != major);
    let mut steps = minor.map(|d| (step[d] - at[d] / at[major] * step[major]) / (2.0 * at[major]));
    std::array::from_fn(|_| steps.next().unwrap_or(0.0))
}

impl Texture {
    /// The texels that a fetch reads at a level (`None`: the first one).
    pub fn taps(&self, geometry: Geometry, at: &Coordinates, level: Option<f32>) -> Taps {
        let mut taps = Taps::default();
        for (index, weight) in self.sampler.levels(level, self.image.levels.len()) {
            if weight != 0.0 {
                self.taps_of(&self.image.levels[index], geometry, at, weight, &mut taps);
            }
        }
        taps
    }

    /// The only texel that a fetch reads, where it is known to be one: of plain dimensions, without blending, of one level.
    pub fn nearest(&self, geometry: Geometry, at: &Coordinates) -> Option<Option<u64>> {
        let plain = matches!(geometry, Geometry::D1 | Geometry::D2 | Geometry::D3);
        if !plain || self.sampler.linear || self.image.levels.len() != 1 {
            return None;
        }
        let level = &self.image.levels[0];
        let mut place = [0; 3];
        for (d, place) in place.iter_mut().enumerate().take(geometry.coordinates()) {
            let mode = self.sampler.mode(d);
            let size = level.size[d].max(1);
            match self.sampler.nearest(mode, at.at[d], at.whole, size) {
                Some(index) => *place = index,
                None => return Some(None),
            }
        }
        Some(Some(self.place(level, place)))
    }

    /// The four texels that blending would read, in the order of `tld4`: counter-clockwise from the lower left.
    pub fn gathered(&self, at: &Coordinates) -> Taps {
        let level = &self.image.levels[0];
        let linear = Sampler {
            linear: true,
            ..self.sampler.clone()
        };
        let [x, y] = [0, 1].map(|d| {
            let size = level.size[d];
            linear
                .axis(linear.mode(d), at.at[d], at.whole, size)
                .map(|(i, _)| i)
        });
        let mut taps = Taps::default();
        for (x, y) in [(x[0], y[1]), (x[1], y[1]), (x[1], y[0]), (x[0], y[0])] {
            let place = x.zip(y).map(|(x, y)| self.place(level, [x, y, 0]));
            taps.push(place, 1.0);
        }
        taps
    }

    fn place(&self, level: &Level, [x, y, z]: [u32; 3]) -> u64 {
        let texel = u64::from(self.image.format.texel());
        level.offset
            + u64::from(z) * level.slice
            + u64::from(y) * level.pitch
            + u64::from(x) * texel
    }

    fn taps_of(
        &self,
        level: &Level,
        geometry: Geometry,
        at: &Coordinates,
        weight: f32,
        taps: &mut Taps,
    ) {
        const ONE: Axis = [(Some(0), 1.0), (None, 0.0)];
        let slices = level.size[2].max(1);
        let layer = |faces: u32| at.layer.min(slices / faces - 1) * faces;
        let axis = |d: usize| {
            let mode = self.sampler.mode(d);
            self.sampler
                .axis(mode, at.at[d], at.whole, level.size[d].max(1))
        };
        let fixed = |slice: u32| -> Axis { [(Some(slice), 1.0), (None, 0.0)] };
        let [x, y, z] = match geometry {
            Geometry::D1 => [axis(0), ONE, ONE],
            Geometry::D2 => [axis(0), axis(1), ONE],
            Geometry::D3 => [axis(0), axis(1), axis(2)],
            Geometry::A1d => [axis(0), ONE, fixed(layer(1))],
            Geometry::A2d => [axis(0), axis(1), fixed(layer(1))],
            Geometry::Cube | Geometry::Acube => {
                let (face, at) = face(at.at);
                let on = |d: usize| {
                    let sampler = Sampler {
                        normalized_coordinates: true,
                        ..self.sampler.clone()
                    };
                    sampler.axis(AddressMode::Clamp, at[d], false, level.size[d].max(1))
                };
                let first = match geometry {
                    Geometry::Acube => layer(6),
                    _ => 0,
                };
                [on(0), on(1), fixed((first + face).min(slices - 1))]
            }
        };
        for (z, c) in z {
            for (y, b) in y {
                for (x, a) in x {
                    let place = match (x, y, z) {
                        (Some(x), Some(y), Some(z)) => Some(self.place(level, [x, y, z])),
                        _ => None,
                    };
                    taps.push(place, a * b * c * weight);
                }
            }
        }
    }

    /// The level of a fetch with gradients: how coordinates change from one pixel to the next, along both axes of the picture. How it follows
    /// from them is open in the PTX manual ("tex": `.grad`). Here it is that at which the ellipse that a pixel covers is as long as a texel;
    /// an H200 stays within an eighth of a level of that.
    pub fn level_of(&self, geometry: Geometry, at: &Coordinates, steps: [[f32; 3]; 2]) -> f32 {
        let size = self.image.levels[0].size.map(|n| n as f32);
        let [x, y] = steps.map(|step| match geometry {
            Geometry::Cube | Geometry::Acube => {
                let [s, t] = step_on_face(at.at, step);
                [s * size[0], t * size[1], 0.0]
            }
            _ if self.sampler.normalized_coordinates => std::array::from_fn(|d| step[d] * size[d]),
            _ => step,
        });
        let dot = |a: [f32; 3], b: [f32; 3]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
        let (xx, xy, yy) = (dot(x, x), dot(x, y), dot(y, y));
        // The longer half axis, squared.
        let long = (xx + yy) / 2.0 + ((xx - yy) / 2.0).hypot(xy);
        long.log2() / 2.0
    }

    /// What `txq` gives (PTX ISA, "txq"), of a level where it names one. Dimensions that there are not are as an H200 has them.
    pub fn size(&self, dimension: usize, level: u32) -> u32 {
        let Some(level) = self.image.levels.get(level as usize) else {
            return 0;
        };
        let [width, height, slices] = level.size;
        let all = match self.image.shape {
            None => [width, 0, 0],
            Some(Geometry::D1) => [width, 1, 0],
            Some(Geometry::D2 | Geometry::Cube) => [width, height, 0],
            Some(Geometry::D3 | Geometry::A2d) => [width, height, slices],
            Some(Geometry::A1d) => [width, slices, 0],
            Some(Geometry::Acube) => [width, height, slices / 6],
        };
        all[dimension]
    }

    /// Whether a fetch gives floating-point numbers.
    pub fn is_float(&self) -> bool {
        self.image.format.kind == ChannelKind::Float || self.sampler.normalized_read
    }

    /// The border as a fetch gives it.
    pub fn border(&self) -> [u32; 4] {
        let float = self.is_float();
        self.sampler
            .border
            .map(|c| match (float, self.image.format.kind) {
                (true, _) => c.to_bits(),
                (false, ChannelKind::Signed) => c as i32 as u32,
                (false, _) => c as u32,
            })
    }

    /// A texel's channels as a fetch gives them: bits of singles or of integers. Channels that are not there are zero.
    pub fn channels(&self, texel: u128) -> [u32; 4] {
        let Format {
            bits,
            channels,
            kind,
        } = self.image.format;
        let mut out = [0; 4];
        for (c, out) in out.iter_mut().enumerate().take(usize::from(channels)) {
            let up = 32 - u32::from(bits);
            let raw = (texel >> (c * usize::from(bits))) as u32 & (u32::MAX >> up);
            let signed = (raw << up) as i32 >> up;
            *out = match kind {
                ChannelKind::Float if bits == 16 => half(raw as u16).to_bits(),
                ChannelKind::Float => raw,
                ChannelKind::Unsigned if self.sampler.normalized_read => {
                    let value = raw as f32 / (u32::MAX >> up) as f32;
                    let linear = self.sampler.srgb && bits == 8 && c < 3;
                    if linear { to_linear(value) } else { value }.to_bits()
                }
                ChannelKind::Signed if self.sampler.normalized_read => (signed as f32
                    / (u32::MAX >> up >> 1) as f32)
                    .max(-1.0)
                    .to_bits(),
                ChannelKind::Unsigned => raw,
                ChannelKind::Signed => signed as u32,
            };
        }
        out
    }
}

/// IEEE 754 binary16 to binary32.
fn half(bits: u16) -> f32 {
    let (sign, exponent, part) = (bits >> 15, bits >> 10 & 31, bits & 0x3ff);
    let magnitude = match exponent {
        0 => f32::from(part) * 2f32.powi(-24),
        31 if part == 0 => f32::INFINITY,
        31 => f32::NAN,
        e => (1.0 + f32::from(part) / 1024.0) * 2f32.powi(i32::from(e) - 15),
    };
    if sign == 1 { -magnitude } else { magnitude }
}

/// IEC 61966-2-1, the inverse of the transfer function.
fn to_linear(c: f32) -> f32 {
    if c <= 0.04045 {
        c / 12.92
    } else {
        ((c + 0.055) / 1.055).powf(2.4)
    }
}

#[cfg(test)]
mod tests;
