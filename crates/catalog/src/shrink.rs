//! Shrinks a failing run, independently of the backend.

use super::draw::{Draw, DrawTree};
use proptest::strategy::ValueTree;

/// A smaller run, tried.
#[derive(Clone, Debug)]
pub struct ShrinkStep<O> {
    /// What it gave, if it shows the same.
    pub shows: Option<O>,
    /// Whether enough was spent on looking for a smaller one.
    pub enough: bool,
}

/// The smallest run found that still shows what `start` shows, by at most `budget` runs. `fixed` keeps the
/// schedule.
pub fn shrink<O>(
    start: (O, Draw),
    fixed: bool,
    mut budget: u32,
    observe: &mut dyn FnMut(&Draw) -> ShrinkStep<O>,
) -> (O, Draw) {
    let mut best = start;
    let mut enough = false;
    // A second pass, because under a simpler schedule a smaller size may do.
    for _ in 0..2 {
        let before = best.1.clone();
        let mut tree = DrawTree::new(before.clone(), fixed);
        let mut shows = true;
        while budget > 0 && !enough {
            let moved = if shows {
                tree.simplify()
            } else {
                tree.complicate()
            };
            if !moved {
                if shows {
                    break;
                }
                shows = true;
                continue;
            }
            budget -= 1;
            let draw = tree.current();
            let tried = observe(&draw);
            enough = tried.enough;
            shows = tried.shows.is_some();
            if let Some(observation) = tried.shows {
                best = (observation, draw);
            }
        }
        if best.1 == before {
            break;
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::draw::Inputs;
    use simt::ScheduleSpec;

    fn draw(n: u64) -> Draw {
        Draw {
            offsets: [("n".to_owned(), n)].into(),
            inputs: Inputs::Random(3),
            schedule: ScheduleSpec::LaneByLane,
        }
    }

    fn smallest(fixed: bool, budget: u32, enough_after: u32) -> (u64, Draw, u32) {
        let mut runs = 0;
        let (n, draw) = shrink((900, draw(900)), fixed, budget, &mut |draw| {
            runs += 1;
            let n = draw.offsets["n"];
            ShrinkStep {
                shows: (n >= 37).then_some(n),
                enough: runs >= enough_after,
            }
        });
        (n, draw, runs)
    }

    #[test]
    fn finds_the_smallest_that_still_shows_it() {
        let (n, draw, _) = smallest(false, 100, u32::MAX);
        assert_eq!((n, draw.offsets["n"]), (37, 37));
        assert_eq!(
            (draw.inputs, draw.schedule),
            (Inputs::Ones, ScheduleSpec::Lockstep)
        );
        let (_, draw, _) = smallest(true, 100, u32::MAX);
        assert_eq!(draw.schedule, ScheduleSpec::LaneByLane);
    }

    #[test]
    fn spends_no_more_than_it_may() {
        assert_eq!(smallest(false, 3, u32::MAX).2, 3);
        assert_eq!(smallest(false, 100, 2).2, 2);
        assert_eq!(smallest(false, 0, u32::MAX).0, 900);
    }
}
