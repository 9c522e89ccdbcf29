//! Strong accesses of a warp, lane by lane: what they publish and learn, and whether what came before allows them.

use super::Shape;
use super::access_shape::{AccessShape, StrongAccess};
use super::block::{Block, lanes};
use super::cells::Cells;
use super::message::{Reach, is_wide};
use super::pages::Shadow;
use super::report::{Current, Reporter};
use super::strong::Loads;
use super::sync::{self, Location, Operation};
use simt::ids::Mask;
use simt::observer::*;

/// The strong accesses of a warp-instruction.
pub(super) struct Strong<'a> {
    pub launch: &'a Shape,
    pub access: &'a Access<'a>,
}

impl Strong<'_> {
    pub fn run(&self, shadow: &mut impl Shadow, block: &mut Block, reporter: &mut Reporter) {
        let access = self.access;
        let global = access.space == Space::Global;
        let shift = if global {
            self.launch.global_shift
        } else {
            self.launch.shared_shift
        };
        reporter.learn(access);
        let Some(left) = self.plain_atomics(shadow, block, shift) else {
            return;
        };
        for lane in lanes(left) {
            for element in 0..access.elements {
                let address = access.address[lane as usize] + u64::from(element * access.element);
                // An element is aligned, so it does not cross a page.
                let n = (access.element >> shift) as usize;
                shadow.pieces(address >> shift, n, |page, at, _, n| {
                    self.element(page, at, n, lane, address, block, reporter);
                });
            }
        }
        if access.order.releases() && access.wrote & access.mask != 0 && self.launch.fine_sync {
            // What comes later is not part of what was released.
            block.warps[access.who.warp.0 as usize].now += 1;
        }
    }

    /// Atomics on one granule each that neither publish nor can race: the lanes that are
    /// left, from the first one on that is not such.
    fn plain_atomics(&self, shadow: &mut impl Shadow, block: &Block, shift: u32) -> Option<Mask> {
        let access = self.access;
        let rmw = matches!(access.kind, AccessKind::Atomic | AccessKind::Reduction);
        let silent = !self.launch.fine_sync || !access.order.releases() && block.threads.is_empty();
        if !rmw || !silent || access.element >> shift != 1 || access.wrote != access.mask {
            return Some(access.mask);
        }
        let v = self
            .launch
            .view(block, access.who.warp.0, access.space == Space::Global);
        let of_cluster = access.scope == Scope::Cluster;
        let class =
            AccessShape::new(access.element, 0, is_wide(access.scope), true).of_cluster(of_cluster);
        let mut left = access.mask;
        while left != 0 {
            let lane = left.trailing_zeros();
            let mut done = false;
            let cell = access.address[lane as usize] >> shift;
            shadow.pieces(cell, 1, |page, at, _, _| {
                page.open(at, true, &v);
                done = page.chain(at, lane, class, access.site, &v).is_ok();
            });
            if !done {
                return Some(left);
            }
            left &= left - 1;
        }
        None
    }

    /// What a lane stores to an element, if it is known and fits.
    fn stored(&self, lane: u32, address: u64) -> Option<u64> {
        let access = self.access;
        let stores = access.stores.filter(|_| access.element <= 8)?;
        let bytes = (0..u64::from(access.element)).rev();
        Some(bytes.fold(0, |value, k| {
            value << 8 | u64::from(stores.stored(lane as usize, address + k))
        }))
    }

    #[allow(clippy::too_many_arguments)]
    fn element(
        &self,
        page: &mut Cells,
        at: usize,
        n: usize,
        lane: u32,
        address: u64,
        block: &mut Block,
        reporter: &mut Reporter,
    ) {
        let access = self.access;
        let warp = access.who.warp.0;
        let wide = is_wide(access.scope);
        let rmw = matches!(access.kind, AccessKind::Atomic | AccessKind::Reduction);
        let (reads, writes) = match access.kind {
            AccessKind::Read => (true, false),
            AccessKind::Write => (false, true),
            _ => (true, access.wrote >> lane & 1 == 1),
        };
        let loads = Loads {
            control_only: &self.launch.control_only,
            hands_on: &self.launch.hands_on,
        };
        let v = self.launch.view(block, warp, access.space == Space::Global);
        let reach = Reach::of(access.scope);
        let class = |i: usize| {
            let shape = AccessShape::new(access.element, i as u32, wide, rmw);
            shape.of_cluster(reach == Reach::Cluster)
        };
        for i in 0..n {
            page.open(at + i, true, &v);
        }
        let initial = access.initial >> lane & 1 == 1;
        let link = reads && !initial && (0..n).all(|i| page.links(at + i, class(i), &v));
        let op = Operation {
            warp,
            lane,
            name: address << 4
                | u64::from(access.element.trailing_zeros()) << 1
                | u64::from(access.space == Space::Global),
            reads,
            can_acquire: matches!(access.kind, AccessKind::Read | AccessKind::Atomic),
            writes,
            initial,
            acquires: access.order.acquires(),
            releases: access.order.releases(),
            wide,
            reach,
            site: access.site.0,
        };
        // What it acquires is ordered before it, not only before what follows: the last operation of an acquire pattern is
        // what the release synchronises with (PTX ISA, "Base Causality Order").
        let mut location = None;
        if self.launch.fine_sync {
            location = page.take_location(at, n as u32);
            if location.is_none() && sync::leaves_a_trace(block, &op) {
                location = Some(Location::of(n as u32));
            }
            if let Some(location) = &mut location {
                location.communicate(block, &op);
                if reads && !initial {
                    location.read(block, &op, link);
                }
            }
        }
        let v = self.launch.view(block, warp, access.space == Space::Global);
        // Where somebody polls, stores may well come in any order: Peterson's algorithm tells so whose turn it is.
        let value = match self.launch.polls {
            true => None,
            false => self.stored(lane, address),
        };
        for i in 0..n {
            let class = class(i);
            let a = StrongAccess {
                lane,
                site: access.site.0,
                class,
                reads,
                writes,
                control_only: loads.steers(access.site.0),
                hands_on: loads.hands_on(access.site.0),
                volatile: access.order == Order::Volatile,
                value,
                link,
            };
            if page.check_strong(at + i, &a, &v, &loads).is_err() {
                let current = Current {
                    access,
                    lane,
                    address,
                    bytes: address..address + u64::from(access.element),
                };
                reporter.strong(page, at + i, &a, &current, &v, &loads);
            }
            page.add_strong(at + i, &a, &v);
        }
        if writes && self.launch.fine_sync {
            page.break_locations(at, n, true);
        }
        if let Some(mut location) = location {
            if writes {
                location.write(block, &op, link);
            }
            page.put_location(at, location);
        }
    }
}
