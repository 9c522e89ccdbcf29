//! Products of a warpgroup: who waits for one comes after all four warps' beginning of it, and after what it has read (PTX ISA, "wgmma.commit_group",
//! "wgmma.wait_group": a group of products is one of the warpgroup).
//!
//! What a product has read is told once, of the warp that waits first. So that warp learns what each of the four knew when it closed the group, and the
//! others learn from it what it knew when all had been told.
//!
//! Blind spot: what the first waiting warp has done between its beginning and its wait counts as ordered with the other warps' waits, too.

use super::Detector;
use super::block::Block;
use super::clock::Knowledge;
use simt::ids::*;
use simt::observer::*;
use std::collections::{BTreeMap, HashMap};

/// Warps of a warpgroup.
const WARPS: u32 = 4;

/// A group of products.
#[derive(Clone, Debug, Default)]
struct Group {
    /// What the warps knew that have closed it.
    begun: Knowledge,
    /// What the first one knew that has waited for it.
    ended: Option<Knowledge>,
    /// The warps that have waited, a bit each.
    waited: u32,
}

/// Groups that some warp of their warpgroup has not waited for, by block and first warp, and by number.
#[derive(Clone, Debug, Default)]
pub(super) struct Products(HashMap<(u32, u32), BTreeMap<u32, Group>>);

impl Products {
    /// A block has ended.
    pub fn forget(&mut self, block: BlockId) {
        if !self.0.is_empty() {
            self.0.retain(|(of, _), _| *of != block.0);
        }
    }
}

impl Detector {
    /// See [`Events::products_begun`].
    pub fn products_begun(&mut self, who: WarpRef, mask: Mask, group: u32) {
        let (block, party) = self.warp_of(who, mask);
        let known = block.publish(&[party]);
        let groups = self.groups(who);
        groups.entry(group).or_default().begun.join(&known);
    }

    /// See [`Events::products_awaited`].
    pub fn products_awaited(&mut self, who: WarpRef, mask: Mask, groups: u32) {
        let own = 1 << (who.warp.0 % WARPS);
        let mut known = Knowledge::default();
        self.groups(who).retain(|number, group| {
            if *number < groups && group.waited & own == 0 {
                known.join(group.ended.as_ref().unwrap_or(&group.begun));
                group.waited |= own;
            }
            group.waited != (1 << WARPS) - 1
        });
        if !known.is_empty() {
            let (block, party) = self.warp_of(who, mask);
            block.learns(party, &known);
        }
    }

    /// See [`Events::products_end`].
    pub fn products_end(&mut self, who: WarpRef, mask: Mask, groups: u32) {
        let left = |(number, group): (&u32, &Group)| *number < groups && group.ended.is_none();
        if !self.groups(who).iter().any(left) {
            return;
        }
        let (block, party) = self.warp_of(who, mask);
        // Each lane has waited for all of it.
        block.warp_sync(party);
        let known = block.publish(&[party]);
        for (_, group) in self.groups(who).range_mut(..groups) {
            group.ended.get_or_insert_with(|| known.clone());
        }
    }

    fn groups(&mut self, who: WarpRef) -> &mut BTreeMap<u32, Group> {
        let block = self.first.block(who.block).0;
        self.products
            .0
            .entry((block, who.warp.0 / WARPS))
            .or_default()
    }

    fn warp_of(&mut self, who: WarpRef, mask: Mask) -> (&mut Block, Party) {
        let at = self.find(self.first.block(who.block));
        let resident = &mut self.residents[at];
        resident.tell(&self.launch, &mut self.reporter);
        let party = Party {
            warp: who.warp,
            mask,
            site: Site(0),
        };
        (&mut resident.block, party)
    }
}
