//! Clusters of blocks (PTX ISA, "Cooperative Thread Arrays: Clusters", "barrier.cluster", "mapa", "getctarank"; CUDA C++ Programming Guide, "Thread
//! Block Clusters", "Distributed Shared Memory").
//!
//! The blocks of a cluster are resident together. Whichever of them runs has the shared memory of all ([`Shared`]): it is handed over at each turn. The
//! barrier of the cluster counts threads: its phase is complete when all that have not exited have arrived, and who waits then goes on. Who has
//! arrived remembers in which of two phases, as an mbarrier's parity.
//!
//! Both engines share this: it is state between blocks, of which neither has a short way.

use super::{Core, Request};
use crate::alu::Mask;
use crate::hooks::Hooks;
use crate::ids::*;
use crate::memory::{CLUSTER_BLOCKS, FAR, SHARED_BASE, Shared};
use crate::observer::*;
use crate::op::Slot;
use crate::operations::{Completion, Operation, Work};
use crate::state::*;

/// What the blocks of a cluster have in common.
#[derive(Debug)]
pub(crate) struct Cluster {
    /// The shared memory of all of them; none while one of them runs.
    shared: Shared,
    /// Blocks that have not ended.
    blocks: u32,
    /// Threads that have not exited.
    live: u32,
    /// Threads that have arrived in the phase that is not complete.
    arrived: u32,
    /// The parity of that phase.
    parity: bool,
}

impl<O: Hooks> Core<'_, O> {
    /// A block begins, and its cluster with the first of its blocks.
    pub(crate) fn joins_cluster(&mut self, cluster: u32) {
        let geometry = self.geometry;
        self.clusters.entry(cluster).or_insert_with(|| {
            let blocks = geometry.cluster.count() as u32;
            Cluster {
                shared: Shared::of_cluster(geometry.shared_bytes, blocks),
                blocks,
                live: blocks * geometry.block.count() as u32,
                arrived: 0,
                parity: false,
            }
        });
    }

    /// All threads of a block have exited.
    pub(crate) fn leaves_cluster(&mut self, cluster: u32) {
        let Some(of) = self.clusters.get_mut(&cluster) else {
            return;
        };
        of.blocks -= 1;
        if of.blocks == 0 {
            self.clusters.remove(&cluster);
        }
    }

    /// Gives a block the shared memory of its cluster for a time. Nothing is done where blocks have no cluster.
    pub(crate) fn with_cluster<T>(
        &mut self,
        block: &mut Block,
        run: impl FnOnce(&mut Self, &mut Block) -> T,
    ) -> T {
        if !self.geometry.clustered {
            return run(self, block);
        }
        self.exchange_shared(block);
        let result = run(self, block);
        self.exchange_shared(block);
        result
    }

    fn exchange_shared(&mut self, block: &mut Block) {
        if let Some(of) = self.clusters.get_mut(&block.cluster) {
            std::mem::swap(&mut of.shared, &mut block.shared);
            block.shared.belongs_to(block.rank);
        }
    }

    /// `barrier.cluster.arrive`: lanes of a warp arrive, and go on.
    pub(crate) fn cluster_arrive(
        &mut self,
        block: &mut Block,
        w: usize,
        mask: Mask,
        (releases, aligned): (bool, bool),
        site: Site,
    ) {
        self.moved();
        let Some(of) = self.clusters.get_mut(&block.cluster) else {
            return;
        };
        let warp = &mut block.warps[w];
        let again = warp.cluster_arrived & mask;
        warp.cluster_arrived |= mask;
        let new = mask & !again;
        warp.cluster_parity &= !new;
        if of.parity {
            warp.cluster_parity |= new;
        }
        of.arrived += new.count_ones();
        let apart = warp.arrives_at_cluster(new, site).filter(|_| aligned);
        if O::WATCHES {
            let who = block.who(w);
            if again != 0 {
                // "barrier.cluster.arrive … twice without a wait in between is undefined behaviour" ("barrier.cluster").
                let here = Party {
                    warp: who.warp,
                    mask: again,
                    site,
                };
                let fault = BarrierFault::ArrivesAgain;
                self.observer
                    .misuse(block.id, Misuse::InvalidBarrier { here, fault });
            }
            if let Some([waiting, elsewhere]) = apart {
                let how = Elsewhere::AtAnotherBarrier;
                let misuse = Misuse::DivergentBarrier {
                    waiting: vec![waiting],
                    elsewhere: vec![elsewhere],
                    how,
                };
                self.observer.misuse(block.id, misuse);
            }
            self.observer.cluster_arrives(&ClusterParty {
                cluster: block.cluster,
                who,
                mask,
                site,
                ordered: releases,
            });
        }
        self.complete_cluster(block.cluster);
    }

    /// Lanes of a block have exited: nobody waits for them any more ("all non-exited threads of the cluster").
    pub(crate) fn cluster_exit(&mut self, block: &mut Block, w: usize, mask: Mask) {
        let Some(of) = self.clusters.get_mut(&block.cluster) else {
            return;
        };
        of.live -= mask.count_ones();
        let warp = &block.warps[w];
        let pending = match of.parity {
            true => warp.cluster_parity,
            false => !warp.cluster_parity,
        };
        of.arrived -= (warp.cluster_arrived & mask & pending).count_ones();
        self.complete_cluster(block.cluster);
    }

    /// Completes a cluster's barrier if everybody is there.
    fn complete_cluster(&mut self, cluster: u32) {
        let Some(of) = self.clusters.get_mut(&cluster) else {
            return;
        };
        if of.arrived < of.live || of.arrived == 0 {
            return;
        }
        of.arrived = 0;
        of.parity = !of.parity;
        self.cluster_moved = true;
        self.released();
        if let Some(history) = &mut self.history {
            history.tick();
            for block in self.geometry.members(cluster) {
                history.cluster_barrier(BlockId(block));
            }
        }
        if O::WATCHES {
            self.observer.cluster_completes(cluster);
        }
    }

    /// `barrier.cluster.wait` by all lanes of a split: whether they go on. Lanes that have arrived in different phases part.
    pub(crate) fn cluster_wait(
        &mut self,
        block: &mut Block,
        (w, s): (usize, usize),
        acquires: bool,
        site: Site,
    ) -> bool {
        let parity = self
            .clusters
            .get(&block.cluster)
            .is_some_and(|of| of.parity);
        let warp = &mut block.warps[w];
        let mask = warp.splits[s].mask;
        let before = match parity {
            true => !warp.cluster_parity,
            false => warp.cluster_parity,
        };
        let complete = warp.cluster_arrived & before & mask;
        if complete != mask {
            let mut waits = s;
            if complete != 0 {
                // Lanes that are a phase ahead wait for the others, which go on when it is their turn again.
                let pc = warp.splits[s].pc;
                warp.fork(s, pc, complete, pc, mask & !complete);
                waits = warp.splits.len() - 1;
            }
            let split = &mut warp.splits[waits];
            (split.state, split.rounds) = (State::Cluster, 0);
            return false;
        }
        warp.cluster_arrived &= !mask;
        if O::WATCHES {
            self.observer.cluster_waits(&ClusterParty {
                cluster: block.cluster,
                who: block.who(w),
                mask,
                site,
                ordered: acquires,
            });
        }
        true
    }

    /// After a turn of another block of its cluster, in which a phase of the cluster's barrier, or of a mbarrier of this block, may have become
    /// complete: who waits looks again.
    pub(crate) fn look_again(&mut self, block: &mut Block) {
        let splits = block.warps.iter_mut().flat_map(|warp| &mut warp.splits);
        for split in splits.filter(|split| split.state == State::Cluster) {
            split.state = State::Ready;
        }
        self.with_cluster(block, |core, block| core.wake(block));
    }

    /// `mapa`: the address of the same place in the shared memory of the block of a rank. A block's own addresses are what they are.
    pub(crate) fn mapped(&self, block: &Block, generic: bool, address: u64, rank: u32) -> u64 {
        let base = if generic { SHARED_BASE } else { 0 };
        let at = address.wrapping_sub(base) % FAR;
        // Of a rank that no cluster has, the first address that is no block's.
        let rank = rank.min(CLUSTER_BLOCKS);
        match rank == block.rank {
            true => base.wrapping_add(at),
            false => base
                .wrapping_add(at)
                .wrapping_add(FAR.wrapping_mul(u64::from(rank) + 1)),
        }
    }

    /// `getctarank`: the rank of the block that an address of shared memory belongs to.
    pub(crate) fn rank_of(&self, block: &Block, generic: bool, address: u64) -> u32 {
        let base = if generic { SHARED_BASE } else { 0 };
        match address.wrapping_sub(base) / FAR {
            0 => block.rank,
            far => (far - 1) as u32,
        }
    }

    /// What a copy is to its destinations: itself, or one for each block of the ranks in `to`, to the same place in that block's shared memory as in the
    /// own one's ("cp.async.bulk": "copied to the same CTA-relative offset", and the mbarrier's signal goes there, too). Ranks that the cluster has
    /// not are reported.
    pub(crate) fn destinations(
        &mut self,
        block: &Block,
        w: usize,
        operation: Operation,
        to: Option<u32>,
    ) -> Vec<Operation> {
        let Some(to) = to else {
            return vec![operation];
        };
        let mut all = Vec::new();
        for rank in (0..CLUSTER_BLOCKS).filter(|rank| to >> rank & 1 == 1) {
            let mut copy = operation.clone();
            let here = |at: u64| self.mapped(block, false, at, rank);
            if let Work::Runs { runs, .. } = &mut copy.work {
                runs.iter_mut().for_each(|run| run.to = here(run.to));
            }
            if let Completion::Phase { objects, .. } = &mut copy.completes {
                *objects = objects.map(here);
            }
            if rank < self.geometry.cluster.count() as u32 {
                all.push(copy);
                continue;
            }
            let Work::Runs { runs, .. } = &copy.work else {
                continue;
            };
            let address = [runs.first().map_or(0, |run| run.to); LANES];
            let request = Request {
                site: operation.site,
                who: block.who(w),
                element: 16,
                count: 1,
                write: true,
                address: &address,
            };
            self.report(
                &request,
                Space::Shared,
                operation.mask,
                FaultKind::OutOfBounds,
            );
        }
        all
    }

    /// Performs [`Core::mapped`] or, without a rank, [`Core::rank_of`] for active lanes.
    pub(crate) fn map_shared(
        &self,
        block: &mut Block,
        w: usize,
        op: &crate::op::MapShared,
        active: Mask,
    ) {
        for l in lanes_of(active) {
            let warp = &block.warps[w];
            let a = match op.wide {
                true => row(&warp.d, self.const_d, op.a)[l],
                false => u64::from(row(&warp.w, self.const_w, op.a)[l]),
            };
            let rank = (op.rank != Slot::NONE).then(|| row(&warp.w, self.const_w, op.rank)[l]);
            let value = match rank {
                Some(rank) => self.mapped(block, op.generic, a, rank),
                None => self.rank_of(block, op.generic, a).into(),
            };
            let warp = &mut block.warps[w];
            match op.wide && rank.is_some() {
                true => warp.d[op.d.0 as usize][l] = value,
                false => warp.w[op.d.0 as usize][l] = value as u32,
            }
        }
    }
}

impl Warp {
    /// Lanes arrive at the cluster's barrier. When all of the warp have, two parties that did so in different places, if there are such ("barrier.cluster":
    /// with `.aligned`, "all threads in the warp must execute the same barrier.cluster instruction").
    fn arrives_at_cluster(&mut self, mask: Mask, site: Site) -> Option<[Party; 2]> {
        match self.cluster_sites.iter_mut().find(|(at, _)| *at == site) {
            Some((_, lanes)) => *lanes |= mask,
            None => self.cluster_sites.push((site, mask)),
        }
        let all = self
            .cluster_sites
            .iter()
            .fold(0, |all, (_, lanes)| all | lanes);
        if self.live() & !all != 0 {
            return None;
        }
        let id = self.id;
        let mut parties = self.cluster_sites.drain(..).map(|(site, mask)| Party {
            warp: id,
            mask,
            site,
        });
        let two = (parties.next(), parties.next());
        two.0.zip(two.1).map(|(a, b)| [a, b])
    }
}

impl Geometry {
    /// The block that is the next one after so many, in an order in which each cluster's blocks come together, the lowest rank first.
    pub fn placed(&self, position: u32) -> u32 {
        let size = self.cluster.count() as u32;
        if size == 1 {
            return position;
        }
        let clusters = self.clusters();
        let of = clusters.coordinates(position / size);
        let inside = self.cluster.coordinates(position % size);
        let [x, y, z] = std::array::from_fn(|axis| {
            let sizes = [self.cluster.x, self.cluster.y, self.cluster.z];
            of[axis] * sizes[axis] + inside[axis]
        });
        x + self.grid.x * (y + self.grid.y * z)
    }

    /// The grid in clusters.
    pub fn clusters(&self) -> Dim3 {
        Dim3 {
            x: self.grid.x / self.cluster.x,
            y: self.grid.y / self.cluster.y,
            z: self.grid.z / self.cluster.z,
        }
    }

    /// The block whose shared memory an address is of, and where it lies in it.
    pub fn owner(&self, (block, cluster): (BlockId, u32), at: u64) -> (BlockId, u64) {
        match at / FAR {
            0 => (block, at),
            far => {
                let rank = (far - 1) as u32;
                let first = cluster * self.cluster.count() as u32;
                (BlockId(self.placed(first + rank)), at % FAR)
            }
        }
    }

    /// The blocks of a cluster, by rank.
    pub fn members(&self, cluster: u32) -> impl Iterator<Item = u32> + use<'_> {
        let size = self.cluster.count() as u32;
        (cluster * size..(cluster + 1) * size).map(|position| self.placed(position))
    }
}
