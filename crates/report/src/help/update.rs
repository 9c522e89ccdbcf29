//! Updates in several instructions, and the atomic operation that does each (CUDA C++ Programming Guide, "Atomic Functions").

use super::{Advice, edits};
use crate::KernelView;
use crate::finding_view::{FindingView, Pair};
use crate::language::{Atomic, Word};
use crate::own_line::own_line;
use detect::finding::End;
use ptx::semantics::Effect;
use simt::program::{PlainUpdate, SiteInfo, UpdateKind};

/// How an update is made one operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum How {
    By(Atomic),
    /// There is no operation for such a value.
    Loop,
}

fn atomic(update: &PlainUpdate) -> How {
    use UpdateKind::*;
    How::By(match (update.kind, update.float) {
        (Add, _) => Atomic::Add,
        (Subtract, false) if update.bytes < 8 => Atomic::Subtract,
        (Subtract, _) => Atomic::AddNegative,
        (Min, false) => Atomic::Min,
        (Max, false) => Atomic::Max,
        (And, false) => Atomic::And,
        (Or, false) => Atomic::Or,
        (Xor, false) => Atomic::Xor,
        (CompareAndSwap, _) => Atomic::CompareAndSwap,
        _ => return How::Loop,
    })
}

/// Said behind the operation, where the value is too small for it.
fn on_element(update: &PlainUpdate) -> &'static str {
    let is_small = update.bytes < 4 && !(update.float && update.bytes == 2);
    match is_small && atomic(update) != How::Loop {
        true => " on an element of 32 bits",
        false => "",
    }
}

/// The advice for a race between two executions of one update.
pub(crate) fn advice(view: &FindingView<'_>) -> Option<Advice> {
    let Pair {
        earlier,
        later,
        from: a,
        to: b,
    } = view.pair()?;
    if combines_places(view) {
        return None;
    }
    if let Some(kernel) = view.kernel
        && let (Some(one), Some(other)) = (part_of(later, kernel), part_of(earlier, kernel))
    {
        if one.lines[0] != one.lines[1]
            && one.update.kind != UpdateKind::CompareAndSwap
            && edits::moves_on(a, one.lines, view.defines())
        {
            return None;
        }
        let edit = match one.update.kind {
            _ if one.update.bytes < 4 => None,
            _ if one.lines[0] == one.lines[1] => edits::atomic_update(a, view.defines()),
            UpdateKind::CompareAndSwap => [a, b]
                .into_iter()
                .filter(|end| end.frames[0].line == one.lines[1])
                .find_map(|end| edits::compare_and_swap(end, view.defines())),
            _ => None,
        };
        let how = match one.update.kind == other.update.kind {
            true => atomic(&one.update),
            false => How::Loop,
        };
        let text = make(view, &one.place(), how, on_element(&one.update));
        return (one.lines == other.lines).then(|| Advice::with(text, edit));
    }
    let place = view.finding.place?;
    let region = view.kernel.and_then(|kernel| kernel.memory.region(&place));
    let how = by_text(a.statement(), region.map(|r| r.name.as_str()))?;
    (a.in_source && a.same_line(b)).then(|| make(view, &a.place(), how, "").into())
}

/// Whether a finding is of an update whose new value is also read from other places of the same array, as sums in a tree are: these the
/// threads have to wait for, which an atomic operation does not.
pub(crate) fn combines_places(view: &FindingView<'_>) -> bool {
    let finding = view.finding;
    let Some(view) = view.kernel else {
        return false;
    };
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

fn make(view: &FindingView<'_>, lines: &str, how: How, more: &str) -> String {
    let function = match how {
        How::By(atomic) => format!("`{}`", view.word(Word::Atomic(atomic))),
        How::Loop => "a loop around `atomicCAS`".to_owned(),
    };
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
    fn place(&self) -> String {
        match self.lines {
            [load, store] if load == store => format!("line {store}"),
            [load, store] => format!("lines {} to {}", load.min(store), load.max(store)),
        }
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
fn by_text(statement: &str, region: Option<&str>) -> Option<How> {
    let places = |name: &str| statement.matches(&format!("{name}[")).count();
    // The first subscripted name, which may differ from the memory's own name.
    let target = statement.split('[').next().unwrap_or_default();
    let target = target
        .rsplit(|c: char| !c.is_alphanumeric() && c != '_')
        .next()
        .unwrap_or_default();
    let once =
        region.is_none_or(|name| places(name) <= 1) && (target.is_empty() || places(target) <= 1);
    const OPERATORS: [(&str, How); 8] = [
        ("++", How::By(Atomic::Add)),
        ("--", How::By(Atomic::Subtract)),
        ("+=", How::By(Atomic::Add)),
        ("-=", How::By(Atomic::Subtract)),
        ("|=", How::By(Atomic::Or)),
        ("&=", How::By(Atomic::And)),
        ("^=", How::By(Atomic::Xor)),
        ("*=", How::Loop),
    ];
    let mut operators = OPERATORS.iter().filter(|_| once);
    let (_, how) = operators.find(|(o, _)| statement.contains(o))?;
    Some(*how)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("hist[bin[i]]++", Some("hist"), Some(How::By(Atomic::Add)))]
    #[case("total += x", None, Some(How::By(Atomic::Add)))]
    #[case("flags[i] |= x", None, Some(How::By(Atomic::Or)))]
    #[case("product *= x", None, Some(How::Loop))]
    #[case("s[t] += s[t - d]", Some("s"), None)]
    #[case("s[t] = x", Some("s"), None)]
    fn updates_are_told_from_exchanges(
        #[case] statement: &str,
        #[case] region: Option<&str>,
        #[case] how: Option<How>,
    ) {
        assert_eq!(by_text(statement, region), how);
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
            (atomic(&update), on_element(&update))
        };
        let by = |atomic| (How::By(atomic), "");
        assert_eq!(of(UpdateKind::Max, false, 4), by(Atomic::Max));
        assert_eq!(of(UpdateKind::Max, true, 4), (How::Loop, ""));
        assert_eq!(of(UpdateKind::Add, true, 2), by(Atomic::Add));
        let small = (How::By(Atomic::Add), " on an element of 32 bits");
        assert_eq!(of(UpdateKind::Add, false, 1), small);
        assert_eq!(of(UpdateKind::Subtract, false, 8), by(Atomic::AddNegative));
    }
}
