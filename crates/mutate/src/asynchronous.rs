//! Mutations of what orders asynchronous operations: their fences, arrivals and waits (PTX ISA, "Asynchronous operations", "mbarrier",
//! "griddepcontrol", "barrier.cluster").
//!
//! - A fence is removed: between the generic and the async proxy, of mbarriers' initialisation, before a product of a warpgroup. Fences for aliases and tensor
//!   maps stay: the simulator judges neither.
//! - An arrival at an mbarrier is removed. Where its result is used, that becomes the state of a phase of even number.
//! - A wait is removed; a test of an mbarrier says that the phase is complete.
//! - A wait for groups leaves one more unfinished.
//! - A test of an mbarrier asks for the other parity.
//!
//! Commits of groups and triggers of dependent launches stay: without a commit a wait waits for less than it says, which the mutants of the wait show; without a
//! trigger nothing goes wrong.

use super::change::{Mutation, removed};
use super::weak_update::placed;
use catalog::equivalent::Kind;
use ptx::ast::{Instruction, Operand, Stmt};
use ptx::semantics::{
    AsyncGroup, FenceKind, MbarrierOperation, Modifier, Opcode, Participation, Synchronisation,
    TypedInstruction,
};

/// The register for a parity.
const PARITY: &str = "%racetrap_parity";
/// Groups of products that a wait may leave unfinished, at most ("wgmma.wait_group": "N … 0 to 7").
const MOST_PRODUCTS: u64 = 7;

/// The mutations of an instruction that synchronises so.
pub(super) fn mutations(i: &Instruction, typed: &TypedInstruction) -> Vec<Mutation> {
    match typed.synchronisation {
        Some(Synchronisation::Fence { kind, .. }) => fence(i, typed, kind).into_iter().collect(),
        Some(Synchronisation::ClusterBarrier { participation, .. }) => {
            vec![removed(
                Kind::RemoveBarrier,
                match participation {
                    Participation::Arrive => "arrival at the cluster's barrier",
                    _ => "wait for the cluster's barrier",
                },
            )]
        }
        Some(Synchronisation::WaitDependency) => vec![removed(Kind::DropWait, "dependency wait")],
        Some(Synchronisation::WaitGroup(group)) => groups(i, group),
        Some(Synchronisation::Mbarrier(operation)) => mbarrier(i, typed, operation),
        _ => Vec::new(),
    }
}

fn fence(i: &Instruction, typed: &TypedInstruction, kind: FenceKind) -> Option<Mutation> {
    let what = match kind {
        FenceKind::Proxy => {
            let asynchronous = i.modifiers.iter().any(|word| word.starts_with("async"));
            (asynchronous && typed.opcode == Opcode::Fence).then_some("proxy fence")?
        }
        FenceKind::MbarrierInit => "mbarrier fence",
        FenceKind::Wgmma => "wgmma fence",
        _ => return None,
    };
    Some(removed(Kind::RemoveFence, what))
}

fn groups(i: &Instruction, group: AsyncGroup) -> Vec<Mutation> {
    let what = match group {
        AsyncGroup::Copy => "wait for copies",
        AsyncGroup::Bulk => "wait for bulk copies",
        AsyncGroup::Wgmma => "wait for products",
        AsyncGroup::TensorLoad | AsyncGroup::TensorStore => return Vec::new(),
    };
    let mut all = vec![removed(Kind::DropWait, what)];
    if let [Operand::Int(left, unsigned)] = i.operands[..]
        && (group != AsyncGroup::Wgmma || left < MOST_PRODUCTS)
    {
        let mut more = i.clone();
        more.operands = vec![Operand::Int(left + 1, unsigned)];
        all.push(Mutation {
            replacement: vec![Stmt::Instruction(more)],
            ..removed(Kind::RaiseCount, what)
        });
    }
    all
}

fn mbarrier(
    i: &Instruction,
    typed: &TypedInstruction,
    operation: MbarrierOperation,
) -> Vec<Mutation> {
    use MbarrierOperation::{Arrive, ArriveDrop, ArriveLater, TestWait, TryWait};
    let instruction = |opcode: &str, modifiers: &[&str], operands| {
        Stmt::Instruction(Instruction {
            opcode: opcode.to_owned(),
            modifiers: modifiers.iter().map(|m| (*m).to_owned()).collect(),
            operands,
            ..i.clone()
        })
    };
    let zero = || Operand::Int(0, false);
    match (operation, i.operands.first()) {
        (Arrive | ArriveDrop | ArriveLater, first) => {
            let result = first.filter(|operand| match operand {
                Operand::Address(_) => false,
                Operand::Name(name, _) => name != "_",
                _ => true,
            });
            let state =
                |result: &Operand| instruction("mov", &["b64"], vec![result.clone(), zero()]);
            vec![Mutation {
                replacement: result.map(state).into_iter().collect(),
                ..removed(Kind::DropArrival, "arrival at an mbarrier")
            }]
        }
        (TestWait | TryWait, Some(complete)) => {
            let holds = instruction(
                "setp",
                &["eq", "u32"],
                vec![complete.clone(), zero(), zero()],
            );
            let what = "wait for an mbarrier";
            let mut all = vec![Mutation {
                replacement: vec![holds],
                ..removed(Kind::DropWait, what)
            }];
            let by_parity = typed.modifiers.has(Modifier::Parity);
            if let (true, Some(parity)) = (by_parity, i.operands.get(2)) {
                let mut other = i.clone();
                let replacement = match parity {
                    Operand::Int(number, unsigned) => {
                        other.operands[2] = Operand::Int(number ^ 1, *unsigned);
                        Some(vec![Stmt::Instruction(other)])
                    }
                    register => {
                        other.operands[2] = Operand::Name(PARITY.to_owned(), None);
                        let text =
                            format!(".reg .b32 {PARITY};\nxor.b32 {PARITY}, {register}, 1;\n");
                        placed(&text, i.span).map(|mut all| {
                            all.push(Stmt::Instruction(other));
                            vec![Stmt::Block(all)]
                        })
                    }
                };
                all.extend(replacement.map(|replacement| Mutation {
                    replacement,
                    ..removed(Kind::FlipParity, what)
                }));
            }
            all
        }
        _ => Vec::new(),
    }
}
