//! The words of a finding that no rule chooses: what each end does, what notes say of any finding, and where the address lies.

use crate::finding_view::FindingView;
use crate::language::Word;
use crate::memory::MemoryNames;
use crate::own_line::of_toolkit;
use crate::rule_text::RuleText;
use crate::terminal::counted;
use detect::finding::{Action, End, Finding, Place};
use detect::rules::Rule;
use simt::observer::{Order, Scope};
use std::collections::BTreeSet;

/// A function's name without its parameters.
pub(super) fn short(function: &str) -> &str {
    function.split('(').next().unwrap_or(function)
}

pub(super) fn triple([x, y, z]: [u32; 3]) -> String {
    format!("({x},{y},{z})")
}

pub(super) fn action(
    end: &End,
    place: Option<&Place>,
    names: &MemoryNames,
    plural: bool,
    reads: bool,
) -> String {
    let s = if plural { "" } else { "s" };
    let what = place.map_or_else(|| "here".to_string(), |p| names.describe(p));
    let how = match end.order {
        Some((Order::Weak, _)) | None => String::new(),
        Some((Order::Volatile, _)) => " (volatile)".to_string(),
        Some((_, scope)) => format!(" ({})", scope_name(scope)),
    };
    match end.action {
        Action::Read if place.is_none() => format!("read{s} a register of it"),
        Action::Write if place.is_none() => format!("write{s} a register of it"),
        Action::Read => format!("read{s} {what}{how}"),
        Action::Write => format!("write{s} {what}{how}"),
        Action::Atomic => format!("update{s} {what} atomically{how}"),
        Action::Copy => {
            let direction = if reads { "from" } else { "into" };
            format!("begin{s} to copy {direction} {what}")
        }
        Action::Multiply if place.is_none() => format!("begin{s} the product"),
        Action::Multiply => format!("begin{s} a product that reads {what}"),
        Action::Wait => format!("wait{s} here"),
        Action::Sync => format!("execute{s} this"),
        Action::Pass if plural => "pass without waiting".to_string(),
        Action::Pass => "passes without waiting".to_string(),
        Action::Exit => format!("exit{s} here"),
        Action::Run if plural => "are still running here".to_string(),
        Action::Run => "is still running here".to_string(),
        Action::Use => format!("use{s} the value here"),
        Action::Stop => format!("stop{s} the launch here"),
        Action::Free => format!("free{s} {what} here"),
        Action::Branch => format!("branch{} here", if plural { "" } else { "es" }),
    }
}

/// `block scope`
fn scope_name(scope: Scope) -> &'static str {
    match scope {
        Scope::Cta => "block scope",
        Scope::Cluster => "cluster scope",
        Scope::Gpu => "device scope",
        Scope::Sys => "system scope",
    }
}

/// What is said of a finding besides: what its rule knows, then what can be said of any.
pub(super) fn notes(view: &FindingView<'_>, text: &RuleText) -> Vec<String> {
    let FindingView {
        finding,
        guilty,
        names,
        ..
    } = *view;
    let mut notes = (text.notes)(view);
    if let (Some(place), Some(names)) = (&finding.place, names) {
        notes.extend(about(finding, place, names));
    }
    for one in guilty {
        if let Some(unread) = &one.unread {
            notes.push(format!("compiled from {unread}, which cannot be read"));
        }
    }
    let hidden = || guilty.iter().filter(|g| !g.in_source && g.unread.is_none());
    if hidden().any(|g| g.toolkit) {
        notes.push(
            "the instruction is in a CUDA toolkit function that several lines call".to_string(),
        );
    }
    if hidden().any(|g| !g.toolkit) {
        notes.push(format!(
            "the PTX has no source lines; {} to see them",
            view.word(Word::SourceLines)
        ));
    }
    notes.dedup();
    notes.extend(stale_loads(view));
    notes.extend((text.mitigated)(view).map(str::to_owned));
    notes
}

/// Names the loads that returned an overwritten value. The finding may depend on them.
fn stale_loads(view: &FindingView<'_>) -> Option<String> {
    let (finding, kernel) = (view.finding, view.kernel?);
    let lines = finding.stale_loads.iter().filter_map(|site| {
        let lines = &kernel.sites.get(site.0 as usize)?.lines;
        let own = lines
            .iter()
            .find(|l| !of_toolkit(&l.file))
            .or(lines.first())?;
        Some(own.line)
    });
    let lines: BTreeSet<u32> = lines.filter(|line| *line > 0).collect();
    let at = match &lines.iter().map(u32::to_string).collect::<Vec<_>>()[..] {
        _ if finding.stale_loads.is_empty() => return None,
        [] => "a strong load".to_owned(),
        [one] => format!("the load at line {one}"),
        [most @ .., last] => format!("a load at lines {} or {last}", most.join(", ")),
    };
    Some(format!(
        "in this run {at} returned a value that had already been overwritten; the memory model allows this. To exclude it, \
         put `{}` (`fence.sc`) on both sides between a thread's write and its read of the other thread's \
         location, or acquire what the other thread released after its write",
        view.word(Word::DeviceFence)
    ))
}

/// Addresses so near to 0 are told as a null pointer and an offset.
const NULL_PAGE: u64 = 64 << 10;

/// Describes where an out-of-bounds access lies, and how the memory is declared.
fn about(finding: &Finding, place: &Place, names: &MemoryNames) -> Option<String> {
    if let Some(region) = names.region(place) {
        let declaration = region.declaration.as_ref()?;
        let name = region.whole.as_ref().unwrap_or(&region.name);
        return Some(format!("`{name}` is declared `{declaration}`"));
    }
    let outside = matches!(finding.rule, Rule::OutOfBounds | Rule::MisalignedAccess);
    if !outside {
        return None;
    }
    if let Some((rank, at)) = names.far(place) {
        return Some(format!(
            "the address leads to byte {at:#x} of the shared memory of rank {rank} in the block's cluster, and nothing is there"
        ));
    }
    let nearest = names.meant(finding);
    let Some((region, bytes)) = nearest.and_then(|r| Some((r, r.bytes?))) else {
        return Some(
            match (place.mapped, place.address, place.address.wrapping_neg()) {
                (false, 0, _) => "the address is a null pointer".to_owned(),
                (false, n @ ..NULL_PAGE, _) => {
                    format!("the address is a null pointer plus {}", counted(n, "byte"))
                }
                (false, _, n @ ..NULL_PAGE) => {
                    format!("the address is a null pointer minus {}", counted(n, "byte"))
                }
                _ => format!("the address is {:#x}", place.address),
            },
        );
    };
    if let Some((before, unsigned)) = region.before(place) {
        let element = region.element.unwrap_or(place.bytes).max(1);
        let index = before.div_ceil(u64::from(element));
        let whole = before.is_multiple_of(u64::from(element)) && region.dims.len() < 2;
        let to = match whole {
            true => format!("would be to `{}[-{index}]`", region.name),
            false => "starts".to_owned(),
        };
        let where_ = match unsigned {
            // Where it really leads says nothing.
            Some(index) => format!("whose index is {index} as an unsigned number"),
            None => format!("{} before `{}`", counted(before, "byte"), region.name),
        };
        return Some(format!(
            "`{}` has {}; the access {to}, {where_}",
            region.name,
            counted(bytes, "byte"),
        ));
    }
    let offset = place.address - region.start;
    let behind = |bytes: u64| match offset - bytes {
        0 => "directly past the end".to_string(),
        n => format!("{} past the end", counted(n, "byte")),
    };
    Some(match (offset >= bytes, region.element) {
        (true, Some(element)) => format!(
            "`{}` has {} of {}; the access would be to `{}`, {}",
            region.name,
            counted(bytes / u64::from(element.max(1)), "element"),
            counted(element.into(), "byte"),
            region.element_at(place.address, place.bytes),
            behind(bytes)
        ),
        (true, None) => format!(
            "`{}` has {}; the access starts {}",
            region.name,
            counted(bytes, "byte"),
            behind(bytes)
        ),
        (false, _) => format!("the address is byte {offset} of `{}`", region.name),
    })
}
