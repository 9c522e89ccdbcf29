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

/// Gives the functions of a program their meeting points, numbered from 0, and
/// returns their number.
pub(super) fn insert(functions: &mut [Vec<Instr>]) -> u32 {
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
    let inside = with_callees(functions, own);
    for code in functions {
        mark(code, &inside);
    }
    count
}

/// Functions that a function calls by name.
fn callees(code: &[Instr]) -> impl Iterator<Item = usize> {
    code.iter().filter_map(|i| match &i.op {
        Op::Call(c) => c.function.map(|f| f as usize),
        _ => None,
    })
}

fn with_callees(functions: &[Vec<Instr>], mut points: Vec<BTreeSet<u32>>) -> Vec<BTreeSet<u32>> {
    loop {
        let mut changed = false;
        for (f, code) in functions.iter().enumerate() {
            for callee in callees(code) {
                let more: Vec<u32> = points[callee].difference(&points[f]).copied().collect();
                changed |= !more.is_empty();
                points[f].extend(more);
            }
        }
        if !changed {
            return points;
        }
    }
}

/// Whether each function can come to call itself. Calls through pointers may call
/// every function whose address is taken, so all with such calls count as recursive.
pub(super) fn recursive(functions: &[Vec<Instr>]) -> Vec<bool> {
    let n = functions.len();
    let calls: Vec<BTreeSet<usize>> = functions
        .iter()
        .map(|code| callees(code).collect())
        .collect();
    let indirect = functions.iter().any(|code| {
        code.iter()
            .any(|i| matches!(&i.op, Op::Call(c) if c.function.is_none()))
    });
    (0..n)
        .map(|start| {
            let mut seen = BTreeSet::new();
            let mut stack: Vec<usize> = calls[start].iter().copied().collect();
            while let Some(f) = stack.pop() {
                if seen.insert(f) {
                    stack.extend(&calls[f]);
                }
            }
            indirect || seen.contains(&start)
        })
        .collect()
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

    fn reaches(&self, from: usize, to: usize) -> bool {
        let mut seen = vec![false; self.starts.len()];
        let mut stack = self.successors[from].clone();
        while let Some(b) = stack.pop() {
            if b == to {
                return true;
            }
            if !std::mem::replace(&mut seen[b], true) {
                stack.extend(&self.successors[b]);
            }
        }
        false
    }

    pub(super) fn of_instruction(&self, at: usize) -> usize {
        self.starts.partition_point(|s| *s <= at) - 1
    }
}

fn mark(code: &mut Vec<Instr>, inside: &[BTreeSet<u32>]) {
    let meets = |i: &Instr| -> Vec<u32> {
        match &i.op {
            Op::Barrier(b) if b.point != u32::MAX => vec![b.point],
            Op::Warp(w) if w.point != u32::MAX => vec![w.point],
            Op::Call(c) => c
                .function
                .map_or(Vec::new(), |f| inside[f as usize].iter().copied().collect()),
            _ => Vec::new(),
        }
    };
    if code.iter().all(|i| meets(i).is_empty()) {
        return;
    }
    let blocks = Blocks::of(code);
    let ipdom = graph::post_dominators(&blocks.successors, &blocks.exits);
    let always: BTreeSet<usize> = std::iter::successors(Some(0), |b| ipdom[*b]).collect();
    // Block → marks at its start.
    let mut marks: BTreeMap<usize, BTreeSet<(u32, bool)>> = BTreeMap::new();
    for (at, i) in code.iter().enumerate() {
        let points = meets(i);
        if points.is_empty() {
            continue;
        }
        let block = blocks.of_instruction(at);
        let looping = blocks.reaches(block, block);
        let unconditional = i.guard == Slot::TRUE;
        if !looping && unconditional && always.contains(&block) {
            continue; // nobody can go around it
        }
        // Every path from here leads through these, in this order.
        let chain: Vec<usize> = std::iter::successors(ipdom[block], |b| ipdom[*b])
            .filter(|b| !is_only_end(code, &blocks, *b))
            .collect();
        let back = |b: &usize| looping && blocks.reaches(*b, block);
        // The last one of a round (or at all), since whoever goes around may come from further out.
        let last = chain
            .iter()
            .copied()
            .take_while(|b| !looping || back(b))
            .last();
        let out = chain.iter().copied().filter(|b| looping && !back(b));
        for (b, consumes_arrival) in last
            .map(|b| (b, true))
            .into_iter()
            .chain(out.map(|b| (b, false)))
        {
            let entry = marks.entry(b).or_default();
            points
                .iter()
                .for_each(|p| _ = entry.insert((*p, consumes_arrival)));
        }
    }
    if !marks.is_empty() {
        rewrite(code, &blocks, &marks);
    }
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
                    | Op::Atomic(_)
                    | Op::Image(_)
                    | Op::Barrier(_)
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
