//! What the plain detector makes of each event.

use super::*;

impl Events for Reference {
    fn launch_begins(&mut self, shape: &LaunchShape) {
        let findings = std::mem::take(&mut self.findings);
        *self = Reference {
            launch: shape.launch,
            control_only: shape.control_only.clone(),
            findings,
            ..Reference::default()
        };
    }

    fn access(&mut self, access: &Access<'_>) {
        let shared = match access.space {
            Space::Global => None,
            Space::Shared => Some(access.who.block.0),
            Space::Local | Space::Const | Space::Param => return,
        };
        for lane in (0..32).filter(|l| access.mask >> l & 1 == 1) {
            let thread = (access.who.block.0, access.who.warp.0 * 32 + lane);
            let time = self.tick(thread);
            for element in 0..access.elements {
                let address = access.address[lane as usize] + u64::from(element * access.element);
                self.operate(Operation {
                    thread,
                    time,
                    site: access.site,
                    location: Location {
                        shared,
                        address,
                        bytes: u64::from(access.element),
                    },
                    kind: access.kind,
                    non_coherent: access.non_coherent,
                    order: access.order,
                    scope: access.scope,
                    writes: match access.kind {
                        AccessKind::Read => false,
                        AccessKind::Write => true,
                        _ => access.wrote >> lane & 1 == 1,
                    },
                    before: Vec::new(),
                    seen: Vec::new(),
                });
            }
        }
    }

    fn fence(&mut self, _: Site, who: WarpRef, mask: Mask, order: FenceOrder, scope: Scope) {
        for lane in (0..32).filter(|l| mask >> l & 1 == 1) {
            let thread = (who.block.0, who.warp.0 * 32 + lane);
            let time = self.tick(thread);
            let all = std::mem::take(&mut self.sc);
            let state = self.state(thread);
            if order != FenceOrder::Release {
                for (_, pattern) in &state.brought {
                    synchronise(pattern, thread, scope, &mut state.clocks);
                }
            }
            if order == FenceOrder::Sc {
                let clocks = &mut state.clocks;
                for f in clocks.real.1.clone() {
                    let pattern = &all[f].0;
                    if include(pattern.thread, pattern.scope, thread, scope) {
                        clocks.real.join(&pattern.clocks.real);
                    }
                }
                for f in clocks.ideal.1.clone() {
                    clocks.ideal.join(&all[f].0.clocks.ideal);
                }
            }
            let pattern = Pattern {
                clocks: state.clocks.clone(),
                thread,
                scope,
                cut: false,
            };
            if order != FenceOrder::Acquire {
                state.fences.push(pattern.clone());
            }
            self.sc = all;
            if order == FenceOrder::Sc {
                self.sc.push((pattern, time));
            }
        }
    }

    fn block_arrives(&mut self, block: BlockId, id: u32, who: Party) {
        let clocks = self.union(block, &[who]);
        self.arrivals
            .entry((block.0, id))
            .or_default()
            .join(&clocks);
    }

    fn block_barrier(&mut self, barrier: &BlockBarrier<'_>) {
        let mut all = self.union(barrier.block, barrier.waited);
        if let Some(clocks) = self.arrivals.remove(&(barrier.block.0, barrier.id)) {
            all.join(&clocks);
        }
        for thread in members(barrier.block, barrier.waited) {
            self.state(thread).clocks.join(&all);
        }
    }

    fn products_begun(&mut self, who: WarpRef, mask: Mask, group: u32) {
        let clocks = self.union(who.block, &[whole(who, mask)]);
        let key = (who.block.0, who.warp.0 / 4, group);
        self.products.entry(key).or_default().0.join(&clocks);
    }

    fn products_awaited(&mut self, who: WarpRef, mask: Mask, groups: u32) {
        for group in 0..groups {
            let key = (who.block.0, who.warp.0 / 4, group);
            let Some((begun, ended)) = self.products.get(&key).cloned() else {
                continue;
            };
            for thread in members(who.block, &[whole(who, mask)]) {
                let clocks = &mut self.state(thread).clocks;
                clocks.join(ended.as_ref().unwrap_or(&begun));
            }
        }
    }

    fn products_end(&mut self, who: WarpRef, mask: Mask, groups: u32) {
        let own = |(block, warps, group): &(u32, u32, u32)| {
            (*block, *warps) == (who.block.0, who.warp.0 / 4) && *group < groups
        };
        if !(self.products.iter()).any(|(key, (_, ended))| own(key) && ended.is_none()) {
            return;
        }
        let party = [whole(who, mask)];
        let all = self.union(who.block, &party);
        for thread in members(who.block, &party) {
            self.state(thread).clocks.join(&all);
        }
        for (_, (_, ended)) in self.products.iter_mut().filter(|(key, _)| own(key)) {
            ended.get_or_insert_with(|| all.clone());
        }
    }

    fn warp_sync(&mut self, sync: &WarpSync) {
        if sync.kind == WarpSyncKind::Exchange {
            return;
        }
        let party = [Party {
            warp: sync.who.warp,
            mask: sync.lanes,
            site: sync.site,
        }];
        let all = self.union(sync.who.block, &party);
        for thread in members(sync.who.block, &party) {
            self.state(thread).clocks.join(&all);
        }
    }
}
