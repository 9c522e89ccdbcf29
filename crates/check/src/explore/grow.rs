//! Which guessed buffer an access outside was probably meant for, and how large it would have to be.

use crate::plan::Plan;
use detect::finding::{Detail, Finding, Place};
use detect::rules::{Level, Rule};
use report::Diagnostic;
use simt::Device;
use simt::memory::{Allocation, GAP_NAME, GLOBAL_BASE};
use simt::observer::Space;
use std::ops::Range;

/// A guessed buffer does not grow beyond this, bytes.
pub(super) const GROWN: u64 = 64 << 20;
/// Bytes before a buffer that a negative index is likelier to reach than a large index of the
/// buffer before.
const BEFORE: u64 = 64 << 10;

/// What lies no further behind a buffer was reached step by step.
const NEAR: u64 = 1 << 20;

/// Bytes behind a buffer that no index of it reaches: the address is wrong, not the size.
const FAR: u64 = 1 << 48;

/// Dynamic shared memory in place of a parameter.
const SHARED: usize = usize::MAX;
/// What lies further is no index that is too large but a wrong one.
const FAR_SHARED: u64 = 64 << 20;

/// A guessed buffer that is too small.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Need {
    pub(super) parameter: usize,
    pub(super) buffer: String,
    /// How many bytes it has to have.
    pub(super) bytes: u64,
}

impl Need {
    /// Whether it is larger than any guess.
    fn is_too_much(&self, plan: &Plan) -> bool {
        match self.parameter {
            SHARED => plan
                .shared
                .is_none_or(|shared| self.bytes > shared.most.into()),
            _ => self.bytes * 2 > GROWN,
        }
    }
}

impl Need {
    /// Makes an access outside a warning: the buffer is too small for it because nobody said how large it is.
    pub(super) fn excuse(&self, diagnostic: &mut Diagnostic) {
        let Need { buffer, bytes, .. } = self;
        let shown = report::terminal::thousands(*bytes);
        diagnostic.level = diagnostic.level.min(Level::Warning);
        diagnostic.notes.insert(0, format!(
            "the kernel goes on through `{buffer}` to byte {shown}, which is more than racetrap gives a buffer of unknown size; what lies beyond is not judged"
        ));
        diagnostic.help = Some(format!(
            "say how large `{buffer}` is (`--arg`), or make the constant smaller that says how far the kernel goes"
        ));
    }
}

/// Lets guessed buffers be as large as a run needs them; false where there is nothing to do.
pub(super) fn enlarge(plan: &mut Plan, needs: &[Need], grown: &mut Vec<usize>) -> bool {
    let mut any = false;
    for need in needs {
        if need.parameter == SHARED {
            if let Some(shared) = &mut plan.shared {
                let wanted = need.bytes.next_multiple_of(256).min(shared.most.into());
                let wanted = u32::try_from(wanted).unwrap_or(0);
                any |= wanted > shared.bytes;
                shared.bytes = shared.bytes.max(wanted);
            }
            continue;
        }
        if plan.grow(need.parameter, &need.buffer, need.bytes) {
            any = true;
            if !grown.contains(&need.parameter) {
                grown.push(need.parameter);
            }
        }
    }
    any
}

/// The guessed buffer that an access outside was probably meant for, and the size it would need, unless that is larger than any guess.
pub(super) fn too_small(finding: &Finding, device: &Device, plan: &Plan) -> Option<Need> {
    reached(finding, device, plan).filter(|need| !need.is_too_much(plan))
}

/// Whether an access reaches further behind a guessed buffer than any guess grows: then what else was guessed leads it there.
pub(super) fn too_far(finding: &Finding, device: &Device, plan: &Plan) -> bool {
    reached(finding, device, plan).is_some_and(|need| need.is_too_much(plan))
}

/// The guessed buffer that an instruction walks through from its end on, further than any guess grows: a loop up to a constant. Nobody
/// has said that the buffer is smaller.
pub(super) fn walks_on(
    finding: &Finding,
    device: &Device,
    plan: &Plan,
) -> Option<(Range<u64>, Need)> {
    let need = reached(finding, device, plan).filter(|need| need.is_too_much(plan))?;
    let buffer = device
        .allocations()
        .iter()
        .find(|a| a.name == need.buffer)?;
    let end = buffer.offset + buffer.bytes;
    let first = finding.place?.address;
    let near = (end..end.saturating_add(NEAR)).contains(&first);
    near.then(|| (end..buffer.offset.saturating_add(need.bytes), need))
}

fn reached(finding: &Finding, device: &Device, plan: &Plan) -> Option<Need> {
    if !matches!(finding.rule, Rule::OutOfBounds | Rule::UseAfterFree) {
        return None;
    }
    let place = finding.place?;
    if let (Space::Shared, Some(shared)) = (place.space, plan.shared) {
        let end = place.address.saturating_add(u64::from(place.bytes));
        let end = match finding.detail {
            Detail::Pointer { reach, .. } => end.max(reach),
            _ => end,
        };
        let end = end.saturating_sub(shared.before.into());
        let grows = place.mapped && end > u64::from(shared.bytes) && end < FAR_SHARED;
        return grows.then(|| Need {
            parameter: SHARED,
            buffer: String::new(),
            bytes: end,
        });
    }
    if place.space != Space::Global {
        return None;
    }
    let (name, bytes) = match meant(finding, &place, device) {
        Some(Err(())) => return None,
        Some(Ok(meant)) => meant,
        None => owner(&place, device).map(|(name, bytes)| (name.to_owned(), bytes))?,
    };
    let parameter = plan
        .named(&name)
        .filter(|i| plan.values[*i].origin.may_grow())?;
    Some(Need {
        parameter,
        buffer: name,
        bytes,
    })
}

/// The buffer that the pointer is of which the address was computed from, and how many bytes the furthest access needs; `Err` where
/// the access lies before it, and `None` where it is not known.
fn meant(finding: &Finding, place: &Place, device: &Device) -> Option<Result<(String, u64), ()>> {
    let Detail::Pointer { to, reach } = finding.detail else {
        return None;
    };
    let buffer = device.allocation_at(to).filter(|_| place.mapped)?;
    let inside = to <= buffer.offset + buffer.bytes;
    if !inside || buffer.name.is_empty() || buffer.name == GAP_NAME {
        return None;
    }
    if place.address < buffer.offset || reach - buffer.offset > FAR {
        return Some(Err(()));
    }
    Some(Ok((buffer.name, reach - buffer.offset)))
}

/// The name of the buffer behind whose end a place in global memory lies, and how many bytes it needs to reach there.
pub(super) fn owner<'a>(place: &Place, device: &'a Device) -> Option<(&'a str, u64)> {
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
    if behind > FAR {
        return None;
    }
    if next.is_some_and(|n| n.offset - offset <= BEFORE && behind > BEFORE) {
        return None;
    }
    Some((&owner.name, offset - owner.offset + u64::from(place.bytes)))
}

#[cfg(test)]
mod tests {
    use crate::{Request, Source, Unwatched, Watch, check};
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// What comes of a kernel of `x` and `y` whose first thread writes where `%a1` points.
    fn checked(parameters: &str, address: &str) -> crate::Checked {
        watched(parameters, address, &Unwatched)
    }

    fn watched(parameters: &str, address: &str, watch: &dyn Watch) -> crate::Checked {
        let text = format!(
            ".version 8.0\n.target sm_75\n.address_size 64\n.visible .entry k({parameters})\n{{
             .reg .b32 %r<9>; .reg .b64 %a<9>; .reg .pred %p;
             mov.u32 %r8, %tid.x; setp.ne.u32 %p, %r8, 0; @%p ret;
             ld.param.u64 %a0, [x]; ld.param.u64 %a8, [y]; st.global.u32 [%a8], 1;
             {address}\nst.global.u32 [%a1], 1;\nret;\n}}\n"
        );
        let mut request = Request::new(Source::Ptx {
            name: "k.ptx".into(),
            text,
        });
        request.budgets.jobs = 1;
        request.launch.grid = Some(simt::Dim3::ONE);
        request.launch.block = Some(simt::Dim3::linear(512));
        check(&request, watch).expect("checked")
    }

    const BUFFERS: &str = ".param .u64 x, .param .u64 y";

    /// Between two buffers lies room that belongs to nobody: what reaches into it is meant for the one before.
    #[test]
    fn guessed_buffers_grow_into_the_gaps_behind_them() {
        for offset in [4096, 100_000] {
            let found = checked(BUFFERS, &format!("add.s64 %a1, %a0, {offset};"));
            assert_eq!(found.check.diagnostics, [], "{offset}");
            let value = found.hypothesis.plan.values[0].value.to_string();
            let length: u64 = value[4..value.find(']').expect("a length")]
                .parse()
                .expect("a number");
            assert!(4 * length > offset, "{value} for {offset}");
            assert_eq!(found.explored[0].grown, [0], "{offset}");
        }
    }

    /// Counts launches: before each of them somebody asks whether to go on.
    #[derive(Default)]
    struct Launches(AtomicUsize);

    impl Watch for Launches {
        fn cancelled(&self) -> bool {
            self.0.fetch_add(1, Ordering::Relaxed);
            false
        }
    }

    /// What one schedule needed is there for all that follow.
    #[test]
    fn buffers_grow_once_for_all_schedules() {
        let launches = |offset: u32| {
            // With an error, so that one schedule is not enough.
            let body =
                format!("add.s64 %a1, %a0, {offset}; mov.b64 %a2, 0; st.global.u32 [%a2], 1;");
            let launches = Launches::default();
            let found = watched(BUFFERS, &body, &launches);
            assert!(found.explored[0].schedules.len() > 4);
            launches.0.into_inner()
        };
        assert_eq!(launches(4096), launches(0) + 1);
    }

    #[test]
    fn what_lies_before_a_buffer_is_not_reached_by_the_one_before() {
        let found = checked(BUFFERS, "add.s64 %a1, %a8, -4;");
        assert_eq!(found.check.diagnostics.len(), 1);
        assert!(found.explored[0].grown.is_empty());
    }

    /// No buffer is so large that an index of it leads there; the finding does not name one.
    #[test]
    fn a_null_pointer_grows_nothing() {
        for offset in ["-128", "16", "0"] {
            let found = checked(
                BUFFERS,
                &format!("mov.b64 %a1, 0; add.s64 %a1, %a1, {offset};"),
            );
            assert_eq!(found.check.diagnostics.len(), 1, "{offset}");
            assert!(found.explored[0].grown.is_empty(), "{offset}");
            let notes = &found.check.diagnostics[0].notes;
            assert!(notes[0].contains("a null pointer"), "{offset}: {notes:?}");
        }
    }

    /// Sizes that are multiplied: the guess for one of several is too large for all, and that is no error of the kernel.
    #[test]
    fn integers_that_lead_too_far_are_made_smaller() {
        let parameters =
            ".param .u64 x, .param .u64 y, .param .u32 n, .param .u32 m, .param .u32 k";
        let product = "ld.param.u32 %r0, [n]; ld.param.u32 %r1, [m]; ld.param.u32 %r2, [k];
             mul.lo.u32 %r3, %r0, %r1; mul.lo.u32 %r3, %r3, %r2; mul.lo.u32 %r3, %r3, 1000; mul.wide.u32 %a2, %r3, 4; add.s64 %a1, %a0, %a2;";
        let text = checked(parameters, product);
        assert_eq!(text.check.diagnostics, []);
    }
}
