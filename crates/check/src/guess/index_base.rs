//! Guessed zeros that only lead to errors.
//!
//! An index that nobody gave starts at 0, because loops of host programs do. But where an expression is well with every positive
//! value and wrong with 0 alone (`a[(k - 1) * n + i]`, a step by which a loop goes on), 0 is racetrap's mistake and not the kernel's:
//! such a kernel is called with 1 first. So where a guessed index of 0 makes errors, 1 and a value in the middle are tried; if these
//! make none, the kernel is judged with 1, and a clean verdict says what 0 would have led to. Races that 0 makes are warnings: they
//! take no wrong address, and a caller who passes 0 would not notice.
//!
//! A step of 0 makes a loop endless, so a kernel with such a guess gets a small part of its budget first: if it has not ended then, 1 is
//! tried before the rest is spent.
//!
//! What says that 0 is allowed is a kernel that asks for it: with `k == 0` in the kernel, errors with 0 stay errors. Sizes are not
//! concerned: they are 0 beside ([`further_sizes`](super::further_sizes)), and what that shows is a warning.

use super::{Guess, Instead, LONG, Needs};
use crate::error::Error;
use crate::hypothesis::Hypothesis;
use crate::known::{Known, LeftOut, Saying, Warnings};
use crate::run::Runner;

pub(crate) struct IndexBase;

impl Guess for IndexBase {
    fn patience(&self, hypothesis: &Hypothesis) -> Option<u64> {
        let doubtful = !hypothesis.plan.doubtful_zeros().is_empty();
        doubtful.then_some(LONG)
    }

    fn instead(&self, known: &Known, _: &mut Runner<'_>) -> Result<Vec<Instead>, Error> {
        let first = &known.judged.asked;
        let zeros = first.plan.doubtful_zeros();
        let mut sets: Vec<&[usize]> = zeros.chunks(1).collect();
        if zeros.len() > 1 {
            sets.push(&zeros);
        }
        let middle = first.plan.with_sizes(|n| n, 1).integer_values();
        let each = sets.into_iter().map(|set| {
            let with = |value: &dyn Fn(usize) -> u64| {
                let each = set.iter().copied();
                let plan = each.fold(first.plan.clone(), |plan, at| {
                    plan.with_integer(at, value(at))
                });
                Hypothesis {
                    plan,
                    geometry: first.geometry.clone(),
                }
            };
            let one = with(&|_| 1);
            let half = with(&|at| middle.get(at).copied().unwrap_or(1).max(1));
            let mut hypothesis = one.clone();
            hypothesis.plan.start_at_one(set);
            let mut well = vec![one];
            if half != well[0] {
                well.push(half);
            }
            Instead {
                hypothesis,
                needs: Needs {
                    well,
                    ..Needs::default()
                },
                saying: Saying {
                    warnings: Warnings::Races,
                    left_out: Some(LeftOut::Numbers),
                    bounded: false,
                },
            }
        });
        Ok(each.collect())
    }
}
