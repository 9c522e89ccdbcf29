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
//! through than the array has elements (`if (i < 10)`, `if (i < n)`) says that there are more, so the error stays one.

use super::{Settled, runs_well, show_as_much};
use crate::explore::{Exploration, Outside};
use crate::parameters::{Kind, Parameter};
use crate::work::Work;
use crate::{Error, ErrorKind, Prepared, Request, Watch, geometry};
use detect::rules::{Level, Rule};
use report::{Diagnostic, Sources};
use session::explorer::Schedules;
use simt::ScheduleSpec;
use simt::ids::Dim3;
use std::collections::HashSet;
use std::sync::Arc;

/// Blocks that are tried, at most.
const TRIALS: usize = 12;
/// Warp-instructions of a schedule beyond which no other block is tried.
const STEPS: u64 = 16_000_000;
/// Warp-instructions within which a block of the wrong shape shows itself.
const SOON: u64 = 200_000;

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

/// What came of looking for another block before the kernel is explored.
pub enum Sooner {
    /// Nothing was tried: the guessed block may well be right.
    Untried,
    /// The guessed block does wrong at once, and so do all others.
    Hopeless,
    /// Another one is right.
    Found(Box<(Prepared, Settled)>),
}

/// Looks for another block where the guessed one does wrong in shared memory at once. A tile of the wrong shape does: each schedule of each
/// build would then work on threads that nobody launches.
///
/// # Errors
///
/// The check was cancelled.
pub fn sooner(
    prepared: &Prepared,
    request: &Request,
    sources: &mut Sources,
    watch: &dyn Watch,
) -> Result<Sooner, Error> {
    let guessed = prepared.geometry.is_guessed() && request.launch.block.is_none();
    if !guessed || geometry::fits_every_block(&prepared.input, &prepared.entry) {
        return Ok(Sooner::Untried);
    }
    let exploration = prepared.exploration(request, watch);
    let program = &prepared.programs[0];
    let wrong = match exploration.soon(program, &prepared.plan, SOON) {
        Err(error) if error.kind == ErrorKind::Cancelled => return Err(error),
        wrong => !wrong.unwrap_or_default().is_empty(),
    };
    if !wrong {
        return Ok(Sooner::Untried);
    }
    // What went wrong, in words: the first steps of one schedule.
    let short = Exploration {
        schedules: Schedules::Only(vec![ScheduleSpec::Lockstep]),
        ..exploration.within(SOON)
    };
    let mut plan = prepared.plan.clone();
    let mut explored = match short.explore(&prepared.input.builds[0], program, &mut plan, sources) {
        Err(error) if error.kind == ErrorKind::Cancelled => return Err(error),
        Err(_) => return Ok(Sooner::Untried),
        Ok(explored) => explored,
    };
    explored.diagnostics.retain(|d| d.rule != Rule::NoProgress);
    let first = Settled::of(plan, vec![explored]);
    let shapes = blocks(prepared);
    let found = try_each(prepared, request, &first, shapes, sources, watch)?;
    Ok(found.map_or(Sooner::Hopeless, |found| Sooner::Found(Box::new(found))))
}

/// The other blocks that the kernel may be made for.
fn blocks(prepared: &Prepared) -> Vec<Shape> {
    let others = geometry::other_blocks(&prepared.input, &prepared.entry);
    let shape = |block| Shape {
        grid: None,
        block,
        fewer: false,
    };
    others.into_iter().map(shape).collect()
}

/// The kernel with another launch, and what comes of it, where the guessed launch alone makes errors. `tried` says that no other block of
/// those that constants make is right.
///
/// # Errors
///
/// The check was cancelled.
pub fn explore(
    prepared: &Prepared,
    request: &Request,
    settled: &Settled,
    tried: bool,
    sources: &mut Sources,
    watch: &dyn Watch,
) -> Result<Option<(Prepared, Settled)>, Error> {
    let guessed = prepared.geometry.is_guessed() && request.launch.block.is_none();
    let long = settled.explored.first().is_some_and(|e| e.steps > STEPS);
    if !guessed || long || !settled.is_wrong() {
        return Ok(None);
    }
    let mut shapes = of_arrays(prepared, request, settled, watch)?;
    shapes.extend(of_slots(prepared, settled));
    if !tried && !geometry::fits_every_block(&prepared.input, &prepared.entry) {
        shapes.extend(blocks(prepared));
    }
    try_each(prepared, request, settled, shapes, sources, watch)
}

/// The first of these launches that makes no error, and what comes of it.
fn try_each(
    prepared: &Prepared,
    request: &Request,
    settled: &Settled,
    shapes: Vec<Shape>,
    sources: &mut Sources,
    watch: &dyn Watch,
) -> Result<Option<(Prepared, Settled)>, Error> {
    let before = prepared.geometry.block;
    let unchanged = |shape: &Shape| shape.grid.is_none() && shape.block == before;
    let mut tried: Vec<Shape> = Vec::new();
    let work = Arc::new(Work::default());
    work.limit(settled.work());
    for shape in shapes {
        if unchanged(&shape) || tried.contains(&shape) {
            continue;
        }
        tried.push(shape);
        let late = prepared.exploration(request, watch).out_of_time();
        if late || work.left() == 0 || tried.len() > TRIALS {
            break;
        }
        let found = with(prepared, request, settled, shape, (sources, &work), watch)?;
        if let Some((other, mut found)) = found {
            let errors = settled.errors_in_short();
            found.left_out.push(format!(
                "blocks of {before} threads, which lead to {errors}"
            ));
            return Ok(Some((other, found)));
        }
    }
    Ok(None)
}

/// The launches of as many threads as an array has elements, where threads beyond that reach outside and nothing else is wrong.
fn of_arrays(
    prepared: &Prepared,
    request: &Request,
    settled: &Settled,
    watch: &dyn Watch,
) -> Result<Vec<Shape>, Error> {
    let errors = settled.explored.iter().flat_map(|e| &e.diagnostics);
    let mut errors = errors.filter(|d| d.level == Level::Error);
    let asks = |parameter: &Parameter| {
        let integer = matches!(parameter.kind, Kind::Scalar(element) if !element.is_float());
        integer && parameter.index.is_none() && !parameter.fits
    };
    let (input, entry) = (&prepared.input, &prepared.entry);
    // Behind a row of an array begins the next one, where threads race that a smaller block has not.
    let of_size = |d: &Diagnostic| matches!(d.rule, Rule::OutOfBounds | Rule::DataRace);
    if !errors.all(of_size) || !geometry::nothing_says_block(input, entry) {
        return Ok(Vec::new());
    }
    // `if (i < n)` lets as many threads through as there are, but how many of them a block has it does not say.
    let guarded = settled.plan.parameters.0.iter().any(asks);
    let exploration = prepared.exploration(request, watch);
    let outside = exploration.outside(&prepared.programs[0], &settled.plan, &HashSet::new());
    let outside = match outside {
        Err(error) if error.kind == ErrorKind::Cancelled => return Err(error),
        Err(_) => return Ok(Vec::new()),
        Ok(outside) => outside,
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
    let threads = prepared.geometry.block.count();
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
        (1..=crate::shape::BLOCK_THREADS).contains(count)
            && (!guarded || count.is_multiple_of(32))
            && geometry::has_array_of(input, entry, *count, guarded)
    };
    if let Some(count) = in_block.filter(is_array) {
        shapes.push(shape(None, count));
    }
    if let Some(count) = global.min().filter(|count| !guarded && is_array(count))
        && request.launch.grid.is_none()
        && prepared.geometry.grid.count() > 1
    {
        let blocks = prepared.geometry.grid.count();
        shapes.push(match count.is_multiple_of(blocks) {
            true => shape(None, count / blocks),
            false => shape(Some(Dim3::ONE), count),
        });
    }
    Ok(shapes)
}

/// The launches whose warps have a slot each in a shared array, where all that goes wrong is that slots are read which no warp has
/// written.
fn of_slots(prepared: &Prepared, settled: &Settled) -> Vec<Shape> {
    let errors = settled.explored.iter().flat_map(|e| &e.diagnostics);
    let mut errors = errors.filter(|d| d.level == Level::Error);
    if !errors.all(|d| d.rule == Rule::UninitializedRead) || prepared.geometry.block.y > 1 {
        return Vec::new();
    }
    let all = geometry::blocks_of_slots(&prepared.input, &prepared.entry).into_iter();
    let shape = |threads: u64| Shape {
        grid: None,
        block: Dim3::linear(threads as u32),
        fewer: false,
    };
    all.map(shape).collect()
}

/// The kernel with that launch; nothing where it makes errors, too, or does not come to its end.
fn with(
    prepared: &Prepared,
    request: &Request,
    before: &Settled,
    shape: Shape,
    (sources, work): (&mut Sources, &Arc<Work>),
    watch: &dyn Watch,
) -> Result<Option<(Prepared, Settled)>, Error> {
    let mut request = request.clone();
    request.entry = Some(prepared.entry.clone());
    request.launch.block = Some(shape.block);
    request.launch.grid = request.launch.grid.or(shape.grid);
    let Ok(mut other) = Prepared::of(&request, Arc::clone(&prepared.input), prepared.until) else {
        return Ok(None);
    };
    other.geometry.from.clone_from(&prepared.geometry.from);
    let exploration = other.exploration(&request, watch);
    let trial = Exploration {
        work: Arc::clone(work),
        ..exploration.clone()
    };
    let steps = before.explored.first().map_or(0, |e| e.steps);
    if !runs_well(&other, &trial, steps)? {
        return Ok(None);
    }
    let found = match super::explore(&other, &request, &exploration, sources) {
        Err(error) if error.kind == ErrorKind::Cancelled => return Err(error),
        Err(_) => return Ok(None),
        Ok(found) => found,
    };
    let ended = !found.explored.iter().any(|e| e.stopped.is_some()) && !exploration.out_of_time();
    let as_much = !shape.fewer || show_as_much(&other, &before.explored, &found.explored);
    Ok((ended && as_much && !found.is_wrong()).then_some((other, found)))
}
