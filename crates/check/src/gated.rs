//! What contents would have led to that no hypothesis held.
//!
//! A clean verdict says nothing about code that did not run. Where a number keeps threads from it, the number is printed and whoever reads
//! it knows. Where contents of a buffer do that nobody said, as a flag or a state, nobody can see it. So a branch that depends on guessed
//! contents ([`Decides`]) and went one way under all hypotheses makes a clean verdict inconclusive, if threads could meet behind the other
//! way: behind it, and reached by no other way nor in another copy of a loop's body, stands a store, an atomic operation, a barrier, or a load
//! of memory that the kernel writes.

use super::decides::Decides;
use super::hypothesis::Hypothesis;
use super::prepare::Prepared;
use detect::coverage::Coverage;
use ptx::semantics::{Effect, Space};
use report::{SourcePlace, Sources, source_place};
use session::coverage::{one_way, reached};
use simt::ids::Site;
use simt::op::Op;
use simt::{Program, program::Pointer};
use std::collections::BTreeSet;

/// Code that only other contents lead to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Gated {
    /// The lines at which threads could meet there.
    pub places: BTreeSet<SourcePlace>,
    /// The buffers whose contents decide, by name.
    pub buffers: BTreeSet<String>,
}

/// What a kernel that is clean under all hypotheses could still do wrong behind contents that none of them held.
pub(crate) fn gated(
    prepared: &Prepared,
    hypothesis: &Hypothesis,
    coverage: Option<&Coverage>,
    sources: &mut Sources,
) -> Gated {
    let mut found = Gated::default();
    let Some(coverage) = coverage else {
        return found;
    };
    let guessed = hypothesis.plan.guessed_contents();
    let (build, program) = (&prepared.input.builds[0], &prepared.programs[0]);
    let closed: Vec<Site> = one_way(program, coverage).collect();
    if guessed.is_empty() || closed.is_empty() {
        return found;
    }
    let Some(decides) = Decides::of_kernel(&build.module, &prepared.entry) else {
        return found;
    };
    let warps = hypothesis.block().count().div_ceil(32) as u32;
    let ran = reached(program, coverage, warps);
    // Of a loop that was unrolled there are copies.
    let copy = |site: Site| {
        let info = program.site(site);
        (&info.lines, &info.instruction.opcode)
    };
    let sites = (0..).map(Site).zip(&ran);
    let done: Vec<_> = sites
        .filter(|(site, warps)| **warps != 0 && may_meet(program, *site))
        .map(|(site, _)| copy(site))
        .collect();
    let decided = decides.by_line(&build.ptx.text);
    for (line, parts) in &decided {
        let buffers: Vec<usize> = parts.iter().map(|part| part.0).collect();
        if !buffers.iter().any(|index| guessed.contains(index)) {
            continue;
        }
        let is_here = |site: &&Site| program.site(**site).ptx_line == *line;
        for site in closed.iter().filter(is_here) {
            let behind = behind(program, *site, &ran);
            let meets = behind.iter().filter(|site| may_meet(program, **site));
            let meets = meets.filter(|site| !done.contains(&copy(**site)));
            let places = meets.map(|site| {
                let info = program.site(*site);
                source_place(info, sources).unwrap_or_else(|| SourcePlace {
                    file: build.ptx.path.clone(),
                    line: info.ptx_line,
                })
            });
            let places: Vec<SourcePlace> = places.collect();
            if !places.is_empty() {
                let names = buffers.iter().filter(|index| guessed.contains(index));
                found
                    .buffers
                    .extend(names.map(|index| hypothesis.plan.parameters.label(*index)));
                found.places.extend(places);
            }
        }
    }
    found
}

/// The instructions behind a branch that never ran.
fn behind(program: &Program, branch: Site, ran: &[u32]) -> BTreeSet<Site> {
    let mut found = BTreeSet::new();
    let mut seen = BTreeSet::new();
    let mut waiting = Vec::new();
    let code = &program.code;
    for (at, one) in code.iter().enumerate().filter(|(_, i)| i.site == branch) {
        if let Op::Branch { target } = one.op {
            waiting.extend([at + 1, target as usize]);
        }
    }
    while let Some(at) = waiting.pop() {
        let Some(one) = code.get(at).filter(|_| seen.insert(at)) else {
            continue;
        };
        if ran.get(one.site.0 as usize).is_none_or(|warps| *warps != 0) {
            continue;
        }
        found.insert(one.site);
        match &one.op {
            Op::Branch { target } => waiting.push(*target as usize),
            Op::BranchIndexed { targets, .. } => {
                waiting.extend(targets.iter().map(|t| *t as usize))
            }
            Op::Call(call) => {
                let called = call
                    .function
                    .and_then(|f| program.functions.get(f as usize));
                waiting.extend(called.map(|f| f.start as usize));
            }
            Op::Return | Op::Exit | Op::Trap => continue,
            _ => {}
        }
        waiting.push(at + 1);
    }
    found
}

/// Whether threads may do something to each other at an instruction.
fn may_meet(program: &Program, site: Site) -> bool {
    let info = program.site(site);
    if info.instruction.synchronisation.is_some() {
        return true;
    }
    let Some(memory) = &info.instruction.memory else {
        return false;
    };
    if matches!(memory.space, Space::Param | Space::Local | Space::Const) {
        return false;
    }
    if memory.effect != Effect::Load {
        return true;
    }
    let is_store = |other: &&simt::program::SiteInfo| {
        let memory = other.instruction.memory.as_ref();
        memory.is_some_and(|m| {
            m.effect != Effect::Load && m.space != Space::Local && m.space != Space::Param
        })
    };
    let shares = |other: &simt::program::SiteInfo| {
        let all: &[Pointer] = &other.pointers;
        all.is_empty() || info.pointers.is_empty() || all.iter().any(|p| info.pointers.contains(p))
    };
    program.sites.iter().filter(is_store).any(shares)
}

impl Gated {
    /// What the verdict says, if there is something to say.
    pub fn said(&self) -> Option<String> {
        const FIRST: usize = 3;
        let first = self.places.first()?;
        let lines: Vec<String> = self
            .places
            .iter()
            .map(|place| place.line.to_string())
            .collect();
        let more = if lines.len() > FIRST { ", …" } else { "" };
        let lines = lines[..lines.len().min(FIRST)].join(", ");
        let word = if self.places.len() > 1 {
            "lines"
        } else {
            "line"
        };
        let names: Vec<String> = self
            .buffers
            .iter()
            .map(|name| format!("`{name}`"))
            .collect();
        let one = self.buffers.first()?;
        Some(format!(
            "no race, barrier or memory error in what ran, but {}:{lines}{more} {} only with contents of {} that were not found: say what it holds (`--arg {one}=…`)",
            first.file,
            if word == "line" { "runs" } else { "run" },
            names.join(", "),
        ))
    }
}
