//! Contents that branches ask for.
//!
//! `if (state[i] == 7)`, `if (depth[to] == -1)`, `if (energy[i] > 1000)`: random numbers seldom lead there, and what is done there is done
//! by nobody, or by a single thread. So where a branch that depends on guessed contents ([`decides`](crate::decides)) always goes the same way,
//! those buffers are filled with numbers around what the branch compares elements with, one buffer after the other; what makes a branch
//! go the other way in a run of one warp after the other stays so, for the branches behind it. The hypotheses that come of this are the
//! kernel's own wish, so a race that they show is its fault, unless stores alone race: which elements are set only the host knows.
//!
//! Last, other indices are drawn from two numbers as well, so that those who got there meet.

use super::{Aim, Further, Guess, STEPS};
use crate::argument::{Fill, Value};
use crate::decides::{Decides, With};
use crate::error::Error;
use crate::hypothesis::Hypothesis;
use crate::known::{Fault, Known};
use crate::plan::Plan;
use crate::run::{Runner, possible};
use crate::usage::Part;
use session::expression::Expression;
use std::collections::BTreeSet;

/// Runs with other contents, at most, and hypotheses that may come of them.
const TRIALS: usize = 48;
const MOST: usize = 6;
/// Warp-instructions of one of those runs, as a multiple of what the first hypothesis took, and at least.
const LONGER: u64 = 8;
const LEAST: u64 = 50_000;
/// Elements of a row, at most.
const ROW: i64 = 1024;

/// A way of a conditional branch: its line in the PTX, and whether it is taken.
type Way = (u32, bool);

pub(crate) struct ComparedContents;

impl Guess for ComparedContents {
    fn beside(&self, known: &Known, runner: &mut Runner<'_>) -> Result<Vec<Further>, Error> {
        let first = &known.judged.hypothesis;
        if first.plan.guessed_contents().is_empty() {
            return Ok(Vec::new());
        }
        let Some(decides) = Decides::of_kernel(
            &runner.prepared.input.builds[0].module,
            &runner.prepared.entry,
        ) else {
            return Ok(Vec::new());
        };
        let search = Search {
            runner,
            steps: (LONGER * known.judged.steps()).clamp(LEAST, STEPS),
            decides,
        };
        let found = search.hypotheses(first)?;
        let all = found.into_iter().map(|(hypothesis, fault)| Further {
            hypothesis,
            aim: Aim::Ways,
            rank: 2,
            counts: false,
            fault,
        });
        Ok(all.collect())
    }
}

struct Search<'a, 'r> {
    runner: &'a Runner<'r>,
    steps: u64,
    decides: Decides,
}

impl Search<'_, '_> {
    /// The ways that branches go; none where the contents lead outside of memory, or to no end.
    fn ways(&self, hypothesis: &Hypothesis) -> Result<BTreeSet<Way>, Error> {
        let exploration = self.runner.exploration(hypothesis).within(self.steps);
        let program = &self.runner.prepared.programs[0];
        let ways = possible(exploration.ways(program, &hypothesis.plan))?;
        Ok(ways.flatten().unwrap_or_default())
    }

    fn hypotheses(&self, first: &Hypothesis) -> Result<Vec<(Hypothesis, Fault)>, Error> {
        let decided = self
            .decides
            .by_line(&self.runner.prepared.input.builds[0].ptx.text);
        let mut reached = self.ways(first)?;
        let mut seen = reached.clone();
        let mut base = first.clone();
        let mut found: Vec<(Hypothesis, Fault)> = Vec::new();
        let mut trials = 0;
        // Each time from the first branch on: others may be reached now.
        'again: while found.len() < MOST {
            for (line, parts) in &decided {
                let ways = [true, false].map(|taken| seen.contains(&(*line, taken)));
                // Not reached, or done.
                if ways[0] == ways[1] {
                    continue;
                }
                let wanted = (*line, !ways[0]);
                for other in self.candidates(&base.plan, parts) {
                    if trials == TRIALS || self.runner.gives_up() {
                        break 'again;
                    }
                    trials += 1;
                    let other = Hypothesis {
                        plan: other,
                        geometry: base.geometry.clone(),
                    };
                    let now = self.ways(&other)?;
                    if now.contains(&wanted) {
                        found.push((other.clone(), Fault::Compared));
                        seen.extend(now.iter().copied());
                        // Rows without elements lead nowhere else.
                        if now.is_superset(&reached) {
                            (base, reached) = (other, now);
                        }
                        continue 'again;
                    }
                }
            }
            break;
        }
        let meet = base.plan.with_contents(&Fill::random_in(0, 1));
        if let Some(plan) = meet.filter(|_| !found.is_empty()) {
            let geometry = base.geometry.clone();
            found.push((Hypothesis { plan, geometry }, Fault::Unknown));
        }
        Ok(found)
    }

    /// The plan with other contents in one of some buffers, the likeliest first.
    fn candidates(&self, plan: &Plan, parts: &BTreeSet<Part>) -> Vec<Plan> {
        let guessed = plan.guessed_contents();
        let mut all = Vec::new();
        let buffers: BTreeSet<usize> = parts.iter().map(|part| part.0).collect();
        for index in buffers.iter().filter(|index| guessed.contains(index)) {
            let fills = self.fills(plan, *index).into_iter();
            all.extend(fills.filter_map(|fill| plan.with_fill(*index, &fill)));
        }
        all
    }

    fn fills(&self, plan: &Plan, index: usize) -> Vec<Fill> {
        let number = |with: &With| match with {
            With::Constant(value) => Some(*value),
            With::Parameter(index) => match &plan.values[*index].value {
                Value::Scalar(text, _) => text.parse::<f64>().ok().map(|x| x.floor() as i64),
                _ => None,
            },
        };
        let of_buffer = self.decides.compared.iter().filter(|(p, _)| p.0 == index);
        let with: BTreeSet<i64> = of_buffer
            .flat_map(|(_, with)| with)
            .filter_map(number)
            .collect();
        if plan.parameters.0[index].usage.rows {
            let sizes = with.iter().filter(|n| (0..=ROW).contains(*n));
            let longer = sizes.filter_map(|n| Expression::parse(&format!("{} * i", n + 1)).ok());
            return longer.map(Fill::Each).chain([Fill::Zeros]).collect();
        }
        let around = |n: &i64| Fill::random_in(n.saturating_sub(1), n.saturating_add(1));
        let mut all: Vec<Fill> = with.iter().map(around).collect();
        all.extend([Fill::random_in(0, 1), Fill::Iota, Fill::random_in(-1, 1)]);
        all
    }
}
