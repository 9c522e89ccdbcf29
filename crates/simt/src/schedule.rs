//! Schedules: who runs next, and for how long.
//!
//! Two of them sweep over blocks and warps, each running as far as it can:
//!
//! * `lockstep` — the lanes of a warp stay together where they can;
//! * `lane-by-lane` — each lane runs by itself, lane 0 first: what breaks code that
//!   trusts lockstep.
//!
//! The others decide at every memory and synchronisation operation:
//!
//! * `random:SEED` — any warp, any part of a warp;
//! * `pct:SEED:DEPTH` — strict priorities with DEPTH changes (Burckhardt et al., "A Randomized
//!   Scheduler with Probabilistic Guarantees of Finding Bugs", ASPLOS 2010);
//! * `weak:SEED` — as `random:SEED`, and strong loads sometimes return a value that has been overwritten, where
//!   the memory model lets them ([`super::weak_memory`]);
//! * `reverse:ORDER` — a sweep in which operations come in an order that is given ([`reverse`]);
//! * `replay:TRACE` — decisions written down by another run.
//!
//! `weak` alone sweeps as `lane-by-lane` does, with the oldest value that each strong load may return.
//!
//! A run is determined by the program, its input and its schedule.

mod pct;
mod random;
mod ready;
mod replay;
pub mod reverse;

use super::ids::*;
use super::observer::WarpRef;
use std::fmt;
use std::str::FromStr;

pub(crate) use ready::Ready;
pub use replay::Trace;
pub use reverse::Reversal;

/// Something that can run: some lanes of a warp that share a program counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Runnable {
    /// Its block.
    pub block: BlockId,
    /// Its warp.
    pub warp: WarpId,
    /// Its lanes.
    pub lanes: Mask,
}

/// A decision: which of the runnables runs, which of its lanes, for how many memory and
/// synchronisation operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decision {
    /// Index into the list of runnables.
    pub index: u32,
    /// Lanes that run; those of the runnable that are left out stay behind.
    pub lanes: Mask,
    /// Memory and synchronisation operations before the next decision.
    pub visible: u32,
    /// Whether strong loads return the oldest value that they may, not the last one.
    pub stale: bool,
}

/// What lanes have done.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Performed {
    /// Their warp.
    pub who: WarpRef,
    /// The lanes.
    pub lanes: Mask,
    /// They have ended; otherwise they have executed an access to memory that threads share.
    pub ends: bool,
}

/// A strategy that decides.
pub(crate) trait Schedule {
    /// Chooses among the runnables, of which there is at least one.
    fn decide(&mut self, ready: &Ready) -> Decision;

    /// Whether [`Decision::visible`] counts accesses to memory alone, and who has executed them is to be told.
    fn counts_accesses(&self) -> bool {
        false
    }

    /// Lanes have accessed memory, or ended.
    fn performed(&mut self, _what: &Performed) {}

    /// Whether it could not do as it was told.
    fn gave_up(&self) -> bool {
        false
    }

    /// What can run of a block has changed, from `before` to `after`.
    fn changed(&mut self, _before: &[Runnable], _after: &[Runnable]) {}
}

/// A schedule by name, as written on the command line and in replay tokens.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub enum ScheduleSpec {
    /// Lanes together.
    #[default]
    Lockstep,
    /// Each lane as far as it can.
    LaneByLane,
    /// Random choices.
    Random {
        /// Seed of the choices.
        seed: u64,
    },
    /// Random priorities with a bounded number of changes.
    Pct {
        /// Seed of the choices.
        seed: u64,
        /// Number of changes.
        depth: u32,
    },
    /// Executions that are not sequentially consistent.
    Weak {
        /// Seed of random choices; without one, each lane as far as it can, reading the oldest values.
        seed: Option<u64>,
    },
    /// Operations in an order that is given.
    Reverse(Reversal),
    /// Decisions of another run.
    Replay(Trace),
}

impl ScheduleSpec {
    /// The sweeps. `weak` tells whether the kernel may read older values than the last.
    pub fn sweeps(weak: bool) -> impl Iterator<Item = ScheduleSpec> {
        let sweeps = [ScheduleSpec::Lockstep, ScheduleSpec::LaneByLane];
        let oldest = weak.then_some(ScheduleSpec::Weak { seed: None });
        sweeps.into_iter().chain(oldest)
    }

    /// Schedules that decide by chance, without an end, from `seed` on.
    pub fn chances(seed: u64, weak: bool) -> impl Iterator<Item = ScheduleSpec> {
        (0..).flat_map(move |k| {
            let seed = seed.wrapping_add(k);
            let both = [
                ScheduleSpec::Random { seed },
                ScheduleSpec::Pct { seed, depth: 3 },
            ];
            both.into_iter()
                .chain(weak.then_some(ScheduleSpec::Weak { seed: Some(seed) }))
        })
    }

    /// The strategy, for schedules that decide.
    pub(crate) fn strategy(&self) -> Option<Box<dyn Schedule>> {
        match self {
            ScheduleSpec::Lockstep
            | ScheduleSpec::LaneByLane
            | ScheduleSpec::Weak { seed: None } => None,
            ScheduleSpec::Random { seed } => Some(Box::new(random::Random::new(*seed, false))),
            ScheduleSpec::Weak { seed: Some(seed) } => {
                Some(Box::new(random::Random::new(*seed, true)))
            }
            ScheduleSpec::Pct { seed, depth } => Some(Box::new(pct::Pct::new(*seed, *depth))),
            ScheduleSpec::Reverse(reversal) => {
                Some(Box::new(reverse::Follow::new(reversal.clone())))
            }
            ScheduleSpec::Replay(trace) => Some(Box::new(replay::Replay::new(trace.clone()))),
        }
    }
}

impl ScheduleSpec {
    /// Whether each lane runs by itself, as far as it can.
    pub(crate) fn is_apart(&self) -> bool {
        matches!(
            self,
            ScheduleSpec::LaneByLane | ScheduleSpec::Weak { seed: None }
        )
    }

    /// Whether strong loads may return stale values.
    pub(crate) fn is_weak(&self) -> bool {
        match self {
            ScheduleSpec::Weak { .. } => true,
            ScheduleSpec::Replay(trace) => trace.decisions.iter().any(|d| d.stale),
            _ => false,
        }
    }
}

impl fmt::Display for ScheduleSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ScheduleSpec::Lockstep => f.write_str("lockstep"),
            ScheduleSpec::LaneByLane => f.write_str("lane-by-lane"),
            ScheduleSpec::Random { seed } => write!(f, "random:{seed}"),
            ScheduleSpec::Pct { seed, depth } => write!(f, "pct:{seed}:{depth}"),
            ScheduleSpec::Weak { seed: None } => f.write_str("weak"),
            ScheduleSpec::Weak { seed: Some(seed) } => write!(f, "weak:{seed}"),
            ScheduleSpec::Reverse(reversal) => write!(f, "reverse:{reversal}"),
            ScheduleSpec::Replay(trace) => write!(f, "replay:{trace}"),
        }
    }
}

/// A schedule's name that can't be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is no schedule: use lockstep, lane-by-lane, random:SEED, pct:SEED:DEPTH, weak, weak:SEED, reverse:ORDER or replay:TRACE"
)]
pub struct BadSchedule(pub String);

/// Changes of priority of a `pct` schedule, at most; bugs need two or three.
const MOST_CHANGES: u32 = 1000;

impl FromStr for ScheduleSpec {
    type Err = BadSchedule;

    fn from_str(text: &str) -> Result<ScheduleSpec, BadSchedule> {
        let bad = || BadSchedule(text.to_owned());
        let (name, rest) = text
            .split_once(':')
            .map_or((text, None), |(n, r)| (n, Some(r)));
        let number = |t: &str| t.parse::<u64>().map_err(|_| bad());
        Ok(match (name, rest) {
            ("lockstep", None) => ScheduleSpec::Lockstep,
            ("lane-by-lane", None) => ScheduleSpec::LaneByLane,
            ("random", None) => ScheduleSpec::Random { seed: 0 },
            ("random", Some(seed)) => ScheduleSpec::Random {
                seed: number(seed)?,
            },
            ("pct", None) => ScheduleSpec::Pct { seed: 0, depth: 3 },
            ("pct", Some(rest)) => {
                let (seed, depth) = rest.split_once(':').unwrap_or((rest, "3"));
                let depth: u32 = depth.parse().map_err(|_| bad())?;
                if depth > MOST_CHANGES {
                    return Err(bad());
                }
                ScheduleSpec::Pct {
                    seed: number(seed)?,
                    depth,
                }
            }
            ("weak", None) => ScheduleSpec::Weak { seed: None },
            ("weak", Some(seed)) => ScheduleSpec::Weak {
                seed: Some(number(seed)?),
            },
            ("reverse", Some(order)) => ScheduleSpec::Reverse(order.parse().map_err(|()| bad())?),
            ("replay", Some(trace)) => ScheduleSpec::Replay(trace.parse().map_err(|()| bad())?),
            _ => return Err(bad()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_read_back() {
        for text in [
            "lockstep",
            "lane-by-lane",
            "random:7",
            "pct:7:3",
            "weak",
            "weak:7",
            "replay:0.f.2-3.*.1-2.*.4.o",
            "reverse:1.32.5-0.0.7",
            "reverse:1.32.5-0.0.7+0.0.1-0.1.1",
        ] {
            assert_eq!(
                text.parse::<ScheduleSpec>().map(|s| s.to_string()),
                Ok(text.to_owned())
            );
        }
        for text in [
            "",
            "lock",
            "random:x",
            "pct:1:1001",
            "pct:1:",
            "replay",
            "replay:1.2",
            "replay:1.f.2.x",
            "replay:1.f.2.o.o",
            "weak:",
            "reverse:",
            "reverse:1.2-0.0.1",
            "reverse:1.2.3.4-0.0.1",
            "reverse:1.2.3-0.0.1+",
            "lockstep:1",
        ] {
            assert!(text.parse::<ScheduleSpec>().is_err(), "{text}");
        }
    }
}
