//! Other launches for kernels that are made for one block and do not say which.
//!
//! A transpose in tiles of 32 × 32 elements may want blocks of 32 × 32 threads, or of 32 × 8 that go round four times. A kernel that
//! reads `%ntid` wherever it reads `%tid` fits every block. For one that does not, the block is a guess from names and arrays, and a wrong guess makes two
//! threads do one thread's work: no kernel is wrong because of that. So where a guessed block shows errors, others are tried that the
//! source's constants make; with the first one that shows none the kernel is judged, and a clean verdict says what was given up. Blocks
//! of fewer than two warps are not among them: they would hide missing barriers.
//!
//! `table[threadIdx.x]` with a table of five elements is made for five threads. So where nothing says how large a block is, and all
//! that a kernel does wrong is that threads beyond the number of an array's elements reach outside of it, it is launched with as many
//! threads as there are elements. If it then shows as much of itself and no error, it is judged so. A guard that lets more threads
//! through than the array has elements (`if (i < 10)`, `if (i < n)`) says that there are more, so the error stays one. An array that is a
//! power of two and a little more, `tile[32 + 4]`, is a tile with a halo, for that many threads.
//!
//! `grid.thread_rank()` of cooperative groups reads all three directions. A kernel whose source names no `y` works in one.

use super::{Guess, Instead, Needs};
use crate::error::Error;
use crate::explore::Outside;
use crate::geometry;
use crate::hypothesis::Hypothesis;
use crate::known::{Known, LeftOut, Saying};
use crate::parameters::{Kind, Parameter};
use crate::request::Given;
use crate::run::{How, Outcome, Runner, possible};
use crate::shape::BLOCK_THREADS;
use detect::rules::Rule;
use session::explorer::Schedules;
use simt::ScheduleSpec;
use simt::ids::Dim3;
use std::collections::HashSet;

/// Warp-instructions within which a block of the wrong shape shows itself.
const SOON: u64 = 200_000;

pub(crate) struct BlockSize;

/// A launch that is tried.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Shape {
    /// Blocks, where they are others than guessed.
    grid: Option<Dim3>,
    /// Threads of a block.
    block: Dim3,
    /// Whether it is smaller, so that it has to show as much of the kernel.
    fewer: bool,
}

impl Guess for BlockSize {
    /// Looks for another block where the guessed one does wrong in shared memory at once, as a tile of the wrong shape does.
    fn soon(
        &self,
        hypothesis: &Hypothesis,
        runner: &mut Runner<'_>,
    ) -> Result<Option<Outcome>, Error> {
        let prepared = runner.prepared;
        let guessed = hypothesis.geometry.is_guessed() && runner.request.launch.block.is_none();
        if !guessed || geometry::fits_every_block(&prepared.input, &prepared.entry) {
            return Ok(None);
        }
        let exploration = runner.exploration(hypothesis);
        let wrong = exploration.soon(&prepared.programs[0], &hypothesis.plan, SOON);
        if possible(wrong)?.unwrap_or_default().is_empty() {
            return Ok(None);
        }
        // What went wrong, in words: the first steps of one schedule.
        let how = How {
            steps: Some(SOON),
            schedules: Some(Schedules::Only(vec![ScheduleSpec::Lockstep])),
            one_build: true,
        };
        let mut outcome = runner.try_run(hypothesis.clone(), &how)?;
        for seen in outcome.iter_mut().flat_map(|outcome| &mut outcome.seen) {
            seen.retain(|seen| seen.found.rule != Rule::NoProgress);
        }
        Ok(outcome)
    }

    fn instead(&self, known: &Known, runner: &mut Runner<'_>) -> Result<Vec<Instead>, Error> {
        let prepared = runner.prepared;
        let first = &known.judged.hypothesis;
        if !first.geometry.is_guessed() || runner.request.launch.block.is_some() {
            return Ok(Vec::new());
        }
        let mut shapes = Vec::new();
        if !known.at_once {
            shapes.extend(of_arrays(known, runner)?);
            shapes.extend(of_slots(known, runner));
            shapes.extend(of_ranks(known, runner));
        }
        if !geometry::fits_every_block(&prepared.input, &prepared.entry) {
            let others = geometry::other_blocks(&prepared.input, &prepared.entry);
            shapes.extend(others.into_iter().map(|block| Shape {
                grid: None,
                block,
                fewer: false,
            }));
        }
        let cluster = geometry::cluster_of(&first.geometry, &prepared.input, &prepared.entry);
        let each = shapes.into_iter().filter_map(|shape| {
            let whole = |grid| geometry::in_clusters(grid, cluster);
            let launch = Given {
                block: Some(shape.block),
                grid: runner.request.launch.grid.or(shape.grid.map(whole)),
                ..runner.request.launch
            };
            let mut hypothesis = prepared.hypothesis(runner.request, launch).ok()?;
            hypothesis
                .geometry
                .origins
                .clone_from(&first.geometry.origins);
            Some(Instead {
                hypothesis,
                needs: Needs {
                    as_much: shape.fewer,
                    ..Needs::default()
                },
                saying: Saying {
                    left_out: Some(LeftOut::Block),
                    ..Saying::default()
                },
            })
        });
        Ok(each.collect())
    }
}

/// The launches of as many threads as an array has elements, where threads beyond that reach outside and nothing else is wrong.
fn of_arrays(known: &Known, runner: &Runner<'_>) -> Result<Vec<Shape>, Error> {
    let asks = |parameter: &Parameter| {
        let integer = matches!(parameter.kind, Kind::Scalar(element) if !element.is_float());
        integer && parameter.index.is_none() && !parameter.fits
    };
    let prepared = runner.prepared;
    let (input, entry) = (&prepared.input, &prepared.entry);
    let hypothesis = &known.judged.hypothesis;
    // Behind a row of an array begins the next one, where threads race that a smaller block has not.
    let rules = [Rule::OutOfBounds, Rule::DataRace, Rule::UninitializedRead];
    let of_size = known
        .judged
        .errors()
        .all(|seen| rules.contains(&seen.found.rule));
    if !of_size || !geometry::nothing_says_block(input, entry) {
        return Ok(Vec::new());
    }
    // `if (i < n)` lets as many threads through as there are, but how many of them a block has it does not say.
    let guarded = hypothesis.plan.parameters.0.iter().any(asks);
    let exploration = runner.exploration(hypothesis);
    let outside = exploration.outside(&prepared.programs[0], &hypothesis.plan, &HashSet::new());
    let Some(outside) = possible(outside)? else {
        return Ok(Vec::new());
    };
    let Outside {
        fixed,
        given,
        before,
        wild: false,
        ..
    } = &outside
    else {
        return Ok(Vec::new());
    };
    if fixed.is_empty() || !given.is_empty() || !before.is_empty() {
        return Ok(Vec::new());
    }
    let shape_before = hypothesis.shape();
    let threads = shape_before.block.count();
    let in_block = fixed.iter().map(|(_, _, thread)| u64::from(thread.0)).min();
    let global = fixed
        .iter()
        .map(|(_, block, thread)| u64::from(block.0) * threads + u64::from(thread.0));
    let mut shapes = Vec::new();
    let shape = |grid: Option<Dim3>, threads: u64| Shape {
        grid,
        block: Dim3::linear(threads as u32),
        fewer: true,
    };
    let is_array = |count: &u64| {
        (1..=BLOCK_THREADS).contains(count)
            && (!guarded || count.is_multiple_of(32))
            && geometry::has_array_of(input, entry, *count, guarded)
    };
    if let Some(count) = in_block.filter(is_array) {
        shapes.push(shape(None, count));
    }
    let blocks = shape_before.grid.count();
    if let Some(count) = global.min().filter(|count| !guarded && is_array(count))
        && runner.request.launch.grid.is_none()
        && blocks > 1
    {
        shapes.push(match count.is_multiple_of(blocks) {
            true => shape(None, count / blocks),
            false => shape(Some(Dim3::ONE), count),
        });
    }
    if shapes.is_empty() && shape_before.block.y == 1 {
        // Thread 0 leaves by an index that counts threads.
        let tiles = geometry::blocks_of_tiles(input, entry, in_block == Some(0));
        let smaller = tiles.into_iter().rev().filter(|tile| *tile < threads);
        shapes.extend(smaller.map(|tile| shape(None, tile)));
    }
    Ok(shapes)
}

/// The launch in one direction of a kernel that reads all of them, as `grid.thread_rank()` does, and names no other.
fn of_ranks(known: &Known, runner: &Runner<'_>) -> Option<Shape> {
    let before = known.judged.hypothesis.shape();
    let several = before.block.y > 1 || before.grid.y > 1;
    (several && geometry::names_one_axis(&runner.prepared.input)).then_some(Shape {
        grid: Some(Dim3::linear(before.grid.x)),
        block: Dim3::linear(geometry::DEFAULT_BLOCK as u32),
        fewer: false,
    })
}

/// The launches whose warps have a slot each in a shared array, and those of more threads, where all that goes wrong is that something is
/// read which nobody has written: `stage[t]` for each `t` below 2,048 wants 1,024 threads that write two each.
fn of_slots(known: &Known, runner: &Runner<'_>) -> Vec<Shape> {
    const LARGER: [u64; 4] = [1024, 512, 256, 128];
    let mut errors = known.judged.errors();
    let unwritten = errors.all(|seen| seen.found.rule == Rule::UninitializedRead);
    let block = known.judged.hypothesis.block();
    if !unwritten || block.y > 1 {
        return Vec::new();
    }
    let prepared = runner.prepared;
    let (input, entry) = (&prepared.input, &prepared.entry);
    let slots = geometry::blocks_of_slots(input, entry).into_iter();
    let most = geometry::most_threads(input, entry);
    let larger = LARGER
        .into_iter()
        .filter(|threads| (block.count() + 1..=most).contains(threads));
    let shape = |threads: u64| Shape {
        grid: None,
        block: Dim3::linear(threads as u32),
        fewer: false,
    };
    slots.chain(larger).map(shape).collect()
}
