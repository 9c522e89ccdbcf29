//! Races in launches in clusters of several blocks: the cluster's barrier, and accesses to each other's shared memory, which are told as accesses
//! to global memory ([`crate::clusters`]).

use super::block::{Block, lanes};
use super::clock::Knowledge;
use super::{Detector, Party};
use crate::clusters::Clusters;
use simt::ids::{BlockId, LANES};
use simt::observer::*;

impl Detector {
    /// Whether a thread comes after something that a thread of another block has done.
    pub fn knows_of(&mut self, (who, lane): (WarpRef, u32), other: BlockId) -> bool {
        let other = self.first.block(other);
        let block = self.block(self.first.block(who.block));
        let knows = |k: &Knowledge| k.real.events().get(other.0).is_some();
        knows(&block.base)
            || block
                .thread(who.warp.0, lane)
                .is_some_and(|t| knows(&t.known))
    }

    /// See [`Events::cluster_arrives`].
    pub fn cluster_arrives(&mut self, party: &ClusterParty) {
        let block = self.meets(party);
        let known = match party.ordered {
            true => block.publish(&[own_party(party)]),
            // A fence before it does, as in the examples of "membar / fence" (PTX ISA).
            false => {
                let mut known = Knowledge::default();
                let warp = party.who.warp.0;
                for lane in lanes(party.mask) {
                    if let Some(thread) = block.thread(warp, lane) {
                        known.join(&thread.release.for_cluster(block.id, warp, lane));
                    }
                }
                known
            }
        };
        self.meetings.entry(party.cluster).or_default()[0].join(&known);
    }

    /// See [`Events::cluster_completes`].
    pub fn cluster_completes(&mut self, cluster: u32) {
        let [arrived, before] = self.meetings.entry(cluster).or_default();
        *before = std::mem::take(arrived);
    }

    /// See [`Events::cluster_waits`].
    pub fn cluster_waits(&mut self, party: &ClusterParty) {
        let known = match self.meetings.get(&party.cluster) {
            Some([_, before]) if party.ordered && !before.is_empty() => before.clone(),
            _ => return,
        };
        self.meets(party).learns(own_party(party), &known);
    }

    fn meets(&mut self, party: &ClusterParty) -> &mut Block {
        let at = self.find(self.first.block(party.who.block));
        let resident = &mut self.residents[at];
        resident.tell(&self.launch, &mut self.reporter);
        &mut resident.block
    }

    /// An access in a launch in clusters: all memory is global.
    #[cold]
    pub(super) fn access_in_cluster(&mut self, access: &Access<'_>, clusters: &Clusters) {
        if access.space != Space::Shared {
            let first = access.address[access.mask.trailing_zeros() as usize % LANES];
            let scope = match clusters.is_shared(first) {
                true => Clusters::scope(access.scope),
                false => access.scope,
            };
            return self.access_to(&Access { scope, ..*access });
        }
        let scope = Clusters::scope(access.scope);
        clusters.flat(access, |flat| self.access_to(&Access { scope, ..*flat }));
    }
}

/// Lanes at a cluster's barrier, as those of a barrier of the block.
fn own_party(party: &ClusterParty) -> Party {
    Party {
        warp: party.who.warp,
        mask: party.mask,
        site: party.site,
    }
}
