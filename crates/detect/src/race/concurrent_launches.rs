//! Launches that run side by side, judged as one: what one of them hands to another by release and acquire is followed as it is among the blocks of
//! one launch.
//!
//! Their blocks and instructions are numbered through, each launch's behind those of the launches before. One of them runs at a
//! time, and has its own shape and its own notes of what depends on order. A launch that the host program puts after another one begins with the knowledge of all
//! that the other one did.

use super::clock::{BlockClock, Knowledge};
use super::{Contention, Detector, LAST_STAMP, Shape};
use simt::ids::{BlockId, Site};
use simt::observer::{LaunchShape, WarpRef};
use std::sync::Arc;

/// Warps of a block, as blocks of several launches are numbered.
const WIDTH: u32 = 32;
/// Blocks and instructions of all launches together, at most.
const BLOCKS: u32 = 1 << 26;
const SITES: u32 = 1 << 15;
/// Blocks that a launch may know of from its beginning.
const KNOWN: u32 = 1 << 16;

/// The launches.
#[derive(Debug, Default)]
pub(super) struct Together {
    members: Vec<Member>,
    current: usize,
    /// The launch that is about to begin: its instructions, and the launches that it comes after.
    arrival: (u32, Vec<usize>),
    /// Whether there may be others.
    joint: bool,
}

/// One of them.
#[derive(Debug, Default)]
struct Member {
    launch: Shape,
    contention: Contention,
    base: Knowledge,
    blocks: u32,
    sites: u32,
    first: First,
}

/// The numbers of a launch's first block and first instruction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct First {
    pub block: u32,
    pub site: u32,
}

impl First {
    /// A block, numbered through.
    #[inline(always)]
    pub fn block(self, id: BlockId) -> BlockId {
        BlockId(id.0.wrapping_add(self.block))
    }

    /// A warp.
    #[inline(always)]
    pub fn who(self, who: WarpRef) -> WarpRef {
        WarpRef {
            block: self.block(who.block),
            ..who
        }
    }

    /// An instruction.
    #[inline(always)]
    pub fn site(self, site: Site) -> Site {
        Site(site.0.wrapping_add(self.site))
    }
}

fn behind(first: u32, of: &[bool]) -> Arc<[bool]> {
    let before = std::iter::repeat_n(false, first as usize);
    before.chain(of.iter().copied()).collect()
}

impl Detector {
    /// The next launch, of so many instructions, may be joined by others while it runs, or not.
    pub fn expect_others(&mut self, sites: Option<u32>) {
        self.together = sites.map(|sites| {
            Box::new(Together {
                arrival: (sites, Vec::new()),
                ..Together::default()
            })
        });
    }

    /// Whether a launch of so many blocks and instructions, whose accesses to global memory are multiples of `granule`, can join those that are
    /// watched here, after some of them.
    pub fn admits(&self, blocks: u64, sites: usize, granule: u32, after: &[usize]) -> bool {
        let Some(together) = &self.together else {
            return false;
        };
        let members = &together.members;
        let Some(last) = members.last() else {
            return false;
        };
        let known: u64 = after.iter().map(|m| u64::from(members[*m].blocks)).sum();
        u64::from(last.first.block + last.blocks) + blocks <= u64::from(BLOCKS)
            && (last.first.site + last.sites) as usize + sites <= SITES as usize
            && known <= u64::from(KNOWN)
            && granule.max(1).trailing_zeros() >= last.launch.global_shift
    }

    /// The next launch joins, and comes after some. Its number among them.
    pub fn arrives(&mut self, sites: u32, after: Vec<usize>) -> usize {
        let Some(together) = &mut self.together else {
            return 0;
        };
        together.joint = true;
        together.arrival = (sites, after);
        together.members.len()
    }

    /// The launch of this number goes on.
    pub fn enter(&mut self, member: usize) {
        let Some(together) = &mut self.together else {
            return;
        };
        let now = std::mem::replace(&mut together.current, member);
        if now != member {
            std::mem::swap(&mut self.contention, &mut together.members[now].contention);
            std::mem::swap(
                &mut self.contention,
                &mut together.members[member].contention,
            );
        }
        let member = &together.members[member];
        (self.launch, self.first) = (member.launch.clone(), member.first);
        self.base = member.base.clone();
        self.spare.clear();
    }

    /// The launch that an instruction belongs to, its number there, and the number of the launch's first block here.
    pub fn origin(&self, site: Site) -> (usize, Site, u32) {
        let members = self.together.iter().flat_map(|t| &t.members);
        let of = members.enumerate().filter(|(_, m)| m.first.site <= site.0);
        let (number, first) = of
            .last()
            .map_or((0, First::default()), |(n, m)| (n, m.first));
        (number, Site(site.0 - first.site), first.block)
    }

    /// Whether several launches are watched.
    pub(super) fn is_joint(&self) -> bool {
        self.together.as_ref().is_some_and(|t| t.joint)
    }

    /// A launch begins that may be joined by others, or joins them. False if it is the first.
    pub(super) fn joins(&mut self, shape: &LaunchShape) -> bool {
        let Some(together) = &mut self.together else {
            return false;
        };
        let (sites, after) = std::mem::take(&mut together.arrival);
        let mut launch = Shape::of(shape);
        launch.warps = WIDTH;
        let mut member = Member {
            launch,
            contention: Contention::new(shape),
            blocks: u32::try_from(shape.grid.count()).unwrap_or(u32::MAX),
            sites,
            ..Member::default()
        };
        let joins = !together.members.is_empty();
        if let Some(last) = together.members.last() {
            member.first = First {
                block: last.first.block + last.blocks,
                site: last.first.site + last.sites,
            };
            member.launch.global_shift = last.launch.global_shift;
            member.launch.control_only = behind(member.first.site, &shape.control_only);
            member.launch.hands_on = behind(member.first.site, &shape.hands_on);
        }
        let all = BlockClock::floor(LAST_STAMP);
        for known in after.iter().filter_map(|m| together.members.get(*m)) {
            for block in 0..known.blocks {
                member.base.raise(known.first.block + block, &all);
            }
        }
        let number = together.members.len();
        together.members.push(member);
        if joins {
            self.enter(number);
        }
        joins
    }

    /// What the first of several launches begins with.
    pub(super) fn widen(&mut self) {
        if self.together.is_some() {
            self.launch.warps = WIDTH;
        }
    }
}
