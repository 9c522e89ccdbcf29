//! Texture fetches and accesses to surfaces (PTX ISA, "Texture Instructions", "Surface Instructions").
//!
//! Observers are told of the texels that are really read and written, in global memory. Reads go through a cache that need not see what
//! the launch itself has written (CUDA C++ Programming Guide, "Read/Write Coherency"), like the non-coherent reads of global memory.

use super::Core;
use crate::alu::{Mask, Row64};
use crate::hooks::Hooks;
use crate::ids::*;
use crate::memory::Words;
use crate::observer::*;
use crate::op::*;
use crate::state::*;
use crate::stop::Engine;
use crate::texture::{Coordinates, Image, Taps, Texture};

/// What a warp fetches: four channels for each lane.
type Channels = [[u32; 4]; LANES];

impl<O: Hooks> Core<'_, O> {
    /// Executes a fetch or an access.
    #[inline(never)]
    pub(crate) fn image(
        &mut self,
        block: &mut Block,
        w: usize,
        op: &ImageOp,
        active: Mask,
        site: Site,
    ) {
        let handles = *row(&block.warps[w].d, self.const_d, op.handle);
        let mut fetched: Channels = [[0; 4]; LANES];
        let mut left = active;
        while left != 0 {
            let handle = handles[left.trailing_zeros() as usize];
            let mask = lanes_of(left)
                .filter(|l| handles[*l] == handle)
                .fold(0, |m, l| m | 1 << l);
            left &= !mask;
            let device = self.device;
            let found = match op.kind {
                ImageKind::Sample | ImageKind::Gather(_) => {
                    let texture = device.images.textures.get(&handle);
                    texture.map(|t| self.fetch(block, w, op, t, mask, site, &mut fetched))
                }
                ImageKind::Size(dimension) => {
                    let texture = device.images.textures.get(&handle);
                    texture.map(|texture| {
                        for l in lanes_of(mask) {
                            let level = self.level_row(&block.warps[w], op, l);
                            fetched[l][0] = texture.size(usize::from(dimension), level);
                        }
                    })
                }
                ImageKind::Load | ImageKind::Store => {
                    let image = device.images.surfaces.get(&handle);
                    image.map(|image| self.surface(block, w, op, image, mask, site))
                }
            };
            if found.is_none() {
                let why = match op.reference && handle == 0 {
                    true => ImageFault::Unbound,
                    false => ImageFault::Absent,
                };
                self.no_image(block, w, op, why, mask, site);
            }
        }
        if !matches!(op.kind, ImageKind::Load | ImageKind::Store) {
            let warp = &mut block.warps[w];
            for (c, slot) in op.values[..usize::from(op.count)].iter().enumerate() {
                if *slot != Slot::NONE {
                    let to = &mut warp.w[slot.0 as usize];
                    lanes_of(active).for_each(|l| to[l] = fetched[l][c]);
                }
            }
        }
    }

    /// There are no texels.
    #[cold]
    fn no_image(
        &mut self,
        block: &mut Block,
        w: usize,
        op: &ImageOp,
        why: ImageFault,
        mask: Mask,
        site: Site,
    ) {
        if O::WATCHES {
            let surface = matches!(op.kind, ImageKind::Load | ImageKind::Store);
            self.observer.fault(&MemoryFault {
                site,
                who: block.who(w),
                mask,
                space: None,
                address: &[0; LANES],
                bytes: op.bytes(),
                write: op.kind == ImageKind::Store,
                kind: FaultKind::Image { why, surface },
                pointer: None,
            });
        }
        if op.kind == ImageKind::Load {
            lanes_of(mask).for_each(|l| put(&mut block.warps[w], op, l, 0));
        }
    }

    /// The level whose size is asked for.
    fn level_row(&self, warp: &Warp, op: &ImageOp, lane: usize) -> u32 {
        match op.level {
            LevelOf::Row(slot) => row(&warp.w, self.const_w, slot)[lane],
            _ => 0,
        }
    }

    /// Whether a fetch blends more than one place, as only gradients make it. How a GPU does so is not documented.
    pub(crate) fn is_anisotropic(
        &self,
        block: &Block,
        w: usize,
        op: &ImageOp,
        active: Mask,
    ) -> bool {
        let handles = row(&block.warps[w].d, self.const_d, op.handle);
        let several = |l: usize| {
            let texture = self.device.images.textures.get(&handles[l]);
            texture.is_some_and(|t| t.sampler.anisotropy > 1)
        };
        matches!(op.level, LevelOf::Gradients(_)) && lanes_of(active).any(several)
    }

    fn coordinates(&self, warp: &Warp, op: &ImageOp, lane: usize) -> Coordinates {
        let bits = |slot: Slot| row(&warp.w, self.const_w, slot)[lane];
        let value = |slot: Slot| match op.whole {
            true => bits(slot) as i32 as f32,
            false => f32::from_bits(bits(slot)),
        };
        let mut at = [0.0; 3];
        for (at, slot) in at.iter_mut().zip(&op.at[..op.geometry.coordinates()]) {
            *at = value(*slot);
        }
        Coordinates {
            layer: match op.layer {
                Slot::NONE => 0,
                slot => bits(slot),
            },
            at,
            whole: op.whole,
        }
    }

    #[allow(clippy::too_many_arguments)]
    fn fetch(
        &mut self,
        block: &mut Block,
        w: usize,
        op: &ImageOp,
        texture: &Texture,
        mask: Mask,
        site: Site,
        fetched: &mut Channels,
    ) {
        if op.kind == ImageKind::Sample
            && self.engine == Engine::Fast
            && self.fetch_nearest(block, w, op, texture, mask, site, fetched)
        {
            return;
        }
        let mut taps = [Taps::default(); LANES];
        for l in lanes_of(mask) {
            let warp = &block.warps[w];
            let at = self.coordinates(warp, op, l);
            taps[l] = match op.kind {
                ImageKind::Gather(_) => texture.gathered(&at),
                _ => {
                    let value = |slot| f32::from_bits(row(&warp.w, self.const_w, slot)[l]);
                    let level = match op.level {
                        LevelOf::Base => None,
                        LevelOf::Row(slot) => Some(value(slot)),
                        LevelOf::Gradients(all) => {
                            let count = op.geometry.coordinates();
                            let step = |slots: [Slot; 3]| {
                                let mut step = [0.0; 3];
                                for (x, slot) in step.iter_mut().zip(&slots[..count]) {
                                    *x = value(*slot);
                                }
                                step
                            };
                            Some(texture.level_of(op.geometry, &at, all.map(step)))
                        }
                    };
                    texture.taps(op.geometry, &at, level)
                }
            };
        }
        let most = lanes_of(mask).map(|l| taps[l].len()).max().unwrap_or(0);
        let bytes = texture.image.format.texel();
        for k in 0..most {
            let (mut here, mut outside) = (0, 0);
            for l in lanes_of(mask) {
                match taps[l].get(k).map(|tap| tap.at) {
                    Some(Some(at)) => {
                        self.address[l] = at;
                        here |= 1 << l;
                    }
                    Some(None) => outside |= 1 << l,
                    None => {}
                }
            }
            let good = self.read_texels(block, w, here, bytes, site);
            for l in lanes_of(good | outside) {
                let channels = match outside >> l & 1 {
                    1 => texture.border(),
                    _ => texture.channels(self.texel(self.address[l], bytes)),
                };
                match op.kind {
                    ImageKind::Gather(component) => {
                        fetched[l][k] = channels[usize::from(component)];
                    }
                    _ => blend(
                        &mut fetched[l],
                        channels,
                        taps[l][k].weight,
                        texture.is_float(),
                    ),
                }
            }
        }
    }

    /// The same where each lane reads one texel; `false` where it is not so.
    #[allow(clippy::too_many_arguments)]
    fn fetch_nearest(
        &mut self,
        block: &mut Block,
        w: usize,
        op: &ImageOp,
        texture: &Texture,
        mask: Mask,
        site: Site,
        fetched: &mut Channels,
    ) -> bool {
        let mut here = 0;
        for l in lanes_of(mask) {
            let at = self.coordinates(&block.warps[w], op, l);
            match texture.nearest(op.geometry, &at) {
                Some(Some(at)) => {
                    self.address[l] = at;
                    here |= 1 << l;
                }
                Some(None) => fetched[l] = texture.border(),
                None => return false,
            }
        }
        let bytes = texture.image.format.texel();
        let good = self.read_texels(block, w, here, bytes, site);
        for l in lanes_of(good) {
            fetched[l] = texture.channels(self.texel(self.address[l], bytes));
        }
        true
    }

    /// Checks and reports reads of whole texels at [`Core::address`]; the lanes for which there is something.
    fn read_texels(&mut self, block: &Block, w: usize, mask: Mask, bytes: u32, site: Site) -> Mask {
        if mask == 0 {
            return 0;
        }
        let good = self.check(block, w, Space::Global, mask, bytes, false, site);
        if O::WATCHES && good != 0 {
            let written = |l: usize| self.device.arena.is_valid(self.address[l], bytes, l);
            if !lanes_of(good).all(written) {
                self.uninitialized(block, w, Space::Global, good, bytes, None, site);
            }
            self.observer.access(&Access {
                site,
                who: block.who(w),
                mask: good,
                space: Space::Global,
                address: &self.address,
                neighbours: None,
                element: bytes,
                elements: 1,
                kind: AccessKind::Read,
                non_coherent: true,
                fragment: false,
                asynchronous: false,
                order: Order::Weak,
                scope: Scope::Sys,
                wrote: 0,
                dropped: 0,
                initial: 0,
                stores: None,
            });
        }
        good
    }

    fn texel(&self, at: u64, bytes: u32) -> u128 {
        let arena = &self.device.arena;
        match bytes {
            16 => u128::from(arena.read(at, 8, 0)) | u128::from(arena.read(at + 8, 8, 0)) << 64,
            _ => u128::from(arena.read(at, bytes, 0)),
        }
    }

    fn surface(
        &mut self,
        block: &mut Block,
        w: usize,
        op: &ImageOp,
        image: &Image,
        mask: Mask,
        site: Site,
    ) {
        let (mut inside, mut outside) = (0, 0);
        for l in lanes_of(mask) {
            let warp = &block.warps[w];
            let bits = |slot: Slot| row(&warp.w, self.const_w, slot)[l] as i32;
            let mut at = [0; 3];
            for (at, slot) in at.iter_mut().zip(&op.at[..op.geometry.coordinates()]) {
                *at = bits(*slot);
            }
            if op.layer != Slot::NONE {
                at[2] = bits(op.layer);
            }
            match image.place(at, op.bytes(), op.outside == Outside::Clamp) {
                Some(at) => {
                    self.address[l] = at;
                    inside |= 1 << l;
                }
                None => outside |= 1 << l,
            }
        }
        if outside != 0 {
            match op.outside {
                Outside::Trap => {
                    self.no_image(block, w, op, ImageFault::Outside, outside, site);
                }
                _ if op.kind == ImageKind::Load => {
                    lanes_of(outside).for_each(|l| put(&mut block.warps[w], op, l, 0));
                }
                _ => {}
            }
        }
        if inside == 0 {
            return;
        }
        if op.kind == ImageKind::Load {
            let good = self.read_texels(block, w, inside, op.bytes(), site);
            for l in lanes_of(inside) {
                let value = match good >> l & 1 {
                    1 => self.texel(self.address[l], op.bytes()),
                    _ => 0,
                };
                put(&mut block.warps[w], op, l, value);
            }
            return;
        }
        let good = self.check(block, w, Space::Global, inside, op.bytes(), true, site);
        if good == 0 {
            return;
        }
        let mut values = [0; LANES];
        for l in lanes_of(good) {
            values[l] = self.given(&block.warps[w], op, l);
        }
        if O::WATCHES {
            self.observer.access(&Access {
                site,
                who: block.who(w),
                mask: good,
                space: Space::Global,
                address: &self.address,
                neighbours: None,
                element: op.bytes(),
                elements: 1,
                kind: AccessKind::Write,
                non_coherent: false,
                fragment: false,
                asynchronous: false,
                order: Order::Weak,
                scope: Scope::Sys,
                wrote: good,
                dropped: 0,
                initial: 0,
                stores: Some(&Stored {
                    values: &values,
                    address: &self.address,
                    arena: &self.device.arena,
                }),
            });
        }
        for l in lanes_of(good) {
            let (at, arena) = (self.address[l], &self.device.arena);
            match op.bytes() {
                16 => {
                    arena.write(at, 8, l, values[l] as u64);
                    arena.write(at + 8, 8, l, (values[l] >> 64) as u64);
                }
                bytes => arena.write(at, bytes, l, values[l] as u64),
            }
        }
    }

    /// What a lane stores.
    fn given(&self, warp: &Warp, op: &ImageOp, lane: usize) -> u128 {
        let bits = 8 * u32::from(op.element);
        let values = op.values[..usize::from(op.count)].iter().zip(0..);
        values.fold(0, |all, (slot, c)| {
            let value = match op.class {
                RegisterClass::D => row(&warp.d, self.const_d, *slot)[lane],
                _ => u64::from(row(&warp.w, self.const_w, *slot)[lane]),
            };
            all | u128::from(value & (u64::MAX >> (64 - bits))) << (c * bits)
        })
    }
}

/// Adds a texel to what was fetched so far.
fn blend(fetched: &mut [u32; 4], channels: [u32; 4], weight: f32, float: bool) {
    for (sum, channel) in fetched.iter_mut().zip(channels) {
        *sum = match float {
            // The only texel is passed on as it is, whatever its bits.
            _ if weight == 1.0 => channel,
            true => (f32::from_bits(*sum) + weight * f32::from_bits(channel)).to_bits(),
            false => channel,
        };
    }
}

/// Puts what a surface gave into a lane's registers.
fn put(warp: &mut Warp, op: &ImageOp, lane: usize, value: u128) {
    let bits = 8 * u32::from(op.element);
    for (slot, c) in op.values[..usize::from(op.count)].iter().zip(0..) {
        if *slot == Slot::NONE {
            continue;
        }
        let value = (value >> (c * bits)) as u64 & (u64::MAX >> (64 - bits));
        match op.class {
            RegisterClass::D => warp.d[slot.0 as usize][lane] = value,
            _ => warp.w[slot.0 as usize][lane] = value as u32,
        }
    }
}

/// What a store to a surface is about to write.
#[derive(Debug)]
struct Stored<'a> {
    values: &'a [u128; LANES],
    address: &'a Row64,
    arena: &'a crate::memory::Arena,
}

impl StoredValues for Stored<'_> {
    fn stored(&self, lane: usize, at: u64) -> u8 {
        (self.values[lane] >> (8 * ((at - self.address[lane]) % 16))) as u8
    }
    fn before(&self, at: u64) -> u8 {
        self.arena.read(at, 1, 0) as u8
    }
    fn is_written(&self, at: u64) -> bool {
        self.arena.is_valid(at, 1, 0)
    }
}
