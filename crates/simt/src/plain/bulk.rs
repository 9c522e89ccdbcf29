//! Bulk copies, asynchronous stores, and arrivals that come later (PTX ISA, "cp.async.bulk", "cp.reduce.async.bulk", "cp.async.bulk.wait_group",
//! "st.async", "red.async", "cp.async.mbarrier.arrive"), a byte after the other. When they are performed, [`crate::operations`] says.

use super::Turn;
use crate::alu::{Mask, Row64};
use crate::bulk_events::{Bulk, space_of};
use crate::exec::is_awaited;
use crate::hooks::Hooks;
use crate::ids::lanes_of;
use crate::ids::*;
use crate::mbarrier::PHASE;
use crate::memory::{FAR, GLOBAL_BASE};
use crate::observer::*;
use crate::op::*;
use crate::operations::*;
use crate::stop::Stop;

impl<O: Hooks> Turn<'_, '_, O> {
    /// "cp.async.bulk", "cp.reduce.async.bulk", "st.async", "red.async": each active lane begins one.
    pub(super) fn bulk(&mut self, index: u32, active: Mask, site: Site) -> Result<(), Box<Stop>> {
        let program = self.core.program;
        let op = &program.bulk_ops[index as usize];
        let write = &program.memory_ops[op.write as usize];
        let read = op.read.map(|read| &program.memory_ops[read as usize]);
        for l in lanes_of(active) {
            let side = |part: &MemoryOp| match part.space {
                AddressSpace::Global => {
                    self.addresses(part.base, part.offset)[l].wrapping_sub(GLOBAL_BASE)
                }
                _ => self.addresses(part.base, part.offset)[l],
            };
            let (bytes, runs, reduce, given) = match (&op.tensor, read) {
                (Some(tensor), read) => {
                    let shared = match (write.space, read) {
                        (AddressSpace::Global, Some(read)) => side(read),
                        _ => side(write),
                    };
                    let copied = self.copied(l, op, tensor, shared, site)?;
                    let runs = self.tensor_runs(l, &copied, site);
                    (copied.map.copied_bytes(), runs, copied.reduce, None)
                }
                (None, read) => {
                    let (bytes, given) = match read {
                        Some(_) => (self.w(op.size, l), None),
                        None => {
                            let size = usize::from(write.element) * usize::from(write.count);
                            (size as u32, Some(self.given(write, l)[..size].to_vec()))
                        }
                    };
                    let run = Run {
                        from: Source::At(read.map_or(0, side)),
                        to: side(write),
                        bytes,
                    };
                    let mut runs = Vec::new();
                    if bytes != 0 && self.may_move(l, op, &run, site) {
                        runs.push(run);
                    }
                    (bytes.into(), runs, op.reduce, given)
                }
            };
            let work = Work::Runs {
                op: index,
                runs,
                reduce,
                read: given,
                written: false,
            };
            let completes = match op.completes {
                Some(update) => {
                    let object = &program.atomic_ops[update as usize];
                    Completion::Phase {
                        objects: self.addresses(object.base, object.offset),
                        update,
                        by: bytes,
                        copies: false,
                    }
                }
                None => {
                    let operations = self.warp_mut().operations.get_or_insert_default();
                    operations.in_group(Group::Bulk)
                }
            };
            let operation = Operation::new(site, 1 << l, work, completes);
            let to = (op.multicast != Slot::NONE).then(|| self.w(op.multicast, l));
            for operation in (self.core).destinations(self.block, self.w, operation, to) {
                self.begin(operation);
            }
        }
        Ok(())
    }

    /// "cp.async.mbarrier.arrive"
    pub(super) fn copies_arrive(&mut self, update: u32, active: Mask, site: Site) {
        let op = &self.core.program.atomic_ops[update as usize];
        let completes = Completion::Phase {
            objects: self.addresses(op.base, op.offset),
            update,
            by: 1,
            copies: true,
        };
        self.begin(Operation::new(site, active, Work::Nothing, completes));
    }

    /// "cp.async.bulk.wait_group", and with ".read" until "the source locations have been read".
    pub(super) fn wait_for_bulk(&mut self, active: Mask, newest: u32, read: bool) {
        let Some(operations) = &mut self.warp_mut().operations else {
            return;
        };
        if !read {
            for operation in operations.wait(Group::Bulk, active, newest) {
                self.complete_operation(self.w, operation);
            }
            return;
        }
        let reading: Vec<u64> = operations
            .reading(active, newest)
            .map(|o| o.number)
            .collect();
        let who = self.who();
        for number in reading {
            let Some(mut operations) = self.warp_mut().operations.take() else {
                return;
            };
            if let Some(operation) = operations.numbered(number) {
                self.read_sources(operation);
                if O::WATCHES {
                    let mask = operation.mask;
                    self.core.observer.copy_reads_end(who, number, mask);
                }
            }
            self.warp_mut().operations = Some(operations);
        }
    }

    /// An operation begins. It is performed now if the schedule says so, or somebody waits for it already.
    fn begin(&mut self, operation: Operation) {
        let w = self.w;
        let number = (self.warp_mut().operations.get_or_insert_default()).next();
        if O::WATCHES
            && let Some(bulk) = Bulk::of(self.core.program, self.who(), &operation)
        {
            bulk.begins(&mut self.core.observer, number);
        }
        let mut now = self.core.moment.is_now(self.block.id, w, number);
        if let Completion::Phase { objects, .. } = &operation.completes {
            now |= lanes_of(operation.mask)
                .any(|l| objects[l] >= FAR || is_awaited(self.block, objects[l]));
        }
        let begun = (self.warp_mut().operations.get_or_insert_default()).begin(operation);
        if let Some(oldest) = begun {
            self.complete_operation(w, oldest);
        }
        let last = match &mut self.warp_mut().operations {
            Some(operations) if now => operations.take_last(),
            _ => None,
        };
        match last {
            Some(last) if matches!(last.completes, Completion::Phase { .. }) => {
                self.complete_operation(w, last);
            }
            Some(mut last) => {
                self.move_runs(&mut last);
                (self.warp_mut().operations.get_or_insert_default()).put_back(last);
            }
            None => {}
        }
    }

    /// Performs what completes a phase of an mbarrier that somebody asks for, until it is complete.
    pub(super) fn perform_at(&mut self, object: u64) {
        let phase = |turn: &Self| turn.number(Space::Shared, 0, object, 8) & PHASE;
        let before = phase(self);
        for w in 0..self.block.warps.len() {
            while phase(self) == before {
                let Some(operations) = &mut self.block.warps[w].operations else {
                    break;
                };
                let Some(operation) = operations.take_at(object) else {
                    break;
                };
                self.complete_operation(w, operation);
            }
        }
    }

    /// Performs an operation of any warp of the block.
    pub(super) fn complete_operation(&mut self, w: usize, mut operation: Operation) {
        let own = std::mem::replace(&mut self.w, w);
        let (who, number, mask) = (self.who(), operation.number, operation.mask);
        let arrives = matches!(operation.completes, Completion::Phase { .. });
        if matches!(operation.work, Work::Rows(_)) {
            self.complete(&operation, false);
        }
        if matches!(operation.work, Work::Product(_)) {
            (self.core).complete_product(self.block, w, &mut operation);
        }
        if matches!(operation.work, Work::Runs { .. }) {
            if O::WATCHES {
                match arrives {
                    true => self.core.observer.copy_arrives(who, number, mask),
                    false => self.core.observer.copy_ends(who, number, mask),
                }
            }
            self.move_runs(&mut operation);
            if let (true, Some(bulk)) = (
                O::WATCHES,
                Bulk::of(self.core.program, self.who(), &operation),
            ) {
                bulk.performed(&mut self.core.observer);
            }
        }
        if let Completion::Phase {
            objects,
            update,
            by,
            copies,
        } = operation.completes
        {
            if copies {
                while let Some(operations) = &mut self.warp_mut().operations
                    && let Some(first) = operations.take_arrival(mask, number)
                {
                    self.complete_operation(w, first);
                }
                self.complete_copies(mask, number);
            }
            let op = &self.core.program.atomic_ops[update as usize];
            if op.b[0].0 & Slot::CONST == 0 {
                lanes_of(mask).for_each(|l| self.set_d(op.b[0], l, by));
            }
            self.atomic_in(op, Space::Shared, mask, &objects, operation.site);
        }
        self.w = own;
    }

    /// All threads of the block have ended: what nobody has waited for happens some time, too.
    pub(super) fn perform_rest(&mut self) {
        for w in 0..self.block.warps.len() {
            if let Some(mut operations) = self.block.warps[w].operations.take() {
                let own = std::mem::replace(&mut self.w, w);
                (operations.take_rest()).for_each(|mut o| self.move_runs(&mut o));
                self.w = own;
            }
        }
    }

    /// Reads what an operation moves, if that has not been done.
    fn read_sources(&self, operation: &mut Operation) {
        if let Work::Runs { op, runs, read, .. } = &mut operation.work
            && read.is_none()
        {
            let space = self.source_space(*op);
            let byte = |run: &Run, k: u64| match run.from {
                Source::At(from) => self.byte(space, 0, from + k),
                Source::Fill(pattern) => (pattern >> (8 * (k % 8))) as u8,
            };
            let all = runs
                .iter()
                .flat_map(|run| (0..u64::from(run.bytes)).map(move |k| byte(run, k)));
            *read = Some(all.collect());
        }
    }

    /// Moves what an operation moves, if that has not been done.
    fn move_runs(&mut self, operation: &mut Operation) {
        let (mask, site) = (operation.mask, operation.site);
        if let Work::Runs {
            op,
            runs,
            written: false,
            ..
        } = &operation.work
            && O::WATCHES
            && self.core.program.bulk_ops[*op as usize].read.is_some()
        {
            let space = self.source_space(*op);
            let read = sources(runs).into_iter();
            for (at, size) in read.flat_map(|(at, bytes)| pieces(at, bytes)) {
                self.report_unwritten(space, mask, &[at; LANES], size, Some(size.min(4)), site);
            }
        }
        self.read_sources(operation);
        let Work::Runs {
            op,
            runs,
            reduce,
            read: Some(bytes),
            written: written @ false,
        } = &mut operation.work
        else {
            return;
        };
        *written = true;
        let bulk = &self.core.program.bulk_ops[*op as usize];
        let space = space_of(self.core.program.memory_ops[bulk.write as usize].space);
        let mut bytes = bytes.iter();
        for run in &*runs {
            if let (Space::Global, Some(range)) =
                (space, self.core.find_range(run.to, run.bytes.into()))
            {
                self.core.keep(&range);
            }
            let reduce = run.combines(reduce.as_ref());
            let element = reduce.map_or(1, |(_, element)| u64::from(*element));
            for k in (0..u64::from(run.bytes)).step_by(element as usize) {
                let at = run.to + k;
                let by = (0..element).fold(0, |number, k| {
                    number | u64::from(bytes.next().copied().unwrap_or(0)) << (8 * k)
                });
                let new = match reduce {
                    Some((f, _)) => f.apply(self.number(space, 0, at, element as u32), by),
                    None => by,
                };
                self.put_number(space, 0, at, element as u32, new);
            }
        }
        if let Some(history) = &mut self.core.history {
            for (to, bytes) in destinations(runs) {
                history.tick();
                let (owner, at) = match space {
                    Space::Shared => self
                        .core
                        .geometry
                        .owner((self.block.id, self.block.cluster), to),
                    _ => (self.block.id, to),
                };
                let place = (space == Space::Shared).then_some(owner);
                history.wide_access(place, at, bytes);
            }
        }
        self.core.moved();
    }

    /// Whether both ends of a run may be accessed; what is wrong is reported.
    fn may_move(&mut self, l: usize, op: &BulkOp, run: &Run, site: Site) -> bool {
        let ops = &self.core.program.memory_ops;
        let to = (&ops[op.write as usize], run.to, true);
        let from = match (op.read, run.from) {
            (Some(read), Source::At(at)) => Some((&ops[read as usize], at, false)),
            _ => None,
        };
        let mut good = true;
        for (part, at, write) in from.into_iter().chain([to]) {
            let space = space_of(part.space);
            // "cp.async.bulk": addresses and size are multiples of 16.
            let unit = match op.read {
                Some(_) => 16,
                None => u64::from(part.element),
            };
            let ends: [u64; 2] = [at, at.wrapping_add(run.bytes.into())];
            let fault = match ends.into_iter().find(|at| !at.is_multiple_of(unit)) {
                Some(at) => Some((at, FaultKind::Misaligned)),
                None => (self.core).outside(self.block, space, at, run.bytes, unit),
            };
            if let Some((at, kind)) = fault {
                let address: Row64 = [at; LANES];
                self.report(space, 1 << l, &address, unit as u32, write, kind, site);
                good = false;
            }
        }
        good
    }

    fn source_space(&self, op: u32) -> Space {
        let program = self.core.program;
        let read = program.bulk_ops[op as usize].read;
        read.map_or(Space::Shared, |read| {
            space_of(program.memory_ops[read as usize].space)
        })
    }
}
