//! A whole module: what it is made of, and what the host has to know about it.

pub use crate::facts::Refused;
use crate::facts::{DYNAMIC, Facts};
use crate::parameters::places;
use crate::points_to::ReadOnly;
use crate::rewrite::Rewriter;
use crate::{Site, Sites};
use crate::{access, emit, layout, registers, runtime, walk};
use ptx::ast::*;
use ptx::semantics::TypedInstruction;

/// A kernel of an instrumented module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kernel {
    /// Its name.
    pub name: String,
    /// How many parameters it has without ours.
    pub parameters: usize,
    /// Bytes of these, with their padding.
    pub parameter_bytes: u32,
    /// Where each of them begins.
    pub offsets: Vec<u32>,
    /// Which buffers its launches only read.
    pub read_only: ReadOnly,
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
            let (offsets, parameter_bytes) = places(&function.params);
            limit_registers(function);
            let read_only = rewriter.function(function);
            let bytes = layout::LAUNCH_BYTES + layout::BUFFER_BYTES * read_only.groups.len() as u32;
            kernels.push(Kernel {
                name: function.name.clone(),
                parameters: function.params.len(),
                parameter_bytes,
                offsets,
                read_only,
            });
            let bytes = Some(u64::from(bytes));
            let parameter = emit::bytes(StateSpace::Param, emit::PARAMETER, bytes, 8);
            function.params.push(parameter);
            continue;
        }
        if facts.is_ours(&function.name) {
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

/// Checks need registers (PTX ISA, "Performance-Tuning Directives").
fn limit_registers(function: &mut Function) {
    let limits = [".maxntid", ".reqntid", ".maxnreg"];
    let limited = |d: &RawDirective| limits.contains(&d.name.as_str());
    let Some(body) = &function.body else {
        return;
    };
    if !function.directives.iter().any(limited) {
        let registers = registers::limit(body);
        function.directives.push(RawDirective {
            name: ".maxnreg".to_owned(),
            tokens: vec![registers.to_string()],
            semicolon: false,
            span: Span::default(),
        });
    }
}

/// Which number each access gets, in textual order; those that may reach shared memory come first.
fn numbers(module: &Module, sites: &mut Sites) -> Vec<u32> {
    let mut found: Vec<Site> = Vec::new();
    for item in &module.items {
        if let Item::Function(f) = item {
            let mut loc = None;
            let constants = walk::constants(f.body.as_deref().unwrap_or_default());
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
