//! How to wait for an asynchronous copy: by its mbarrier, its bulk group or its group, and whether other threads have to be told.

use super::barrier::{self, Unplaced, Wanted};
use super::between::between;
use super::{Advice, Guilty, defines, edits, roles};
use crate::edit::Edit;
use crate::{KernelView, NoChange};
use detect::finding::{Action, Detail, Finding};
use simt::observer::RegisterFault;

/// What orders an access with a copy that is under way.
pub(super) fn hazard(
    finding: &Finding,
    guilty: &[Guilty],
    view: Option<&KernelView<'_>>,
) -> Option<Advice> {
    if let Detail::Registers(fault) = finding.detail {
        return Some(Advice::from(match fault {
            RegisterFault::InFlight { .. } => {
                "wait for the product's group (`wgmma.wait_group.sync.aligned 0`, or the number of newer groups that may go on) before you use the registers".to_string()
            }
            RegisterFault::Unfenced { .. } | RegisterFault::NeverFenced => {
                "execute `wgmma.fence.sync.aligned` behind the last use of the registers, before the product".to_string()
            }
        }));
    }
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
    let told = |wait: String, code: &str| match own {
        true => Advice::with(
            format!("{wait} {place}"),
            edits::behind(&guilty[1], code, defines(view)),
        ),
        false => match roles::advice(finding, guilty, view) {
            Some(roles) => Advice::explained(NoChange::Protocol, format!("{wait}; {roles}")),
            None => Advice::with(
                format!("{wait}, then call `__syncthreads()`, {place}"),
                before_barrier(guilty, code, view),
            ),
        },
    };
    if copy.action == Action::Multiply {
        let wait = "let the warps that multiply close the group and wait for it (`wgmma.commit_group.sync.aligned`, `wgmma.wait_group.sync.aligned 0`)";
        let line = guilty[0].frames.last()?.line;
        return Some(match here.action {
            Action::Exit => Advice::from(format!("{wait} before they exit")),
            _ if own => Advice::with(
                format!("{wait} before line {line}"),
                edits::behind(&guilty[1], PRODUCTS, defines(view)),
            ),
            _ => Advice::from(format!(
                "{wait}, then let the threads meet (`__syncthreads()`), before line {line}"
            )),
        });
    }
    if begins.contains(".bulk") {
        let wait = match finding.detail {
            Detail::CopyReads([_, true]) => "cp_async_bulk_wait_group_read",
            _ => "cp_async_bulk_wait_group",
        };
        let wait = format!(
            "let the thread that began the copy close its group and wait for it (`cp_async_bulk_commit_group()`, `{wait}(n32_t<0>{{}})`)"
        );
        return Some(match here.action {
            Action::Exit => Advice::with(
                format!("{wait} before it exits"),
                edits::behind(&guilty[1], BULK, defines(view)),
            ),
            _ => told(wait, BULK),
        });
    }
    let wait = "let each thread wait for its copies (`__pipeline_wait_prior(n)`, `cp.async.wait_group n`, which leave the n newest groups out)";
    Some(told(wait.to_owned(), GROUPS))
}

/// What waits for all bulk copies that a thread has begun, and for all others (PTX ISA, "cp.async.bulk.wait_group", "cp.async.wait_all").
const BULK: &str =
    "asm volatile(\"cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;\" ::: \"memory\");";
const PRODUCTS: &str = "asm volatile(\"wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;\" ::: \"memory\");";
pub(super) const GROUPS: &str = "asm volatile(\"cp.async.wait_all;\" ::: \"memory\");";

/// A barrier between a copy and an access, and before it what waits for copies.
pub(super) fn before_barrier(
    guilty: &[Guilty],
    wait: &str,
    view: Option<&KernelView<'_>>,
) -> Option<Edit> {
    let [access, copy, ..] = guilty else {
        return None;
    };
    match barrier::place(copy, access, Wanted::Block, defines(view)) {
        Ok(placed) => edits::waits_before_barrier(placed.edit, wait),
        // The wait is missing alone: of each thread for its own copies, before the barrier that is there.
        Err(Unplaced::There) => edits::behind(copy, wait, defines(view)),
        Err(_) => None,
    }
}
