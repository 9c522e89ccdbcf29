//! What is true of a whole module, before anything is put into it.

use crate::access;
use crate::merged_checks;
use crate::walk::{constants, each, is_all};
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

/// Begins where dynamic shared memory does.
pub const DYNAMIC: &str = "__racetrap_dynamic";

/// What is true of the whole module.
pub struct Facts {
    /// Functions that are defined nowhere, or are the driver's.
    pub system: HashSet<String>,
    /// Whether there are split barriers (`bar.arrive`).
    pub splits: bool,
    /// Whether there are fences: where there are none, strong accesses alone order nothing.
    pub fences: bool,
    /// Whether there are barriers of a part of a warp.
    pub parts: bool,
    /// Whether there are checks of three neighbouring words of global memory.
    pub neighbours: bool,
    /// The spaces of its variables.
    pub variables: HashMap<String, StateSpace>,
    pub global_unit: u32,
    pub shared_unit: u32,
    pub uses_shared: bool,
}

impl Facts {
    pub fn of(module: &Module) -> Result<Facts, Refused> {
        let mut facts = Facts {
            system: HashSet::new(),
            splits: false,
            fences: false,
            parts: false,
            neighbours: false,
            variables: HashMap::new(),
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
                    facts.neighbours |= merged_checks::reads_neighbours(body);
                    let constants = constants(body);
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
            self.parts |= !mask.is_some_and(|mask| is_all(mask, constants));
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
