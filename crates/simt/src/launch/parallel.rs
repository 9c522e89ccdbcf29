//! Blocks that can't wait for each other, on several cores.

use super::Grid;
use super::sweep::{Alone, WARP_QUANTUM};
use crate::device::Device;
use crate::hooks::Hooks;
use crate::observer::{Joined, Observer};
use crate::stop::Stop;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};

/// Allocated bytes: of more, there might be no room for a copy of what is written to.
const MOST: u64 = 4 << 30;

impl Grid<'_> {
    /// Deals blocks out to several cores. `None` if the launch has to run on one: the result does not count, or there is too much
    /// memory for a copy of what is written to.
    ///
    /// What nobody watches, and what takes no turns that others could notice, is not run again, so that no copy is made: if blocks fail, the first
    /// of them tells how the launch ends, as on one core. The blocks before it have all run; some of those behind it, too.
    pub(super) fn in_parallel<O: Observer>(
        &self,
        device: &mut Device,
        blocks: u32,
        jobs: usize,
        observer: &mut O,
    ) -> Option<Result<(), Stop>> {
        let final_try = !O::WATCHES && !self.program.facts.order_sources;
        let before = match final_try {
            true => None,
            false if device.in_use() > MOST => return None,
            false => Some(device.image_on_demand()),
        };
        let next = AtomicU32::new(0);
        let vain = AtomicBool::new(false);
        // Neighbours for one core, at first, and single blocks in the end, so that no core waits long for another.
        let share = |first: u32| (blocks.saturating_sub(first) / (jobs as u32 * 8)).max(1);
        let take = || {
            let taken = next.fetch_update(Relaxed, Relaxed, |first| {
                (first < blocks).then(|| first + share(first))
            });
            taken.map(|first| first..(first + share(first)))
        };
        let shared: &Device = device;
        let work = |observer: &mut O| -> Result<(), (u32, Stop)> {
            let mut core = self.core(shared, observer, true);
            core.before = before.as_ref();
            let mut ended = None;
            loop {
                let Ok(some) = take() else {
                    return Ok(());
                };
                for id in some {
                    if core.observer.in_vain() {
                        vain.store(true, Relaxed);
                    }
                    if vain.load(Relaxed) {
                        return Ok(());
                    }
                    let mut block = self.block(&mut core, id, ended.take());
                    let mut alone = Alone::default();
                    loop {
                        if alone.is_over() && self.program.facts.order_sources {
                            // One core would give others a turn now, which the block could notice.
                            vain.store(true, Relaxed);
                        }
                        if vain.load(Relaxed) {
                            return Ok(());
                        }
                        let ran = self.pass(&mut core, &mut block, WARP_QUANTUM);
                        let ended = ran.and_then(|pass| {
                            alone.passed(pass);
                            self.spend(&mut core, std::slice::from_ref(&block))
                        });
                        if let Err(stop) = ended {
                            self.count(&mut core);
                            next.store(blocks, Relaxed);
                            return Err((id, stop));
                        }
                        if block.live == 0 {
                            break;
                        }
                    }
                    self.block_ends(&mut core, (block.id, block.cluster));
                    ended = Some(block);
                }
            }
        };
        let mut forks: Vec<O> = (0..jobs.min(blocks as usize))
            .map(|_| observer.fork())
            .collect();
        let results: Vec<Result<(), (u32, Stop)>> = crate::cores::each(forks.iter_mut(), work);
        let failures = results.into_iter().filter_map(Result::err);
        let failed = failures.min_by_key(|(block, _)| *block);
        let Some(before) = before else {
            return Some(failed.map_or(Ok(()), |(_, stop)| Err(stop)));
        };
        if let Some((_, stop @ (Stop::WallClock(_) | Stop::Interrupted))) = failed {
            // There is no time to run it again.
            observer.salvage(forks);
            return Some(Err(stop));
        }
        let ended = !vain.load(Relaxed) && failed.is_none();
        let good = ended && observer.join(forks) == Joined::Clean;
        if !good {
            device.put_back(&before);
        }
        good.then_some(Ok(()))
    }
}
