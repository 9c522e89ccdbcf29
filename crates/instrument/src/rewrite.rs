//! Walks through a function and inserts what tells the runtime.

use crate::access::{self, Access, Bytes, Memory};
use crate::emit::{self, GUARD, NARROW, THREAD, WIDE, int, name};
use crate::facts::{DYNAMIC, Facts};
use crate::inline::call;
use crate::merged_checks::{self, Run};
use crate::points_to::{PointsTo, ReadOnly};
use crate::sync::{self, SyncEvent};
use crate::walk::{self, constants, is_all};
use crate::{SiteAccess, inline, layout};
use ptx::ast::*;
use ptx::semantics::{Effect, Space, Synchronisation, TypedInstruction};
use std::cell::RefCell;
use std::collections::HashMap;

/// Bits of an access's description (`runtime/runtime.cu`, `D_…`).
const WRITES: u32 = 0x4000;
const ATOMIC: u32 = 0x2_0000;
const STRENGTH: u32 = 15;
const NEIGHBOURS: u32 = 0x4_0000;
/// The most words that lanes look at together.
const LANES: u32 = 32;
/// Strength of accesses of device scope or more.
const DEVICE: u32 = 2;
// Kinds of records, what readers have in common, and the numbers of sites that records of shared memory have room for.
const WRITTEN: u32 = 1;
const READ: u32 = 2;
const SEVERAL: u32 = 3;
const W_BLOCKS: u32 = 14;
const W_WARPS: u32 = 15;
const SHARED_SITES: u32 = 0x1ff;

/// Rewrites the functions of a module, in textual order.
pub struct Rewriter<'a> {
    pub facts: &'a Facts,
    /// Numbers of the accesses that are still to come.
    pub order: std::vec::IntoIter<u32>,
}

/// What is declared in a function: register widths, spaces of variables.
#[derive(Default)]
struct Names {
    wide: HashMap<String, bool>,
    spaces: HashMap<String, StateSpace>,
    prototypes: HashMap<String, bool>,
    /// Registers that are written once, by a move of a constant.
    constants: HashMap<String, u64>,
    /// How often registers are named.
    uses: HashMap<String, u32>,
    /// Whether a caller wants the thread's state back.
    returns: bool,
    /// Of a kernel, where its addresses come from.
    points_to: Option<RefCell<PointsTo>>,
}

impl Names {
    fn of(body: &[Stmt], names: &mut Names) {
        for statement in body {
            match statement {
                Stmt::Variable(v) if v.space == StateSpace::Reg => {
                    let wide = matches!(
                        v.ty,
                        ScalarType::B64 | ScalarType::U64 | ScalarType::S64 | ScalarType::F64
                    );
                    match v.count {
                        Some(count) => {
                            for number in 0..count {
                                names.wide.insert(format!("{}{number}", v.name), wide);
                            }
                        }
                        None => drop(names.wide.insert(v.name.clone(), wide)),
                    }
                }
                Stmt::Variable(v) => drop(names.spaces.insert(v.name.clone(), v.space)),
                Stmt::Block(inner) => Names::of(inner, names),
                Stmt::CallPrototype(p) => drop(names.prototypes.insert(p.name.clone(), true)),
                _ => {}
            }
        }
    }
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
        Names::of(&body, &mut names);
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
                        self.check(&instruction, one, number, run, names, out);
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
            // Lanes come from a call in front of it one by one, and a GPU stops a warp that is not together at an aligned one.
            instruction.modifiers.retain(|m| m != "aligned");
        }
        out.push(Stmt::Instruction(instruction));
        out.extend(moved);
        out.extend(behind);
    }

    /// The check of an access, for which loads from a buffer that the launch only reads have no use.
    fn check(
        &mut self,
        instruction: &Instruction,
        access: &Access,
        number: u32,
        run: Option<&Run>,
        names: &Names,
        out: &mut Vec<Stmt>,
    ) {
        let mut check = Vec::new();
        self.full_check(instruction, access, number, run, names, &mut check);
        let weak_load = access.access == SiteAccess::Read && access.strength == 0;
        let at = match instruction.operands.get(access.operand) {
            Some(Operand::Address(at)) if weak_load && access.space != Space::Shared => at,
            _ => return out.extend(check),
        };
        let points_to = names.points_to.as_ref();
        let Some(group) = points_to.and_then(|p| p.borrow_mut().group(&at.base)) else {
            return out.extend(check);
        };
        let (offset, behind) = match (run, &access.bytes) {
            (Some(Run::First(offset, count, distance)), Bytes::Fixed(bytes)) if *count > 1 => {
                (*offset, (count - 1) * distance + bytes - 1)
            }
            (Some(Run::First(offset, ..)), _) => (*offset, 0),
            _ => (at.offset, 0),
        };
        out.push(unless_read_only(group, &at.base, offset, behind, check));
    }

    fn full_check(
        &mut self,
        instruction: &Instruction,
        access: &Access,
        number: u32,
        run: Option<&Run>,
        names: &Names,
        out: &mut Vec<Stmt>,
    ) {
        let guard = instruction.guard.as_ref();
        let unwatched = |out: &mut Vec<Stmt>| out.push(call(guard, "unwatched", &[]));
        let Some(Operand::Address(at)) = instruction.operands.get(access.operand) else {
            return unwatched(out);
        };
        let mut space = access.space;
        let offset = match run {
            Some(Run::First(offset, ..)) => *offset,
            _ => at.offset,
        };
        let base = match &*at.base {
            Operand::Int(value, _) => int(*value),
            Operand::Name(register, None) => {
                let declared = names.spaces.get(register);
                let variable = declared.or_else(|| self.facts.variables.get(register));
                if let (Some(variable), Space::Generic) = (variable, space) {
                    space = match variable {
                        StateSpace::Global => Space::Global,
                        StateSpace::Shared => Space::Shared,
                        _ => return unwatched(out),
                    };
                }
                name(register)
            }
            _ => return unwatched(out),
        };
        let is_register = matches!(&base, Operand::Name(n, _) if names.wide.contains_key(n));
        let wide = matches!(&base, Operand::Name(n, _) if names.wide.get(n) == Some(&true));
        let (address, function) = match space {
            Space::Shared => {
                if wide {
                    out.push(emit::instruction("cvt.u32.u64", vec![name(NARROW), base]));
                } else {
                    out.push(emit::instruction("mov.b32", vec![name(NARROW), base]));
                }
                if offset != 0 {
                    out.push(add("add.s32", NARROW, offset));
                }
                ((ScalarType::B32, name(NARROW)), "shared")
            }
            _ => {
                if is_register && !wide {
                    out.push(emit::instruction("cvt.u64.u32", vec![name(WIDE), base]));
                } else {
                    out.push(emit::instruction("mov.b64", vec![name(WIDE), base]));
                }
                if offset != 0 {
                    out.push(add("add.s64", WIDE, offset));
                }
                let function = match space {
                    Space::Global => "global",
                    _ => "generic",
                };
                ((ScalarType::B64, name(WIDE)), function)
            }
        };
        let kind = match access.access {
            SiteAccess::Read => 0,
            SiteAccess::Write => WRITES,
            SiteAccess::Atomic => WRITES | ATOMIC,
        };
        let description = number | kind | access.strength << STRENGTH;
        let description = (ScalarType::B32, int(u64::from(description)));
        let (function, bytes) = match (&access.bytes, run) {
            (_, Some(Run::First(_, count, distance))) if *count > 1 => {
                let run = count | distance >> 2 << 8;
                if space == Space::Shared {
                    let mut with = vec![
                        ("ADDRESS", address.1),
                        ("DESCRIPTION", description.1),
                        ("RUN", int(u64::from(run))),
                        ("LAST", int(u64::from((count - 1) * distance))),
                        ("DISTANCE", int(u64::from(*distance))),
                        (
                            "NUMBER",
                            int(u64::from(if count.is_power_of_two() { *count } else { 1 })),
                        ),
                        ("RECORD", int(u64::from(READ << 30 | number & SHARED_SITES))),
                    ];
                    with.push(shared_readers(number));
                    return out.push(inline::body("shared_run", guard, &with));
                }
                let neighbours = (*count, *distance) == (3, 4);
                if space == Space::Global && neighbours && !self.facts.parts {
                    // Three neighbours, as a stencil reads them: the middle one, and that there are others.
                    out.push(add("add.s64", WIDE, 4));
                    let description = (ScalarType::B32, int(u64::from(number | NEIGHBOURS)));
                    let with = global_line(number, READ, (address, description));
                    return out.push(inline::body("global_run", guard, &with));
                }
                if space == Space::Global && *count <= LANES {
                    let with = global_words(number, (*count, *distance), (address, description));
                    return out.push(inline::body("global_words", guard, &with));
                }
                (format!("{function}_run"), int(u64::from(run)))
            }
            (Bytes::Fixed(bytes @ (8 | 16)), _)
                if space == Space::Global && access.strength == 0 && kind == 0 =>
            {
                let with = global_words(number, (bytes / 4, 4), (address, description));
                return out.push(inline::body("global_words", guard, &with));
            }
            (bytes, _) => self.bytes(instruction, bytes, function),
        };
        if access.bytes == Bytes::Fixed(4) && bytes == int(4) && space != Space::Generic {
            let with = (address, description);
            return out.push(self.word(guard, space, access, number, with));
        }
        let arguments = [address, (ScalarType::B32, bytes), description];
        out.push(call(guard, &function, &arguments));
    }

    /// The runtime's function for accesses of so many bytes, and their number as it wants it.
    fn bytes(&self, instruction: &Instruction, bytes: &Bytes, function: &str) -> (String, Operand) {
        match bytes {
            Bytes::Fixed(bytes) => (function.to_owned(), int(u64::from(*bytes))),
            Bytes::Rows(lanes) => (format!("{function}_rows"), int(u64::from(*lanes))),
            Bytes::Operand(index) => {
                let operand = instruction.operands.get(*index).cloned();
                (function.to_owned(), operand.unwrap_or(int(0)))
            }
        }
    }

    /// The check of a word.
    fn word(
        &self,
        guard: Option<&Guard>,
        space: Space,
        access: &Access,
        number: u32,
        (address, description): ((ScalarType, Operand), (ScalarType, Operand)),
    ) -> Stmt {
        let kind = match access.access {
            SiteAccess::Read => READ,
            SiteAccess::Write | SiteAccess::Atomic => WRITTEN,
        };
        let strength = access.strength;
        if space == Space::Shared {
            let site = number & SHARED_SITES;
            let record = (kind << 2 | strength) << 28 | site;
            let mut with = vec![
                ("ADDRESS", address.1),
                ("DESCRIPTION", description.1),
                ("RECORD", int(u64::from(record))),
            ];
            with.push(shared_readers(number));
            let body = match access.access {
                SiteAccess::Read => "shared_read",
                SiteAccess::Write => "shared_write",
                SiteAccess::Atomic => "shared_atomic",
            };
            return inline::body(body, guard, &with);
        }
        if access.strength > 0 || self.facts.parts {
            // Headers of lines are for weak accesses alone, by lanes that have passed the same barriers.
            if access.strength == DEVICE && kind == WRITTEN && !self.facts.fences {
                let record = (WRITTEN << 2 | DEVICE) << 28;
                let mut with = global_line(number, kind, (address, description)).to_vec();
                with.push(("RECORD", int(u64::from(record))));
                return inline::body("global_strong", guard, &with);
            }
            let function = match access.access {
                SiteAccess::Read => "global_read4",
                SiteAccess::Write | SiteAccess::Atomic => "global_write4",
            };
            return call(guard, function, &[address, description]);
        }
        let with = global_line(number, kind, (address, description));
        let body = match access.access {
            SiteAccess::Read => "global_read",
            _ if self.facts.neighbours => "global_write_beside",
            SiteAccess::Write | SiteAccess::Atomic => "global_write",
        };
        inline::body(body, guard, &with)
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

/// A check, except of an address in the group's buffer, and of so many bytes behind it.
fn unless_read_only(
    group: usize,
    base: &Operand,
    offset: i64,
    behind: u32,
    check: Vec<Stmt>,
) -> Stmt {
    let [inside, from, size] = ["%racetrap_q", "%racetrap_from", "%racetrap_size"];
    let handed = |second: i64| {
        let at = i64::from(layout::LAUNCH_BYTES) + group as i64 * i64::from(layout::BUFFER_BYTES);
        emit::address(name(emit::PARAMETER), at + second)
    };
    let register = |ty, register| Stmt::Variable(emit::variable(StateSpace::Reg, ty, register));
    let mut out = vec![
        register(ScalarType::Pred, inside),
        register(ScalarType::B64, from),
        register(ScalarType::B64, size),
        emit::instruction("ld.param.u64", vec![name(from), handed(0)]),
        emit::instruction("ld.param.u64", vec![name(size), handed(8)]),
        emit::instruction("sub.s64", vec![name(from), base.clone(), name(from)]),
    ];
    if offset != 0 {
        out.push(add("add.s64", from, offset));
    }
    let within = vec![name(inside), name(from), name(size)];
    out.push(emit::instruction("setp.lt.u64", within.clone()));
    if behind != 0 {
        out.push(add("add.s64", from, i64::from(behind)));
        let both = within.into_iter().chain([name(inside)]);
        out.push(emit::instruction("setp.lt.and.u64", both.collect()));
    }
    let guard = Guard {
        negated: false,
        register: inside.to_owned(),
    };
    out.push(emit::guarded(Some(&guard), "bra", vec![name("ONLY_READ")]));
    out.extend(check);
    out.push(Stmt::Label(Label {
        name: "ONLY_READ".to_owned(),
        span: Default::default(),
    }));
    Stmt::Block(out)
}

/// What is replaced in checks of lines of global memory.
fn global_line(
    number: u32,
    kind: u32,
    (address, description): ((ScalarType, Operand), (ScalarType, Operand)),
) -> [(&'static str, Operand); 6] {
    let int = |value: u32| int(u64::from(value));
    [
        ("ADDRESS", address.1),
        ("DESCRIPTION", description.1),
        ("SITE", int(number)),
        ("KIND", int(kind << 28)),
        ("SEVERAL", int(W_BLOCKS << 14 | number)),
        ("WARPS", int(W_WARPS << 14 | number)),
    ]
}

/// What is replaced in checks of words of global memory that are read together: so many, so many bytes from each other.
fn global_words(
    number: u32,
    (count, distance): (u32, u32),
    at: ((ScalarType, Operand), (ScalarType, Operand)),
) -> Vec<(&'static str, Operand)> {
    let mut with = global_line(number, READ, at).to_vec();
    let int = |value: u32| int(u64::from(value));
    with.push(("NUMBER", int(count)));
    with.push(("DISTANCE", int(distance)));
    with.push(("RUN", int(count | distance >> 2 << 8)));
    with
}

/// The record of shared memory that weak reads of several warps at a site leave, without its epoch.
fn shared_readers(number: u32) -> (&'static str, Operand) {
    let record = SEVERAL << 30 | W_WARPS << 9 | number & SHARED_SITES;
    ("SEVERAL", int(u64::from(record)))
}

fn add(spelling: &str, register: &str, offset: i64) -> Stmt {
    let value = match offset {
        0.. => int(offset as u64),
        _ => Operand::Neg(Box::new(int(offset.unsigned_abs()))),
    };
    emit::instruction(spelling, vec![name(register), name(register), value])
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

/// A kernel finds out who its thread is.
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
