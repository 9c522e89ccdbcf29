//! Turns a [`Finding`] into a [`Diagnostic`]: looks up the source lines, unwinds inlined calls, names the memory and
//! writes the text.

use super::help::{self, Frame, Guilty};
use super::memory::MemoryNames;
use super::source::{SourceFile, Sources, element, statement};
use super::terminal::counted;
use super::view::View;
use super::{About, Diagnostic, Label, Who};
use detect::finding::{Action, Detail, End, Finding, Place};
use detect::rules::{Level, Rule};
use ptx::source::SourceLine;
use simt::ids::{Dim3, Site};
use simt::observer::{BarrierFault, NoValue, Order, Scope};
use simt::program::SiteInfo;
use std::collections::BTreeSet;
use std::sync::Arc;

/// What a diagnostic needs to know about one launch.
#[derive(Clone, Debug)]
pub struct KernelView<'a> {
    /// The kernel's demangled name.
    pub name: String,
    /// The grid's dimensions, in blocks.
    pub grid: Dim3,
    /// The block's dimensions, in threads.
    pub block: Dim3,
    /// The kernel's instructions, indexed by [`simt::ids::Site`].
    pub sites: &'a [SiteInfo],
    /// The names of its variables and buffers.
    pub memory: MemoryNames,
    /// Its PTX, which is shown for instructions without a source line.
    pub ptx: Arc<SourceFile>,
    /// The warps in which each instruction ran, as bits, blocks taken together; empty if nobody has looked.
    pub warps: Vec<u32>,
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
    let labels = finding.ends.iter().zip(&guilty);
    let mut labels: Vec<_> = labels
        .map(|(end, one)| label(end, one, finding, &scene.steps))
        .collect();
    for one in &guilty {
        labels.extend(callers(one, &labels));
    }
    Diagnostic {
        rule: finding.rule,
        level: level(finding, kernel),
        title: title(finding, names),
        labels,
        notes: notes(finding, names, &guilty)
            .into_iter()
            .chain(kernel.and_then(|k| stale_loads(finding, k)))
            .chain(seeds_swap(finding, kernel).then(|| SEEDED.to_owned()))
            .collect(),
        help: help::help(finding, &guilty, kernel, &scene.steps),
        replay: None,
        count: finding.count,
        builds: Vec::new(),
        expected: false,
        accepted: None,
        trace: None,
        launched: None,
        about: About {
            in_shared_code: guilty.iter().any(|g| !g.in_source && g.toolkit),
            ..subject(finding, names, kernel)
        },
    }
}

fn subject(
    finding: &Finding,
    names: Option<&MemoryNames>,
    kernel: Option<&KernelView<'_>>,
) -> About {
    let region = finding.place.and_then(|place| names?.region(&place));
    let mut about = About {
        memory: region.map(|r| r.name.clone()),
        ..About::default()
    };
    if let Some(kernel) = kernel {
        let one = |end: &End| {
            let site = kernel.sites.get(end.site.0 as usize)?;
            Some((verb(end.action).into(), site.ptx_line))
        };
        let mut all: Vec<_> = finding.ends.iter().filter_map(one).collect();
        all.sort();
        about
            .instructions
            .entry(kernel.ptx.path.clone())
            .or_default()
            .insert(all);
    }
    about
}

/// The source frames of an end, innermost first; the PTX line if there are none.
fn locate(end: &End, finding: &Finding, scene: &mut Scene<'_>) -> Guilty {
    let view = match &scene.steps[end.launch as usize] {
        View::Kernel(view) => view,
        View::Host(view) => {
            let columns = view.columns();
            let text = view.source.line(view.line).unwrap_or_default();
            let text = text.get(columns.start as usize..columns.end as usize);
            return Guilty {
                instruction: text.unwrap_or_default().to_owned(),
                frames: vec![Frame {
                    file: view.source.clone(),
                    line: view.line,
                    columns,
                    function: None,
                }],
                in_source: true,
                unread: None,
                toolkit: false,
                library: false,
            };
        }
    };
    let site = &view.sites[end.site.0 as usize];
    let name = finding
        .place
        .and_then(|p| view.memory.region(&p).map(|r| r.name.clone()));
    let mut unread = None;
    let mut frames = Vec::new();
    // Code that the compiler adds has no source lines, while everything else has some.
    let lined = view.sites.iter().any(|s| !s.lines.is_empty());
    let toolkit = lined && is_of_toolkit(site);
    for line in lines_of(site, view.sites) {
        // Show the call of `atomicAdd` and the like rather than the toolkit's code behind it.
        if frames.is_empty() && of_toolkit(&line.file) {
            continue;
        }
        let file = scene.sources.find(&line.file);
        let text = file.as_ref().and_then(|f| f.line(line.line));
        let (Some(file), Some(text)) = (&file, text) else {
            unread.get_or_insert_with(|| format!("{}:{}", line.file, line.line));
            continue;
        };
        let whole = statement(text, line.column);
        let columns = match (&name, end.action, frames.is_empty()) {
            (Some(name), Action::Read, true) => element(text, &whole, name, false),
            (Some(name), Action::Write, true) => element(text, &whole, name, true),
            _ => None,
        };
        frames.push(Frame {
            file: file.clone(),
            line: line.line,
            columns: columns.unwrap_or(whole),
            function: line.function.clone(),
        });
    }
    let in_source = !frames.is_empty();
    if !in_source {
        let text = view.ptx.line(site.ptx_line).unwrap_or_default();
        frames.push(Frame {
            file: view.ptx.clone(),
            line: site.ptx_line,
            columns: instruction(text),
            function: None,
        });
    }
    Guilty {
        library: in_source && site.lines.first().is_some_and(|l| of_toolkit(&l.file)),
        frames,
        in_source,
        unread: unread.filter(|_| !in_source),
        toolkit,
        instruction: site.text.clone(),
    }
}

/// Whether all source lines of an instruction belong to the CUDA toolkit.
fn is_of_toolkit(site: &SiteInfo) -> bool {
    site.lines.iter().all(|line| of_toolkit(&line.file))
}

/// The source lines of an instruction, innermost first. For a toolkit function that was not inlined, the lines of its
/// caller follow, if it has exactly one.
fn lines_of<'s>(site: &'s SiteInfo, all: &'s [SiteInfo]) -> impl Iterator<Item = &'s SourceLine> {
    /// The maximum number of nested toolkit calls to follow.
    const DEPTH: usize = 16;
    let outer = |site: &&'s SiteInfo| {
        let caller = site.caller.filter(|_| is_of_toolkit(site))?;
        all.get(caller.0 as usize)
    };
    std::iter::successors(Some(site), outer)
        .take(DEPTH)
        .flat_map(|site| &site.lines)
}

/// The source line of an instruction that is shown: the innermost one outside the toolkit.
pub(super) fn own_line<'s>(site: &'s SiteInfo, all: &'s [SiteInfo]) -> Option<&'s SourceLine> {
    lines_of(site, all).find(|line| !of_toolkit(&line.file))
}

/// The source line of an instruction that is shown, and its file as the compiler names it.
pub fn line_of(site: &SiteInfo, all: &[SiteInfo]) -> Option<(String, u32)> {
    own_line(site, all).map(|line| (line.file.clone(), line.line))
}

/// Whether a path belongs to a header of the CUDA toolkit.
pub fn of_toolkit(path: &str) -> bool {
    let path = path.replace('\\', "/");
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", &path));
    let mut parts = folder.split('/');
    // `/usr/local/cuda-12.8/include`, `/opt/cuda/targets/x86_64-linux/include`, `site-packages/nvidia/cu13/include`. Other folders with
    // `cuda` in their names are people's own.
    let release = |part: &str, prefix: &str| {
        let rest = part.strip_prefix(prefix);
        rest.is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
    };
    let toolkit = parts.any(|part| part == "cuda" || release(part, "cuda-") || release(part, "cu"));
    let include = parts.any(|part| part == "include" || part == "cccl");
    let ends = ["_functions.hpp", "_functions.h", "_intrinsics.hpp"];
    let begins = [
        "sm_", "device_", "math_", "common_", "texture_", "surface_", "vector_",
    ];
    let known = ends.iter().any(|end| name.ends_with(end))
        && begins.iter().any(|begin| name.starts_with(begin));
    let groups = "cooperative_groups";
    include && toolkit
        || known
        || name == "cooperative_groups.h"
        || folder.split('/').any(|part| part == groups)
}

/// The byte columns of a PTX line, without indentation and semicolon.
fn instruction(line: &str) -> std::ops::Range<u32> {
    let start = line.len() - line.trim_start().len();
    start as u32..line.trim_end().trim_end_matches(';').len().max(start) as u32
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
                let number = launches(&steps[..step]);
                text += &format!(" in launch {number} (`{}`)", view.name);
            }
            (Some(who), text)
        }
    };
    text += " ";
    text += &action(end, place, steps[step].memory(), end.threads > 1);
    Label {
        source: one.frames[0].file.clone(),
        line: one.frames[0].line,
        columns: one.frames[0].columns.clone(),
        text,
        who,
        instruction: Some(one.instruction.clone()),
    }
}

/// The calls that lead to an inlined line, except those already shown.
fn callers(one: &Guilty, shown: &[Label]) -> Vec<Label> {
    let mut out: Vec<Label> = Vec::new();
    for pair in one.frames.windows(2) {
        let (inner, outer) = (&pair[0], &pair[1]);
        let here = |l: &Label| l.source.path == outer.file.path && l.line == outer.line;
        if shown.iter().any(here) || out.iter().any(here) {
            continue;
        }
        let text = match &inner.function {
            Some(function) => format!("`{}` was inlined here", short(function)),
            None => "inlined here".to_string(),
        };
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

/// A function's name without its parameters.
fn short(function: &str) -> &str {
    function.split('(').next().unwrap_or(function)
}

fn triple([x, y, z]: [u32; 3]) -> String {
    format!("({x},{y},{z})")
}

fn action(end: &End, place: Option<&Place>, names: &MemoryNames, plural: bool) -> String {
    let s = if plural { "" } else { "s" };
    let what = place.map(|p| names.describe(p)).unwrap_or_default();
    let how = match end.order {
        Some((Order::Weak, _)) | None => String::new(),
        Some((Order::Volatile, _)) => " (volatile)".to_string(),
        Some((_, scope)) => format!(" ({})", scope_name(scope)),
    };
    match end.action {
        Action::Read => format!("read{s} {what}{how}"),
        Action::Write => format!("write{s} {what}{how}"),
        Action::Atomic => format!("update{s} {what} atomically{how}"),
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
pub(super) fn scope_name(scope: Scope) -> &'static str {
    match scope {
        Scope::Cta => "block scope",
        Scope::Cluster => "cluster scope",
        Scope::Gpu => "device scope",
        Scope::Sys => "system scope",
    }
}

fn verb(action: Action) -> &'static str {
    match action {
        Action::Read => "read",
        Action::Write => "write",
        Action::Atomic => "atomic update",
        _ => "access",
    }
}

fn title(finding: &Finding, names: Option<&MemoryNames>) -> String {
    let what = |space: bool| match (&finding.place, names) {
        (Some(place), Some(names)) => {
            let name = names.describe(place);
            match space && names.region(place).is_some() {
                true => format!("{name} in {}", names.kind(place)),
                false => name,
            }
        }
        _ => "memory".to_string(),
    };
    let threads = |at: usize| finding.ends.get(at).map_or(0, |e| e.threads);
    let access = finding.ends.first().map_or("access", |e| verb(e.action));
    let bytes = finding.place.map_or(0, |p| p.bytes);
    match finding.rule {
        Rule::DataRace => match finding.ends.as_slice() {
            [later, earlier, ..] => {
                let (a, b) = (verb(earlier.action), verb(later.action));
                if help::differ_in_size(finding) {
                    return match a == b {
                        true => format!("two {a}s of different sizes overlap at {}", what(true)),
                        false => {
                            format!("{a} and {b} of different sizes overlap at {}", what(true))
                        }
                    };
                }
                match a == b {
                    true => format!("two unordered {a}s of {}", what(true)),
                    false => format!("unordered {a} and {b} of {}", what(true)),
                }
            }
            _ => format!("unordered accesses to {}", what(true)),
        },
        Rule::InsufficientScope => {
            format!(
                "{} is shared with a thread outside the scope of the access",
                what(true)
            )
        }
        Rule::NonCoherentRead => format!(
            "{} is read through the read-only cache after this launch has written it",
            what(true)
        ),
        Rule::UndefinedShuffle => {
            let use_of = match finding.ends.get(1).map(|e| e.action) {
                Some(Action::Write | Action::Atomic) => format!("is stored to {}", what(true)),
                Some(Action::Branch) => "decides a branch".to_string(),
                _ => "is used".to_string(),
            };
            format!("a shuffle returns an undefined value, which {use_of}")
        }
        Rule::InvalidBarrier => match finding.detail {
            Detail::Barrier(BarrierFault::Number(number)) => {
                format!("barrier number {number} is out of range")
            }
            Detail::Barrier(BarrierFault::Fraction(count)) => {
                format!("barrier thread count {count} is not a multiple of the warp size (32)")
            }
            Detail::Barrier(BarrierFault::TooMany { count, threads }) => {
                format!("barrier thread count {count} is larger than the block ({threads} threads)")
            }
            Detail::Barrier(BarrierFault::NoCount) => {
                "a barrier arrival without a thread count".to_string()
            }
            _ => Rule::InvalidBarrier.summary().to_string(),
        },
        Rule::LockstepAssumption => {
            format!(
                "lanes of a warp exchange data through {} without synchronising",
                what(true)
            )
        }
        Rule::UnorderedCommunication => {
            format!(
                "warps exchange data through {} in no certain order",
                what(true)
            )
        }
        Rule::SameValueWrite => format!("unordered writes of one value to {}", what(true)),
        Rule::DivergentBarrier => match threads(0) {
            0 => Rule::DivergentBarrier.summary().to_string(),
            n => format!(
                "{n} thread{} wait{} at a barrier that other threads of the block do not reach",
                if n == 1 { "" } else { "s" },
                if n == 1 { "s" } else { "" }
            ),
        },
        Rule::BarrierAfterExit => match threads(1) {
            0 => Rule::BarrierAfterExit.summary().to_string(),
            n => format!(
                "a barrier completed only because {n} thread{} had exited",
                if n == 1 { "" } else { "s" }
            ),
        },
        Rule::NoProgress => match finding.detail {
            Detail::Steps(steps) => format!(
                "the kernel has not ended after {} warp-instructions",
                super::terminal::thousands(steps)
            ),
            _ => Rule::NoProgress.summary().to_string(),
        },
        Rule::OutOfBounds => format!("{access} of {bytes} bytes outside all allocations"),
        Rule::MisalignedAccess => {
            format!("{access} of {bytes} bytes at an address that is not a multiple of {bytes}")
        }
        Rule::UninitializedRead => format!("{} is read but was never written", what(true)),
        Rule::UseAfterFree => match finding.ends.first().map(|e| e.action) {
            Some(Action::Free) => "memory is freed that was freed before".to_string(),
            _ => format!("{access} of memory that was freed"),
        },
        Rule::AssertionFailed => match &finding.detail {
            Detail::Assertion { message, .. } => format!("assertion `{message}` failed"),
            _ => Rule::AssertionFailed.summary().to_string(),
        },
        Rule::Trap => "the kernel executed `trap`".to_string(),
        Rule::InvalidCall => match &finding.detail {
            Detail::Call(why) => why.to_string(),
            _ => "`free` of an address that `malloc` did not return".to_string(),
        },
        Rule::BankConflict => match finding.detail {
            Detail::Banks { degree, .. } => format!("{degree}-way bank conflict"),
            _ => Rule::BankConflict.summary().to_string(),
        },
        Rule::WarpSyncMask
        | Rule::Deadlock
        | Rule::UncoalescedAccess
        | Rule::DivergentBranch
        | Rule::InvalidApiUse
        | Rule::UncheckedError
        | Rule::Leak
        | Rule::NondeterministicResult => finding.rule.summary().to_string(),
    }
}

fn notes(finding: &Finding, names: Option<&MemoryNames>, guilty: &[Guilty]) -> Vec<String> {
    let mut notes = Vec::new();
    match &finding.detail {
        Detail::None | Detail::Steps(_) | Detail::Exited | Detail::Call(_) | Detail::OtherWarps | Detail::Pointer { .. } | Detail::NotAcquired(_) => {}
        Detail::Source { lane, from, members, why } => notes.push(match why {
            NoValue::LeftOut => format!("lane {} reads from lane {}, which is not in the mask {members:#010x}", lane.0, from.0),
            NoValue::NoThread => format!("lane {} reads from lane {}, which the block does not have", lane.0, from.0),
        }),
        Detail::Barrier(fault) => notes.push(match fault {
            BarrierFault::Number(_) => "a block has barriers 0 to 15".to_string(),
            BarrierFault::Fraction(_) => "the simulator rounds the count up to whole warps and continues".to_string(),
            BarrierFault::TooMany { .. } => "the barrier can never complete".to_string(),
            BarrierFault::NoCount => "the simulator assumes all threads of the block and continues".to_string(),
        }),
        Detail::Masks { members, lanes } => notes.push(match finding.ends.get(1).map(|e| e.action) {
            None => format!("the mask is {members:#010x}; lanes {lanes:#010x} execute the operation but are not in the mask"),
            Some(Action::Sync) => format!("lanes {lanes:#010x} use the mask {members:#010x}; the other lanes use a different one"),
            Some(_) => format!("the mask is {members:#010x}; lanes {lanes:#010x} are in the mask but never execute the operation"),
        }),
        Detail::Banks { requests, wavefronts, .. } => notes.push(format!(
            "{requests} requests took {wavefronts} passes, {} more than without conflicts",
            wavefronts.saturating_sub(*requests)
        )),
        Detail::Sectors { requests, sectors, ideal } => notes.push(format!(
            "{requests} requests moved {sectors} sectors of 32 bytes; their data would fit in {ideal}"
        )),
        Detail::Branches { executed, divergent } => notes.push(format!(
            "{divergent} of {executed} executions split the warp"
        )),
        Detail::Assertion { file, line, function, .. } => notes.push(match function.is_empty() {
            true => format!("asserted at {file}:{line}"),
            false => format!("asserted at {file}:{line}, in `{function}`"),
        }),
        Detail::Text(text) => notes.push(text.clone()),
    }
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
        notes.push(
            "the PTX has no source lines; compile it with `-lineinfo` to see them".to_string(),
        );
    }
    notes.dedup();
    notes
}

/// Said of a race of such a read.
const SEEDED: &str = "the value read is only what a compare-and-swap begins with, and that finds out whether it is old; by the memory model the plain \
     read is a race all the same";

/// Whether the read of a race is one whose value is only what a compare-and-swap begins with.
pub(crate) fn seeds_swap(finding: &Finding, view: Option<&KernelView<'_>>) -> bool {
    let atomic = |end: &End| end.action == Action::Atomic;
    let seeds = |end: &End| {
        let site = view.and_then(|view| view.sites.get(end.site.0 as usize));
        end.action == Action::Read && site.is_some_and(|site| site.seeds_swap)
    };
    finding.rule == Rule::DataRace
        && finding.ends.iter().any(seeds)
        && finding.ends.iter().all(|end| atomic(end) || seeds(end))
}

/// How bad a finding is.
fn level(finding: &Finding, view: Option<&KernelView<'_>>) -> Level {
    match seeds_swap(finding, view) {
        true => finding.rule.level().min(Level::Warning),
        false => finding.rule.level(),
    }
}

/// Names the loads that returned an overwritten value. The finding may depend on them.
fn stale_loads(finding: &Finding, view: &KernelView<'_>) -> Option<String> {
    let lines = finding.stale_loads.iter().filter_map(|site| {
        let lines = &view.sites.get(site.0 as usize)?.lines;
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
         put `__threadfence()` (`fence.sc`) on both sides between a thread's write and its read of the other thread's \
         location, or acquire what the other thread released after its write"
    ))
}

/// Addresses so near to 0 are told as a null pointer and an offset.
const NULL_PAGE: u64 = 64 << 10;

/// Describes where an out-of-bounds access lies, and how the memory is declared.
fn about(finding: &Finding, place: &Place, names: &MemoryNames) -> Option<String> {
    if let Some(region) = names.region(place) {
        let declaration = region.declaration.as_ref()?;
        return Some(format!("`{}` is declared `{declaration}`", region.name));
    }
    let outside = matches!(finding.rule, Rule::OutOfBounds | Rule::MisalignedAccess);
    if !outside {
        return None;
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
    if let Some(before) = region.start.checked_sub(place.address).filter(|b| *b > 0) {
        let element = region.element.unwrap_or(place.bytes).max(1);
        let index = before.div_ceil(u64::from(element));
        let whole = before.is_multiple_of(u64::from(element)) && region.dims.len() < 2;
        let to = match whole {
            true => format!("would be to `{}[-{index}]`", region.name),
            false => "starts".to_owned(),
        };
        return Some(format!(
            "`{}` has {}; the access {to}, {} before `{}`",
            region.name,
            counted(bytes, "byte"),
            counted(before, "byte"),
            region.name
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

#[cfg(test)]
mod tests {
    use super::{lines_of, of_toolkit};
    use ptx::source::SourceLine;
    use simt::ids::Site;
    use simt::program::SiteInfo;

    fn site(file: Option<&str>, caller: Option<u32>) -> SiteInfo {
        let line = |file: &str| SourceLine {
            file: file.into(),
            line: 7,
            column: 1,
            function: None,
        };
        SiteInfo {
            lines: file.map(line).into_iter().collect(),
            caller: caller.map(Site),
            ..SiteInfo::default()
        }
    }

    #[test]
    fn functions_of_the_toolkit_are_shown_by_their_only_caller() {
        let header = "cuda/include/device_atomic_functions.hpp";
        let sites = [
            site(None, Some(1)),
            site(Some(header), Some(2)),
            site(Some("k.cu"), Some(3)),
            site(Some("other.cu"), None),
            site(Some(header), None),
        ];
        let files = |at: usize| -> Vec<&str> {
            let lines = lines_of(&sites[at], &sites);
            lines.map(|l| l.file.as_str()).collect()
        };
        assert_eq!(files(0), [header, "k.cu"]);
        assert_eq!(
            files(2),
            ["k.cu"],
            "a function of one's own is a place itself"
        );
        assert_eq!(files(4), [header], "called from several lines");
    }

    #[test]
    fn headers_of_the_toolkit_are_known() {
        for path in [
            "/usr/local/cuda/include/sm_60_atomic_functions.hpp",
            "/p/.toolchain/cuda/include/cccl/cuda/std/atomic",
            "/site/nvidia/cu13/include/cooperative_groups/details/sync.h",
            "device_atomic_functions.hpp",
            "C:\\CUDA\\v13.0\\include\\crt\\device_functions.h",
        ] {
            assert!(of_toolkit(path), "{path}");
        }
        for path in [
            "kernel.cu",
            "include/lookup.h",
            "/home/me/cuda/kernel.cu",
            "/home/me/cuda-course/include/put.cuh",
            "/home/me/mycuda/include/put.cuh",
            "include/my_functions.h",
            "/home/me/cooperative_groups_test/k.cu",
        ] {
            assert!(!of_toolkit(path), "{path}");
        }
    }
}
