//! What instructions do to undefined values, and what undefined values do to them.

use super::super::Core;
use super::access::resolve;
use crate::alu::Mask;
use crate::hooks::Hooks;
use crate::ids::*;
use crate::lower::def_use::{Use, visit_operands};
use crate::observer::*;
use crate::op::*;
use crate::state::*;
use crate::undefined::{Lanes, Open, Region, Undefined};
use std::sync::Arc;

const W: RegisterClass = RegisterClass::W(32);

impl<O: Hooks> Core<'_, O> {
    /// What the next instruction does to undefined values, and what they do to it. It is executed by `active`, out of `mask`.
    #[cold]
    #[inline(never)]
    pub(crate) fn follow(
        &mut self,
        block: &mut Block,
        w: usize,
        s: usize,
        pc: u32,
        mask: Mask,
        active: Mask,
    ) {
        let Some(mut u) = block.poison.take() else {
            return;
        };
        if !u.is_idle(w) {
            u.warps[w].settle(pc, mask);
            self.step(&mut u, block, w, s, pc, mask, active);
        }
        block.poison = Some(u);
    }

    #[allow(clippy::too_many_arguments)]
    fn step(
        &mut self,
        u: &mut Undefined,
        block: &Block,
        w: usize,
        s: usize,
        pc: u32,
        mask: Mask,
        active: Mask,
    ) {
        let program = self.program;
        let i = &program.code[pc as usize];
        let guard = u.of(w, RegisterClass::P, i.guard).within(mask);
        match &i.op {
            Op::Branch { .. } => self.branch(u, block, w, pc, guard),
            Op::BranchIndexed { index, .. } => {
                let index = u.of(w, W, *index).within(active);
                self.branch(u, block, w, pc, guard.or(index));
            }
            Op::Memory(index) => {
                let m = &program.memory_ops[*index as usize];
                self.addresses(&block.warps[w], s, m.base, m.offset);
                self.access(u, block, w, m, i.site, active, guard);
            }
            // What a copy takes along is followed as if it were complete at once: nobody may look in between.
            Op::AsyncCopy(index) => {
                let copy = &program.copy_ops[*index as usize];
                let (read, write) = copy.accesses(program);
                let size = u.of(w, W, copy.size).within(active);
                let decides = guard.or(size).or(u.of(w, RegisterClass::P, copy.ignore));
                self.used(
                    u,
                    block,
                    w,
                    i.site,
                    decides.within(mask),
                    Usage::Decision,
                    None,
                );
                for part in [read, write] {
                    self.addresses(&block.warps[w], s, part.base, part.offset);
                    self.access(u, block, w, part, i.site, active, Lanes::default());
                }
            }
            Op::Atomic(index) => {
                let a = &program.atomic_ops[*index as usize];
                self.addresses(&block.warps[w], s, a.base, a.offset);
                self.update_of(u, block, w, a, i.site, active, guard);
            }
            Op::Call(call) => {
                let to = u.of(w, RegisterClass::D, call.pointer).within(active);
                self.used(u, block, w, i.site, guard.or(to), Usage::Decision, None);
            }
            Op::System(call) => {
                self.used(u, block, w, i.site, guard, Usage::Decision, None);
                self.handed(u, block, w, s, call, i.site, active);
            }
            Op::Barrier(_) | Op::Return | Op::Exit | Op::Trap | Op::Warp(_) => {
                let mut decides = guard;
                let mut clears = Vec::new();
                let read = &mut |row: Row, what: Use| {
                    // What a warp operation exchanges is followed where it is performed.
                    let exchanged = matches!(i.op, Op::Warp(_)) && what == Use::Data;
                    if row != (2, i.guard.0 & !Slot::NEGATED) && !exchanged {
                        decides = decides.or(u.warps[w].of(Some(row)).within(active));
                    }
                };
                visit_operands(program, i, read, &mut |row| clears.push(row));
                self.used(u, block, w, i.site, decides, Usage::Decision, None);
                if matches!(i.op, Op::Barrier(_)) {
                    for row in clears {
                        u.warps[w].set(row, active, Lanes::default());
                    }
                }
            }
            _ => {
                let warp = &block.warps[w];
                let value = self
                    .computed(u, warp, w, i, active)
                    .within(active)
                    .or(guard);
                let mut written = Vec::new();
                visit_operands(program, i, &mut |_, _| {}, &mut |row| written.push(row));
                for row in written {
                    u.warps[w].set(row, active, value);
                }
            }
        }
    }

    /// A branch in lanes for which an undefined value decides it.
    fn branch(&mut self, u: &mut Undefined, block: &Block, w: usize, pc: u32, lanes: Lanes) {
        if lanes.mask == 0 {
            return;
        }
        let program = self.program;
        let region = u
            .regions
            .entry(pc)
            .or_insert_with(|| Region::find(program, pc).map(Arc::new))
            .clone();
        let stored = region.and_then(|region| {
            let bytes = self.private_stores(block, w, &region, lanes.mask)?;
            Some((region, bytes))
        });
        match stored {
            Some((region, bytes)) => u.warps[w].open.push(Open {
                region,
                lanes,
                bytes,
            }),
            None => {
                let site = program.code[pc as usize].site;
                self.used(u, block, w, site, lanes, Usage::Decision, None);
            }
        }
    }

    /// The bytes of local memory that a region may write; `None` if it may write other memory.
    fn private_stores(
        &mut self,
        block: &Block,
        w: usize,
        region: &Region,
        lanes: Mask,
    ) -> Option<Vec<(usize, u64)>> {
        let warp = &block.warps[w];
        let s = warp.splits.iter().position(|s| s.mask & lanes != 0)?;
        let mut bytes = Vec::new();
        for index in &region.stores {
            let m = &self.program.memory_ops[*index as usize];
            self.addresses(warp, s, m.base, m.offset);
            for l in lanes_of(lanes) {
                let (space, at) = resolve(m.space, self.address[l]);
                if space != Space::Local {
                    return None;
                }
                let end = at.saturating_add(u64::from(m.element) * u64::from(m.count));
                bytes.extend((at..end).map(|at| (l, at)));
            }
        }
        Some(bytes)
    }

    /// Tells that an undefined value matters.
    #[allow(clippy::too_many_arguments)]
    pub(super) fn used(
        &mut self,
        u: &Undefined,
        block: &Block,
        w: usize,
        site: Site,
        lanes: Lanes,
        how: Usage,
        place: Option<(Space, u64, u32)>,
    ) {
        if lanes.mask != 0 {
            self.observer.undefined(&UndefinedUse {
                site,
                who: block.who(w),
                mask: lanes.mask,
                how,
                place,
                source: &u.sources[lanes.source as usize],
            });
        }
    }
}
