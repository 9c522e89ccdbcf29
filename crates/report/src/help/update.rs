//! Updates in several instructions, and the atomic operation that does each (CUDA C++ Programming Guide, "Atomic Functions").

use super::{Advice, Guilty, defines, edits};
use crate::KernelView;
use crate::diagnose::own_line;
use detect::finding::{End, Finding};
use ptx::semantics::Effect;
use simt::program::{PlainUpdate, SiteInfo, UpdateKind};

/// How an update is made one operation.
struct Atomic {
    /// The function, in words; `None` where there is none for such a value.
    function: Option<&'static str>,
    /// What else is to be done.
    more: &'static str,
}

fn atomic(update: &PlainUpdate) -> Atomic {
    use UpdateKind::*;
    let of = |name: &'static str| Some(name);
    let small = update.bytes < 4 && !(update.float && update.bytes == 2);
    let function = match (update.kind, update.float) {
        (Add, _) => of("`atomicAdd(&…, …)`"),
        (Subtract, false) if update.bytes < 8 => of("`atomicSub(&…, …)`"),
        (Subtract, _) => of("`atomicAdd(&…, -…)`"),
        (Min, false) => of("`atomicMin(&…, …)`"),
        (Max, false) => of("`atomicMax(&…, …)`"),
        (And, false) => of("`atomicAnd(&…, …)`"),
        (Or, false) => of("`atomicOr(&…, …)`"),
        (Xor, false) => of("`atomicXor(&…, …)`"),
        (CompareAndSwap, _) => of("`atomicCAS(&…, …, …)`"),
        _ => None,
    };
    let more = match function {
        Some(_) if small => " on an element of 32 bits",
        _ => "",
    };
    Atomic { function, more }
}

/// The advice for a race between two executions of one update.
pub(super) fn advice(
    finding: &Finding,
    guilty: &[Guilty],
    view: Option<&KernelView<'_>>,
) -> Option<Advice> {
    let ([later, earlier, ..], [b, a, ..]) = (finding.ends.as_slice(), guilty) else {
        return None;
    };
    if combines_places(finding, view) {
        return None;
    }
    if let Some(view) = view
        && let (Some(one), Some(other)) = (part_of(later, view), part_of(earlier, view))
    {
        if one.lines[0] != one.lines[1]
            && one.update.kind != UpdateKind::CompareAndSwap
            && edits::moves_on(a, one.lines, defines(Some(view)))
        {
            return None;
        }
        let edit = match one.update.kind {
            _ if one.update.bytes < 4 => None,
            _ if one.lines[0] == one.lines[1] => edits::atomic_update(a, defines(Some(view))),
            UpdateKind::CompareAndSwap => [a, b]
                .into_iter()
                .filter(|end| end.frames[0].line == one.lines[1])
                .find_map(|end| edits::compare_and_swap(end, defines(Some(view)))),
            _ => None,
        };
        return (one.lines == other.lines).then(|| Advice::with(one.words(&other), edit));
    }
    let place = finding.place?;
    let region = view.and_then(|v| v.memory.region(&place));
    let function = by_text(a.statement(), region.map(|r| r.name.as_str()))?;
    (a.in_source && super::same_line(a, b)).then(|| make(&a.place(), function, "").into())
}

/// Whether a finding is of an update whose new value is also read from other places of the same array, as sums in a tree are: these the
/// threads have to wait for, which an atomic operation does not.
pub(super) fn combines_places(finding: &Finding, view: Option<&KernelView<'_>>) -> bool {
    let Some(view) = view else { return false };
    let combines = |end: &End| {
        let Some((store, update)) = updated(end, view) else {
            return false;
        };
        let store = &view.sites[store];
        let line = line_at(store, view);
        let reads = |site: &SiteInfo| {
            let memory = site.instruction.memory.as_ref();
            line.is_some()
                && line_at(site, view) == line
                && memory.is_some_and(|m| m.effect == Effect::Load)
        };
        let mut sites = view.sites.iter().enumerate();
        sites.any(|(at, site)| {
            at != update.load.0 as usize
                && reads(site)
                && site.pointers.iter().any(|p| store.pointers.contains(p))
        })
    };
    finding.ends.iter().any(combines)
}

/// Where an instruction is in the source: its innermost line outside of the toolkit.
fn line_at<'v>(site: &'v SiteInfo, view: &'v KernelView<'_>) -> Option<(&'v str, u32)> {
    own_line(site, view.sites).map(|line| (line.file.as_str(), line.line))
}

fn make(lines: &str, function: &str, more: &str) -> String {
    format!(
        "make the update at {lines} atomic with {function}{more}, or give each thread its own element"
    )
}

/// An update that an access is a part of, and the lines of its load and its store.
struct Part {
    update: PlainUpdate,
    lines: [u32; 2],
}

impl Part {
    fn words(&self, other: &Part) -> String {
        let lines = match self.lines {
            [load, store] if load == store => format!("line {store}"),
            [load, store] => format!("lines {} to {}", load.min(store), load.max(store)),
        };
        let alike = self.update.kind == other.update.kind;
        let Atomic { function, more } = atomic(&self.update);
        make(
            &lines,
            function
                .filter(|_| alike)
                .unwrap_or("a loop around `atomicCAS`"),
            more,
        )
    }
}

/// The update that an access is a part of: its store, and what it does.
fn updated(end: &End, view: &KernelView<'_>) -> Option<(usize, PlainUpdate)> {
    let mut all = view.sites.iter().enumerate();
    all.find_map(|(at, site)| {
        let update = site.update?;
        let here = at == end.site.0 as usize || update.load == end.site;
        here.then_some((at, update))
    })
}

fn part_of(end: &End, view: &KernelView<'_>) -> Option<Part> {
    let (store, update) = updated(end, view)?;
    let line = |at: usize| own_line(&view.sites[at], view.sites).map_or(0, |l| l.line);
    Some(Part {
        update,
        lines: [line(update.load.0 as usize), line(store)],
    })
}

/// The atomic operation for a statement such as `hist[bin]++` or `x += 1`, which reads one memory operand and writes it back.
fn by_text(statement: &str, region: Option<&str>) -> Option<&'static str> {
    let places = |name: &str| statement.matches(&format!("{name}[")).count();
    // The first subscripted name, which may differ from the memory's own name.
    let target = statement.split('[').next().unwrap_or_default();
    let target = target
        .rsplit(|c: char| !c.is_alphanumeric() && c != '_')
        .next()
        .unwrap_or_default();
    let once =
        region.is_none_or(|name| places(name) <= 1) && (target.is_empty() || places(target) <= 1);
    const OPERATORS: [(&str, &str); 8] = [
        ("++", "`atomicAdd(&…, …)`"),
        ("--", "`atomicSub(&…, …)`"),
        ("+=", "`atomicAdd(&…, …)`"),
        ("-=", "`atomicSub(&…, …)`"),
        ("|=", "`atomicOr(&…, …)`"),
        ("&=", "`atomicAnd(&…, …)`"),
        ("^=", "`atomicXor(&…, …)`"),
        ("*=", "a loop around `atomicCAS`"),
    ];
    let mut operators = OPERATORS.iter().filter(|_| once);
    let (_, function) = operators.find(|(o, _)| statement.contains(o))?;
    Some(function)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("hist[bin[i]]++", Some("hist"), Some("`atomicAdd(&…, …)`"))]
    #[case("total += x", None, Some("`atomicAdd(&…, …)`"))]
    #[case("flags[i] |= x", None, Some("`atomicOr(&…, …)`"))]
    #[case("product *= x", None, Some("a loop around `atomicCAS`"))]
    #[case("s[t] += s[t - d]", Some("s"), None)]
    #[case("s[t] = x", Some("s"), None)]
    fn updates_are_told_from_exchanges(
        #[case] statement: &str,
        #[case] region: Option<&str>,
        #[case] function: Option<&str>,
    ) {
        assert_eq!(by_text(statement, region), function);
    }

    #[test]
    fn there_is_a_function_for_some_types_only() {
        let of = |kind, float, bytes| {
            let update = PlainUpdate {
                load: simt::ids::Site(0),
                kind,
                float,
                bytes,
            };
            let Atomic { function, more } = atomic(&update);
            function.map(|f| format!("{f}{more}"))
        };
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(of(UpdateKind::Max, false, 4), some("`atomicMax(&…, …)`"));
        assert_eq!(of(UpdateKind::Max, true, 4), None);
        assert_eq!(of(UpdateKind::Add, true, 2), some("`atomicAdd(&…, …)`"));
        let small = some("`atomicAdd(&…, …)` on an element of 32 bits");
        assert_eq!(of(UpdateKind::Add, false, 1), small);
        assert_eq!(
            of(UpdateKind::Subtract, false, 8),
            some("`atomicAdd(&…, -…)`")
        );
    }
}
