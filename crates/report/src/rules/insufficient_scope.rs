//! # insufficient-scope
//!
//! Threads synchronise with atomic operations, locks or fences, but the scope of one of them does not include the other
//! thread. Examples are a block-scope atomic on a counter that other blocks use, and a `__threadfence_block()` before a
//! flag that another block reads.
//!
//! ## Example
//!
//! ```cpp
//! if (threadIdx.x == 0)
//!     atomicAdd_block(&total, sum);       // all blocks add to one total
//! ```
//!
//! ```cpp
//! if (threadIdx.x == 0)
//!     atomicAdd(&total, sum);             // device scope
//! ```
//!
//! The same with a fence, in code that passes data from block to block:
//!
//! ```cpp
//! data[blockIdx.x] = sum;
//! __threadfence_block();                  // must be __threadfence()
//! atomicAdd(&ready, 1);
//! ```
//!
//! ## Why it goes wrong
//!
//! An operation is atomic, and a fence orders, only for the threads inside its scope. For all other threads it has no
//! such effect: updates get lost, and data may arrive after the flag.
//!
//! ## How to fix it
//!
//! Widen the scope until it includes both threads: `.cta` includes the own block, `.gpu` all blocks of the device, `.sys`
//! also the host and other devices. `volatile` has system scope.
//!
//! ## What is reported
//!
//! One of two things:
//!
//! - Two strong operations (atomic, `volatile`, `cuda::atomic_ref`) on the same location that are not ordered, where the
//!   scope of one does not include the other's thread.
//! - Two data accesses that would be ordered if every scope between them were wide enough. The finding names the data
//!   accesses; look for the lock, flag or fence between them.
//!
//! ## Limitations
//!
//! The rule does not report scopes that are wider than needed. It does not check scopes between devices, or between
//! device and host.
//!
//! ## Reference
//!
//! PTX ISA, "Memory Consistency Model": "Scope", "Morally strong operations", "Memory synchronization".

use crate::KernelView;
use crate::finding_view::FindingView;
use crate::help::{Advice, Guilty, edits};
use crate::language::Word;
use crate::own_line::own_line;
use crate::rule_text::{RuleText, SUMMARY};
use detect::finding::End;
use ptx::semantics::{AtomicOperation, Modifier, Opcode};
use simt::observer::Scope;
use std::collections::BTreeSet;

pub(crate) const TEXT: RuleText = RuleText {
    title: |view| {
        Some(format!(
            "{} is shared with a thread outside the scope of the access",
            view.memory()
        ))
    },
    help,
    ..SUMMARY
};

fn help(view: &FindingView<'_>) -> Option<Advice> {
    let ends = || view.finding.ends.iter().zip(view.guilty);
    let scopes = ends().filter_map(|(end, _)| Some(end.order?.1));
    let narrow = scopes.min()?;
    let ends = ends().filter(|(end, _)| end.order.is_some_and(|o| o.1 == narrow));
    let ends: Vec<(&End, &Guilty)> = ends.collect();
    let places: BTreeSet<String> = ends.iter().map(|(_, g)| g.place()).collect();
    let places = places.into_iter().collect::<Vec<_>>().join(" and ");
    let name = match narrow {
        Scope::Cta => "block",
        Scope::Cluster => "cluster",
        Scope::Gpu | Scope::Sys => return Some(fences(view)),
    };
    let (end, one) = *ends.first()?;
    let (from, to) = instead(end, one, name, view.kernel);
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
    kernel: Option<&KernelView<'_>>,
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
    let site = kernel.and_then(|k| k.sites.get(end.site.0 as usize));
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
fn fences(view: &FindingView<'_>) -> Advice {
    let sites = view.kernel.map_or(&[][..], |kernel| kernel.sites);
    let narrow = sites.iter().filter(|site| {
        let typed = &site.instruction;
        matches!(typed.opcode, Opcode::Fence | Opcode::Membar) && typed.modifiers.has(Modifier::Cta)
    });
    let lines: BTreeSet<u32> = narrow
        .filter_map(|site| Some(own_line(site, sites)?.line))
        .filter(|line| *line > 0)
        .collect();
    let edit = view.guilty.first().and_then(|one| {
        edits::wider_fences(one, &lines, view.defines()).or_else(|| edits::wider_file(one))
    });
    let lines: Vec<String> = lines.iter().map(|line| format!("line {line}")).collect();
    let fence = view.word(Word::DeviceFence);
    let text = match (lines.is_empty(), view.guilty.first()) {
        (false, _) => format!(
            "use `{fence}` for `{}` at {}: its scope is the block",
            view.word(Word::BlockFence),
            lines.join(" and ")
        ),
        (true, Some(one)) => format!(
            "a fence or lock between {} and the other access has too narrow a scope: use `{fence}`, or device scope on both sides",
            one.place()
        ),
        (true, None) => format!("use `{fence}`, or device scope on both sides"),
    };
    Advice::with(text, edit)
}
