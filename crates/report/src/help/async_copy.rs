//! How to wait for an asynchronous copy: by its mbarrier, its bulk group or its group, and whether other threads have to be told.

use super::between::between;
use super::{Advice, Guilty, roles};
use crate::KernelView;
use detect::finding::{Action, Detail, Finding};

/// What orders an access with a copy that is under way.
pub(super) fn hazard(
    finding: &Finding,
    guilty: &[Guilty],
    view: Option<&KernelView<'_>>,
) -> Option<Advice> {
    let place = between(guilty.get(1)?, guilty.first()?);
    let (here, copy) = (finding.ends.first()?, finding.ends.get(1)?);
    let own = (here.block, here.thread) == (copy.block, copy.thread);
    let begins = &guilty.get(1)?.instruction;
    if begins.contains("complete_tx") {
        return Some(Advice::from(format!(
            "wait for the phase of the mbarrier at which the copy completes (`bar.wait(token)`, `mbarrier.try_wait`) {place}, in each thread or in one before a barrier"
        )));
    }
    // Others than the thread that waits have to learn of it.
    let told = |wait: String| match own {
        true => format!("{wait} {place}"),
        false => match roles::advice(finding, guilty, view) {
            Some(roles) => format!("{wait}; {roles}"),
            None => format!("{wait}, then call `__syncthreads()`, {place}"),
        },
    };
    if begins.contains(".bulk") {
        let wait = match finding.detail {
            Detail::CopyReads([_, true]) => "cp_async_bulk_wait_group_read",
            _ => "cp_async_bulk_wait_group",
        };
        let wait = format!(
            "let the thread that began the copy close its group and wait for it (`cp_async_bulk_commit_group()`, `{wait}(n32_t<0>{{}})`)"
        );
        return Some(match here.action {
            Action::Exit => format!("{wait} before it exits").into(),
            _ => told(wait).into(),
        });
    }
    let wait = "let each thread wait for its copies (`__pipeline_wait_prior(n)`, `cp.async.wait_group n`, which leave the n newest groups out)";
    Some(told(wait.to_owned()).into())
}
