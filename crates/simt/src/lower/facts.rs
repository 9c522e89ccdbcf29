//! What can be known of a kernel before it runs.
//!
//! All of it is conservative: a fact that says "no" is certain, one that says
//! "yes" may be an overestimate. Flow through registers is followed without
//! regard to order; flow through memory by state space.

use super::def_use::{Use, visit_operands};
use super::dependence::{
    communicates_by_memory_alone, depends_on_time_or_place, has_order_sources,
};
use super::reaching_values::Graph;
use crate::observer::{Effect, Order, Update};
use crate::op::*;
use crate::program::{Facts, Program};
use ptx::semantics::{Modifier, Opcode, Synchronisation, TypedInstruction};
use std::collections::HashMap;
use std::sync::Arc;

/// Fills in [`Program::facts`], and turns atomics whose result nothing reads into reductions.
pub(super) fn find(program: &mut Program) {
    reductions(program);
    copies(program);
    let mut facts = Facts {
        shared_granule: 16,
        global_granule: 16,
        blocks_commute: true,
        ..Facts::default()
    };
    facts.effects = effects(program);
    accesses(program, &mut facts);
    facts.order_sources = has_order_sources(program);
    facts.memory_alone = communicates_by_memory_alone(program);
    facts.control_only = control_only(program);
    facts.hands_on = hands_on(program);
    facts.polls = program
        .code
        .iter()
        .any(|i| is_strong_load(program, i) && !facts.hands_on[i.site.0 as usize]);
    program.facts = facts;
}

fn reductions(program: &mut Program) {
    if program.atomic_ops.iter().all(|a| a.reduction) {
        return;
    }
    let read = super::live::rows(program);
    for a in &mut program.atomic_ops {
        let kind = u8::from(a.element >= 8);
        let used = |s: &Slot| {
            *s != Slot::NONE
                && (read.contains(&(kind, s.0))
                    || a.element == 16 && read.contains(&(kind, s.0 + 1)))
        };
        a.used = a.d[..usize::from(a.count)].iter().any(used);
    }
}

/// Marks the loads whose values are only copied.
fn copies(program: &mut Program) {
    /// Another use.
    const OTHER: u8 = 0;
    /// Masked by a constant, as a word is in which a bit-field is set, or cut down to a narrower integer.
    const MASKED: u8 = u8::MAX;
    fn add(uses: &mut HashMap<Row, u8>, row: Row, now: u8) {
        let known = uses.entry(row).or_insert(now);
        *known = match (*known, now) {
            (a, MASKED) => a,
            (MASKED, b) => b,
            (a, b) if a == b => a,
            _ => OTHER,
        };
    }
    // Size of the elements that a row is stored as.
    let mut uses: HashMap<Row, u8> = HashMap::new();
    // What one row hands on to another.
    let mut moves: Vec<(Row, Row)> = Vec::new();
    for i in &program.code {
        let instruction = &program.site(i.site).instruction;
        let (stored, data) = match &i.op {
            Op::Memory(m) => (program.memory_ops[*m as usize].element, OTHER),
            Op::Alu { .. } if narrows(instruction) => (OTHER, MASKED),
            Op::Alu { s, .. } if s.iter().any(|s| *s != Slot::NONE && s.0 & Slot::CONST != 0) => (
                OTHER,
                match instruction.opcode {
                    Opcode::And => MASKED,
                    _ => OTHER,
                },
            ),
            _ => (OTHER, OTHER),
        };
        let (mut reads, mut writes) = (Vec::new(), Vec::new());
        visit_operands(program, i, &mut |r, what| reads.push((r, what)), &mut |r| {
            writes.push(r)
        });
        if let (true, [(from, Use::Data)], [to]) =
            (instruction.opcode == Opcode::Mov, &reads[..], &writes[..])
        {
            moves.push((*from, *to));
            continue;
        }
        for (row, what) in reads {
            let now = match what {
                Use::Escape => stored,
                Use::Data => data,
                _ => OTHER,
            };
            add(&mut uses, row, now);
        }
    }
    moves.sort_unstable_by_key(|(_, to)| *to);
    let mut changed: Vec<Row> = uses.keys().copied().collect();
    while let Some(row) = changed.pop() {
        let now = uses[&row];
        let first = moves.partition_point(|(_, to)| *to < row);
        for (from, _) in moves[first..].iter().take_while(|(_, to)| *to == row) {
            let before = uses.get(from).copied();
            add(&mut uses, *from, now);
            if uses.get(from).copied() != before {
                changed.push(*from);
            }
        }
    }
    for i in &program.code {
        let Op::Memory(index) = i.op else { continue };
        let element = program.memory_ops[index as usize].element;
        let mut copied = true;
        let mut look = |r: Row| copied &= [Some(&element), Some(&MASKED)].contains(&uses.get(&r));
        visit_operands(program, i, &mut |_, _| {}, &mut look);
        let m = &mut program.memory_ops[index as usize];
        m.copies = copied && !m.store;
    }
}

/// Whether an instruction keeps the low bits of an integer and nothing else (PTX ISA, "cvt": "chopping").
fn narrows(instruction: &TypedInstruction) -> bool {
    let mut types = instruction.modifiers.types();
    let (Some(to), Some(from)) = (types.next(), types.next()) else {
        return false;
    };
    instruction.opcode == Opcode::Cvt
        && to.is_integer()
        && from.is_integer()
        && to.bits() < from.bits()
        && !instruction.has(Modifier::Sat)
}

fn may_be(space: AddressSpace, wanted: AddressSpace) -> bool {
    space == wanted || space == AddressSpace::Generic
}

fn accesses(program: &Program, facts: &mut Facts) {
    let mut see = |space: AddressSpace, element: u8, strong: bool, commutes: bool| {
        if may_be(space, AddressSpace::Shared) {
            facts.shared_granule = facts.shared_granule.min(u32::from(element));
            facts.strong_shared |= strong;
        }
        if may_be(space, AddressSpace::Global) || space == AddressSpace::Const {
            facts.global_granule = facts.global_granule.min(u32::from(element));
            facts.strong_global |= strong;
            facts.blocks_commute &= !strong || commutes;
        }
    };
    for m in &program.memory_ops {
        see(m.space, m.element, m.order != Order::Weak, false);
    }
    for a in &program.atomic_ops {
        see(
            a.space,
            a.element,
            true,
            !a.used && a.update != Update::Ordered,
        );
    }
    for b in &program.bulk_ops {
        if b.is_reduction() {
            let write = &program.memory_ops[b.write as usize];
            let element = b.reduce.as_ref().map_or(2, |(_, element)| *element);
            see(write.space, element, true, false);
        }
    }
    // Tensors that are written have elements of two bytes or more, but for copies of bytes that begin at odd ones (see `bulk_events`).
    let written = |b: &BulkOp| {
        let write = &program.memory_ops[b.write as usize];
        b.tensor.is_some() && write.space == AddressSpace::Global
    };
    if program.bulk_ops.iter().any(written) {
        facts.global_granule = facts.global_granule.min(2);
    }
    // A texel may be as small as a byte.
    if !program.image_ops.is_empty() {
        facts.global_granule = 1;
    }
    facts.non_coherent = program.memory_ops.iter().any(|m| m.non_coherent)
        || program.image_ops.iter().any(|i| i.kind != ImageKind::Store);
    facts.async_proxy = !program.bulk_ops.is_empty() || !program.group_products.is_empty();
    facts.async_copies = facts.async_proxy || !program.copy_ops.is_empty();
    facts.cluster_scope = has_cluster_scope(program);
    // The order of reductions shows, and theirs are not atomic towards other cores here.
    facts.blocks_commute &= program.bulk_ops.iter().all(|b| !b.is_reduction());
    facts.launches_dependents = program.code.iter().any(|i| {
        let instruction = &program.site(i.site).instruction;
        instruction.synchronisation == Some(Synchronisation::LaunchDependents)
    });
    facts.stale_values = program.memory_ops.iter().any(|m| {
        let between =
            may_be(m.space, AddressSpace::Shared) || may_be(m.space, AddressSpace::Global);
        !m.store && between && m.order.is_strong()
    });
    // Atomics of a narrow scope are not atomic towards other blocks.
    facts.stale_values |= program.atomic_ops.iter().any(|a| {
        let narrow = a.scope < crate::observer::Scope::Gpu && a.update != Update::Ordered;
        narrow && may_be(a.space, AddressSpace::Global)
    });
    facts.fine_sync = program.code.iter().any(|i| match &i.op {
        Op::Fence(..) => true,
        Op::Barrier(b) => b.threads != Slot::NONE || b.kind == BarrierKind::Arrive,
        Op::Memory(m) => !matches!(
            program.memory_ops[*m as usize].order,
            Order::Weak | Order::Volatile | Order::Relaxed
        ),
        Op::Atomic(a) => program.atomic_ops[*a as usize].order != Order::Relaxed,
        Op::CopiesArrive(_) | Op::Bulk(_) => true,
        Op::ClusterArrive { .. } | Op::ClusterWait { .. } => true,
        Op::Wgmma(_) => true,
        _ => false,
    });
    facts.blocks_commute &= !program.code.iter().any(|i| match i.op {
        Op::System(_) => true,
        Op::Special { which, .. } => {
            matches!(which, Special::EnvReg(_)) || depends_on_time_or_place(which)
        }
        _ => false,
    });
}

/// Whether there is a `fence.sc` of cluster scope.
fn has_cluster_scope(program: &Program) -> bool {
    use crate::observer::{FenceOrder, Scope};
    let is = |i: &Instr| matches!(i.op, Op::Fence(FenceOrder::Sc, Scope::Cluster));
    program.code.iter().any(is)
}

/// What the atomics do, by site; as far as `inc` and `dec` have a constant bound.
fn effects(program: &mut Program) -> Arc<[Effect]> {
    let mut answer = vec![Effect::default(); program.sites.len()];
    for i in &program.code {
        if let Op::Bulk(index) = i.op {
            answer[i.site.0 as usize] = Effect {
                update: program.bulk_ops[index as usize].update,
                used: false,
            };
        }
        let (Op::Atomic(index) | Op::CopiesArrive(index)) = i.op else {
            continue;
        };
        let a = &mut program.atomic_ops[index as usize];
        let bound = match a.b[0] {
            slot if slot.0 & Slot::CONST != 0 && slot != Slot::NONE => {
                let row = program.const_w.get((slot.0 & !Slot::CONST) as usize);
                row.map(|row| row[0])
            }
            _ => None,
        };
        a.update = match (a.update, bound) {
            (Update::Inc(_), Some(bound)) => Update::Inc(bound),
            (Update::Dec(_), Some(bound)) => Update::Dec(bound),
            (Update::Inc(_) | Update::Dec(_), None) => Update::Ordered,
            (other, _) => other,
        };
        answer[i.site.0 as usize] = Effect {
            update: a.update,
            used: a.used,
        };
    }
    answer.into()
}

/// For each site, whether it is a strong load whose value decides branches and nothing else.
fn control_only(program: &Program) -> Arc<[bool]> {
    let strong = |i: &Instr| match i.op {
        Op::Memory(index) => {
            let m = &program.memory_ops[index as usize];
            !m.store && m.order != Order::Weak
        }
        _ => false,
    };
    let mut answer = vec![false; program.sites.len()];
    if !program.code.iter().any(strong) {
        return answer.into();
    }
    let mut graph = Graph::of(program, 0);
    for (at, i) in program.code.iter().enumerate() {
        let (mut data, mut used) = (Vec::new(), Vec::new());
        let mut read = |r: Row, what: Use| match what {
            Use::Data => data.push(r),
            Use::Escape | Use::Address => used.push(r),
            Use::Control => {}
        };
        visit_operands(program, i, &mut read, &mut |_| {});
        let here = graph.instruction(at);
        used.iter().for_each(|r| graph.mark(graph.row(*r)));
        data.iter().for_each(|r| graph.edge(graph.row(*r), here));
        if matches!(
            i.op,
            Op::Warp(_) | Op::Matrix(_) | Op::Wgmma(WgmmaOp::Begin(_))
        ) {
            graph.mark(here);
        }
        visit_operands(program, i, &mut |_, _| {}, &mut |r| {
            graph.edge(here, graph.row(r));
        });
    }
    let data = graph.comes_to_marks();
    for i in program.code.iter().filter(|i| strong(i)) {
        let mut reaches = false;
        visit_operands(program, i, &mut |_, _| {}, &mut |r| {
            reaches |= data[graph.row(r) as usize];
        });
        answer[i.site.0 as usize] = !reaches;
    }
    answer.into()
}

/// For each site, whether it is a strong load whose value is handed on: it reaches memory, an address or the output, and nothing tests it.
///
/// A thread that tests a value before it uses it, or hands it to a compare-and-swap, which tests it, reckons with an old one: it polls a
/// flag, re-checks a bound, swaps only what it has seen. An update by a minimum, maximum, `and` or `or` can be repeated and done too
/// often. What is read between two loads that are compared with each other is optimistic ([`optimistic`]). Blind spot: what is tested for
/// another reason.
fn hands_on(program: &Program) -> Arc<[bool]> {
    let mut answer = vec![false; program.sites.len()];
    if !program.code.iter().any(|i| is_strong_load(program, i)) {
        return answer.into();
    }
    let optimistic = optimistic(program);
    let (used, tested) = handed_on(program);
    for (at, i) in program.code.iter().enumerate() {
        if is_strong_load(program, i) && !optimistic[at] {
            let (mut is_used, mut is_tested) = (false, false);
            visit_operands(program, i, &mut |_, _| {}, &mut |r| {
                is_used |= used(r);
                is_tested |= tested(r);
            });
            answer[i.site.0 as usize] = is_used && !is_tested;
        }
    }
    answer.into()
}

fn is_strong_load(program: &Program, i: &Instr) -> bool {
    let Op::Memory(index) = i.op else {
        return false;
    };
    let m = &program.memory_ops[index as usize];
    !m.store && m.order.is_strong() && m.space.is_between_threads()
}

/// Which code lies between two strong loads whose values are compared with each other: what is read there is thrown away if the two
/// differ, as under a sequence lock. Of all loads that a comparison may be of, the first and the last count: whichever belong together,
/// pairs of them cover what lies between.
fn optimistic(program: &Program) -> Vec<bool> {
    let mut loads: HashMap<Row, (usize, usize)> = HashMap::new();
    for (at, i) in program.code.iter().enumerate() {
        if is_strong_load(program, i) {
            visit_operands(program, i, &mut |_, _| {}, &mut |r| {
                loads.entry(r).or_insert((at, at)).1 = at;
            });
        }
    }
    // How many more ranges there are from an instruction on.
    let mut begins = vec![0i64; program.code.len() + 1];
    for i in &program.code {
        if program.site(i.site).instruction.opcode != Opcode::Setp {
            continue;
        }
        let mut read = Vec::new();
        visit_operands(program, i, &mut |r, _| read.push(r), &mut |_| {});
        let known: Vec<_> = read.iter().filter_map(|r| loads.get(r)).collect();
        for (k, a) in known.iter().enumerate() {
            for b in &known[k + 1..] {
                begins[a.0.min(b.0)] += 1;
                begins[a.1.max(b.1)] -= 1;
            }
        }
    }
    let mut open = 0;
    let inside = begins[..program.code.len()].iter().map(|more| {
        open += more;
        open > 0
    });
    inside.collect()
}

/// Which rows reach memory, an address or the output; and which are tested on the way, or reckoned with as old.
fn handed_on(program: &Program) -> (impl Fn(Row) -> bool + use<>, impl Fn(Row) -> bool + use<>) {
    let mut graph = Graph::of(program, 1);
    // What has been stored to memory of the thread's own.
    let local = graph.further(program.code.len(), 0);
    let mut tested: Vec<u32> = Vec::new();
    for (at, i) in program.code.iter().enumerate() {
        let here = graph.instruction(at);
        let (mut escapes, mut control) = (Vec::new(), Vec::new());
        let mut read = |r: Row, what: Use| {
            let row = graph.row(r);
            match what {
                Use::Data => graph.edge(row, here),
                Use::Escape => escapes.push(row),
                Use::Address => graph.mark(row),
                Use::Control => control.push(row),
            }
        };
        visit_operands(program, i, &mut read, &mut |_| {});
        match &i.op {
            // What a guard lets through is a selection.
            Op::Alu { .. }
            | Op::Setp { .. }
            | Op::Set { .. }
            | Op::Lop3Test { .. }
            | Op::Pack { .. }
            | Op::Cvta { .. } => control.iter().for_each(|r| graph.edge(*r, here)),
            _ => tested.append(&mut control),
        }
        match &i.op {
            Op::Memory(index) => {
                let m = &program.memory_ops[*index as usize];
                let own = matches!(m.space, AddressSpace::Local | AddressSpace::Param);
                match m.store {
                    true if own => escapes.iter().for_each(|r| graph.edge(*r, local)),
                    true if m.private => {
                        escapes.iter().for_each(|r| graph.edge(*r, local));
                    }
                    true => escapes.iter().for_each(|r| graph.mark(*r)),
                    false if own => graph.edge(local, here),
                    false => {}
                }
            }
            Op::Atomic(index) => {
                let a = &program.atomic_ops[*index as usize];
                match (&a.f, a.update) {
                    (AtomFn::Cas, _) => tested.append(&mut escapes),
                    (_, Update::Min(_) | Update::Max(_) | Update::And | Update::Or) => {}
                    _ => escapes.iter().for_each(|r| graph.mark(*r)),
                }
            }
            Op::System(_) => {
                escapes.iter().for_each(|r| graph.mark(*r));
                graph.mark(local);
            }
            Op::Image(_) | Op::AsyncCopy(_) | Op::Bulk(_) => {
                escapes.iter().for_each(|r| graph.mark(*r))
            }
            Op::Call(_) => {
                escapes.iter().for_each(|r| graph.edge(*r, here));
                graph.edge(local, here);
            }
            _ => {}
        }
        visit_operands(program, i, &mut |_, _| {}, &mut |r| {
            graph.edge(here, graph.row(r));
        });
    }
    let used = graph.comes_to_marks();
    tested.iter().for_each(|r| graph.mark(*r));
    let is_tested = graph.comes_to_marks();
    let of = graph.rows();
    (move |r: Row| used[of(r)], move |r: Row| is_tested[of(r)])
}
