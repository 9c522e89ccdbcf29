//! Walks through a function and inserts what tells the runtime.

use crate::access::{self, Memory};
use crate::check::Check;
use crate::emit::{self, GUARD, NARROW, THREAD, WIDE, int, name};
use crate::facts::{DYNAMIC, Facts};
use crate::inline::call;
use crate::merged_checks::{self, Run};
use crate::names::Names;
use crate::points_to::{PointsTo, ReadOnly};
use crate::sync::{self, SyncEvent};
use crate::walk::{self, constants, is_all};
use crate::{inline, layout};
use ptx::ast::*;
use ptx::semantics::{Effect, Synchronisation, TypedInstruction};
use std::cell::RefCell;

/// Rewrites the functions of a module, in textual order.
pub struct Rewriter<'a> {
    pub facts: &'a Facts,
    /// Numbers of the accesses that are still to come.
    pub order: std::vec::IntoIter<u32>,
}

impl Rewriter<'_> {
    /// Rewrites a function: of a kernel, what its launches have to know.
    pub fn function(&mut self, function: &mut Function) -> ReadOnly {
        let points_to = match function.kind {
            FunctionKind::Entry => PointsTo::of(function),
            FunctionKind::Func => None,
        };
        let Some(body) = function.body.take() else {
            return ReadOnly::default();
        };
        let mut names = Names {
            points_to: points_to.map(RefCell::new),
            ..Names::default()
        };
        Names::declare(&body, &mut names);
        names.constants = constants(&body);
        names.uses = walk::names(&body);
        for parameter in &function.params {
            names.spaces.insert(parameter.name.clone(), parameter.space);
        }
        let mut out = declarations();
        out.extend(match function.kind {
            FunctionKind::Entry => prologue_of_kernel(),
            FunctionKind::Func => vec![
                inline::body("enter_function", None, &[]),
                inline::body("load", None, &[]),
            ],
        });
        names.returns = function.kind == FunctionKind::Func;
        self.statements(body, &names, &mut out);
        function.body = Some(out);
        let points_to = names.points_to.map(RefCell::into_inner);
        points_to.map(PointsTo::read_only).unwrap_or_default()
    }

    fn statements(&mut self, body: Vec<Stmt>, names: &Names, out: &mut Vec<Stmt>) {
        let runs = merged_checks::runs(&body);
        for (at, statement) in body.into_iter().enumerate() {
            match statement {
                Stmt::Block(inner) => {
                    let mut block = Vec::new();
                    self.statements(inner, names, &mut block);
                    out.push(Stmt::Block(block));
                }
                Stmt::CallPrototype(mut prototype) => {
                    let parameter = emit::variable(StateSpace::Param, ScalarType::B64, "_");
                    prototype.params.push(parameter);
                    out.push(Stmt::CallPrototype(prototype));
                }
                Stmt::Instruction(instruction) => {
                    self.instruction(instruction, runs.get(&at), names, out);
                }
                other => out.push(other),
            }
        }
    }

    fn instruction(
        &mut self,
        instruction: Instruction,
        run: Option<&Run>,
        names: &Names,
        out: &mut Vec<Stmt>,
    ) {
        if instruction.opcode == "call" {
            return self.call(instruction, out);
        }
        if instruction.opcode == "ret" && names.returns {
            out.push(inline::body("store", None, &[]));
        }
        let typed = TypedInstruction::of(&instruction);
        match access::of(&instruction, &typed) {
            Memory::None => {}
            Memory::Unwatched => out.push(call(instruction.guard.as_ref(), "unwatched", &[])),
            Memory::Checked(list) => {
                for one in &list {
                    let number = self.order.next().unwrap_or(0);
                    if run != Some(&Run::Checked) {
                        Check {
                            facts: self.facts,
                            names,
                            instruction: &instruction,
                            access: one,
                            number,
                            run,
                        }
                        .emit(out);
                    }
                }
            }
        }
        let told = sync::of(&instruction, &typed, self.facts.splits);
        let mut guard = instruction.guard.clone();
        let after = told
            .iter()
            .any(|t| !matches!(t, SyncEvent::Release(_) | SyncEvent::Strong(..)));
        if let Some(old) = guard
            .as_mut()
            .filter(|g| after && writes(&instruction, &g.register))
        {
            let copy = vec![name(GUARD), name(&old.register)];
            out.push(emit::instruction("mov.pred", copy));
            old.register = GUARD.to_owned();
        }
        for one in &told {
            let scope = |reach: sync::Reach| (ScalarType::B32, int(reach as u64));
            match one {
                SyncEvent::Release(reach) => {
                    out.push(call(guard.as_ref(), "release", &[scope(*reach)]));
                }
                // Without fences, what a strong read has observed is all that it orders.
                SyncEvent::Strong(reach, reads, writes)
                    if self.facts.fences || returns(&instruction, &typed, names) =>
                {
                    let does = u64::from(*reads) | u64::from(*writes) << 1;
                    let does = (ScalarType::B32, int(does));
                    out.push(call(guard.as_ref(), "strong", &[does, scope(*reach)]));
                }
                _ => {}
            }
        }
        let operand = |index: usize| {
            let operand = instruction.operands.get(index).cloned();
            (ScalarType::B32, operand.unwrap_or(int(0)))
        };
        let behind: Vec<Stmt> = told
            .iter()
            .filter_map(|one| {
                let guard = guard.as_ref();
                Some(match one {
                    SyncEvent::Release(_) | SyncEvent::Strong(..) => return None,
                    SyncEvent::Fence(reach) => {
                        call(guard, "fence", &[(ScalarType::B32, int(*reach as u64))])
                    }
                    SyncEvent::Acquire(reach) => {
                        call(guard, "acquire", &[(ScalarType::B32, int(*reach as u64))])
                    }
                    SyncEvent::Barrier => {
                        let clears = int(u64::from(!self.facts.splits));
                        inline::body("barrier", guard, &[("CLEARS", clears)])
                    }
                    SyncEvent::Counted(index) => call(guard, "counted", &[operand(*index)]),
                    SyncEvent::Loose => call(guard, "loose", &[]),
                    SyncEvent::Warp(index) => match operand(*index) {
                        (_, mask) if is_all(&mask, &names.constants) => {
                            inline::body("warp", guard, &[])
                        }
                        mask => call(guard, "warp", &[mask]),
                    },
                })
            })
            .collect();
        let moved = moved_special(&instruction);
        let mut instruction = instruction;
        if matches!(
            typed.synchronisation,
            Some(Synchronisation::ClusterBarrier { .. })
        ) {
            // Lanes may come one by one from a call in front of it (PTX ISA, "barrier.cluster": `.aligned`).
            instruction.modifiers.retain(|m| m != "aligned");
        }
        out.push(Stmt::Instruction(instruction));
        out.extend(moved);
        out.extend(behind);
    }

    /// A call passes the thread's state on.
    fn call(&mut self, mut instruction: Instruction, out: &mut Vec<Stmt>) {
        // `call (ret), f, (params), targets`: the callee is the first operand that is no list.
        let callee = instruction
            .operands
            .iter()
            .position(|operand| !matches!(operand, Operand::List(_)));
        let Some(callee) = callee else {
            return out.push(Stmt::Instruction(instruction));
        };
        if let Operand::Name(function, None) = &instruction.operands[callee]
            && !self.facts.is_ours(function)
        {
            return out.push(Stmt::Instruction(instruction));
        }
        let argument = "__racetrap_thread";
        match instruction.operands.get_mut(callee + 1) {
            Some(Operand::List(list)) => list.push(name(argument)),
            _ => {
                let list = Operand::List(vec![name(argument)]);
                instruction.operands.insert(callee + 1, list);
            }
        }
        let parameter = emit::variable(StateSpace::Param, ScalarType::B64, argument);
        let store = vec![emit::address(name(argument), 0), name(THREAD)];
        out.push(Stmt::Block(vec![
            inline::body("store", None, &[]),
            Stmt::Variable(parameter),
            emit::instruction("st.param.b64", store),
            Stmt::Instruction(instruction),
            inline::body("load", None, &[]),
        ]));
    }
}

/// Whether an instruction writes a register.
fn writes(instruction: &Instruction, register: &str) -> bool {
    let is = |operand: &Operand| matches!(operand, Operand::Name(name, _) if name == register);
    match instruction.operands.first() {
        Some(Operand::Pair(a, b)) => is(a) || is(b),
        Some(first) => is(first),
        None => false,
    }
}

/// After `mov.u32 %r, %dynamic_smem_size`: the size that the program asked for.
fn moved_special(instruction: &Instruction) -> Option<Stmt> {
    let [Operand::Name(to, None), Operand::Name(from, None)] = &instruction.operands[..] else {
        return None;
    };
    if instruction.opcode != "mov" || from != "%dynamic_smem_size" {
        return None;
    }
    let operands = vec![name(to), name("%racetrap_dynamic")];
    Some(emit::guarded(
        instruction.guard.as_ref(),
        "mov.b32",
        operands,
    ))
}

/// What is kept in registers (`inline.ptx`), and scratch.
fn declarations() -> Vec<Stmt> {
    let wide = [THREAD, WIDE, "%racetrap_c", "%racetrap_pages"];
    let narrow = [
        NARROW,
        "%racetrap_e",
        "%racetrap_s",
        "%racetrap_k",
        "%racetrap_h",
        "%racetrap_f",
        "%racetrap_base",
        "%racetrap_end",
        "%racetrap_in",
        "%racetrap_shadow",
        "%racetrap_launch",
        "%racetrap_dynamic",
        "%racetrap_bytes",
        "%racetrap_bits",
    ];
    let all = wide.map(|r| (ScalarType::B64, r)).into_iter();
    let all = all.chain(narrow.map(|r| (ScalarType::B32, r)));
    all.chain([(ScalarType::Pred, GUARD)])
        .map(|(ty, register)| Stmt::Variable(emit::variable(StateSpace::Reg, ty, register)))
        .collect()
}

/// Whether an instruction hands a value of memory to its thread, which uses it: what the thread does otherwise depends on nothing that it has
/// observed, and races however it came out.
fn returns(instruction: &Instruction, typed: &TypedInstruction, names: &Names) -> bool {
    let effect = typed.memory.as_ref().map(|memory| memory.effect);
    let used = match instruction.operands.first() {
        Some(Operand::Name(name, None)) => name != "_" && names.uses.get(name) != Some(&1),
        _ => true,
    };
    used && effect.is_some_and(|effect| effect.reads() && effect != Effect::Reduction)
}

/// A kernel finds out who its thread is.
fn prologue_of_kernel() -> Vec<Stmt> {
    let state = "__racetrap_state";
    vec![
        Stmt::Variable(emit::bytes(
            StateSpace::Local,
            state,
            Some(u64::from(layout::THREAD_BYTES)),
            8,
        )),
        emit::instruction("mov.b64", vec![name(THREAD), name(state)]),
        inline::body("enter", None, &[("DYNAMIC", name(DYNAMIC))]),
    ]
}
