//! Further sizes.
//!
//! A guessed number of elements equals the number of threads, and that hides what goes wrong at its ends: `i <= n`, `x[i + 1]`, a
//! barrier in a loop that some threads leave earlier. So a kernel that is clean with the first guess is run with others: one less, a
//! prime, one more, one, none. All guessed sizes that the kernel compares with its threads change together; indices stay below them: the
//! last one, one in the middle, the first.
//!
//! `if (i < n)` asks, so any `n` will do: a race, a barrier or a shuffle that some threads miss is an error then. What leads outside an
//! array stays a warning, for the array may be what bounds the sizes. A size that the kernel never compares with its threads has to fit the
//! launch: what one less shows says what a clean verdict does not hold for. Sizes of 0 are left out where the kernel works on an element
//! a thread and its grid is guessed: a host that has no elements launches no blocks.

use super::{Aim, Further, Guess};
use crate::error::Error;
use crate::geometry;
use crate::hypothesis::Hypothesis;
use crate::known::{Fault, Known};
use crate::plan::Plan;
use crate::run::Runner;

/// How sizes change, the most telling way first: what they become, how many halves of a size indices are, and the place among all
/// further hypotheses.
pub(super) const SIZES: [(fn(u64) -> u64, u64, u32); 4] = [
    (|n| n.saturating_sub(1), 2, 10),
    (|n| prime_up_to(n / 4 * 3), 1, 30),
    (|n| n + 1, 0, 40),
    (|_| 1, 0, 60),
];
/// The place of sizes of 0.
const NOTHING: u32 = 80;

pub(crate) struct FurtherSizes;

impl Guess for FurtherSizes {
    fn beside(&self, known: &Known, runner: &mut Runner<'_>) -> Result<Vec<Further>, Error> {
        let first = &known.judged.hypothesis;
        let plan = &first.plan;
        let further = |plan: Plan, aim, rank, fault| Further {
            hypothesis: Hypothesis {
                plan,
                geometry: first.geometry.clone(),
            },
            aim,
            rank,
            counts: rank > 2,
            fault,
        };
        let fits = plan.with_unasked(|n| n.saturating_sub(1));
        let mut all = vec![further(fits, Aim::Limits, 2, Fault::Unasked)];
        for (change, halves, rank) in SIZES {
            let other = plan.with_sizes(change, halves);
            let fault = fault_of_sizes(plan, &other);
            all.push(further(other, Aim::Around, rank, fault));
        }
        let prepared = runner.prepared;
        let launch = runner.request.launch;
        if !geometry::grid_follows_sizes(launch, &prepared.input, &prepared.entry) {
            // One block is launched whatever a size is.
            let refitted = !known.given_up.iter().all(|g| g.saying.left_out.is_none());
            let none = match plan.are_sizes() && !refitted {
                true => plan.with_unasked(|_| 0).with_sizes(|_| 0, 0),
                false => plan.with_sizes(|_| 0, 0),
            };
            all.push(further(none, Aim::Around, NOTHING, Fault::Unknown));
        }
        Ok(all)
    }
}

/// Whose fault is what other sizes show, of those that the kernel compares with its threads.
pub(super) fn fault_of_sizes(plan: &Plan, other: &Plan) -> Fault {
    let mut values = other
        .integer_values()
        .into_iter()
        .zip(plan.integer_values());
    let larger = values.any(|(now, before)| now > before);
    match (plan.are_sizes(), larger, plan.unasked().is_empty()) {
        // Fields say how the rows of a matrix lie in memory as often as where it ends.
        (false, ..) if plan.has_fields() => Fault::Extents,
        // `row * pitch + i` with `i < width`: a width beyond the pitch.
        (false, true, false) if plan.grows_in(other) => Fault::Extents,
        (true, true, false) => Fault::Unasked,
        (false, ..) => Fault::Unknown,
        (true, false, _) => Fault::Asked,
        (true, true, true) => Fault::AskedLarger,
    }
}

/// The largest prime up to `n`, or `n` where there is none.
fn prime_up_to(n: u64) -> u64 {
    let is_prime = |n: &u64| {
        *n > 1
            && (2..)
                .take_while(|d| d * d <= *n)
                .all(|d| !n.is_multiple_of(d))
    };
    (2..=n).rev().find(is_prime).unwrap_or(n)
}

#[cfg(test)]
mod tests {
    use super::prime_up_to;

    #[test]
    fn primes() {
        let all: Vec<u64> = [0, 1, 2, 96, 97, 98].map(prime_up_to).into();
        assert_eq!(all, [0, 1, 2, 89, 97, 97]);
    }
}
