//! The shared memory of blocks that come in clusters, as one memory.
//!
//! A block of a cluster may access the shared memory of the others ("distributed shared memory"). Then what is kept by block no longer tells who
//! meets whom, so where clusters have several blocks, detectors see shared memory as a part of global memory behind the arena: the memory of one
//! block after that of the one before. Findings name the place in shared memory again ([`Clusters::real`]).

use crate::finding::Place;
use simt::ids::*;
use simt::memory::FAR;
use simt::observer::{Access, AsyncCopy, LaunchShape, Scope, Space, StoredValues};

/// What lies between the arena and the shared memory of the first block.
const GAP: u64 = 1 << 20;

/// Where the shared memory of each block lies.
#[derive(Clone, Copy, Debug)]
pub struct Clusters {
    grid: Dim3,
    size: Dim3,
    base: u64,
    stride: u64,
}

impl Clusters {
    /// Of a launch whose clusters have several blocks.
    pub fn of(shape: &LaunchShape) -> Option<Clusters> {
        (shape.cluster.count() > 1).then(|| Clusters {
            grid: shape.grid,
            size: shape.cluster,
            base: shape.global_bytes.next_multiple_of(GAP) + GAP,
            stride: u64::from(shape.shared_bytes).next_multiple_of(16),
        })
    }

    /// The cluster of a block, and its rank there.
    fn rank(&self, block: BlockId) -> ([u32; 3], u32) {
        let [x, y, z] = self.grid.coordinates(block.0);
        let Dim3 {
            x: sx,
            y: sy,
            z: sz,
        } = self.size;
        let rank = x % sx + sx * (y % sy + sy * (z % sz));
        ([x / sx, y / sy, z / sz], rank)
    }

    /// The block whose shared memory an address is of, as a block of its cluster sees it, and where it lies there.
    pub fn owner(&self, block: BlockId, at: u64) -> (BlockId, u64) {
        if at < FAR {
            return (block, at);
        }
        let (cluster, _) = self.rank(block);
        let inside = self.size.coordinates((at / FAR - 1) as u32);
        let sizes = [self.size.x, self.size.y, self.size.z];
        let [x, y, z] = std::array::from_fn(|axis| cluster[axis] * sizes[axis] + inside[axis]);
        let id = x + self.grid.x * (y + self.grid.y * z);
        (BlockId(id), at % FAR)
    }

    /// Where an address of shared memory lies.
    pub fn place(&self, block: BlockId, at: u64) -> u64 {
        let (owner, at) = self.owner(block, at);
        self.base + u64::from(owner.0) * self.stride + at
    }

    /// An access to shared memory as one to global memory: its addresses.
    pub fn addresses(&self, access: &Access<'_>) -> [u64; LANES] {
        std::array::from_fn(|l| match access.mask >> l & 1 {
            1 => self.place(access.who.block, access.address[l]),
            _ => 0,
        })
    }

    /// Tells of an access to shared memory as one to global memory; of any other as it is.
    pub fn flat(&self, access: &Access<'_>, tell: impl FnOnce(&Access<'_>)) {
        if access.space != Space::Shared {
            return tell(access);
        }
        let address = self.addresses(access);
        let stores = access.stores.map(|stores| Moved {
            stores,
            from: access.address,
            to: &address,
            mask: access.mask,
        });
        tell(&Access {
            space: Space::Global,
            address: &address,
            neighbours: None,
            stores: stores.as_ref().map(|s| s as &dyn StoredValues),
            ..*access
        });
    }

    /// The same of a copy's accesses.
    pub fn flat_copy(&self, copy: &AsyncCopy<'_>, tell: impl FnOnce(&AsyncCopy<'_>)) {
        let places = |all: &[Access<'_>]| -> Vec<[u64; LANES]> {
            let of = |access: &Access<'_>| match access.space {
                Space::Shared => self.addresses(access),
                _ => *access.address,
            };
            all.iter().map(of).collect()
        };
        let (from, to) = (places(copy.reads), places(copy.writes));
        fn moved<'a>(all: &[Access<'a>], places: &'a [[u64; LANES]]) -> Vec<Access<'a>> {
            let both = all.iter().zip(places);
            both.map(|(access, address)| match access.space {
                Space::Shared => Access {
                    space: Space::Global,
                    address,
                    neighbours: None,
                    stores: None,
                    ..*access
                },
                _ => *access,
            })
            .collect()
        }
        tell(&AsyncCopy {
            reads: &moved(copy.reads, &from),
            writes: &moved(copy.writes, &to),
            ..*copy
        });
    }

    /// The blocks of a block's cluster, its own one among them.
    pub fn members(&self, block: BlockId) -> impl Iterator<Item = BlockId> + use<'_> {
        let all = 0..self.size.count();
        all.map(move |rank| self.owner(block, (rank + 1) * FAR).0)
    }

    /// A scope as one of a memory that is global: nobody but the blocks of the cluster comes to its shared memory, so for that `.cluster` is as good
    /// as any wider scope.
    pub fn scope(scope: Scope) -> Scope {
        match scope {
            Scope::Cluster => Scope::Gpu,
            other => other,
        }
    }

    /// Whether a place in global memory stands for one in shared memory.
    pub fn is_shared(&self, at: u64) -> bool {
        at >= self.base
    }

    /// The place in shared memory that a place in global memory stands for, if it does.
    pub fn real(&self, place: Place) -> Place {
        match place.space {
            Space::Global if place.mapped && place.address >= self.base => Place {
                space: Space::Shared,
                address: (place.address - self.base) % self.stride.max(1),
                ..place
            },
            _ => place,
        }
    }
}

/// What a store changes, by other addresses.
#[derive(Debug)]
struct Moved<'s> {
    stores: &'s dyn StoredValues,
    from: &'s [u64; LANES],
    to: &'s [u64; LANES],
    mask: Mask,
}

impl Moved<'_> {
    /// An address in the space that was stored to, of the bytes at and behind a lane's.
    fn back(&self, at: u64) -> u64 {
        let near = |l: &usize| self.mask >> l & 1 == 1 && at.wrapping_sub(self.to[*l]) < 64;
        let lane = (0..LANES).find(near).unwrap_or(0);
        at.wrapping_sub(self.to[lane]).wrapping_add(self.from[lane])
    }
}

impl StoredValues for Moved<'_> {
    fn stored(&self, lane: usize, at: u64) -> u8 {
        let offset = at.wrapping_sub(self.to[lane]);
        self.stores
            .stored(lane, self.from[lane].wrapping_add(offset))
    }
    fn before(&self, at: u64) -> u8 {
        self.stores.before(self.back(at))
    }
    fn is_written(&self, at: u64) -> bool {
        self.stores.is_written(self.back(at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_block_has_its_own_place_and_is_found_by_its_rank() {
        let grid = Dim3 { x: 4, y: 6, z: 2 };
        let size = Dim3 { x: 2, y: 3, z: 1 };
        let clusters = Clusters {
            grid,
            size,
            base: 1 << 20,
            stride: 112,
        };
        let mut places = std::collections::BTreeSet::new();
        for id in 0..grid.count() as u32 {
            let block = BlockId(id);
            assert!(places.insert(clusters.place(block, 8)));
            let (_, rank) = clusters.rank(block);
            // Every block of the cluster finds it at its rank.
            for other in 0..grid.count() as u32 {
                let other = BlockId(other);
                if clusters.rank(other).0 == clusters.rank(block).0 {
                    let far = (u64::from(rank) + 1) * FAR + 8;
                    assert_eq!(clusters.owner(other, far), (block, 8));
                }
            }
        }
        assert_eq!(places.len(), 48);
    }
}
