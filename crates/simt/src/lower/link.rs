//! What is known only when all functions are decoded: where calls and jumps lead, and who calls whom.

use super::{LowerError, Lowering, barrier_postdominators, control, speculated, warpgroup};
use crate::ids::Site;
use crate::inline::perform::recognised;
use crate::op::Op;
use crate::program::Program;

impl Lowering<'_> {
    /// Puts the functions' code together.
    pub(super) fn link(&mut self) -> Result<(), LowerError> {
        let mut bodies = std::mem::take(&mut self.bodies);
        speculated::find(&mut bodies, &mut self.program, &mut self.scopes);
        warpgroup::mark(&mut bodies, &mut self.program);
        let recursive = barrier_postdominators::recursive(&bodies);
        self.in_time()?;
        let points = barrier_postdominators::insert(&mut bodies);
        self.program.points = points.map_err(|_| LowerError::TooLarge)?;
        for ((body, info), recursive) in bodies
            .into_iter()
            .zip(&mut self.program.functions)
            .zip(recursive)
        {
            info.start = self.program.code.len() as u32;
            info.recursive = recursive;
            self.program.code.extend(body.into_iter().map(|mut instr| {
                control::shift_targets(&mut instr.op, info.start);
                instr.inline = recognised(&instr.op);
                instr
            }));
        }
        Ok(())
    }

    /// Notes where functions are called that are called from one place only.
    pub(super) fn callers(&mut self) {
        let Program {
            functions,
            code,
            sites,
            ..
        } = &mut self.program;
        let mut calls: Vec<Vec<Site>> = vec![Vec::new(); functions.len()];
        for i in code.iter() {
            if let Op::Call(call) = &i.op {
                match call.function {
                    Some(f) => calls[f as usize].push(i.site),
                    None => return, // through a pointer, perhaps to any of them
                }
            }
        }
        let mut end = code.len();
        for (info, calls) in functions.iter().zip(calls).rev() {
            let start = info.start as usize;
            if let [only] = calls[..] {
                for i in &code[start..end] {
                    sites[i.site.0 as usize].caller = Some(only);
                }
            }
            end = start;
        }
    }

    pub(super) fn resolve_jumps(&mut self) {
        for jump in std::mem::take(&mut self.jumps) {
            let found: Option<Vec<u32>> = jump
                .labels
                .iter()
                .map(|l| self.scopes.find_label(l, jump.scope))
                .collect();
            let op = &mut self.code[jump.at].op;
            match (found, op) {
                (Some(targets), Op::Branch { target }) => *target = targets[0],
                (Some(found), Op::BranchIndexed { targets, .. }) => *targets = found.into(),
                (_, op) => *op = Op::Unsupported,
            }
        }
    }
}
