//! Branches and calls (PTX ISA, "Control Flow Instructions").

use super::operand::{Decoded, Undecodable};
use super::{Jump, Lowering};
use crate::op::*;
use ptx::ast::{Instruction, Operand, ScalarType};
use ptx::semantics::{Control, TypedInstruction};

/// Adds `by` to every jump target of an operation.
pub(super) fn shift_targets(op: &mut Op, by: u32) {
    match op {
        Op::Branch { target } => *target += by,
        Op::BranchIndexed { targets, .. } => targets.iter_mut().for_each(|t| *t += by),
        _ => {}
    }
}

impl<'m> Lowering<'m> {
    pub(super) fn branch(&mut self, i: &Instruction, t: &TypedInstruction) -> Decoded<()> {
        let scope = self.scopes.here();
        if t.control == Control::IndexedBranch {
            let index = self.source(self.operand(i, 0)?, RegisterClass::W(32), ScalarType::U32)?;
            let Operand::Name(list, None) = self.operand(i, 1)? else {
                return Err("a branch without a list of targets".into());
            };
            let labels = self
                .scopes
                .find_list(list, scope)
                .cloned()
                .ok_or("an unknown list of targets")?;
            self.jumps.push(Jump {
                at: self.code.len(),
                labels,
                scope,
            });
            self.emit(Op::BranchIndexed {
                index,
                targets: Box::default(),
            });
            return Ok(());
        }
        let Operand::Name(label, None) = self.operand(i, 0)? else {
            return Err("a branch to this kind of target".into());
        };
        self.jumps.push(Jump {
            at: self.code.len(),
            labels: vec![label.clone()],
            scope,
        });
        self.emit(Op::Branch { target: 0 });
        Ok(())
    }

    /// `call{.uni} {(ret…),} fname{, (param…)}{, targets or prototype}`.
    pub(super) fn call(&mut self, i: &'m Instruction) -> Decoded<()> {
        let mut operands = i.operands.iter().peekable();
        let mut list = |wanted: bool| -> Vec<Operand> {
            match operands.peek() {
                Some(Operand::List(l)) if wanted => {
                    operands.next();
                    l.clone()
                }
                _ => Vec::new(),
            }
        };
        let results = list(true);
        let callee = operands.next().ok_or("a call without a function")?;
        let args = match operands.next() {
            Some(Operand::List(l)) => l.clone(),
            _ => Vec::new(),
        };
        let results = self.one_by_one(results);
        let results = results.iter().map(|o| self.result(o));
        let results = results.collect::<Decoded<Vec<_>>>()?;
        let args = self.one_by_one(args);
        let args = args.iter().map(|o| self.argument(o));
        let args = args.collect::<Decoded<Vec<_>>>()?;
        if let Some((pointer, RegisterClass::D)) = self.register(callee) {
            self.calls_pointers = true;
            self.emit(Op::Call(Box::new(CallOp {
                function: None,
                pointer,
                args,
                results,
            })));
            return Ok(());
        }
        let Operand::Name(name, None) = callee else {
            return Err("a call of this form".into());
        };
        // The device's runtime comes with relocatable device code; what it does is ours to do.
        let own = System::named(name).filter(|system| system.is_of_device_runtime());
        if let (None, Some(function)) = (own, self.definition(name)) {
            let function = Some(self.function_index(function) as u32);
            self.emit(Op::Call(Box::new(CallOp {
                function,
                pointer: Slot::NONE,
                args,
                results,
            })));
            return Ok(());
        }
        let Some(which) = System::named(name) else {
            // Names that CUDA keeps for itself are what racetrap lacks, not what the program lacks.
            if !["cuda", "__cuda", "__nv"]
                .iter()
                .any(|own| name.starts_with(own))
            {
                self.program.sites[self.site.0 as usize].no_body = Some(name.clone());
            }
            return Err(Undecodable::NoBody(name.clone()));
        };
        self.emit(Op::System(Box::new(SystemCall {
            which,
            args,
            results,
        })));
        Ok(())
    }

    /// What a call passes, the elements of vectors one by one.
    fn one_by_one(&self, operands: Vec<Operand>) -> Vec<Operand> {
        let each = operands.into_iter();
        each.flat_map(|o| self.elements(&o).unwrap_or_else(|| vec![o]))
            .collect()
    }

    /// Where a call puts a result: a register or a variable, not a number.
    fn result(&mut self, operand: &Operand) -> Decoded<Carried> {
        match self.argument(operand)? {
            Carried::Register(slot, RegisterClass::W(_) | RegisterClass::D)
                if slot.0 & Slot::CONST != 0 =>
            {
                Err("a call whose result is a number".into())
            }
            Carried::Register(_, RegisterClass::P | RegisterClass::Q) => {
                Err("a call whose result is in a register of this type".into())
            }
            result => Ok(result),
        }
    }

    fn argument(&mut self, operand: &Operand) -> Decoded<Carried> {
        if let Some((slot, class)) = self.register(operand) {
            return Ok(Carried::Register(slot, class));
        }
        if let Operand::Name(name, None) = operand
            && let Some(super::scope::Binding::Frame { offset, bytes, .. }) =
                self.scopes.lookup(name)
        {
            return Ok(Carried::Frame { offset, bytes });
        }
        let slot = self.source(operand, RegisterClass::D, ScalarType::B64)?;
        Ok(Carried::Register(slot, RegisterClass::D))
    }
}
