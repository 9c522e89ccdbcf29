//! Which guessed buffer an access outside was probably meant for, and how large it would have to be.

use crate::plan::Plan;
use detect::finding::Finding;
use detect::rules::Rule;
use simt::Device;
use simt::memory::{Allocation, GAP_NAME, GLOBAL_BASE};
use simt::observer::Space;

/// A guessed buffer does not grow beyond this, bytes.
const GROWN: u64 = 256 << 20;
/// Bytes before a buffer that a negative index is likelier to reach than a large index of the
/// buffer before.
const BEFORE: u64 = 64 << 10;

/// A guessed buffer that is too small.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Need {
    pub(super) parameter: usize,
    pub(super) buffer: String,
    /// How many bytes it has to have.
    pub(super) bytes: u64,
}

/// Lets guessed buffers be as large as a run needs them; false where there is nothing to do.
pub(super) fn enlarge(plan: &mut Plan, needs: &[Need], grown: &mut Vec<usize>) -> bool {
    let mut any = false;
    for need in needs {
        if plan.grow(need.parameter, &need.buffer, need.bytes) {
            any = true;
            if !grown.contains(&need.parameter) {
                grown.push(need.parameter);
            }
        }
    }
    any
}

/// The guessed buffer that an access outside was probably meant for, and the size it would need.
pub(super) fn too_small(finding: &Finding, device: &Device, plan: &Plan) -> Option<Need> {
    if !matches!(finding.rule, Rule::OutOfBounds | Rule::UseAfterFree) {
        return None;
    }
    let place = finding.place.filter(|p| p.space == Space::Global)?;
    let offset = match place.mapped {
        true => place.address,
        false => place.address.checked_sub(GLOBAL_BASE)?,
    };
    let all = device.allocations();
    let after = all.partition_point(|a| a.offset <= offset);
    let named = |a: &&Allocation| !a.name.is_empty() && a.name != GAP_NAME;
    let owner = all[..after].iter().rev().find(named)?;
    let next = all[after..].iter().find(named);
    let behind = offset.checked_sub(owner.offset + owner.bytes)?;
    if next.is_some_and(|n| n.offset - offset <= BEFORE && behind > BEFORE) {
        return None;
    }
    let bytes = offset - owner.offset + u64::from(place.bytes);
    let index = plan
        .named(&owner.name)
        .filter(|i| plan.values[*i].origin.may_grow())?;
    (bytes * 2 <= GROWN).then(|| Need {
        parameter: index,
        buffer: owner.name.clone(),
        bytes,
    })
}
