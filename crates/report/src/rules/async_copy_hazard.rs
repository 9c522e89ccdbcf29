//! # async-copy-hazard
//!
//! A thread touches memory that an asynchronous copy (`cp.async`: `__pipeline_memcpy_async`, `cuda::memcpy_async`; bulk copies:
//! `cuda::ptx::cp_async_bulk`) is still reading or writing, because nobody has waited for the copy; or memory or registers that a matrix product of a
//! warpgroup (`wgmma.mma_async`) is still using.
//!
//! ## Example
//!
//! ```cpp
//! __global__ void next(const int *in, int *out)
//! {
//!     __shared__ int tile[256];
//!     __pipeline_memcpy_async(&tile[threadIdx.x], &in[threadIdx.x], sizeof(int));
//!     __pipeline_commit();
//!     __syncthreads();                                  // orders the threads, not their copies
//!     out[threadIdx.x] = tile[threadIdx.x ^ 1];         // the copy may not have arrived
//! }
//! ```
//!
//! Each thread waits for its own copies, and then the threads for each other:
//!
//! ```cpp
//!     __pipeline_commit();
//!     __pipeline_wait_prior(0);
//!     __syncthreads();
//! ```
//!
//! ## Why it goes wrong
//!
//! The copy is performed in the background, as if by another thread. A barrier makes the threads meet and says nothing of copies that are
//! under way. A read sees the old value or the new one, a write may be lost or be copied along, and two copies to one place
//! arrive in any order. This holds for the thread that began the copy as well.
//!
//! ## How to fix it
//!
//! For a copy that completes at an mbarrier, wait for that phase (`bar.wait(token)`, `mbarrier.try_wait`) before you use the data. For a bulk copy in
//! a group, wait in the thread that began it (`cp.async.bulk.wait_group n`, or `.read` if you only want to reuse the source).
//!
//! For `cp.async`, wait for the copy in the thread that began it (`__pipeline_wait_prior(n)`, `cp.async.wait_group n`, `cp.async.wait_all`), then let the
//! threads meet (`__syncthreads()`), then use the data. With several stages in flight, check the number: `wait_group n` leaves the `n`
//! newest groups unfinished, and the group that is used now must not be among them. An empty group, committed in the last iterations,
//! keeps the count right.
//!
//! ## What is reported
//!
//! An access to the destination, or a write to the source, between the instruction that begins the copy and the wait of its thread; also
//! another copy to the same destination. Threads that are not even ordered with the beginning of the copy are a `data-race`.
//!
//! A copy that arrives at an mbarrier (`cp.async.mbarrier.arrive`: `cuda::memcpy_async` with a barrier, `__pipeline_arrive_on`) is complete for
//! the threads that have waited for that phase of the mbarrier, and for those that are ordered behind one of them. Others are found, the copy's own
//! thread and those that only a barrier orders included.
//!
//! The same holds for a bulk or tensor copy (`cp.async.bulk`, `cp.async.bulk.tensor`, `cp.reduce.async.bulk` …), `st.async` and `red.async` that complete
//! at an mbarrier. A bulk or tensor copy in a group is complete when the thread that began it has waited for the group; after `cp.async.bulk.wait_group.read` its source may be
//! written, and its destination may not be touched yet. A block that ends before is reported, too: its shared memory is somebody else's then.
//!
//! A product of a warpgroup reads shared memory, its accumulators and perhaps a factor in registers until its group is waited for
//! (`wgmma.wait_group`). Found are: a write to that memory, a read or write of its accumulators, a write of its factor's registers in between; a block that ends before; and a
//! product whose registers other instructions have used since the last `wgmma.fence`, or before which there is none.
//!
//! ## Limitations
//!
//! What copies a register to another one, or to and from local memory and generic addresses, and does nothing else, counts as no use of it: compilers make
//! copies of their own around `wgmma`. A
//! read of a factor's registers before the wait, which the manual forbids, is not reported.
//!
//! A thread that has more than 1,024 instructions' copies under way is taken to have waited for the oldest; of those of a block that have
//! arrived at mbarriers the newest 1,024 are looked at.
//!
//! ## Reference
//!
//! PTX ISA, "Data Movement and Conversion Instructions: Asynchronous copy", "cp.async", "cp.async.wait_group / cp.async.wait_all". CUDA C++
//! Programming Guide, "Asynchronous Data Copies". PTX ISA, "wgmma.mma_async", "wgmma.fence", "wgmma.wait_group".

use crate::NoChange;
use crate::finding_view::FindingView;
use crate::help::{Advice, between, copy_wait, edits, roles};
use crate::language::Word;
use crate::rule_text::{RuleText, SUMMARY};
use detect::finding::{Action, Detail};
use simt::observer::RegisterFault;

pub(crate) const TEXT: RuleText = RuleText {
    title: |view| {
        Some(match view.finding.detail {
            Detail::Registers(fault) => of_registers(fault).to_owned(),
            _ => title(view),
        })
    },
    help,
    ..SUMMARY
};

fn of_registers(fault: RegisterFault) -> &'static str {
    match fault {
        RegisterFault::InFlight { writes: false } => {
            "accumulators are read before the product is waited for"
        }
        RegisterFault::InFlight { writes: true } => "a register is written while a product uses it",
        RegisterFault::Unfenced { .. } => {
            "a product uses registers without a `wgmma.fence` behind their last use"
        }
        RegisterFault::NeverFenced => "a product without a `wgmma.fence` before it",
    }
}

fn title(view: &FindingView<'_>) -> String {
    let memory = view.memory();
    let access = view.access();
    let product = view.action(1) == Some(Action::Multiply);
    let reader = if product { "a product" } else { "a copy" };
    let (out, into) = match view.finding.detail {
        Detail::CopyReads([here, there]) => (here, !there),
        _ => (false, true),
    };
    match (into, view.action(0)) {
        (true, Some(Action::Multiply)) => {
            format!("a product of {memory} before the copy into it is complete")
        }
        (true, Some(Action::Copy)) if out => {
            format!("a copy out of {memory} before the copy into it is complete")
        }
        (true, Some(Action::Copy)) => {
            format!("a second copy into {memory} before the first is complete")
        }
        (true, _) => format!("{access} of {memory} before the copy into it is complete"),
        (false, Some(Action::Copy)) if !product => {
            format!("a copy into {memory} while another one reads it")
        }
        (false, Some(Action::Copy)) => format!("a copy into {memory} while a product reads it"),
        (false, Some(Action::Exit)) => format!("the block ends while {reader} reads {memory}"),
        (false, _) => format!("{access} of {memory} while {reader} reads it"),
    }
}

/// What orders an access with a copy that is under way.
fn help(view: &FindingView<'_>) -> Option<Advice> {
    let FindingView {
        finding, guilty, ..
    } = *view;
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
    let barrier = view.word(Word::BlockBarrier);
    // Others than the thread that waits have to learn of it.
    let told = |wait: String, code: &str| match own {
        true => Advice::with(
            format!("{wait} {place}"),
            edits::behind(&guilty[1], code, view.defines()),
        ),
        false => match roles::advice(view) {
            Some(roles) => Advice::explained(NoChange::Protocol, format!("{wait}; {roles}")),
            None => Advice::with(
                format!("{wait}, then call `{barrier}`, {place}"),
                copy_wait::before_barrier(view, &guilty[1], &guilty[0], code),
            )
            .missing(barrier),
        },
    };
    if copy.action == Action::Multiply {
        let wait = "let the warps that multiply close the group and wait for it (`wgmma.commit_group.sync.aligned`, `wgmma.wait_group.sync.aligned 0`)";
        let line = guilty[0].frames.last()?.line;
        return Some(match here.action {
            Action::Exit => Advice::from(format!("{wait} before they exit")),
            _ if own => Advice::with(
                format!("{wait} before line {line}"),
                edits::behind(&guilty[1], copy_wait::PRODUCTS, view.defines()),
            ),
            _ => Advice::from(format!(
                "{wait}, then let the threads meet (`{barrier}`), before line {line}"
            ))
            .missing(barrier),
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
                edits::behind(&guilty[1], copy_wait::BULK, view.defines()),
            ),
            _ => told(wait, copy_wait::BULK),
        });
    }
    let wait = "let each thread wait for its copies (`__pipeline_wait_prior(n)`, `cp.async.wait_group n`, which leave the n newest groups out)";
    Some(told(wait.to_owned(), copy_wait::GROUPS))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::language::Language;
    use detect::finding::{End, Finding};
    use detect::rules::Rule;
    use simt::ids::{BlockId, LaneId, Site, ThreadId, WarpId};

    fn title_of(detail: Detail, actions: [Action; 2]) -> String {
        let end = |action| End {
            site: Site(0),
            launch: 0,
            block: BlockId(0),
            thread: ThreadId::of(WarpId(0), LaneId(0)),
            threads: 1,
            action,
            order: None,
        };
        let ends = actions.map(end).to_vec();
        let finding = Finding::new(Rule::AsyncCopyHazard, ends).with(detail);
        let view = FindingView {
            finding: &finding,
            guilty: &[],
            kernel: None,
            names: None,
            language: Language::Cuda,
        };
        (TEXT.title)(&view).unwrap()
    }

    #[test]
    fn copies_and_products_are_called_what_they_are() {
        use Action::{Copy, Exit, Multiply, Read, Write};
        let reads = |here, there| Detail::CopyReads([here, there]);
        assert_eq!(
            [
                title_of(reads(false, true), [Copy, Multiply]),
                title_of(reads(false, true), [Write, Multiply]),
                title_of(reads(false, true), [Exit, Multiply]),
                title_of(reads(true, false), [Multiply, Copy]),
                title_of(reads(false, true), [Copy, Copy]),
                title_of(reads(false, true), [Write, Copy]),
                title_of(Detail::None, [Read, Copy]),
            ],
            [
                "a copy into memory while a product reads it",
                "write of memory while a product reads it",
                "the block ends while a product reads memory",
                "a product of memory before the copy into it is complete",
                "a copy into memory while another one reads it",
                "write of memory while a copy reads it",
                "read of memory before the copy into it is complete",
            ]
        );
    }

    #[test]
    fn registers_of_products_are_told_by_what_is_missing() {
        use Action::{Multiply, Read, Write};
        let of = |fault, actions| title_of(Detail::Registers(fault), actions);
        assert_eq!(
            [
                of(RegisterFault::InFlight { writes: false }, [Read, Multiply]),
                of(RegisterFault::InFlight { writes: true }, [Write, Multiply]),
                of(RegisterFault::Unfenced { writes: true }, [Multiply, Write]),
                of(RegisterFault::NeverFenced, [Multiply, Multiply]),
            ],
            [
                "accumulators are read before the product is waited for",
                "a register is written while a product uses it",
                "a product uses registers without a `wgmma.fence` behind their last use",
                "a product without a `wgmma.fence` before it",
            ]
        );
    }
}
