//! One interleaving of a program, acted out for the detectors.

use super::program::Op::*;
use super::program::*;
use crate::Detectors;
use crate::rules::Rule;
use crate::scene::*;
use simt::observer::*;

/// Marsaglia's xorshift.
pub(super) struct Choices(pub(super) u64);

impl Choices {
    pub(super) fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % n
    }
}

/// Acts out one interleaving; `None` where threads wait for ever.
pub(super) fn interleave(program: &Program, choices: &mut Choices) -> Option<Vec<Rule>> {
    let mut scene = Scene::new(Detectors::new(false), 2, 64);
    let n = program.threads.len();
    let mut at = vec![0; n];
    let mut values = [0u32; LOCATIONS];
    scene.begin();
    loop {
        let op = |t: usize, at: &[usize]| program.threads[t].get(at[t]).copied();
        let waits_for = |t: usize, at: &[usize]| -> Option<Vec<usize>> {
            let here = program.places[t];
            let all: Vec<usize> = (0..n)
                .filter(|u| {
                    let there = program.places[*u];
                    match op(t, at) {
                        Some(Block) => there.0 == here.0,
                        _ => (there.0, there.1) == (here.0, here.1),
                    }
                })
                .collect();
            all.iter().all(|u| op(*u, at) == op(t, at)).then_some(all)
        };
        let ready: Vec<usize> = (0..n)
            .filter(|t| match op(*t, &at) {
                None => false,
                Some(Access(_, location, _, _, true)) => values[location] != 0,
                Some(Block | Warp) => waits_for(*t, &at).is_some(),
                Some(_) => true,
            })
            .collect();
        if ready.is_empty() {
            let ended = (0..n).all(|t| op(t, &at).is_none());
            let found = scene.observer.take_findings();
            return ended.then(|| found.iter().map(|f| f.rule).collect());
        }
        let t = ready[choices.below(ready.len())];
        let (block, w, lane) = program.places[t];
        let who = warp(block, w);
        match op(t, &at) {
            Some(Access(kind, location, order, scope, _)) => {
                let does = Does {
                    kind,
                    ..read(64 * location as u64).global()
                };
                scene.go(who, 1 << lane, does.order(order, scope));
                if kind != AccessKind::Read {
                    values[location] += 1;
                }
                at[t] += 1;
            }
            Some(Fence(order, scope)) => {
                scene.fence(who, 1 << lane, order, scope);
                at[t] += 1;
            }
            Some(meeting) => {
                let all = waits_for(t, &at).unwrap_or_default();
                if meeting == Block {
                    scene.barrier(block);
                } else {
                    let lanes = all.iter().fold(0, |m, u| m | 1 << program.places[*u].2);
                    scene.warp_sync(who, lanes);
                }
                all.iter().for_each(|u| at[*u] += 1);
            }
            None => {}
        }
    }
}
