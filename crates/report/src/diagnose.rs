//! Turns a [`Finding`] into a [`Diagnostic`]: looks up the source lines, unwinds inlined calls, names the memory and
//! writes the text.

mod place;
mod wording;

use super::consequence;
use super::finding_view::{FindingView, noun};
use super::function_name;
use super::help::{self, Advice, Guilty};
use super::language::Language;
use super::memory::{MemoryNames, Region};
use super::rules;
use super::source::{SourceFile, Sources};
use super::view::View;
use super::{About, Diagnostic, Label, Location, NoChange, Who};
use detect::finding::{Action, Detail, End, Finding, Place};
use detect::rules::{Level, Rule};
use place::locate;
use simt::Program;
use simt::ids::{Dim3, Site};
use simt::memory::GLOBAL_BASE;
use simt::observer::Space;
use simt::program::SiteInfo;
use std::sync::Arc;
use wording::{action, notes, short, triple};

/// What a diagnostic needs to know about one launch.
#[derive(Clone, Debug)]
pub struct KernelView<'a> {
    /// The kernel's demangled name.
    pub name: String,
    /// The grid's dimensions, in blocks.
    pub grid: Dim3,
    /// The block's dimensions, in threads.
    pub block: Dim3,
    /// Its code.
    pub program: &'a Program,
    /// The kernel's instructions, indexed by [`simt::ids::Site`].
    pub sites: &'a [SiteInfo],
    /// The names of its variables and buffers.
    pub memory: MemoryNames,
    /// Its PTX, which is shown for instructions without a source line.
    pub ptx: Arc<SourceFile>,
    /// The warps in which each instruction ran, as bits, blocks taken together; empty if nobody has looked.
    pub warps: Vec<u32>,
    /// The launch's number in its program, if the program counts them.
    pub number: Option<u64>,
    /// What the source was compiled with: `NAME` or `NAME=VALUE`.
    pub defines: Vec<String>,
}

impl KernelView<'_> {
    /// The warps of a block in which an instruction ran, if that is known.
    pub(crate) fn warps_at(&self, site: Site) -> Option<u32> {
        self.warps.get(site.0 as usize).copied()
    }
}

/// Everything that the findings of one session refer to.
#[derive(Debug)]
pub struct Scene<'a> {
    /// The launches and the other steps of the host program, indexed by step number.
    pub steps: Vec<View<'a>>,
    /// The source files.
    pub sources: &'a mut Sources,
}

/// Turns a finding into a diagnostic.
///
/// # Panics
///
/// If an end names a launch or a site that the scene does not have.
pub fn diagnose(finding: &Finding, scene: &mut Scene<'_>) -> Diagnostic {
    let guilty: Vec<Guilty> = finding
        .ends
        .iter()
        .map(|end| locate(end, finding, scene))
        .collect();
    let first = finding.ends.first().map_or(0, |end| end.launch as usize);
    let views = scene.steps.get(first).into_iter();
    let ends = finding.ends.iter().map(|end| end.launch as usize);
    let kernel = ends
        .filter_map(|step| scene.steps.get(step)?.kernel())
        .next();
    // Prefer a kernel's view: it also has the declarations.
    let names = kernel.map(|k| &k.memory).or(views.map(View::memory).next());
    let mut labels: Vec<_> = running_together(&finding.ends, &guilty)
        .iter()
        .map(|(end, one)| label(end, one, finding, &scene.steps))
        .collect();
    for one in &guilty {
        labels.extend(callers(one, &labels));
    }
    let language = guilty.first().map(|one| Language::of(&one.frames[0].file));
    let view = FindingView {
        finding,
        guilty: &guilty,
        kernel,
        names,
        language: language.unwrap_or(Language::Cuda),
    };
    let text = rules::text(finding.rule);
    let mitigated = (text.mitigated)(&view).is_some();
    let advice = advice(&view, &scene.steps);
    let barrier = advice.as_ref().and_then(|advice| advice.barrier);
    let (help, change) = match advice {
        Some(advice) => (Some(advice.text), advice.change),
        None => (None, Err(None)),
    };
    let (edit, no_change) = match change {
        Ok(edit) => (Some(edit), None),
        Err(why) => (None, Some(why.unwrap_or(text.no_change))),
    };
    Diagnostic {
        rule: finding.rule,
        level: match mitigated {
            true => finding.rule.level().min(Level::Warning),
            false => finding.rule.level(),
        },
        title: (text.title)(&view).unwrap_or_else(|| finding.rule.summary().to_owned()),
        labels,
        notes: notes(&view, text),
        help,
        edit,
        no_change,
        replay: None,
        count: finding.count,
        builds: Vec::new(),
        expected: false,
        accepted: None,
        trace: None,
        launched: None,
        about: About {
            in_shared_code: guilty.iter().any(|g| !g.in_source && g.toolkit),
            function: function(&guilty, kernel),
            missing_barrier: barrier.map(Into::into),
            ..subject(finding, names, &guilty, kernel)
        },
    }
}

/// What is to be done: by the host, if the ends are of several operations; otherwise as the rule says.
fn advice(view: &FindingView<'_>, steps: &[View<'_>]) -> Option<Advice> {
    let several = view.pair().filter(|pair| {
        pair.later.launch != pair.earlier.launch && view.finding.rule != Rule::MissingDependencyWait
    });
    match several {
        Some(pair) => {
            help::unordered(&pair, steps).map(|text| Advice::explained(NoChange::Host, text))
        }
        None => (rules::text(view.finding.rule).help)(view),
    }
}

/// The function that all guilty places are in: the one that was inlined, or the kernel.
fn function(guilty: &[Guilty], kernel: Option<&KernelView<'_>>) -> Option<String> {
    let own = |one: &Guilty| match &one.frames.first()?.function {
        Some(inlined) => Some(short(inlined).to_owned()),
        None => Some(short(&kernel?.name).to_owned()),
    };
    let first = own(guilty.first()?)?;
    let all = guilty.iter().all(|one| own(one).as_ref() == Some(&first));
    all.then_some(first)
}

fn subject(
    finding: &Finding,
    names: Option<&MemoryNames>,
    guilty: &[Guilty],
    kernel: Option<&KernelView<'_>>,
) -> About {
    let region = finding.place.and_then(|place| names?.region(&place));
    let mut about = About {
        memory: region.map(|r| r.name.clone()),
        location: finding.place.map(|place| location(place, region)),
        ..About::default()
    };
    if let Some(kernel) = kernel {
        let one = |end: &End| {
            let site = kernel.sites.get(end.site.0 as usize)?;
            Some((noun(end.action).into(), site.ptx_line))
        };
        let mut all: Vec<_> = finding.ends.iter().filter_map(one).collect();
        all.sort();
        about
            .instructions
            .entry(kernel.ptx.path.clone())
            .or_default()
            .insert(all);
        consequence::trace_back(&mut about, finding, guilty, kernel);
    }
    about
}

/// Where the memory lies, in words and numbers of the kernel's.
fn location(place: Place, region: Option<&Region>) -> Location {
    let (space, base) = match place.space {
        Space::Global => ("global", GLOBAL_BASE),
        Space::Shared => ("shared", 0),
        Space::Local => ("local", 0),
        Space::Const => ("const", 0),
        Space::Param => ("param", 0),
    };
    Location {
        space: space.into(),
        address: match place.mapped {
            true => place.address.wrapping_add(base),
            false => place.address,
        },
        bytes: place.bytes,
        element: region.map(|region| region.element_at(place.address, place.bytes)),
    }
}

/// The ends, each with its place: threads of a block that run for ever in one place of the source count together, whichever of its
/// instructions they were at.
fn running_together<'a>(ends: &[End], guilty: &'a [Guilty]) -> Vec<(End, &'a Guilty)> {
    let mut all: Vec<(End, &Guilty)> = Vec::new();
    for (end, one) in ends.iter().zip(guilty) {
        let place = |g: &Guilty| {
            let frame = &g.frames[0];
            (frame.file.path.clone(), frame.line, frame.columns.clone())
        };
        let same = |(other, theirs): &&mut (End, &Guilty)| {
            end.action == Action::Run
                && (other.action, other.launch, other.block) == (end.action, end.launch, end.block)
                && place(theirs) == place(one)
        };
        match all.iter_mut().find(same) {
            Some((other, _)) => {
                other.threads += end.threads;
                other.thread = other.thread.min(end.thread);
            }
            None => all.push((*end, one)),
        }
    }
    all
}

fn label(end: &End, one: &Guilty, finding: &Finding, steps: &[View<'_>]) -> Label {
    let step = end.launch as usize;
    let place = finding.place.as_ref();
    let (who, mut text) = match &steps[step] {
        View::Host(view) => (None, view.who.clone()),
        View::Kernel(view) => {
            let who = Who {
                thread: view.block.coordinates(end.thread.0),
                block: view.grid.coordinates(end.block.0),
                threads: end.threads,
            };
            let mut text = match end.threads {
                0 | 1 => format!("thread {}", triple(who.thread)),
                more => format!("{more} threads ({} the first)", triple(who.thread)),
            };
            text += &format!(" of block {}", triple(who.block));
            let launches = |steps: &[View<'_>]| steps.iter().filter_map(View::kernel).count();
            if launches(steps) > 1 {
                let number = view.number.unwrap_or(launches(&steps[..step]) as u64);
                text += &format!(
                    " in launch {number} (`{}`)",
                    function_name::readable(&view.name)
                );
            }
            (Some(who), text)
        }
    };
    text += " ";
    let reads = copy_reads(end, finding);
    text += &action(end, place, steps[step].memory(), end.threads > 1, reads);
    Label {
        source: one.frames[0].file.clone(),
        line: one.frames[0].line,
        columns: one.frames[0].columns.clone(),
        text,
        who,
        instruction: Some(one.instruction.clone()),
    }
}

/// Whether an end that is a copy reads the memory that the finding is about.
fn copy_reads(end: &End, finding: &Finding) -> bool {
    match (&finding.detail, finding.rule) {
        (Detail::CopyReads([here, there]), _) => {
            let first = finding.ends.first();
            let is_first = first.is_some_and(|e| (e.site, e.action) == (end.site, end.action));
            if is_first { *here } else { *there }
        }
        (_, Rule::AsyncCopyHazard) => false,
        _ => finding.place.is_none_or(|p| p.space != Space::Shared),
    }
}

/// The calls that lead to an inlined line, except those already shown. Of many, the outermost: they are the reader's own.
fn callers(one: &Guilty, shown: &[Label]) -> Vec<Label> {
    const MANY: usize = 4;
    const OUTERMOST: usize = 2;
    let mut out: Vec<Label> = Vec::new();
    let calls = one.frames.len().saturating_sub(1);
    let inside = if calls > MANY { calls - OUTERMOST } else { 0 };
    for (index, pair) in one.frames.windows(2).enumerate().skip(inside) {
        let (inner, outer) = (&pair[0], &pair[1]);
        let here = |l: &Label| l.source.path == outer.file.path && l.line == outer.line;
        if shown.iter().any(here) || out.iter().any(here) {
            continue;
        }
        let mut text = match &inner.function {
            Some(function) => format!("`{}` was inlined here", function_name::short(function)),
            None => "inlined here".to_string(),
        };
        if inside > 0 && index == inside {
            text += &format!(", with {inside} more calls inside");
        }
        out.push(Label {
            source: outer.file.clone(),
            line: outer.line,
            columns: outer.columns.clone(),
            text,
            who: None,
            instruction: None,
        });
    }
    out
}
