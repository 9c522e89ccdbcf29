//! Advice on barriers that some threads do not reach, or reach another one.

use super::between::in_loop;
use super::{Guilty, defines, edits};
use crate::help::Advice;
use crate::{KernelView, NoChange};
use detect::finding::{Action, Finding};

/// What to do about the barrier.
pub(super) fn divergent(
    finding: &Finding,
    guilty: &[Guilty],
    view: Option<&KernelView<'_>>,
) -> Advice {
    let (Some(here), Some(there), Some(end)) = (guilty.first(), guilty.get(1), finding.ends.get(1))
    else {
        return "move the barrier out of the condition, so that all threads of the block reach it"
            .to_string()
            .into();
    };
    let moved = || edits::moved_barrier(here, there, end.action, defines(view));
    match end.action {
        Action::Wait => Advice::with(
            format!(
                "let all threads of the block reach one barrier: replace those at {} and {} by one outside the condition",
                here.place(),
                there.place()
            ),
            moved(),
        ),
        Action::Exit => Advice::with(
            format!(
                "let no thread exit at {} before the barrier at {}: put the work in a condition instead",
                there.place(),
                here.place()
            ),
            edits::joined_by_all(here, defines(view)),
        ),
        _ if let Some(edit) = moved() => Advice::with(
            format!(
                "move the barrier at {} out of the condition, so that all threads of the block reach it",
                here.place()
            ),
            Some(edit),
        ),
        // Who is to go round more often, or to wait for the others, is not in the code.
        _ if here.in_source && in_loop(&here.frames[0].file, here.frames[0].line) => Advice::explained(NoChange::Meaning, format!(
            "let all threads of the block execute the barrier at {} the same number of times: leave the surrounding loop together, and put the work, not the barrier, under the condition",
            here.place()
        )),
        _ => format!(
            "move the barrier at {} out of the condition, so that all threads of the block reach it",
            here.place()
        )
        .into(),
    }
}
