//! Looks for the launch and the arguments that a kernel is judged with: the first guess, or another one where that alone makes errors.
//! Other blocks come first where the guessed one does wrong at once, then other numbers and contents, then other blocks again.

use super::Error;
use super::checked::Checked;
use super::guess::{self, block_size};
use super::judge::judge;
use super::prepare::Prepared;
use super::request::{Request, Watch};
use block_size::Sooner;
use report::Sources;
use std::time::Instant;

/// Runs a kernel that is ready, and words what comes of it.
pub(super) fn run(
    request: &Request,
    prepared: &Prepared,
    started: Instant,
    sources: &mut Sources,
    watch: &dyn Watch,
) -> Result<Checked, Error> {
    let tried = match block_size::sooner(prepared, request, sources, watch)? {
        Sooner::Found(found) => {
            let (other, settled) = *found;
            return judge(request, &other, settled, started, sources, watch);
        }
        Sooner::Hopeless => true,
        Sooner::Untried => false,
    };
    let exploration = prepared.exploration(request, watch);
    let settled = guess::explore(prepared, request, &exploration, sources)?;
    match block_size::explore(prepared, request, &settled, tried, sources, watch)? {
        Some((other, settled)) => judge(request, &other, settled, started, sources, watch),
        None => judge(request, prepared, settled, started, sources, watch),
    }
}
