//! How many elements vector operands have, and how many arguments calls (PTX ISA, "Vectors as Operands", "mov", "ld", "st", "call").

use super::InvalidKind;
use super::scope::{self, Named, Scopes};
use crate::ast::{Instruction, Operand, ScalarType};
use crate::semantics::{Opcode, TypedInstruction};

/// Elements of the largest vector: the accumulators of `wgmma.mma_async` with n = 256, and `tcgen05.ld` with `.x128`.
const MOST: usize = 128;
/// Coordinates, derivatives and results of textures and surfaces, at most.
const TEXELS: usize = 4;

/// How the instructions whose operands may be vectors begin; no others take any.
const VECTORS: [&str; 25] = [
    "mov",
    "ld",
    "ldu",
    "st",
    "atom",
    "red",
    "cvt",
    "tex",
    "tld4",
    "suld",
    "sust",
    "sured",
    "call",
    "brx",
    "wmma",
    "mma",
    "wgmma",
    "ldmatrix",
    "stmatrix",
    "tcgen05",
    "multimem",
    "cp",
    "tensormap",
    "clusterlaunchcontrol",
    "txq",
];

/// Checks the vectors among an instruction's operands.
pub(super) fn check(
    one: &Instruction,
    typed: &TypedInstruction,
    scopes: &Scopes<'_>,
) -> Result<(), InvalidKind> {
    if typed.opcode == Opcode::Call {
        return arguments(one, scopes);
    }
    let inside = one.operands.iter().flat_map(|operand| match operand {
        Operand::Address(address) => {
            let parts = std::iter::once(&*address.base).chain(&address.rest);
            parts.map(|part| (part, true)).collect()
        }
        other => vec![(other, false)],
    });
    for (operand, in_address) in inside {
        let Operand::Vector(lanes) = operand else {
            continue;
        };
        let wanted = match typed.opcode {
            _ if lanes.iter().any(|lane| matches!(lane, Operand::Vector(_))) => None,
            Opcode::Mov => packed(lanes, typed, scopes),
            Opcode::Ld | Opcode::Ldu | Opcode::St | Opcode::Atom | Opcode::Red if in_address => {
                None
            }
            Opcode::Ld | Opcode::Ldu | Opcode::St | Opcode::Atom | Opcode::Red => {
                let wanted = usize::from(typed.modifiers.vector());
                (wanted > 1).then_some((lanes.len() == wanted, wanted))
            }
            Opcode::Tex | Opcode::Tld4 | Opcode::Suld | Opcode::Sust | Opcode::Sured => {
                Some((lanes.len() <= TEXELS, TEXELS))
            }
            _ if !VECTORS.contains(&one.opcode.as_str()) => None,
            _ => Some((lanes.len() <= MOST, MOST)),
        };
        match wanted {
            Some((true, _)) => {}
            Some((false, wanted)) => return Err(InvalidKind::Lanes(lanes.len(), wanted)),
            None => return Err(InvalidKind::NoVector(one.opcode.clone())),
        }
    }
    let memory = matches!(typed.opcode, Opcode::Ld | Opcode::Ldu | Opcode::St);
    match (memory, usize::from(typed.modifiers.vector())) {
        (true, wanted @ 2..) => one.operands.iter().try_for_each(|operand| match operand {
            Operand::Name(name, None)
                if matches!(scopes.find(name), Some(Named::Register(_, 1))) =>
            {
                Err(InvalidKind::Lanes(1, wanted))
            }
            _ => Ok(()),
        }),
        _ => Ok(()),
    }
}

/// Whether a vector fills what `mov` packs it into or unpacks it from: 2, 4 or 8 elements that have its bits together; and how many of
/// them would.
fn packed(
    lanes: &[Operand],
    typed: &TypedInstruction,
    scopes: &Scopes<'_>,
) -> Option<(bool, usize)> {
    // `mov.v4.u32 {…}, %tid`
    let whole = usize::from(typed.modifiers.vector());
    if whole > 1 {
        return Some((lanes.len() == whole, whole));
    }
    let ty = typed.modifiers.types().next();
    let bits = ty.map_or(0, |ty| ty.bits() as usize);
    let register = |lane: &Operand| match lane {
        Operand::Name(name, None) => match scopes.find(name) {
            Some(Named::Register(ScalarType::Pred, _)) => None,
            Some(Named::Register(ty, 1)) => Some(scope::described(ty).0 as usize),
            _ => None,
        },
        _ => None,
    };
    // `_` fits every size.
    let known: Vec<usize> = lanes.iter().filter_map(register).collect();
    let fits = match known.first() {
        Some(first) if known.iter().all(|other| other == first) => lanes.len() * first == bits,
        Some(_) => false,
        None => lanes.len() * 8 <= bits,
    };
    let wanted = match known.first() {
        Some(first) => (bits / first).max(2),
        None => (bits / 8).clamp(2, 8),
    };
    Some((fits && matches!(lanes.len(), 2 | 4 | 8), wanted))
}

/// Whether a call of a function by its name has as many arguments and results as the function.
fn arguments(one: &Instruction, scopes: &Scopes<'_>) -> Result<(), InvalidKind> {
    let called = one
        .operands
        .iter()
        .enumerate()
        .find_map(|(at, operand)| match operand {
            Operand::Name(name, None) => match scopes.find(name)? {
                Named::Function {
                    returns,
                    parameters,
                } => Some((at, name, returns, parameters)),
                _ => None,
            },
            _ => None,
        });
    let Some((at, name, returns, parameters)) = called else {
        return Ok(());
    };
    let count = |operands: &[Operand]| match operands.first() {
        Some(Operand::List(all) | Operand::Vector(all)) => all.len(),
        _ => 0,
    };
    for (what, wanted, found) in [
        ("results", returns, count(&one.operands[..at])),
        ("arguments", parameters, count(&one.operands[at + 1..])),
    ] {
        if wanted as usize != found {
            return Err(InvalidKind::Arguments {
                name: name.clone(),
                what,
                wanted,
                found,
            });
        }
    }
    Ok(())
}
