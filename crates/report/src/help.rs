//! The `help:` line of each rule: which barrier, scope or mask to use, and at which lines.

use super::memory::Region;
use super::source::SourceFile;
use super::{KernelView, View};
use detect::finding::{Action, Detail, End, Finding};
use detect::rules::Rule;
use simt::BadCall;
use simt::observer::{BarrierFault, Scope, Space};
use std::ops::Range;
use std::sync::Arc;

/// A source line on the call path of an instruction.
#[derive(Clone, Debug)]
pub(super) struct Frame {
    pub file: Arc<SourceFile>,
    pub line: u32,
    pub columns: Range<u32>,
    /// The function that the line belongs to, if it was inlined.
    pub function: Option<String>,
}

/// One end of a finding with its frames, innermost first. There is always at least one.
#[derive(Clone, Debug)]
pub(super) struct Guilty {
    pub frames: Vec<Frame>,
    /// Whether the frames are source lines; otherwise there is one PTX line.
    pub in_source: bool,
    /// The source line that could not be read.
    pub unread: Option<String>,
    /// Whether the instruction itself is in a toolkit function.
    pub toolkit: bool,
    pub instruction: String,
}

impl Guilty {
    fn place(&self) -> String {
        format!("line {}", self.frames[0].line)
    }

    /// Whether its file uses barriers for parts of a block, so that a block-wide barrier may not fit.
    fn named_barriers(&self) -> bool {
        let text = &self.frames[0].file.text;
        self.in_source && (text.contains("bar.arrive") || text.contains("barrier.arrive"))
    }

    fn statement(&self) -> &str {
        let frame = &self.frames[0];
        let line = frame.file.line(frame.line).unwrap_or_default();
        let start = frame.columns.start as usize;
        line.get(start..)
            .unwrap_or_default()
            .split("//")
            .next()
            .unwrap_or_default()
    }
}

/// The `help:` line for a finding.
pub(super) fn help(
    finding: &Finding,
    guilty: &[Guilty],
    view: Option<&KernelView<'_>>,
    steps: &[View<'_>],
) -> Option<String> {
    if let [later, earlier, ..] = finding.ends.as_slice()
        && later.launch != earlier.launch
    {
        return unordered(earlier, later, guilty, steps);
    }
    let at = |index: usize| {
        guilty
            .get(index)
            .map_or_else(|| "this line".to_string(), Guilty::place)
    };
    Some(match finding.rule {
        Rule::DataRace => return race(finding, guilty, view),
        Rule::InsufficientScope => return scope(finding, guilty),
        Rule::LockstepAssumption if same_line(guilty.first()?, guilty.get(1)?) => format!(
            "split {}: read into a register, call `__syncwarp()`, then write; or use one atomic operation",
            at(0)
        ),
        Rule::LockstepAssumption if finding.detail == Detail::OtherWarps => format!(
            "put `__syncthreads()` {}: other warps take part, too",
            between(guilty.get(1)?, guilty.first()?)
        ),
        Rule::UnorderedCommunication => return communication(finding, guilty, view),
        Rule::SameValueWrite => format!(
            "let one thread write it at {}, or use an atomic operation such as `atomicOr` or `atomicExch`",
            at(0)
        ),
        Rule::LockstepAssumption => {
            format!(
                "put `__syncwarp()` {}",
                between(guilty.get(1)?, guilty.first()?)
            )
        }
        Rule::DivergentBarrier => divergent(finding, guilty),
        Rule::BarrierAfterExit => match guilty.get(1) {
            Some(_) => format!(
                "let all threads of the block reach {}: put the work in a condition instead of leaving at {}",
                at(0),
                at(1)
            ),
            None => format!("let all threads of the block reach {}", at(0)),
        },
        Rule::WarpSyncMask => match finding.ends.get(1).map(|e| e.action) {
            None => format!(
                "include every lane that executes {} in the mask: compute it before the branch with `mask = __ballot_sync(0xffffffff, condition)`",
                at(0)
            ),
            Some(Action::Exit) => format!(
                "let no lane exit before {}, or compute the mask of the remaining lanes before any lane exits: `mask = __ballot_sync(0xffffffff, condition)`",
                at(0)
            ),
            Some(_) => format!(
                "move the operation at {} out of the condition, or compute the mask before the branch: `mask = __ballot_sync(0xffffffff, condition)`",
                at(0)
            ),
        },
        Rule::NonCoherentRead => {
            let read = guilty.first()?;
            let frame = &read.frames[0];
            let line = frame.file.line(frame.line).unwrap_or_default();
            match read.in_source && line.contains("__ldg") {
                true => format!(
                    "read it without `__ldg` at {}, or write it in an earlier launch; a barrier does not help",
                    at(0)
                ),
                false => format!(
                    "remove `const` or `__restrict__` from the pointer that {} reads through, and any `__ldg`; or write the memory in an earlier launch; a barrier does not help",
                    at(0)
                ),
            }
        }
        Rule::UndefinedShuffle => format!(
            "include every source lane in the mask at {} and let all of them execute it; or use the result only in lanes whose source is in the mask",
            at(0)
        ),
        Rule::InvalidBarrier => match finding.detail {
            Detail::Barrier(BarrierFault::Number(_)) => {
                format!("use a barrier number from 0 to 15 at {}", at(0))
            }
            Detail::Barrier(BarrierFault::Fraction(count)) => format!(
                "use a thread count of {} at {}, and let whole warps arrive",
                count.div_ceil(32) * 32,
                at(0)
            ),
            _ => format!(
                "state the number of threads that reach the barrier at {}",
                at(0)
            ),
        },
        Rule::Deadlock => format!(
            "{} waits for threads that are themselves waiting: let all threads take part in the barrier, or move it out of the condition",
            at(0)
        ),
        Rule::AssertionFailed => format!(
            "find out which value breaks the condition at {}; if another finding is about it, mend that first",
            at(0)
        ),
        Rule::Trap => format!(
            "see what leads to {}: the code or a library stops the launch there on purpose",
            at(0)
        ),
        Rule::InvalidCall => match &finding.detail {
            Detail::Call(BadCall::Null | BadCall::NoFunction(_)) => format!(
                "make sure that the pointer that {} calls through is set on every path, to a function of this module",
                at(0)
            ),
            Detail::Call(BadCall::NoBody(name)) => format!(
                "compile the file that defines `{name}` together with this one (`racetrap check a.cu b.cu`, or `#include` it)"
            ),
            Detail::Call(BadCall::StackOverflow(_)) => format!(
                "check that the recursion at {} ends for every input; or use a loop with a stack of its own",
                at(0)
            ),
            _ => format!("pass to `free` at {} exactly what `malloc` returned", at(0)),
        },
        Rule::NoProgress => format!(
            "check that the loop at {} changes its condition, and that it does not wait for a value from a thread that is waiting itself; `--max-steps` raises the budget",
            at(0)
        ),
        Rule::OutOfBounds => {
            let place = finding.place?;
            let before = |r: &Region| place.address < r.start;
            match view
                .and_then(|v| v.memory.meant(finding))
                .is_some_and(before)
            {
                true => format!("guard {} with `if (index >= 0)`", at(0)),
                false => format!(
                    "guard {} with `if (index < n)`, or allocate more elements",
                    at(0)
                ),
            }
        }
        Rule::MisalignedAccess => format!(
            "align the address at {} to a multiple of the access size",
            at(0)
        ),
        Rule::UninitializedRead => match finding.place.map(|p| p.space) {
            Some(Space::Shared) => format!("write it and call `__syncthreads()` before {}", at(0)),
            _ => format!("write it before {}", at(0)),
        },
        Rule::UseAfterFree => match finding.ends.first()?.action {
            Action::Free => format!("let only one thread free it, once, at {}", at(0)),
            _ => format!("free it after {}", at(0)),
        },
        Rule::BankConflict => format!(
            "pad the rows of the array by one element, or let neighbouring lanes access neighbouring words at {}",
            at(0)
        ),
        Rule::UncoalescedAccess => format!(
            "let neighbouring lanes access neighbouring addresses at {}",
            at(0)
        ),
        Rule::DivergentBranch => format!(
            "make the condition at {} the same for all lanes of a warp",
            at(0)
        ),
        // Of whole programs, whose findings say themselves what to do.
        Rule::InvalidApiUse | Rule::UncheckedError | Rule::Leak | Rule::NondeterministicResult => {
            return None;
        }
    })
}

/// Two operations of the host program that nothing orders.
fn unordered(earlier: &End, later: &End, guilty: &[Guilty], steps: &[View<'_>]) -> Option<String> {
    let ([b, a, ..], Some(first), Some(second)) = (
        guilty,
        steps.get(earlier.launch as usize),
        steps.get(later.launch as usize),
    ) else {
        return None;
    };
    let is_host = |view: &View<'_>| matches!(view, View::Host(view) if view.is_host_itself());
    let name = |view: &View<'_>, one: &Guilty| match view {
        View::Kernel(kernel) => format!(
            "the launch of `{}`",
            kernel.name.split('(').next().unwrap_or_default()
        ),
        View::Host(_) => format!("the step at {}", one.place()),
    };
    let (first_name, second_name) = (name(first, a), name(second, b));
    Some(if is_host(second) {
        format!(
            "let the host wait for {first_name} before {second_name}: call `cudaStreamSynchronize` for its stream, or `cudaEventSynchronize` for an event recorded after it"
        )
    } else if is_host(first) {
        format!("let the host perform {first_name} before it issues {second_name}")
    } else {
        format!(
            "put both on one stream; or record an event after {first_name} (`cudaEventRecord`) and let the other stream wait for it (`cudaStreamWaitEvent`) before {second_name}"
        )
    })
}

/// Whether a statement such as `hist[bin]++` or `x += 1` reads one memory operand and writes it back.
fn updates_one(statement: &str, region: Option<&str>) -> bool {
    let places = |name: &str| statement.matches(&format!("{name}[")).count();
    // The first subscripted name, which may differ from the memory's own name.
    let target = statement.split('[').next().unwrap_or_default();
    let target = target
        .rsplit(|c: char| !c.is_alphanumeric() && c != '_')
        .next()
        .unwrap_or_default();
    let once =
        region.is_none_or(|name| places(name) <= 1) && (target.is_empty() || places(target) <= 1);
    once && ["++", "--", "+=", "-=", "|=", "&=", "^=", "*="]
        .iter()
        .any(|o| statement.contains(o))
}

fn same_line(a: &Guilty, b: &Guilty) -> bool {
    let (a, b) = (&a.frames[0], &b.frames[0]);
    a.line == b.line && a.file.path == b.file.path
}

fn race(finding: &Finding, guilty: &[Guilty], view: Option<&KernelView<'_>>) -> Option<String> {
    let ([later, earlier, ..], [b, a, ..]) = (finding.ends.as_slice(), guilty) else {
        return None;
    };
    let place = finding.place?;
    let region = view
        .and_then(|v| v.memory.region(&place))
        .map(|r| r.name.as_str());
    let same_line =
        a.frames[0].line == b.frames[0].line && a.frames[0].file.path == b.frames[0].file.path;
    if let Some(plain) = half_atomic(earlier, later) {
        let end = if plain { b } else { a };
        let place = end.place();
        return Some(if earlier.block == later.block && !same_line {
            format!(
                "{place} is a plain access, but the other one is atomic: make it atomic too, or put `__syncthreads()` {}",
                between(a, b)
            )
        } else {
            format!("{place} is a plain access, but the other one is atomic: make it atomic too")
        });
    }
    if differ_in_size(finding) {
        let lines = match same_line {
            true => format!("let {}", a.place()),
            false => format!("let both {} and {}", a.place(), b.place()),
        };
        return Some(format!(
            "two accesses are atomic to each other only if they cover the same bytes: {lines} use the same type for this memory, or give each type its own memory"
        ));
    }
    let writes = [earlier, later].iter().all(|e| e.action == Action::Write);
    if a.in_source && same_line && updates_one(a.statement(), region) {
        return Some(format!(
            "make the update at {} atomic with `atomicAdd(&…, …)`, or give each thread its own element",
            a.place()
        ));
    }
    if earlier.block != later.block {
        return Some(if same_line && writes {
            format!(
                "give each block its own element at {}, or let only one block write it",
                a.place()
            )
        } else if same_line {
            format!(
                "the blocks of a launch run in any order: let {} read one buffer and write another",
                a.place()
            )
        } else {
            format!(
                "the blocks of a launch run in any order: split the kernel into two launches {}; or pass the data with an atomic flag, calling `__threadfence()` before setting the flag and after seeing it set",
                between(a, b)
            )
        });
    }
    if same_line && writes {
        return Some(format!(
            "let only one thread write it, or give each thread its own element at {}",
            a.place()
        ));
    }
    let warp = earlier.thread.warp() == later.thread.warp();
    let small = view.is_some_and(|v| v.block.count() <= 32);
    let barrier = match (warp, small) {
        (true, true) => "`__syncwarp()`",
        (true, false) => {
            "`__syncthreads()` (or `__syncwarp()` if only lanes of one warp share the data)"
        }
        _ => "`__syncthreads()`",
    };
    if same_line && a.frames.len() == 1 && b.frames.len() == 1 {
        return Some(format!(
            "split {}: read into a register, put {barrier} after the read, then write, and put another barrier before the next read",
            a.place()
        ));
    }
    if a.named_barriers() {
        return Some(format!(
            "make one side wait for the other at a barrier that both reach, {}",
            between(a, b)
        ));
    }
    let elsewhere = match view {
        Some(v) if place.space == Space::Global && v.grid.count() > 1 => {
            "; if other blocks access it too, use an atomic operation"
        }
        _ => "",
    };
    Some(format!("put {barrier} {}{elsewhere}", between(a, b)))
}

/// What orders data that passes between warps through strong accesses.
fn communication(
    finding: &Finding,
    guilty: &[Guilty],
    view: Option<&KernelView<'_>>,
) -> Option<String> {
    let ([later, earlier, ..], [b, a, ..]) = (finding.ends.as_slice(), guilty) else {
        return None;
    };
    let shared = finding.place?.space == Space::Shared;
    if shared || view.is_some_and(|v| v.grid.count() == 1) {
        return Some(match same_line(a, b) {
            true => format!(
                "split {}: read into a register, call `__syncthreads()`, then write, and call `__syncthreads()` again before the next read; `volatile` and relaxed accesses order nothing",
                a.place()
            ),
            false => format!(
                "put `__syncthreads()` {}; `volatile` and relaxed accesses order nothing",
                between(a, b)
            ),
        });
    }
    let (write, read) = match later.action {
        Action::Read => (a, b),
        _ => (b, a),
    };
    let fence = match earlier.block == later.block {
        true => "`__threadfence_block()`",
        false => "`__threadfence()`",
    };
    Some(format!(
        "order the two with a flag or a lock: call {fence} after the write at {} before the flag is set, and after the flag is seen before the read at {}; or use `cuda::atomic_ref` with release and acquire",
        write.place(),
        read.place()
    ))
}

/// Whether both racing accesses are strong. Two strong accesses race only if they overlap without covering the same bytes
/// (PTX ISA, "Morally strong operations").
pub(super) fn differ_in_size(finding: &Finding) -> bool {
    let strong = |end: &End| end.order.is_some_and(|(order, _)| order.is_strong());
    finding.rule == Rule::DataRace
        && finding.ends.len() == 2
        && finding.ends.iter().all(strong)
        && finding.ends[0].launch == finding.ends[1].launch
}

/// `Some` if exactly one end is atomic; true if the later one is the plain one.
fn half_atomic(earlier: &End, later: &End) -> Option<bool> {
    let atomic = |end: &End| end.action == Action::Atomic;
    match (atomic(earlier), atomic(later)) {
        (true, false) => Some(true),
        (false, true) => Some(false),
        _ => None,
    }
}

/// Words that indicate a block or warp barrier in a source line.
const BARRIERS: [&str; 6] = [
    "__syncthreads",
    "__syncwarp",
    ".sync(",
    "bar.sync",
    "barrier",
    "sync(",
];

/// Where to put a barrier that orders `earlier` before `later`.
///
/// Compares the outermost frames that differ, so that two inlined helpers are told apart by the lines that call them. If a
/// barrier already stands between the two lines, or the earlier access is on the later line, a loop leads from one access
/// to the other.
fn between(earlier: &Guilty, later: &Guilty) -> String {
    let mut pairs = earlier.frames.iter().rev().zip(later.frames.iter().rev());
    let Some((a, b)) = pairs
        .find(|(a, b)| (&a.file.path, a.line) != (&b.file.path, b.line))
        .or_else(|| earlier.frames.first().zip(later.frames.first()))
    else {
        return "between the two".to_string();
    };
    if a.file.path != b.file.path {
        return format!(
            "between line {} of {} and line {} of {}",
            a.line, a.file.path, b.line, b.file.path
        );
    }
    let (first, last) = (a.line.min(b.line), a.line.max(b.line));
    if first == last {
        return format!("between one execution of line {first} and the next");
    }
    let barred = barred(&a.file, first, last, a.line > b.line);
    let looped = in_loop(&a.file, first) && in_loop(&a.file, last);
    if barred && looped {
        format!("after line {last}, before line {first} runs again")
    } else if a.line > b.line && looped {
        format!(
            "between line {first} and line {last}, and after line {last} before the next iteration of the loop"
        )
    } else {
        format!("between line {first} and line {last}")
    }
}

/// Whether a barrier stands between two lines.
///
/// A barrier under an `#if` that encloses neither line may have been compiled out. If the later access is on the later line,
/// it was: otherwise the two accesses would be ordered. `backwards` means that the later access is on the earlier line.
fn barred(file: &SourceFile, first: u32, last: u32, backwards: bool) -> bool {
    let mut conditions = 0;
    (first + 1..last).any(|line| {
        let text = file.line(line).unwrap_or_default();
        let code = text.split("//").next().unwrap_or_default().trim();
        if code.starts_with("#if") {
            conditions += 1;
        } else if code.starts_with("#endif") {
            conditions -= 1;
        }
        (conditions <= 0 || backwards) && BARRIERS.iter().any(|barrier| code.contains(barrier))
    })
}

/// Whether a line is in a loop. Judged by indentation: the lines that enclose it are indented less.
fn in_loop(file: &SourceFile, line: u32) -> bool {
    let indentation = |text: &str| text.len() - text.trim_start().len();
    let above: Vec<&str> = file.text.lines().take(line as usize).collect();
    let Some((own, above)) = above.split_last() else {
        return false;
    };
    if loops(own) {
        return true;
    }
    let mut depth = indentation(own);
    for text in above.iter().rev().filter(|text| !text.trim().is_empty()) {
        if text.trim_start().starts_with('#') || indentation(text) >= depth {
            continue;
        }
        depth = indentation(text);
        if loops(text) {
            return true;
        }
        if depth == 0 {
            break;
        }
    }
    false
}

/// Whether a line contains a keyword that starts a loop.
fn loops(line: &str) -> bool {
    let code = line.split("//").next().unwrap_or_default();
    code.split(|c: char| !c.is_alphanumeric() && c != '_')
        .any(|word| ["for", "while", "do"].contains(&word))
}

fn scope(finding: &Finding, guilty: &[Guilty]) -> Option<String> {
    let narrow = finding
        .ends
        .iter()
        .zip(guilty)
        .filter_map(|(end, guilty)| Some((end.order?.1, guilty)))
        .min_by_key(|(scope, _)| *scope);
    let (scope, end) = narrow?;
    Some(match scope {
        Scope::Cta => format!(
            "widen the scope at {} from block to device: `atomicAdd` for `atomicAdd_block`, `__threadfence()` for `__threadfence_block()`, `cuda::thread_scope_device`",
            end.place()
        ),
        Scope::Cluster => format!(
            "widen the scope at {} from cluster to device: `cuda::thread_scope_device`",
            end.place()
        ),
        Scope::Gpu | Scope::Sys => format!(
            "a fence or lock between {} and the other access has too narrow a scope: use `__threadfence()`, or device scope on both sides",
            end.place()
        ),
    })
}

fn divergent(finding: &Finding, guilty: &[Guilty]) -> String {
    let (Some(here), Some(there), Some(end)) = (guilty.first(), guilty.get(1), finding.ends.get(1))
    else {
        return "move the barrier out of the condition, so that all threads of the block reach it"
            .to_string();
    };
    match end.action {
        Action::Wait => format!(
            "let all threads of the block reach one barrier: replace those at {} and {} by one outside the condition",
            here.place(),
            there.place()
        ),
        Action::Exit => format!(
            "let no thread exit at {} before the barrier at {}: put the work in a condition instead",
            there.place(),
            here.place()
        ),
        _ if here.in_source && in_loop(&here.frames[0].file, here.frames[0].line) => format!(
            "let all threads of the block execute the barrier at {} the same number of times: leave the surrounding loop together, and put the work, not the barrier, under the condition",
            here.place()
        ),
        _ => format!(
            "move the barrier at {} out of the condition, so that all threads of the block reach it",
            here.place()
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCAN: &str = "\
__global__ void scan(int *data)
{
    __shared__ int s[64];
    s[threadIdx.x] = data[threadIdx.x];
    for (int d = 1; d < 64; d *= 2) {
        int left = threadIdx.x >= d ? s[threadIdx.x - d] : 0;

        __syncthreads();
        s[threadIdx.x] += left;
    }
    data[threadIdx.x] = s[threadIdx.x];
}
";

    fn end(line: u32) -> Guilty {
        let file = Arc::new(SourceFile::new("scan.cu".into(), SCAN.into()));
        Guilty {
            frames: vec![Frame {
                file,
                line,
                columns: 0..1,
                function: None,
            }],
            in_source: true,
            unread: None,
            toolkit: false,
            instruction: String::new(),
        }
    }

    #[test]
    fn a_barrier_that_may_be_compiled_out_is_none() {
        let file = |text: &str| SourceFile::new("k.cu".into(), text.into());
        let plain = file("a\n__syncthreads();\nb\n");
        assert!(barred(&plain, 1, 3, false));
        let conditional = file("a\n#ifndef BUG\n__syncthreads();\n#endif\nb\n");
        assert!(!barred(&conditional, 1, 5, false));
        assert!(barred(&conditional, 1, 5, true));
        assert!(
            barred(&conditional, 2, 4, false),
            "the lines are under it, too"
        );
        let both = file("a\n#ifndef BUG\nx\n#endif\n__syncthreads();\nb\n");
        assert!(barred(&both, 1, 6, false));
    }

    #[test]
    fn a_barrier_goes_where_none_is() {
        let at = |earlier, later| between(&end(earlier), &end(later));
        // In the order of the lines, nothing between them.
        assert_eq!(at(4, 6), "between line 4 and line 6");
        // The same, seen by a schedule that ran one warp ahead.
        assert_eq!(at(11, 9), "between line 9 and line 11");
        // The barrier of line 8 is between them: the next turn of the loop is too early.
        assert_eq!(at(9, 6), "after line 9, before line 6 runs again");
        assert_eq!(at(6, 9), "after line 9, before line 6 runs again");
        assert_eq!(at(9, 9), "between one execution of line 9 and the next");
    }

    #[test]
    fn loops_are_seen_by_indentation() {
        let file = &end(1).frames[0].file;
        let looped: Vec<u32> = (1..=12).filter(|line| in_loop(file, *line)).collect();
        assert_eq!(looped, [5, 6, 8, 9]);
    }

    #[test]
    fn updates_are_told_from_exchanges() {
        assert!(updates_one("hist[bin[i]]++", Some("hist")));
        assert!(updates_one("total += x", None));
        assert!(!updates_one("s[t] += s[t - d]", Some("s")));
        assert!(!updates_one("s[t] = x", Some("s")));
    }
}
