//! Meeting points: how racetrap knows that a thread will not come to a barrier
//! any more.
//!
//! A thread that waits at a whole-block barrier or a warp operation can be
//! missed by others for two reasons: they are late, or they went another way. To
//! tell these apart without a look at the schedule, lowering gives each such
//! instruction a *meeting point* and marks the places that every path from it
//! leads through (its post-dominators) with [`Op::BarrierBypass`]:
//!
//! * at the last of its post-dominators (in a loop: the last inside it), where an
//!   arrival is consumed (`consumes_arrival`): who passes there without having arrived has
//!   gone around;
//! * where it stands in a loop, at the post-dominators outside that loop: who passes
//!   there will not come back for another round.
//!
//! A place with nothing but the end of the thread is no such place: leaving a kernel
//! before a barrier has been defined since Volta (CUDA C++ Programming Guide, "Synchronization
//! Functions"), so it is told apart from passing the barrier by.
//!
//! A call of a function counts as the meeting points inside it. Blind spot: calls through
//! pointers.

use crate::ids::Site;
use crate::op::*;
use ptx::graph;
use std::collections::{BTreeMap, BTreeSet};

/// Marks that a program may need: deep nests of many barriers need as many as their product.
const MARKS: usize = 1 << 20;

/// There would be more of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TooMany;

/// Gives the functions of a program their meeting points, numbered from 0, and
/// returns their number.
///
/// # Errors
/// There would be more than [`MARKS`] marks.
pub(super) fn insert(functions: &mut [Vec<Instr>]) -> Result<u32, TooMany> {
    let mut count = 0;
    let mut own: Vec<BTreeSet<u32>> = vec![BTreeSet::new(); functions.len()];
    for (code, own) in functions.iter_mut().zip(&mut own) {
        for i in code.iter_mut() {
            let point = match &mut i.op {
                Op::Barrier(b) if b.threads == Slot::NONE && b.kind != BarrierKind::Arrive => {
                    &mut b.point
                }
                Op::Warp(w) if w.members != Slot::NONE => &mut w.point,
                _ => continue,
            };
            *point = count;
            own.insert(count);
            count += 1;
        }
    }
    let inside = Inside::of(functions, own);
    for code in functions {
        mark(code, &inside)?;
    }
    Ok(count)
}

/// Functions that a function calls by name.
fn callees(code: &[Instr]) -> impl Iterator<Item = usize> {
    code.iter().filter_map(|i| match &i.op {
        Op::Call(c) => c.function.map(|f| f as usize),
        _ => None,
    })
}

/// The meeting points of each function, and those of all that it calls.
struct Inside {
    own: Vec<BTreeSet<u32>>,
    calls: Vec<BTreeSet<usize>>,
    /// Whether there is one in it or below.
    any: Vec<bool>,
}

impl Inside {
    fn of(functions: &[Vec<Instr>], own: Vec<BTreeSet<u32>>) -> Inside {
        let calls = functions.iter().map(|code| callees(code).collect());
        let calls: Vec<BTreeSet<usize>> = calls.collect();
        let mut callers = vec![Vec::new(); functions.len()];
        for (f, calls) in calls.iter().enumerate() {
            calls.iter().for_each(|callee| callers[*callee].push(f));
        }
        let mut any = vec![false; functions.len()];
        let mut open: Vec<usize> = (0..own.len()).filter(|f| !own[*f].is_empty()).collect();
        while let Some(f) = open.pop() {
            if !std::mem::replace(&mut any[f], true) {
                open.extend(&callers[f]);
            }
        }
        Inside { own, calls, any }
    }

    /// The points of a function and of all below it.
    fn points(&self, function: usize) -> Vec<u32> {
        let (mut seen, mut open) = (BTreeSet::new(), vec![function]);
        let mut points = Vec::new();
        while let Some(f) = open.pop() {
            if self.any[f] && seen.insert(f) {
                points.extend(&self.own[f]);
                open.extend(&self.calls[f]);
            }
        }
        points
    }
}

/// Whether each function can come to call itself. Calls through pointers may call
/// every function whose address is taken, so all with such calls count as recursive.
pub(super) fn recursive(functions: &[Vec<Instr>]) -> Vec<bool> {
    let calls = functions.iter().map(|code| {
        let all: BTreeSet<usize> = callees(code).collect();
        all.into_iter().collect()
    });
    let calls: Vec<Vec<usize>> = calls.collect();
    let indirect = functions.iter().any(|code| {
        code.iter()
            .any(|i| matches!(&i.op, Op::Call(c) if c.function.is_none()))
    });
    let mut recursive = vec![indirect; functions.len()];
    for component in graph::strongly_connected_components(&calls) {
        let first = component[0];
        if component.len() > 1 || calls[first].contains(&first) {
            component.iter().for_each(|f| recursive[*f] = true);
        }
    }
    recursive
}

/// Basic blocks of a function's code.
pub(super) struct Blocks {
    /// First instruction of each; ends where the next one starts.
    starts: Vec<usize>,
    pub(super) successors: Vec<Vec<usize>>,
    exits: Vec<usize>,
}

impl Blocks {
    pub(super) fn of(code: &[Instr]) -> Blocks {
        let mut leaders = BTreeSet::from([0]);
        for (at, i) in code.iter().enumerate() {
            match &i.op {
                Op::Branch { target } => {
                    leaders.insert(*target as usize);
                    leaders.insert(at + 1);
                }
                Op::BranchIndexed { targets, .. } => {
                    leaders.extend(targets.iter().map(|t| *t as usize));
                    leaders.insert(at + 1);
                }
                Op::Return | Op::Exit | Op::Trap => _ = leaders.insert(at + 1),
                _ => {}
            }
        }
        leaders.remove(&code.len());
        let starts: Vec<usize> = leaders.into_iter().collect();
        let block_at = |at: usize| starts.partition_point(|s| *s <= at) - 1;
        let mut successors = vec![Vec::new(); starts.len()];
        let mut exits = Vec::new();
        for b in 0..starts.len() {
            let end = starts.get(b + 1).copied().unwrap_or(code.len());
            let last = &code[end - 1];
            let conditional = last.guard != Slot::TRUE;
            let falls = match &last.op {
                Op::Branch { target } => {
                    successors[b].push(block_at(*target as usize));
                    conditional
                }
                Op::BranchIndexed { targets, .. } => {
                    successors[b].extend(targets.iter().map(|t| block_at(*t as usize)));
                    conditional
                }
                Op::Return | Op::Exit | Op::Trap => {
                    exits.push(b);
                    conditional
                }
                _ => true,
            };
            if falls && end < code.len() {
                successors[b].push(b + 1);
            }
            successors[b].sort_unstable();
            successors[b].dedup();
        }
        Blocks {
            starts,
            successors,
            exits,
        }
    }

    pub(super) fn of_instruction(&self, at: usize) -> usize {
        self.starts.partition_point(|s| *s <= at) - 1
    }
}

/// What follows of a place in the control flow, found once for all that stands there.
struct Ways {
    ipdom: Vec<Option<usize>>,
    /// The component of the graph that each block is in: a round of a loop never leaves one.
    component: Vec<usize>,
    looping: Vec<bool>,
    /// Whether every thread comes through a block.
    always: Vec<bool>,
    /// Whether a block does nothing but end the thread.
    only_end: Vec<bool>,
    /// The last place of a block's post-dominators, and the last of those in the same loop.
    last: Vec<[Option<usize>; 2]>,
}

impl Ways {
    fn of(code: &[Instr], blocks: &Blocks) -> Ways {
        let n = blocks.starts.len();
        let ipdom = graph::post_dominators(&blocks.successors, &blocks.exits);
        let (mut component, mut looping) = (vec![0; n], vec![false; n]);
        let components = graph::strongly_connected_components(&blocks.successors);
        for (number, nodes) in components.iter().enumerate() {
            for node in nodes {
                component[*node] = number;
                looping[*node] = nodes.len() > 1 || blocks.successors[*node].contains(node);
            }
        }
        let mut always = vec![false; n];
        for block in std::iter::successors(Some(0), |b| ipdom[*b]) {
            always[block] = true;
        }
        let only_end: Vec<bool> = (0..n).map(|b| is_only_end(code, blocks, b)).collect();
        let mut last = vec![[None; 2]; n];
        let mut known = vec![false; n];
        for block in 0..n {
            // From the first ancestor whose answer is known back down to this one.
            let up = std::iter::successors(Some(block), |b| ipdom[*b]);
            let path: Vec<usize> = up.take_while(|b| !known[*b]).collect();
            for b in path.into_iter().rev() {
                known[b] = true;
                if let Some(p) = ipdom[b].filter(|p| !only_end[*p]) {
                    let inside = component[p] == component[b];
                    last[b][0] = last[p][0].or(Some(p));
                    last[b][1] = last[p][1].or(Some(p)).filter(|_| inside);
                }
            }
        }
        Ways {
            ipdom,
            component,
            looping,
            always,
            only_end,
            last,
        }
    }

    /// Every path from a block leads through these, in this order.
    fn chain(&self, block: usize) -> impl Iterator<Item = usize> {
        let all = std::iter::successors(self.ipdom[block], |b| self.ipdom[*b]);
        all.filter(|b| !self.only_end[*b])
    }

    /// The last one of a round (or at all), since whoever goes around may come from further out.
    fn last(&self, block: usize) -> Option<usize> {
        self.last[block][usize::from(self.looping[block])]
    }

    /// Where whoever passes will not come back for another round. Behind a place that every thread comes through, no other tells more.
    fn out(&self, block: usize) -> impl Iterator<Item = usize> {
        let inside = move |b: &usize| self.component[*b] == self.component[block];
        let out = self
            .chain(block)
            .filter(move |b| self.looping[block] && !inside(b));
        let mut ended = false;
        out.take_while(move |b| !std::mem::replace(&mut ended, self.always[*b]))
    }
}

fn mark(code: &mut Vec<Instr>, inside: &Inside) -> Result<(), TooMany> {
    let meets = |i: &Instr| match &i.op {
        Op::Barrier(b) => b.point != u32::MAX,
        Op::Warp(w) => w.point != u32::MAX,
        Op::Call(c) => c.function.is_some_and(|f| inside.any[f as usize]),
        _ => false,
    };
    let points = |i: &Instr| match &i.op {
        Op::Barrier(b) => vec![b.point],
        Op::Warp(w) => vec![w.point],
        Op::Call(c) => c.function.map_or(Vec::new(), |f| inside.points(f as usize)),
        _ => Vec::new(),
    };
    if !code.iter().any(meets) {
        return Ok(());
    }
    let blocks = Blocks::of(code);
    let ways = Ways::of(code, &blocks);
    // Block → marks at its start.
    let mut marks: BTreeMap<usize, BTreeSet<(u32, bool)>> = BTreeMap::new();
    let mut looks = 0;
    for (at, i) in code.iter().enumerate().filter(|(_, i)| meets(i)) {
        let block = blocks.of_instruction(at);
        let unconditional = i.guard == Slot::TRUE;
        if !ways.looping[block] && unconditional && ways.always[block] {
            continue; // nobody can go around it
        }
        let points = points(i);
        let last = ways.last(block).map(|b| (b, true));
        let out = ways.out(block).map(|b| (b, false));
        for (b, consumes_arrival) in last.into_iter().chain(out) {
            looks += points.len();
            if looks > MARKS {
                return Err(TooMany);
            }
            let entry = marks.entry(b).or_default();
            points
                .iter()
                .for_each(|p| _ = entry.insert((*p, consumes_arrival)));
        }
    }
    if !marks.is_empty() {
        rewrite(code, &blocks, &marks);
    }
    Ok(())
}

/// Whether a block does nothing but end the thread.
fn is_only_end(code: &[Instr], blocks: &Blocks, block: usize) -> bool {
    matches!(code[blocks.starts[block]].op, Op::Return | Op::Exit)
        && code[blocks.starts[block]].guard == Slot::TRUE
}

fn rewrite(code: &mut Vec<Instr>, blocks: &Blocks, marks: &BTreeMap<usize, BTreeSet<(u32, bool)>>) {
    let mut new = Vec::with_capacity(code.len() + marks.len());
    let mut moved = Vec::with_capacity(code.len());
    let total = code.len();
    let accesses: BTreeMap<usize, Site> = code
        .iter()
        .enumerate()
        .filter(|(_, i)| {
            matches!(
                i.op,
                Op::Memory(_)
                    | Op::AsyncCopy(_)
                    | Op::Bulk(_)
                    | Op::Atomic(_)
                    | Op::Image(_)
                    | Op::Barrier(_)
                    | Op::ClusterArrive { .. }
                    | Op::ClusterWait { .. }
                    | Op::Warp(_)
            )
        })
        .map(|(at, i)| (at, i.site))
        .collect();
    for (at, i) in code.drain(..).enumerate() {
        moved.push(new.len() as u32);
        let block = blocks.of_instruction(at);
        if blocks.starts[block] == at
            && let Some(marks) = marks.get(&block)
        {
            // Compilers move address arithmetic about: an access names the place better.
            let end = blocks.starts.get(block + 1).copied().unwrap_or(total);
            let site = accesses
                .range(at..end)
                .next()
                .map_or(i.site, |(_, site)| *site);
            for (point, consumes_arrival) in marks {
                new.push(Instr {
                    guard: Slot::TRUE,
                    op: Op::BarrierBypass {
                        point: *point,
                        consumes_arrival: *consumes_arrival,
                    },
                    site,
                    inline: Inline::No,
                });
            }
        }
        new.push(i);
    }
    for i in &mut new {
        match &mut i.op {
            Op::Branch { target } => *target = moved[*target as usize],
            Op::BranchIndexed { targets, .. } => {
                targets.iter_mut().for_each(|t| *t = moved[*t as usize])
            }
            _ => {}
        }
    }
    *code = new;
}
