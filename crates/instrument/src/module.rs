//! A whole module: what it is made of, and what the host has to know about it.

use crate::rewrite::Rewriter;
use crate::{Site, Sites};
use crate::{access, emit, layout, runtime};
use ptx::ast::*;
use ptx::semantics::{Participation, Synchronisation, System, TypedInstruction};
use std::collections::{HashMap, HashSet};

/// Why a module can't be instrumented.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// Addresses of 32 bits.
    #[error("it has 32-bit addresses")]
    AddressSize,
    /// For a GPU before `sm_70`, which has other barriers.
    #[error("it is for {0}, and only sm_70 and later can be watched")]
    Target(String),
    /// It has a name of ours.
    #[error("it is instrumented already")]
    Instrumented,
    /// A kernel launches kernels.
    #[error("`{0}` launches kernels")]
    DynamicParallelism(String),
}

/// A kernel of an instrumented module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kernel {
    /// Its name.
    pub name: String,
    /// How many parameters it has without ours.
    pub parameters: usize,
    /// Bytes of these, with their padding.
    pub parameter_bytes: u32,
}

/// A module with checks.
#[derive(Clone, Debug)]
pub struct Instrumented {
    /// The module.
    pub module: Module,
    /// Its places, by number.
    pub sites: Sites,
    /// Its kernels.
    pub kernels: Vec<Kernel>,
    /// The smallest number of bytes that an access to global memory touches, at most 4.
    pub global_unit: u32,
    /// The same for shared memory.
    pub shared_unit: u32,
    /// Whether it may access shared memory.
    pub uses_shared: bool,
    /// Names of its variables in global memory.
    pub variables: Vec<String>,
}

/// Puts checks into a module.
///
/// # Errors
///
/// [`Refused`]
pub fn instrument(module: &Module) -> Result<Instrumented, Refused> {
    if module.address_size != 64 {
        return Err(Refused::AddressSize);
    }
    let target = module.target.first().cloned().unwrap_or_default();
    let number = target.trim_start_matches("sm_");
    let number: u32 = number
        .trim_end_matches(|c: char| c.is_alphabetic())
        .parse()
        .unwrap_or(0);
    if number < 70 {
        return Err(Refused::Target(target));
    }
    let facts = Facts::of(module)?;
    let mut out = module.clone();
    // "debug" demands debug information of every function (PTX ISA, "PTX Module Directives: .target"), which the runtime's have not.
    out.target.retain(|word| word != "debug");
    let mut sites = Sites::default();
    let order = numbers(module, &mut sites);
    let mut rewriter = Rewriter {
        facts: &facts,
        order: order.into_iter(),
    };
    let mut kernels = Vec::new();
    for item in &mut out.items {
        let Item::Function(function) = item else {
            continue;
        };
        if function.kind == FunctionKind::Entry {
            kernels.push(Kernel {
                name: function.name.clone(),
                parameters: function.params.len(),
                parameter_bytes: bytes_of(&function.params),
            });
            let parameter = emit::bytes(
                StateSpace::Param,
                emit::PARAMETER,
                Some(u64::from(layout::LAUNCH_BYTES)),
                8,
            );
            function.params.push(parameter);
            limit_registers(function);
        } else if facts.is_ours(&function.name) {
            let parameter = emit::variable(StateSpace::Param, ScalarType::B64, emit::PARAMETER);
            function.params.push(parameter);
        }
        rewriter.function(function);
    }
    runtime::join(&mut out);
    let dynamic = Variable {
        linkage: Some(Linkage::Extern),
        ..emit::bytes(StateSpace::Shared, DYNAMIC, None, 16)
    };
    let first = out
        .items
        .iter()
        .position(|i| matches!(i, Item::Function(_)));
    out.items
        .insert(first.unwrap_or(0), Item::Variable(dynamic));
    Ok(Instrumented {
        module: out,
        sites,
        kernels,
        global_unit: facts.global_unit,
        shared_unit: facts.shared_unit,
        uses_shared: facts.uses_shared,
        variables: facts
            .variables
            .iter()
            .filter(|(_, space)| **space == StateSpace::Global)
            .map(|(name, _)| name.clone())
            .collect(),
    })
}

/// Registers that every launch can have whose blocks have up to 1,024 threads.
const REGISTERS: u32 = 64;

/// Checks need registers; a launch of many threads must stay possible (PTX ISA, "Performance-Tuning Directives").
fn limit_registers(function: &mut Function) {
    let limits = [".maxntid", ".reqntid", ".maxnreg"];
    let limited = |d: &RawDirective| limits.contains(&d.name.as_str());
    if function.body.is_some() && !function.directives.iter().any(limited) {
        function.directives.push(RawDirective {
            name: ".maxnreg".to_owned(),
            tokens: vec![REGISTERS.to_string()],
            semicolon: false,
            span: Span::default(),
        });
    }
}

/// Begins where dynamic shared memory does.
pub const DYNAMIC: &str = "__racetrap_dynamic";

/// Bytes of parameters (PTX ISA, "Kernel Function Parameters": each at its own alignment).
fn bytes_of(params: &[Variable]) -> u32 {
    let mut end = 0u32;
    for param in params {
        let element = match param.ty {
            ScalarType::B8 | ScalarType::S8 | ScalarType::U8 => 1,
            ScalarType::B16 | ScalarType::S16 | ScalarType::U16 | ScalarType::F16 => 2,
            ScalarType::Bf16 => 2,
            ScalarType::B64 | ScalarType::S64 | ScalarType::U64 | ScalarType::F64 => 8,
            ScalarType::Texref | ScalarType::Samplerref | ScalarType::Surfref => 8,
            ScalarType::B128 => 16,
            _ => 4,
        };
        let count = param.dims.iter().map(|d| d.unwrap_or(0)).product::<u64>() as u32;
        end = end.next_multiple_of(param.align.unwrap_or(element).max(1)) + element * count;
    }
    end
}

/// What is true of the whole module.
pub struct Facts {
    /// Functions that are defined nowhere, or are the driver's.
    system: HashSet<String>,
    /// Whether there are split barriers (`bar.arrive`).
    pub splits: bool,
    /// Whether there are fences: where there are none, strong accesses alone order nothing.
    pub fences: bool,
    /// Whether there are barriers of a part of a warp.
    pub parts: bool,
    /// The spaces of its variables.
    pub variables: std::collections::HashMap<String, StateSpace>,
    global_unit: u32,
    shared_unit: u32,
    uses_shared: bool,
}

impl Facts {
    fn of(module: &Module) -> Result<Facts, Refused> {
        let mut facts = Facts {
            system: HashSet::new(),
            splits: false,
            fences: false,
            parts: false,
            variables: std::collections::HashMap::new(),
            global_unit: 4,
            shared_unit: 4,
            uses_shared: false,
        };
        for item in &module.items {
            match item {
                Item::Variable(v) => {
                    if v.name.starts_with("__racetrap_") {
                        return Err(Refused::Instrumented);
                    }
                    facts.variables.insert(v.name.clone(), v.space);
                }
                Item::Function(f) => {
                    if f.name.starts_with("__racetrap_") {
                        return Err(Refused::Instrumented);
                    }
                    if System::named(&f.name).is_some() {
                        facts.system.insert(f.name.clone());
                    }
                    let mut launches = false;
                    let body = f.body.as_deref().unwrap_or_default();
                    let constants = crate::rewrite::constants(body);
                    each(body, &mut |i| launches |= facts.learn(i, &constants));
                    if launches {
                        return Err(Refused::DynamicParallelism(f.name.clone()));
                    }
                }
                _ => {}
            }
        }
        Ok(facts)
    }

    /// Whether a function gets our parameter.
    pub fn is_ours(&self, function: &str) -> bool {
        !self.system.contains(function) && System::named(function).is_none()
    }

    /// Learns from an instruction; whether it launches a kernel.
    fn learn(&mut self, instruction: &Instruction, constants: &HashMap<String, u64>) -> bool {
        use ptx::semantics::Space;
        let typed = TypedInstruction::of(instruction);
        if let Some(Synchronisation::BlockBarrier { participation, .. }) = typed.synchronisation {
            self.splits |= participation == Participation::Arrive;
        }
        self.fences |= matches!(typed.synchronisation, Some(Synchronisation::Fence { .. }));
        if typed.synchronisation == Some(Synchronisation::WarpBarrier) {
            let mask = instruction.operands.first();
            self.parts |= !mask.is_some_and(|mask| crate::rewrite::is_all(mask, constants));
        }
        if let access::Memory::Checked(list) = access::of(instruction, &typed) {
            for one in &list {
                let unit = access::narrowest(std::slice::from_ref(one));
                if one.space != Space::Shared {
                    self.global_unit = self.global_unit.min(unit);
                }
                if one.space != Space::Global {
                    self.shared_unit = self.shared_unit.min(unit);
                    self.uses_shared = true;
                }
            }
        }
        instruction.opcode == "call"
            && instruction.operands.iter().any(|operand| {
                matches!(operand, Operand::Name(name, None)
                    if System::named(name) == Some(System::LaunchDevice))
            })
    }
}

/// Calls `visit` with every instruction of a body.
pub fn each(body: &[Stmt], visit: &mut impl FnMut(&Instruction)) {
    for statement in body {
        match statement {
            Stmt::Instruction(instruction) => visit(instruction),
            Stmt::Block(inner) => each(inner, visit),
            _ => {}
        }
    }
}

/// Which number each access gets, in textual order; those that may reach shared memory come first.
fn numbers(module: &Module, sites: &mut Sites) -> Vec<u32> {
    let mut found: Vec<Site> = Vec::new();
    for item in &module.items {
        if let Item::Function(f) = item {
            let mut loc = None;
            let constants = crate::rewrite::constants(f.body.as_deref().unwrap_or_default());
            collect(
                f.body.as_deref().unwrap_or_default(),
                &f.name,
                &mut loc,
                &constants,
                &mut found,
            );
        }
    }
    let mut order = vec![0; found.len()];
    for global in [false, true] {
        for (index, site) in found.iter().enumerate() {
            if site.global == global {
                order[index] = Sites::number(sites.add(site.clone()));
            }
        }
    }
    order
}

fn collect(
    body: &[Stmt],
    function: &str,
    loc: &mut Option<Loc>,
    constants: &std::collections::HashMap<String, u64>,
    out: &mut Vec<Site>,
) {
    for statement in body {
        match statement {
            // Line 0 says that the compiler knows none: the line before is the nearest.
            Stmt::Loc(new) if new.line == 0 && loc.is_some() => {}
            Stmt::Loc(new) => *loc = Some(new.clone()),
            Stmt::Block(inner) => collect(inner, function, loc, constants, out),
            Stmt::Instruction(instruction) => {
                let typed = TypedInstruction::of(instruction);
                let access::Memory::Checked(list) = access::of(instruction, &typed) else {
                    continue;
                };
                for one in list {
                    let stored = match instruction.operands.get(1) {
                        Some(Operand::Int(value, _)) => Some(*value),
                        Some(Operand::Name(name, None)) => constants.get(name).copied(),
                        _ => None,
                    };
                    let store =
                        instruction.opcode == "st" && one.access == crate::SiteAccess::Write;
                    out.push(Site {
                        function: function.to_owned(),
                        loc: loc.clone(),
                        span: (instruction.span.start, instruction.span.end),
                        access: one.access,
                        strength: one.strength,
                        constant: stored.filter(|_| store),
                        global: one.space == ptx::semantics::Space::Global,
                    });
                }
            }
            _ => {}
        }
    }
}
