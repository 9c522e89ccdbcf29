//! Other blocks for kernels that are made for one block and do not say which.
//!
//! A transpose in tiles of 32 × 32 elements may want blocks of 32 × 32 threads, or of 32 × 8 that go round four times. A kernel that
//! reads `%ntid` wherever it reads `%tid` fits every block. For one that does not, the block is a guess from names and arrays, and a wrong guess makes two
//! threads do one thread's work: no kernel is wrong because of that. So where a guessed block shows errors, others are tried that the
//! source's constants make; with the first one that shows none the kernel is judged, and a clean verdict says what was given up. Blocks
//! of fewer than two warps are not among them: they would hide missing barriers.

use super::settle::{self, Settled};
use super::{Error, ErrorKind, Prepared, Request, Watch, geometry};
use report::Sources;
use simt::ids::Dim3;
use std::sync::Arc;

/// Blocks that are tried, at most.
const TRIALS: usize = 12;
/// Warp-instructions of a schedule beyond which no other block is tried.
const STEPS: u64 = 4_000_000;

/// The kernel with another block, and what comes of it, where the guessed block alone makes errors.
///
/// # Errors
///
/// The check was cancelled.
pub fn explore(
    prepared: &Prepared,
    request: &Request,
    settled: &Settled,
    sources: &mut Sources,
    watch: &dyn Watch,
) -> Result<Option<(Prepared, Settled)>, Error> {
    let guessed = prepared.geometry.is_guessed() && request.launch.block.is_none();
    let long = settled.explored.iter().any(|e| e.steps > STEPS);
    if !guessed || long || !settled.is_wrong() {
        return Ok(None);
    }
    if geometry::fits_every_block(&prepared.input, &prepared.entry) {
        return Ok(None);
    }
    let before = prepared.geometry.block;
    let mut tried = vec![before];
    for block in geometry::other_blocks(&prepared.input, &prepared.entry) {
        if tried.contains(&block) {
            continue;
        }
        tried.push(block);
        let late = prepared.exploration(request, watch).out_of_time();
        if late || tried.len() > TRIALS {
            break;
        }
        if let Some((other, mut found)) = with(prepared, request, block, sources, watch)? {
            let errors = settled.errors_in_short();
            found.left_out.push(format!(
                "blocks of {before} threads, which lead to {errors}"
            ));
            return Ok(Some((other, found)));
        }
    }
    Ok(None)
}

/// The kernel with that block; nothing where it makes errors, too, or does not come to its end.
fn with(
    prepared: &Prepared,
    request: &Request,
    block: Dim3,
    sources: &mut Sources,
    watch: &dyn Watch,
) -> Result<Option<(Prepared, Settled)>, Error> {
    let mut request = request.clone();
    request.entry = Some(prepared.entry.clone());
    request.launch.block = Some(block);
    let Ok(mut other) = Prepared::of(&request, Arc::clone(&prepared.input), prepared.until) else {
        return Ok(None);
    };
    other.geometry.from.clone_from(&prepared.geometry.from);
    let exploration = other.exploration(&request, watch);
    let cancelled = |error: &Error| error.kind == ErrorKind::Cancelled;
    match exploration.guilty(&other.programs[0], &other.plan) {
        Ok(Some(guilty)) if guilty.is_empty() => {}
        Err(error) if cancelled(&error) => return Err(error),
        _ => return Ok(None),
    }
    let found = match settle::explore(&other, &request, &exploration, sources) {
        Err(error) if cancelled(&error) => return Err(error),
        Err(_) => return Ok(None),
        Ok(found) => found,
    };
    let ended = !found.explored.iter().any(|e| e.stopped.is_some()) && !exploration.out_of_time();
    Ok((ended && !found.is_wrong()).then_some((other, found)))
}
