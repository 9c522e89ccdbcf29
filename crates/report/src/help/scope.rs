//! Scopes that are too narrow: which access or fence to widen, and to what.

use super::{Advice, Guilty, defines, edits};
use crate::KernelView;
use crate::diagnose::own_line;
use detect::finding::{End, Finding};
use ptx::semantics::{AtomicOperation, Modifier, Opcode};
use simt::observer::Scope;
use std::collections::BTreeSet;

/// The advice for `insufficient-scope`.
pub(super) fn scope(
    finding: &Finding,
    guilty: &[Guilty],
    view: Option<&KernelView<'_>>,
) -> Option<Advice> {
    let ends = || finding.ends.iter().zip(guilty);
    let scopes = ends().filter_map(|(end, _)| Some(end.order?.1));
    let narrow = scopes.min()?;
    let ends = ends().filter(|(end, _)| end.order.is_some_and(|o| o.1 == narrow));
    let ends: Vec<(&End, &Guilty)> = ends.collect();
    let places: BTreeSet<String> = ends.iter().map(|(_, g)| g.place()).collect();
    let places = places.into_iter().collect::<Vec<_>>().join(" and ");
    let name = match narrow {
        Scope::Cta => "block",
        Scope::Cluster => "cluster",
        Scope::Gpu | Scope::Sys => return Some(fences(guilty, view)),
    };
    let (end, one) = *ends.first()?;
    let (from, to) = instead(end, one, name, view);
    let widened: Vec<&Guilty> = ends.iter().map(|(_, g)| *g).collect();
    let edit = from
        .as_ref()
        .and_then(|from| edits::renamed(&widened, from.trim_matches('`'), to.trim_matches('`')));
    let text = match from {
        Some(from) => format!("use {to} for {from} at {places}: its scope is the {name}"),
        None => format!("widen the scope at {places} from {name} to device: {to}"),
    };
    let edit = edit.or_else(|| edits::wider_lines(&widened, to.trim_matches('`')));
    let edit = edit.or_else(|| edits::wider_file(one));
    Some(Advice::with(text, edit))
}

/// What is written at a place, if that can be told, and what to write instead.
fn instead(
    end: &End,
    one: &Guilty,
    scope: &str,
    view: Option<&KernelView<'_>>,
) -> (Option<String>, String) {
    let words = |text: &str| -> Vec<String> {
        let words = text.split(|c: char| !c.is_alphanumeric() && c != '_' && c != ':');
        words.map(str::to_owned).collect()
    };
    let narrow_function = |w: &String| w.starts_with("atomic") && w.ends_with("_block");
    if one.in_source {
        let text = one.statement();
        if let Some(narrow) = words(text).into_iter().find(narrow_function) {
            let wide = narrow.trim_end_matches("_block");
            return (Some(format!("`{narrow}`")), format!("`{wide}`"));
        }
        let narrow = format!("cuda::thread_scope_{scope}");
        let file = &one.frames[0].file.text;
        if file.contains(&format!("thread_scope_{scope}")) {
            return (
                Some(format!("`{narrow}`")),
                "`cuda::thread_scope_device`".to_owned(),
            );
        }
    }
    let site = view.and_then(|v| v.sites.get(end.site.0 as usize));
    let operation = site.and_then(|s| s.instruction.memory.as_ref()?.operation);
    let wide = match operation {
        Some(operation) => format!("`{}`", function(operation)),
        None => "`cuda::thread_scope_device`, or `.gpu` in PTX".to_owned(),
    };
    (None, wide)
}

/// The CUDA function of an atomic operation of device scope.
fn function(operation: AtomicOperation) -> &'static str {
    use AtomicOperation::*;
    match operation {
        Add => "atomicAdd",
        Min => "atomicMin",
        Max => "atomicMax",
        Inc => "atomicInc",
        Dec => "atomicDec",
        And => "atomicAnd",
        Or => "atomicOr",
        Xor => "atomicXor",
        Exch => "atomicExch",
        Cas => "atomicCAS",
    }
}

/// Both accesses reach far enough: a fence does not.
fn fences(guilty: &[Guilty], view: Option<&KernelView<'_>>) -> Advice {
    let sites = view.map_or(&[][..], |v| v.sites);
    let narrow = sites.iter().filter(|site| {
        let typed = &site.instruction;
        matches!(typed.opcode, Opcode::Fence | Opcode::Membar) && typed.modifiers.has(Modifier::Cta)
    });
    let lines: BTreeSet<u32> = narrow
        .filter_map(|site| Some(own_line(site, sites)?.line))
        .filter(|line| *line > 0)
        .collect();
    let edit = guilty.first().and_then(|one| {
        edits::wider_fences(one, &lines, defines(view)).or_else(|| edits::wider_file(one))
    });
    let lines: Vec<String> = lines.iter().map(|line| format!("line {line}")).collect();
    let text = match (lines.is_empty(), guilty.first()) {
        (false, _) => format!(
            "use `__threadfence()` for `__threadfence_block()` at {}: its scope is the block",
            lines.join(" and ")
        ),
        (true, Some(one)) => format!(
            "a fence or lock between {} and the other access has too narrow a scope: use `__threadfence()`, or device scope on both sides",
            one.place()
        ),
        (true, None) => "use `__threadfence()`, or device scope on both sides".to_owned(),
    };
    Advice::with(text, edit)
}
