//! Advice to put a barrier between two accesses, in words and as the change, and what is said where none can be put there.

use super::Guilty;
use super::advice::Advice;
use super::barrier::{self, Barrier, Unplaced, Wanted};
use crate::finding_view::FindingView;
use crate::language::{Language, Word};

/// What all threads of a cluster meet at, in CUDA and in PTX.
pub(crate) const CLUSTER_BARRIER: &str =
    "`cluster.sync()` (`barrier.cluster.arrive` and `barrier.cluster.wait`)";

/// A barrier between two accesses: `put … between line 6 and line 8` with `more` behind it.
pub(crate) fn barrier_advice(
    view: &FindingView<'_>,
    earlier: &Guilty,
    later: &Guilty,
    wanted: Wanted,
    more: &str,
) -> Result<Advice, Unplaced> {
    let placed = barrier::place(earlier, later, wanted, view.defines())?;
    if let Some(line) = placed.moved {
        let text = format!(
            "move the barrier of line {line} out of the condition around it, to where all threads of the block come {}{more}",
            placed.place
        );
        return Ok(Advice::with(text, Some(placed.edit)));
    }
    let of_block = view.word(Word::BlockBarrier);
    let of_warp = view.word(Word::WarpBarrier);
    let (name, also) = match (placed.barrier, wanted) {
        (Barrier::Block, Wanted::Either | Wanted::BlockOrWarp) => (of_block, or_of_warp(view)),
        (Barrier::Block, _) => (of_block, String::new()),
        (Barrier::Warp, _) => (of_warp, String::new()),
        (Barrier::Cluster(code), _) => (code, String::new()),
    };
    let text = format!("put `{name}`{also} {}{more}", placed.place);
    Ok(Advice::with(text, Some(placed.edit)).missing(name))
}

/// Said behind a block's barrier where one of the warp may do; nothing where the language has one barrier for both (Triton).
pub(crate) fn or_of_warp(view: &FindingView<'_>) -> String {
    let of_warp = view.word(Word::WarpBarrier);
    match of_warp == view.word(Word::BlockBarrier) {
        true => String::new(),
        false => format!(" (or `{of_warp}` if only lanes of one warp share the data)"),
    }
}

/// What else is asked of a barrier whose place was not looked for in a source that is there.
pub(crate) fn if_reached(one: &Guilty) -> &'static str {
    let read = one.in_source && Language::of(&one.frames[0].file) == Language::Cuda;
    match read {
        true => ", at a place that all of its threads reach",
        false => "",
    }
}

/// What is wrong where a barrier would be between two accesses, and not all of its threads come there.
pub(crate) fn apart(earlier: &Guilty, later: &Guilty, condition: Option<u32>) -> String {
    let (a, b) = (earlier.place(), later.place());
    let pair = match earlier.same_line(later) {
        true => format!("one execution of {a} before another"),
        false => format!("{a} before {b}"),
    };
    let who = match condition {
        Some(line) => format!("line {line} lets only some threads come there"),
        None => "some threads may have left before".to_owned(),
    };
    format!(
        "order {pair}: a barrier between the two would have to be reached by all of its threads, but {who}; move it, and what needs it, to where all come"
    )
}
