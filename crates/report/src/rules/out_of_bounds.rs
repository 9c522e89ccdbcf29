//! # out-of-bounds
//!
//! An access goes to an address that belongs to no allocation: before or after a buffer, past the shared memory of the
//! block, or an arbitrary address.
//!
//! ## Example
//!
//! ```cpp
//! int i = blockIdx.x * blockDim.x + threadIdx.x;
//! out[i] = in[i];             // the last block may have more threads than elements
//! ```
//!
//! Guard the access:
//!
//! ```cpp
//! if (i < n)
//!     out[i] = in[i];
//! ```
//!
//! If a barrier follows, put only the access under the condition; do not `return` before the barrier.
//!
//! ## What is reported
//!
//! Every byte of an access is checked against the allocations. An access out of bounds is not performed: a store is
//! dropped and a load returns zero.
//!
//! Reported too: an access to a texture or a surface that does not exist, or through a reference that nothing is bound to, and
//! one that lies outside of a surface. Such a fetch returns zeros. Of a tensor copy, elements that the tensor does not have are no error: a load fills
//! them in, a store leaves them out. But a store or reduction that begins at a negative coordinate is reported: an H100 takes it for an illegal
//! instruction.
//!
//! ## Limitations
//!
//! The rule does not see an access that lands in another live buffer, or one that stays inside its allocation but leaves
//! the row or member that it was meant for.
//!
//! ## Reference
//!
//! PTX ISA, "Operand Address Computation", "State Spaces".

use crate::NoChange;
use crate::finding_view::FindingView;
use crate::help::Advice;
use crate::language::Word;
use crate::memory::Region;
use crate::rule_text::{RuleText, SUMMARY};
use detect::finding::Detail;
use simt::observer::ImageFault;

pub(crate) const TEXT: RuleText = RuleText {
    title: |view| {
        let access = view.access();
        let Detail::Image { why, surface } = view.finding.detail else {
            return Some(format!(
                "{access} of {} bytes outside all allocations",
                view.bytes()
            ));
        };
        let (access, kind) = match surface {
            true => (access, "surface"),
            false => ("fetch", "texture"),
        };
        Some(match why {
            ImageFault::Unbound => {
                format!("{access} through a {kind} reference that nothing is bound to")
            }
            ImageFault::Absent => format!("{access} of a {kind} that does not exist"),
            ImageFault::Outside => format!("{access} outside of a {kind}"),
        })
    },
    help,
    no_change: NoChange::Meaning,
    ..SUMMARY
};

fn help(view: &FindingView<'_>) -> Option<Advice> {
    let at = view.at(0);
    if let Detail::Image { why, surface } = view.finding.detail {
        let kind = if surface { "surface" } else { "texture" };
        let text = match why {
            ImageFault::Unbound => {
                format!("bind something to the {kind} reference of {at} before the launch")
            }
            ImageFault::Absent => format!(
                "check that the {kind} at {at} was created, and is destroyed after the launch"
            ),
            ImageFault::Outside => format!("guard {at} with the {kind}'s size"),
        };
        return Some(Advice::explained(NoChange::Host, text));
    }
    let place = view.finding.place?;
    let memory = view.kernel.map(|kernel| &kernel.memory);
    if memory.is_some_and(|memory| memory.far(&place).is_some()) {
        return Some(Advice::from(format!(
            "let {at} name ranks below `cluster.num_blocks()`, which is 1 in a launch without clusters"
        )));
    }
    if !place.mapped && view.finding.detail == Detail::None {
        return Some(Advice::from(format!(
            "check the pointer at {at}: it points to no memory of the device"
        )));
    }
    let meant = memory.and_then(|memory| memory.meant(view.finding));
    Some(Advice::from(
        match meant.and_then(|region: &Region| region.before(&place)) {
            Some((_, None)) => format!("guard {at} with `{}`", view.word(Word::NotNegative)),
            Some((_, Some(_))) => format!(
                "guard {at} before the subtraction that leads below 0: the index is unsigned, so `index >= 0` always holds"
            ),
            None => format!(
                "guard {at} with `{}`, or allocate more elements",
                view.word(Word::BelowEnd)
            ),
        },
    ))
}
