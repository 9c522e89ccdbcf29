//! A launch whose host code depends on values that nobody has said.
//!
//! `void run(float *x, int n) { k<<<(n + 255) / 256, 256, n * sizeof(float)>>>(x, n); }`: nobody says what `n` is, but grid, shared
//! memory and arguments belong together. So the values of such variables are guessed, not those of the parameters, and the host's own
//! expressions make one launch of them. Where a guess changes, the launch changes with it ([`Plan::with_integers`]).
//!
//! [`Plan::with_integers`]: super::plan::Plan::with_integers

use super::roles::{Index, is_exponent};
use super::shape;
use simt::Dim3;
use std::sync::Arc;
use toolchain::cuda_text::{
    Assumed, CudaText, HostArgument, HostLaunch, Missing, Takes, Unknown, depends, has_shape,
};

/// How often a launch is read to learn what is missing: each time tells what stands behind the last.
const ROUNDS: usize = 12;
/// Launches that are tried, and how often a search for a launch that fits reads one.
const LAUNCHES: usize = 4;
const READINGS: usize = 300;
/// What a guessed launch should not exceed: threads, bytes of dynamic shared memory (what every GPU has), bytes of its buffers.
const FITTING: [u64; 3] = [4096, 48 << 10, 4 << 20];

/// Threads of a launch that is taken over as it is, if smaller sizes make none of fewer.
pub(super) const THREADS: u64 = 1 << 18;
/// Bytes of all its buffers.
pub(super) const BYTES: u64 = 32 << 20;
/// How often sizes are halved.
pub(super) const SHRINK: u32 = 20;

/// What is asked of a host program.
#[derive(Clone, Debug)]
pub struct Asked {
    /// The kernel's plain name.
    pub name: String,
    /// What its parameters take.
    pub takes: Vec<Takes>,
    /// The indices among them.
    pub indices: Vec<Option<Index>>,
    /// The integers that the user gave.
    pub given: Vec<Option<i64>>,
    /// The block that is guessed where the host program says none.
    pub block: Dim3,
    /// Whether the kernel tells its blocks apart.
    pub many_blocks: bool,
}

/// A launch that is read with guessed values.
#[derive(Clone, Debug)]
pub struct Followed {
    text: Arc<CudaText>,
    asked: Arc<Asked>,
    number: usize,
    shrink: u32,
    assumed: Assumed,
    /// The variables that may have any value.
    free: Vec<Unknown>,
    /// Which of them the kernel takes as an index.
    indices: Vec<Option<Index>>,
    /// Which arguments depend on a guess.
    pub depends: Vec<bool>,
}

impl PartialEq for Followed {
    fn eq(&self, other: &Followed) -> bool {
        (self.number, self.shrink, &self.assumed) == (other.number, other.shrink, &other.assumed)
    }
}

/// Reads the first launch of a kernel whose shape follows from guesses.
pub fn any(text: &CudaText, asked: &Asked) -> Option<(HostLaunch, Followed)> {
    let count = text.launches(&asked.name, 0).len();
    let shrinks = (0..=SHRINK).step_by(4);
    shrinks
        .flat_map(|shrink| (0..count.min(LAUNCHES)).map(move |number| (shrink, number)))
        .find_map(|(shrink, number)| Followed::new(text, asked, number, shrink))
}

impl Followed {
    /// Reads a launch by its number, with guesses for what its text does not tell. `None` where that does not make one, or there is
    /// nothing to guess.
    pub fn new(
        text: &CudaText,
        asked: &Asked,
        number: usize,
        shrink: u32,
    ) -> Option<(HostLaunch, Followed)> {
        let plain = text.launches(&asked.name, shrink);
        let plain = plain.get(number)?;
        if plain.arguments.len() != asked.takes.len() {
            return None;
        }
        let mut followed = Followed {
            text: Arc::new(CudaText::default()),
            asked: Arc::new(asked.clone()),
            number,
            shrink,
            assumed: Assumed::new(),
            free: Vec::new(),
            indices: Vec::new(),
            depends: Vec::new(),
        };
        for (index, value) in asked.given.iter().enumerate() {
            let variable = || text.passed_variable(&asked.name, number, index);
            if let (Some(value), Some(variable)) = (value, variable()) {
                followed.assumed.insert(variable, *value);
            }
        }
        let mut search = Search {
            text,
            followed,
            of_block: Vec::new(),
            guessed: Vec::new(),
            readings: 0,
        };
        search.guess()?;
        let launch = search.fit()?;
        let mut followed = search.followed;
        if followed.assumed.is_empty() {
            return None;
        }
        followed.depends = depends(&launch, plain);
        followed.text = Arc::new(text.clone());
        Some((launch, followed))
    }

    /// The launch with the guesses as they are; `None` where no GPU can launch it.
    pub fn launch(&self) -> Option<HostLaunch> {
        let (launch, _) = self.text.launch_with(
            &self.asked.name,
            self.number,
            self.shrink,
            &self.asked.takes,
            &self.assumed,
        )?;
        possible(&launch).then_some(launch)
    }

    /// The values that may be others, in a certain order.
    pub fn values(&self) -> Vec<i64> {
        let all = self.free.iter();
        all.map(|u| self.assumed.get(u).copied().unwrap_or(0))
            .collect()
    }

    /// Which of the values are indices, in the same order.
    pub fn indices(&self) -> &[Option<Index>] {
        &self.indices
    }

    /// The same, to be changed.
    pub fn indices_mut(&mut self) -> &mut [Option<Index>] {
        &mut self.indices
    }

    /// The same with other values.
    pub fn with(&self, values: &[i64]) -> Followed {
        let mut other = self.clone();
        for (unknown, value) in self.free.iter().zip(values) {
            other.assumed.insert(unknown.clone(), *value);
        }
        other
    }

    /// The guesses, for readers: `` `n` = 512 ``.
    pub fn describe(&self) -> String {
        const SHOWN: usize = 4;
        let all = self.free.iter().zip(self.values());
        let mut all: Vec<String> = all.map(|(u, v)| format!("`{}` = {v}", u.name)).collect();
        if all.len() > SHOWN {
            all.truncate(SHOWN);
            all.push("…".into());
        }
        all.join(", ")
    }
}

/// Threads of a launch as far as it is known.
pub(super) fn threads_of(launch: &HostLaunch) -> u64 {
    let count = |all: Option<[u32; 3]>| {
        all.map_or(1, |[x, y, z]| {
            u64::from(x)
                .saturating_mul(y.into())
                .saturating_mul(z.into())
        })
    };
    count(launch.grid).saturating_mul(count(launch.block))
}

/// Bytes of the buffers that it is given.
pub(super) fn bytes_of(launch: &HostLaunch) -> u64 {
    let bytes = launch.arguments.iter().map(|argument| match argument {
        HostArgument::Buffer(buffer) => buffer.bytes,
        _ => 0,
    });
    bytes.fold(0u64, u64::saturating_add)
}

/// Whether a GPU can make a launch.
fn possible(launch: &HostLaunch) -> bool {
    let (Some(grid), Some(block)) = (launch.grid, launch.block) else {
        return false;
    };
    let three = |[x, y, z]: [u32; 3]| Dim3 { x, y, z };
    shape::check(three(grid), three(block)).is_ok()
        && threads_of(launch) <= THREADS
        && bytes_of(launch) <= BYTES
}

/// Looks for values that make a launch.
struct Search<'a> {
    text: &'a CudaText,
    followed: Followed,
    /// The variables that say how many threads a block has.
    of_block: Vec<Unknown>,
    /// Those of the free ones of which nothing is known.
    guessed: Vec<Unknown>,
    readings: usize,
}

impl Search<'_> {
    fn read(&mut self) -> Option<(HostLaunch, Vec<Missing>)> {
        self.readings += 1;
        if self.readings > READINGS {
            return None;
        }
        let Followed {
            asked,
            number,
            shrink,
            assumed,
            ..
        } = &self.followed;
        self.text
            .launch_with(&asked.name, *number, *shrink, &asked.takes, assumed)
    }

    /// The launch with a variable changed; the variable keeps its value.
    fn tried(&mut self, unknown: &Unknown, value: i64) -> Option<HostLaunch> {
        let before = self.followed.assumed.insert(unknown.clone(), value);
        let launch = self.read().map(|(launch, _)| launch);
        if let Some(before) = before {
            self.followed.assumed.insert(unknown.clone(), before);
        }
        launch
    }

    /// How the kernel takes a variable that is passed as it is, where that is an index.
    fn index(&self, unknown: &Unknown) -> Option<Index> {
        let Followed { asked, number, .. } = &self.followed;
        let mut all = asked.indices.iter().enumerate();
        all.find_map(|(place, index)| {
            let index = (*index)?;
            let passed = self.text.passed_variable(&asked.name, *number, place)?;
            (passed == *unknown).then_some(index)
        })
    }

    /// Chooses a value for everything that is missing.
    fn guess(&mut self) -> Option<()> {
        for _ in 0..ROUNDS {
            let (launch, missing) = self.read()?;
            if missing.is_empty() {
                break;
            }
            let block = launch.block.map_or(self.followed.asked.block.x, |b| b[0]);
            for one in missing {
                let first = one.first.filter(|v| one.looped || *v > 0);
                let index = self.index(&one.unknown).filter(|_| !one.of_block);
                let value = match first {
                    Some(value) if one.of_block => value.clamp(1, 1024),
                    Some(value) => value,
                    None if one.of_block => i64::from(self.followed.asked.block.x),
                    None if index.is_some() => index.map_or(0, |i| i.start as i64),
                    None => 2 * i64::from(block),
                };
                self.followed.assumed.insert(one.unknown.clone(), value);
                if one.of_block {
                    self.of_block.push(one.unknown);
                    continue;
                }
                // A loop of the host that begins at its first index goes on to others.
                let goes_on = index.is_some() && matches!(value, 0 | 1);
                if one.looped && first.is_some() && !goes_on {
                    continue;
                }
                if first.is_none() && index.is_none() {
                    self.guessed.push(one.unknown.clone());
                }
                self.followed.free.push(one.unknown);
                self.followed.indices.push(index);
            }
        }
        // Sizes are multiplied where there are several.
        let most = match self.followed.free.len() {
            0..=2 => i64::MAX,
            3..=4 => 32,
            _ => 16,
        };
        for unknown in &self.guessed {
            if let Some(value) = self.followed.assumed.get_mut(unknown) {
                *value = match is_exponent(&unknown.name) {
                    true => i64::from(63 - (*value).max(1).leading_zeros()),
                    false => (*value).min(most),
                };
            }
        }
        Some(())
    }

    /// Makes the launch as small as a simulator wants it, and as large as to have two blocks.
    fn fit(&mut self) -> Option<HostLaunch> {
        let (mut launch, _) = self.read()?;
        let threads = self.followed.asked.block.count();
        if let ([only], Some([x, 1, 1])) = (&self.of_block[..], launch.block)
            && u64::from(x) < threads
            && threads.is_multiple_of(u64::from(x))
        {
            // The guess was one side of a square.
            let value = *self.followed.assumed.get(only)?;
            let factor = i64::try_from(threads / u64::from(x)).ok()?;
            let only = only.clone();
            self.followed
                .assumed
                .insert(only, value.checked_mul(factor)?);
            launch = self.read()?.0;
        }
        while launch
            .block
            .is_some_and(|[x, y, z]| count([x, y, z]) > 1024)
        {
            for unknown in self.of_block.clone() {
                let value = *self.followed.assumed.get(&unknown)?;
                if value < 2 {
                    return None;
                }
                self.followed.assumed.insert(unknown, value / 2);
            }
            launch = self.read()?.0;
        }
        while excess(&launch) > 0.0 {
            let free: Vec<Unknown> = self.followed.free.clone();
            let mut best: Option<(f64, Unknown, i64)> = None;
            // Of those that help as much, the largest: sizes stay alike.
            for unknown in &free {
                let value = *self.followed.assumed.get(unknown)?;
                if value < 2 {
                    continue;
                }
                let Some(smaller) = self.tried(unknown, value / 2) else {
                    continue;
                };
                let over = excess(&smaller);
                let better = |(least, _, half): &(f64, Unknown, i64)| {
                    over < *least || over == *least && value / 2 > *half
                };
                if has_shape(&smaller) && best.as_ref().is_none_or(better) {
                    best = Some((over, unknown.clone(), value / 2));
                }
            }
            match best.filter(|(over, ..)| *over < excess(&launch)) {
                Some((_, unknown, value)) => self.followed.assumed.insert(unknown, value),
                None => break,
            };
            launch = self.read()?.0;
        }
        if self.followed.asked.many_blocks && launch.grid.is_some_and(|g| count(g) <= 1) {
            launch = self.more_blocks().unwrap_or(launch);
        }
        // A guess is no reason to ask for more than every GPU has.
        let modest =
            self.followed.free.is_empty() || u64::from(launch.shared.unwrap_or(0)) <= FITTING[1];
        (modest && possible(&launch)).then_some(launch)
    }

    /// Makes one variable larger until there are two blocks.
    fn more_blocks(&mut self) -> Option<HostLaunch> {
        for unknown in self.guessed.clone() {
            let value = *self.followed.assumed.get(&unknown)?;
            for doubled in 1..=8 {
                let larger = value.checked_mul(1 << doubled)?;
                let launch = self.tried(&unknown, larger)?;
                if excess(&launch) > 0.0 {
                    break;
                }
                if launch.grid.is_some_and(|g| count(g) > 1) {
                    self.followed.assumed.insert(unknown, larger);
                    return Some(launch);
                }
            }
        }
        None
    }
}

fn count([x, y, z]: [u32; 3]) -> u64 {
    let product = u64::from(x).saturating_mul(y.into());
    product.saturating_mul(z.into())
}

/// By how many powers of two a launch exceeds what is fitting.
fn excess(launch: &HostLaunch) -> f64 {
    let has = [
        threads_of(launch),
        u64::from(launch.shared.unwrap_or(0)),
        bytes_of(launch),
    ];
    let over = has.iter().zip(FITTING).map(|(has, fitting)| {
        let ratio = *has as f64 / fitting as f64;
        if ratio > 1.0 { ratio.log2() } else { 0.0 }
    });
    over.sum()
}
