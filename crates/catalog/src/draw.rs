//! Draws the runs of a case: free sizes, inputs and schedule.
//!
//! A [`Draw`] determines a run. [`Draws`] is the proptest strategy that draws runs from a seed. [`DrawTree`] shrinks a run
//! towards the lower ends of ranges, the first choices, inputs of ones, and lockstep.

use super::case::Case;
use super::values::SizeSpec;
use proptest::num::u64::BinarySearch;
use proptest::strategy::{NewTree, Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use rand::Rng;
use session::expression::EvaluationError;
use simt::ScheduleSpec;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

/// The sizes of a run by name, the computed ones included.
pub type Sizes = BTreeMap<String, i64>;

/// What a run is drawn from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Draw {
    /// For each free size, its distance from the low end of its range, or its place in the list of choices.
    pub offsets: BTreeMap<String, u64>,
    /// What `random` buffers hold.
    pub inputs: Inputs,
    /// Who runs when.
    pub schedule: ScheduleSpec,
}

/// What `random` buffers hold, the simplest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inputs {
    /// 1 everywhere (or what is nearest to it in the range).
    Ones,
    /// 1, 2, 3 …, wrapping around in the range.
    Iota,
    /// Values from this seed.
    Random(u64),
}

impl fmt::Display for Inputs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Inputs::Ones => f.write_str("ones"),
            Inputs::Iota => f.write_str("iota"),
            Inputs::Random(seed) => write!(f, "random:{seed}"),
        }
    }
}

impl FromStr for Inputs {
    type Err = ();

    fn from_str(text: &str) -> Result<Inputs, ()> {
        match text.split_once(':') {
            None if text == "ones" => Ok(Inputs::Ones),
            None if text == "iota" => Ok(Inputs::Iota),
            Some(("random", seed)) => seed.parse().map(Inputs::Random).map_err(drop),
            _ => Err(()),
        }
    }
}

impl Inputs {
    /// Element `index` of a buffer whose values are drawn from `low..=high`.
    pub fn value(self, buffer: &str, index: u64, low: i64, high: i64) -> i64 {
        let span = u64::try_from(i128::from(high) - i128::from(low) + 1).unwrap_or(u64::MAX);
        let one = 1.clamp(low, high.max(low));
        let offset = match self {
            Inputs::Ones => return one,
            Inputs::Iota => (one.abs_diff(low) % span + index % span) % span,
            Inputs::Random(seed) => {
                let name = buffer
                    .bytes()
                    .fold(seed, |hash, byte| mix(hash ^ u64::from(byte)));
                mix(name ^ mix(index)) % span
            }
        };
        low.wrapping_add_unsigned(offset)
    }
}

/// The output function of SplitMix64 (Steele, Lea, Flood, "Fast Splittable Pseudorandom Number Generators",
/// OOPSLA 2014): replays must give the same numbers in every version of racetrap.
pub fn mix(value: u64) -> u64 {
    let z = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Sizes that can't be had.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SizeError {
    /// An expression without a value.
    #[error("size `{name}`: {error}")]
    Evaluation {
        /// The size.
        name: String,
        /// Why.
        error: EvaluationError,
    },
    /// A range with nothing in it.
    #[error("size `{name}`: the range {low}..={high} is empty")]
    EmptyRange {
        /// The size.
        name: String,
        /// Its lower end.
        low: i64,
        /// Its upper end.
        high: i64,
    },
}

/// What a free size can be.
#[derive(Clone, Copy, Debug)]
pub enum Domain<'a> {
    /// Both ends included.
    Range(i64, i64),
    /// One of these.
    Choices(&'a [i64]),
}

impl Domain<'_> {
    /// The largest offset.
    pub fn last(&self) -> u64 {
        match self {
            Domain::Range(low, high) => high.abs_diff(*low),
            Domain::Choices(choices) => choices.len() as u64 - 1,
        }
    }

    /// The value at an offset, or at the last one.
    pub fn value(&self, offset: u64) -> i64 {
        let offset = offset.min(self.last());
        match self {
            Domain::Range(low, _) => low.wrapping_add_unsigned(offset),
            Domain::Choices(choices) => choices[usize::try_from(offset).unwrap_or(0)],
        }
    }

    /// The offset of a value, if it has one.
    pub fn offset(&self, value: i64) -> Option<u64> {
        match self {
            Domain::Range(low, high) => (*low..=*high)
                .contains(&value)
                .then(|| value.abs_diff(*low)),
            Domain::Choices(choices) => {
                choices.iter().position(|c| *c == value).map(|at| at as u64)
            }
        }
    }
}

/// All sizes of a case; `pick` chooses the offset of each free one, in the order of what they depend
/// on.
pub fn sizes(
    case: &Case,
    pick: &mut dyn FnMut(&str, Domain<'_>) -> u64,
) -> Result<Sizes, SizeError> {
    let mut resolver = Resolver {
        case,
        pick,
        sizes: Sizes::new(),
    };
    for name in case.sizes.keys() {
        resolver.resolve(name)?;
    }
    Ok(resolver.sizes)
}

/// All sizes of a case, the `given` ones as they are, whatever their range; the other free ones are the lowest.
pub fn given_sizes(case: &Case, given: &Sizes) -> Result<Sizes, SizeError> {
    let mut resolver = Resolver {
        case,
        pick: &mut |_, _| 0,
        sizes: given.clone(),
    };
    for name in case.sizes.keys() {
        resolver.resolve(name)?;
    }
    Ok(resolver.sizes)
}

struct Resolver<'a> {
    case: &'a Case,
    pick: &'a mut dyn FnMut(&str, Domain<'_>) -> u64,
    sizes: Sizes,
}

impl Resolver<'_> {
    fn resolve(&mut self, name: &str) -> Result<(), SizeError> {
        if self.sizes.contains_key(name) {
            return Ok(());
        }
        let Some((name, spec)) = self.case.sizes.get_key_value(name) else {
            return Ok(());
        };
        let needs = match spec {
            SizeSpec::Computed(e) => vec![e],
            SizeSpec::Range(low, high) => vec![low, high],
            SizeSpec::Choices(_) => vec![],
        };
        for needed in needs.iter().flat_map(|e| e.names()) {
            // Circles are refused when the catalogue is read.
            self.resolve(needed)?;
        }
        let values = needs
            .iter()
            .map(|e| e.evaluate(&|n| self.sizes.get(n).copied()))
            .collect::<Result<Vec<_>, _>>()
            .map_err(|error| SizeError::Evaluation {
                name: name.clone(),
                error,
            })?;
        let domain = match spec {
            SizeSpec::Computed(_) => {
                self.sizes.insert(name.clone(), values[0]);
                return Ok(());
            }
            SizeSpec::Choices(choices) => Domain::Choices(choices),
            SizeSpec::Range(..) => {
                let (low, high) = (values[0], values[1]);
                if low > high {
                    return Err(SizeError::EmptyRange {
                        name: name.clone(),
                        low,
                        high,
                    });
                }
                Domain::Range(low, high)
            }
        };
        let offset = (self.pick)(name, domain);
        self.sizes.insert(name.clone(), domain.value(offset));
        Ok(())
    }
}

impl Draw {
    /// The sizes that it stands for in a case.
    pub fn sizes(&self, case: &Case) -> Result<Sizes, SizeError> {
        sizes(case, &mut |name, _| {
            self.offsets.get(name).copied().unwrap_or(0)
        })
    }
}

/// The strategy that draws the runs of a case. The first ones are the largest and the smallest sizes
/// under the two deterministic schedules; the others prefer the ends of ranges.
#[derive(Debug)]
pub struct Draws<'a> {
    /// The case.
    pub case: &'a Case,
    /// The schedule of all runs, where it is given.
    pub schedule: Option<ScheduleSpec>,
    /// Whether a kernel of the case may read older values than the last: then some runs are not sequentially consistent.
    pub weak: bool,
    /// Which run of the case this is, from 0.
    pub run: u32,
}

impl Strategy for Draws<'_> {
    type Tree = DrawTree;
    type Value = Draw;

    fn new_tree(&self, runner: &mut TestRunner) -> NewTree<Self> {
        let rng = RefCell::new(runner.rng());
        let below = |bound: u64| match bound {
            u64::MAX => rng.borrow_mut().next_u64(),
            bound => rng.borrow_mut().next_u64() % (bound + 1),
        };
        let mut offsets = BTreeMap::new();
        let mut pick = |name: &str, domain: Domain<'_>| {
            let last = domain.last();
            let offset = match (self.run, below(7)) {
                (0 | 2, _) => last,
                (1 | 3, _) => 0,
                (_, 0) => below(last.min(3)),
                (_, 1) => last - below(last.min(3)),
                _ => below(last),
            };
            offsets.insert(name.to_owned(), offset);
            offset
        };
        sizes(self.case, &mut pick).map_err(|e| e.to_string())?;
        let seed = below(u64::from(u32::MAX));
        let inputs = match below(7) {
            0 => Inputs::Ones,
            1 => Inputs::Iota,
            _ => Inputs::Random(seed),
        };
        let schedule = match (&self.schedule, self.run % 4) {
            (Some(given), _) => given.clone(),
            (None, _) if self.run < 2 => ScheduleSpec::Lockstep,
            (None, _) if self.run < 4 => ScheduleSpec::LaneByLane,
            (None, 0) => ScheduleSpec::Random { seed },
            (None, 1) => ScheduleSpec::Pct {
                seed,
                depth: 1 + below(3) as u32,
            },
            (None, 2) if self.weak => ScheduleSpec::Weak { seed: None },
            (None, 2) if self.run % 8 == 6 => ScheduleSpec::Lockstep,
            (None, 2) => ScheduleSpec::LaneByLane,
            (None, _) if self.weak => ScheduleSpec::Weak { seed: Some(seed) },
            (None, _) => ScheduleSpec::Random { seed },
        };
        let draw = Draw {
            offsets,
            inputs,
            schedule,
        };
        Ok(DrawTree::new(draw, self.schedule.is_some()))
    }
}

/// The source of all that is random in the runs of a case.
pub fn runner(seed: u64, id: &str) -> TestRunner {
    let mut state = id
        .bytes()
        .fold(seed, |hash, byte| mix(hash ^ u64::from(byte)));
    let mut bytes = [0; 32];
    for chunk in bytes.chunks_mut(8) {
        state = mix(state);
        chunk.copy_from_slice(&state.to_le_bytes());
    }
    TestRunner::new_with_rng(
        Config::default(),
        TestRng::from_seed(RngAlgorithm::ChaCha, &bytes),
    )
}

/// Shrinks a draw: sizes by bisection, inputs and schedule by trying the simpler ones from the simplest on.
#[derive(Clone, Debug)]
pub struct DrawTree {
    sizes: Vec<(String, BinarySearch)>,
    inputs: Simplest<Inputs>,
    schedule: Simplest<ScheduleSpec>,
    component: usize,
    last: Option<usize>,
}

impl DrawTree {
    /// The tree of one draw; `fixed` keeps its schedule.
    pub fn new(draw: Draw, fixed: bool) -> DrawTree {
        let sweeps = [ScheduleSpec::Lockstep, ScheduleSpec::LaneByLane];
        let simpler: Vec<ScheduleSpec> = match &draw.schedule {
            _ if fixed => Vec::new(),
            ScheduleSpec::Lockstep => Vec::new(),
            ScheduleSpec::LaneByLane => vec![ScheduleSpec::Lockstep],
            ScheduleSpec::Weak { seed: Some(_) } => {
                let oldest = ScheduleSpec::Weak { seed: None };
                sweeps.into_iter().chain([oldest]).collect()
            }
            ScheduleSpec::Reverse(reversal) => {
                let shorter = reversal.shorter().map(ScheduleSpec::Reverse);
                sweeps.into_iter().chain(shorter).collect()
            }
            _ => sweeps.into(),
        };
        let inputs: &[Inputs] = match draw.inputs {
            Inputs::Ones => &[],
            Inputs::Iota => &[Inputs::Ones],
            Inputs::Random(_) => &[Inputs::Ones, Inputs::Iota],
        };
        DrawTree {
            sizes: draw
                .offsets
                .into_iter()
                .map(|(name, offset)| (name, BinarySearch::new(offset)))
                .collect(),
            inputs: Simplest::new(inputs, draw.inputs),
            schedule: Simplest::new(&simpler, draw.schedule),
            component: 0,
            last: None,
        }
    }

    fn component(&mut self, index: usize) -> Option<&mut dyn Shrink> {
        let sizes = self.sizes.len();
        match index {
            index if index < sizes => Some(&mut self.sizes[index].1),
            index if index == sizes => Some(&mut self.inputs),
            index if index == sizes + 1 => Some(&mut self.schedule),
            _ => None,
        }
    }
}

impl ValueTree for DrawTree {
    type Value = Draw;

    fn current(&self) -> Draw {
        Draw {
            offsets: self
                .sizes
                .iter()
                .map(|(name, s)| (name.clone(), s.current()))
                .collect(),
            inputs: self.inputs.current(),
            schedule: self.schedule.current(),
        }
    }

    fn simplify(&mut self) -> bool {
        let mut index = self.component;
        while let Some(component) = self.component(index) {
            if component.simpler() {
                self.component = index;
                self.last = Some(index);
                return true;
            }
            index += 1;
        }
        self.component = index;
        false
    }

    fn complicate(&mut self) -> bool {
        let Some(last) = self.last else { return false };
        let more = self
            .component(last)
            .is_some_and(|component| component.less_simple());
        if !more {
            self.last = None;
        }
        more
    }
}

trait Shrink {
    fn simpler(&mut self) -> bool;
    fn less_simple(&mut self) -> bool;
}

impl Shrink for BinarySearch {
    fn simpler(&mut self) -> bool {
        self.simplify()
    }
    fn less_simple(&mut self) -> bool {
        self.complicate()
    }
}

/// A few values from the simplest to the one that was drawn: tried in this order.
#[derive(Clone, Debug)]
struct Simplest<T> {
    candidates: Vec<T>,
    at: usize,
    started: bool,
}

impl<T: Clone> Simplest<T> {
    fn new(simpler: &[T], drawn: T) -> Simplest<T> {
        let mut candidates = simpler.to_vec();
        candidates.push(drawn);
        Simplest {
            at: candidates.len() - 1,
            candidates,
            started: false,
        }
    }

    fn current(&self) -> T {
        self.candidates[self.at].clone()
    }
}

impl<T> Shrink for Simplest<T> {
    fn simpler(&mut self) -> bool {
        if self.started || self.at == 0 {
            return false;
        }
        self.started = true;
        self.at = 0;
        true
    }

    fn less_simple(&mut self) -> bool {
        if self.at + 1 < self.candidates.len() {
            self.at += 1;
        }
        // The drawn value itself is known to show it.
        self.at + 1 < self.candidates.len()
    }
}

#[cfg(test)]
mod tests;
